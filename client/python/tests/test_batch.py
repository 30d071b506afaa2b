"""Many calls at once."""

from __future__ import annotations

import asyncio
import itertools
import threading
from collections.abc import Iterator

import grpc
import pytest

from plumbline import CallError, NotFound, acall_many, call_many


class Method:
    """A method of a client that counts the calls which are inside."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.inside = self.most = 0
        self.gathered = threading.Event()

    def enter(self) -> None:
        with self.lock:
            self.inside += 1
            self.most = max(self.most, self.inside)
            if self.inside == 3:
                self.gathered.set()

    def leave(self) -> None:
        with self.lock:
            self.inside -= 1

    def __call__(self, request: int, /, *, timeout: float | None = None) -> int:
        self.enter()
        self.gathered.wait(10)
        self.leave()
        if request % 5 == 4:
            raise NotFound(grpc.StatusCode.NOT_FOUND, "as told")
        return request * 10

    async def a(self, request: int, /, *, timeout: float | None = None) -> int:
        self.enter()
        while not self.gathered.is_set():
            await asyncio.sleep(0)
        self.leave()
        if request % 5 == 4:
            raise NotFound(grpc.StatusCode.NOT_FOUND, "as told")
        return request * 10


def check(replies: list[int | CallError], method: Method, seen: list[tuple[int, int | None]]) -> None:
    for i, reply in enumerate(replies):
        assert isinstance(reply, NotFound) if i % 5 == 4 else reply == i * 10
    assert method.most == 3
    assert seen == [(i + 1, 20) for i in range(20)]


def test_call_many() -> None:
    method, seen = Method(), []
    replies = list(call_many(method, range(20), max_in_flight=3, on_progress=lambda *at: seen.append(at)))
    check(replies, method, seen)


def test_acall_many() -> None:
    method, seen = Method(), []

    async def main() -> list[int | CallError]:
        many = acall_many(method.a, range(20), max_in_flight=3, on_progress=lambda *at: seen.append(at))
        return [reply async for reply in many]

    check(asyncio.run(main()), method, seen)


def test_no_more_is_read_than_is_in_flight() -> None:
    taken = 0

    def endless() -> Iterator[int]:
        nonlocal taken
        for i in itertools.count():
            taken += 1
            yield i

    method = Method()
    method.gathered.set()
    replies = call_many(method, endless(), max_in_flight=3)
    assert list(itertools.islice(replies, 4)) == [0, 10, 20, 30]
    assert taken <= 7


def test_the_bound_must_be_positive() -> None:
    with pytest.raises(ValueError, match="max_in_flight"):
        call_many(Method(), [1], max_in_flight=0)
    with pytest.raises(ValueError, match="max_in_flight"):
        acall_many(Method().a, [1], max_in_flight=0)
