from plumbline.v1 import common_pb2 as _common_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class ClaimForm(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    CLAIM_FORM_UNSPECIFIED: _ClassVar[ClaimForm]
    CLAIM_FORM_STATEMENT: _ClassVar[ClaimForm]
    CLAIM_FORM_QA: _ClassVar[ClaimForm]

class ClaimKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    CLAIM_KIND_UNSPECIFIED: _ClassVar[ClaimKind]
    CLAIM_KIND_FACTUAL: _ClassVar[ClaimKind]
    CLAIM_KIND_QUESTION: _ClassVar[ClaimKind]
    CLAIM_KIND_GREETING: _ClassVar[ClaimKind]
    CLAIM_KIND_REFUSAL: _ClassVar[ClaimKind]
    CLAIM_KIND_HEADING: _ClassVar[ClaimKind]
    CLAIM_KIND_CITATION_ONLY: _ClassVar[ClaimKind]
    CLAIM_KIND_CODE: _ClassVar[ClaimKind]

class Verdict(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    VERDICT_UNSPECIFIED: _ClassVar[Verdict]
    VERDICT_SUPPORTED: _ClassVar[Verdict]
    VERDICT_NOT_SUPPORTED: _ClassVar[Verdict]
    VERDICT_CONTRADICTED: _ClassVar[Verdict]
    VERDICT_CONFLICTING: _ClassVar[Verdict]

class Flag(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    FLAG_UNSPECIFIED: _ClassVar[Flag]
    FLAG_NUMBER_MISMATCH: _ClassVar[Flag]
    FLAG_DATE_MISMATCH: _ClassVar[Flag]
    FLAG_NAME_MISMATCH: _ClassVar[Flag]
    FLAG_UNIT_MISMATCH: _ClassVar[Flag]
CLAIM_FORM_UNSPECIFIED: ClaimForm
CLAIM_FORM_STATEMENT: ClaimForm
CLAIM_FORM_QA: ClaimForm
CLAIM_KIND_UNSPECIFIED: ClaimKind
CLAIM_KIND_FACTUAL: ClaimKind
CLAIM_KIND_QUESTION: ClaimKind
CLAIM_KIND_GREETING: ClaimKind
CLAIM_KIND_REFUSAL: ClaimKind
CLAIM_KIND_HEADING: ClaimKind
CLAIM_KIND_CITATION_ONLY: ClaimKind
CLAIM_KIND_CODE: ClaimKind
VERDICT_UNSPECIFIED: Verdict
VERDICT_SUPPORTED: Verdict
VERDICT_NOT_SUPPORTED: Verdict
VERDICT_CONTRADICTED: Verdict
VERDICT_CONFLICTING: Verdict
FLAG_UNSPECIFIED: Flag
FLAG_NUMBER_MISMATCH: Flag
FLAG_DATE_MISMATCH: Flag
FLAG_NAME_MISMATCH: Flag
FLAG_UNIT_MISMATCH: Flag

class Evidence(_message.Message):
    __slots__ = ("id", "title", "text")
    ID_FIELD_NUMBER: _ClassVar[int]
    TITLE_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    id: str
    title: str
    text: str
    def __init__(self, id: _Optional[str] = ..., title: _Optional[str] = ..., text: _Optional[str] = ...) -> None: ...

class Claim(_message.Message):
    __slots__ = ("id", "text", "hypothesis")
    ID_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    HYPOTHESIS_FIELD_NUMBER: _ClassVar[int]
    id: str
    text: str
    hypothesis: str
    def __init__(self, id: _Optional[str] = ..., text: _Optional[str] = ..., hypothesis: _Optional[str] = ...) -> None: ...

class ScoreGroundingRequest(_message.Message):
    __slots__ = ("id", "question", "evidence", "claims", "answer", "answers", "claim_form", "threshold", "contradiction_threshold", "mode", "verifier", "overlap_sentences", "multi_hop", "score_all_kinds", "fail_mode")
    class Mode(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        MODE_UNSPECIFIED: _ClassVar[ScoreGroundingRequest.Mode]
        MODE_MINICHECK: _ClassVar[ScoreGroundingRequest.Mode]
        MODE_CALVERT: _ClassVar[ScoreGroundingRequest.Mode]
    MODE_UNSPECIFIED: ScoreGroundingRequest.Mode
    MODE_MINICHECK: ScoreGroundingRequest.Mode
    MODE_CALVERT: ScoreGroundingRequest.Mode
    ID_FIELD_NUMBER: _ClassVar[int]
    QUESTION_FIELD_NUMBER: _ClassVar[int]
    EVIDENCE_FIELD_NUMBER: _ClassVar[int]
    CLAIMS_FIELD_NUMBER: _ClassVar[int]
    ANSWER_FIELD_NUMBER: _ClassVar[int]
    ANSWERS_FIELD_NUMBER: _ClassVar[int]
    CLAIM_FORM_FIELD_NUMBER: _ClassVar[int]
    THRESHOLD_FIELD_NUMBER: _ClassVar[int]
    CONTRADICTION_THRESHOLD_FIELD_NUMBER: _ClassVar[int]
    MODE_FIELD_NUMBER: _ClassVar[int]
    VERIFIER_FIELD_NUMBER: _ClassVar[int]
    OVERLAP_SENTENCES_FIELD_NUMBER: _ClassVar[int]
    MULTI_HOP_FIELD_NUMBER: _ClassVar[int]
    SCORE_ALL_KINDS_FIELD_NUMBER: _ClassVar[int]
    FAIL_MODE_FIELD_NUMBER: _ClassVar[int]
    id: str
    question: str
    evidence: _containers.RepeatedCompositeFieldContainer[Evidence]
    claims: _containers.RepeatedCompositeFieldContainer[Claim]
    answer: str
    answers: _containers.RepeatedScalarFieldContainer[str]
    claim_form: ClaimForm
    threshold: float
    contradiction_threshold: float
    mode: ScoreGroundingRequest.Mode
    verifier: str
    overlap_sentences: int
    multi_hop: int
    score_all_kinds: bool
    fail_mode: _common_pb2.FailMode
    def __init__(self, id: _Optional[str] = ..., question: _Optional[str] = ..., evidence: _Optional[_Iterable[_Union[Evidence, _Mapping]]] = ..., claims: _Optional[_Iterable[_Union[Claim, _Mapping]]] = ..., answer: _Optional[str] = ..., answers: _Optional[_Iterable[str]] = ..., claim_form: _Optional[_Union[ClaimForm, str]] = ..., threshold: _Optional[float] = ..., contradiction_threshold: _Optional[float] = ..., mode: _Optional[_Union[ScoreGroundingRequest.Mode, str]] = ..., verifier: _Optional[str] = ..., overlap_sentences: _Optional[int] = ..., multi_hop: _Optional[int] = ..., score_all_kinds: bool = ..., fail_mode: _Optional[_Union[_common_pb2.FailMode, str]] = ...) -> None: ...

class Span(_message.Message):
    __slots__ = ("start", "end", "utf16_start", "utf16_end")
    START_FIELD_NUMBER: _ClassVar[int]
    END_FIELD_NUMBER: _ClassVar[int]
    UTF16_START_FIELD_NUMBER: _ClassVar[int]
    UTF16_END_FIELD_NUMBER: _ClassVar[int]
    start: int
    end: int
    utf16_start: int
    utf16_end: int
    def __init__(self, start: _Optional[int] = ..., end: _Optional[int] = ..., utf16_start: _Optional[int] = ..., utf16_end: _Optional[int] = ...) -> None: ...

class BestChunk(_message.Message):
    __slots__ = ("evidence_id", "start", "end", "quote")
    EVIDENCE_ID_FIELD_NUMBER: _ClassVar[int]
    START_FIELD_NUMBER: _ClassVar[int]
    END_FIELD_NUMBER: _ClassVar[int]
    QUOTE_FIELD_NUMBER: _ClassVar[int]
    evidence_id: str
    start: int
    end: int
    quote: str
    def __init__(self, evidence_id: _Optional[str] = ..., start: _Optional[int] = ..., end: _Optional[int] = ..., quote: _Optional[str] = ...) -> None: ...

class Mismatch(_message.Message):
    __slots__ = ("flag", "text")
    FLAG_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    flag: Flag
    text: str
    def __init__(self, flag: _Optional[_Union[Flag, str]] = ..., text: _Optional[str] = ...) -> None: ...

class GroundedClaim(_message.Message):
    __slots__ = ("id", "text", "hypothesis", "span", "kind", "status", "reason", "support", "contradiction", "verdict", "best", "contradicting", "flags", "mismatches", "answer_index", "joined")
    ID_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    HYPOTHESIS_FIELD_NUMBER: _ClassVar[int]
    SPAN_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    SUPPORT_FIELD_NUMBER: _ClassVar[int]
    CONTRADICTION_FIELD_NUMBER: _ClassVar[int]
    VERDICT_FIELD_NUMBER: _ClassVar[int]
    BEST_FIELD_NUMBER: _ClassVar[int]
    CONTRADICTING_FIELD_NUMBER: _ClassVar[int]
    FLAGS_FIELD_NUMBER: _ClassVar[int]
    MISMATCHES_FIELD_NUMBER: _ClassVar[int]
    ANSWER_INDEX_FIELD_NUMBER: _ClassVar[int]
    JOINED_FIELD_NUMBER: _ClassVar[int]
    id: str
    text: str
    hypothesis: str
    span: Span
    kind: ClaimKind
    status: _common_pb2.Status
    reason: str
    support: _common_pb2.Score
    contradiction: _common_pb2.Score
    verdict: Verdict
    best: BestChunk
    contradicting: BestChunk
    flags: _containers.RepeatedScalarFieldContainer[Flag]
    mismatches: _containers.RepeatedCompositeFieldContainer[Mismatch]
    answer_index: int
    joined: BestChunk
    def __init__(self, id: _Optional[str] = ..., text: _Optional[str] = ..., hypothesis: _Optional[str] = ..., span: _Optional[_Union[Span, _Mapping]] = ..., kind: _Optional[_Union[ClaimKind, str]] = ..., status: _Optional[_Union[_common_pb2.Status, str]] = ..., reason: _Optional[str] = ..., support: _Optional[_Union[_common_pb2.Score, _Mapping]] = ..., contradiction: _Optional[_Union[_common_pb2.Score, _Mapping]] = ..., verdict: _Optional[_Union[Verdict, str]] = ..., best: _Optional[_Union[BestChunk, _Mapping]] = ..., contradicting: _Optional[_Union[BestChunk, _Mapping]] = ..., flags: _Optional[_Iterable[_Union[Flag, str]]] = ..., mismatches: _Optional[_Iterable[_Union[Mismatch, _Mapping]]] = ..., answer_index: _Optional[int] = ..., joined: _Optional[_Union[BestChunk, _Mapping]] = ...) -> None: ...

class GroundedAnswer(_message.Message):
    __slots__ = ("index", "status", "reason", "g_mean", "g_min", "scored", "not_scored", "verdict")
    INDEX_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    G_MEAN_FIELD_NUMBER: _ClassVar[int]
    G_MIN_FIELD_NUMBER: _ClassVar[int]
    SCORED_FIELD_NUMBER: _ClassVar[int]
    NOT_SCORED_FIELD_NUMBER: _ClassVar[int]
    VERDICT_FIELD_NUMBER: _ClassVar[int]
    index: int
    status: _common_pb2.Status
    reason: str
    g_mean: _common_pb2.Score
    g_min: _common_pb2.Score
    scored: int
    not_scored: int
    verdict: Verdict
    def __init__(self, index: _Optional[int] = ..., status: _Optional[_Union[_common_pb2.Status, str]] = ..., reason: _Optional[str] = ..., g_mean: _Optional[_Union[_common_pb2.Score, _Mapping]] = ..., g_min: _Optional[_Union[_common_pb2.Score, _Mapping]] = ..., scored: _Optional[int] = ..., not_scored: _Optional[int] = ..., verdict: _Optional[_Union[Verdict, str]] = ...) -> None: ...

class EvidenceCoverage(_message.Message):
    __slots__ = ("tokens", "tokens_scored", "chunks", "pairs", "cache_hits")
    TOKENS_FIELD_NUMBER: _ClassVar[int]
    TOKENS_SCORED_FIELD_NUMBER: _ClassVar[int]
    CHUNKS_FIELD_NUMBER: _ClassVar[int]
    PAIRS_FIELD_NUMBER: _ClassVar[int]
    CACHE_HITS_FIELD_NUMBER: _ClassVar[int]
    tokens: int
    tokens_scored: int
    chunks: int
    pairs: int
    cache_hits: int
    def __init__(self, tokens: _Optional[int] = ..., tokens_scored: _Optional[int] = ..., chunks: _Optional[int] = ..., pairs: _Optional[int] = ..., cache_hits: _Optional[int] = ...) -> None: ...

class ScoreGroundingResponse(_message.Message):
    __slots__ = ("id", "status", "reason", "claims", "g_mean", "g_min", "g_min_claim", "support_rate", "scored", "not_scored", "coverage", "answers", "verdict", "model", "fail_mode", "timing", "warnings")
    ID_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    CLAIMS_FIELD_NUMBER: _ClassVar[int]
    G_MEAN_FIELD_NUMBER: _ClassVar[int]
    G_MIN_FIELD_NUMBER: _ClassVar[int]
    G_MIN_CLAIM_FIELD_NUMBER: _ClassVar[int]
    SUPPORT_RATE_FIELD_NUMBER: _ClassVar[int]
    SCORED_FIELD_NUMBER: _ClassVar[int]
    NOT_SCORED_FIELD_NUMBER: _ClassVar[int]
    COVERAGE_FIELD_NUMBER: _ClassVar[int]
    ANSWERS_FIELD_NUMBER: _ClassVar[int]
    VERDICT_FIELD_NUMBER: _ClassVar[int]
    MODEL_FIELD_NUMBER: _ClassVar[int]
    FAIL_MODE_FIELD_NUMBER: _ClassVar[int]
    TIMING_FIELD_NUMBER: _ClassVar[int]
    WARNINGS_FIELD_NUMBER: _ClassVar[int]
    id: str
    status: _common_pb2.Status
    reason: str
    claims: _containers.RepeatedCompositeFieldContainer[GroundedClaim]
    g_mean: _common_pb2.Score
    g_min: _common_pb2.Score
    g_min_claim: str
    support_rate: _common_pb2.Score
    scored: int
    not_scored: int
    coverage: EvidenceCoverage
    answers: _containers.RepeatedCompositeFieldContainer[GroundedAnswer]
    verdict: Verdict
    model: _common_pb2.ModelInfo
    fail_mode: _common_pb2.FailMode
    timing: _common_pb2.Timing
    warnings: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, id: _Optional[str] = ..., status: _Optional[_Union[_common_pb2.Status, str]] = ..., reason: _Optional[str] = ..., claims: _Optional[_Iterable[_Union[GroundedClaim, _Mapping]]] = ..., g_mean: _Optional[_Union[_common_pb2.Score, _Mapping]] = ..., g_min: _Optional[_Union[_common_pb2.Score, _Mapping]] = ..., g_min_claim: _Optional[str] = ..., support_rate: _Optional[_Union[_common_pb2.Score, _Mapping]] = ..., scored: _Optional[int] = ..., not_scored: _Optional[int] = ..., coverage: _Optional[_Union[EvidenceCoverage, _Mapping]] = ..., answers: _Optional[_Iterable[_Union[GroundedAnswer, _Mapping]]] = ..., verdict: _Optional[_Union[Verdict, str]] = ..., model: _Optional[_Union[_common_pb2.ModelInfo, _Mapping]] = ..., fail_mode: _Optional[_Union[_common_pb2.FailMode, str]] = ..., timing: _Optional[_Union[_common_pb2.Timing, _Mapping]] = ..., warnings: _Optional[_Iterable[str]] = ...) -> None: ...

class BatchScoreGroundingRequest(_message.Message):
    __slots__ = ("requests",)
    REQUESTS_FIELD_NUMBER: _ClassVar[int]
    requests: _containers.RepeatedCompositeFieldContainer[ScoreGroundingRequest]
    def __init__(self, requests: _Optional[_Iterable[_Union[ScoreGroundingRequest, _Mapping]]] = ...) -> None: ...

class ScoreGroundingResult(_message.Message):
    __slots__ = ("response", "error")
    RESPONSE_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    response: ScoreGroundingResponse
    error: _common_pb2.ItemError
    def __init__(self, response: _Optional[_Union[ScoreGroundingResponse, _Mapping]] = ..., error: _Optional[_Union[_common_pb2.ItemError, _Mapping]] = ...) -> None: ...

class BatchScoreGroundingResponse(_message.Message):
    __slots__ = ("results",)
    RESULTS_FIELD_NUMBER: _ClassVar[int]
    results: _containers.RepeatedCompositeFieldContainer[ScoreGroundingResult]
    def __init__(self, results: _Optional[_Iterable[_Union[ScoreGroundingResult, _Mapping]]] = ...) -> None: ...

class StreamScoreGroundingRequest(_message.Message):
    __slots__ = ("start", "answer_delta", "claim", "finish")
    START_FIELD_NUMBER: _ClassVar[int]
    ANSWER_DELTA_FIELD_NUMBER: _ClassVar[int]
    CLAIM_FIELD_NUMBER: _ClassVar[int]
    FINISH_FIELD_NUMBER: _ClassVar[int]
    start: ScoreGroundingRequest
    answer_delta: str
    claim: Claim
    finish: StreamFinish
    def __init__(self, start: _Optional[_Union[ScoreGroundingRequest, _Mapping]] = ..., answer_delta: _Optional[str] = ..., claim: _Optional[_Union[Claim, _Mapping]] = ..., finish: _Optional[_Union[StreamFinish, _Mapping]] = ...) -> None: ...

class StreamFinish(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class StreamScoreGroundingResponse(_message.Message):
    __slots__ = ("claim", "summary", "error")
    CLAIM_FIELD_NUMBER: _ClassVar[int]
    SUMMARY_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    claim: GroundedClaim
    summary: ScoreGroundingResponse
    error: _common_pb2.ItemError
    def __init__(self, claim: _Optional[_Union[GroundedClaim, _Mapping]] = ..., summary: _Optional[_Union[ScoreGroundingResponse, _Mapping]] = ..., error: _Optional[_Union[_common_pb2.ItemError, _Mapping]] = ...) -> None: ...
