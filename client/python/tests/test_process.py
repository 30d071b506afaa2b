"""A sidecar as a process: by itself, and as a host starts it."""

from __future__ import annotations

import hmac
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

import plumbline
from plumbline.sidecar._serve import _ready_line

QUICK = """
from plumbline.sidecar import Description, serve
print("a banner of some library")
serve(lambda pairs: [0.25] * len(pairs), Description(name="test", digest="sha256:0"))
"""

# Scores a pair when the file that is its premise is there.
WAITS = """
import pathlib, time
from plumbline.sidecar import Description, serve
def score(pairs):
    pathlib.Path(pairs[0].premise + ".entered").touch()
    while not pathlib.Path(pairs[0].premise).exists():
        time.sleep(0.01)
    return [0.25] * len(pairs)
serve(score, Description(name="test", digest="sha256:0"), grace=GRACE)
"""

Run = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Run]:
    started: list[subprocess.Popen[str]] = []

    def start(program: str, *arguments: str, **environment: str) -> subprocess.Popen[str]:
        file = tmp_path / "side.py"
        file.write_text(program)
        kept = {name: os.environ[name] for name in ("PYTHONPATH",) if name in os.environ}
        process = subprocess.Popen(
            [sys.executable, file, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=kept | environment,
        )
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


def listening(process: subprocess.Popen[str]) -> str:
    assert process.stderr is not None
    line = process.stderr.readline()
    found = re.fullmatch(r"verifier test at (\S+)\n", line)
    assert found, line
    return found[1]


def wait_for(path: Path) -> None:
    for _ in range(6000):
        if path.exists():
            return
        time.sleep(0.01)
    pytest.fail(f"{path.name} did not appear")


def test_alone(run: Run) -> None:
    process = run(QUICK, "--listen", "127.0.0.1:0")
    with plumbline.Client(listening(process)) as client:
        assert client.describe().name == "test"
        assert plumbline.probabilities(client.verify([("e", "c")])[0]).entailment == 0.25
    process.send_signal(signal.SIGTERM)
    assert process.wait(20) == 0


def test_at_a_socket_of_its_own(run: Run, tmp_path: Path) -> None:
    address = listening(run(QUICK, f"--listen=unix:{tmp_path}/s"))
    assert address == f"unix:{tmp_path}/s"
    with plumbline.Client(address) as client:
        assert client.describe().name == "test"


def test_calls_in_flight_end_first(run: Run, tmp_path: Path) -> None:
    process = run(WAITS.replace("GRACE", "20"), "--listen", "127.0.0.1:0")
    go_on = tmp_path / "go"
    with plumbline.Client(listening(process), retry=None) as client:
        stream = client.stream_verify([{"pairs": [{"id": "a", "premise": str(go_on), "hypothesis": "c"}]}])
        wait_for(Path(f"{go_on}.entered"))
        process.send_signal(signal.SIGTERM)
        go_on.touch()
        assert next(stream).results[0].status == plumbline.v1.Status.STATUS_OK
    assert process.wait(20) == 0


@pytest.mark.parametrize(("grace", "insist"), [("600", True), ("0.1", False)])
def test_a_function_that_does_not_end(run: Run, tmp_path: Path, grace: str, insist: bool) -> None:
    process = run(WAITS.replace("GRACE", grace), "--listen", "127.0.0.1:0")
    with plumbline.Client(listening(process), retry=None) as client:
        stream = client.stream_verify(
            [{"pairs": [{"id": "a", "premise": f"{tmp_path}/never", "hypothesis": "c"}]}]
        )
        wait_for(tmp_path / "never.entered")
        process.send_signal(signal.SIGTERM)
        if insist:
            signal_until_it_ends(process)
        with pytest.raises(plumbline.CallError):
            next(stream)
    assert process.wait(20) == 1


def signal_until_it_ends(process: subprocess.Popen[str]) -> None:
    """Signals that come together may count as one, so there is no number that is enough."""
    for _ in range(200):
        if process.poll() is not None:
            return
        process.send_signal(signal.SIGTERM)
        time.sleep(0.3)
    pytest.fail("it does not end")


def spawn(run: Run, folder: Path) -> tuple[subprocess.Popen[str], str, str]:
    """Starts a sidecar as a host does."""
    cookie, socket = os.urandom(32).hex(), f"{folder}/s"
    environment = {
        "PLUMBLINE_SIDECAR_PROTOCOL": "1",
        "PLUMBLINE_SIDECAR_COOKIE": cookie,
        "PLUMBLINE_SIDECAR_SOCKET": socket,
    }
    process = run(QUICK, **environment)
    assert process.stdout is not None
    assert process.stdout.readline() == "a banner of some library\n"
    proof = hmac.new(cookie.encode(), f"plumbline-sidecar|1|{socket}".encode(), "sha256").hexdigest()
    assert process.stdout.readline() == f"plumbline-sidecar|1|{proof}\n"
    return process, cookie, socket


def test_for_a_host(run: Run, tmp_path: Path) -> None:
    process, cookie, socket = spawn(run, tmp_path)
    with plumbline.Client(f"unix:{socket}") as stranger, pytest.raises(plumbline.Unauthenticated):
        stranger.describe()
    with plumbline.Client(f"unix:{socket}", metadata=[("plumbline-cookie", cookie)]) as host:
        assert plumbline.probabilities(host.verify([("e", "c")])[0]).entailment == 0.25
    with grpc.insecure_channel(f"unix:{socket}") as channel:
        health: Any = health_pb2_grpc.HealthStub(channel)
        reply = health.Check(health_pb2.HealthCheckRequest(), metadata=[("plumbline-cookie", cookie)])
        assert reply.status == health_pb2.HealthCheckResponse.SERVING
    process.send_signal(signal.SIGTERM)
    assert process.wait(20) == 0


def test_a_sidecar_ends_with_its_host(run: Run, tmp_path: Path) -> None:
    process, _, _ = spawn(run, tmp_path)
    assert process.stdin is not None
    process.stdin.close()
    process.stdin = None
    assert process.wait(20) == 0


def test_the_line_of_the_protocol() -> None:
    # The example of docs/verifiers-exec.md.
    assert _ready_line("ab" * 32, "/tmp/p/s") == (
        "plumbline-sidecar|1|e90500d3dacd00220a938229645b74e6578dddd41a9526799d282574a8b98bcc"
    )
