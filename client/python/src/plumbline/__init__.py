"""Client of Plumbline's services, and the SDK for verifier sidecars.

Messages and enums are in `plumbline.v1`, the same as dictionaries in
`plumbline.v1.dicts`, sidecars in `plumbline.sidecar`.
"""

from plumbline import v1
from plumbline._requests import AnswerPart, GroundingEvent, Pair, Record
from plumbline.aio import AsyncClient, AsyncStream
from plumbline.batch import Progress, acall_many, call_many
from plumbline.client import Client, Stream
from plumbline.errors import (
    CallError,
    Cancelled,
    DeadlineExceeded,
    FieldViolation,
    Internal,
    InvalidArgument,
    MissingValue,
    NotFound,
    PermissionDenied,
    PlumblineError,
    ResourceExhausted,
    Unauthenticated,
    Unavailable,
    Unimplemented,
)
from plumbline.options import TLS, Retry
from plumbline.values import Probabilities, probabilities, unwrap, value

__all__ = [
    "TLS",
    "AnswerPart",
    "AsyncClient",
    "AsyncStream",
    "CallError",
    "Cancelled",
    "Client",
    "DeadlineExceeded",
    "FieldViolation",
    "GroundingEvent",
    "Internal",
    "InvalidArgument",
    "MissingValue",
    "NotFound",
    "Pair",
    "PermissionDenied",
    "PlumblineError",
    "Probabilities",
    "Progress",
    "Record",
    "ResourceExhausted",
    "Retry",
    "Stream",
    "Unauthenticated",
    "Unavailable",
    "Unimplemented",
    "acall_many",
    "call_many",
    "probabilities",
    "unwrap",
    "v1",
    "value",
]
