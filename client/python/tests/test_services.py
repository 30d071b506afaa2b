"""Every service of the real server, through both clients."""

from __future__ import annotations

import math
import statistics
from typing import Any

import pytest

from plumbline import AsyncClient, Client, InvalidArgument, MissingValue, probabilities, unwrap, v1, value
from plumbline.v1 import rpcs

RANKING = {
    "name": "dense",
    "score_kind": "SCORE_KIND_COSINE",
    "items": [{"id": "a", "score": 0.82}, {"id": "b", "score": 0.61}, {"id": "c", "score": 0.6}],
}
EVIDENCE = [{"id": "w", "text": "The bridge opened to traffic in 1932."}]
PAIR = ("The bridge opened to traffic in 1932.", "The bridge opened in 1932.")


@pytest.mark.parametrize("kind", [Client, AsyncClient])
def test_every_rpc_has_a_method(kind: type) -> None:
    names = [name.lower() for name in vars(rpcs) if name.isupper()]
    assert len(names) == 21
    assert [name for name in names if not hasattr(kind, name)] == []


def test_retrieval(client: Any) -> None:
    reply = client.score_retrieval(id="r", question="When did the bridge open?", rankings=[RANKING])
    assert reply.id == "r"
    assert value(reply.signals["max_score"]) == 0.82
    assert value(reply.signals["dense_stddev"]) == pytest.approx(statistics.pstdev([0.82, 0.61, 0.6]))


def test_a_request_is_fields_or_a_dictionary_or_a_message(client: Any) -> None:
    fields = {"id": "r", "rankings": [RANKING]}
    replies = [
        client.score_retrieval(**fields),
        client.score_retrieval(fields),
        client.score_retrieval(v1.ScoreRetrievalRequest(**fields)),
    ]
    for reply in replies:
        reply.ClearField("timing")
    assert replies[0] == replies[1] == replies[2]
    with pytest.raises(TypeError, match="not both: id"):
        client.score_retrieval({"rankings": [RANKING]}, id="r")
    with pytest.raises(ValueError, match="rankin"):
        client.score_retrieval({"rankin": [RANKING]})
    with pytest.raises(TypeError, match="give a ScoreRetrievalRequest"):
        client.score_retrieval(v1.DecideRequest())


def test_a_missing_value_is_typed(client: Any) -> None:
    reply = client.score_retrieval(rankings=[RANKING])
    divergence = reply.signals["retriever_divergence"]
    assert divergence.value == 0, "protobuf reads an absent number as 0"
    with pytest.raises(MissingValue) as caught:
        value(divergence)
    assert caught.value.status == "STATUS_MISSING_INPUT"
    assert caught.value.reason
    assert value(divergence, None) is None
    with pytest.raises(MissingValue) as caught:
        value(reply.signals["no such signal"])
    assert caught.value.status == "STATUS_UNSPECIFIED"


def test_batch_has_an_outcome_for_each_item(client: Any) -> None:
    results = client.batch_score_retrieval([{"rankings": [RANKING]}, {"rankings": []}]).results
    assert value(unwrap(results[0]).signals["max_score"]) == 0.82
    with pytest.raises(InvalidArgument) as caught:
        unwrap(results[1])
    assert caught.value.reason == "FIELD_INVALID"
    assert caught.value.violations[0].field == "rankings"


def test_streams_answer_in_order(client: Any) -> None:
    results = list(client.stream_score_retrieval({"id": str(i), "rankings": [RANKING]} for i in range(20)))
    assert [unwrap(result).id for result in results] == [str(i) for i in range(20)]


def test_confidence(client: Any) -> None:
    request = {"main_answer": "Paris", "samples": [{"text": "Paris"}, {"text": "Lyon"}]}
    assert value(client.score_confidence(request).sc) == 0.5
    assert value(unwrap(client.batch_score_confidence([request]).results[0]).sc) == 0.5
    assert value(unwrap(next(client.stream_score_confidence([request]))).sc) == 0.5


def test_grounding(client: Any) -> None:
    request = {"evidence": EVIDENCE, "answer": "The bridge opened in 1932."}
    reply = client.score_grounding(request)
    assert reply.claims[0].verdict == v1.Verdict.VERDICT_SUPPORTED
    batch = client.batch_score_grounding([request]).results
    assert value(unwrap(batch[0]).g_mean) == value(reply.g_mean)


