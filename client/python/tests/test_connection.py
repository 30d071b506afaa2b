"""Attempts, time and connections, seen by a server that does as it is told."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import grpc
import pytest

import plumbline
from plumbline import Retry
from plumbline._rpc import Rpc
from plumbline.v1 import rpcs

QUICK = Retry(initial_backoff=0.01, max_backoff=0.01)


class Fake:
    """Answers GetInfo and Observe with the codes of a list, the last for ever; counts
    attempts and connections."""

    def __init__(self) -> None:
        self.codes: list[grpc.StatusCode] = [grpc.StatusCode.OK]
        self.trailers: tuple[tuple[str, str], ...] = ()
        self.go_on = threading.Event()
        self.go_on.set()
        self.attempts = 0
        self.peers: set[str] = set()
        self.headers: dict[str, str] = {}
        self.server = grpc.server(ThreadPoolExecutor(8), options=[("grpc.max_receive_message_length", -1)])
        self.serve(rpcs.GET_INFO, version="fake")
        self.serve(rpcs.OBSERVE, id="fake")
        self.address = f"127.0.0.1:{self.server.add_insecure_port('127.0.0.1:0')}"
        self.server.start()

    def serve(self, rpc: Rpc[Any, Any], **fields: str) -> None:
        _, service, method = rpc.path.split("/")
        handler = grpc.unary_unary_rpc_method_handler(
            lambda _, context: self.answer(context, rpc.response(**fields)),
            request_deserializer=rpc.request.FromString,
            response_serializer=rpc.response.SerializeToString,
        )
        self.server.add_generic_rpc_handlers(
            [grpc.method_handlers_generic_handler(service, {method: handler})]
        )

    def answer(self, context: grpc.ServicerContext, response: Any) -> Any:
        self.go_on.wait()
        self.attempts += 1
        self.peers.add(context.peer())
        self.headers = {key: str(text) for key, text in context.invocation_metadata()}
        code = self.codes[min(self.attempts, len(self.codes)) - 1]
        if code is not grpc.StatusCode.OK:
            context.set_trailing_metadata(self.trailers)
            context.abort(code, "as told")
        return response


@pytest.fixture
def fake() -> Iterator[Fake]:
    server = Fake()
    yield server
    server.go_on.set()
    server.server.stop(0)


@pytest.mark.parametrize("code", [grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.RESOURCE_EXHAUSTED])
def test_four_attempts(fake: Fake, connect: Callable[..., Any], code: grpc.StatusCode) -> None:
    fake.codes = [code, code, code, grpc.StatusCode.OK]
    assert connect(fake.address, retry=QUICK).get_info().version == "fake"
    assert fake.attempts == 4


def test_a_turn_that_the_server_may_remember_is_sent_once(fake: Fake, connect: Callable[..., Any]) -> None:
    fake.codes = [grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.OK]
    with pytest.raises(plumbline.Unavailable):
        connect(fake.address, retry=QUICK).observe(subgoal_key="s")
    assert fake.attempts == 1


@pytest.mark.parametrize("size", [0, 1 << 20, 16 << 20])
def test_a_refused_turn_is_tried_again(fake: Fake, connect: Callable[..., Any], size: int) -> None:
    code = grpc.StatusCode.RESOURCE_EXHAUSTED
    fake.codes = [code, code, code, grpc.StatusCode.OK]
    assert connect(fake.address, retry=QUICK).observe(template_text="x" * size).id == "fake"
    assert fake.attempts == 4


def test_a_call_that_the_buffer_cannot_hold_is_tried_once(fake: Fake, connect: Callable[..., Any]) -> None:
    fake.codes = [grpc.StatusCode.RESOURCE_EXHAUSTED]
    retry = Retry(initial_backoff=0.01, max_backoff=0.01, buffer=1 << 20)
    with pytest.raises(plumbline.ResourceExhausted):
        connect(fake.address, retry=retry).observe(template_text="x" * (1 << 20))
    assert fake.attempts == 1


def test_no_more_than_four_attempts(fake: Fake, connect: Callable[..., Any]) -> None:
    fake.codes = [grpc.StatusCode.UNAVAILABLE]
    with pytest.raises(plumbline.Unavailable):
        connect(fake.address, retry=QUICK).get_info()
    assert fake.attempts == 4


def test_the_budget_bounds_retries_where_all_fails(fake: Fake, connect: Callable[..., Any]) -> None:
    fake.codes = [grpc.StatusCode.UNAVAILABLE]
    client = connect(fake.address, retry=QUICK)
    for _ in range(100):
        with pytest.raises(plumbline.Unavailable):
            client.get_info()
    assert 100 < fake.attempts <= 120


def test_successes_refill_the_budget(fake: Fake, connect: Callable[..., Any]) -> None:
    fake.codes = [grpc.StatusCode.UNAVAILABLE]
    client = connect(fake.address, retry=Retry(initial_backoff=0.01, max_backoff=0.01, refill=1))
    for _ in range(20):
        with pytest.raises(plumbline.Unavailable):
            client.get_info()
    spent = fake.attempts
    with pytest.raises(plumbline.Unavailable):
        client.get_info()
    assert fake.attempts == spent + 1
    fake.codes = [grpc.StatusCode.OK]
    for _ in range(20):
        client.get_info()
    fake.codes, fake.attempts = [grpc.StatusCode.UNAVAILABLE], 0
    with pytest.raises(plumbline.Unavailable):
        client.get_info()
    assert fake.attempts == 4


@pytest.mark.parametrize("code", [grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.INTERNAL])
def test_what_would_fail_again_is_tried_once(
    fake: Fake, connect: Callable[..., Any], code: grpc.StatusCode
) -> None:
    fake.codes = [code]
    with pytest.raises(plumbline.CallError) as caught:
        connect(fake.address, retry=QUICK).get_info()
    assert caught.value.code is code
    assert fake.attempts == 1


def test_a_server_can_forbid_retries(fake: Fake, connect: Callable[..., Any]) -> None:
    fake.codes = [grpc.StatusCode.UNAVAILABLE]
    fake.trailers = (("grpc-retry-pushback-ms", "-1"),)
    with pytest.raises(plumbline.Unavailable):
        connect(fake.address, retry=QUICK).get_info()
    assert fake.attempts == 1


def test_without_retries(fake: Fake, connect: Callable[..., Any]) -> None:
    fake.codes = [grpc.StatusCode.UNAVAILABLE]
    with pytest.raises(plumbline.Unavailable):
        connect(fake.address, retry=None).get_info()
    assert fake.attempts == 1


def test_calls_share_a_connection(fake: Fake, connect: Callable[..., Any]) -> None:
    client = connect(fake.address, metadata=[("authorization", "Bearer me")])
    for _ in range(50):
        client.get_info()
    assert fake.attempts == 50
    assert len(fake.peers) == 1
    assert fake.headers["authorization"] == "Bearer me"


def test_deadline_of_a_call_and_of_the_client(fake: Fake, connect: Callable[..., Any]) -> None:
    client = connect(fake.address, timeout=0.1)
    fake.go_on.clear()
    with pytest.raises(plumbline.DeadlineExceeded):
        client.get_info()
    with pytest.raises(plumbline.DeadlineExceeded):
        client.get_info(timeout=0.2)
    fake.go_on.set()
    assert client.get_info(timeout=30).version == "fake"
    assert client.get_info(timeout=float("inf")).version == "fake"


@pytest.mark.parametrize(
    "wrong",
    [
        {"max_attempts": 1},
        {"max_attempts": 6},
        {"budget": 0},
        {"refill": 0},
        {"max_backoff": float("inf")},
        {"initial_backoff": 0.001},
        {"buffer": 2**31},
    ],
)
def test_settings_that_make_no_sense(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong))):
        Retry(**wrong)
