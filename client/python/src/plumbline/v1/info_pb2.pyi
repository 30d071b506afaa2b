from plumbline.v1 import common_pb2 as _common_pb2
from plumbline.v1 import verifier_pb2 as _verifier_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class GetInfoRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class VerifierInfo(_message.Message):
    __slots__ = ("name", "default", "ready", "description", "fallback", "fail_mode")
    NAME_FIELD_NUMBER: _ClassVar[int]
    DEFAULT_FIELD_NUMBER: _ClassVar[int]
    READY_FIELD_NUMBER: _ClassVar[int]
    DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
    FALLBACK_FIELD_NUMBER: _ClassVar[int]
    FAIL_MODE_FIELD_NUMBER: _ClassVar[int]
    name: str
    default: bool
    ready: bool
    description: _verifier_pb2.DescribeResponse
    fallback: _containers.RepeatedScalarFieldContainer[str]
    fail_mode: _common_pb2.FailMode
    def __init__(self, name: _Optional[str] = ..., default: bool = ..., ready: bool = ..., description: _Optional[_Union[_verifier_pb2.DescribeResponse, _Mapping]] = ..., fallback: _Optional[_Iterable[str]] = ..., fail_mode: _Optional[_Union[_common_pb2.FailMode, str]] = ...) -> None: ...

class Limits(_message.Message):
    __slots__ = ("max_message_bytes", "max_concurrent_streams")
    MAX_MESSAGE_BYTES_FIELD_NUMBER: _ClassVar[int]
    MAX_CONCURRENT_STREAMS_FIELD_NUMBER: _ClassVar[int]
    max_message_bytes: int
    max_concurrent_streams: int
    def __init__(self, max_message_bytes: _Optional[int] = ..., max_concurrent_streams: _Optional[int] = ...) -> None: ...

class RpcInfo(_message.Message):
    __slots__ = ("procedure", "implemented", "reason")
    PROCEDURE_FIELD_NUMBER: _ClassVar[int]
    IMPLEMENTED_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    procedure: str
    implemented: bool
    reason: str
    def __init__(self, procedure: _Optional[str] = ..., implemented: bool = ..., reason: _Optional[str] = ...) -> None: ...

class GetInfoResponse(_message.Message):
    __slots__ = ("version", "commit", "verifiers", "scores", "limits", "rpcs")
    VERSION_FIELD_NUMBER: _ClassVar[int]
    COMMIT_FIELD_NUMBER: _ClassVar[int]
    VERIFIERS_FIELD_NUMBER: _ClassVar[int]
    SCORES_FIELD_NUMBER: _ClassVar[int]
    LIMITS_FIELD_NUMBER: _ClassVar[int]
    RPCS_FIELD_NUMBER: _ClassVar[int]
    version: str
    commit: str
    verifiers: _containers.RepeatedCompositeFieldContainer[VerifierInfo]
    scores: _containers.RepeatedCompositeFieldContainer[_common_pb2.ScoreInfo]
    limits: Limits
    rpcs: _containers.RepeatedCompositeFieldContainer[RpcInfo]
    def __init__(self, version: _Optional[str] = ..., commit: _Optional[str] = ..., verifiers: _Optional[_Iterable[_Union[VerifierInfo, _Mapping]]] = ..., scores: _Optional[_Iterable[_Union[_common_pb2.ScoreInfo, _Mapping]]] = ..., limits: _Optional[_Union[Limits, _Mapping]] = ..., rpcs: _Optional[_Iterable[_Union[RpcInfo, _Mapping]]] = ...) -> None: ...
