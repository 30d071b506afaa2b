"""Reading answers: a value, or a typed reason why there is none.

In a protobuf message an absent number reads as 0. These functions never take a
number that could not be computed for one that was.
"""

from __future__ import annotations

from typing import NamedTuple, TypeVar, overload

from plumbline import v1
from plumbline.errors import MissingValue, from_item

Default = TypeVar("Default")


class _Required:
    """The type of the default of `value` that no caller can give."""


_REQUIRED = _Required()


class Probabilities(NamedTuple):
    """The class probabilities of one pair of a verifier."""

    entailment: float
    """P(entailment), or P(support) of a verifier of two classes; in [0, 1]."""
    neutral: float | None
    """P(neutral); None if the verifier has no such class."""
    contradiction: float | None
    """P(contradiction); None if the verifier has no such class."""


@overload
def value(score: v1.Score | v1.Signal | v1.Estimate) -> float: ...
@overload
def value(score: v1.Score | v1.Signal | v1.Estimate, default: Default) -> float | Default: ...
def value(
    score: v1.Score | v1.Signal | v1.Estimate, default: Default | _Required = _REQUIRED
) -> float | Default:
    """The number of a score; where there is none, the default.

    Without a default it raises MissingValue, with the status and the reason.
    """
    if score.status == v1.Status.STATUS_OK and score.HasField("value"):
        return score.value
    if not isinstance(default, _Required):
        return default
    raise missing(score.status, score.reason)


def missing(status: v1.Status, reason: str) -> MissingValue:
    """The exception of a value that a status says is not there."""
    if status == v1.Status.STATUS_UNSPECIFIED:
        return MissingValue("STATUS_UNSPECIFIED", "the answer has no such score")
    known = status in v1.Status.values()
    return MissingValue(v1.Status.Name(status) if known else f"STATUS_{status}", reason)


def probabilities(result: v1.VerifyResult) -> Probabilities:
    """The probabilities of a pair; raises MissingValue where there are none."""
    if result.status != v1.Status.STATUS_OK or not result.HasField("probabilities"):
        raise missing(result.status, result.reason)
    found = result.probabilities
    return Probabilities(
        found.entailment,
        found.neutral if found.HasField("neutral") else None,
        found.contradiction if found.HasField("contradiction") else None,
    )


@overload
def unwrap(result: v1.ScoreRetrievalResult) -> v1.ScoreRetrievalResponse: ...
@overload
def unwrap(result: v1.ScoreConfidenceResult) -> v1.ScoreConfidenceResponse: ...
@overload
def unwrap(result: v1.ScoreGroundingResult) -> v1.ScoreGroundingResponse: ...
@overload
def unwrap(result: v1.DecideResult) -> v1.DecideResponse: ...
def unwrap(
    result: v1.ScoreRetrievalResult | v1.ScoreConfidenceResult | v1.ScoreGroundingResult | v1.DecideResult,
) -> v1.ScoreRetrievalResponse | v1.ScoreConfidenceResponse | v1.ScoreGroundingResponse | v1.DecideResponse:
    """The response of one item of a batch or stream; raises the item's CallError."""
    if result.WhichOneof("outcome") == "response":
        return result.response
    raise from_item(result.error)
