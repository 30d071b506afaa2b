from plumbline.v1 import common_pb2 as _common_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Agreement(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    AGREEMENT_UNSPECIFIED: _ClassVar[Agreement]
    AGREEMENT_EXACT: _ClassVar[Agreement]
    AGREEMENT_ENTAIL_BOTH: _ClassVar[Agreement]
    AGREEMENT_ENTAIL_EITHER: _ClassVar[Agreement]
    AGREEMENT_NOT_CONTRADICT: _ClassVar[Agreement]
    AGREEMENT_DINCO: _ClassVar[Agreement]

class Clustering(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    CLUSTERING_UNSPECIFIED: _ClassVar[Clustering]
    CLUSTERING_UNION_FIND: _ClassVar[Clustering]
    CLUSTERING_FIRST_HEAD: _ClassVar[Clustering]
    CLUSTERING_LAST_HEAD: _ClassVar[Clustering]
    CLUSTERING_EVERY_HEAD: _ClassVar[Clustering]

class Equivalence(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    EQUIVALENCE_UNSPECIFIED: _ClassVar[Equivalence]
    EQUIVALENCE_EXACT: _ClassVar[Equivalence]
    EQUIVALENCE_STRICT: _ClassVar[Equivalence]
    EQUIVALENCE_NON_STRICT: _ClassVar[Equivalence]
    EQUIVALENCE_EITHER: _ClassVar[Equivalence]

class Normalization(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    NORMALIZATION_UNSPECIFIED: _ClassVar[Normalization]
    NORMALIZATION_TRIVIAQA: _ClassVar[Normalization]
    NORMALIZATION_SQUAD: _ClassVar[Normalization]

class ConfidenceScale(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    CONFIDENCE_SCALE_UNSPECIFIED: _ClassVar[ConfidenceScale]
    CONFIDENCE_SCALE_UNIT: _ClassVar[ConfidenceScale]
    CONFIDENCE_SCALE_PERCENT: _ClassVar[ConfidenceScale]
    CONFIDENCE_SCALE_TEN: _ClassVar[ConfidenceScale]

class SequenceScore(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    SEQUENCE_SCORE_UNSPECIFIED: _ClassVar[SequenceScore]
    SEQUENCE_SCORE_MEAN: _ClassVar[SequenceScore]
    SEQUENCE_SCORE_SUM: _ClassVar[SequenceScore]

class Duplicates(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    DUPLICATES_UNSPECIFIED: _ClassVar[Duplicates]
    DUPLICATES_ONCE: _ClassVar[Duplicates]
    DUPLICATES_EACH: _ClassVar[Duplicates]
AGREEMENT_UNSPECIFIED: Agreement
AGREEMENT_EXACT: Agreement
AGREEMENT_ENTAIL_BOTH: Agreement
AGREEMENT_ENTAIL_EITHER: Agreement
AGREEMENT_NOT_CONTRADICT: Agreement
AGREEMENT_DINCO: Agreement
CLUSTERING_UNSPECIFIED: Clustering
CLUSTERING_UNION_FIND: Clustering
CLUSTERING_FIRST_HEAD: Clustering
CLUSTERING_LAST_HEAD: Clustering
CLUSTERING_EVERY_HEAD: Clustering
EQUIVALENCE_UNSPECIFIED: Equivalence
EQUIVALENCE_EXACT: Equivalence
EQUIVALENCE_STRICT: Equivalence
EQUIVALENCE_NON_STRICT: Equivalence
EQUIVALENCE_EITHER: Equivalence
NORMALIZATION_UNSPECIFIED: Normalization
NORMALIZATION_TRIVIAQA: Normalization
NORMALIZATION_SQUAD: Normalization
CONFIDENCE_SCALE_UNSPECIFIED: ConfidenceScale
CONFIDENCE_SCALE_UNIT: ConfidenceScale
CONFIDENCE_SCALE_PERCENT: ConfidenceScale
CONFIDENCE_SCALE_TEN: ConfidenceScale
SEQUENCE_SCORE_UNSPECIFIED: SequenceScore
SEQUENCE_SCORE_MEAN: SequenceScore
SEQUENCE_SCORE_SUM: SequenceScore
DUPLICATES_UNSPECIFIED: Duplicates
DUPLICATES_ONCE: Duplicates
DUPLICATES_EACH: Duplicates

class TokenLogprob(_message.Message):
    __slots__ = ("token", "logprob")
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    LOGPROB_FIELD_NUMBER: _ClassVar[int]
    token: str
    logprob: float
    def __init__(self, token: _Optional[str] = ..., logprob: _Optional[float] = ...) -> None: ...

class DraftToken(_message.Message):
    __slots__ = ("token", "logprob", "top")
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    LOGPROB_FIELD_NUMBER: _ClassVar[int]
    TOP_FIELD_NUMBER: _ClassVar[int]
    token: str
    logprob: float
    top: _containers.RepeatedCompositeFieldContainer[TokenLogprob]
    def __init__(self, token: _Optional[str] = ..., logprob: _Optional[float] = ..., top: _Optional[_Iterable[_Union[TokenLogprob, _Mapping]]] = ...) -> None: ...

class Draft(_message.Message):
    __slots__ = ("tokens",)
    TOKENS_FIELD_NUMBER: _ClassVar[int]
    tokens: _containers.RepeatedCompositeFieldContainer[DraftToken]
    def __init__(self, tokens: _Optional[_Iterable[_Union[DraftToken, _Mapping]]] = ...) -> None: ...

class Sample(_message.Message):
    __slots__ = ("text", "logprob", "weight", "token_logprobs")
    TEXT_FIELD_NUMBER: _ClassVar[int]
    LOGPROB_FIELD_NUMBER: _ClassVar[int]
    WEIGHT_FIELD_NUMBER: _ClassVar[int]
    TOKEN_LOGPROBS_FIELD_NUMBER: _ClassVar[int]
    text: str
    logprob: float
    weight: float
    token_logprobs: _containers.RepeatedScalarFieldContainer[float]
    def __init__(self, text: _Optional[str] = ..., logprob: _Optional[float] = ..., weight: _Optional[float] = ..., token_logprobs: _Optional[_Iterable[float]] = ...) -> None: ...

class Alternative(_message.Message):
    __slots__ = ("text", "p_true", "logprob")
    TEXT_FIELD_NUMBER: _ClassVar[int]
    P_TRUE_FIELD_NUMBER: _ClassVar[int]
    LOGPROB_FIELD_NUMBER: _ClassVar[int]
    text: str
    p_true: float
    logprob: float
    def __init__(self, text: _Optional[str] = ..., p_true: _Optional[float] = ..., logprob: _Optional[float] = ...) -> None: ...

class ScoreConfidenceRequest(_message.Message):
    __slots__ = ("id", "question", "main_answer", "samples", "alternatives", "p_true", "first_token_logprobs", "labels", "drafts", "vectors", "raw_output", "confidence_scale", "aliases", "agreement", "clustering", "equivalence", "normalization", "sequence_score", "duplicates", "margin_beta", "gram_alpha", "verifier", "fail_mode", "doubtful_token_threshold")
    ID_FIELD_NUMBER: _ClassVar[int]
    QUESTION_FIELD_NUMBER: _ClassVar[int]
    MAIN_ANSWER_FIELD_NUMBER: _ClassVar[int]
    SAMPLES_FIELD_NUMBER: _ClassVar[int]
    ALTERNATIVES_FIELD_NUMBER: _ClassVar[int]
    P_TRUE_FIELD_NUMBER: _ClassVar[int]
    FIRST_TOKEN_LOGPROBS_FIELD_NUMBER: _ClassVar[int]
    LABELS_FIELD_NUMBER: _ClassVar[int]
    DRAFTS_FIELD_NUMBER: _ClassVar[int]
    VECTORS_FIELD_NUMBER: _ClassVar[int]
    RAW_OUTPUT_FIELD_NUMBER: _ClassVar[int]
    CONFIDENCE_SCALE_FIELD_NUMBER: _ClassVar[int]
    ALIASES_FIELD_NUMBER: _ClassVar[int]
    AGREEMENT_FIELD_NUMBER: _ClassVar[int]
    CLUSTERING_FIELD_NUMBER: _ClassVar[int]
    EQUIVALENCE_FIELD_NUMBER: _ClassVar[int]
    NORMALIZATION_FIELD_NUMBER: _ClassVar[int]
    SEQUENCE_SCORE_FIELD_NUMBER: _ClassVar[int]
    DUPLICATES_FIELD_NUMBER: _ClassVar[int]
    MARGIN_BETA_FIELD_NUMBER: _ClassVar[int]
    GRAM_ALPHA_FIELD_NUMBER: _ClassVar[int]
    VERIFIER_FIELD_NUMBER: _ClassVar[int]
    FAIL_MODE_FIELD_NUMBER: _ClassVar[int]
    DOUBTFUL_TOKEN_THRESHOLD_FIELD_NUMBER: _ClassVar[int]
    id: str
    question: str
    main_answer: str
    samples: _containers.RepeatedCompositeFieldContainer[Sample]
    alternatives: _containers.RepeatedCompositeFieldContainer[Alternative]
    p_true: float
    first_token_logprobs: _containers.RepeatedCompositeFieldContainer[TokenLogprob]
    labels: _containers.RepeatedScalarFieldContainer[str]
    drafts: _containers.RepeatedCompositeFieldContainer[Draft]
    vectors: _containers.RepeatedCompositeFieldContainer[_common_pb2.Vector]
    raw_output: str
    confidence_scale: ConfidenceScale
    aliases: _containers.RepeatedScalarFieldContainer[str]
    agreement: Agreement
    clustering: Clustering
    equivalence: Equivalence
    normalization: Normalization
    sequence_score: SequenceScore
    duplicates: Duplicates
    margin_beta: float
    gram_alpha: float
    verifier: str
    fail_mode: _common_pb2.FailMode
    doubtful_token_threshold: float
    def __init__(self, id: _Optional[str] = ..., question: _Optional[str] = ..., main_answer: _Optional[str] = ..., samples: _Optional[_Iterable[_Union[Sample, _Mapping]]] = ..., alternatives: _Optional[_Iterable[_Union[Alternative, _Mapping]]] = ..., p_true: _Optional[float] = ..., first_token_logprobs: _Optional[_Iterable[_Union[TokenLogprob, _Mapping]]] = ..., labels: _Optional[_Iterable[str]] = ..., drafts: _Optional[_Iterable[_Union[Draft, _Mapping]]] = ..., vectors: _Optional[_Iterable[_Union[_common_pb2.Vector, _Mapping]]] = ..., raw_output: _Optional[str] = ..., confidence_scale: _Optional[_Union[ConfidenceScale, str]] = ..., aliases: _Optional[_Iterable[str]] = ..., agreement: _Optional[_Union[Agreement, str]] = ..., clustering: _Optional[_Union[Clustering, str]] = ..., equivalence: _Optional[_Union[Equivalence, str]] = ..., normalization: _Optional[_Union[Normalization, str]] = ..., sequence_score: _Optional[_Union[SequenceScore, str]] = ..., duplicates: _Optional[_Union[Duplicates, str]] = ..., margin_beta: _Optional[float] = ..., gram_alpha: _Optional[float] = ..., verifier: _Optional[str] = ..., fail_mode: _Optional[_Union[_common_pb2.FailMode, str]] = ..., doubtful_token_threshold: _Optional[float] = ...) -> None: ...

class AnswerCluster(_message.Message):
    __slots__ = ("members", "representative", "mass")
    MEMBERS_FIELD_NUMBER: _ClassVar[int]
    REPRESENTATIVE_FIELD_NUMBER: _ClassVar[int]
    MASS_FIELD_NUMBER: _ClassVar[int]
    members: _containers.RepeatedScalarFieldContainer[int]
    representative: str
    mass: float
    def __init__(self, members: _Optional[_Iterable[int]] = ..., representative: _Optional[str] = ..., mass: _Optional[float] = ...) -> None: ...

class MajorityAnswer(_message.Message):
    __slots__ = ("status", "reason", "text", "count", "total")
    STATUS_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    COUNT_FIELD_NUMBER: _ClassVar[int]
    TOTAL_FIELD_NUMBER: _ClassVar[int]
    status: _common_pb2.Status
    reason: str
    text: str
    count: int
    total: int
    def __init__(self, status: _Optional[_Union[_common_pb2.Status, str]] = ..., reason: _Optional[str] = ..., text: _Optional[str] = ..., count: _Optional[int] = ..., total: _Optional[int] = ...) -> None: ...

class DoubtfulToken(_message.Message):
    __slots__ = ("index", "token", "probability", "start", "end")
    INDEX_FIELD_NUMBER: _ClassVar[int]
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    PROBABILITY_FIELD_NUMBER: _ClassVar[int]
    START_FIELD_NUMBER: _ClassVar[int]
    END_FIELD_NUMBER: _ClassVar[int]
    index: int
    token: str
    probability: float
    start: int
    end: int
    def __init__(self, index: _Optional[int] = ..., token: _Optional[str] = ..., probability: _Optional[float] = ..., start: _Optional[int] = ..., end: _Optional[int] = ...) -> None: ...

class LabelProbability(_message.Message):
    __slots__ = ("label", "probability")
    LABEL_FIELD_NUMBER: _ClassVar[int]
    PROBABILITY_FIELD_NUMBER: _ClassVar[int]
    label: str
    probability: float
    def __init__(self, label: _Optional[str] = ..., probability: _Optional[float] = ...) -> None: ...

class ScoreConfidenceResponse(_message.Message):
    __slots__ = ("id", "computed_for", "sc", "agreement", "nvc", "final_conf", "sc_dinco", "p_true", "label_distribution", "label_mass", "majority", "semantic_entropy", "semantic_entropy_normalized", "semantic_entropy_weighted", "sequence_entropy", "semantic_sets", "clusters", "clustering", "equivalence", "degree_matrix", "eigenvalues_laplacian", "eccentricity", "luq", "lexical_similarity", "verbalized", "mean_token_entropy", "margin", "prefix_divergence", "min_token_probability", "mean_token_probability", "perplexity", "doubtful_tokens", "gram_logdet", "model", "pairs", "cache_hits", "fail_mode", "timing", "warnings", "normalization")
    ID_FIELD_NUMBER: _ClassVar[int]
    COMPUTED_FOR_FIELD_NUMBER: _ClassVar[int]
    SC_FIELD_NUMBER: _ClassVar[int]
    AGREEMENT_FIELD_NUMBER: _ClassVar[int]
    NVC_FIELD_NUMBER: _ClassVar[int]
    FINAL_CONF_FIELD_NUMBER: _ClassVar[int]
    SC_DINCO_FIELD_NUMBER: _ClassVar[int]
    P_TRUE_FIELD_NUMBER: _ClassVar[int]
    LABEL_DISTRIBUTION_FIELD_NUMBER: _ClassVar[int]
    LABEL_MASS_FIELD_NUMBER: _ClassVar[int]
    MAJORITY_FIELD_NUMBER: _ClassVar[int]
    SEMANTIC_ENTROPY_FIELD_NUMBER: _ClassVar[int]
    SEMANTIC_ENTROPY_NORMALIZED_FIELD_NUMBER: _ClassVar[int]
    SEMANTIC_ENTROPY_WEIGHTED_FIELD_NUMBER: _ClassVar[int]
    SEQUENCE_ENTROPY_FIELD_NUMBER: _ClassVar[int]
    SEMANTIC_SETS_FIELD_NUMBER: _ClassVar[int]
    CLUSTERS_FIELD_NUMBER: _ClassVar[int]
    CLUSTERING_FIELD_NUMBER: _ClassVar[int]
    EQUIVALENCE_FIELD_NUMBER: _ClassVar[int]
    DEGREE_MATRIX_FIELD_NUMBER: _ClassVar[int]
    EIGENVALUES_LAPLACIAN_FIELD_NUMBER: _ClassVar[int]
    ECCENTRICITY_FIELD_NUMBER: _ClassVar[int]
    LUQ_FIELD_NUMBER: _ClassVar[int]
    LEXICAL_SIMILARITY_FIELD_NUMBER: _ClassVar[int]
    VERBALIZED_FIELD_NUMBER: _ClassVar[int]
    MEAN_TOKEN_ENTROPY_FIELD_NUMBER: _ClassVar[int]
    MARGIN_FIELD_NUMBER: _ClassVar[int]
    PREFIX_DIVERGENCE_FIELD_NUMBER: _ClassVar[int]
    MIN_TOKEN_PROBABILITY_FIELD_NUMBER: _ClassVar[int]
    MEAN_TOKEN_PROBABILITY_FIELD_NUMBER: _ClassVar[int]
    PERPLEXITY_FIELD_NUMBER: _ClassVar[int]
    DOUBTFUL_TOKENS_FIELD_NUMBER: _ClassVar[int]
    GRAM_LOGDET_FIELD_NUMBER: _ClassVar[int]
    MODEL_FIELD_NUMBER: _ClassVar[int]
    PAIRS_FIELD_NUMBER: _ClassVar[int]
    CACHE_HITS_FIELD_NUMBER: _ClassVar[int]
    FAIL_MODE_FIELD_NUMBER: _ClassVar[int]
    TIMING_FIELD_NUMBER: _ClassVar[int]
    WARNINGS_FIELD_NUMBER: _ClassVar[int]
    NORMALIZATION_FIELD_NUMBER: _ClassVar[int]
    id: str
    computed_for: str
    sc: _common_pb2.Score
    agreement: Agreement
    nvc: _common_pb2.Score
    final_conf: _common_pb2.Score
    sc_dinco: _common_pb2.Score
    p_true: _common_pb2.Score
    label_distribution: _containers.RepeatedCompositeFieldContainer[LabelProbability]
    label_mass: _common_pb2.Score
    majority: MajorityAnswer
    semantic_entropy: _common_pb2.Score
    semantic_entropy_normalized: _common_pb2.Score
    semantic_entropy_weighted: _common_pb2.Score
    sequence_entropy: _common_pb2.Score
    semantic_sets: _common_pb2.Score
    clusters: _containers.RepeatedCompositeFieldContainer[AnswerCluster]
    clustering: Clustering
    equivalence: Equivalence
    degree_matrix: _common_pb2.Score
    eigenvalues_laplacian: _common_pb2.Score
    eccentricity: _common_pb2.Score
    luq: _common_pb2.Score
    lexical_similarity: _common_pb2.Score
    verbalized: _common_pb2.Score
    mean_token_entropy: _common_pb2.Score
    margin: _common_pb2.Score
    prefix_divergence: _common_pb2.Score
    min_token_probability: _common_pb2.Score
    mean_token_probability: _common_pb2.Score
    perplexity: _common_pb2.Score
    doubtful_tokens: _containers.RepeatedCompositeFieldContainer[DoubtfulToken]
    gram_logdet: _common_pb2.Score
    model: _common_pb2.ModelInfo
    pairs: int
    cache_hits: int
    fail_mode: _common_pb2.FailMode
    timing: _common_pb2.Timing
    warnings: _containers.RepeatedScalarFieldContainer[str]
    normalization: Normalization
    def __init__(self, id: _Optional[str] = ..., computed_for: _Optional[str] = ..., sc: _Optional[_Union[_common_pb2.Score, _Mapping]] = ..., agreement: _Optional[_Union[Agreement, str]] = ..., nvc: _Optional[_Union[_common_pb2.Score, _Mapping]] = ..., final_conf: _Optional[_Union[_common_pb2.Score, _Mapping]] = ..., sc_dinco: _Optional[_Union[_common_pb2.Score, _Mapping]] = ..., p_true: _Optional[_Union[_common_pb2.Score, _Mapping]] = ..., label_distribution: _Optional[_Iterable[_Union[LabelProbability, _Mapping]]] = ..., label_mass: _Optional[_Union[_common_pb2.Score, _Mapping]] = ..., majority: _Optional[_Union[MajorityAnswer, _Mapping]] = ..., semantic_entropy: _Optional[_Union[_common_pb2.Score, _Mapping]] = ..., semantic_entropy_normalized: _Optional[_Union[_common_pb2.Score, _Mapping]] = ..., semantic_entropy_weighted: _Optional[_Union[_common_pb2.Score, _Mapping]] = ..., sequence_entropy: _Optional[_Union[_common_pb2.Score, _Mapping]] = ..., semantic_sets: _Optional[_Union[_common_pb2.Score, _Mapping]] = ..., clusters: _Optional[_Iterable[_Union[AnswerCluster, _Mapping]]] = ..., clustering: _Optional[_Union[Clustering, str]] = ..., equivalence: _Optional[_Union[Equivalence, str]] = ..., degree_matrix: _Optional[_Union[_common_pb2.Score, _Mapping]] = ..., eigenvalues_laplacian: _Optional[_Union[_common_pb2.Score, _Mapping]] = ..., eccentricity: _Optional[_Union[_common_pb2.Score, _Mapping]] = ..., luq: _Optional[_Union[_common_pb2.Score, _Mapping]] = ..., lexical_similarity: _Optional[_Union[_common_pb2.Score, _Mapping]] = ..., verbalized: _Optional[_Union[_common_pb2.Score, _Mapping]] = ..., mean_token_entropy: _Optional[_Union[_common_pb2.Score, _Mapping]] = ..., margin: _Optional[_Union[_common_pb2.Score, _Mapping]] = ..., prefix_divergence: _Optional[_Union[_common_pb2.Score, _Mapping]] = ..., min_token_probability: _Optional[_Union[_common_pb2.Score, _Mapping]] = ..., mean_token_probability: _Optional[_Union[_common_pb2.Score, _Mapping]] = ..., perplexity: _Optional[_Union[_common_pb2.Score, _Mapping]] = ..., doubtful_tokens: _Optional[_Iterable[_Union[DoubtfulToken, _Mapping]]] = ..., gram_logdet: _Optional[_Union[_common_pb2.Score, _Mapping]] = ..., model: _Optional[_Union[_common_pb2.ModelInfo, _Mapping]] = ..., pairs: _Optional[int] = ..., cache_hits: _Optional[int] = ..., fail_mode: _Optional[_Union[_common_pb2.FailMode, str]] = ..., timing: _Optional[_Union[_common_pb2.Timing, _Mapping]] = ..., warnings: _Optional[_Iterable[str]] = ..., normalization: _Optional[_Union[Normalization, str]] = ...) -> None: ...

class BatchScoreConfidenceRequest(_message.Message):
    __slots__ = ("requests",)
    REQUESTS_FIELD_NUMBER: _ClassVar[int]
    requests: _containers.RepeatedCompositeFieldContainer[ScoreConfidenceRequest]
    def __init__(self, requests: _Optional[_Iterable[_Union[ScoreConfidenceRequest, _Mapping]]] = ...) -> None: ...

class ScoreConfidenceResult(_message.Message):
    __slots__ = ("response", "error")
    RESPONSE_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    response: ScoreConfidenceResponse
    error: _common_pb2.ItemError
    def __init__(self, response: _Optional[_Union[ScoreConfidenceResponse, _Mapping]] = ..., error: _Optional[_Union[_common_pb2.ItemError, _Mapping]] = ...) -> None: ...

class BatchScoreConfidenceResponse(_message.Message):
    __slots__ = ("results",)
    RESULTS_FIELD_NUMBER: _ClassVar[int]
    results: _containers.RepeatedCompositeFieldContainer[ScoreConfidenceResult]
    def __init__(self, results: _Optional[_Iterable[_Union[ScoreConfidenceResult, _Mapping]]] = ...) -> None: ...

class StreamScoreConfidenceRequest(_message.Message):
    __slots__ = ("request",)
    REQUEST_FIELD_NUMBER: _ClassVar[int]
    request: ScoreConfidenceRequest
    def __init__(self, request: _Optional[_Union[ScoreConfidenceRequest, _Mapping]] = ...) -> None: ...

class StreamScoreConfidenceResponse(_message.Message):
    __slots__ = ("result",)
    RESULT_FIELD_NUMBER: _ClassVar[int]
    result: ScoreConfidenceResult
    def __init__(self, result: _Optional[_Union[ScoreConfidenceResult, _Mapping]] = ...) -> None: ...