def test_grounding_while_the_answer_is_written(client: Any) -> None:
    tokens = ["The bridge ope", "ned in 1932. It is", " made of cheese."]
    events = list(client.stream_score_grounding(tokens, evidence=EVIDENCE))
    claims = [event for event in events if isinstance(event, v1.GroundedClaim)]
    assert {claim.text for claim in claims} == {"The bridge opened in 1932.", "It is made of cheese."}
    assert isinstance(events[-1], v1.ScoreGroundingResponse)
    assert events[-1].scored == 2


def test_grounding_of_ready_claims_in_a_stream(client: Any) -> None:
    parts: list[Any] = [
        {"id": "a", "text": "The bridge opened in 1932."},
        v1.Claim(id="b", text="It is new."),
    ]
    events = list(client.stream_score_grounding(parts, {"evidence": EVIDENCE}))
    assert {event.id for event in events if isinstance(event, v1.GroundedClaim)} == {"a", "b"}


def test_observe(client: Any) -> None:
    reply = client.observe(
        retrieval={"rankings": [RANKING]},
        confidence={"main_answer": "1932", "raw_output": "1932. Confidence: 85%"},
        policies=["beyond_uncertainty"],
    )
    assert reply.prompt_block
    assert reply.decisions[0].response.policy == "beyond_uncertainty"


def test_gates(client: Any) -> None:
    request = {"policy": "beyond_uncertainty", "inputs": {"verbalized": 0.95, "absent": None}}
    decision = client.decide(request)
    assert decision.action != v1.Action.ACTION_UNSPECIFIED
    assert unwrap(client.batch_decide([request]).results[0]).action == decision.action
    assert unwrap(next(client.stream_decide([request]))).action == decision.action
    assert "beyond_uncertainty" in [gate.name for gate in client.list_gates().gates]
    assert client.get_policy("beyond_uncertainty").policy.name == "beyond_uncertainty"


def test_calibration(client: Any) -> None:
    records = [
        {
            "id": str(i),
            "signals": {"height": i / 40 + (0.3 if i % 7 == 0 else 0)},
            "label": i >= 20,
            "arms": {"never": {"f1": float(i < 20), "passages": 0.0}, "always": {"f1": 0.6, "passages": 3.0}},
        }
        for i in range(40)
    ]
    fitted = client.fit(records, policy_name="mine", data_name="made", seed=1, bootstrap=20)
    assert [verdict.signal for verdict in fitted.signals] == ["height"]
    assert fitted.calibration_size + fitted.test_size == 40
    measured = client.evaluate(records, score="height", bootstrap=20)
    assert 0.8 < value(measured.metrics["auroc"]) <= 1
    replayed = client.replay(records, score="height", threshold=0.5, below=False, bootstrap=20)
    assert {policy.name for policy in replayed.policies} >= {"policy", "always", "never", "oracle"}


def test_verifier(client: Any) -> None:
    assert client.describe().digest.startswith("sha256:")
    pairs: list[Any] = [PAIR] * 100 + [{"id": "mine", "premise": PAIR[0], "hypothesis": PAIR[1]}]
    results = client.verify(pairs)
    assert [result.id for result in results] == [*map(str, range(100)), "mine"]
    for result in results:
        scored = probabilities(result)
        assert scored.entailment > 0.5
        assert scored.neutral is None or math.isclose(sum(p or 0 for p in scored), 1, abs_tol=1e-3)
    responses = list(
        client.stream_verify([{"pairs": [{"id": "x", "premise": PAIR[0], "hypothesis": PAIR[1]}]}])
    )
    assert responses[0].results[0].id == "x"


def test_pairs_may_share_an_id(client: Any) -> None:
    supported = {"premise": PAIR[0], "hypothesis": PAIR[1]}
    other = {"premise": PAIR[0], "hypothesis": "Cheese is made of milk."}
    pairs: list[Any] = [{"id": "1", **supported}, tuple(other.values()), {"id": "x", **other}]
    pairs += [{"id": "x", **supported}, v1.VerifyPair(id="x", **other)]
    results = client.verify(pairs)
    assert [result.id for result in results] == ["1", "1", "x", "x", "x"]
    assert [probabilities(result).entailment > 0.5 for result in results] == [True, False, False, True, False]
    assert pairs[-1].id == "x", "a message of the caller stays as it is"


def test_info(client: Any) -> None:
    info = client.get_info()
    assert all(rpc.implemented for rpc in info.rpcs)
    assert {rpc.procedure for rpc in info.rpcs} == {
        rpc.path for name, rpc in vars(rpcs).items() if name.isupper()
    }
