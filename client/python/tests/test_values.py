"""Reading numbers that may be absent."""

from __future__ import annotations

import pytest

from plumbline import MissingValue, probabilities, v1, value


@pytest.mark.parametrize("kind", [v1.Score, v1.Signal, v1.Estimate])
def test_a_number_counts_only_if_it_is_there_and_said_to_be(kind: type) -> None:
    assert value(kind(value=0.0, status="STATUS_OK")) == 0
    for absent in (kind(), kind(status="STATUS_OK"), kind(value=0.5, status="STATUS_DEADLINE")):
        assert value(absent, None) is None
        assert value(absent, default=-1) == -1
        with pytest.raises(MissingValue):
            value(absent)


def test_why_a_number_is_missing() -> None:
    with pytest.raises(MissingValue, match="STATUS_TOO_FEW_ITEMS: two samples are needed") as caught:
        value(v1.Score(status="STATUS_TOO_FEW_ITEMS", reason="two samples are needed"))
    assert (caught.value.status, caught.value.reason) == ("STATUS_TOO_FEW_ITEMS", "two samples are needed")


def test_a_status_that_this_version_does_not_know() -> None:
    with pytest.raises(MissingValue, match="STATUS_99: new"):
        value(v1.Score.FromString(bytes([16, 99, 26, 3]) + b"new"))


def test_probabilities_count_only_with_their_status() -> None:
    scored = v1.ClassProbabilities(entailment=0.5)
    assert probabilities(v1.VerifyResult(status="STATUS_OK", probabilities=scored)) == (0.5, None, None)
    for absent in (v1.VerifyResult(status="STATUS_OK"), v1.VerifyResult(probabilities=scored)):
        with pytest.raises(MissingValue):
            probabilities(absent)
