"""The queue between calls and the scoring function."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from plumbline.sidecar._batcher import Answer, Batcher, Job
from plumbline.sidecar._scores import Pair


class Call:
    """A call that keeps its answers."""

    def __init__(self) -> None:
        self.ended = False
        self.answers: list[Answer] = []
        self.answered = asyncio.Event()

    def answer(self, answers: Sequence[Answer]) -> None:
        self.answers.extend(answers)
        self.answered.set()


def certain(pairs: Sequence[Pair]) -> list[float]:
    return [1.0] * len(pairs)


def test_jobs_dropped_before_anybody_looked() -> None:
    """A call that comes and goes in one turn of the loop leaves the workers at work."""

    async def use() -> None:
        batcher = Batcher(certain, three_class=False, max_batch=4, max_wait=0, workers=1)
        batcher.start()
        await asyncio.sleep(0)  # the worker waits
        gone, last = Call(), Call()
        now = asyncio.get_running_loop().time()
        batcher.add([Job(gone, "1", Pair("e", "c"), now)])
        gone.ended = True
        batcher.drop(gone)
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        batcher.add([Job(last, "2", Pair("e", "c"), now)])
        await asyncio.wait_for(last.answered.wait(), 60)
        assert not gone.answers
        await batcher.stop()

    asyncio.run(use())
