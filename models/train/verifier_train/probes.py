"""Development sets told otherwise, for "plumbline eval": with premises that training
has not, and with short premises among much else."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from random import Random

from .overlap import normalise
from .sets import SETS, read

WORDS = 1500
"""Words of unrelated text around a padded premise, and a paragraph more at most."""
PADDED_ROWS = 200
"""Rows of a set that are padded: each is thirty times the work."""


def write(data: Path, out: Path, name: str, seed: int = 5) -> dict[str, int]:
    """Writes NAME.unseen, NAME.short and NAME.padded below out and says how many rows
    each has: the rows of data/dev/NAME whose premise no row of training has, and some of
    the rows as they are and among paragraphs of SQuAD."""
    with gzip.open(data / "dev" / f"{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    rng = Random(seed)
    short = rng.sample(rows, min(PADDED_ROWS, len(rows)))
    paragraphs = _paragraphs(data / "retrieval" / "squad2_halfdev.corpus.jsonl.gz")
    premises = _premises(data)
    made = {
        "unseen": [row for row in rows if normalise(row["doc"]) not in premises],
        "short": short,
        "padded": [row | {"doc": among(row["doc"], paragraphs, rng)} for row in short],
    }
    out.mkdir(parents=True, exist_ok=True)
    for kind, kept in made.items():
        with gzip.open(out / f"{name}.{kind}.jsonl.gz", "wt", encoding="utf-8") as lines:
            lines.writelines(json.dumps(row) + "\n" for row in kept)
    return {f"{name}.{kind}": len(kept) for kind, kept in made.items()}


def among(premise: str, paragraphs: list[str], rng: Random) -> str:
    """The premise anywhere among paragraphs of WORDS words."""
    parts: list[str] = []
    while sum(len(part.split()) for part in parts) < WORDS:
        parts.append(rng.choice(paragraphs))
    parts.insert(rng.randint(0, len(parts)), premise)
    return " ".join(parts)


def _premises(data: Path) -> set[str]:
    files = [data / f"{file}.jsonl.gz" for s in SETS.values() for file in s.files]
    return {normalise(row.doc) for file in files for row in read(file)}


def _paragraphs(corpus: Path) -> list[str]:
    with gzip.open(corpus, "rt", encoding="utf-8") as lines:
        return [json.loads(line)["text"] for line in lines]
