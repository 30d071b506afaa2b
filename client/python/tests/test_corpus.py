"""The cases of testdata/corpus: these clients and the server's own JSON, which Go reads
and writes, give equal answers, numbers within 1e-9."""

from __future__ import annotations

import json
import math
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import yaml
from conftest import ROOT, Server
from google.protobuf import json_format

import plumbline
from plumbline.v1 import rpcs

TOLERANCE = 1e-9
VOLATILE = {"timing", "cache_hits"}
KINDS = {
    "retrieval": rpcs.SCORE_RETRIEVAL,
    "grounding": rpcs.SCORE_GROUNDING,
    "confidence": rpcs.SCORE_CONFIDENCE,
    "observe": rpcs.OBSERVE,
    "gate": rpcs.DECIDE,
}


def cases() -> Iterator[Any]:
    for kind in KINDS:
        for case in yaml.safe_load((ROOT / f"testdata/corpus/{kind}.yaml").read_text()):
            yield pytest.param(kind, case, id=f"{kind}-{case['id']}")


def tree(message: Any) -> Any:
    """A message as plain values."""
    return json_format.MessageToDict(
        message, preserving_proto_field_name=True, always_print_fields_with_no_presence=True
    )


def differences(one: Any, other: Any, path: str = "$") -> Iterator[str]:
    if isinstance(one, dict) and isinstance(other, dict):
        for key in (one.keys() | other.keys()) - VOLATILE:
            yield from differences(one.get(key), other.get(key), f"{path}.{key}")
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for i, (a, b) in enumerate(zip(one, other, strict=True)):
            yield from differences(a, b, f"{path}[{i}]")
    elif isinstance(one, float) and isinstance(other, (int, float)):
        if not math.isclose(one, other, rel_tol=0, abs_tol=TOLERANCE):
            yield f"{path}: {one} and {other}"
    elif one != other:
        yield f"{path}: {one!r} and {other!r}"


def over_json(url: str, path: str, request: Any, response: type[Any]) -> tuple[Any, Any]:
    """The response, or the error, of one call over JSON."""
    call = urllib.request.Request(
        url + path, json.dumps(request).encode(), {"Content-Type": "application/json"}
    )
    try:
        with urllib.request.urlopen(call, timeout=60) as reply:
            return json_format.Parse(reply.read(), response()), None
    except urllib.error.HTTPError as error:
        with error:
            return None, json.loads(error.read())


@pytest.mark.parametrize(("kind", "case"), list(cases()))
def test_equal_answers(connect: Callable[..., Any], server: Server, kind: str, case: Any) -> None:
    rpc = KINDS[kind]
    want, refused = over_json(server.url, rpc.path, case["request"], rpc.response)
    client = connect(server.grpc)
    method = getattr(client, next(name for name, found in vars(rpcs).items() if found is rpc).lower())
    request = json_format.ParseDict(case["request"], rpc.request())
    if refused is None:
        assert list(differences(tree(method(request)), tree(want))) == []
        return
    with pytest.raises(plumbline.CallError) as caught:
        method(request)
    assert caught.value.code.name == case["error"]["code"]
    assert caught.value.message == refused["message"]
    assert case["error"].get("reason") in (None, caught.value.reason)
    assert case["error"].get("field", "") in ("", *(v.field for v in caught.value.violations))


def plain(value: Any) -> Any:
    """A request with the numbers that JSON cannot write as numbers."""
    if isinstance(value, dict):
        return {key: plain(entry) for key, entry in value.items()}
    if isinstance(value, list):
        return [plain(entry) for entry in value]
    return float(value) if value in ("NaN", "Infinity", "-Infinity") else value


@pytest.mark.parametrize(("kind", "case"), list(cases()))
def test_dictionaries_are_as_good_as_json(kind: str, case: Any) -> None:
    rpc = KINDS[kind]
    parsed = json_format.ParseDict(case["request"], rpc.request())
    given = rpc.request(**plain(case["request"]))
    assert given.SerializeToString(deterministic=True) == parsed.SerializeToString(deterministic=True)


def test_differences_are_found() -> None:
    assert list(differences({"a": [1.0, "x"], "timing": 1}, {"a": [1.0 + 1e-10, "x"]})) == []
    assert list(differences({"a": [1.0]}, {"a": [1.0 + 1e-8]})) == ["$.a[0]: 1.0 and 1.00000001"]
    assert list(differences({"a": 1.0}, {})) == ["$.a: 1.0 and None"]
    assert list(differences({"a": [1]}, {"a": [1, 2]})) == ["$.a: [1] and [1, 2]"]
