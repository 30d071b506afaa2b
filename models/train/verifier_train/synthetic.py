"""Rows made from real paragraphs: a sentence of a paragraph is a claim that the
paragraph supports; the same sentence with one thing changed, or without the
sentence that it came from, is a claim that the paragraph does not support."""

from __future__ import annotations

import gzip
import json
import re
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Sequence

from .overlap import Overlap
from .sets import NOT_ENTAILED, Row
from .text import MONTHS, names, numbers, sentences

ENTAILMENT, NEUTRAL, CONTRADICTION = 0, 1, 2

CORPORA = {
    "hotpotqa": "MIT (paragraphs of Wikipedia, CC BY-SA)",
    "squad2_halfdev": "CC BY-SA",
    "cranfield": "not stated",
    "cisi": "not stated",
}
"""The corpora and their licences."""


@dataclass(frozen=True)
class Paragraph:
    """A paragraph with its title, cut into sentences."""

    title: str
    sentences: tuple[str, ...]


@dataclass(frozen=True)
class Question:
    """A question with its gold paragraphs and answers that are right and wrong."""

    text: str
    docs: tuple[str, ...]
    right: str
    """Empty if the paragraphs do not answer the question."""
    wrong: tuple[str, ...]


def paragraphs(folder: Path, names_: list[str], overlap: Overlap) -> list[Paragraph]:
    """The corpora's paragraphs that are no part of a development document."""
    found = []
    for name in names_:
        for row in _lines(folder / f"{name}.corpus.jsonl.gz"):
            if not overlap.has_text(row["text"]):
                cut = tuple(s for s in sentences(row["text"]) if 4 <= len(s.split()) <= 80)
                if cut:
                    found.append(Paragraph(row.get("title", ""), cut))
    return found


def questions(folder: Path, names_: list[str], overlap: Overlap) -> list[Question]:
    """Questions about paragraphs that are no part of a development document.
    Wrong answers are those of other questions about the same paragraphs, and the
    plausible ones that the set gives."""
    found = []
    for name, file in (("hotpotqa", "questions"), ("squad2_halfdev", "queries")):
        if name not in names_:
            continue
        texts = {
            row["id"]: (f"{row['title']}: " if row.get("title") else "") + row["text"]
            for row in _lines(folder / f"{name}.corpus.jsonl.gz")
        }
        rows = list(_lines(folder / f"{name}.{file}.jsonl.gz"))
        by_doc: dict[str, list[str]] = {}
        for row in rows:
            for gold in row["gold_ids"]:
                by_doc.setdefault(gold, []).extend(_answers(row)[:1])
        for row in rows:
            if any(gold not in texts or overlap.has_text(texts[gold]) for gold in row["gold_ids"]):
                continue
            right = _answers(row)
            known = {_key(answer) for answer in right}
            wrong = row.get("plausible") or [
                a for gold in row["gold_ids"] for a in by_doc[gold] if right and _key(a) not in known
            ]
            if right or wrong:
                found.append(
                    Question(
                        row["question"],
                        tuple(texts[gold] for gold in row["gold_ids"]),
                        right[0] if right else "",
                        tuple(wrong),
                    )
                )
    return found


def _answers(row: dict) -> list[str]:
    return row.get("answers") or row.get("gold") or []


def _lines(path: Path):
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def _key(answer: str) -> str:
    return re.sub(r"\W+", " ", answer.lower()).strip()


# --- Claims that stay supported -------------------------------------------


def compress(sentence: str, rng: Random) -> str:
    """The sentence with less in it: what is left is still entailed."""
    kept = re.sub(r"\s*\([^()]*\)", "", sentence)
    if rng.random() < 0.5:
        kept = re.sub(r",\s+(?:which|who|where|whose)\b[^,.;]*(?=[,.;])", "", kept)
    if rng.random() < 0.3:
        kept = re.sub(r"^(?:In|On|At|After|During|Since)\b[^,]{3,40},\s+(?=\w)", "", kept)
    if rng.random() < 0.3 and (cut := re.search(r"[,;]\s+(?:and|but|while)\s", kept)) and cut.start() > 30:
        kept = kept[: cut.start()] + "."
    return _capital(kept.strip())


