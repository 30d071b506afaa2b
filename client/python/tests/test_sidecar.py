"""The sidecar SDK in process, asked by the clients."""

from __future__ import annotations

import asyncio
import dataclasses
import math
import threading
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

import grpc
import pytest
from google.protobuf import descriptor_pb2
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc

from plumbline import (
    AsyncClient,
    InvalidArgument,
    MissingValue,
    ResourceExhausted,
    Unauthenticated,
    probabilities,
    v1,
)
from plumbline.sidecar import Description, Limits, NoScore, Pair, ScoreFunction, Sidecar, digest_of_files

TWO = Description(name="test", digest="sha256:0")
THREE = Description(name="test", digest="sha256:0", three_class=True)


def length(pairs: Sequence[Pair]) -> list[float]:
    """Scores that tell pairs apart."""
    return [min(len(pair.premise) / 1000, 1) for pair in pairs]


def run(
    score: ScoreFunction,
    use: Callable[[AsyncClient], Coroutine[Any, Any, Any]],
    description: Description = TWO,
    limits: Limits = Limits(),
    **options: Any,
) -> Any:
    """What `use` gives on a client of a sidecar."""

    async def main() -> Any:
        async with Sidecar(score, description, limits=limits, **options) as sidecar:
            port = await sidecar.start("127.0.0.1:0")
            async with AsyncClient(f"127.0.0.1:{port}") as client:
                return await asyncio.wait_for(use(client), 30)

    return asyncio.run(main())


def results(
    score: ScoreFunction, count: int, description: Description = TWO, **options: Any
) -> list[v1.VerifyResult]:
    pairs = [("e" * i, "claim") for i in range(count)]
    return run(score, lambda client: client.verify(pairs), description, **options)


async def alength(pairs: Sequence[Pair]) -> list[float]:
    await asyncio.sleep(0)
    return length(pairs)


class Model:
    async def __call__(self, pairs: Sequence[Pair]) -> list[float]:
        return length(pairs)


@pytest.mark.parametrize("score", [length, alength, Model()])
def test_every_pair_gets_its_own_score(score: ScoreFunction) -> None:
    for limits in (Limits(), Limits(max_batch=1), Limits(max_batch=7, workers=3), Limits(max_pending=2)):
        scored = results(score, 500, limits=limits)
        assert [probabilities(result).entailment for result in scored] == [i / 1000 for i in range(500)]


def test_three_classes() -> None:
    scored = results(lambda pairs: [(0.5, 0.25, 0.25)] * len(pairs), 2, THREE)
    assert probabilities(scored[0]) == (0.5, 0.25, 0.25)


def test_two_classes_have_no_others() -> None:
    assert probabilities(results(length, 1)[0]) == (0, None, None)


class Tensor:
    """What numpy and torch give: iterable, of things that float() takes."""

    def __init__(self, *values: Any) -> None:
        self.values = values

    def __iter__(self) -> Any:
        return iter(self.values)


class Scalar:
    def __float__(self) -> float:
        return 0.5


def test_arrays_are_as_good_as_lists() -> None:
    assert probabilities(results(lambda _: Tensor(Scalar()), 1)[0]).entailment == 0.5
    three = results(lambda _: Tensor(Tensor(Scalar(), 0.25, 0.25)), 1, THREE)
    assert probabilities(three[0]).entailment == 0.5


def test_rounding_is_no_defect() -> None:
    assert probabilities(results(lambda _: [1 + 1e-7], 1)[0]).entailment == 1
    assert probabilities(results(lambda _: [-1e-7], 1)[0]).entailment == 0


def fail(_: Sequence[Pair]) -> list[float]:
    raise RuntimeError("the text of a pair")


