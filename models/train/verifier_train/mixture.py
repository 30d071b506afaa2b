"""The stream of training examples: which row comes when is a function of the
recipe and of the example's number, so that a run can go on where it stopped."""

from __future__ import annotations

import functools
import json
import math
import os
import zlib
from collections import Counter, defaultdict
from pathlib import Path
from random import Random
from typing import Callable

from . import synthetic
from .overlap import MIN_CLAIM_WORDS, Overlap, normalise
from .recipe import Recipe
from .sets import NOT_ENTAILED, NOT_STATED, SETS, Row, load, question_of, telling
from .synthetic import CONTRADICTION, ENTAILMENT, NEUTRAL, Maker, Paragraph, Question
from .text import sentences

CHUNK = 4096
"""Examples made, and sorted by length, at a time."""
SHORT_WORDS = 60
"""Documents up to this length are padded."""
HELD_OUT = 40
"""One document in so many is held out, with all its rows."""


class Mixture:
    """The examples of a recipe."""

    def __init__(self, recipe: Recipe, data: Path, overlap: Overlap, cache: Path):
        self._recipe = recipe
        self.dropped: Counter[str] = Counter()
        """Rows left out of each set because a development set has them."""
        self.held_out: list[Row] = []
        """Rows that are not trained on: for validation and the temperature."""
        self._rows = {name: self._clean(name, data, overlap) for name in _used(recipe)}
        self._leave_out_twins()
        self._overlap = overlap
        made_from, asked = _corpus(recipe, data / "retrieval", overlap, cache)
        held = {normalise(question_of(row.claim)[0]) for row in self.held_out}
        self._maker = Maker(made_from, [question for question in asked if normalise(question.text) not in held])
        self._joinable = {name: _by_document(rows) for name, rows in self._rows.items()}
        self._joinable_supported = {
            name: _by_document([row for row in rows if row.label == ENTAILMENT])
            for name, rows in self._rows.items()
        }
        self._sources = self._shares()

    def _clean(self, name: str, data: Path, overlap: Overlap) -> list[Row]:
        rows = load(data, name)
        kept = [row for row in rows if not overlap.has(row)]
        self.dropped[name] = len(rows) - len(kept)
        self.held_out += [row for row in kept if _held_out(row)]
        return [row for row in kept if not _held_out(row)]

    def _leave_out_twins(self) -> None:
        """Drops rows whose claim is held out beside another document."""
        held = {normalise(row.claim) for row in self.held_out if len(row.claim.split()) >= MIN_CLAIM_WORDS}
        self._rows = {name: [row for row in rows if normalise(row.claim) not in held] for name, rows in self._rows.items()}

    def _shares(self) -> list[tuple[str, float]]:
        recipe = self._recipe
        made = {"synthetic": recipe.synthetic, "questions": recipe.questions, "joined": recipe.joined}
        weights = {
            name: recipe.shares.get(name, SETS[name].share) if recipe.balanced else len(rows)
            for name, rows in self._rows.items()
        }
        rest = (1 - sum(made.values())) / sum(weights.values())
        return [(n, s) for n, s in made.items() if s > 0] + [(n, w * rest) for n, w in weights.items()]

    def describe(self) -> dict:
        """Rows, share and licence of each source, for the log and the card."""
        return {
            name: {
                "share": round(share, 4),
                "rows": len(self._rows.get(name, ())),
                "licence": SETS[name].licence if name in SETS else self._made_from(name),
                "dropped": self.dropped[name],
            }
            for name, share in self._sources
        }

    def _made_from(self, name: str) -> str:
        """What rows of no set are made from, with the licences."""
        if name == "joined":
            return "claims of the labelled sets about one document"
        used = {corpus: licence for corpus, licence in self.corpora().items() if name == "synthetic" or corpus in synthetic.ASKED}
        return "made from " + ", ".join(f"{corpus} ({licence})" for corpus, licence in used.items())

    def corpora(self) -> dict[str, str]:
        """The corpora in use, with their licences."""
        return {name: synthetic.CORPORA[name] for name in _corpora(self._recipe)}

    def chunk(self, number: int) -> list[Row]:
        """The examples of a chunk, in no particular order."""
        rng = Random(f"{self._recipe.seed}/{number}")
        rows = []
        for name, share in self._sources:
            first, last = math.floor(share * CHUNK * number), math.floor(share * CHUNK * (number + 1))
            rows += [self._example(name, at, rng) for at in range(first, last)]
        rng.shuffle(rows)
        return rows

    def _example(self, name: str, at: int, rng: Random) -> Row:
        if name in ("synthetic", "questions"):
            make = self._maker.row if name == "synthetic" else self._maker.question_row
            return next(row for row in iter(lambda: make(rng), None) if not self._overlap.has(row))
        if name == "joined":
            return self._pad(self._join(rng), False, rng)
        rows = self._rows[name]
        turn, place = divmod(at, len(rows))
        row = rows[_order(len(rows), f"{self._recipe.seed}/{name}/{turn}")[place]]
        crowd = SETS[name].crowd
        if rng.random() < self._recipe.orphan and not crowd:
            return Row(" ".join(self._maker.distractors(rng.randint(1, 6), rng)), row.claim, NEUTRAL)
        return self._pad(row, crowd, rng)

    def _pad(self, row: Row, crowd: bool, rng: Random) -> Row:
        """A short document among unrelated sentences; the label stays."""
        if len(row.doc.split()) > SHORT_WORDS or rng.random() >= self._recipe.pad:
            return row
        before, after = rng.randint(0, 4), rng.randint(0, 4)
        if crowd:  # a scene fits among scenes only at the risk of deciding the claim
            before, after = min(before, 2), min(after, 2)
        parts = [*self._maker.distractors(before, rng), row.doc, *self._maker.distractors(after, rng)]
        return Row(" ".join(parts), row.claim, row.label)

    def _join(self, rng: Random) -> Row:
        """Two or three claims about one document as one claim. Half of the rows are
        of supported claims only: drawn at random nearly all would be unsupported,
        which would teach that long claims are."""
        joinable = self._joinable_supported if rng.random() < 0.5 else self._joinable
        groups = joinable[rng.choice([n for n, g in joinable.items() if g])]
        group = rng.choice(groups)
        parts = rng.sample(group, min(len(group), rng.randint(2, 3)))
        labels = {row.label for row in parts}
        label = next((c for c in (CONTRADICTION, NOT_ENTAILED, NEUTRAL) if c in labels), ENTAILMENT)
        return Row(parts[0].doc, " ".join(_ended(row.claim) for row in parts), label)


