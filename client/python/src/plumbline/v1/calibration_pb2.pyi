from plumbline.v1 import common_pb2 as _common_pb2
from plumbline.v1 import gate_pb2 as _gate_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Split(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    SPLIT_UNSPECIFIED: _ClassVar[Split]
    SPLIT_CALIBRATION: _ClassVar[Split]
    SPLIT_TEST: _ClassVar[Split]

class ThresholdMethod(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    THRESHOLD_METHOD_UNSPECIFIED: _ClassVar[ThresholdMethod]
    THRESHOLD_METHOD_YOUDEN: _ClassVar[ThresholdMethod]
    THRESHOLD_METHOD_TARGET_RECALL: _ClassVar[ThresholdMethod]
    THRESHOLD_METHOD_TARGET_PRECISION: _ClassVar[ThresholdMethod]
    THRESHOLD_METHOD_BUDGET_QUANTILE: _ClassVar[ThresholdMethod]
    THRESHOLD_METHOD_VALIDATION_F1: _ClassVar[ThresholdMethod]
    THRESHOLD_METHOD_COST_SENSITIVE: _ClassVar[ThresholdMethod]
    THRESHOLD_METHOD_RISK_CONTROL: _ClassVar[ThresholdMethod]

class Combination(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    COMBINATION_UNSPECIFIED: _ClassVar[Combination]
    COMBINATION_ANY_FLOOR: _ClassVar[Combination]
    COMBINATION_LOGISTIC: _ClassVar[Combination]
    COMBINATION_PLATT: _ClassVar[Combination]
    COMBINATION_ISOTONIC: _ClassVar[Combination]

class CostUnit(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    COST_UNIT_UNSPECIFIED: _ClassVar[CostUnit]
    COST_UNIT_PASSAGES: _ClassVar[CostUnit]
    COST_UNIT_TOKENS: _ClassVar[CostUnit]
    COST_UNIT_CALLS: _ClassVar[CostUnit]
SPLIT_UNSPECIFIED: Split
SPLIT_CALIBRATION: Split
SPLIT_TEST: Split
THRESHOLD_METHOD_UNSPECIFIED: ThresholdMethod
THRESHOLD_METHOD_YOUDEN: ThresholdMethod
THRESHOLD_METHOD_TARGET_RECALL: ThresholdMethod
THRESHOLD_METHOD_TARGET_PRECISION: ThresholdMethod
THRESHOLD_METHOD_BUDGET_QUANTILE: ThresholdMethod
THRESHOLD_METHOD_VALIDATION_F1: ThresholdMethod
THRESHOLD_METHOD_COST_SENSITIVE: ThresholdMethod
THRESHOLD_METHOD_RISK_CONTROL: ThresholdMethod
COMBINATION_UNSPECIFIED: Combination
COMBINATION_ANY_FLOOR: Combination
COMBINATION_LOGISTIC: Combination
COMBINATION_PLATT: Combination
COMBINATION_ISOTONIC: Combination
COST_UNIT_UNSPECIFIED: CostUnit
COST_UNIT_PASSAGES: CostUnit
COST_UNIT_TOKENS: CostUnit
COST_UNIT_CALLS: CostUnit

class ArmOutcome(_message.Message):
    __slots__ = ("f1", "em", "passages", "tokens", "calls", "failed")
    F1_FIELD_NUMBER: _ClassVar[int]
    EM_FIELD_NUMBER: _ClassVar[int]
    PASSAGES_FIELD_NUMBER: _ClassVar[int]
    TOKENS_FIELD_NUMBER: _ClassVar[int]
    CALLS_FIELD_NUMBER: _ClassVar[int]
    FAILED_FIELD_NUMBER: _ClassVar[int]
    f1: float
    em: float
    passages: float
    tokens: float
    calls: float
    failed: bool
    def __init__(self, f1: _Optional[float] = ..., em: _Optional[float] = ..., passages: _Optional[float] = ..., tokens: _Optional[float] = ..., calls: _Optional[float] = ..., failed: bool = ...) -> None: ...

class ProbeCost(_message.Message):
    __slots__ = ("passages", "tokens", "calls")
    PASSAGES_FIELD_NUMBER: _ClassVar[int]
    TOKENS_FIELD_NUMBER: _ClassVar[int]
    CALLS_FIELD_NUMBER: _ClassVar[int]
    passages: float
    tokens: float
    calls: float
    def __init__(self, passages: _Optional[float] = ..., tokens: _Optional[float] = ..., calls: _Optional[float] = ...) -> None: ...

class RankingOutcome(_message.Message):
    __slots__ = ("ranked_ids", "gold_ids", "window", "unanswerable")
    RANKED_IDS_FIELD_NUMBER: _ClassVar[int]
    GOLD_IDS_FIELD_NUMBER: _ClassVar[int]
    WINDOW_FIELD_NUMBER: _ClassVar[int]
    UNANSWERABLE_FIELD_NUMBER: _ClassVar[int]
    ranked_ids: _containers.RepeatedScalarFieldContainer[str]
    gold_ids: _containers.RepeatedScalarFieldContainer[str]
    window: int
    unanswerable: bool
    def __init__(self, ranked_ids: _Optional[_Iterable[str]] = ..., gold_ids: _Optional[_Iterable[str]] = ..., window: _Optional[int] = ..., unanswerable: bool = ...) -> None: ...

class CalibrationRecord(_message.Message):
    __slots__ = ("id", "dataset", "model", "split", "signals", "label", "arms", "ranking", "probe")
    class SignalsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: float
        def __init__(self, key: _Optional[str] = ..., value: _Optional[float] = ...) -> None: ...
    class ArmsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: ArmOutcome
        def __init__(self, key: _Optional[str] = ..., value: _Optional[_Union[ArmOutcome, _Mapping]] = ...) -> None: ...
    ID_FIELD_NUMBER: _ClassVar[int]
    DATASET_FIELD_NUMBER: _ClassVar[int]
    MODEL_FIELD_NUMBER: _ClassVar[int]
    SPLIT_FIELD_NUMBER: _ClassVar[int]
    SIGNALS_FIELD_NUMBER: _ClassVar[int]
    LABEL_FIELD_NUMBER: _ClassVar[int]
    ARMS_FIELD_NUMBER: _ClassVar[int]
    RANKING_FIELD_NUMBER: _ClassVar[int]
    PROBE_FIELD_NUMBER: _ClassVar[int]
    id: str
    dataset: str
    model: str
    split: Split
    signals: _containers.ScalarMap[str, float]
    label: bool
    arms: _containers.MessageMap[str, ArmOutcome]
    ranking: RankingOutcome
    probe: ProbeCost
    def __init__(self, id: _Optional[str] = ..., dataset: _Optional[str] = ..., model: _Optional[str] = ..., split: _Optional[_Union[Split, str]] = ..., signals: _Optional[_Mapping[str, float]] = ..., label: bool = ..., arms: _Optional[_Mapping[str, ArmOutcome]] = ..., ranking: _Optional[_Union[RankingOutcome, _Mapping]] = ..., probe: _Optional[_Union[ProbeCost, _Mapping]] = ...) -> None: ...

class FitOptions(_message.Message):
    __slots__ = ("policy_name", "data_name", "signals", "min_separation", "max_correlation", "method", "combination", "target", "alpha", "delta", "calibration_share", "seed", "bootstrap", "then", "otherwise", "verifier_digest", "never_arm", "always_arm", "threshold_grid", "cost_unit")
    POLICY_NAME_FIELD_NUMBER: _ClassVar[int]
    DATA_NAME_FIELD_NUMBER: _ClassVar[int]
    SIGNALS_FIELD_NUMBER: _ClassVar[int]
    MIN_SEPARATION_FIELD_NUMBER: _ClassVar[int]
    MAX_CORRELATION_FIELD_NUMBER: _ClassVar[int]
    METHOD_FIELD_NUMBER: _ClassVar[int]
    COMBINATION_FIELD_NUMBER: _ClassVar[int]
    TARGET_FIELD_NUMBER: _ClassVar[int]
    ALPHA_FIELD_NUMBER: _ClassVar[int]
    DELTA_FIELD_NUMBER: _ClassVar[int]
    CALIBRATION_SHARE_FIELD_NUMBER: _ClassVar[int]
    SEED_FIELD_NUMBER: _ClassVar[int]
    BOOTSTRAP_FIELD_NUMBER: _ClassVar[int]
    THEN_FIELD_NUMBER: _ClassVar[int]
    OTHERWISE_FIELD_NUMBER: _ClassVar[int]
    VERIFIER_DIGEST_FIELD_NUMBER: _ClassVar[int]
    NEVER_ARM_FIELD_NUMBER: _ClassVar[int]
    ALWAYS_ARM_FIELD_NUMBER: _ClassVar[int]
    THRESHOLD_GRID_FIELD_NUMBER: _ClassVar[int]
    COST_UNIT_FIELD_NUMBER: _ClassVar[int]
    policy_name: str
    data_name: str
    signals: _containers.RepeatedScalarFieldContainer[str]
    min_separation: float
    max_correlation: float
    method: ThresholdMethod
    combination: Combination
    target: float
    alpha: float
    delta: float
    calibration_share: float
    seed: int
    bootstrap: int
    then: _gate_pb2.Action
    otherwise: _gate_pb2.Action
    verifier_digest: str
    never_arm: str
    always_arm: str
    threshold_grid: _containers.RepeatedScalarFieldContainer[float]
    cost_unit: CostUnit
    def __init__(self, policy_name: _Optional[str] = ..., data_name: _Optional[str] = ..., signals: _Optional[_Iterable[str]] = ..., min_separation: _Optional[float] = ..., max_correlation: _Optional[float] = ..., method: _Optional[_Union[ThresholdMethod, str]] = ..., combination: _Optional[_Union[Combination, str]] = ..., target: _Optional[float] = ..., alpha: _Optional[float] = ..., delta: _Optional[float] = ..., calibration_share: _Optional[float] = ..., seed: _Optional[int] = ..., bootstrap: _Optional[int] = ..., then: _Optional[_Union[_gate_pb2.Action, str]] = ..., otherwise: _Optional[_Union[_gate_pb2.Action, str]] = ..., verifier_digest: _Optional[str] = ..., never_arm: _Optional[str] = ..., always_arm: _Optional[str] = ..., threshold_grid: _Optional[_Iterable[float]] = ..., cost_unit: _Optional[_Union[CostUnit, str]] = ...) -> None: ...

class FitRequest(_message.Message):
    __slots__ = ("options", "record")
    OPTIONS_FIELD_NUMBER: _ClassVar[int]
    RECORD_FIELD_NUMBER: _ClassVar[int]
    options: FitOptions
    record: CalibrationRecord
    def __init__(self, options: _Optional[_Union[FitOptions, _Mapping]] = ..., record: _Optional[_Union[CalibrationRecord, _Mapping]] = ...) -> None: ...

class Estimate(_message.Message):
    __slots__ = ("value", "lower", "upper", "status", "reason", "n")
    VALUE_FIELD_NUMBER: _ClassVar[int]
    LOWER_FIELD_NUMBER: _ClassVar[int]
    UPPER_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    N_FIELD_NUMBER: _ClassVar[int]
    value: float
    lower: float
    upper: float
    status: _common_pb2.Status
    reason: str
    n: int
    def __init__(self, value: _Optional[float] = ..., lower: _Optional[float] = ..., upper: _Optional[float] = ..., status: _Optional[_Union[_common_pb2.Status, str]] = ..., reason: _Optional[str] = ..., n: _Optional[int] = ...) -> None: ...

class SignalVerdict(_message.Message):
    __slots__ = ("signal", "separation", "direction", "unexpected_direction", "kept", "reason", "redundant_with", "correlation", "threshold", "catch_rate", "escalation_rate")
    SIGNAL_FIELD_NUMBER: _ClassVar[int]
    SEPARATION_FIELD_NUMBER: _ClassVar[int]
    DIRECTION_FIELD_NUMBER: _ClassVar[int]
    UNEXPECTED_DIRECTION_FIELD_NUMBER: _ClassVar[int]
    KEPT_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    REDUNDANT_WITH_FIELD_NUMBER: _ClassVar[int]
    CORRELATION_FIELD_NUMBER: _ClassVar[int]
    THRESHOLD_FIELD_NUMBER: _ClassVar[int]
    CATCH_RATE_FIELD_NUMBER: _ClassVar[int]
    ESCALATION_RATE_FIELD_NUMBER: _ClassVar[int]
    signal: str
    separation: Estimate
    direction: _common_pb2.WeakWhen
    unexpected_direction: bool
    kept: bool
    reason: str
    redundant_with: str
    correlation: float
    threshold: float
    catch_rate: Estimate
    escalation_rate: Estimate
    def __init__(self, signal: _Optional[str] = ..., separation: _Optional[_Union[Estimate, _Mapping]] = ..., direction: _Optional[_Union[_common_pb2.WeakWhen, str]] = ..., unexpected_direction: bool = ..., kept: bool = ..., reason: _Optional[str] = ..., redundant_with: _Optional[str] = ..., correlation: _Optional[float] = ..., threshold: _Optional[float] = ..., catch_rate: _Optional[_Union[Estimate, _Mapping]] = ..., escalation_rate: _Optional[_Union[Estimate, _Mapping]] = ...) -> None: ...

class FitResponse(_message.Message):
    __slots__ = ("policy", "status", "reason", "signals", "metrics", "calibration_size", "test_size", "warnings", "calibration_metrics", "groups")
    class MetricsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: Estimate
        def __init__(self, key: _Optional[str] = ..., value: _Optional[_Union[Estimate, _Mapping]] = ...) -> None: ...
    class CalibrationMetricsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: Estimate
        def __init__(self, key: _Optional[str] = ..., value: _Optional[_Union[Estimate, _Mapping]] = ...) -> None: ...
    POLICY_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    SIGNALS_FIELD_NUMBER: _ClassVar[int]
    METRICS_FIELD_NUMBER: _ClassVar[int]
    CALIBRATION_SIZE_FIELD_NUMBER: _ClassVar[int]
    TEST_SIZE_FIELD_NUMBER: _ClassVar[int]
    WARNINGS_FIELD_NUMBER: _ClassVar[int]
    CALIBRATION_METRICS_FIELD_NUMBER: _ClassVar[int]
    GROUPS_FIELD_NUMBER: _ClassVar[int]
    policy: _gate_pb2.Policy
    status: _common_pb2.Status
    reason: str
    signals: _containers.RepeatedCompositeFieldContainer[SignalVerdict]
    metrics: _containers.MessageMap[str, Estimate]
    calibration_size: int
    test_size: int
    warnings: _containers.RepeatedScalarFieldContainer[str]
    calibration_metrics: _containers.MessageMap[str, Estimate]
    groups: _containers.RepeatedCompositeFieldContainer[GroupMetrics]
    def __init__(self, policy: _Optional[_Union[_gate_pb2.Policy, _Mapping]] = ..., status: _Optional[_Union[_common_pb2.Status, str]] = ..., reason: _Optional[str] = ..., signals: _Optional[_Iterable[_Union[SignalVerdict, _Mapping]]] = ..., metrics: _Optional[_Mapping[str, Estimate]] = ..., calibration_size: _Optional[int] = ..., test_size: _Optional[int] = ..., warnings: _Optional[_Iterable[str]] = ..., calibration_metrics: _Optional[_Mapping[str, Estimate]] = ..., groups: _Optional[_Iterable[_Union[GroupMetrics, _Mapping]]] = ...) -> None: ...

class EvaluateOptions(_message.Message):
    __slots__ = ("policy", "score", "threshold", "seed", "bootstrap", "bins", "folds", "against_policy", "against_score", "below", "split", "against_below")
    POLICY_FIELD_NUMBER: _ClassVar[int]
    SCORE_FIELD_NUMBER: _ClassVar[int]
    THRESHOLD_FIELD_NUMBER: _ClassVar[int]
    SEED_FIELD_NUMBER: _ClassVar[int]
    BOOTSTRAP_FIELD_NUMBER: _ClassVar[int]
    BINS_FIELD_NUMBER: _ClassVar[int]
    FOLDS_FIELD_NUMBER: _ClassVar[int]
    AGAINST_POLICY_FIELD_NUMBER: _ClassVar[int]
    AGAINST_SCORE_FIELD_NUMBER: _ClassVar[int]
    BELOW_FIELD_NUMBER: _ClassVar[int]
    SPLIT_FIELD_NUMBER: _ClassVar[int]
    AGAINST_BELOW_FIELD_NUMBER: _ClassVar[int]
    policy: str
    score: str
    threshold: float
    seed: int
    bootstrap: int
    bins: int
    folds: int
    against_policy: str
    against_score: str
    below: bool
    split: Split
    against_below: bool
    def __init__(self, policy: _Optional[str] = ..., score: _Optional[str] = ..., threshold: _Optional[float] = ..., seed: _Optional[int] = ..., bootstrap: _Optional[int] = ..., bins: _Optional[int] = ..., folds: _Optional[int] = ..., against_policy: _Optional[str] = ..., against_score: _Optional[str] = ..., below: bool = ..., split: _Optional[_Union[Split, str]] = ..., against_below: bool = ...) -> None: ...

class EvaluateRequest(_message.Message):
    __slots__ = ("options", "record")
    OPTIONS_FIELD_NUMBER: _ClassVar[int]
    RECORD_FIELD_NUMBER: _ClassVar[int]
    options: EvaluateOptions
    record: CalibrationRecord
    def __init__(self, options: _Optional[_Union[EvaluateOptions, _Mapping]] = ..., record: _Optional[_Union[CalibrationRecord, _Mapping]] = ...) -> None: ...

class GroupMetrics(_message.Message):
    __slots__ = ("dataset", "model", "metrics")
    class MetricsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: Estimate
        def __init__(self, key: _Optional[str] = ..., value: _Optional[_Union[Estimate, _Mapping]] = ...) -> None: ...
    DATASET_FIELD_NUMBER: _ClassVar[int]
    MODEL_FIELD_NUMBER: _ClassVar[int]
    METRICS_FIELD_NUMBER: _ClassVar[int]
    dataset: str
    model: str
    metrics: _containers.MessageMap[str, Estimate]
    def __init__(self, dataset: _Optional[str] = ..., model: _Optional[str] = ..., metrics: _Optional[_Mapping[str, Estimate]] = ...) -> None: ...

class ReliabilityBin(_message.Message):
    __slots__ = ("lower", "upper", "count", "confidence", "accuracy")
    LOWER_FIELD_NUMBER: _ClassVar[int]
    UPPER_FIELD_NUMBER: _ClassVar[int]
    COUNT_FIELD_NUMBER: _ClassVar[int]
    CONFIDENCE_FIELD_NUMBER: _ClassVar[int]
    ACCURACY_FIELD_NUMBER: _ClassVar[int]
    lower: float
    upper: float
    count: int
    confidence: float
    accuracy: float
    def __init__(self, lower: _Optional[float] = ..., upper: _Optional[float] = ..., count: _Optional[int] = ..., confidence: _Optional[float] = ..., accuracy: _Optional[float] = ...) -> None: ...

class Reliability(_message.Message):
    __slots__ = ("calibration", "bins", "metrics")
    class MetricsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: Estimate
        def __init__(self, key: _Optional[str] = ..., value: _Optional[_Union[Estimate, _Mapping]] = ...) -> None: ...
    CALIBRATION_FIELD_NUMBER: _ClassVar[int]
    BINS_FIELD_NUMBER: _ClassVar[int]
    METRICS_FIELD_NUMBER: _ClassVar[int]
    calibration: str
    bins: _containers.RepeatedCompositeFieldContainer[ReliabilityBin]
    metrics: _containers.MessageMap[str, Estimate]
    def __init__(self, calibration: _Optional[str] = ..., bins: _Optional[_Iterable[_Union[ReliabilityBin, _Mapping]]] = ..., metrics: _Optional[_Mapping[str, Estimate]] = ...) -> None: ...

class CurvePoint(_message.Message):
    __slots__ = ("x", "y", "threshold")
    X_FIELD_NUMBER: _ClassVar[int]
    Y_FIELD_NUMBER: _ClassVar[int]
    THRESHOLD_FIELD_NUMBER: _ClassVar[int]
    x: float
    y: float
    threshold: float
    def __init__(self, x: _Optional[float] = ..., y: _Optional[float] = ..., threshold: _Optional[float] = ...) -> None: ...

class Curve(_message.Message):
    __slots__ = ("name", "points")
    NAME_FIELD_NUMBER: _ClassVar[int]
    POINTS_FIELD_NUMBER: _ClassVar[int]
    name: str
    points: _containers.RepeatedCompositeFieldContainer[CurvePoint]
    def __init__(self, name: _Optional[str] = ..., points: _Optional[_Iterable[_Union[CurvePoint, _Mapping]]] = ...) -> None: ...

class PairedComparison(_message.Message):
    __slots__ = ("first", "second", "dataset", "model", "metric", "difference", "p_value", "p_adjusted")
    FIRST_FIELD_NUMBER: _ClassVar[int]
    SECOND_FIELD_NUMBER: _ClassVar[int]
    DATASET_FIELD_NUMBER: _ClassVar[int]
    MODEL_FIELD_NUMBER: _ClassVar[int]
    METRIC_FIELD_NUMBER: _ClassVar[int]
    DIFFERENCE_FIELD_NUMBER: _ClassVar[int]
    P_VALUE_FIELD_NUMBER: _ClassVar[int]
    P_ADJUSTED_FIELD_NUMBER: _ClassVar[int]
    first: str
    second: str
    dataset: str
    model: str
    metric: str
    difference: Estimate
    p_value: float
    p_adjusted: float
    def __init__(self, first: _Optional[str] = ..., second: _Optional[str] = ..., dataset: _Optional[str] = ..., model: _Optional[str] = ..., metric: _Optional[str] = ..., difference: _Optional[_Union[Estimate, _Mapping]] = ..., p_value: _Optional[float] = ..., p_adjusted: _Optional[float] = ...) -> None: ...

class EvaluateResponse(_message.Message):
    __slots__ = ("metrics", "groups", "warnings", "reliability", "curves", "comparisons", "against_metrics")
    class MetricsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: Estimate
        def __init__(self, key: _Optional[str] = ..., value: _Optional[_Union[Estimate, _Mapping]] = ...) -> None: ...
    class AgainstMetricsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: Estimate
        def __init__(self, key: _Optional[str] = ..., value: _Optional[_Union[Estimate, _Mapping]] = ...) -> None: ...
    METRICS_FIELD_NUMBER: _ClassVar[int]
    GROUPS_FIELD_NUMBER: _ClassVar[int]
    WARNINGS_FIELD_NUMBER: _ClassVar[int]
    RELIABILITY_FIELD_NUMBER: _ClassVar[int]
    CURVES_FIELD_NUMBER: _ClassVar[int]
    COMPARISONS_FIELD_NUMBER: _ClassVar[int]
    AGAINST_METRICS_FIELD_NUMBER: _ClassVar[int]
    metrics: _containers.MessageMap[str, Estimate]
    groups: _containers.RepeatedCompositeFieldContainer[GroupMetrics]
    warnings: _containers.RepeatedScalarFieldContainer[str]
    reliability: _containers.RepeatedCompositeFieldContainer[Reliability]
    curves: _containers.RepeatedCompositeFieldContainer[Curve]
    comparisons: _containers.RepeatedCompositeFieldContainer[PairedComparison]
    against_metrics: _containers.MessageMap[str, Estimate]
    def __init__(self, metrics: _Optional[_Mapping[str, Estimate]] = ..., groups: _Optional[_Iterable[_Union[GroupMetrics, _Mapping]]] = ..., warnings: _Optional[_Iterable[str]] = ..., reliability: _Optional[_Iterable[_Union[Reliability, _Mapping]]] = ..., curves: _Optional[_Iterable[_Union[Curve, _Mapping]]] = ..., comparisons: _Optional[_Iterable[_Union[PairedComparison, _Mapping]]] = ..., against_metrics: _Optional[_Mapping[str, Estimate]] = ...) -> None: ...

class ReplayOptions(_message.Message):
    __slots__ = ("policy", "score", "threshold", "below", "never_arm", "always_arm", "oracle_skips_ties", "seed", "bootstrap", "split")
    POLICY_FIELD_NUMBER: _ClassVar[int]
    SCORE_FIELD_NUMBER: _ClassVar[int]
    THRESHOLD_FIELD_NUMBER: _ClassVar[int]
    BELOW_FIELD_NUMBER: _ClassVar[int]
    NEVER_ARM_FIELD_NUMBER: _ClassVar[int]
    ALWAYS_ARM_FIELD_NUMBER: _ClassVar[int]
    ORACLE_SKIPS_TIES_FIELD_NUMBER: _ClassVar[int]
    SEED_FIELD_NUMBER: _ClassVar[int]
    BOOTSTRAP_FIELD_NUMBER: _ClassVar[int]
    SPLIT_FIELD_NUMBER: _ClassVar[int]
    policy: str
    score: str
    threshold: float
    below: bool
    never_arm: str
    always_arm: str
    oracle_skips_ties: bool
    seed: int
    bootstrap: int
    split: Split
    def __init__(self, policy: _Optional[str] = ..., score: _Optional[str] = ..., threshold: _Optional[float] = ..., below: bool = ..., never_arm: _Optional[str] = ..., always_arm: _Optional[str] = ..., oracle_skips_ties: bool = ..., seed: _Optional[int] = ..., bootstrap: _Optional[int] = ..., split: _Optional[_Union[Split, str]] = ...) -> None: ...

class ReplayRequest(_message.Message):
    __slots__ = ("options", "record")
    OPTIONS_FIELD_NUMBER: _ClassVar[int]
    RECORD_FIELD_NUMBER: _ClassVar[int]
    options: ReplayOptions
    record: CalibrationRecord
    def __init__(self, options: _Optional[_Union[ReplayOptions, _Mapping]] = ..., record: _Optional[_Union[CalibrationRecord, _Mapping]] = ...) -> None: ...

class RoutedPolicy(_message.Message):
    __slots__ = ("name", "metrics")
    class MetricsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: Estimate
        def __init__(self, key: _Optional[str] = ..., value: _Optional[_Union[Estimate, _Mapping]] = ...) -> None: ...
    NAME_FIELD_NUMBER: _ClassVar[int]
    METRICS_FIELD_NUMBER: _ClassVar[int]
    name: str
    metrics: _containers.MessageMap[str, Estimate]
    def __init__(self, name: _Optional[str] = ..., metrics: _Optional[_Mapping[str, Estimate]] = ...) -> None: ...

class FrontierPoint(_message.Message):
    __slots__ = ("threshold", "route_rate", "f1", "passages", "em", "tokens", "calls")
    THRESHOLD_FIELD_NUMBER: _ClassVar[int]
    ROUTE_RATE_FIELD_NUMBER: _ClassVar[int]
    F1_FIELD_NUMBER: _ClassVar[int]
    PASSAGES_FIELD_NUMBER: _ClassVar[int]
    EM_FIELD_NUMBER: _ClassVar[int]
    TOKENS_FIELD_NUMBER: _ClassVar[int]
    CALLS_FIELD_NUMBER: _ClassVar[int]
    threshold: float
    route_rate: float
    f1: float
    passages: float
    em: float
    tokens: float
    calls: float
    def __init__(self, threshold: _Optional[float] = ..., route_rate: _Optional[float] = ..., f1: _Optional[float] = ..., passages: _Optional[float] = ..., em: _Optional[float] = ..., tokens: _Optional[float] = ..., calls: _Optional[float] = ...) -> None: ...

class GroupRouting(_message.Message):
    __slots__ = ("dataset", "model", "policies")
    DATASET_FIELD_NUMBER: _ClassVar[int]
    MODEL_FIELD_NUMBER: _ClassVar[int]
    POLICIES_FIELD_NUMBER: _ClassVar[int]
    dataset: str
    model: str
    policies: _containers.RepeatedCompositeFieldContainer[RoutedPolicy]
    def __init__(self, dataset: _Optional[str] = ..., model: _Optional[str] = ..., policies: _Optional[_Iterable[_Union[RoutedPolicy, _Mapping]]] = ...) -> None: ...

class ReplayResponse(_message.Message):
    __slots__ = ("policies", "frontier", "benefit", "warnings", "success_only", "oracle_skips_ties", "groups", "comparisons", "failures")
    class BenefitEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: Estimate
        def __init__(self, key: _Optional[str] = ..., value: _Optional[_Union[Estimate, _Mapping]] = ...) -> None: ...
    class FailuresEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: int
        def __init__(self, key: _Optional[str] = ..., value: _Optional[int] = ...) -> None: ...
    POLICIES_FIELD_NUMBER: _ClassVar[int]
    FRONTIER_FIELD_NUMBER: _ClassVar[int]
    BENEFIT_FIELD_NUMBER: _ClassVar[int]
    WARNINGS_FIELD_NUMBER: _ClassVar[int]
    SUCCESS_ONLY_FIELD_NUMBER: _ClassVar[int]
    ORACLE_SKIPS_TIES_FIELD_NUMBER: _ClassVar[int]
    GROUPS_FIELD_NUMBER: _ClassVar[int]
    COMPARISONS_FIELD_NUMBER: _ClassVar[int]
    FAILURES_FIELD_NUMBER: _ClassVar[int]
    policies: _containers.RepeatedCompositeFieldContainer[RoutedPolicy]
    frontier: _containers.RepeatedCompositeFieldContainer[FrontierPoint]
    benefit: _containers.MessageMap[str, Estimate]
    warnings: _containers.RepeatedScalarFieldContainer[str]
    success_only: _containers.RepeatedCompositeFieldContainer[RoutedPolicy]
    oracle_skips_ties: bool
    groups: _containers.RepeatedCompositeFieldContainer[GroupRouting]
    comparisons: _containers.RepeatedCompositeFieldContainer[PairedComparison]
    failures: _containers.ScalarMap[str, int]
    def __init__(self, policies: _Optional[_Iterable[_Union[RoutedPolicy, _Mapping]]] = ..., frontier: _Optional[_Iterable[_Union[FrontierPoint, _Mapping]]] = ..., benefit: _Optional[_Mapping[str, Estimate]] = ..., warnings: _Optional[_Iterable[str]] = ..., success_only: _Optional[_Iterable[_Union[RoutedPolicy, _Mapping]]] = ..., oracle_skips_ties: bool = ..., groups: _Optional[_Iterable[_Union[GroupRouting, _Mapping]]] = ..., comparisons: _Optional[_Iterable[_Union[PairedComparison, _Mapping]]] = ..., failures: _Optional[_Mapping[str, int]] = ...) -> None: ...