@pytest.mark.parametrize(
    ("score", "description", "reason"),
    [
        (lambda pairs: [0.5] * (len(pairs) - 1), TWO, "2 scores for 3 pairs"),
        (lambda pairs: [0.5] * (len(pairs) + 1), TWO, "4 scores for 3 pairs"),
        (lambda _: 0.5, TWO, "float in place of a list"),
        (lambda _: None, TWO, "NoneType in place of a list"),
        (lambda pairs: [math.nan] * len(pairs), TWO, "not a number in [0, 1]"),
        (lambda pairs: [math.inf] * len(pairs), TWO, "not a number in [0, 1]"),
        (lambda pairs: [1.2] * len(pairs), TWO, "not a number in [0, 1]"),
        (lambda pairs: [-0.1] * len(pairs), TWO, "not a number in [0, 1]"),
        (lambda pairs: ["high"] * len(pairs), TWO, "str in place of a number"),
        (lambda pairs: [None] * len(pairs), TWO, "NoneType in place of a number"),
        (lambda pairs: [(0.5, 0.2, 0.3)] * len(pairs), TWO, "tuple in place of a number"),
        (lambda pairs: [0.5] * len(pairs), THREE, "float in place of (entailment"),
        (lambda pairs: [(0.5, 0.5)] * len(pairs), THREE, "2 probabilities for three classes"),
        (lambda pairs: [(0.5, 0.5, 0.5)] * len(pairs), THREE, "sum to 1.500"),
        (lambda pairs: [(2.0, -1.0, 0.0)] * len(pairs), THREE, "not a number in [0, 1]"),
        (fail, TWO, "it raised RuntimeError"),
    ],
)
def test_what_is_no_score_is_a_typed_status(score: Any, description: Description, reason: str) -> None:
    for result in results(score, 3, description):
        assert not result.HasField("probabilities")
        with pytest.raises(MissingValue) as caught:
            probabilities(result)
        assert caught.value.status == "STATUS_VERIFIER_UNAVAILABLE"
        assert reason in caught.value.reason
        assert "the text of a pair" not in caught.value.reason


def test_one_bad_score_spoils_no_other() -> None:
    scored = results(lambda pairs: [0.5, math.nan, NoScore("STATUS_TOO_LONG", "split it")], 3)
    assert [v1.Status.Name(result.status) for result in scored] == [
        "STATUS_OK",
        "STATUS_VERIFIER_UNAVAILABLE",
        "STATUS_TOO_LONG",
    ]
    assert scored[2].reason == "split it"


def test_a_function_that_failed_is_asked_again() -> None:
    calls = 0

    def score(pairs: Sequence[Pair]) -> list[float]:
        nonlocal calls
        calls += 1
        return fail(pairs) if calls == 1 else length(pairs)

    async def use(client: AsyncClient) -> tuple[Any, Any]:
        return await client.verify([("e", "c")]), await client.verify([("e", "c")])

    first, second = run(score, use)
    assert first[0].status == v1.Status.STATUS_VERIFIER_UNAVAILABLE
    assert second[0].status == v1.Status.STATUS_OK


def test_no_score_says_why() -> None:
    for status in ("STATUS_OK", "STATUS_UNSPECIFIED", "TOO_LONG"):
        with pytest.raises(ValueError, match="status"):
            NoScore(status, "reason")


def test_batches_are_shared_and_bounded() -> None:
    sizes: list[int] = []

    def score(pairs: Sequence[Pair]) -> list[float]:
        sizes.append(len(pairs))
        return length(pairs)

    async def use(client: AsyncClient) -> None:
        await asyncio.gather(*(client.verify([("e", "c")] * 10) for _ in range(10)))

    run(score, use, limits=Limits(max_batch=8, max_wait=0.1))
    assert sum(sizes) == 100
    assert max(sizes) == 8, "pairs of different calls share a batch"


