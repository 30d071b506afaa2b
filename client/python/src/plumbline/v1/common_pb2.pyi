import datetime

from google.protobuf import duration_pb2 as _duration_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Status(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    STATUS_UNSPECIFIED: _ClassVar[Status]
    STATUS_OK: _ClassVar[Status]
    STATUS_NOT_APPLICABLE: _ClassVar[Status]
    STATUS_NO_EVIDENCE: _ClassVar[Status]
    STATUS_NO_CLAIMS: _ClassVar[Status]
    STATUS_TOO_FEW_ITEMS: _ClassVar[Status]
    STATUS_MISSING_INPUT: _ClassVar[Status]
    STATUS_INVALID_INPUT: _ClassVar[Status]
    STATUS_WRONG_SCORE_KIND: _ClassVar[Status]
    STATUS_UNSUPPORTED_LANGUAGE: _ClassVar[Status]
    STATUS_VERIFIER_UNAVAILABLE: _ClassVar[Status]
    STATUS_DEADLINE: _ClassVar[Status]
    STATUS_NOT_CHECKED: _ClassVar[Status]
    STATUS_TOO_LONG: _ClassVar[Status]
    STATUS_NOT_A_CLAIM: _ClassVar[Status]
    STATUS_NOT_IMPLEMENTED: _ClassVar[Status]
    STATUS_INCONCLUSIVE: _ClassVar[Status]

class Direction(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    DIRECTION_UNSPECIFIED: _ClassVar[Direction]
    DIRECTION_HIGHER_IS_CONFIDENT: _ClassVar[Direction]
    DIRECTION_HIGHER_IS_UNCERTAIN: _ClassVar[Direction]

class WeakWhen(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    WEAK_WHEN_UNSPECIFIED: _ClassVar[WeakWhen]
    WEAK_WHEN_LOW: _ClassVar[WeakWhen]
    WEAK_WHEN_HIGH: _ClassVar[WeakWhen]

class FailMode(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    FAIL_MODE_UNSPECIFIED: _ClassVar[FailMode]
    FAIL_MODE_CLOSED: _ClassVar[FailMode]
    FAIL_MODE_OPEN: _ClassVar[FailMode]
STATUS_UNSPECIFIED: Status
STATUS_OK: Status
STATUS_NOT_APPLICABLE: Status
STATUS_NO_EVIDENCE: Status
STATUS_NO_CLAIMS: Status
STATUS_TOO_FEW_ITEMS: Status
STATUS_MISSING_INPUT: Status
STATUS_INVALID_INPUT: Status
STATUS_WRONG_SCORE_KIND: Status
STATUS_UNSUPPORTED_LANGUAGE: Status
STATUS_VERIFIER_UNAVAILABLE: Status
STATUS_DEADLINE: Status
STATUS_NOT_CHECKED: Status
STATUS_TOO_LONG: Status
STATUS_NOT_A_CLAIM: Status
STATUS_NOT_IMPLEMENTED: Status
STATUS_INCONCLUSIVE: Status
DIRECTION_UNSPECIFIED: Direction
DIRECTION_HIGHER_IS_CONFIDENT: Direction
DIRECTION_HIGHER_IS_UNCERTAIN: Direction
WEAK_WHEN_UNSPECIFIED: WeakWhen
WEAK_WHEN_LOW: WeakWhen
WEAK_WHEN_HIGH: WeakWhen
FAIL_MODE_UNSPECIFIED: FailMode
FAIL_MODE_CLOSED: FailMode
FAIL_MODE_OPEN: FailMode

class Score(_message.Message):
    __slots__ = ("value", "status", "reason", "n_used", "direction")
    VALUE_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    N_USED_FIELD_NUMBER: _ClassVar[int]
    DIRECTION_FIELD_NUMBER: _ClassVar[int]
    value: float
    status: Status
    reason: str
    n_used: int
    direction: Direction
    def __init__(self, value: _Optional[float] = ..., status: _Optional[_Union[Status, str]] = ..., reason: _Optional[str] = ..., n_used: _Optional[int] = ..., direction: _Optional[_Union[Direction, str]] = ...) -> None: ...

class Range(_message.Message):
    __slots__ = ("min", "max")
    MIN_FIELD_NUMBER: _ClassVar[int]
    MAX_FIELD_NUMBER: _ClassVar[int]
    min: float
    max: float
    def __init__(self, min: _Optional[float] = ..., max: _Optional[float] = ...) -> None: ...

class ScoreInfo(_message.Message):
    __slots__ = ("name", "description", "range", "unit", "direction", "weak_when", "needs", "cost", "source", "family")
    NAME_FIELD_NUMBER: _ClassVar[int]
    DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
    RANGE_FIELD_NUMBER: _ClassVar[int]
    UNIT_FIELD_NUMBER: _ClassVar[int]
    DIRECTION_FIELD_NUMBER: _ClassVar[int]
    WEAK_WHEN_FIELD_NUMBER: _ClassVar[int]
    NEEDS_FIELD_NUMBER: _ClassVar[int]
    COST_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    FAMILY_FIELD_NUMBER: _ClassVar[int]
    name: str
    description: str
    range: Range
    unit: str
    direction: Direction
    weak_when: WeakWhen
    needs: _containers.RepeatedScalarFieldContainer[str]
    cost: str
    source: str
    family: str
    def __init__(self, name: _Optional[str] = ..., description: _Optional[str] = ..., range: _Optional[_Union[Range, _Mapping]] = ..., unit: _Optional[str] = ..., direction: _Optional[_Union[Direction, str]] = ..., weak_when: _Optional[_Union[WeakWhen, str]] = ..., needs: _Optional[_Iterable[str]] = ..., cost: _Optional[str] = ..., source: _Optional[str] = ..., family: _Optional[str] = ...) -> None: ...

class ModelInfo(_message.Message):
    __slots__ = ("name", "digest", "verifier")
    NAME_FIELD_NUMBER: _ClassVar[int]
    DIGEST_FIELD_NUMBER: _ClassVar[int]
    VERIFIER_FIELD_NUMBER: _ClassVar[int]
    name: str
    digest: str
    verifier: str
    def __init__(self, name: _Optional[str] = ..., digest: _Optional[str] = ..., verifier: _Optional[str] = ...) -> None: ...

class Timing(_message.Message):
    __slots__ = ("total", "queue", "tokenization", "inference")
    TOTAL_FIELD_NUMBER: _ClassVar[int]
    QUEUE_FIELD_NUMBER: _ClassVar[int]
    TOKENIZATION_FIELD_NUMBER: _ClassVar[int]
    INFERENCE_FIELD_NUMBER: _ClassVar[int]
    total: _duration_pb2.Duration
    queue: _duration_pb2.Duration
    tokenization: _duration_pb2.Duration
    inference: _duration_pb2.Duration
    def __init__(self, total: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., queue: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., tokenization: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., inference: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ...) -> None: ...

class ItemError(_message.Message):
    __slots__ = ("code", "message", "field", "reason")
    CODE_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    FIELD_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    code: str
    message: str
    field: str
    reason: str
    def __init__(self, code: _Optional[str] = ..., message: _Optional[str] = ..., field: _Optional[str] = ..., reason: _Optional[str] = ...) -> None: ...

class Vector(_message.Message):
    __slots__ = ("values",)
    VALUES_FIELD_NUMBER: _ClassVar[int]
    values: _containers.RepeatedScalarFieldContainer[float]
    def __init__(self, values: _Optional[_Iterable[float]] = ...) -> None: ...
