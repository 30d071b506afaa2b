"""VerifierService, health and reflection around a batcher."""

from __future__ import annotations

import asyncio
import hmac
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import grpc
import grpc.aio
from google.protobuf.any_pb2 import Any as AnyMessage
from google.rpc import error_details_pb2, status_pb2
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection

from plumbline import v1
from plumbline.sidecar._batcher import Answer, Batcher, Job
from plumbline.sidecar._description import Description
from plumbline.sidecar._scores import NoScore, Pair, ScoreFunction
from plumbline.v1 import rpcs

_SERVICE = "plumbline.v1.VerifierService"
_HEALTH_NAMES = ("", _SERVICE)
_COOKIE = "plumbline-cookie"
_MAX_ID = 1024


@dataclass(frozen=True)
class Limits:
    """What a sidecar takes at once."""

    max_batch: int = 32
    """Pairs that the function is given at once."""
    max_wait: float = 0.002
    """Seconds that a pair waits for others to share a batch with."""
    workers: int = 1
    """Batches that are scored at once. More than one calls the function from several
    threads, or runs several coroutines."""
    max_pending: int = 1024
    """Pairs of one call that are read ahead of their results; the sender of more waits."""
    max_pairs: int = 10_000
    """Pairs of one message."""
    max_message_bytes: int = 16 << 20
    """The largest message."""
    max_streams: int = 100
    """Concurrent calls of one connection."""

    def __post_init__(self) -> None:
        for name in ("max_batch", "workers", "max_pending", "max_pairs", "max_message_bytes", "max_streams"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name}: give at least 1")
        if self.max_wait < 0:
            raise ValueError("max_wait: give at least 0")


class Sidecar:
    """A verifier that is served. `serve` is all that a program of its own needs; this is
    for one that does other things too.

        async with Sidecar(score, description) as sidecar:
            port = await sidecar.start("localhost:0")
            …
    """

    def __init__(
        self,
        score: ScoreFunction,
        description: Description,
        *,
        limits: Limits = Limits(),
        cookie: str | None = None,
    ) -> None:
        """Make a sidecar; it must be made inside a coroutine.

        Args:
            score: gives one score for each pair, in order. A plain function is called
                in a thread, a coroutine function in the event loop.
            description: what the verifier is.
            limits: what is taken at once.
            cookie: what every call must bring as "plumbline-cookie"; None takes all.
        """
        self._batcher = Batcher(
            score,
            three_class=description.three_class,
            max_batch=limits.max_batch,
            max_wait=limits.max_wait,
            workers=limits.workers,
        )
        self._limits = limits
        self._description = description
        self._health = _Health()
        self._server = grpc.aio.server(
            interceptors=[_Cookie(cookie)] if cookie is not None else [],
            options=[
                ("grpc.max_receive_message_length", limits.max_message_bytes),
                ("grpc.max_send_message_length", -1),
                ("grpc.max_concurrent_streams", limits.max_streams),
                # A second sidecar at the same address is an error, not a replica.
                ("grpc.so_reuseport", 0),
            ],
        )
        self._server.add_generic_rpc_handlers([self._handlers()])
        health_pb2_grpc.add_HealthServicer_to_server(self._health, self._server)
        reflection.enable_server_reflection(
            [_SERVICE, health.SERVICE_NAME, reflection.SERVICE_NAME], self._server
        )

    def _handlers(self) -> grpc.GenericRpcHandler:
        return grpc.method_handlers_generic_handler(
            _SERVICE,
            {
                "Describe": grpc.unary_unary_rpc_method_handler(
                    self._describe,
                    request_deserializer=rpcs.DESCRIBE.request.FromString,
                    response_serializer=rpcs.DESCRIBE.response.SerializeToString,
                ),
                "Verify": grpc.stream_stream_rpc_method_handler(
                    self._verify,
                    request_deserializer=rpcs.VERIFY.request.FromString,
                    response_serializer=rpcs.VERIFY.response.SerializeToString,
                ),
            },
        )

    async def start(self, address: str, credentials: grpc.ServerCredentials | None = None) -> int:
        """Serve at "host:port" or "unix:/path". Returns the port, which 0 lets the
        system choose. Raises RuntimeError if nothing can listen there."""
        if credentials is None:
            port = self._server.add_insecure_port(address)
        else:
            port = self._server.add_secure_port(address, credentials)
        self._batcher.start()
        await self._server.start()
        return port

    async def stop(self, grace: float) -> bool:
        """Take no new calls, wait at most grace seconds for those in flight, and end.
        Returns whether the function has ended too."""
        self._health.end()
        await self._server.stop(grace)
        ended = not self._batcher.busy
        await self._batcher.stop()
        return ended

    async def __aenter__(self) -> Sidecar:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop(0)

    async def _describe(self, _: v1.DescribeRequest, __: Any) -> v1.DescribeResponse:
        return self._description.message()

    async def _verify(
        self, requests: AsyncIterator[v1.VerifyRequest], context: Any
    ) -> AsyncIterator[v1.VerifyResponse]:
        call = _Call(self._description.digest, self._limits)
        reading = asyncio.create_task(call.read(requests, self._batcher))
        try:
            async for response in call.responses():
                yield response
        except _RefusedError as refused:
            await refused.abort(context)
        finally:
            call.ended = True
            reading.cancel()
            self._batcher.drop(call)


