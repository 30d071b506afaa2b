"""What the pages and examples say works as it is printed."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import ROOT, Server, environment

import plumbline

PYTHON = ROOT / "client/python"


def blocks(page: Path, heading: str | None = None) -> list[str]:
    text = page.read_text()
    if heading is not None:
        text = text.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    return re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


README = blocks(PYTHON / "README.md")
OWN_VERIFIER = blocks(ROOT / "docs/write-your-own-verifier.md", "In Python")


def execute(code: str, server: Server) -> str:
    ran = subprocess.run(
        [sys.executable, "-W", "error", "-c", code.replace("localhost:50051", server.grpc)],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


@pytest.mark.parametrize("code", [code for code in README if "serve(" not in code])
def test_readme(server: Server, code: str) -> None:
    assert execute(code, server)


def test_loop(server: Server) -> None:
    printed = execute(
        (PYTHON / "examples/loop.py").read_text().replace("sys.argv[1]", repr(server.grpc)), server
    )
    assert "self-consistency: 0.6" in printed
    assert "VERDICT_SUPPORTED" in printed


def sidecars() -> list[object]:
    readme = next(code for code in README if "serve(" in code)
    overlap = (PYTHON / "examples/overlap.py").read_text()
    return [
        pytest.param(readme, id="README"),
        pytest.param(overlap, id="overlap.py"),
        pytest.param(OWN_VERIFIER[0], id="write-your-own-verifier"),
    ]


def spawned(file: Path) -> str:
    """The address of a sidecar that the server starts."""
    path = f"--env=PYTHONPATH={os.environ['PYTHONPATH']} " if "PYTHONPATH" in os.environ else ""
    return f"exec:{path}{sys.executable} {file}"


@pytest.mark.parametrize("code", sidecars())
def test_verifiers_keep_the_contract(binary: Path, tmp_path: Path, code: str) -> None:
    file = tmp_path / "my_verifier.py"
    file.write_text(code)
    check = subprocess.run(
        [binary, "verifier", "check", "--timeout", "5m", spawned(file)],
        capture_output=True,
        text=True,
        check=False,
        timeout=900,
        env=environment(),
    )
    assert check.returncode == 0, check.stdout + check.stderr


def test_a_verifier_is_short() -> None:
    assert len(OWN_VERIFIER) == 1
    assert len(OWN_VERIFIER[0].splitlines()) < 40


def test_a_server_asks_the_verifier_that_it_starts(
    connect: Callable[..., plumbline.Client], serve: Callable[..., Server], tmp_path: Path
) -> None:
    file = tmp_path / "my_verifier.py"
    file.write_text(OWN_VERIFIER[0])
    server = serve("--verifiers", f"mine={spawned(file)}", "--verifier-default", "mine")
    client = connect(server.grpc)
    reply = client.score_grounding(
        answer="The bridge opened in 1932.", evidence=[{"text": "The bridge opened to traffic in 1932."}]
    )
    assert (reply.model.verifier, reply.model.name, reply.model.digest) == ("mine", "words", "words-1")
    assert plumbline.value(reply.g_mean) == pytest.approx(0.8, abs=0.2)
    assert plumbline.probabilities(client.verify([("a b c", "b c d e")])[0]).entailment == 0.5
