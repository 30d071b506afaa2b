from plumbline.v1 import common_pb2 as _common_pb2
from plumbline.v1 import confidence_pb2 as _confidence_pb2
from plumbline.v1 import gate_pb2 as _gate_pb2
from plumbline.v1 import grounding_pb2 as _grounding_pb2
from plumbline.v1 import retrieval_pb2 as _retrieval_pb2
from plumbline.v1 import telemetry_data_pb2 as _telemetry_data_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class ObserveRequest(_message.Message):
    __slots__ = ("id", "subgoal_key", "retrieval", "grounding", "confidence", "policies", "template", "template_text")
    ID_FIELD_NUMBER: _ClassVar[int]
    SUBGOAL_KEY_FIELD_NUMBER: _ClassVar[int]
    RETRIEVAL_FIELD_NUMBER: _ClassVar[int]
    GROUNDING_FIELD_NUMBER: _ClassVar[int]
    CONFIDENCE_FIELD_NUMBER: _ClassVar[int]
    POLICIES_FIELD_NUMBER: _ClassVar[int]
    TEMPLATE_FIELD_NUMBER: _ClassVar[int]
    TEMPLATE_TEXT_FIELD_NUMBER: _ClassVar[int]
    id: str
    subgoal_key: str
    retrieval: _retrieval_pb2.ScoreRetrievalRequest
    grounding: _grounding_pb2.ScoreGroundingRequest
    confidence: _confidence_pb2.ScoreConfidenceRequest
    policies: _containers.RepeatedScalarFieldContainer[str]
    template: str
    template_text: str
    def __init__(self, id: _Optional[str] = ..., subgoal_key: _Optional[str] = ..., retrieval: _Optional[_Union[_retrieval_pb2.ScoreRetrievalRequest, _Mapping]] = ..., grounding: _Optional[_Union[_grounding_pb2.ScoreGroundingRequest, _Mapping]] = ..., confidence: _Optional[_Union[_confidence_pb2.ScoreConfidenceRequest, _Mapping]] = ..., policies: _Optional[_Iterable[str]] = ..., template: _Optional[str] = ..., template_text: _Optional[str] = ...) -> None: ...

class ObserveResponse(_message.Message):
    __slots__ = ("id", "telemetry", "prompt_block", "template", "decisions", "timing")
    ID_FIELD_NUMBER: _ClassVar[int]
    TELEMETRY_FIELD_NUMBER: _ClassVar[int]
    PROMPT_BLOCK_FIELD_NUMBER: _ClassVar[int]
    TEMPLATE_FIELD_NUMBER: _ClassVar[int]
    DECISIONS_FIELD_NUMBER: _ClassVar[int]
    TIMING_FIELD_NUMBER: _ClassVar[int]
    id: str
    telemetry: _telemetry_data_pb2.Telemetry
    prompt_block: str
    template: str
    decisions: _containers.RepeatedCompositeFieldContainer[_gate_pb2.DecideResult]
    timing: _common_pb2.Timing
    def __init__(self, id: _Optional[str] = ..., telemetry: _Optional[_Union[_telemetry_data_pb2.Telemetry, _Mapping]] = ..., prompt_block: _Optional[str] = ..., template: _Optional[str] = ..., decisions: _Optional[_Iterable[_Union[_gate_pb2.DecideResult, _Mapping]]] = ..., timing: _Optional[_Union[_common_pb2.Timing, _Mapping]] = ...) -> None: ...
