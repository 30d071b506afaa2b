"""Reads the corpora: DIR/NAME.corpus.jsonl.gz (id, title, text) and
DIR/NAME.queries.jsonl.gz or NAME.questions.jsonl.gz (id, question, gold_ids)."""

import gzip
import json


def read(path):
    """Yields the objects of a gzip JSONL file."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def questions_of(folder, corpus):
    """The questions that have gold passages."""
    path = next(p for kind in ("queries", "questions") if (p := folder / f"{corpus}.{kind}.jsonl.gz").exists())
    return [q for q in read(path) if q["gold_ids"]]
