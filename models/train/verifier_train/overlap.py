"""The guard against training on what is measured: whatever occurs in a
development set is dropped from training."""

from __future__ import annotations

import functools
import hashlib
import re
from pathlib import Path
from typing import Iterable

from .sets import Row, read

MIN_CLAIM_WORDS = 5
"""Shorter sentences ("A man is outside.") recur by chance in paragraphs."""

_SENTENCE_END = re.compile(r"(?<=[.!?])(?:\s+|(?=[A-Z]))")
"""Some documents have no blank between sentences."""


def normalise(text: str) -> str:
    """Lower case, words only: punctuation and spacing do not hide a repetition."""
    return " ".join(re.findall(r"\w+", text.lower()))


class Overlap:
    """What the development sets contain."""

    def __init__(self, rows: Iterable[Row]):
        self._claims: set[str] = set()
        self._docs: set[str] = set()
        self._sentences: set[str] = set()
        for row in rows:
            self._claims.add(normalise(row.claim))
            self._docs.add(normalise(row.doc))
            self._sentences.update(map(normalise, _SENTENCE_END.split(row.doc)))

    def has(self, row: Row) -> bool:
        """Whether the row's claim or document is in a development set."""
        return normalise(row.claim) in self._claims or normalise(row.doc) in self._docs

    def has_text(self, text: str) -> bool:
        """Whether a paragraph, as a whole or by one of its longer sentences, is
        part of a development document."""
        return any(
            len(sentence.split()) >= MIN_CLAIM_WORDS and normalise(sentence) in self._sentences
            for sentence in _SENTENCE_END.split(text)
        )

    def digest(self) -> str:
        """Changes when what is guarded, or how, does."""
        held = "\n".join(sorted(self._sentences | self._claims))
        return hashlib.sha256(held.encode()).hexdigest()[:12]


@functools.cache
def of_folder(folder: Path) -> Overlap:
    """The overlap check against every file of a folder of development sets."""
    return Overlap(row for path in sorted(folder.glob("*.jsonl.gz")) for row in read(path))
