"""TLS and mutual TLS with the real server."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import Server, absent

import plumbline


def openssl(folder: Path, *arguments: str) -> None:
    subprocess.run(["openssl", *arguments], cwd=folder, check=True, capture_output=True)


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An authority, and a certificate of it for each side."""
    if shutil.which("openssl") is None:
        absent("openssl is not installed")
    folder = tmp_path_factory.mktemp("keys")
    curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    openssl(
        folder, "req", "-x509", *curve, "-keyout", "ca.key", "-out", "ca.pem", "-subj", "/CN=ca", "-days", "2"
    )
    for side in ("server", "client"):
        openssl(
            folder, "req", *curve, "-keyout", f"{side}.key", "-out", f"{side}.csr", "-subj", f"/CN={side}"
        )
        (folder / "names").write_text("subjectAltName=IP:127.0.0.1,DNS:localhost\n")
        signing = ["-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2", "-extfile", "names"]
        openssl(folder, "x509", "-req", "-in", f"{side}.csr", "-out", f"{side}.pem", *signing)
    return folder


def test_tls(connect: Callable[..., Any], serve: Callable[..., Server], keys: Path) -> None:
    files = ("--grpc-tls-cert-file", f"{keys}/server.pem", "--grpc-tls-key-file", f"{keys}/server.key")
    target = serve(*files).grpc
    assert connect(target, tls=plumbline.TLS(ca_file=f"{keys}/ca.pem")).get_info().version
    for wrong in (False, True):  # plain text, and the system's authorities
        with pytest.raises(plumbline.Unavailable):
            connect(target, tls=wrong, retry=None).get_info(timeout=5)


def test_mutual_tls(connect: Callable[..., Any], serve: Callable[..., Server], keys: Path) -> None:
    target = serve(
        "--grpc-tls-cert-file",
        f"{keys}/server.pem",
        "--grpc-tls-key-file",
        f"{keys}/server.key",
        "--grpc-tls-client-ca-file",
        f"{keys}/ca.pem",
    ).grpc
    ours = plumbline.TLS(f"{keys}/ca.pem", f"{keys}/client.pem", f"{keys}/client.key")
    assert connect(target, tls=ours).get_info().version
    with pytest.raises(plumbline.Unavailable):
        connect(target, tls=plumbline.TLS(f"{keys}/ca.pem"), retry=None).get_info(timeout=5)


def test_files_that_are_not_there() -> None:
    with pytest.raises(FileNotFoundError):
        plumbline.Client("localhost:1", tls=plumbline.TLS(ca_file="no such file"))
    with pytest.raises(ValueError, match="both or none"):
        plumbline.TLS(cert_file="client.pem")
