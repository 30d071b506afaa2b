"""What a scoring function takes and gives, and the check of what it gave."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from plumbline import v1
from plumbline.values import Probabilities

# How far half-precision models may be off, as servers allow it.
_SUM_TOLERANCE = 1e-2
_ROUNDING = 1e-6


class Pair(NamedTuple):
    """One pair to score."""

    premise: str
    """The evidence; may be empty."""
    hypothesis: str
    """The claim; never empty."""


@dataclass(frozen=True)
class NoScore:
    """A scoring function gives it in place of a score that it cannot compute."""

    status: str
    """The name of a status of the schema other than STATUS_OK, such as "STATUS_TOO_LONG"."""
    reason: str
    """For people: what was missing and what to do. It must not quote the pair."""

    def __post_init__(self) -> None:
        if self.status not in v1.Status.keys() or self.status in ("STATUS_UNSPECIFIED", "STATUS_OK"):  # noqa: SIM118
            raise ValueError(f"status: {self.status!r} is no status that says why there is no score")


Score: TypeAlias = "float | tuple[float, float, float] | NoScore"
"""P(support) in [0, 1]; or (entailment, neutral, contradiction), which sum to 1; or why
there is neither."""

ScoreFunction: TypeAlias = Callable[[Sequence[Pair]], "Iterable[Score] | Awaitable[Iterable[Score]]"]
"""Gives one score for each pair, in order."""


def check(given: object, count: int, three_class: bool) -> list[Probabilities | NoScore]:
    """What a function gave for count pairs, as outcomes of the pairs.

    Arrays of numpy and tensors of torch are as good as lists.
    """
    try:
        scores = list(given)  # type: ignore[call-overload]
    except TypeError:
        return [_defect(f"it returned {type(given).__name__} in place of a list of scores")] * count
    if len(scores) != count:
        return [_defect(f"it returned {len(scores)} scores for {count} pairs")] * count
    return [_outcome(score, three_class) for score in scores]


def _outcome(score: object, three_class: bool) -> Probabilities | NoScore:
    if isinstance(score, NoScore):
        return score
    try:
        values = [float(value) for value in score] if three_class else [float(score)]  # type: ignore[attr-defined, arg-type]
    except (TypeError, ValueError):
        wanted = "(entailment, neutral, contradiction)" if three_class else "a number"
        return _defect(f"it returned {type(score).__name__} in place of {wanted}")
    if len(values) != (3 if three_class else 1):
        return _defect(f"it returned {len(values)} probabilities for three classes")
    if not all(-_ROUNDING <= value <= 1 + _ROUNDING for value in values):
        return _defect("it returned a probability that is not a number in [0, 1]")
    if three_class and abs(sum(values) - 1) > _SUM_TOLERANCE:
        return _defect(f"it returned probabilities that sum to {sum(values):.3f}")
    clipped = [min(max(value, 0.0), 1.0) for value in values]
    return Probabilities(*clipped) if three_class else Probabilities(clipped[0], None, None)


def failed(error: Exception) -> NoScore:
    """The outcome of every pair of a batch on which the function raised."""
    return _defect(f"it raised {type(error).__name__}; the sidecar's log has the cause")


def _defect(what: str) -> NoScore:
    return NoScore("STATUS_VERIFIER_UNAVAILABLE", f"the scoring function has no usable answer: {what}")