def test_description() -> None:
    description = Description(
        name="m",
        digest="sha256:1",
        three_class=True,
        max_tokens=512,
        pair_overhead=3,
        trained_tokens=256,
        fine_tokens=64,
        languages=["en", "de"],
        score_kind="vote_share",
        deterministic=True,
        epsilon=0.01,
        qa_template="{question} {answer}",
    )
    told = run(length, lambda client: client.describe(), description)
    assert told == v1.DescribeResponse(
        name="m",
        digest="sha256:1",
        classes=[1, 2, 3],
        max_tokens=512,
        pair_overhead=3,
        trained_tokens=256,
        fine_tokens=64,
        languages=["en", "de"],
        score_kind="VERIFIER_SCORE_KIND_VOTE_SHARE",
        deterministic=True,
        epsilon=0.01,
        protocol_version=1,
        qa_template="{question} {answer}",
    )


def test_all_that_a_verifier_can_say_of_itself_can_be_said() -> None:
    sent = {field.name for field in v1.DescribeResponse.DESCRIPTOR.fields} - {"classes", "protocol_version"}
    assert {field.name for field in dataclasses.fields(Description)} - {"three_class"} == sent


@pytest.mark.parametrize(
    ("field", "wrong"),
    [
        ("name", {"name": ""}),
        ("digest", {"digest": ""}),
        ("epsilon", {"epsilon": 1.5}),
        ("score_kind", {"score_kind": "logit"}),
        ("pair_overhead", {"max_tokens": 3, "pair_overhead": 3}),
        ("trained_tokens", {"max_tokens": 3, "trained_tokens": 4}),
    ],
)
def test_descriptions_that_make_no_sense(field: str, wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=field):
        Description(**{"name": "m", "digest": "d"} | wrong)


