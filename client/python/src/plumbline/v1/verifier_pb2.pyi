import datetime

from google.protobuf import duration_pb2 as _duration_pb2
from plumbline.v1 import common_pb2 as _common_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class EntailmentClass(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ENTAILMENT_CLASS_UNSPECIFIED: _ClassVar[EntailmentClass]
    ENTAILMENT_CLASS_ENTAILMENT: _ClassVar[EntailmentClass]
    ENTAILMENT_CLASS_NEUTRAL: _ClassVar[EntailmentClass]
    ENTAILMENT_CLASS_CONTRADICTION: _ClassVar[EntailmentClass]
    ENTAILMENT_CLASS_NOT_SUPPORTED: _ClassVar[EntailmentClass]

class VerifierScoreKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    VERIFIER_SCORE_KIND_UNSPECIFIED: _ClassVar[VerifierScoreKind]
    VERIFIER_SCORE_KIND_PROBABILITY: _ClassVar[VerifierScoreKind]
    VERIFIER_SCORE_KIND_TOKEN_PROBABILITY: _ClassVar[VerifierScoreKind]
    VERIFIER_SCORE_KIND_VOTE_SHARE: _ClassVar[VerifierScoreKind]
ENTAILMENT_CLASS_UNSPECIFIED: EntailmentClass
ENTAILMENT_CLASS_ENTAILMENT: EntailmentClass
ENTAILMENT_CLASS_NEUTRAL: EntailmentClass
ENTAILMENT_CLASS_CONTRADICTION: EntailmentClass
ENTAILMENT_CLASS_NOT_SUPPORTED: EntailmentClass
VERIFIER_SCORE_KIND_UNSPECIFIED: VerifierScoreKind
VERIFIER_SCORE_KIND_PROBABILITY: VerifierScoreKind
VERIFIER_SCORE_KIND_TOKEN_PROBABILITY: VerifierScoreKind
VERIFIER_SCORE_KIND_VOTE_SHARE: VerifierScoreKind

class DescribeRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class DescribeResponse(_message.Message):
    __slots__ = ("name", "digest", "classes", "max_tokens", "pair_overhead", "languages", "score_kind", "deterministic", "epsilon", "protocol_version", "qa_template", "trained_tokens", "fine_tokens")
    NAME_FIELD_NUMBER: _ClassVar[int]
    DIGEST_FIELD_NUMBER: _ClassVar[int]
    CLASSES_FIELD_NUMBER: _ClassVar[int]
    MAX_TOKENS_FIELD_NUMBER: _ClassVar[int]
    PAIR_OVERHEAD_FIELD_NUMBER: _ClassVar[int]
    LANGUAGES_FIELD_NUMBER: _ClassVar[int]
    SCORE_KIND_FIELD_NUMBER: _ClassVar[int]
    DETERMINISTIC_FIELD_NUMBER: _ClassVar[int]
    EPSILON_FIELD_NUMBER: _ClassVar[int]
    PROTOCOL_VERSION_FIELD_NUMBER: _ClassVar[int]
    QA_TEMPLATE_FIELD_NUMBER: _ClassVar[int]
    TRAINED_TOKENS_FIELD_NUMBER: _ClassVar[int]
    FINE_TOKENS_FIELD_NUMBER: _ClassVar[int]
    name: str
    digest: str
    classes: _containers.RepeatedScalarFieldContainer[EntailmentClass]
    max_tokens: int
    pair_overhead: int
    languages: _containers.RepeatedScalarFieldContainer[str]
    score_kind: VerifierScoreKind
    deterministic: bool
    epsilon: float
    protocol_version: int
    qa_template: str
    trained_tokens: int
    fine_tokens: int
    def __init__(self, name: _Optional[str] = ..., digest: _Optional[str] = ..., classes: _Optional[_Iterable[_Union[EntailmentClass, str]]] = ..., max_tokens: _Optional[int] = ..., pair_overhead: _Optional[int] = ..., languages: _Optional[_Iterable[str]] = ..., score_kind: _Optional[_Union[VerifierScoreKind, str]] = ..., deterministic: bool = ..., epsilon: _Optional[float] = ..., protocol_version: _Optional[int] = ..., qa_template: _Optional[str] = ..., trained_tokens: _Optional[int] = ..., fine_tokens: _Optional[int] = ...) -> None: ...

class VerifyPair(_message.Message):
    __slots__ = ("id", "premise", "hypothesis")
    ID_FIELD_NUMBER: _ClassVar[int]
    PREMISE_FIELD_NUMBER: _ClassVar[int]
    HYPOTHESIS_FIELD_NUMBER: _ClassVar[int]
    id: str
    premise: str
    hypothesis: str
    def __init__(self, id: _Optional[str] = ..., premise: _Optional[str] = ..., hypothesis: _Optional[str] = ...) -> None: ...

class VerifyRequest(_message.Message):
    __slots__ = ("pairs",)
    PAIRS_FIELD_NUMBER: _ClassVar[int]
    pairs: _containers.RepeatedCompositeFieldContainer[VerifyPair]
    def __init__(self, pairs: _Optional[_Iterable[_Union[VerifyPair, _Mapping]]] = ...) -> None: ...

class ClassProbabilities(_message.Message):
    __slots__ = ("entailment", "neutral", "contradiction")
    ENTAILMENT_FIELD_NUMBER: _ClassVar[int]
    NEUTRAL_FIELD_NUMBER: _ClassVar[int]
    CONTRADICTION_FIELD_NUMBER: _ClassVar[int]
    entailment: float
    neutral: float
    contradiction: float
    def __init__(self, entailment: _Optional[float] = ..., neutral: _Optional[float] = ..., contradiction: _Optional[float] = ...) -> None: ...

class VerifyResult(_message.Message):
    __slots__ = ("id", "status", "reason", "probabilities")
    ID_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    PROBABILITIES_FIELD_NUMBER: _ClassVar[int]
    id: str
    status: _common_pb2.Status
    reason: str
    probabilities: ClassProbabilities
    def __init__(self, id: _Optional[str] = ..., status: _Optional[_Union[_common_pb2.Status, str]] = ..., reason: _Optional[str] = ..., probabilities: _Optional[_Union[ClassProbabilities, _Mapping]] = ...) -> None: ...

class VerifyUsage(_message.Message):
    __slots__ = ("queue", "tokenization", "inference", "pairs", "tokens", "cache_hits")
    QUEUE_FIELD_NUMBER: _ClassVar[int]
    TOKENIZATION_FIELD_NUMBER: _ClassVar[int]
    INFERENCE_FIELD_NUMBER: _ClassVar[int]
    PAIRS_FIELD_NUMBER: _ClassVar[int]
    TOKENS_FIELD_NUMBER: _ClassVar[int]
    CACHE_HITS_FIELD_NUMBER: _ClassVar[int]
    queue: _duration_pb2.Duration
    tokenization: _duration_pb2.Duration
    inference: _duration_pb2.Duration
    pairs: int
    tokens: int
    cache_hits: int
    def __init__(self, queue: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., tokenization: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., inference: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., pairs: _Optional[int] = ..., tokens: _Optional[int] = ..., cache_hits: _Optional[int] = ...) -> None: ...

class VerifyResponse(_message.Message):
    __slots__ = ("results", "usage", "digest")
    RESULTS_FIELD_NUMBER: _ClassVar[int]
    USAGE_FIELD_NUMBER: _ClassVar[int]
    DIGEST_FIELD_NUMBER: _ClassVar[int]
    results: _containers.RepeatedCompositeFieldContainer[VerifyResult]
    usage: VerifyUsage
    digest: str
    def __init__(self, results: _Optional[_Iterable[_Union[VerifyResult, _Mapping]]] = ..., usage: _Optional[_Union[VerifyUsage, _Mapping]] = ..., digest: _Optional[str] = ...) -> None: ...
