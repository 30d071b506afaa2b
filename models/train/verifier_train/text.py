"""Sentences, names and numbers of English text, as far as the synthetic rows
need them."""

from __future__ import annotations

import re

from syntok import segmenter

MONTHS = "January February March April May June July August September October November December".split()

_WORD = r"[A-Z][\w’'-]*"
_NAME = re.compile(rf"\b{_WORD}(?:\s+(?:(?:of|de|la|von|van)\s+)?{_WORD})*")
_NUMBER = re.compile(r"(?<![\w.])\d+(?:,\d{3})*(?:\.\d+)?(?!\w)")
NO_NAME = set(
    "A An The In On At By For From It He She They We I His Her Their Its This That These Those And But Or If "
    "When While After Before During Since As There Here Some Many Most All Both Other Such To With Of".split()
)
"""Words that begin sentences, or names, and are none."""


def sentences(text: str) -> list[str]:
    """The sentences of a text, stripped."""
    return [
        "".join(token.spacing + token.value for token in sentence).strip()
        for paragraph in segmenter.process(text)
        for sentence in paragraph
    ]


def names(sentence: str) -> list[tuple[int, int]]:
    """Spans of capitalised names. A single capitalised word that begins the
    sentence is not counted: it may be any word."""
    spans = []
    for match in _NAME.finditer(sentence):
        start, end = match.span()
        words = match.group().split()
        while words and words[0] in NO_NAME:
            start += len(words[0])
            start += len(sentence[start:end]) - len(sentence[start:end].lstrip())
            words = words[1:]
        if not words or (start == 0 and len(words) == 1) or sentence[start:end] in MONTHS:
            continue
        spans.append((start, end))
    return spans


def numbers(sentence: str) -> list[tuple[int, int]]:
    """Spans of numbers in digits."""
    return [match.span() for match in _NUMBER.finditer(sentence)]