class _RefusedError(Exception):
    """A message of a call that breaks a rule."""

    def __init__(self, field: str, description: str) -> None:
        super().__init__(f"{field}: {description}")
        self._violation = error_details_pb2.BadRequest.FieldViolation(
            field=field, description=description, reason="FIELD_INVALID"
        )

    async def abort(self, context: Any) -> None:
        """End the call as a Plumbline server does."""
        status = status_pb2.Status(code=grpc.StatusCode.INVALID_ARGUMENT.value[0], message=str(self))
        for detail in (
            error_details_pb2.ErrorInfo(reason="FIELD_INVALID", domain="plumbline.v1"),
            error_details_pb2.BadRequest(field_violations=[self._violation]),
        ):
            packed = AnyMessage()
            packed.Pack(detail)
            status.details.append(packed)
        await context.abort(
            grpc.StatusCode.INVALID_ARGUMENT,
            str(self),
            (("grpc-status-details-bin", status.SerializeToString()),),
        )


class _Call:
    """One Verify stream."""

    def __init__(self, digest: str, limits: Limits) -> None:
        self.ended = False
        self._digest = digest
        self._limits = limits
        self._pending: set[str] = set()
        self._room = asyncio.Semaphore(limits.max_pending)
        self._ready: asyncio.Queue[v1.VerifyResponse | Exception | None] = asyncio.Queue()
        self._read_all = False

    async def read(self, requests: AsyncIterator[v1.VerifyRequest], batcher: Batcher) -> None:
        """Queue the pairs until the client has no more."""
        try:
            async for request in requests:
                self._check(request)
                for pair in request.pairs:
                    await self._room.acquire()
                    batcher.add([Job(self, pair.id, Pair(pair.premise, pair.hypothesis), _now())])
        except Exception as error:
            self._ready.put_nowait(error)
            return
        self._read_all = True
        self._end_if_done()

    def _check(self, request: v1.VerifyRequest) -> None:
        """Refuse what the schema refuses, and ids that are not unique."""
        if len(request.pairs) > self._limits.max_pairs:
            raise _RefusedError("pairs", f"must contain no more than {self._limits.max_pairs} item(s)")
        for i, pair in enumerate(request.pairs):
            if not 1 <= len(pair.id) <= _MAX_ID:
                raise _RefusedError(f"pairs[{i}].id", f"must have 1 to {_MAX_ID} characters")
            if not pair.hypothesis:
                raise _RefusedError(f"pairs[{i}].hypothesis", "must be at least 1 characters")
            if pair.id in self._pending:
                raise _RefusedError(
                    f"pairs[{i}].id", "an earlier pair with this id has no result yet; ids must be unique"
                )
            self._pending.add(pair.id)

    def answer(self, answers: Sequence[Answer]) -> None:
        """Take the outcomes of some of the pairs."""
        self._pending.difference_update(answer.job.id for answer in answers)
        self._ready.put_nowait(
            v1.VerifyResponse(
                results=[_result(answer) for answer in answers],
                usage=v1.VerifyUsage(
                    queue=timedelta(seconds=sum(answer.queue for answer in answers)),
                    inference=timedelta(seconds=sum(answer.inference for answer in answers)),
                    pairs=len(answers),
                ),
                digest=self._digest,
            )
        )
        self._end_if_done()

    def _end_if_done(self) -> None:
        if self._read_all and not self._pending:
            self._ready.put_nowait(None)

    async def responses(self) -> AsyncIterator[v1.VerifyResponse]:
        """The responses as they are known. Raises what went wrong with reading."""
        while (ready := await self._ready.get()) is not None:
            if isinstance(ready, Exception):
                raise ready
            yield ready
            for _ in ready.results:
                self._room.release()


