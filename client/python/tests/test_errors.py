"""What callers learn of calls that fail."""

from __future__ import annotations

import asyncio
import re
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any
from urllib.request import urlopen

import grpc
import pytest
from conftest import Server

import plumbline
from plumbline import unwrap, v1, value
from plumbline.errors import from_grpc, from_item

RANKING = {"name": "dense", "items": [{"id": "a", "score": 0.8}]}


@contextmanager
def held(client: Any) -> Iterator[Any]:
    """A source that gives one request and then none for as long as the block lasts."""
    end = threading.Event()

    def requests() -> Iterator[Any]:
        yield {"rankings": [RANKING]}
        end.wait()

    async def arequests() -> AsyncIterator[Any]:
        yield {"rankings": [RANKING]}
        await asyncio.get_running_loop().create_future()

    try:
        yield requests() if isinstance(client, plumbline.Client) else arequests()
    finally:
        end.set()


def test_fields_to_blame(client: Any) -> None:
    with pytest.raises(plumbline.InvalidArgument) as caught:
        client.score_retrieval(k=1_000_000)
    error = caught.value
    assert error.code is grpc.StatusCode.INVALID_ARGUMENT
    assert error.reason == "FIELD_INVALID"
    assert {violation.field for violation in error.violations} == {"rankings", "k"}
    assert all(violation.description for violation in error.violations)
    assert error.retry_after is None
    assert isinstance(error, plumbline.PlumblineError)
    assert str(error).startswith("INVALID_ARGUMENT: rankings: ")


def test_unknown_names(client: Any) -> None:
    with pytest.raises(plumbline.NotFound) as caught:
        client.decide(policy="no such policy", inputs={})
    assert caught.value.reason == "POLICY_NOT_FOUND"


def test_overload_says_when_to_come_back(connect: Callable[..., Any], serve: Callable[..., Server]) -> None:
    client = connect(serve("--limits-max-open-streams", "1").grpc, retry=None)
    with held(client) as requests, client.stream_score_retrieval(requests) as first:
        next(first)
        for requests_refused in range(50):  # whether they are sent before the refusal comes or not
            refused = [{"rankings": [RANKING]}] * (requests_refused % 4)
            with pytest.raises(plumbline.ResourceExhausted) as caught:
                next(client.stream_score_retrieval(refused))
            assert caught.value.reason == "OVERLOADED"
            assert caught.value.retry_after is not None
            assert 0 < caught.value.retry_after < 60


def test_a_large_request_waits_for_a_place(connect: Callable[..., Any], serve: Callable[..., Server]) -> None:
    server = serve("--limits-max-open-streams", "1")
    items = [{"id": f"{i:1000}", "score": 0.8} for i in range(1000)]
    large = {"rankings": [{"name": "dense", "items": items}]}
    with plumbline.Client(server.grpc) as other, held(other) as requests:
        first = other.stream_score_retrieval(requests)
        next(first)

        def leave() -> None:
            """Make room once the server has refused twice: the first refusal may come
            before the request is under way."""
            for _ in range(1000):
                metrics = urlopen(f"{server.url}/metrics").read().decode()
                if re.search(r'refused_total{reason="OVERLOADED"} [2-9]', metrics):
                    break
                time.sleep(0.01)
            first.cancel()

        with ThreadPoolExecutor(1) as pool:
            left = pool.submit(leave)
            result = next(connect(server.grpc, retry=plumbline.Retry(5)).stream_score_retrieval([large]))
            left.result()
    assert value(unwrap(result).signals["max_score"]) == 0.8


def test_deadline_of_a_stream(client: Any) -> None:
    with held(client) as requests, pytest.raises(plumbline.DeadlineExceeded):
        list(client.stream_score_retrieval(requests, timeout=0.2))


def test_a_server_that_is_not_there(connect: Callable[..., Any]) -> None:
    with pytest.raises(plumbline.Unavailable) as caught:
        connect("127.0.0.1:1", retry=None).get_info()
    assert caught.value.reason == ""