def test_limits_that_make_no_sense() -> None:
    for wrong in ({"max_batch": 0}, {"workers": 0}, {"max_wait": -1}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            Limits(**wrong)


@pytest.mark.parametrize(
    ("field", "pairs"),
    [
        ("pairs[0].id", [{"id": "", "hypothesis": "c"}]),
        ("pairs[0].id", [{"id": "x" * 1025, "hypothesis": "c"}]),
        ("pairs[1].hypothesis", [{"id": "a", "hypothesis": "c"}, {"id": "b", "hypothesis": ""}]),
        ("pairs[1].id", [{"id": "a", "hypothesis": "c"}, {"id": "a", "hypothesis": "c"}]),
        ("pairs", [{"id": str(i), "hypothesis": "c"} for i in range(10_001)]),
    ],
)
def test_bad_requests_name_the_field(field: str, pairs: Any) -> None:
    async def use(client: AsyncClient) -> None:
        with pytest.raises(InvalidArgument) as caught:
            async for _ in client.stream_verify([{"pairs": pairs}]):
                pass
        assert caught.value.reason == "FIELD_INVALID"
        assert caught.value.violations[0].field == field
        assert (await client.verify([("e", "c")]))[0].status == v1.Status.STATUS_OK

    run(length, use)


def test_large_messages_are_refused() -> None:
    async def use(client: AsyncClient) -> None:
        with pytest.raises(ResourceExhausted):
            await client.verify([("e" * 20_000, "c")])
        assert len(await client.verify([("e" * 2_000, "c")])) == 1

    run(length, use, limits=Limits(max_message_bytes=10_000))


def test_no_pairs_no_results() -> None:
    assert results(length, 0) == []


def test_empty_and_huge_evidence() -> None:
    scored = run(length, lambda client: client.verify([("", "c"), ("e" * 5_000_000, "c")]))
    assert [probabilities(result).entailment for result in scored] == [0, 1]


def test_cancelled_pairs_never_reach_the_function() -> None:
    entered, go_on = threading.Event(), threading.Event()
    seen: list[str] = []

    def score(pairs: Sequence[Pair]) -> list[float]:
        seen.extend(pair.premise for pair in pairs)
        entered.set()
        go_on.wait(120)
        return length(pairs)

    async def use(client: AsyncClient, sidecar: Sidecar) -> None:
        first = asyncio.ensure_future(client.verify([("first", "c")]))
        await asyncio.to_thread(entered.wait, 60)
        cancelled = [asyncio.ensure_future(client.verify([("cancelled", "c")] * 100)) for _ in range(10)]
        last = asyncio.ensure_future(client.verify([("last", "c")]))
        await until_queued(sidecar, 1001)
        for call in cancelled:
            call.cancel()
        await asyncio.gather(*cancelled, return_exceptions=True)
        await until_queued(sidecar, 1)  # the sidecar has heard of it
        go_on.set()
        await asyncio.gather(first, last)

    async def main() -> None:
        async with Sidecar(score, TWO, limits=Limits(max_batch=1, max_wait=0)) as sidecar:
            port = await sidecar.start("127.0.0.1:0")
            async with AsyncClient(f"127.0.0.1:{port}") as client:
                try:
                    await asyncio.wait_for(use(client, sidecar), 60)
                finally:
                    go_on.set()  # the thread would be waited for

    asyncio.run(main())
    assert seen == ["first", "last"]


async def until_queued(sidecar: Sidecar, pairs: int) -> None:
    while len(sidecar._batcher._jobs) != pairs:
        await asyncio.sleep(0.005)


def test_cancelling_a_call_interrupts_its_coroutine() -> None:
    interrupted = asyncio.Event()
    entered = asyncio.Event()

    async def score(pairs: Sequence[Pair]) -> list[float]:
        if pairs[0].premise == "quick":
            return length(pairs)
        entered.set()
        try:
            await asyncio.get_running_loop().create_future()
        except asyncio.CancelledError:
            interrupted.set()
            raise
        raise AssertionError

    async def use(client: AsyncClient) -> None:
        call = asyncio.ensure_future(client.verify([("slow", "c")]))
        await entered.wait()
        call.cancel()
        await interrupted.wait()
        assert (await client.verify([("quick", "c")]))[0].status == v1.Status.STATUS_OK

    run(score, use)


def test_the_deadline_of_a_call_is_its_pairs() -> None:
    async def score(pairs: Sequence[Pair]) -> list[float]:
        await asyncio.get_running_loop().create_future()
        return length(pairs)

    async def use(client: AsyncClient) -> None:
        with pytest.raises(Exception, match="DEADLINE_EXCEEDED"):
            await client.verify([("e", "c")], timeout=0.2)

    run(score, use)


def test_results_come_before_the_request_is_complete() -> None:
    async def use(client: AsyncClient) -> None:
        answered = asyncio.Event()

        async def requests() -> Any:
            yield {"pairs": [{"id": "a", "hypothesis": "c"}]}
            await answered.wait()
            yield {"pairs": [{"id": "a", "hypothesis": "c"}]}  # the id is free again

        ids = []
        async for response in client.stream_verify(requests()):
            ids += [result.id for result in response.results]
            assert response.digest == "sha256:0"
            assert response.usage.pairs == 1
            answered.set()
        assert ids == ["a", "a"]

    run(length, use)


def test_health_watches_end_with_the_sidecar() -> None:
    async def main() -> list[int]:
        sidecar = Sidecar(length, TWO)
        port = await sidecar.start("127.0.0.1:0")
        seen = []
        async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
            stub = health_pb2_grpc.HealthStub(channel)
            for name in ("", "plumbline.v1.VerifierService"):
                checked = await stub.Check(health_pb2.HealthCheckRequest(service=name))
                assert checked.status == health_pb2.HealthCheckResponse.SERVING
            with pytest.raises(grpc.aio.AioRpcError, match="NOT_FOUND"):
                await stub.Check(health_pb2.HealthCheckRequest(service="other"))
            async for answer in stub.Watch(health_pb2.HealthCheckRequest()):
                seen.append(answer.status)
                if len(seen) == 1:
                    stopping = asyncio.ensure_future(sidecar.stop(20))
            assert await stopping, "a watch does not keep the sidecar from stopping"
        return seen

    assert asyncio.run(main()) == [
        health_pb2.HealthCheckResponse.SERVING,
        health_pb2.HealthCheckResponse.NOT_SERVING,
    ]


def test_reflection_shows_the_schema() -> None:
    async def main() -> None:
        async with Sidecar(length, TWO) as sidecar:
            port = await sidecar.start("127.0.0.1:0")
            async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
                stub = reflection_pb2_grpc.ServerReflectionStub(channel)
                ask = reflection_pb2.ServerReflectionRequest
                requests = [
                    ask(list_services=""),
                    ask(file_containing_symbol="plumbline.v1.VerifierService"),
                ]
                listed, described = [answer async for answer in stub.ServerReflectionInfo(iter(requests))]
                names = {service.name for service in listed.list_services_response.service}
                assert names >= {"plumbline.v1.VerifierService", "grpc.health.v1.Health"}
                files = [
                    descriptor_pb2.FileDescriptorProto.FromString(file).name
                    for file in described.file_descriptor_response.file_descriptor_proto
                ]
                assert "plumbline/v1/verifier.proto" in files

    asyncio.run(main())


def test_calls_in_flight_end_before_the_sidecar() -> None:
    async def main() -> None:
        entered, go_on = asyncio.Event(), asyncio.Event()

        async def score(pairs: Sequence[Pair]) -> list[float]:
            entered.set()
            await go_on.wait()
            return length(pairs)

        sidecar = Sidecar(score, TWO)
        port = await sidecar.start("127.0.0.1:0")
        async with AsyncClient(f"127.0.0.1:{port}", retry=None) as client:
            call = asyncio.ensure_future(client.verify([("e", "c")]))
            await entered.wait()
            stopping = asyncio.ensure_future(sidecar.stop(20))
            await asyncio.sleep(0)
            go_on.set()
            assert (await call)[0].status == v1.Status.STATUS_OK
            assert await stopping

    asyncio.run(main())


def test_a_cookie_keeps_strangers_out() -> None:
    async def main() -> None:
        async with Sidecar(length, TWO, cookie="c" * 64) as sidecar:
            port = await sidecar.start("127.0.0.1:0")
            for cookie in ("", "d" * 64, "c" * 63):
                async with AsyncClient(
                    f"127.0.0.1:{port}", metadata=[("plumbline-cookie", cookie)]
                ) as client:
                    with pytest.raises(Unauthenticated):
                        await client.describe()
                    with pytest.raises(Unauthenticated):
                        await client.verify([("e", "c")])
            async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
                with pytest.raises(grpc.aio.AioRpcError, match="UNAUTHENTICATED"):
                    await health_pb2_grpc.HealthStub(channel).Check(health_pb2.HealthCheckRequest())
            async with AsyncClient(f"127.0.0.1:{port}", metadata=[("plumbline-cookie", "c" * 64)]) as client:
                assert len(await client.verify([("e", "c")])) == 1

    asyncio.run(main())


def test_an_address_that_is_taken() -> None:
    async def main() -> None:
        async with Sidecar(length, TWO) as first, Sidecar(length, TWO) as second:
            port = await first.start("127.0.0.1:0")
            with pytest.raises(RuntimeError, match="bind"):
                await second.start(f"127.0.0.1:{port}")

    asyncio.run(main())


def test_digest_of_files(tmp_path: Any) -> None:
    (tmp_path / "b").mkdir()
    (tmp_path / "a").write_bytes(b"1")
    (tmp_path / "b/c").write_bytes(b"2")
    first = digest_of_files(tmp_path)
    assert first.startswith("sha256:")
    assert len(first) == 7 + 64
    assert digest_of_files(tmp_path) == first
    (tmp_path / "b/c").rename(tmp_path / "b/d")
    assert digest_of_files(tmp_path) != first
    with pytest.raises(FileNotFoundError):
        digest_of_files(tmp_path / "none")
