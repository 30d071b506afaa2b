"""What the package knows of an rpc."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from google.protobuf.message import Message

Request = TypeVar("Request", bound=Message)
Response = TypeVar("Response", bound=Message)


@dataclass(frozen=True)
class Rpc(Generic[Request, Response]):
    """One rpc: its path and the types that it takes and gives."""

    path: str
    request: type[Request]
    response: type[Response]


class TimeLimit:
    """The time that a call may take; None and infinity mean no limit."""

    def __init__(self, seconds: float | None) -> None:
        limited = seconds is not None and not math.isinf(seconds)
        self.seconds = seconds if limited else None
        """The limit as grpc takes it."""
        self.deadline = time.monotonic() + seconds if seconds is not None else math.inf
        """When it ends, in monotonic time."""


def as_message(kind: type[Request], given: Request | Mapping[str, object]) -> Request:
    """A message from a message or from a dictionary of its fields.

    Raises TypeError or ValueError where a field is unknown or of another type.
    """
    if isinstance(given, kind):
        return given
    if isinstance(given, Mapping):
        return kind(**given)
    raise TypeError(f"give a {kind.__name__} or a dictionary of its fields, not {type(given).__name__}")


def merged(
    given: Request | Mapping[str, object] | None, fields: Mapping[str, object]
) -> Request | Mapping[str, object]:
    """The one request of a call that was given whole or field by field."""
    if given is None:
        return fields
    if fields:
        raise TypeError(f"give a request or its fields, not both: {', '.join(sorted(fields))}")
    return given
