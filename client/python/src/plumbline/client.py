"""The synchronous client."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any, Generic, TypeVar

import grpc
from typing_extensions import Self, Unpack

from plumbline import _requests, v1
from plumbline._requests import AnswerPart, Feed, GroundingEvent, Pair, Record, Results
from plumbline._rpc import Request, Response, Rpc, TimeLimit, as_message, merged
from plumbline.errors import from_grpc
from plumbline.options import TLS, Retry, channel_options, credentials
from plumbline.v1 import dicts, rpcs

Event = TypeVar("Event")


class Stream(Generic[Event]):
    """The answers of a streaming call, as they come. Leaving its `with` block, or
    cancel(), ends the call; the server then stops working on it."""

    def __init__(
        self, call: Any, feed: Feed[Any, Any], event: Callable[[Any], Event], deadline: float
    ) -> None:
        self._call = call
        self._feed = feed
        self._event = event
        self._deadline = deadline

    def __iter__(self) -> Iterator[Event]:
        return self

    def __next__(self) -> Event:
        try:
            return self._event(next(self._call))
        except grpc.RpcError as error:
            raise self._feed.failure or from_grpc(error, self._deadline) from error

    def cancel(self) -> None:
        """End the call. Reading on raises Cancelled."""
        self._deadline = math.inf
        self._call.cancel()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.cancel()


class Client:
    """A client of all services, over one connection that all calls share; threads may
    use it at once.

        with Client("localhost:50051") as client:
            reply = client.score_grounding(answer="…", evidence=[{"text": "…"}])

    A request is given as its fields, as a dictionary of them (`plumbline.v1.dicts`), or
    as a message (`plumbline.v1`). Every method returns the response message of its rpc
    and raises a CallError. Numbers are read with `plumbline.value`.
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

        Args:
            target: "host:port", or another name that gRPC resolves, such as
                "unix:/path" or "dns:///host:port".
            tls: False for plain text, True for TLS with the system's authorities, or
                the files.
            timeout: seconds that a unary call may take which states none; math.inf
                means as long as the server likes. Streams have no default.
            retry: when calls are tried again; None means never.
            metadata: headers of every call, such as ("authorization", "Bearer …").
        """
        channel_credentials = credentials(tls)
        options = channel_options(retry)
        if channel_credentials is None:
            self._channel = grpc.insecure_channel(target, options)
        else:
            self._channel = grpc.secure_channel(target, channel_credentials, options)
        self._timeout = timeout
        self._metadata = tuple(metadata)

    def close(self) -> None:
        """Close the connection. Calls in flight fail with Cancelled."""
        self._channel.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # Retrieval

    def score_retrieval(
        self,
        request: v1.ScoreRetrievalRequest | dicts.ScoreRetrievalRequestDict | None = None,
        /,
        *,
        timeout: float | None = None,
        **fields: Unpack[dicts.ScoreRetrievalRequestDict],
    ) -> v1.ScoreRetrievalResponse:
        """The signals of one retrieval result."""
        return self._unary(rpcs.SCORE_RETRIEVAL, merged(request, fields), timeout)

    def batch_score_retrieval(
        self,
        requests: Iterable[v1.ScoreRetrievalRequest | dicts.ScoreRetrievalRequestDict],
        /,
        *,
        timeout: float | None = None,
    ) -> v1.BatchScoreRetrievalResponse:
        """The signals of many results in one message; see `plumbline.unwrap`."""
        return self._unary(rpcs.BATCH_SCORE_RETRIEVAL, {"requests": requests}, timeout)

    def stream_score_retrieval(
        self,
        requests: Iterable[v1.ScoreRetrievalRequest | dicts.ScoreRetrievalRequestDict],
        /,
        *,
        timeout: float | None = None,
    ) -> Stream[v1.ScoreRetrievalResult]:
        """The signals of results as they arrive, in order; see `plumbline.unwrap`."""
        feed = _requests.retrieval_feed(requests)
        return self._stream(rpcs.STREAM_SCORE_RETRIEVAL, feed, lambda response: response.result, timeout)

    # Confidence

    def score_confidence(
        self,
        request: v1.ScoreConfidenceRequest | dicts.ScoreConfidenceRequestDict | None = None,
        /,
        *,
        timeout: float | None = None,
        **fields: Unpack[dicts.ScoreConfidenceRequestDict],
    ) -> v1.ScoreConfidenceResponse:
        """Every confidence score that the inputs allow."""
        return self._unary(rpcs.SCORE_CONFIDENCE, merged(request, fields), timeout)

    def batch_score_confidence(
        self,
        requests: Iterable[v1.ScoreConfidenceRequest | dicts.ScoreConfidenceRequestDict],
        /,
        *,
        timeout: float | None = None,
    ) -> v1.BatchScoreConfidenceResponse:
        """The scores of many answers in one message; see `plumbline.unwrap`."""
        return self._unary(rpcs.BATCH_SCORE_CONFIDENCE, {"requests": requests}, timeout)

    def stream_score_confidence(
        self,
        requests: Iterable[v1.ScoreConfidenceRequest | dicts.ScoreConfidenceRequestDict],
        /,
        *,
        timeout: float | None = None,
    ) -> Stream[v1.ScoreConfidenceResult]:
        """The scores of answers as they arrive, in order; see `plumbline.unwrap`."""
        feed = _requests.confidence_feed(requests)
        return self._stream(rpcs.STREAM_SCORE_CONFIDENCE, feed, lambda response: response.result, timeout)

    # Grounding

    def score_grounding(
        self,
        request: v1.ScoreGroundingRequest | dicts.ScoreGroundingRequestDict | None = None,
        /,
        *,
        timeout: float | None = None,
        **fields: Unpack[dicts.ScoreGroundingRequestDict],
    ) -> v1.ScoreGroundingResponse:
        """How well the evidence supports each claim of an answer."""
        return self._unary(rpcs.SCORE_GROUNDING, merged(request, fields), timeout)

    def batch_score_grounding(
        self,
        requests: Iterable[v1.ScoreGroundingRequest | dicts.ScoreGroundingRequestDict],
        /,
        *,
        timeout: float | None = None,
    ) -> v1.BatchScoreGroundingResponse:
        """The claims of many answers in one message; see `plumbline.unwrap`."""
        return self._unary(rpcs.BATCH_SCORE_GROUNDING, {"requests": requests}, timeout)

    def stream_score_grounding(
        self,
        parts: Iterable[AnswerPart],
        start: v1.ScoreGroundingRequest | dicts.ScoreGroundingRequestDict | None = None,
        /,
        *,
        timeout: float | None = None,
        **fields: Unpack[dicts.ScoreGroundingRequestDict],
    ) -> Stream[GroundingEvent]:
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

    def observe(
        self,
        request: v1.ObserveRequest | dicts.ObserveRequestDict | None = None,
        /,
        *,
        timeout: float | None = None,
        **fields: Unpack[dicts.ObserveRequestDict],
    ) -> v1.ObserveResponse:
        """Everything about one turn of a loop: scores, decisions and the prompt block."""
        return self._unary(rpcs.OBSERVE, merged(request, fields), timeout)

    def decide(
        self,
        request: v1.DecideRequest | dicts.DecideRequestDict | None = None,
        /,
        *,
        timeout: float | None = None,
        **fields: Unpack[dicts.DecideRequestDict],
    ) -> v1.DecideResponse:
        """What a policy decides on inputs or telemetry."""
        return self._unary(rpcs.DECIDE, merged(request, fields), timeout)

    def batch_decide(
        self,
        requests: Iterable[v1.DecideRequest | dicts.DecideRequestDict],
        /,
        *,
        timeout: float | None = None,
    ) -> v1.BatchDecideResponse:
        """Many decisions in one message; see `plumbline.unwrap`."""
        return self._unary(rpcs.BATCH_DECIDE, {"requests": requests}, timeout)

    def stream_decide(
        self,
        requests: Iterable[v1.DecideRequest | dicts.DecideRequestDict],
        /,
        *,
        timeout: float | None = None,
    ) -> Stream[v1.DecideResult]:
        """Decisions as inputs arrive, in order; see `plumbline.unwrap`."""
        feed = _requests.decide_feed(requests)
        return self._stream(rpcs.STREAM_DECIDE, feed, lambda response: response.result, timeout)

    def list_gates(self, *, timeout: float | None = None) -> v1.ListGatesResponse:
        """The policies of the server and what they need."""
        return self._unary(rpcs.LIST_GATES, {}, timeout)

    def get_policy(self, name: str, *, timeout: float | None = None) -> v1.GetPolicyResponse:
        """One policy in full."""
        return self._unary(rpcs.GET_POLICY, {"name": name}, timeout)

    # Calibration

    def fit(
        self,
        records: Iterable[Record],
        /,
        *,
        timeout: float | None = None,
        **options: Unpack[dicts.FitOptionsDict],
    ) -> v1.FitResponse:
        """Choose signals and thresholds on labelled records."""
        return self._upload(rpcs.FIT, _requests.records_feed(v1.FitRequest, records, options), timeout)

    def evaluate(
        self,
        records: Iterable[Record],
        /,
        *,
        timeout: float | None = None,
        **options: Unpack[dicts.EvaluateOptionsDict],
    ) -> v1.EvaluateResponse:
        """Measure a policy or a score on labelled records."""
        return self._upload(
            rpcs.EVALUATE, _requests.records_feed(v1.EvaluateRequest, records, options), timeout
        )

    def replay(
        self,
        records: Iterable[Record],
        /,
        *,
        timeout: float | None = None,
        **options: Unpack[dicts.ReplayOptionsDict],
    ) -> v1.ReplayResponse:
        """Recombine the recorded outcomes of arms by a policy or a score."""
        return self._upload(rpcs.REPLAY, _requests.records_feed(v1.ReplayRequest, records, options), timeout)

    # Verifier and server

    def describe(self, *, timeout: float | None = None) -> v1.DescribeResponse:
        """What the verifier behind the address is."""
        return self._unary(rpcs.DESCRIBE, {}, timeout)

    def verify(self, pairs: Iterable[Pair], /, *, timeout: float | None = None) -> list[v1.VerifyResult]:
        """The results of pairs, in their order; see `plumbline.probabilities`. A pair
        without an id has its position; ids need not be unique."""
        ids, requests = _requests.verify_requests(pairs)
        results = Results(ids)
        with self.stream_verify(requests, timeout=timeout) as responses:
            for response in responses:
                results.add(response)
        return results.in_order()

    def stream_verify(
        self,
        requests: Iterable[v1.VerifyRequest | dicts.VerifyRequestDict],
        /,
        *,
        timeout: float | None = None,
    ) -> Stream[v1.VerifyResponse]:
        """The results of pairs as they are known, in any order, keyed by id."""
        feed = Feed(requests, lambda item: as_message(v1.VerifyRequest, item))
        return self._stream(rpcs.VERIFY, feed, lambda response: response, timeout)

    def get_info(self, *, timeout: float | None = None) -> v1.GetInfoResponse:
        """What the server can do: versions, verifiers, limits and every score."""
        return self._unary(rpcs.GET_INFO, {}, timeout)

    # The three shapes of a call

    def _unary(
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
            return method(request, timeout=limit.seconds, metadata=self._metadata)
        except grpc.RpcError as error:
            raise from_grpc(error, limit.deadline) from error

    def _upload(
        self, rpc: Rpc[Request, Response], feed: Feed[Any, Request], timeout: float | None
    ) -> Response:
        method = self._channel.stream_unary(
            rpc.path,
            request_serializer=rpc.request.SerializeToString,
            response_deserializer=rpc.response.FromString,
        )
        limit = TimeLimit(timeout)
        try:
            return method(iter(feed), timeout=limit.seconds, metadata=self._metadata)
        except grpc.RpcError as error:
            raise feed.failure or from_grpc(error, limit.deadline) from error

    def _stream(
        self,
        rpc: Rpc[Request, Response],
        feed: Feed[Any, Request],
        event: Callable[[Response], Event],
        timeout: float | None,
    ) -> Stream[Event]:
        method = self._channel.stream_stream(
            rpc.path,
            request_serializer=rpc.request.SerializeToString,
            response_deserializer=rpc.response.FromString,
        )
        limit = TimeLimit(timeout)
        call = method(iter(feed), timeout=limit.seconds, metadata=self._metadata)
        return Stream(call, feed, event, limit.deadline)
