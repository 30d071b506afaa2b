"""How calls fail: one hierarchy of exceptions, with what the server said.

PlumblineError
├── MissingValue            a number that could not be computed, with the reason
└── CallError               a call that failed, one subclass for each status code
    ├── InvalidArgument     .violations name the fields
    ├── ResourceExhausted   .retry_after says when to come back
    ├── Unavailable, DeadlineExceeded, NotFound, …
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import grpc
from google.protobuf.message import DecodeError
from google.rpc import error_details_pb2, status_pb2

from plumbline import v1

_DETAILS = "grpc-status-details-bin"


class PlumblineError(Exception):
    """The base of every exception of this package."""


class MissingValue(PlumblineError):
    """A number was read that could not be computed."""

    status: str
    """The name of the status, such as "STATUS_TOO_FEW_ITEMS"."""
    reason: str
    """For people: what was missing and what to do."""

    def __init__(self, status: str, reason: str) -> None:
        super().__init__(f"{status}: {reason}" if reason else status)
        self.status = status
        self.reason = reason


@dataclass(frozen=True)
class FieldViolation:
    """One field of a request that breaks a rule."""

    field: str
    """The path of the field, such as "rankings[0].items[3].score"."""
    description: str
    """What is wrong and what to do."""


class CallError(PlumblineError):
    """A call failed. Which subclass it is depends on the status code alone."""

    code: grpc.StatusCode
    """The status code."""
    message: str
    """What was wrong and what to do."""
    reason: str
    """The machine-readable reason, such as "FIELD_INVALID" or "OVERLOADED"; empty if
    the failure did not come from a Plumbline server."""
    metadata: Mapping[str, str]
    """What the server added to the reason."""
    violations: tuple[FieldViolation, ...]
    """The fields to blame."""
    retry_after: float | None
    """Seconds after which a retry makes sense; None if the server did not say."""

    def __init__(
        self,
        code: grpc.StatusCode,
        message: str,
        *,
        reason: str = "",
        metadata: Mapping[str, str] | None = None,
        violations: Iterable[FieldViolation] = (),
        retry_after: float | None = None,
    ) -> None:
        super().__init__(f"{code.name}: {message}")
        self.code = code
        self.message = message
        self.reason = reason
        self.metadata = dict(metadata or {})
        self.violations = tuple(violations)
        self.retry_after = retry_after


class InvalidArgument(CallError):
    """The request breaks a rule; `violations` names the fields."""


class NotFound(CallError):
    """No policy, verifier or template has the name."""


class ResourceExhausted(CallError):
    """The server is overloaded (`retry_after` is set) or the request is too large."""


class Unavailable(CallError):
    """The server cannot be reached, is shutting down, or has no verifier to ask."""


class DeadlineExceeded(CallError):
    """The deadline of the call passed."""


class Cancelled(CallError):
    """The call was cancelled."""


class Unimplemented(CallError):
    """The server does not know the rpc or does not implement it."""


class Unauthenticated(CallError):
    """The call brought no valid credentials."""


class PermissionDenied(CallError):
    """The credentials do not allow the call."""


class Internal(CallError):
    """A defect of the server; its log has the cause."""


_BY_CODE: dict[grpc.StatusCode, type[CallError]] = {
    grpc.StatusCode.INVALID_ARGUMENT: InvalidArgument,
    grpc.StatusCode.NOT_FOUND: NotFound,
    grpc.StatusCode.RESOURCE_EXHAUSTED: ResourceExhausted,
    grpc.StatusCode.UNAVAILABLE: Unavailable,
    grpc.StatusCode.DEADLINE_EXCEEDED: DeadlineExceeded,
    grpc.StatusCode.CANCELLED: Cancelled,
    grpc.StatusCode.UNIMPLEMENTED: Unimplemented,
    grpc.StatusCode.UNAUTHENTICATED: Unauthenticated,
    grpc.StatusCode.PERMISSION_DENIED: PermissionDenied,
    grpc.StatusCode.INTERNAL: Internal,
}


def from_grpc(error: grpc.RpcError, deadline: float = math.inf) -> CallError:
    """The exception of a failed call of grpc's, synchronous or not.

    The deadline is the call's, in monotonic time. A server that sees it pass first
    resets the stream, which grpc may take for a cancellation.
    """
    assert isinstance(error, (grpc.Call, grpc.aio.AioRpcError))
    if error.code() is grpc.StatusCode.CANCELLED and time.monotonic() >= deadline:
        return DeadlineExceeded(grpc.StatusCode.DEADLINE_EXCEEDED, "Deadline Exceeded")
    reason, metadata, retry_after = "", {}, None
    violations: list[FieldViolation] = []
    for detail in _details(error.trailing_metadata() or ()).details:
        info = error_details_pb2.ErrorInfo()
        bad = error_details_pb2.BadRequest()
        retry = error_details_pb2.RetryInfo()
        if detail.Unpack(info):
            reason, metadata = info.reason, dict(info.metadata)
        elif detail.Unpack(bad):
            violations += [FieldViolation(v.field, v.description) for v in bad.field_violations]
        elif detail.Unpack(retry):
            retry_after = retry.retry_delay.ToTimedelta().total_seconds()
    return _by_code(error.code())(
        error.code(),
        error.details() or "",
        reason=reason,
        metadata=metadata,
        violations=violations,
        retry_after=retry_after,
    )


def from_item(error: v1.ItemError) -> CallError:
    """The exception of one failed item of a batch or of a stream."""
    code = getattr(grpc.StatusCode, error.code, grpc.StatusCode.UNKNOWN)
    violations = [FieldViolation(error.field, error.message)] if error.field else []
    return _by_code(code)(code, error.message, reason=error.reason, violations=violations)


def _by_code(code: grpc.StatusCode) -> type[CallError]:
    return _BY_CODE.get(code, CallError)


def _details(trailers: Iterable[tuple[str, str | bytes]]) -> status_pb2.Status:
    """What a server sent beside code and message; empty if it is not readable."""
    for key, value in trailers:
        if key == _DETAILS and isinstance(value, bytes):
            try:
                return status_pb2.Status.FromString(value)
            except DecodeError:
                break
    return status_pb2.Status()
