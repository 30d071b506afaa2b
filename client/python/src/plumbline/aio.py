"""The asynchronous client."""

from __future__ import annotations

import asyncio
from collections.abc import (
    AsyncIterable,
    AsyncIterator,
    Awaitable,
    Callable,
    Iterable,
    Mapping,
    Sequence,
)
from types import TracebackType
from typing import Any, Generic, TypeVar, cast

import grpc
import grpc.aio
from typing_extensions import Self, Unpack

from plumbline import _requests, v1
from plumbline._requests import AnswerPart, Feed, GroundingEvent, Pair, Record, Results
from plumbline._rpc import Request, Response, Rpc, TimeLimit, as_message, merged
from plumbline.errors import Cancelled, from_grpc
from plumbline.options import TLS, Retry, channel_options, credentials
from plumbline.v1 import dicts, rpcs

Event = TypeVar("Event")
Answer = TypeVar("Answer")


class _Exchange:
    """A call whose requests come from a feed, until the call has ended.

    grpc reads requests from an iterator too, but goes on with it after the end, and if
    a request then cannot be sent it forgets the status that the server gave
    (grpc/grpc#36066).
    """

    def __init__(self, call: Any, feed: Feed[Any, Any], deadline: float) -> None:
        self.call = call
        self._feed = feed
        self._deadline = deadline
        self._cancelled = False
        self._sending = asyncio.ensure_future(self._send())
        call.add_done_callback(lambda _: self._sending.cancel())

    async def _send(self) -> None:
        try:
            async for request in self._feed:
                await self.call.write(request)
            await self.call.done_writing()
        except Exception:
            # Either the source failed, or the call has ended and its answer tells how.
            if self._feed.failure is not None:
                self.call.cancel()

    async def answer(self, answer: Awaitable[Answer]) -> Answer:
        """What the call gives, or why it gives nothing."""
        try:
            return await answer
        except grpc.aio.AioRpcError as error:
            raise self._feed.failure or from_grpc(error, self._deadline) from error
        except asyncio.CancelledError:
            # grpc says so of a call that ended on this side, which is no reason to
            # cancel the task that reads.
            if self._feed.failure is not None:
                raise self._feed.failure from None
            if self._cancelled:
                raise Cancelled(grpc.StatusCode.CANCELLED, "the call was cancelled") from None
            raise

    def cancel(self) -> None:
        """End the call."""
        self._cancelled = True
        self.call.cancel()


class AsyncStream(Generic[Event]):
    """The answers of a streaming call, as they come. Leaving its `async with` block, or
    cancel(), ends the call; the server then stops working on it."""

    def __init__(self, exchange: _Exchange, event: Callable[[Any], Event]) -> None:
        self._exchange = exchange
        self._event = event

    def __aiter__(self) -> AsyncIterator[Event]:
        return self

    async def __anext__(self) -> Event:
        message = await self._exchange.answer(self._exchange.call.read())
        if message is grpc.aio.EOF:
            raise StopAsyncIteration
        return self._event(message)

    def cancel(self) -> None:
        """End the call. Reading on raises Cancelled."""
        self._exchange.cancel()

    def __del__(self) -> None:
        if not self._exchange.call.done():
            self._exchange.cancel()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.cancel()