def test_a_stream_that_is_cancelled(client: Any) -> None:
    stream = client.stream_score_retrieval({"id": str(i), "rankings": [RANKING]} for i in range(1_000_000))
    next(stream)
    stream.cancel()
    with pytest.raises(plumbline.Cancelled):
        list(stream)
    assert client.get_info().version, "the connection is as good as before"


def test_a_source_that_fails(client: Any) -> None:
    def broken() -> Iterator[Any]:
        yield {"rankings": [RANKING]}
        raise KeyError("the source")

    with pytest.raises(KeyError, match="the source"):
        list(client.stream_score_retrieval(broken()))
    with pytest.raises(ValueError, match="rankin"):
        list(client.stream_score_retrieval([{"rankin": []}]))

    def records() -> Iterator[Any]:
        yield {"id": "a", "signals": {"x": 1.0}, "label": True}
        raise KeyError("the records")

    with pytest.raises(KeyError, match="the records"):
        client.fit(records(), policy_name="p")


def test_cancelling_a_task_cancels_its_call(server: Server) -> None:
    async def main() -> None:
        async with plumbline.AsyncClient(server.grpc) as client:
            gate = asyncio.Event()

            async def never() -> Any:
                yield {"rankings": [RANKING]}
                await gate.wait()

            stream = client.stream_score_retrieval(never())
            await anext(stream)
            waiting = asyncio.ensure_future(anext(stream))
            await asyncio.sleep(0)
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting
            assert (await client.get_info()).version

    asyncio.run(main())


def test_a_source_ends_with_its_call(server: Server) -> None:
    async def main() -> None:
        ended = asyncio.Event()

        async def source() -> AsyncIterator[Any]:
            try:
                yield {"rankings": [RANKING]}
                await asyncio.get_running_loop().create_future()
            finally:
                ended.set()

        async with plumbline.AsyncClient(server.grpc) as client:
            async with client.stream_score_retrieval(source()) as stream:
                await anext(stream)
            await asyncio.wait_for(ended.wait(), 10)

    asyncio.run(main())


def test_an_asynchronous_source(server: Server) -> None:
    async def tokens() -> Any:
        for token in ("Paris is ", "in France."):
            yield token

    async def main() -> list[Any]:
        async with plumbline.AsyncClient(server.grpc) as client:
            stream = client.stream_score_grounding(
                tokens(), evidence=[{"text": "Paris is the capital of France."}]
            )
            return [event async for event in stream]

    events = asyncio.run(main())
    assert isinstance(events[-1], v1.ScoreGroundingResponse)
    with plumbline.Client(server.grpc) as client, pytest.raises(TypeError, match="AsyncClient"):
        list(client.stream_score_grounding(tokens(), evidence=[]))


def test_a_reset_after_the_deadline_is_the_deadline() -> None:
    reset = grpc.aio.AioRpcError(
        grpc.StatusCode.CANCELLED, grpc.aio.Metadata(), grpc.aio.Metadata(), "RST_STREAM"
    )
    assert isinstance(from_grpc(reset, deadline=time.monotonic() - 1), plumbline.DeadlineExceeded)
    assert isinstance(from_grpc(reset, deadline=time.monotonic() + 100), plumbline.Cancelled)
    assert isinstance(from_grpc(reset), plumbline.Cancelled)


def test_items_fail_with_the_same_exceptions() -> None:
    item = v1.ItemError(code="RESOURCE_EXHAUSTED", message="m", reason="TOO_MANY_ITEMS", field="f")
    error = from_item(item)
    assert isinstance(error, plumbline.ResourceExhausted)
    assert (error.reason, error.message, error.violations[0].field) == ("TOO_MANY_ITEMS", "m", "f")
    assert type(from_item(v1.ItemError(code="NEW_CODE"))) is plumbline.CallError


def test_threads_share_a_client(server: Server) -> None:
    with plumbline.Client(server.grpc) as client:
        replies = list(
            plumbline.call_many(client.score_retrieval, [{"rankings": [RANKING]}] * 200, max_in_flight=4)
        )
    assert all(isinstance(reply, v1.ScoreRetrievalResponse) for reply in replies)


def test_a_closed_client(server: Server) -> None:
    client = plumbline.Client(server.grpc)
    client.close()
    with pytest.raises(ValueError, match="closed"):
        client.get_info()