def name_subject(sentence: str, title: str) -> str:
    """The sentence with its opening pronoun replaced by the paragraph's title."""
    title = re.sub(r"\s*\([^()]*\)", "", title)
    if not title:
        return sentence
    return re.sub(r"^(?:He|She|It|They)\b(?!')", lambda _: title, sentence)


def roughen(claim: str, rng: Random) -> str:
    """The claim in the spelling of generated summaries: lower case, or quotes
    and contractions split off."""
    if rng.random() < 0.5:
        return claim.lower()
    return re.sub(r"(\w)'(\w)", r"\1 '\2", claim.replace('"', "``"))


# --- Corruptions -----------------------------------------------------------


def swap_name(sentence: str, others: list[str], rng: Random) -> str | None:
    """One name replaced by another one of the document."""
    spans = names(sentence)
    if not spans:
        return None
    start, end = rng.choice(spans)
    old = sentence[start:end]
    fitting = [
        o for o in others if o not in sentence and o not in old and not set(o.split()) & set(old.split())
    ]
    return sentence[:start] + rng.choice(fitting) + sentence[end:] if fitting else None


def swap_roles(sentence: str, rng: Random) -> str | None:
    """Two names of the sentence exchanged across its verb."""
    verb = re.search(r"\b(?:is|was|were|are|has|had|will|\w+ed|\w+s)\s", sentence[8:])
    if verb is None:
        return None
    middle = verb.start() + 8
    left = [s for s in names(sentence) if s[1] <= middle]
    right = [s for s in names(sentence) if s[0] > middle]
    if not left or not right:
        return None
    (a, b), (c, d) = rng.choice(left), rng.choice(right)
    if re.search(r"\band\b|,", sentence[b:c]) or sentence[a:b] == sentence[c:d]:
        return None
    return sentence[:a] + sentence[c:d] + sentence[b:c] + sentence[a:b] + sentence[d:]


def change_number(sentence: str, others: list[str], rng: Random) -> str | None:
    """One number replaced by a near one or by another one of the document."""
    spans = numbers(sentence)
    if not spans:
        return None
    start, end = rng.choice(spans)
    old = sentence[start:end]
    fitting = [o for o in others if o != old and len(o) == len(old)]
    if fitting and rng.random() < 0.5:
        return sentence[:start] + rng.choice(fitting) + sentence[end:]
    digits = [i for i, c in enumerate(old) if c.isdigit()]
    at = digits[-1] if len(digits) < 4 or rng.random() < 0.7 else digits[-2]
    new = rng.choice([d for d in "123456789" if d != old[at]])
    return sentence[:start] + old[:at] + new + old[at + 1 :] + sentence[end:]


def change_month(sentence: str, rng: Random) -> str | None:
    """One month replaced by another."""
    found = [m for m in MONTHS if re.search(rf"\b{m}\b", sentence)]
    if not found:
        return None
    old = rng.choice(found)
    return re.sub(rf"\b{old}\b", rng.choice([m for m in MONTHS if m != old]), sentence, count=1)


def negate(sentence: str, rng: Random) -> str | None:
    """The sentence denied at its first auxiliary, or an existing denial taken out."""
    if re.search(r"\b(?:is|was|are|were|did|does|has|had|will|would|can|could) not\b", sentence):
        return re.sub(r"\b(\w+) not\b", r"\1", sentence, count=1)
    word = rng.choice([" not", " never", "n't"])
    changed, n = re.subn(
        r"\b(is|was|are|were|has been|have been|had|could|would|did)\b(?! not)",
        rf"\1{word}",
        sentence,
        count=1,
    )
    return changed if n and "ben't" not in changed and "beenn't" not in changed else None


