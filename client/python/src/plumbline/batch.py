"""Many calls at once, with a bound on those in flight."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable, Iterable, Iterator, Sized
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Protocol, TypeAlias, TypeVar

from plumbline._requests import asynchronous
from plumbline.errors import CallError

Given = TypeVar("Given")
GivenIn = TypeVar("GivenIn", contravariant=True)
Reply = TypeVar("Reply")
ReplyOut = TypeVar("ReplyOut", covariant=True)

Progress: TypeAlias = Callable[[int, "int | None"], None]
"""Is told how many calls are done, and of how many if that is known."""


class Method(Protocol[GivenIn, ReplyOut]):
    """A unary method of a client."""

    def __call__(self, request: GivenIn, /, *, timeout: float | None = None) -> ReplyOut:
        """Make one call."""
        ...


def call_many(
    method: Method[Given, Reply],
    requests: Iterable[Given],
    *,
    max_in_flight: int = 8,
    timeout: float | None = None,
    on_progress: Progress | None = None,
) -> Iterator[Reply | CallError]:
    """Call a unary method of Client for each request, several at once.

        for reply in call_many(client.score_grounding, requests):
            if isinstance(reply, CallError): …

    Yields, in the order of the requests, the response or the CallError of each. No
    more than max_in_flight requests are taken from the iterable ahead of what was
    yielded, so that it may be endless. timeout is that of one call.
    """
    _require_positive(max_in_flight)
    return _call_many(method, requests, max_in_flight, timeout, on_progress)


def _call_many(
    method: Method[Given, Reply],
    requests: Iterable[Given],
    max_in_flight: int,
    timeout: float | None,
    on_progress: Progress | None,
) -> Iterator[Reply | CallError]:
    def call(request: Given) -> Reply | CallError:
        try:
            return method(request, timeout=timeout)
        except CallError as error:
            return error

    report = _reporter(requests, on_progress)
    waiting: deque[Future[Reply | CallError]] = deque()
    pool = ThreadPoolExecutor(max_in_flight, thread_name_prefix="plumbline-call")
    try:
        for request in requests:
            waiting.append(pool.submit(call, request))
            if len(waiting) == max_in_flight:
                yield report(waiting.popleft().result())
        while waiting:
            yield report(waiting.popleft().result())
    finally:
        pool.shutdown(cancel_futures=True)


def acall_many(
    method: Method[Given, Awaitable[Reply]],
    requests: Iterable[Given] | AsyncIterable[Given],
    *,
    max_in_flight: int = 8,
    timeout: float | None = None,
    on_progress: Progress | None = None,
) -> AsyncIterator[Reply | CallError]:
    """The same for a unary method of AsyncClient."""
    _require_positive(max_in_flight)
    return _acall_many(method, requests, max_in_flight, timeout, on_progress)


async def _acall_many(
    method: Method[Given, Awaitable[Reply]],
    requests: Iterable[Given] | AsyncIterable[Given],
    max_in_flight: int,
    timeout: float | None,
    on_progress: Progress | None,
) -> AsyncIterator[Reply | CallError]:
    async def call(request: Given) -> Reply | CallError:
        try:
            return await method(request, timeout=timeout)
        except CallError as error:
            return error

    report = _reporter(requests, on_progress)
    waiting: deque[asyncio.Task[Reply | CallError]] = deque()
    try:
        async for request in asynchronous(requests):
            waiting.append(asyncio.ensure_future(call(request)))
            if len(waiting) == max_in_flight:
                yield report(await waiting.popleft())
        while waiting:
            yield report(await waiting.popleft())
    finally:
        for task in waiting:
            task.cancel()


def _require_positive(max_in_flight: int) -> None:
    if max_in_flight < 1:
        raise ValueError("max_in_flight: give at least 1")


def _reporter(requests: object, on_progress: Progress | None) -> Callable[[Reply], Reply]:
    total = len(requests) if isinstance(requests, Sized) else None
    done = 0

    def report(reply: Reply) -> Reply:
        nonlocal done
        done += 1
        if on_progress is not None:
            on_progress(done, total)
        return reply

    return report
