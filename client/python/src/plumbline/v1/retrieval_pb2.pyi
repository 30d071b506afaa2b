from plumbline.v1 import common_pb2 as _common_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class ScoreKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    SCORE_KIND_UNSPECIFIED: _ClassVar[ScoreKind]
    SCORE_KIND_COSINE: _ClassVar[ScoreKind]
    SCORE_KIND_DOT: _ClassVar[ScoreKind]
    SCORE_KIND_L2_DISTANCE: _ClassVar[ScoreKind]
    SCORE_KIND_BM25: _ClassVar[ScoreKind]
    SCORE_KIND_PROBABILITY: _ClassVar[ScoreKind]
    SCORE_KIND_LOGIT: _ClassVar[ScoreKind]
    SCORE_KIND_RRF: _ClassVar[ScoreKind]
    SCORE_KIND_DBSF: _ClassVar[ScoreKind]
    SCORE_KIND_RELATIVE: _ClassVar[ScoreKind]

class Compat(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    COMPAT_UNSPECIFIED: _ClassVar[Compat]
    COMPAT_SOURCE: _ClassVar[Compat]
SCORE_KIND_UNSPECIFIED: ScoreKind
SCORE_KIND_COSINE: ScoreKind
SCORE_KIND_DOT: ScoreKind
SCORE_KIND_L2_DISTANCE: ScoreKind
SCORE_KIND_BM25: ScoreKind
SCORE_KIND_PROBABILITY: ScoreKind
SCORE_KIND_LOGIT: ScoreKind
SCORE_KIND_RRF: ScoreKind
SCORE_KIND_DBSF: ScoreKind
SCORE_KIND_RELATIVE: ScoreKind
COMPAT_UNSPECIFIED: Compat
COMPAT_SOURCE: Compat

class RankedItem(_message.Message):
    __slots__ = ("id", "score", "text", "title", "embedding")
    ID_FIELD_NUMBER: _ClassVar[int]
    SCORE_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    TITLE_FIELD_NUMBER: _ClassVar[int]
    EMBEDDING_FIELD_NUMBER: _ClassVar[int]
    id: str
    score: float
    text: str
    title: str
    embedding: _containers.RepeatedScalarFieldContainer[float]
    def __init__(self, id: _Optional[str] = ..., score: _Optional[float] = ..., text: _Optional[str] = ..., title: _Optional[str] = ..., embedding: _Optional[_Iterable[float]] = ...) -> None: ...

class Ranking(_message.Message):
    __slots__ = ("name", "score_kind", "items", "corpus_mean_score")
    NAME_FIELD_NUMBER: _ClassVar[int]
    SCORE_KIND_FIELD_NUMBER: _ClassVar[int]
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    CORPUS_MEAN_SCORE_FIELD_NUMBER: _ClassVar[int]
    name: str
    score_kind: ScoreKind
    items: _containers.RepeatedCompositeFieldContainer[RankedItem]
    corpus_mean_score: float
    def __init__(self, name: _Optional[str] = ..., score_kind: _Optional[_Union[ScoreKind, str]] = ..., items: _Optional[_Iterable[_Union[RankedItem, _Mapping]]] = ..., corpus_mean_score: _Optional[float] = ...) -> None: ...

class ScoreRetrievalRequest(_message.Message):
    __slots__ = ("id", "question", "rankings", "window", "k", "rrf_k", "query_embedding", "idf", "compat", "signals", "softmax_temperature")
    class IdfEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: float
        def __init__(self, key: _Optional[str] = ..., value: _Optional[float] = ...) -> None: ...
    ID_FIELD_NUMBER: _ClassVar[int]
    QUESTION_FIELD_NUMBER: _ClassVar[int]
    RANKINGS_FIELD_NUMBER: _ClassVar[int]
    WINDOW_FIELD_NUMBER: _ClassVar[int]
    K_FIELD_NUMBER: _ClassVar[int]
    RRF_K_FIELD_NUMBER: _ClassVar[int]
    QUERY_EMBEDDING_FIELD_NUMBER: _ClassVar[int]
    IDF_FIELD_NUMBER: _ClassVar[int]
    COMPAT_FIELD_NUMBER: _ClassVar[int]
    SIGNALS_FIELD_NUMBER: _ClassVar[int]
    SOFTMAX_TEMPERATURE_FIELD_NUMBER: _ClassVar[int]
    id: str
    question: str
    rankings: _containers.RepeatedCompositeFieldContainer[Ranking]
    window: int
    k: int
    rrf_k: int
    query_embedding: _containers.RepeatedScalarFieldContainer[float]
    idf: _containers.ScalarMap[str, float]
    compat: Compat
    signals: _containers.RepeatedScalarFieldContainer[str]
    softmax_temperature: float
    def __init__(self, id: _Optional[str] = ..., question: _Optional[str] = ..., rankings: _Optional[_Iterable[_Union[Ranking, _Mapping]]] = ..., window: _Optional[int] = ..., k: _Optional[int] = ..., rrf_k: _Optional[int] = ..., query_embedding: _Optional[_Iterable[float]] = ..., idf: _Optional[_Mapping[str, float]] = ..., compat: _Optional[_Union[Compat, str]] = ..., signals: _Optional[_Iterable[str]] = ..., softmax_temperature: _Optional[float] = ...) -> None: ...

class Signal(_message.Message):
    __slots__ = ("value", "status", "reason", "weak_when", "rank_fused")
    VALUE_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    WEAK_WHEN_FIELD_NUMBER: _ClassVar[int]
    RANK_FUSED_FIELD_NUMBER: _ClassVar[int]
    value: float
    status: _common_pb2.Status
    reason: str
    weak_when: _common_pb2.WeakWhen
    rank_fused: bool
    def __init__(self, value: _Optional[float] = ..., status: _Optional[_Union[_common_pb2.Status, str]] = ..., reason: _Optional[str] = ..., weak_when: _Optional[_Union[_common_pb2.WeakWhen, str]] = ..., rank_fused: bool = ...) -> None: ...

class Entity(_message.Message):
    __slots__ = ("text", "found", "found_in_window")
    TEXT_FIELD_NUMBER: _ClassVar[int]
    FOUND_FIELD_NUMBER: _ClassVar[int]
    FOUND_IN_WINDOW_FIELD_NUMBER: _ClassVar[int]
    text: str
    found: bool
    found_in_window: bool
    def __init__(self, text: _Optional[str] = ..., found: bool = ..., found_in_window: bool = ...) -> None: ...

class FusedItem(_message.Message):
    __slots__ = ("id", "score")
    ID_FIELD_NUMBER: _ClassVar[int]
    SCORE_FIELD_NUMBER: _ClassVar[int]
    id: str
    score: float
    def __init__(self, id: _Optional[str] = ..., score: _Optional[float] = ...) -> None: ...

class ScoreRetrievalResponse(_message.Message):
    __slots__ = ("id", "signals", "fused", "fused_by_service", "entities", "duplicates", "warnings", "timing")
    class SignalsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: Signal
        def __init__(self, key: _Optional[str] = ..., value: _Optional[_Union[Signal, _Mapping]] = ...) -> None: ...
    ID_FIELD_NUMBER: _ClassVar[int]
    SIGNALS_FIELD_NUMBER: _ClassVar[int]
    FUSED_FIELD_NUMBER: _ClassVar[int]
    FUSED_BY_SERVICE_FIELD_NUMBER: _ClassVar[int]
    ENTITIES_FIELD_NUMBER: _ClassVar[int]
    DUPLICATES_FIELD_NUMBER: _ClassVar[int]
    WARNINGS_FIELD_NUMBER: _ClassVar[int]
    TIMING_FIELD_NUMBER: _ClassVar[int]
    id: str
    signals: _containers.MessageMap[str, Signal]
    fused: _containers.RepeatedCompositeFieldContainer[FusedItem]
    fused_by_service: bool
    entities: _containers.RepeatedCompositeFieldContainer[Entity]
    duplicates: _containers.RepeatedCompositeFieldContainer[DuplicateItem]
    warnings: _containers.RepeatedScalarFieldContainer[str]
    timing: _common_pb2.Timing
    def __init__(self, id: _Optional[str] = ..., signals: _Optional[_Mapping[str, Signal]] = ..., fused: _Optional[_Iterable[_Union[FusedItem, _Mapping]]] = ..., fused_by_service: bool = ..., entities: _Optional[_Iterable[_Union[Entity, _Mapping]]] = ..., duplicates: _Optional[_Iterable[_Union[DuplicateItem, _Mapping]]] = ..., warnings: _Optional[_Iterable[str]] = ..., timing: _Optional[_Union[_common_pb2.Timing, _Mapping]] = ...) -> None: ...

class DuplicateItem(_message.Message):
    __slots__ = ("ranking", "id", "count")
    RANKING_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    COUNT_FIELD_NUMBER: _ClassVar[int]
    ranking: str
    id: str
    count: int
    def __init__(self, ranking: _Optional[str] = ..., id: _Optional[str] = ..., count: _Optional[int] = ...) -> None: ...

class BatchScoreRetrievalRequest(_message.Message):
    __slots__ = ("requests",)
    REQUESTS_FIELD_NUMBER: _ClassVar[int]
    requests: _containers.RepeatedCompositeFieldContainer[ScoreRetrievalRequest]
    def __init__(self, requests: _Optional[_Iterable[_Union[ScoreRetrievalRequest, _Mapping]]] = ...) -> None: ...

class ScoreRetrievalResult(_message.Message):
    __slots__ = ("response", "error")
    RESPONSE_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    response: ScoreRetrievalResponse
    error: _common_pb2.ItemError
    def __init__(self, response: _Optional[_Union[ScoreRetrievalResponse, _Mapping]] = ..., error: _Optional[_Union[_common_pb2.ItemError, _Mapping]] = ...) -> None: ...

class BatchScoreRetrievalResponse(_message.Message):
    __slots__ = ("results",)
    RESULTS_FIELD_NUMBER: _ClassVar[int]
    results: _containers.RepeatedCompositeFieldContainer[ScoreRetrievalResult]
    def __init__(self, results: _Optional[_Iterable[_Union[ScoreRetrievalResult, _Mapping]]] = ...) -> None: ...

class StreamScoreRetrievalRequest(_message.Message):
    __slots__ = ("request",)
    REQUEST_FIELD_NUMBER: _ClassVar[int]
    request: ScoreRetrievalRequest
    def __init__(self, request: _Optional[_Union[ScoreRetrievalRequest, _Mapping]] = ...) -> None: ...

class StreamScoreRetrievalResponse(_message.Message):
    __slots__ = ("result",)
    RESULT_FIELD_NUMBER: _ClassVar[int]
    result: ScoreRetrievalResult
    def __init__(self, result: _Optional[_Union[ScoreRetrievalResult, _Mapping]] = ...) -> None: ...
