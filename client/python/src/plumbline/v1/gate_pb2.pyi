import datetime

from google.protobuf import struct_pb2 as _struct_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from plumbline.v1 import common_pb2 as _common_pb2
from plumbline.v1 import telemetry_data_pb2 as _telemetry_data_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Action(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ACTION_UNSPECIFIED: _ClassVar[Action]
    ACTION_COMMIT: _ClassVar[Action]
    ACTION_RETRIEVE: _ClassVar[Action]
    ACTION_REFINE: _ClassVar[Action]
    ACTION_DECOMPOSE: _ClassVar[Action]
    ACTION_ESCALATE: _ClassVar[Action]
    ACTION_ABSTAIN: _ClassVar[Action]
    ACTION_NO_RETRIEVAL: _ClassVar[Action]
    ACTION_SINGLE_STEP: _ClassVar[Action]
    ACTION_MULTI_STEP: _ClassVar[Action]

class InputType(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    INPUT_TYPE_UNSPECIFIED: _ClassVar[InputType]
    INPUT_TYPE_NUMBER: _ClassVar[InputType]
    INPUT_TYPE_NUMBERS: _ClassVar[InputType]
    INPUT_TYPE_TEXT: _ClassVar[InputType]
    INPUT_TYPE_DISTRIBUTION: _ClassVar[InputType]
    INPUT_TYPE_BOOL: _ClassVar[InputType]
    INPUT_TYPE_TEXTS: _ClassVar[InputType]

class Comparison(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    COMPARISON_UNSPECIFIED: _ClassVar[Comparison]
    COMPARISON_LESS: _ClassVar[Comparison]
    COMPARISON_LESS_OR_EQUAL: _ClassVar[Comparison]
    COMPARISON_GREATER: _ClassVar[Comparison]
    COMPARISON_GREATER_OR_EQUAL: _ClassVar[Comparison]
ACTION_UNSPECIFIED: Action
ACTION_COMMIT: Action
ACTION_RETRIEVE: Action
ACTION_REFINE: Action
ACTION_DECOMPOSE: Action
ACTION_ESCALATE: Action
ACTION_ABSTAIN: Action
ACTION_NO_RETRIEVAL: Action
ACTION_SINGLE_STEP: Action
ACTION_MULTI_STEP: Action
INPUT_TYPE_UNSPECIFIED: InputType
INPUT_TYPE_NUMBER: InputType
INPUT_TYPE_NUMBERS: InputType
INPUT_TYPE_TEXT: InputType
INPUT_TYPE_DISTRIBUTION: InputType
INPUT_TYPE_BOOL: InputType
INPUT_TYPE_TEXTS: InputType
COMPARISON_UNSPECIFIED: Comparison
COMPARISON_LESS: Comparison
COMPARISON_LESS_OR_EQUAL: Comparison
COMPARISON_GREATER: Comparison
COMPARISON_GREATER_OR_EQUAL: Comparison

class PolicyInput(_message.Message):
    __slots__ = ("name", "type", "description", "range", "direction", "on_missing", "optional")
    NAME_FIELD_NUMBER: _ClassVar[int]
    TYPE_FIELD_NUMBER: _ClassVar[int]
    DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
    RANGE_FIELD_NUMBER: _ClassVar[int]
    DIRECTION_FIELD_NUMBER: _ClassVar[int]
    ON_MISSING_FIELD_NUMBER: _ClassVar[int]
    OPTIONAL_FIELD_NUMBER: _ClassVar[int]
    name: str
    type: InputType
    description: str
    range: _common_pb2.Range
    direction: _common_pb2.Direction
    on_missing: Action
    optional: bool
    def __init__(self, name: _Optional[str] = ..., type: _Optional[_Union[InputType, str]] = ..., description: _Optional[str] = ..., range: _Optional[_Union[_common_pb2.Range, _Mapping]] = ..., direction: _Optional[_Union[_common_pb2.Direction, str]] = ..., on_missing: _Optional[_Union[Action, str]] = ..., optional: bool = ...) -> None: ...

class Condition(_message.Message):
    __slots__ = ("input", "comparison", "threshold")
    INPUT_FIELD_NUMBER: _ClassVar[int]
    COMPARISON_FIELD_NUMBER: _ClassVar[int]
    THRESHOLD_FIELD_NUMBER: _ClassVar[int]
    input: str
    comparison: Comparison
    threshold: str
    def __init__(self, input: _Optional[str] = ..., comparison: _Optional[_Union[Comparison, str]] = ..., threshold: _Optional[str] = ...) -> None: ...

class ConditionRule(_message.Message):
    __slots__ = ("conditions", "all", "then", "otherwise")
    CONDITIONS_FIELD_NUMBER: _ClassVar[int]
    ALL_FIELD_NUMBER: _ClassVar[int]
    THEN_FIELD_NUMBER: _ClassVar[int]
    OTHERWISE_FIELD_NUMBER: _ClassVar[int]
    conditions: _containers.RepeatedCompositeFieldContainer[Condition]
    all: bool
    then: Action
    otherwise: Action
    def __init__(self, conditions: _Optional[_Iterable[_Union[Condition, _Mapping]]] = ..., all: bool = ..., then: _Optional[_Union[Action, str]] = ..., otherwise: _Optional[_Union[Action, str]] = ...) -> None: ...

class Band(_message.Message):
    __slots__ = ("below", "action")
    BELOW_FIELD_NUMBER: _ClassVar[int]
    ACTION_FIELD_NUMBER: _ClassVar[int]
    below: str
    action: Action
    def __init__(self, below: _Optional[str] = ..., action: _Optional[_Union[Action, str]] = ...) -> None: ...

class BandRule(_message.Message):
    __slots__ = ("input", "bands")
    INPUT_FIELD_NUMBER: _ClassVar[int]
    BANDS_FIELD_NUMBER: _ClassVar[int]
    input: str
    bands: _containers.RepeatedCompositeFieldContainer[Band]
    def __init__(self, input: _Optional[str] = ..., bands: _Optional[_Iterable[_Union[Band, _Mapping]]] = ...) -> None: ...

class LogisticTerm(_message.Message):
    __slots__ = ("input", "mean", "stddev", "weight")
    INPUT_FIELD_NUMBER: _ClassVar[int]
    MEAN_FIELD_NUMBER: _ClassVar[int]
    STDDEV_FIELD_NUMBER: _ClassVar[int]
    WEIGHT_FIELD_NUMBER: _ClassVar[int]
    input: str
    mean: float
    stddev: float
    weight: float
    def __init__(self, input: _Optional[str] = ..., mean: _Optional[float] = ..., stddev: _Optional[float] = ..., weight: _Optional[float] = ...) -> None: ...

class LogisticRule(_message.Message):
    __slots__ = ("terms", "intercept", "threshold", "then", "otherwise")
    TERMS_FIELD_NUMBER: _ClassVar[int]
    INTERCEPT_FIELD_NUMBER: _ClassVar[int]
    THRESHOLD_FIELD_NUMBER: _ClassVar[int]
    THEN_FIELD_NUMBER: _ClassVar[int]
    OTHERWISE_FIELD_NUMBER: _ClassVar[int]
    terms: _containers.RepeatedCompositeFieldContainer[LogisticTerm]
    intercept: float
    threshold: str
    then: Action
    otherwise: Action
    def __init__(self, terms: _Optional[_Iterable[_Union[LogisticTerm, _Mapping]]] = ..., intercept: _Optional[float] = ..., threshold: _Optional[str] = ..., then: _Optional[_Union[Action, str]] = ..., otherwise: _Optional[_Union[Action, str]] = ...) -> None: ...

class CelCase(_message.Message):
    __slots__ = ("when", "then")
    WHEN_FIELD_NUMBER: _ClassVar[int]
    THEN_FIELD_NUMBER: _ClassVar[int]
    when: str
    then: Action
    def __init__(self, when: _Optional[str] = ..., then: _Optional[_Union[Action, str]] = ...) -> None: ...

class CelRule(_message.Message):
    __slots__ = ("cases", "otherwise")
    CASES_FIELD_NUMBER: _ClassVar[int]
    OTHERWISE_FIELD_NUMBER: _ClassVar[int]
    cases: _containers.RepeatedCompositeFieldContainer[CelCase]
    otherwise: Action
    def __init__(self, cases: _Optional[_Iterable[_Union[CelCase, _Mapping]]] = ..., otherwise: _Optional[_Union[Action, str]] = ...) -> None: ...

class NativeRule(_message.Message):
    __slots__ = ("name",)
    NAME_FIELD_NUMBER: _ClassVar[int]
    name: str
    def __init__(self, name: _Optional[str] = ...) -> None: ...

class Provenance(_message.Message):
    __slots__ = ("calibrated", "data_name", "data_digest", "method", "fitted_at", "fit_size", "test_size", "verifier_digest", "code_version", "source", "seed")
    CALIBRATED_FIELD_NUMBER: _ClassVar[int]
    DATA_NAME_FIELD_NUMBER: _ClassVar[int]
    DATA_DIGEST_FIELD_NUMBER: _ClassVar[int]
    METHOD_FIELD_NUMBER: _ClassVar[int]
    FITTED_AT_FIELD_NUMBER: _ClassVar[int]
    FIT_SIZE_FIELD_NUMBER: _ClassVar[int]
    TEST_SIZE_FIELD_NUMBER: _ClassVar[int]
    VERIFIER_DIGEST_FIELD_NUMBER: _ClassVar[int]
    CODE_VERSION_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    SEED_FIELD_NUMBER: _ClassVar[int]
    calibrated: bool
    data_name: str
    data_digest: str
    method: str
    fitted_at: _timestamp_pb2.Timestamp
    fit_size: int
    test_size: int
    verifier_digest: str
    code_version: str
    source: str
    seed: int
    def __init__(self, calibrated: bool = ..., data_name: _Optional[str] = ..., data_digest: _Optional[str] = ..., method: _Optional[str] = ..., fitted_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., fit_size: _Optional[int] = ..., test_size: _Optional[int] = ..., verifier_digest: _Optional[str] = ..., code_version: _Optional[str] = ..., source: _Optional[str] = ..., seed: _Optional[int] = ...) -> None: ...

class Policy(_message.Message):
    __slots__ = ("name", "version", "description", "framework", "native", "inputs", "thresholds", "conditions", "bands", "logistic", "cel", "native_rule", "provenance", "fallbacks", "source", "notes")
    class ThresholdsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: float
        def __init__(self, key: _Optional[str] = ..., value: _Optional[float] = ...) -> None: ...
    NAME_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
    FRAMEWORK_FIELD_NUMBER: _ClassVar[int]
    NATIVE_FIELD_NUMBER: _ClassVar[int]
    INPUTS_FIELD_NUMBER: _ClassVar[int]
    THRESHOLDS_FIELD_NUMBER: _ClassVar[int]
    CONDITIONS_FIELD_NUMBER: _ClassVar[int]
    BANDS_FIELD_NUMBER: _ClassVar[int]
    LOGISTIC_FIELD_NUMBER: _ClassVar[int]
    CEL_FIELD_NUMBER: _ClassVar[int]
    NATIVE_RULE_FIELD_NUMBER: _ClassVar[int]
    PROVENANCE_FIELD_NUMBER: _ClassVar[int]
    FALLBACKS_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    NOTES_FIELD_NUMBER: _ClassVar[int]
    name: str
    version: str
    description: str
    framework: str
    native: bool
    inputs: _containers.RepeatedCompositeFieldContainer[PolicyInput]
    thresholds: _containers.ScalarMap[str, float]
    conditions: ConditionRule
    bands: BandRule
    logistic: LogisticRule
    cel: CelRule
    native_rule: NativeRule
    provenance: Provenance
    fallbacks: _containers.RepeatedScalarFieldContainer[str]
    source: str
    notes: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, name: _Optional[str] = ..., version: _Optional[str] = ..., description: _Optional[str] = ..., framework: _Optional[str] = ..., native: bool = ..., inputs: _Optional[_Iterable[_Union[PolicyInput, _Mapping]]] = ..., thresholds: _Optional[_Mapping[str, float]] = ..., conditions: _Optional[_Union[ConditionRule, _Mapping]] = ..., bands: _Optional[_Union[BandRule, _Mapping]] = ..., logistic: _Optional[_Union[LogisticRule, _Mapping]] = ..., cel: _Optional[_Union[CelRule, _Mapping]] = ..., native_rule: _Optional[_Union[NativeRule, _Mapping]] = ..., provenance: _Optional[_Union[Provenance, _Mapping]] = ..., fallbacks: _Optional[_Iterable[str]] = ..., source: _Optional[str] = ..., notes: _Optional[_Iterable[str]] = ...) -> None: ...

class DecideRequest(_message.Message):
    __slots__ = ("id", "policy", "telemetry", "inputs", "thresholds", "shadow_policies", "verifier_digest")
    class ThresholdsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: float
        def __init__(self, key: _Optional[str] = ..., value: _Optional[float] = ...) -> None: ...
    ID_FIELD_NUMBER: _ClassVar[int]
    POLICY_FIELD_NUMBER: _ClassVar[int]
    TELEMETRY_FIELD_NUMBER: _ClassVar[int]
    INPUTS_FIELD_NUMBER: _ClassVar[int]
    THRESHOLDS_FIELD_NUMBER: _ClassVar[int]
    SHADOW_POLICIES_FIELD_NUMBER: _ClassVar[int]
    VERIFIER_DIGEST_FIELD_NUMBER: _ClassVar[int]
    id: str
    policy: str
    telemetry: _telemetry_data_pb2.Telemetry
    inputs: _struct_pb2.Struct
    thresholds: _containers.ScalarMap[str, float]
    shadow_policies: _containers.RepeatedScalarFieldContainer[str]
    verifier_digest: str
    def __init__(self, id: _Optional[str] = ..., policy: _Optional[str] = ..., telemetry: _Optional[_Union[_telemetry_data_pb2.Telemetry, _Mapping]] = ..., inputs: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ..., thresholds: _Optional[_Mapping[str, float]] = ..., shadow_policies: _Optional[_Iterable[str]] = ..., verifier_digest: _Optional[str] = ...) -> None: ...

class TraceTerm(_message.Message):
    __slots__ = ("term", "value", "comparison", "threshold", "passed")
    TERM_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    COMPARISON_FIELD_NUMBER: _ClassVar[int]
    THRESHOLD_FIELD_NUMBER: _ClassVar[int]
    PASSED_FIELD_NUMBER: _ClassVar[int]
    term: str
    value: _common_pb2.Score
    comparison: Comparison
    threshold: float
    passed: bool
    def __init__(self, term: _Optional[str] = ..., value: _Optional[_Union[_common_pb2.Score, _Mapping]] = ..., comparison: _Optional[_Union[Comparison, str]] = ..., threshold: _Optional[float] = ..., passed: bool = ...) -> None: ...

class ShadowDecision(_message.Message):
    __slots__ = ("policy", "action", "agrees", "policy_digest", "missing", "error")
    POLICY_FIELD_NUMBER: _ClassVar[int]
    ACTION_FIELD_NUMBER: _ClassVar[int]
    AGREES_FIELD_NUMBER: _ClassVar[int]
    POLICY_DIGEST_FIELD_NUMBER: _ClassVar[int]
    MISSING_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    policy: str
    action: Action
    agrees: bool
    policy_digest: str
    missing: _containers.RepeatedScalarFieldContainer[str]
    error: _common_pb2.ItemError
    def __init__(self, policy: _Optional[str] = ..., action: _Optional[_Union[Action, str]] = ..., agrees: bool = ..., policy_digest: _Optional[str] = ..., missing: _Optional[_Iterable[str]] = ..., error: _Optional[_Union[_common_pb2.ItemError, _Mapping]] = ...) -> None: ...

class DecideResponse(_message.Message):
    __slots__ = ("id", "policy", "action", "calibrated", "trace", "margin", "missing", "policy_digest", "warnings", "shadow", "query", "decided_by")
    ID_FIELD_NUMBER: _ClassVar[int]
    POLICY_FIELD_NUMBER: _ClassVar[int]
    ACTION_FIELD_NUMBER: _ClassVar[int]
    CALIBRATED_FIELD_NUMBER: _ClassVar[int]
    TRACE_FIELD_NUMBER: _ClassVar[int]
    MARGIN_FIELD_NUMBER: _ClassVar[int]
    MISSING_FIELD_NUMBER: _ClassVar[int]
    POLICY_DIGEST_FIELD_NUMBER: _ClassVar[int]
    WARNINGS_FIELD_NUMBER: _ClassVar[int]
    SHADOW_FIELD_NUMBER: _ClassVar[int]
    QUERY_FIELD_NUMBER: _ClassVar[int]
    DECIDED_BY_FIELD_NUMBER: _ClassVar[int]
    id: str
    policy: str
    action: Action
    calibrated: bool
    trace: _containers.RepeatedCompositeFieldContainer[TraceTerm]
    margin: _common_pb2.Score
    missing: _containers.RepeatedScalarFieldContainer[str]
    policy_digest: str
    warnings: _containers.RepeatedScalarFieldContainer[str]
    shadow: _containers.RepeatedCompositeFieldContainer[ShadowDecision]
    query: str
    decided_by: str
    def __init__(self, id: _Optional[str] = ..., policy: _Optional[str] = ..., action: _Optional[_Union[Action, str]] = ..., calibrated: bool = ..., trace: _Optional[_Iterable[_Union[TraceTerm, _Mapping]]] = ..., margin: _Optional[_Union[_common_pb2.Score, _Mapping]] = ..., missing: _Optional[_Iterable[str]] = ..., policy_digest: _Optional[str] = ..., warnings: _Optional[_Iterable[str]] = ..., shadow: _Optional[_Iterable[_Union[ShadowDecision, _Mapping]]] = ..., query: _Optional[str] = ..., decided_by: _Optional[str] = ...) -> None: ...

class BatchDecideRequest(_message.Message):
    __slots__ = ("requests",)
    REQUESTS_FIELD_NUMBER: _ClassVar[int]
    requests: _containers.RepeatedCompositeFieldContainer[DecideRequest]
    def __init__(self, requests: _Optional[_Iterable[_Union[DecideRequest, _Mapping]]] = ...) -> None: ...

class DecideResult(_message.Message):
    __slots__ = ("response", "error")
    RESPONSE_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    response: DecideResponse
    error: _common_pb2.ItemError
    def __init__(self, response: _Optional[_Union[DecideResponse, _Mapping]] = ..., error: _Optional[_Union[_common_pb2.ItemError, _Mapping]] = ...) -> None: ...

class BatchDecideResponse(_message.Message):
    __slots__ = ("results",)
    RESULTS_FIELD_NUMBER: _ClassVar[int]
    results: _containers.RepeatedCompositeFieldContainer[DecideResult]
    def __init__(self, results: _Optional[_Iterable[_Union[DecideResult, _Mapping]]] = ...) -> None: ...

class StreamDecideRequest(_message.Message):
    __slots__ = ("request",)
    REQUEST_FIELD_NUMBER: _ClassVar[int]
    request: DecideRequest
    def __init__(self, request: _Optional[_Union[DecideRequest, _Mapping]] = ...) -> None: ...

class StreamDecideResponse(_message.Message):
    __slots__ = ("result",)
    RESULT_FIELD_NUMBER: _ClassVar[int]
    result: DecideResult
    def __init__(self, result: _Optional[_Union[DecideResult, _Mapping]] = ...) -> None: ...

class ListGatesRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ListGatesResponse(_message.Message):
    __slots__ = ("gates",)
    GATES_FIELD_NUMBER: _ClassVar[int]
    gates: _containers.RepeatedCompositeFieldContainer[GateInfo]
    def __init__(self, gates: _Optional[_Iterable[_Union[GateInfo, _Mapping]]] = ...) -> None: ...

class GateInfo(_message.Message):
    __slots__ = ("name", "version", "description", "framework", "native", "inputs", "thresholds", "calibrated", "actions", "policy_digest", "source", "warnings")
    class ThresholdsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: float
        def __init__(self, key: _Optional[str] = ..., value: _Optional[float] = ...) -> None: ...
    NAME_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
    FRAMEWORK_FIELD_NUMBER: _ClassVar[int]
    NATIVE_FIELD_NUMBER: _ClassVar[int]
    INPUTS_FIELD_NUMBER: _ClassVar[int]
    THRESHOLDS_FIELD_NUMBER: _ClassVar[int]
    CALIBRATED_FIELD_NUMBER: _ClassVar[int]
    ACTIONS_FIELD_NUMBER: _ClassVar[int]
    POLICY_DIGEST_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    WARNINGS_FIELD_NUMBER: _ClassVar[int]
    name: str
    version: str
    description: str
    framework: str
    native: bool
    inputs: _containers.RepeatedCompositeFieldContainer[PolicyInput]
    thresholds: _containers.ScalarMap[str, float]
    calibrated: bool
    actions: _containers.RepeatedScalarFieldContainer[Action]
    policy_digest: str
    source: str
    warnings: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, name: _Optional[str] = ..., version: _Optional[str] = ..., description: _Optional[str] = ..., framework: _Optional[str] = ..., native: bool = ..., inputs: _Optional[_Iterable[_Union[PolicyInput, _Mapping]]] = ..., thresholds: _Optional[_Mapping[str, float]] = ..., calibrated: bool = ..., actions: _Optional[_Iterable[_Union[Action, str]]] = ..., policy_digest: _Optional[str] = ..., source: _Optional[str] = ..., warnings: _Optional[_Iterable[str]] = ...) -> None: ...

class GetPolicyRequest(_message.Message):
    __slots__ = ("name",)
    NAME_FIELD_NUMBER: _ClassVar[int]
    name: str
    def __init__(self, name: _Optional[str] = ...) -> None: ...

class GetPolicyResponse(_message.Message):
    __slots__ = ("policy", "policy_digest", "warnings")
    POLICY_FIELD_NUMBER: _ClassVar[int]
    POLICY_DIGEST_FIELD_NUMBER: _ClassVar[int]
    WARNINGS_FIELD_NUMBER: _ClassVar[int]
    policy: Policy
    policy_digest: str
    warnings: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, policy: _Optional[_Union[Policy, _Mapping]] = ..., policy_digest: _Optional[str] = ..., warnings: _Optional[_Iterable[str]] = ...) -> None: ...
