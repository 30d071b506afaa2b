"""The variants of a development set: their rows are its own, told otherwise."""

import gzip
import json
from pathlib import Path
from random import Random

from verifier_train import probes
from verifier_train.overlap import normalise


def _rows(file: Path) -> list[dict]:
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def test_what_a_probe_writes_is_the_set_without_seen_premises_and_with_padded_ones(data: Path, tmp_path: Path):
    counts = probes.write(data, tmp_path, "fever_symmetric.dev")
    written = {name: _rows(tmp_path / f"{name}.jsonl.gz") for name in counts}
    assert {name: len(rows) for name, rows in written.items()} == counts
    whole = _rows(data / "dev" / "fever_symmetric.dev.jsonl.gz")
    unseen = written["fever_symmetric.dev.unseen"]
    assert 0 < len(unseen) < len(whole) and all(row in whole for row in unseen)
    trained = {normalise(row["doc"]) for row in _rows(data / "train" / "fever_dev.dev.jsonl.gz")}
    assert {normalise(row["doc"]) for row in whole} & trained
    assert not {normalise(row["doc"]) for row in unseen} & trained
    pairs = list(zip(written["fever_symmetric.dev.short"], written["fever_symmetric.dev.padded"], strict=True))
    assert len(pairs) == probes.PADDED_ROWS
    for short, padded in pairs:
        assert short in whole and padded | {"doc": short["doc"]} == short
        assert short["doc"] in padded["doc"] and len(padded["doc"].split()) >= probes.WORDS


def test_a_premise_stands_anywhere_among_paragraphs():
    places = {probes.among("P.", ["a " * 500, "b " * 700], Random(seed)).split().index("P.") for seed in range(20)}
    assert 0 in places and len(places) > 3