def _held_out(row: Row) -> bool:
    return zlib.crc32(normalise(row.doc).encode()) % HELD_OUT == 0


def _used(recipe: Recipe) -> list[str]:
    names = recipe.sets or tuple(SETS)
    return [n for n in names if not (recipe.stated_licences_only and SETS[n].licence == NOT_STATED)]


def _corpora(recipe: Recipe) -> list[str]:
    return [
        name
        for name in recipe.corpora
        if not (recipe.stated_licences_only and synthetic.CORPORA[name] == NOT_STATED)
    ]


def _corpus(
    recipe: Recipe, folder: Path, overlap: Overlap, cache: Path
) -> tuple[list[Paragraph], list[Question]]:
    """The corpora's paragraphs, cut once, and questions."""
    used = _corpora(recipe)
    cache.mkdir(parents=True, exist_ok=True)
    file = cache / f"paragraphs-{'-'.join(used)}-{overlap.digest()}.json"
    if not file.exists():
        cut = [(p.title, p.sentences) for p in synthetic.paragraphs(folder, used, overlap)]
        partial = file.with_suffix(f".{os.getpid()}")
        partial.write_text(json.dumps(cut), encoding="utf-8")
        partial.replace(file)  # another process may be doing the same
    found = [Paragraph(t, tuple(s)) for t, s in json.loads(file.read_text(encoding="utf-8"))]
    return found, synthetic.questions(folder, used, overlap)


def _by_document(rows: list[Row]) -> list[list[Row]]:
    """Groups of at least two different claims about one document, in sentences
    of ordinary length, of three-class rows or of one label."""
    groups: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        if 4 <= len(row.claim.split()) <= 30:
            groups[normalise(row.doc)].append(row)
    return [group for group in groups.values() if len({row.claim for row in group}) >= 2]


def _ended(claim: str) -> str:
    claim = claim.strip()
    return claim if claim.endswith((".", "!", "?")) else claim + "."


@functools.lru_cache(maxsize=64)
def _order(size: int, key: str) -> list[int]:
    """A set's shuffled order of one turn."""
    order = list(range(size))
    Random(key).shuffle(order)
    return order


def cut_to_fit(row: Row, count: Callable[[str], int], limit: int, whole: bool = True) -> Row | None:
    """A row whose document is too long, with the sentences that share most with
    the claim, in their order, as many as fit. None if nothing fits or, for whole,
    words that document and claim share do not all fit: what supports the claim may
    be gone with them. Only the longer words count: the others stand everywhere."""
    room = limit - 3 - count(row.claim)
    if count(row.doc) <= room:
        return row
    cut = sentences(row.doc)
    words = [set(normalise(s).split()) for s in cut]
    frequency = Counter(w for s in words for w in s)
    claim = set(normalise(row.claim).split()) & frequency.keys()
    lacking = claim & telling(row.claim)

    def shared(i: int, of: set[str]) -> float:
        # Exact, so that it does not depend on the order of a set, which differs
        # from process to process.
        return math.fsum(1 / frequency[w] for w in words[i] & of)

    best: list[int] = []  # each has most of what those before it lack
    while lacking:
        i = max(range(len(cut)), key=lambda i: shared(i, lacking))
        best.append(i)
        lacking -= words[i]
    near = [j for i in best for j in (i - 1, i + 1) if 0 <= j < len(cut)]  # what a reader would keep
    rest = sorted(range(len(cut)), key=lambda i: shared(i, claim), reverse=True)
    kept: set[int] = set()
    for i in (*best, *near, *rest):
        if i not in kept and count(cut[i]) <= room:
            kept.add(i)
            room -= count(cut[i])
    if not kept or whole and not kept.issuperset(best):
        return None
    return Row(" ".join(cut[i] for i in sorted(kept)), row.claim, row.label)
