"""Runs a sidecar as a process: by itself, or for the Plumbline server that started it."""

from __future__ import annotations

import argparse
import asyncio
import hmac
import logging
import os
import signal
import sys
import threading

import grpc

from plumbline.sidecar._description import Description
from plumbline.sidecar._scores import ScoreFunction
from plumbline.sidecar._server import Limits, Sidecar

_log = logging.getLogger("plumbline.sidecar")

# The protocol of spawned verifiers, docs/verifiers-exec.md.
_PROTOCOL = "plumbline-sidecar|1|"
_COOKIE = "PLUMBLINE_SIDECAR_COOKIE"
_SOCKET = "PLUMBLINE_SIDECAR_SOCKET"

_DEFAULT_ADDRESS = "127.0.0.1:50061"


def serve(
    score: ScoreFunction,
    description: Description,
    *,
    limits: Limits = Limits(),
    listen: str | None = None,
    credentials: grpc.ServerCredentials | None = None,
    grace: float = 4.0,
) -> None:
    """Serve a scoring function until the process is told to stop.

    Where a Plumbline server started the process (`exec:`), it serves on the server's
    private socket and ends with the server. The first SIGTERM or SIGINT lets calls in
    flight finish, the second does not. Call it from the main thread.

    Args:
        score: gives one score for each pair, in order: P(support), or (entailment,
            neutral, contradiction), or NoScore. A plain function is called in a
            thread, a coroutine function in the event loop.
        description: what the verifier is.
        limits: what is taken at once.
        listen: "host:port" or "unix:/path"; None reads `--listen` from the command
            line, and without that listens on 127.0.0.1:50061.
        credentials: TLS of grpc.ssl_server_credentials; None means plain text.
        grace: seconds that calls in flight may take after the signal.
    """
    asyncio.run(
        aserve(score, description, limits=limits, listen=listen, credentials=credentials, grace=grace)
    )


async def aserve(
    score: ScoreFunction,
    description: Description,
    *,
    limits: Limits = Limits(),
    listen: str | None = None,
    credentials: grpc.ServerCredentials | None = None,
    grace: float = 4.0,
) -> None:
    """Do as `serve` does, for programs with an event loop of their own."""
    stop = _signals()
    cookie, socket = os.environ.get(_COOKIE), os.environ.get(_SOCKET)
    if cookie is not None and socket is not None:
        sidecar = Sidecar(score, description, limits=limits, cookie=cookie)
        await sidecar.start(f"unix:{socket}")
        threading.Thread(target=_end_with_host, daemon=True).start()
        print(_ready_line(cookie, socket), flush=True)
    else:
        sidecar = Sidecar(score, description, limits=limits)
        address = listen or _listen_flag()
        port = await sidecar.start(address, credentials)
        at = address if address.startswith("unix:") else f"{address.rpartition(':')[0]}:{port}"
        print(f"verifier {description.name} at {at}", file=sys.stderr, flush=True)
    await stop.wait()
    if not await sidecar.stop(grace):
        # A thread cannot be ended, and Python would wait for it.
        _log.warning("the scoring function did not end within %s s", grace)
        _exit(1)


def _signals() -> asyncio.Event:
    stop = asyncio.Event()

    def on_signal() -> None:
        if stop.is_set():
            _exit(1)
        stop.set()

    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, on_signal)
    return stop


def _listen_flag() -> str:
    parser = argparse.ArgumentParser(description="A verifier for Plumbline.")
    parser.add_argument(
        "--listen", default=_DEFAULT_ADDRESS, help="host:port or unix:/path (default %(default)s)"
    )
    return str(parser.parse_known_args()[0].listen)


def _ready_line(cookie: str, socket: str) -> str:
    proof = hmac.new(cookie.encode(), f"{_PROTOCOL}{socket}".encode(), "sha256").hexdigest()
    return _PROTOCOL + proof


def _end_with_host() -> None:
    """End at once when standard input ends, which the host holds open."""
    while os.read(0, 4096):
        pass
    _exit(0)


def _exit(code: int) -> None:
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)