_OPPOSITES = [
    ("first", "last"), ("most", "least"), ("all", "some"), ("many", "few"), ("increased", "decreased"),
    ("more", "less"), ("before", "after"), ("largest", "smallest"), ("north", "south"), ("east", "west"),
    ("northern", "southern"), ("eastern", "western"), ("won", "lost"), ("older", "younger"), ("early", "late"),
    ("higher", "lower"), ("above", "below"), ("male", "female"), ("began", "ended"), ("born", "killed"),
    ("father", "son"), ("mother", "daughter"), ("brother", "sister"), ("actor", "director"), ("singer", "painter"),
    ("novel", "film"), ("album", "book"), ("bought", "sold"), ("opened", "closed"), ("rise", "fall"),
    ("always", "never"), ("success", "failure"), ("successful", "unsuccessful"), ("rejected", "accepted"),
    ("supported", "opposed"), ("only", "also"), ("highest", "lowest"), ("former", "future"), ("American", "British"),
    ("English", "French"), ("German", "Italian"), ("million", "billion"), ("days", "weeks"), ("months", "years"),
    ("two", "three"), ("four", "five"), ("six", "seven"), ("second", "third"), ("fourth", "fifth"),
]  # fmt: skip
_OPPOSITE = {a: b for pair in _OPPOSITES for a, b in (pair, pair[::-1])}


def oppose(sentence: str, rng: Random) -> str | None:
    """One word (a quantifier, a direction, a role, a number word) replaced by
    one that excludes it."""
    found = [m for m in re.finditer(r"\b\w+\b", sentence) if m.group() in _OPPOSITE]
    if not found:
        return None
    match = rng.choice(found)
    return sentence[: match.start()] + _OPPOSITE[match.group()] + sentence[match.end() :]


def fuse(sentence: str, other: str) -> str | None:
    """The subject of one sentence with the predicate of another."""
    verb = re.compile(r"\s(?:is|was|were|are|has|had|will|became|won|made|said)\s")
    head, tail = verb.search(sentence), verb.search(other)
    if head is None or tail is None or head.start() > 60 or not names(sentence[: head.start() + 1] + " x"):
        return None
    fused = sentence[: head.start()] + other[tail.start() :]
    return fused if fused not in (sentence, other) else None


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


