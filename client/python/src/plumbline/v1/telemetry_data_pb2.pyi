from plumbline.v1 import common_pb2 as _common_pb2
from plumbline.v1 import confidence_pb2 as _confidence_pb2
from plumbline.v1 import grounding_pb2 as _grounding_pb2
from plumbline.v1 import retrieval_pb2 as _retrieval_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Telemetry(_message.Message):
    __slots__ = ("retrieval", "grounding", "confidence", "nvc", "sc", "final_conf", "g_mean", "g_min", "computed_for", "reused", "stale", "pairs", "models")
    RETRIEVAL_FIELD_NUMBER: _ClassVar[int]
    GROUNDING_FIELD_NUMBER: _ClassVar[int]
    CONFIDENCE_FIELD_NUMBER: _ClassVar[int]
    NVC_FIELD_NUMBER: _ClassVar[int]
    SC_FIELD_NUMBER: _ClassVar[int]
    FINAL_CONF_FIELD_NUMBER: _ClassVar[int]
    G_MEAN_FIELD_NUMBER: _ClassVar[int]
    G_MIN_FIELD_NUMBER: _ClassVar[int]
    COMPUTED_FOR_FIELD_NUMBER: _ClassVar[int]
    REUSED_FIELD_NUMBER: _ClassVar[int]
    STALE_FIELD_NUMBER: _ClassVar[int]
    PAIRS_FIELD_NUMBER: _ClassVar[int]
    MODELS_FIELD_NUMBER: _ClassVar[int]
    retrieval: _retrieval_pb2.ScoreRetrievalResponse
    grounding: _grounding_pb2.ScoreGroundingResponse
    confidence: _confidence_pb2.ScoreConfidenceResponse
    nvc: _common_pb2.Score
    sc: _common_pb2.Score
    final_conf: _common_pb2.Score
    g_mean: _common_pb2.Score
    g_min: _common_pb2.Score
    computed_for: str
    reused: bool
    stale: bool
    pairs: int
    models: _containers.RepeatedCompositeFieldContainer[_common_pb2.ModelInfo]
    def __init__(self, retrieval: _Optional[_Union[_retrieval_pb2.ScoreRetrievalResponse, _Mapping]] = ..., grounding: _Optional[_Union[_grounding_pb2.ScoreGroundingResponse, _Mapping]] = ..., confidence: _Optional[_Union[_confidence_pb2.ScoreConfidenceResponse, _Mapping]] = ..., nvc: _Optional[_Union[_common_pb2.Score, _Mapping]] = ..., sc: _Optional[_Union[_common_pb2.Score, _Mapping]] = ..., final_conf: _Optional[_Union[_common_pb2.Score, _Mapping]] = ..., g_mean: _Optional[_Union[_common_pb2.Score, _Mapping]] = ..., g_min: _Optional[_Union[_common_pb2.Score, _Mapping]] = ..., computed_for: _Optional[str] = ..., reused: bool = ..., stale: bool = ..., pairs: _Optional[int] = ..., models: _Optional[_Iterable[_Union[_common_pb2.ModelInfo, _Mapping]]] = ...) -> None: ...
