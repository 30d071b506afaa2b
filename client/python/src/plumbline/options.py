"""How a client connects: retries and TLS."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path

import grpc

from plumbline.v1 import rpcs

_MAX_ATTEMPTS = 5  # gRPC's own bound
# grpcio 1.85 never ends a call whose retry is due in less than a millisecond; the
# delay is drawn around the backoff.
_MIN_BACKOFF = 0.01
_MAX_BUFFER = 2**31 - 1  # grpc takes a 32-bit integer
# What a server does twice if it is asked twice: it remembers the turn of a subgoal.
_NOT_IDEMPOTENT = [rpcs.OBSERVE]


@dataclass(frozen=True)
class Retry:
    """When a call is tried again: if the server was not reached, is shutting down, or
    refused for load, or if the connection was lost, when the server may have done the
    work before. After a refusal for load it waits as long as the server says.

    `observe` is tried again only where the server certainly did not begin it: it was
    refused for load, or the connection closed before the server took the call. The
    server remembers the turn of a subgoal and would compare it with itself.

    Retries have a budget, so that they cannot multiply the load of a server in
    trouble: each failure takes a token out of a bucket of `budget`, each success
    puts `refill` back, and no call is retried while the bucket is not more than half
    full. Where every call fails, a client makes `budget / 2` retries at most.
    """

    max_attempts: int = 4
    """Attempts of one call, the first included; 2 to 5."""
    initial_backoff: float = 0.1
    """Seconds before the second attempt, give or take a fifth; at least 0.01."""
    max_backoff: float = 5.0
    """Seconds between two attempts at most, give or take a fifth; at least 0.01."""
    multiplier: float = 2.0
    """Growth of the delay from attempt to attempt."""
    budget: int = 10
    """Tokens of the full bucket; 1 to 1,000."""
    refill: float = 0.1
    """Tokens that a success puts back, in thousandths; 0.001 to the budget."""
    buffer: int = 17 << 20
    """Bytes of requests and headers that a call keeps for the next attempt; a call that
    has sent more is not tried again. The default holds the largest request that a server
    takes unless it is told otherwise, 16 MiB."""

    def __post_init__(self) -> None:
        if not 2 <= self.max_attempts <= _MAX_ATTEMPTS:
            raise ValueError(f"max_attempts: give 2 to {_MAX_ATTEMPTS}, or retry=None for a single attempt")
        if not 1 <= self.budget <= 1000:
            raise ValueError("budget: give 1 to 1000")
        for name in ("initial_backoff", "max_backoff"):
            if not _MIN_BACKOFF <= getattr(self, name) < math.inf:
                raise ValueError(f"{name}: give at least {_MIN_BACKOFF} seconds")
        if not 0 < self.multiplier < math.inf:
            raise ValueError("multiplier: give a positive number")
        if not 0.001 <= self.refill <= self.budget:
            raise ValueError("refill: give 0.001 to the budget")
        if not 0 <= self.buffer <= _MAX_BUFFER:
            raise ValueError(f"buffer: give 0 to {_MAX_BUFFER}")


@dataclass(frozen=True)
class TLS:
    """The PEM files of a secure connection."""

    ca_file: str | None = None
    """The authorities to trust; None means the system's."""
    cert_file: str | None = None
    """The client's certificate chain, for servers that ask for one (mutual TLS)."""
    key_file: str | None = None
    """The certificate's private key."""

    def __post_init__(self) -> None:
        if (self.cert_file is None) != (self.key_file is None):
            raise ValueError("cert_file and key_file: give both or none")

    def credentials(self) -> grpc.ChannelCredentials:
        """What grpc makes of the files. Raises OSError if one cannot be read."""
        return grpc.ssl_channel_credentials(
            root_certificates=_read(self.ca_file),
            private_key=_read(self.key_file),
            certificate_chain=_read(self.cert_file),
        )


def _read(path: str | None) -> bytes | None:
    return None if path is None else Path(path).read_bytes()


def credentials(tls: bool | TLS) -> grpc.ChannelCredentials | None:
    """The credentials of a channel; None means plain text."""
    if isinstance(tls, TLS):
        return tls.credentials()
    return TLS().credentials() if tls else None


def channel_options(retry: Retry | None) -> list[tuple[str, str | int]]:
    """The options of a channel, by the names that grpc gives them."""
    options: list[tuple[str, str | int]] = [
        # A reply is as large as its request makes it; only the server has to be
        # protected from large messages.
        ("grpc.max_receive_message_length", -1),
        ("grpc.enable_retries", 0 if retry is None else 1),
    ]
    if retry is not None:
        options.append(("grpc.service_config", json.dumps(_service_config(retry))))
        options.append(("grpc.per_rpc_retry_buffer_size", retry.buffer))
    return options


def _service_config(retry: Retry) -> dict[str, object]:
    return {
        "methodConfig": [
            _method_config(retry, [{}], ["UNAVAILABLE", "RESOURCE_EXHAUSTED"]),
            # UNAVAILABLE can be a connection that was lost after the server had the request.
            _method_config(retry, [_name(rpc.path) for rpc in _NOT_IDEMPOTENT], ["RESOURCE_EXHAUSTED"]),
        ],
        # grpc reads thousandths, and takes a number without a point for thousandths.
        "retryThrottling": {"maxTokens": retry.budget, "tokenRatio": round(float(retry.refill), 3)},
    }


def _method_config(retry: Retry, names: list[dict[str, str]], codes: list[str]) -> dict[str, object]:
    return {
        "name": names,
        "retryPolicy": {
            "maxAttempts": retry.max_attempts,
            "initialBackoff": f"{retry.initial_backoff:.9f}s",
            "maxBackoff": f"{retry.max_backoff:.9f}s",
            "backoffMultiplier": retry.multiplier,
            "retryableStatusCodes": codes,
        },
    }


def _name(path: str) -> dict[str, str]:
    _, service, method = path.split("/")
    return {"service": service, "method": method}