class AsyncClient:
    """The client of all services for asyncio; make it inside a coroutine.

        async with AsyncClient("localhost:50051") as client:
            reply = await client.score_grounding(answer="…", evidence=[{"text": "…"}])

    It has the methods of Client. Cancelling the task that awaits one cancels the call.
    """

    def __init__(
        self,
        target: str,
        *,
        tls: bool | TLS = False,
        timeout: float = 30.0,
        retry: Retry | None = Retry(),
        metadata: Sequence[tuple[str, str]] = (),
    ) -> None:
        """Connect, at the first call, to a server's gRPC listener.

        The arguments are those of Client.
        """
        channel_credentials = credentials(tls)
        options = channel_options(retry)
        if channel_credentials is None:
            self._channel = grpc.aio.insecure_channel(target, options)
        else:
            self._channel = grpc.aio.secure_channel(target, channel_credentials, options)
        self._timeout = timeout
        self._metadata = tuple(metadata)

    async def close(self) -> None:
        """Close the connection. Calls in flight are cancelled."""
        await self._channel.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    # Retrieval

    async def score_retrieval(
        self,
        request: v1.ScoreRetrievalRequest | dicts.ScoreRetrievalRequestDict | None = None,
        /,
        *,
        timeout: float | None = None,
        **fields: Unpack[dicts.ScoreRetrievalRequestDict],
    ) -> v1.ScoreRetrievalResponse:
        """The signals of one retrieval result."""
        return await self._unary(rpcs.SCORE_RETRIEVAL, merged(request, fields), timeout)

    async def batch_score_retrieval(
        self,
        requests: Iterable[v1.ScoreRetrievalRequest | dicts.ScoreRetrievalRequestDict],
        /,
        *,
        timeout: float | None = None,
    ) -> v1.BatchScoreRetrievalResponse:
        """The signals of many results in one message; see `plumbline.unwrap`."""
        return await self._unary(rpcs.BATCH_SCORE_RETRIEVAL, {"requests": requests}, timeout)

    def stream_score_retrieval(
        self,
        requests: Iterable[v1.ScoreRetrievalRequest | dicts.ScoreRetrievalRequestDict]
        | AsyncIterable[v1.ScoreRetrievalRequest | dicts.ScoreRetrievalRequestDict],
        /,
        *,
        timeout: float | None = None,
    ) -> AsyncStream[v1.ScoreRetrievalResult]:
        """The signals of results as they arrive, in order; see `plumbline.unwrap`."""
        feed = _requests.retrieval_feed(requests)
        return self._stream(rpcs.STREAM_SCORE_RETRIEVAL, feed, lambda response: response.result, timeout)

    # Confidence

    async def score_confidence(
        self,
        request: v1.ScoreConfidenceRequest | dicts.ScoreConfidenceRequestDict | None = None,
        /,
        *,
        timeout: float | None = None,
        **fields: Unpack[dicts.ScoreConfidenceRequestDict],
    ) -> v1.ScoreConfidenceResponse:
        """Every confidence score that the inputs allow."""
        return await self._unary(rpcs.SCORE_CONFIDENCE, merged(request, fields), timeout)

    async def batch_score_confidence(
        self,
        requests: Iterable[v1.ScoreConfidenceRequest | dicts.ScoreConfidenceRequestDict],
        /,
        *,
        timeout: float | None = None,
    ) -> v1.BatchScoreConfidenceResponse:
        """The scores of many answers in one message; see `plumbline.unwrap`."""
        return await self._unary(rpcs.BATCH_SCORE_CONFIDENCE, {"requests": requests}, timeout)

    def stream_score_confidence(
        self,
        requests: Iterable[v1.ScoreConfidenceRequest | dicts.ScoreConfidenceRequestDict]
        | AsyncIterable[v1.ScoreConfidenceRequest | dicts.ScoreConfidenceRequestDict],
        /,
        *,
        timeout: float | None = None,
    ) -> AsyncStream[v1.ScoreConfidenceResult]:
        """The scores of answers as they arrive, in order; see `plumbline.unwrap`."""
        feed = _requests.confidence_feed(requests)
        return self._stream(rpcs.STREAM_SCORE_CONFIDENCE, feed, lambda response: response.result, timeout)

    # Grounding

    async def score_grounding(
        self,
        request: v1.ScoreGroundingRequest | dicts.ScoreGroundingRequestDict | None = None,
        /,
        *,
        timeout: float | None = None,
        **fields: Unpack[dicts.ScoreGroundingRequestDict],
    ) -> v1.ScoreGroundingResponse:
        """How well the evidence supports each claim of an answer."""
        return await self._unary(rpcs.SCORE_GROUNDING, merged(request, fields), timeout)

    async def batch_score_grounding(
        self,
        requests: Iterable[v1.ScoreGroundingRequest | dicts.ScoreGroundingRequestDict],
        /,
        *,
        timeout: float | None = None,
    ) -> v1.BatchScoreGroundingResponse:
        """The claims of many answers in one message; see `plumbline.unwrap`."""
        return await self._unary(rpcs.BATCH_SCORE_GROUNDING, {"requests": requests}, timeout)

    def stream_score_grounding(
        self,
        parts: Iterable[AnswerPart] | AsyncIterable[AnswerPart],
        start: v1.ScoreGroundingRequest | dicts.ScoreGroundingRequestDict | None = None,
        /,
        *,
        timeout: float | None = None,
        **fields: Unpack[dicts.ScoreGroundingRequestDict],
    ) -> AsyncStream[GroundingEvent]:
        """Score an answer while it is being generated.

        Args:
            parts: the answer in pieces, cut anywhere between characters, such as a
                model's tokens; or ready claims.
            start: evidence and options, or give them as fields.

        Yields each claim as soon as it is known, in any order, then the summary.
        """
        feed = _requests.grounding_feed(parts, start, fields)
        return self._stream(rpcs.STREAM_SCORE_GROUNDING, feed, _requests.grounding_event, timeout)

    # Telemetry and gates

    async def observe(
        self,
        request: v1.ObserveRequest | dicts.ObserveRequestDict | None = None,
        /,
        *,
        timeout: float | None = None,
        **fields: Unpack[dicts.ObserveRequestDict],
    ) -> v1.ObserveResponse:
        """Everything about one turn of a loop: scores, decisions and the prompt block."""
        return await self._unary(rpcs.OBSERVE, merged(request, fields), timeout)

    async def decide(
        self,
        request: v1.DecideRequest | dicts.DecideRequestDict | None = None,
        /,
        *,
        timeout: float | None = None,
        **fields: Unpack[dicts.DecideRequestDict],
    ) -> v1.DecideResponse:
        """What a policy decides on inputs or telemetry."""
        return await self._unary(rpcs.DECIDE, merged(request, fields), timeout)

    async def batch_decide(
        self,
        requests: Iterable[v1.DecideRequest | dicts.DecideRequestDict],
        /,
        *,
        timeout: float | None = None,
    ) -> v1.BatchDecideResponse:
        """Many decisions in one message; see `plumbline.unwrap`."""
        return await self._unary(rpcs.BATCH_DECIDE, {"requests": requests}, timeout)

    def stream_decide(
        self,
        requests: Iterable[v1.DecideRequest | dicts.DecideRequestDict]
        | AsyncIterable[v1.DecideRequest | dicts.DecideRequestDict],
        /,
        *,
        timeout: float | None = None,
    ) -> AsyncStream[v1.DecideResult]:
        """Decisions as inputs arrive, in order; see `plumbline.unwrap`."""
        feed = _requests.decide_feed(requests)
        return self._stream(rpcs.STREAM_DECIDE, feed, lambda response: response.result, timeout)

    async def list_gates(self, *, timeout: float | None = None) -> v1.ListGatesResponse:
        """The policies of the server and what they need."""
        return await self._unary(rpcs.LIST_GATES, {}, timeout)

    async def get_policy(self, name: str, *, timeout: float | None = None) -> v1.GetPolicyResponse:
        """One policy in full."""
        return await self._unary(rpcs.GET_POLICY, {"name": name}, timeout)

    # Calibration

    async def fit(
        self,
        records: Iterable[Record] | AsyncIterable[Record],
        /,
        *,
        timeout: float | None = None,
        **options: Unpack[dicts.FitOptionsDict],
    ) -> v1.FitResponse:
        """Choose signals and thresholds on labelled records."""
        return await self._upload(rpcs.FIT, _requests.records_feed(v1.FitRequest, records, options), timeout)

    async def evaluate(
        self,
        records: Iterable[Record] | AsyncIterable[Record],
        /,
        *,
        timeout: float | None = None,
        **options: Unpack[dicts.EvaluateOptionsDict],
    ) -> v1.EvaluateResponse:
        """Measure a policy or a score on labelled records."""
        return await self._upload(
            rpcs.EVALUATE, _requests.records_feed(v1.EvaluateRequest, records, options), timeout
        )

    async def replay(
        self,
        records: Iterable[Record] | AsyncIterable[Record],
        /,
        *,
        timeout: float | None = None,
        **options: Unpack[dicts.ReplayOptionsDict],
    ) -> v1.ReplayResponse:
        """Recombine the recorded outcomes of arms by a policy or a score."""
        return await self._upload(
            rpcs.REPLAY, _requests.records_feed(v1.ReplayRequest, records, options), timeout
        )

    # Verifier and server

    async def describe(self, *, timeout: float | None = None) -> v1.DescribeResponse:
        """What the verifier behind the address is."""
        return await self._unary(rpcs.DESCRIBE, {}, timeout)

    async def verify(
        self, pairs: Iterable[Pair], /, *, timeout: float | None = None
    ) -> list[v1.VerifyResult]:
        """The results of pairs, in their order; see `plumbline.probabilities`. A pair
        without an id has its position; ids need not be unique."""
        ids, requests = _requests.verify_requests(pairs)
        results = Results(ids)
        async with self.stream_verify(requests, timeout=timeout) as responses:
            async for response in responses:
                results.add(response)
        return results.in_order()

    def stream_verify(
        self,
        requests: Iterable[v1.VerifyRequest | dicts.VerifyRequestDict]
        | AsyncIterable[v1.VerifyRequest | dicts.VerifyRequestDict],
        /,
        *,
        timeout: float | None = None,
    ) -> AsyncStream[v1.VerifyResponse]:
        """The results of pairs as they are known, in any order, keyed by id."""
        feed = Feed(requests, lambda item: as_message(v1.VerifyRequest, item))
        return self._stream(rpcs.VERIFY, feed, lambda response: response, timeout)

    async def get_info(self, *, timeout: float | None = None) -> v1.GetInfoResponse:
        """What the server can do: versions, verifiers, limits and every score."""
        return await self._unary(rpcs.GET_INFO, {}, timeout)

    # The three shapes of a call

    async def _unary(
        self, rpc: Rpc[Request, Response], given: Request | Mapping[str, object], timeout: float | None
    ) -> Response:
        method = self._channel.unary_unary(
            rpc.path,
            request_serializer=rpc.request.SerializeToString,
            response_deserializer=rpc.response.FromString,
        )
        limit = TimeLimit(self._timeout if timeout is None else timeout)
        request = as_message(rpc.request, given)
        try:
            return await method(request, timeout=limit.seconds, metadata=self._metadata)
        except grpc.aio.AioRpcError as error:
            raise from_grpc(error, limit.deadline) from error

    async def _upload(
        self, rpc: Rpc[Request, Response], feed: Feed[Any, Request], timeout: float | None
    ) -> Response:
        method = self._channel.stream_unary(
            rpc.path,
            request_serializer=rpc.request.SerializeToString,
            response_deserializer=rpc.response.FromString,
        )
        limit = TimeLimit(timeout)
        call = method(timeout=limit.seconds, metadata=self._metadata)
        return cast("Response", await _Exchange(call, feed, limit.deadline).answer(call))

    def _stream(
        self,
        rpc: Rpc[Request, Response],
        feed: Feed[Any, Request],
        event: Callable[[Response], Event],
        timeout: float | None,
    ) -> AsyncStream[Event]:
        method = self._channel.stream_stream(
            rpc.path,
            request_serializer=rpc.request.SerializeToString,
            response_deserializer=rpc.response.FromString,
        )
        limit = TimeLimit(timeout)
        call = method(timeout=limit.seconds, metadata=self._metadata)
        return AsyncStream(_Exchange(call, feed, limit.deadline), event)
