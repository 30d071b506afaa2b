"""Makes batches of the pairs of all calls and scores them."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import logging
from collections import deque
from collections.abc import Awaitable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Protocol, cast

from plumbline.sidecar._scores import NoScore, Pair, ScoreFunction, check, failed
from plumbline.values import Probabilities

_log = logging.getLogger("plumbline.sidecar")


class Caller(Protocol):
    """A call that pairs belong to."""

    ended: bool
    """Nobody waits for its results any more."""

    def answer(self, answers: Sequence[Answer]) -> None:
        """Take the outcomes of some of its pairs."""


@dataclass(frozen=True)
class Job:
    """A pair that waits for its score."""

    caller: Caller
    id: str
    pair: Pair
    entered: float
    """When it came, in the event loop's time."""


@dataclass(frozen=True)
class Answer:
    """The outcome of a job and what it cost."""

    job: Job
    outcome: Probabilities | NoScore
    queue: float
    """Seconds in the queue."""
    inference: float
    """Seconds in the function: the pair's share of its batch."""


class Batcher:
    """Scores jobs in the order in which they came. Jobs of calls that ended are dropped
    before they cost anything."""

    def __init__(
        self, score: ScoreFunction, *, three_class: bool, max_batch: int, max_wait: float, workers: int
    ) -> None:
        self._score = score
        self._is_coroutine = any(inspect.iscoroutinefunction(f) for f in (score, type(score).__call__))
        self._three_class = three_class
        self._max_batch = max_batch
        self._max_wait = max_wait
        self._workers = workers
        self._jobs: deque[Job] = deque()
        self._some = asyncio.Event()
        self._full = asyncio.Event()
        self._collecting = asyncio.Lock()
        self._scoring: dict[asyncio.Task[object], list[Job]] = {}
        self._threads = ThreadPoolExecutor(workers, thread_name_prefix="plumbline-score")
        self._tasks: list[asyncio.Task[None]] = []
        self._stopping = False

    @property
    def busy(self) -> bool:
        """Whether the function is running."""
        return bool(self._scoring)

    def start(self) -> None:
        """Start to score."""
        self._tasks = [asyncio.create_task(self._work()) for _ in range(self._workers)]

    async def stop(self) -> None:
        """Stop. A function that runs in a thread cannot be interrupted."""
        self._stopping = True
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._threads.shutdown(wait=False, cancel_futures=True)

    def add(self, jobs: Sequence[Job]) -> None:
        """Queue jobs."""
        self._jobs.extend(jobs)
        self._signal()

    def drop(self, caller: Caller) -> None:
        """Forget the jobs of a call that ended. A coroutine that runs for such calls only
        is interrupted; a thread cannot be."""
        self._jobs = deque(job for job in self._jobs if job.caller is not caller)
        self._signal()
        for task, jobs in self._scoring.items():
            if self._is_coroutine and all(job.caller.ended for job in jobs):
                task.cancel()

    def _signal(self) -> None:
        for event, reached in ((self._some, 1), (self._full, self._max_batch)):
            if len(self._jobs) >= reached:
                event.set()
            else:
                event.clear()

    async def _work(self) -> None:
        while True:
            async with self._collecting:
                batch = await self._collect()
            await self._run(batch)

    async def _collect(self) -> list[Job]:
        """The next batch: it is full, or its first job has waited long enough."""
        while True:
            await self._some.wait()
            if not self._jobs:  # all were dropped before this had its turn
                continue
            left = self._jobs[0].entered + self._max_wait - asyncio.get_running_loop().time()
            if left > 0:
                with contextlib.suppress(asyncio.TimeoutError):
                    await asyncio.wait_for(self._full.wait(), left)
            batch = [self._jobs.popleft() for _ in range(min(self._max_batch, len(self._jobs)))]
            self._signal()
            if batch:
                return batch

    async def _run(self, batch: list[Job]) -> None:
        clock = asyncio.get_running_loop().time
        began = clock()
        scoring: asyncio.Task[object] = asyncio.ensure_future(self._call([job.pair for job in batch]))
        self._scoring[scoring] = batch
        try:
            outcomes = check(await scoring, len(batch), self._three_class)
        except asyncio.CancelledError:
            scoring.cancel()
            if self._stopping:
                raise
            return  # drop interrupted it
        except Exception as error:
            _log.exception("the scoring function failed on a batch of %d", len(batch))
            outcomes = [failed(error)] * len(batch)
        finally:
            del self._scoring[scoring]
        share = (clock() - began) / len(batch)
        answers: dict[int, list[Answer]] = {}
        for job, outcome in zip(batch, outcomes, strict=True):
            answer = Answer(job, outcome, queue=began - job.entered, inference=share)
            answers.setdefault(id(job.caller), []).append(answer)
        for of_caller in answers.values():
            of_caller[0].job.caller.answer(of_caller)

    async def _call(self, pairs: list[Pair]) -> object:
        if self._is_coroutine:
            return await cast("Awaitable[object]", self._score(pairs))
        return await asyncio.get_running_loop().run_in_executor(self._threads, self._score, pairs)