def _now() -> float:
    return asyncio.get_running_loop().time()


def _result(answer: Answer) -> v1.VerifyResult:
    if isinstance(answer.outcome, NoScore):
        return v1.VerifyResult(id=answer.job.id, status=answer.outcome.status, reason=answer.outcome.reason)
    return v1.VerifyResult(
        id=answer.job.id,
        status=v1.Status.STATUS_OK,
        probabilities=v1.ClassProbabilities(
            entailment=answer.outcome.entailment,
            neutral=answer.outcome.neutral,
            contradiction=answer.outcome.contradiction,
        ),
    )


class _Health(health_pb2_grpc.HealthServicer):
    """Health of a sidecar: it serves from the start to its end. Watches end with it, as
    they would keep a graceful stop waiting for as long as the client likes."""

    def __init__(self) -> None:
        self._ending = asyncio.Event()

    def end(self) -> None:
        """Say NOT_SERVING to all who ask or watch."""
        self._ending.set()

    async def Check(  # noqa: N802
        self, request: health_pb2.HealthCheckRequest, context: Any
    ) -> health_pb2.HealthCheckResponse:
        if request.service not in _HEALTH_NAMES:
            await context.abort(grpc.StatusCode.NOT_FOUND, "no such service")
        return self._now()

    async def Watch(  # noqa: N802
        self, request: health_pb2.HealthCheckRequest, _: Any
    ) -> AsyncIterator[health_pb2.HealthCheckResponse]:
        if request.service not in _HEALTH_NAMES:
            yield health_pb2.HealthCheckResponse(status=health_pb2.HealthCheckResponse.SERVICE_UNKNOWN)
        else:
            yield self._now()
        await self._ending.wait()
        if request.service in _HEALTH_NAMES:
            yield self._now()

    def _now(self) -> health_pb2.HealthCheckResponse:
        status = health_pb2.HealthCheckResponse
        return status(status=status.NOT_SERVING if self._ending.is_set() else status.SERVING)


class _Cookie(grpc.aio.ServerInterceptor):
    """Refuses every call that does not bring the cookie."""

    def __init__(self, cookie: str) -> None:
        self._cookie = cookie.encode()
        # A handler of streams can refuse any rpc before it has read a message.
        self._refusal: grpc.RpcMethodHandler[Any, Any] = grpc.stream_stream_rpc_method_handler(self._refuse)

    async def intercept_service(
        self,
        continuation: Callable[[grpc.HandlerCallDetails], Awaitable[grpc.RpcMethodHandler[Any, Any] | None]],
        handler_call_details: grpc.HandlerCallDetails,
    ) -> grpc.RpcMethodHandler[Any, Any] | None:
        """Look at the metadata before anything else is done."""
        given = dict(handler_call_details.invocation_metadata).get(_COOKIE, "")
        if hmac.compare_digest(str(given).encode(), self._cookie):
            return await continuation(handler_call_details)
        return self._refusal

    @staticmethod
    async def _refuse(_: Any, context: Any) -> None:
        await context.abort(grpc.StatusCode.UNAUTHENTICATED, "the call does not bring the host's cookie")