class Maker:
    """Makes rows from paragraphs and questions."""

    def __init__(self, paragraphs_: list[Paragraph], questions_: list[Question]):
        self.paragraphs = [p for p in paragraphs_ if len(p.sentences) >= 2]
        self._all = paragraphs_
        self._answered = [q for q in questions_ if q.right]
        self._hops = [q for q in self._answered if len(q.docs) > 1]
        self._mistaken = [q for q in questions_ if q.wrong]

    def distractors(self, count: int, rng: Random) -> list[str]:
        """Sentences about something else, a few running ones at a time."""
        found: list[str] = []
        while len(found) < count:
            other = rng.choice(self._all).sentences
            start = rng.randrange(len(other))
            found.extend(other[start : start + rng.randint(1, 4)])
        return found[:count]

    def row(self, rng: Random) -> Row:
        """A row whose claim comes from a sentence of a paragraph."""
        while True:
            paragraph = rng.choice(self.paragraphs)
            at = rng.randrange(len(paragraph.sentences))
            made = self._claim(paragraph, at, rng)
            if made is None:
                continue
            claim, label, drop = made
            if not 4 <= len(claim.split()) <= 90:
                continue
            if rng.random() < 0.15:
                claim = roughen(claim, rng)
            return Row(self._document(paragraph, drop, rng), claim, label)

    def _claim(self, paragraph: Paragraph, at: int, rng: Random) -> tuple[str, int, int | None] | None:
        """(claim, label, the sentence to leave out of the document)."""
        sentence = paragraph.sentences[at]
        claim = name_subject(sentence, paragraph.title) if rng.random() < 0.6 else sentence
        if rng.random() < 0.7:
            claim = compress(claim, rng)
        kind = rng.random()
        if kind < 0.40:
            label, drop = ENTAILMENT, None
        elif kind < 0.52:  # what supported it is gone
            label, drop = NEUTRAL, at
        else:
            made = self._corrupt(paragraph, at, claim, rng)
            if made is None or made[0] == claim:
                return None
            (claim, label), drop = made, None
        return self._among_others(claim, paragraph, at, rng), label, drop

    def _among_others(self, claim: str, paragraph: Paragraph, at: int, rng: Random) -> str:
        """The claim, often alone, else in a summary with other sentences of the
        paragraph; how long that is does not depend on the label."""
        more = rng.choices((0, 1, 2, 3), weights=(70, 15, 10, 5))[0]
        rest = [i for i in range(len(paragraph.sentences)) if i != at]
        picked = sorted([at, *rng.sample(rest, min(more, len(rest)))])
        return " ".join(claim if i == at else compress(paragraph.sentences[i], rng) for i in picked)

    def _corrupt(self, paragraph: Paragraph, at: int, claim: str, rng: Random) -> tuple[str, int] | None:
        text = [s for i, s in enumerate(paragraph.sentences) if i != at]
        others = [s[a:b] for s in text for a, b in names(s)]
        if rng.random() < 0.3:
            others = [s[a:b] for s in self.distractors(4, rng) for a, b in names(s)]
        figures = [s[a:b] for s in text for a, b in numbers(s)]
        corrupted, label = rng.choice(
            [
                lambda: (swap_name(claim, others, rng), NOT_ENTAILED),
                lambda: (swap_name(claim, others, rng), NOT_ENTAILED),
                lambda: (swap_roles(claim, rng), NOT_ENTAILED),
                lambda: (change_number(claim, figures, rng), CONTRADICTION),
                lambda: (change_month(claim, rng), CONTRADICTION),
                lambda: (negate(claim, rng), CONTRADICTION),
                lambda: (oppose(claim, rng), CONTRADICTION),
                lambda: (fuse(claim, rng.choice(text)), NOT_ENTAILED),
            ]
        )()
        return None if corrupted is None else (corrupted, label)

    def _document(self, paragraph: Paragraph, drop: int | None, rng: Random) -> str:
        own = " ".join(s for i, s in enumerate(paragraph.sentences) if i != drop)
        if paragraph.title and rng.random() < 0.5:
            own = f"{paragraph.title}: {own}"
        before, after = rng.choice([(0, 0), (0, 2), (2, 0), (3, 3)])
        return " ".join([*self.distractors(before, rng), own, *self.distractors(after, rng)])

    def question_row(self, rng: Random) -> Row:
        """A row whose claim is a question with an answer, supported in half of them."""
        kind = rng.random()
        if kind < 0.5 or kind >= 0.65 and not self._mistaken:
            question = rng.choice(self._answered)
            return Row(self._read(question.docs, rng), f"{question.text} {question.right}", ENTAILMENT)
        if kind < 0.6 and self._hops:  # a hop is missing
            question = rng.choice(self._hops)
            return Row(self._read(rng.sample(question.docs, 1), rng), f"{question.text} {question.right}", NOT_ENTAILED)
        if kind < 0.65:
            question = rng.choice(self._answered)
            return Row(" ".join(self.distractors(5, rng)), f"{question.text} {question.right}", NEUTRAL)
        question = rng.choice(self._mistaken)
        return Row(self._read(question.docs, rng), f"{question.text} {rng.choice(question.wrong)}", NOT_ENTAILED)

    def _read(self, docs: Sequence[str], rng: Random) -> str:
        """The documents in some order, often among others."""
        parts = rng.sample(docs, len(docs))
        if rng.random() < 0.4:
            parts.insert(rng.randrange(len(parts) + 1), " ".join(self.distractors(rng.randint(2, 5), rng)))
        return "\n\n".join(parts)
