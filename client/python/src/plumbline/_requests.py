"""The request side of streams, for both clients."""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from typing import Generic, TypeAlias, TypeVar

import grpc

from plumbline import v1
from plumbline._rpc import Request, as_message, merged
from plumbline.errors import Internal
from plumbline.v1 import dicts

Item = TypeVar("Item")

Pair: TypeAlias = "v1.VerifyPair | dicts.VerifyPairDict | tuple[str, str]"
"""A pair for a verifier; a tuple is (premise, hypothesis)."""

AnswerPart: TypeAlias = "str | v1.Claim | dicts.ClaimDict"
"""A piece of an answer in the making, or a ready claim."""

GroundingEvent: TypeAlias = "v1.GroundedClaim | v1.ScoreGroundingResponse | v1.ItemError"
"""A claim with its scores, the summary after the last, or a message that could not be used."""

# How many pairs one message of Verify carries: few enough for results to come
# early, enough for a verifier to make batches of.
_PAIRS = 64


class Feed(Generic[Item, Request]):
    """The requests of one stream. It keeps the exception of its source, which grpc
    would only log."""

    def __init__(
        self,
        items: Iterable[Item] | AsyncIterable[Item],
        request: Callable[[Item], Request],
        *,
        head: Sequence[Request] = (),
        tail: Sequence[Request] = (),
    ) -> None:
        self._items = items
        self._request = request
        self._head = head
        self._tail = tail
        self.failure: Exception | None = None

    def __iter__(self) -> Iterator[Request]:
        try:
            if isinstance(self._items, AsyncIterable):
                raise TypeError("only AsyncClient takes an asynchronous iterable")
            yield from self._head
            for item in self._items:
                yield self._request(item)
            yield from self._tail
        except Exception as error:
            self.failure = error
            raise

    async def __aiter__(self) -> AsyncIterator[Request]:
        try:
            for request in self._head:
                yield request
            async for item in asynchronous(self._items):
                yield self._request(item)
            for request in self._tail:
                yield request
        except Exception as error:
            self.failure = error
            raise


async def asynchronous(items: Iterable[Item] | AsyncIterable[Item]) -> AsyncIterator[Item]:
    if isinstance(items, AsyncIterable):
        async for item in items:
            yield item
    else:
        for item in items:
            yield item


def retrieval_feed(
    requests: Iterable[v1.ScoreRetrievalRequest | dicts.ScoreRetrievalRequestDict]
    | AsyncIterable[v1.ScoreRetrievalRequest | dicts.ScoreRetrievalRequestDict],
) -> Feed[v1.ScoreRetrievalRequest | dicts.ScoreRetrievalRequestDict, v1.StreamScoreRetrievalRequest]:
    return Feed(
        requests,
        lambda item: v1.StreamScoreRetrievalRequest(request=as_message(v1.ScoreRetrievalRequest, item)),
    )


def confidence_feed(
    requests: Iterable[v1.ScoreConfidenceRequest | dicts.ScoreConfidenceRequestDict]
    | AsyncIterable[v1.ScoreConfidenceRequest | dicts.ScoreConfidenceRequestDict],
) -> Feed[v1.ScoreConfidenceRequest | dicts.ScoreConfidenceRequestDict, v1.StreamScoreConfidenceRequest]:
    return Feed(
        requests,
        lambda item: v1.StreamScoreConfidenceRequest(request=as_message(v1.ScoreConfidenceRequest, item)),
    )


def decide_feed(
    requests: Iterable[v1.DecideRequest | dicts.DecideRequestDict]
    | AsyncIterable[v1.DecideRequest | dicts.DecideRequestDict],
) -> Feed[v1.DecideRequest | dicts.DecideRequestDict, v1.StreamDecideRequest]:
    return Feed(requests, lambda item: v1.StreamDecideRequest(request=as_message(v1.DecideRequest, item)))


def grounding_feed(
    parts: Iterable[AnswerPart] | AsyncIterable[AnswerPart],
    start: v1.ScoreGroundingRequest | dicts.ScoreGroundingRequestDict | None,
    fields: Mapping[str, object],
) -> Feed[AnswerPart, v1.StreamScoreGroundingRequest]:
    first = as_message(v1.ScoreGroundingRequest, merged(start, fields))
    return Feed(
        parts,
        _answer_part,
        head=[v1.StreamScoreGroundingRequest(start=first)],
        tail=[v1.StreamScoreGroundingRequest(finish=v1.StreamFinish())],
    )


def _answer_part(part: AnswerPart) -> v1.StreamScoreGroundingRequest:
    if isinstance(part, str):
        return v1.StreamScoreGroundingRequest(answer_delta=part)
    return v1.StreamScoreGroundingRequest(claim=as_message(v1.Claim, part))


def grounding_event(response: v1.StreamScoreGroundingResponse) -> GroundingEvent:
    match response.WhichOneof("frame"):
        case "claim":
            return response.claim
        case "summary":
            return response.summary
        case _:
            return response.error


Record: TypeAlias = "v1.CalibrationRecord | dicts.CalibrationRecordDict"
"""A labelled record."""

Calibration = TypeVar("Calibration", v1.FitRequest, v1.EvaluateRequest, v1.ReplayRequest)


def records_feed(
    kind: type[Calibration],
    records: Iterable[Record] | AsyncIterable[Record],
    options: Mapping[str, object],
) -> Feed[Record, Calibration]:
    return Feed(
        records,
        lambda record: kind(record=as_message(v1.CalibrationRecord, record)),
        head=[kind(options=options)],
    )


def verify_requests(pairs: Iterable[Pair]) -> tuple[list[str], list[v1.VerifyRequest]]:
    """The ids of the pairs, in order, and the messages that ask for them. A pair
    without an id gets its position. The messages have positions for ids, since those
    of the caller need not be unique."""
    asked = [_pair(pair) for pair in pairs]
    ids = [pair.id or str(position) for position, pair in enumerate(asked)]
    for position, pair in enumerate(asked):
        pair.id = str(position)
    return ids, [v1.VerifyRequest(pairs=asked[i : i + _PAIRS]) for i in range(0, len(asked), _PAIRS)]


def _pair(pair: Pair) -> v1.VerifyPair:
    if isinstance(pair, tuple):
        premise, hypothesis = pair
        return v1.VerifyPair(premise=premise, hypothesis=hypothesis)
    message = v1.VerifyPair()
    message.CopyFrom(as_message(v1.VerifyPair, pair))
    return message


class Results:
    """Collects the results of pairs, which come in any order, keyed by position."""

    def __init__(self, ids: Sequence[str]) -> None:
        self._ids = ids
        self._found: dict[str, v1.VerifyResult] = {}

    def add(self, response: v1.VerifyResponse) -> None:
        self._found.update((result.id, result) for result in response.results)

    def in_order(self) -> list[v1.VerifyResult]:
        """The results in the order of the pairs, with the ids of the caller. Raises
        Internal if one is missing."""
        found = [self._found[i] for i in map(str, range(len(self._ids))) if i in self._found]
        if lost := len(self._ids) - len(found):
            raise Internal(
                grpc.StatusCode.INTERNAL, f"the verifier gave no result for {lost} of {len(self._ids)} pairs"
            )
        for id, result in zip(self._ids, found, strict=True):
            result.id = id
        return found
