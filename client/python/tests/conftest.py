"""The real server, and both clients behind one face."""

from __future__ import annotations

import asyncio
import inspect
import os
import re
import signal
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import plumbline

ROOT = Path(__file__).resolve().parents[3]


def absent(what: str) -> None:
    """Skip, except under continuous integration, where a test that does not run would
    pass for one that passed."""
    if os.environ.get("CI") == "true":
        pytest.fail(what)
    pytest.skip(what)


@dataclass
class Server:
    process: subprocess.Popen[str]
    grpc: str
    url: str


def environment() -> dict[str, str]:
    """This process's, less what the program would take for settings."""
    settings = {name for name in os.environ if name.startswith("PLUMBLINE_")} - {"PLUMBLINE_ONNXRUNTIME_LIB"}
    return {name: text for name, text in os.environ.items() if name not in settings}


def start(binary: Path, *arguments: str) -> Server:
    process = subprocess.Popen(
        [binary, "serve", "--grpc-addr", "127.0.0.1:0", "--http-addr", "127.0.0.1:0", *arguments],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=environment(),
    )
    assert process.stdout is not None
    addresses = []
    for line in process.stdout:
        if found := re.match(r"(?:gRPC|HTTP .*) at (\S+)\. Try it:", line):
            addresses.append(found[1])
        if len(addresses) == 2:
            return Server(process, *addresses)
    process.wait()
    pytest.fail(f"the server ended with {process.returncode}")


@pytest.fixture(scope="session")
def binary() -> Path:
    if (
        not any(ROOT.glob(".cache/onnxruntime/*/*/*onnxruntime*"))
        and "PLUMBLINE_ONNXRUNTIME_LIB" not in os.environ
    ):
        absent("the ONNX Runtime library is absent: run `make setup`")
    if "TEST_PLUMBLINE" in os.environ:
        return Path(os.environ["TEST_PLUMBLINE"])
    built = ROOT / ".cache/python/plumbline"
    subprocess.run(["go", "build", "-o", built, "./cmd/plumbline"], cwd=ROOT, check=True)
    return built


@pytest.fixture(scope="session")
def serve(binary: Path) -> Iterator[Callable[..., Server]]:
    running: list[Server] = []

    def run(*arguments: str) -> Server:
        running.append(start(binary, *arguments))
        return running[-1]

    yield run
    for server in running:
        server.process.send_signal(signal.SIGTERM)
    for server in running:
        server.process.communicate(timeout=30)
        assert server.process.returncode == 0


@pytest.fixture(scope="session")
def server(serve: Callable[..., Server]) -> Server:
    """The server as `make run` starts it."""
    return serve()


class Blocking:
    """AsyncClient with the face of Client, so that one test is for both."""

    def __init__(self, target: str, **options: Any) -> None:
        self._loop = asyncio.new_event_loop()

        async def make() -> plumbline.AsyncClient:
            return plumbline.AsyncClient(target, **options)

        self._client = self._loop.run_until_complete(make())

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            async def go() -> Any:
                answer = getattr(self._client, name)(*arguments, **options)
                return await answer if inspect.isawaitable(answer) else answer

            answer = self._loop.run_until_complete(go())
            return BlockingStream(self._loop, answer) if isinstance(answer, plumbline.AsyncStream) else answer

        return call

    def close(self) -> None:
        self._loop.run_until_complete(self._client.close())
        self._loop.close()

    def __enter__(self) -> Blocking:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class BlockingStream:
    def __init__(self, loop: asyncio.AbstractEventLoop, stream: plumbline.AsyncStream[Any]) -> None:
        self._loop = loop
        self._stream = stream

    def __iter__(self) -> BlockingStream:
        return self

    def __next__(self) -> Any:
        try:
            return self._loop.run_until_complete(self._stream.__anext__())
        except StopAsyncIteration:
            raise StopIteration from None

    def cancel(self) -> None:
        async def go() -> None:
            self._stream.cancel()

        self._loop.run_until_complete(go())

    def __enter__(self) -> BlockingStream:
        return self

    def __exit__(self, *_: object) -> None:
        self.cancel()


@pytest.fixture(params=["Client", "AsyncClient"])
def connect(request: pytest.FixtureRequest) -> Iterator[Callable[..., Any]]:
    """Makes clients of either kind."""
    kind = plumbline.Client if request.param == "Client" else Blocking
    made: list[Any] = []

    def make(target: str, **options: Any) -> Any:
        made.append(kind(target, **options))
        return made[-1]

    yield make
    for client in made:
        client.close()


@pytest.fixture
def client(connect: Callable[..., Any], server: Server) -> Any:
    return connect(server.grpc)
