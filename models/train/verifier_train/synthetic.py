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
from .sets import NOT_ENTAILED, Row, telling
from .text import MONTHS, NO_NAME, names, numbers, sentences

ENTAILMENT, NEUTRAL, CONTRADICTION = 0, 1, 2

CORPORA = {
    "hotpotqa": "MIT (paragraphs of Wikipedia, CC BY-SA)",
    "squad2_halfdev": "CC BY-SA",
    "cranfield": "not stated",
    "cisi": "not stated",
}
"""The corpora and their licences."""

ASKED = {"hotpotqa": "questions", "squad2_halfdev": "queries"}
"""The corpora with questions, and the ends of the names of their files."""


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
    for name, file in ASKED.items():
        if name not in names_:
            continue
        corpus = {row["id"]: row for row in _lines(folder / f"{name}.corpus.jsonl.gz")}
        texts = {
            key: (f"{row['title']}: " if row.get("title") else "") + row["text"]
            for key, row in corpus.items()
            if not overlap.has_text(row["text"])
        }
        rows = [row for row in _lines(folder / f"{name}.{file}.jsonl.gz") if row.get("split") != "test"]
        by_doc: dict[str, list[str]] = {}
        for row in rows:
            for gold in row["gold_ids"]:
                by_doc.setdefault(gold, []).extend(_answers(row)[:1])
        for row in rows:
            if any(gold not in texts for gold in row["gold_ids"]):
                continue
            right = _answers(row)
            known = {_key(answer) for answer in right}
            wrong = row.get("plausible") or [
                a
                for gold in row["gold_ids"]
                for a in by_doc[gold]
                if right and _key(a) not in known and not any(telling(a) & telling(r) for r in right)
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


def answers_alone(question: Question, doc: str) -> bool:
    """Whether one of the documents may do without the others: it has the answer.
    Some such questions still need the other hop, but not most."""
    return f" {_key(question.right)} " in f" {_key(doc)} "


def _answers(row: dict) -> list[str]:
    return row.get("answers") or row.get("gold") or []


def _lines(path: Path):
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def _key(answer: str) -> str:
    return re.sub(r"\W+", " ", answer.lower()).strip()


# --- Claims that stay supported -------------------------------------------


_FINITE = r"(?:is|was|are|were|has|had|have|will|would|can|could|did|does|do|may|might|must|should|became|made|won|wrote)"
_SECOND_CLAUSE = re.compile(
    r"[,;]\s+(?:and|but|while)\s+(?:(?:he|she|it|they|we|there)\s+\w"
    rf"|(?:the|an?|his|her|its|their)\s+(?:(?!(?:that|which|who|he|she|it|they)\b)\w+\s+){{1,4}}?{_FINITE}\b)"
)
"""The beginning of a clause with a subject of its own."""
_SCOPED = re.compile(r"\b(?:only|every|each|first|last|most|least|worst|\w{2,}est)\b", re.IGNORECASE)
"""Words for what may hold at its time or place alone: "In Norway, he was the first"."""


def _second_clause(sentence: str) -> int | None:
    """Where a second main clause begins, behind a first one that can stand alone:
    behind a list of names there is none."""
    found = _SECOND_CLAUSE.search(sentence)
    if found is None or found.start() <= 30:
        return None
    first = sentence[: found.start()]
    if re.match(r"(?:If|Unless|Whether|Until|Had|Should|Were|Either|Neither|Both|Not only)\b", first) or re.search(r",\s", first):
        return None
    return found.start() if re.search(rf"\b(?:{_FINITE}|\w+ed)\b", first) else None


def compress(sentence: str, rng: Random) -> str:
    """The sentence with less in it: what is left is still entailed."""
    kept = re.sub(r"\s*\([^()]*\)", "", sentence)
    if rng.random() < 0.5:
        # The clause ends at a comma that is no number's, or with the sentence.
        kept = re.sub(r",\s+(?:which|who|where|whose)\b(?:[^,;]|,(?=\d))*?(?=[,;]\s|[.!?]?$)", "", kept)
    if rng.random() < 0.3 and not _NEGATION.search(kept) and not _SCOPED.search(kept):
        # Not "On June 5, 2007, he": what follows must be the sentence itself.
        kept = re.sub(r"^(?!In (?:theory|fiction|contrast|principle|part)\b)(?:In|On|At|After|During|Since)\b[^,]{3,40},\s+(?=[A-Za-z])(?![^,]{1,25},)", "", kept)
    if rng.random() < 0.3 and (end := _second_clause(kept)) is not None:
        kept = kept[:end] + "."
    return _capital(kept.strip())


_THINGS = frozenset(
    "film movie documentary album song single band group duo trio orchestra company firm brand label city town village river mountain "
    "hill lake island valley forest park region country county state district province series show programme program novel book story "
    "poem play musical opera game team club league ship boat aircraft vehicle car locomotive train school university college museum "
    "library station airport airline railway building house hotel church castle palace tower bridge road street dam stadium arena "
    "hospital party organization organisation association magazine newspaper journal genus species plant animal breed award prize "
    "festival tournament battle war election event painting sculpture product software language religion disease drug protein planet "
    "star asteroid crater mineral agency service network channel community municipality theatre restaurant market system".split()
)
"""What a sentence may say that its subject is, and nobody is."""

_EMPTY_IT = re.compile(
    r"It (?:(?:has |had |will |would )?(?:took|taken?|takes|rain|snow|hail|seem|appear|happen|turn|follow)\w*\b"
    r"|(?:is|was)\b.*\b(?:that|whether|who|when|until)\b|(?:is|was) (?:\w+ly |not |too |more )?(?!\w+ed\b)\w+ (?:for [^,.]{1,40} )?to\b"
    r"|(?:is|was|became|got) (?:\w+ly |very |too )?(?:raining|snowing|cold|hot|warm|dark|late|early|windy|sunny|cloudy|foggy|dawn|night|noon|"
    r"midnight|spring|summer|autumn|winter)\b)"
)
"""A sentence whose It stands for nothing before it."""

_ANOTHER = re.compile(
    r"\b(?:about|by|of|with|for|from|to|and|between|against|whose|married|met)\s+(?:an?|the|his|her|their|its|one|two|three|some|many)\b"
)
"""Somebody else than the subject, perhaps, of whom the next sentence may speak."""


def _is_person(title: str, before: str) -> bool | None:
    """Whether a title is a person's name, by its look and by what the sentence says it
    is; None where that is not told."""
    said = re.search(r"\b(?:is|was|are|were)\s+(?:an?|the)\s+([\w\s-]*?)(?=\s+(?:of|in|by|from|for|who|that|which|and|on|at|with|about|to)\b|[,.;]|$)", before)
    what = said[1].split()[-1:] if said else []
    if not re.fullmatch(r"(?!The |An? )[A-Z][\w.’'-]*(?: [A-Z][\w.’'-]*){1,2}", title) or _THINGS.intersection(what):
        return False
    return True if what else None


def name_subject(sentence: str, before: str, title: str) -> str:
    """The sentence with its opening pronoun replaced by the paragraph's title, if
    the sentence before begins with that and names nobody else, and the pronoun is
    one for what the title is."""
    title = re.sub(r"\s*\([^()]*\)", "", title)
    opening = re.match(rf"(?:The |A |\")?{re.escape(title)}\b", before) if title else None
    pronoun = re.match(r"(He|She|It|They)\b(?!['’])", sentence)
    if opening is None or pronoun is None or names("x" + before[opening.end() :]) or _EMPTY_IT.match(sentence):
        return sentence
    of_person = pronoun[1] in ("He", "She")
    if _is_person(title, before) is not of_person or of_person and _ANOTHER.search(before[opening.end() :]):
        return sentence
    return title + sentence[pronoun.end() :]


def roughen(claim: str, rng: Random) -> str:
    """The claim in the spelling of generated summaries: lower case, or quotes
    and contractions split off."""
    if rng.random() < 0.5:
        return claim.lower()
    return re.sub(r"(\w)'(\w)", r"\1 '\2", claim.replace('"', "``"))


@dataclass(frozen=True)
class Name:
    """A name in a sentence, and the word before it in lower case."""

    text: str
    start: int
    end: int
    before: str


def names_in(sentence: str, text: str) -> list[Name]:
    """The names of a sentence. Its first word is one if the text has it elsewhere
    as a name."""
    spans = names(sentence)
    first = re.match(r"[A-Z][\w’'-]*", sentence)
    if first and (not spans or spans[0][0] > 0) and first.group() not in NO_NAME and re.search(rf"[a-z,] {re.escape(first.group())}\b", text):
        spans = [first.span(), *[s for s in spans if s[0] >= first.end()]]
    found = []
    for start, end in spans:
        before = re.search(r"(\w+)\W*$", sentence[:start])
        found.append(Name(sentence[start:end], start, end, before[1].lower() if before else ""))
    return found


# --- Corruptions -----------------------------------------------------------


def swap_name(sentence: str, others: list[Name], text: str, rng: Random) -> str | None:
    """One name replaced by another one, if there is one by one that stands behind
    the same word: "in Warsaw" by "in Paris". text is the whole paragraph: names
    that stand side by side in it ("Warsaw, Poland") may both be true."""
    found = names_in(sentence, text)
    if not found:
        return None
    old = rng.choice(found)
    fitting = [
        o.text
        for o in others
        if o.text not in sentence
        and not set(o.text.split()) & set(old.text.split())
        and not re.search(rf"{re.escape(old.text)},? (?:in )?{re.escape(o.text)}|{re.escape(o.text)},? (?:in )?{re.escape(old.text)}", text)
    ]
    alike = [o.text for o in others if o.text in fitting and o.before == old.before]
    if not fitting:
        return None
    return sentence[: old.start] + rng.choice(alike or fitting) + sentence[old.end :]


def swap_part(sentence: str, others: list[Name], text: str, rng: Random) -> str | None:
    """The first or last word of a name of two or three replaced by that of another
    name: "Ida Lind" by "Otto Lind"."""
    found = [n for n in names_in(sentence, text) if 2 <= len(n.text.split()) <= 3]
    parts = [o.text.split() for o in others if 2 <= len(o.text.split()) <= 3 and o.text not in sentence]
    if not found or not parts:
        return None
    old, part = rng.choice(found), rng.choice(parts)
    words, at = old.text.split(), rng.choice((0, -1))
    if set(part) & set(words) or not part[at][0].isupper():
        return None
    words[at] = part[at]
    new = " ".join(words)
    return None if new in text else sentence[: old.start] + new + sentence[old.end :]


_MUTUAL = re.compile(
    r"\b(?:married|met|meets|divorced|bordere?d?s?|faced|faces|fought|plays|played|joined|resembles?d?|adjoins|adjacent|next to|cousins?|siblings?|rivals?|partners?|twins?|equals?|opposite|between|with|near)\b"
    r"|^\s*(?:is|was|are|were)\s*$"
)
"""What stands between two names that may change places."""


def swap_roles(sentence: str, text: str, rng: Random) -> str | None:
    """Two names of the sentence exchanged across its verb."""
    verb = re.search(r"\b(?:is|was|were|are|has|had|will|\w+ed|\w+s)\s", sentence[3:])
    if verb is None:
        return None
    middle = verb.start() + 3
    found = names_in(sentence, text)
    left, right = [n for n in found if n.end <= middle], [n for n in found if n.start > middle]
    if not left or not right:
        return None
    one, two = rng.choice(left), rng.choice(right)
    a, b, c, d = one.start, one.end, two.start, two.end
    if _MUTUAL.search(sentence[b:c]) or re.search(r"\band\b|,", sentence[b:c]) or sentence[a:b] == sentence[c:d]:
        return None
    return sentence[:a] + sentence[c:d] + sentence[b:c] + sentence[a:b] + sentence[d:]


_BOUND = re.compile(
    r"\b(?:least|most|about|around|approximately|nearly|almost|over|under|than|to|some|roughly|circa|c\.|"
    r"before|by|after|since|until|till|within|below|above|from|between|between\s[^.;]{1,40}\sand)\s+"
    rf"(?:(?:early|mid|late|the|[\d,.]+|{'|'.join(MONTHS)})[\s-]+)*[\d,.]*\s?\W?$",
    re.IGNORECASE,
)
"""Before a number: another one may be true too."""


def _excludes_others(before: str) -> bool:
    """Whether a number or month behind these words of a sentence is the only one
    that is true."""
    return not _BOUND.search(before) and not _NEGATION.search(before)


def change_number(sentence: str, others: list[str], rng: Random) -> str | None:
    """One number replaced by a near one or by another one of the document."""
    spans = [
        (a, b)
        for a, b in numbers(sentence)
        if _excludes_others(sentence[:a]) and not re.match(r"\s+or (?:more|less|fewer)\b", sentence[b:])
    ]
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
    found = [m for m in re.finditer(rf"\b(?:{'|'.join(MONTHS)})\b", sentence) if _excludes_others(sentence[: m.start()])]
    if not found:
        return None
    old = rng.choice(found)
    return sentence[: old.start()] + rng.choice([m for m in MONTHS if m != old.group()]) + sentence[old.end() :]


_SUBORDINATE = "when|while|if|unless|because|although|though|since|until|whether|who|whom|whose|which|that|where"


def _subordinate(before: str) -> bool:
    """Whether what stands behind these words of a sentence is in a clause that
    depends on another."""
    return re.search(rf"\b(?:{_SUBORDINATE})\b[^,;]*$", before, re.IGNORECASE) is not None


def negate(sentence: str, rng: Random) -> str | None:
    """The sentence denied at its first auxiliary, or an existing denial taken out."""
    denied = re.compile(r"\b(is|was|are|were|did|does|has|had|will|would|can|could) not\b(?! only)")
    if (found := denied.search(sentence)) is not None:
        return None if _subordinate(sentence[: found.start()]) else denied.sub(r"\1", sentence, count=1)
    auxiliary = re.compile(r"\b(is|was|are|were|has been|have been|had|could|would|did)\b(?! (?:not|never|no|only|n't))")
    found = auxiliary.search(sentence)
    # "When he was not young, he lived in Rome" denies nothing.
    if found is None or _subordinate(sentence[: found.start()]):
        return None
    changed = sentence[: found.end()] + rng.choice([" not", " never", "n't"]) + sentence[found.end() :]
    return changed if "beenn't" not in changed else None


_OPPOSITES = [
    ("first", "last"), ("most", "least"), ("many", "few"), ("increased", "decreased"),
    ("more", "less"), ("before", "after"), ("largest", "smallest"), ("north", "south"), ("east", "west"),
    ("northern", "southern"), ("eastern", "western"), ("won", "lost"), ("older", "younger"), ("early", "late"),
    ("higher", "lower"), ("above", "below"), ("male", "female"), ("began", "ended"),
    ("father", "son"), ("mother", "daughter"), ("brother", "sister"),
    ("bought", "sold"), ("opened", "closed"), ("rise", "fall"),
    ("always", "never"), ("old", "new"), ("large", "small"), ("long", "short"), ("high", "low"),
    ("public", "private"), ("rich", "poor"), ("strong", "weak"),
    ("include", "exclude"), ("allowed", "forbidden"),
    ("success", "failure"), ("successful", "unsuccessful"), ("rejected", "accepted"),
    ("supported", "opposed"), ("highest", "lowest"), ("former", "future"), ("American", "British"),
    ("German", "Italian"), ("million", "billion"), ("days", "weeks"), ("months", "years"),
    ("two", "three"), ("four", "five"), ("six", "seven"), ("second", "third"), ("fourth", "fifth"),
]  # fmt: skip
_OPPOSITE = {a: b for pair in _OPPOSITES for a, b in (pair, pair[::-1])}


def oppose(sentence: str, text: str, rng: Random) -> str | None:
    """One word (a direction, a role, a number word) replaced by one that excludes
    it, and that the paragraph does not say as well."""
    said = set(re.findall(r"\w+", text))

    def excludes(match: re.Match[str]) -> bool:
        opposite, before = _OPPOSITE.get(match.group()), sentence[: match.start()]
        return opposite is not None and opposite not in said and not before.endswith("at ") and not _BOUND.search(before)

    found = [match for match in re.finditer(r"\b\w+\b", sentence) if excludes(match)]
    if not found or _NEGATION.search(sentence):  # what is not large may be not small either
        return None
    match = rng.choice(found)
    before, new = sentence[: match.start()], _OPPOSITE[match.group()]
    article = re.search(r"\b([Aa])n? $", before)
    if article:
        before = before[: article.start()] + article[1] + ("n " if new[0] in "aeiouAEIO" else " ")
    return before + new + sentence[match.end() :]


def fuse(sentence: str, other: str) -> str | None:
    """The subject of one sentence with the predicate of another, if both subjects
    are names that share no word: else they may be one."""
    verb = re.compile(r"\s(?:is|was|were|are|has|had|will|became|won|made|said)\s")
    head, tail = verb.search(sentence), verb.search(other)
    if head is None or tail is None:
        return None
    one, two = (_only_name(s[: m.start()]) for s, m in ((sentence, head), (other, tail)))
    if not one or not two or one & two:
        return None
    if set(re.findall(r"\w+", other[tail.start() :])) <= set(re.findall(r"\w+", sentence[head.start() :])):
        return None  # it says less, and the same
    return sentence[: head.start()] + other[tail.start() :]


def _only_name(subject: str) -> set[str]:
    """The words of a subject that is nothing but a name."""
    bare = re.sub(r"^The ", "", subject)
    found = names("x " + bare)
    return set(bare.split()) if found == [(2, 2 + len(bare))] else set()


_ADJUNCT = re.compile(
    r"\s((?:in|at|for|with|by|after|before|during|because of|under|near|from|against|despite|through)\s[^,;:()]{6,60})\.$"
)


_NEGATION = re.compile(r"\b(?:not|never|no|none|nobody|nothing|neither|nor|without)\b|n['’]t\b|\bcannot\b", re.IGNORECASE)


def add(sentence: str, other: str) -> str | None:
    """The sentence with the end of another one: something that nobody said."""
    found = _ADJUNCT.search(other)
    if found is None or not sentence.endswith(".") or len(sentence.split()) > 40 or found[1] in sentence:
        return None
    if _NEGATION.search(sentence):  # who did not travel did not travel in Oslo
        return None
    return f"{sentence[:-1]} {found[1]}."


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


_ALIAS = re.compile(r"\b(?:known|called|nicknamed|named|born|alias|aka|formerly|pen name|stage name|pseudonym|née?)\b", re.IGNORECASE)
"""In a paragraph: two of its names may be one's."""


class Maker:
    """Makes rows from paragraphs and questions."""

    def __init__(self, paragraphs_: list[Paragraph], questions_: list[Question]):
        self.paragraphs = [p for p in paragraphs_ if len(p.sentences) >= 2]
        self._all = paragraphs_
        self._answered = [q for q in questions_ if q.right]
        self._hops_kept = [(q, doc) for q in self._answered if len(q.docs) > 1 for doc in q.docs if not answers_alone(q, doc)]
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
        kind = rng.choices(("said", "gone", "changed"), weights=(40, 12, 48))[0]
        while True:
            paragraph = rng.choice(self.paragraphs)
            at = rng.randrange(len(paragraph.sentences))
            made = self._row(kind, paragraph, at, rng)
            if made is not None and 4 <= len(made.claim.split()) <= 90:
                return made

    def _row(self, kind: str, paragraph: Paragraph, at: int, rng: Random) -> Row | None:
        claim, before = paragraph.sentences[at], paragraph.sentences[at - 1] if at > 0 else ""
        if rng.random() < 0.6:
            claim = name_subject(claim, before, paragraph.title)
        if rng.random() < 0.7:
            claim = compress(claim, rng)
        said, label = list(paragraph.sentences), ENTAILMENT
        if kind == "gone":  # what supported it is no longer there
            said[at], label = "", NEUTRAL
        if kind == "changed":
            # The change stands in the claim, or in the document, or in both: a
            # claim must not be judged by its looks. A document that says more
            # still says the claim.
            where = rng.choices(("claim", "document", "both"), weights=(50, 25, 25))[0]
            made = self._corrupt(paragraph, at, claim, where != "document", rng)
            if made is None or made[0] == claim:
                return None
            if where != "document":
                claim = made[0]
            if where != "claim":
                said[at] = made[0]
            if where != "both":
                label = made[1]
        claim = self._among_others(claim, paragraph, at, rng)
        if rng.random() < 0.15:
            claim = roughen(claim, rng)
        return Row(self._document(paragraph.title, said, rng), claim, label)

    def _among_others(self, claim: str, paragraph: Paragraph, at: int, rng: Random) -> str:
        """The claim, often alone, else in a summary with other sentences of the
        paragraph; how long that is does not depend on the label."""
        more = rng.choices((0, 1, 2, 3), weights=(70, 15, 10, 5))[0]
        rest = [i for i in range(len(paragraph.sentences)) if i != at]
        picked = sorted([at, *rng.sample(rest, min(more, len(rest)))])
        return " ".join(claim if i == at else compress(paragraph.sentences[i], rng) for i in picked)

    def _corrupt(
        self, paragraph: Paragraph, at: int, claim: str, longer: bool, rng: Random
    ) -> tuple[str, int] | None:
        """The claim with one thing changed, in the first of the ways, in a random
        order, that it has something for; longer allows those that only add."""
        text, rest = " ".join(paragraph.sentences), [s for i, s in enumerate(paragraph.sentences) if i != at]
        elsewhere = self.distractors(4, rng)
        aliased = _ALIAS.search(text) is not None
        others = [n for s in (elsewhere if aliased or rng.random() < 0.3 else rest) for n in names_in(s, text)]
        figures = [s[a:b] for s in rest for a, b in numbers(s)]
        ways = [
            (2.0, lambda: swap_name(claim, others, text, rng), NOT_ENTAILED),
            (0.7, lambda: swap_part(claim, others, text, rng), NOT_ENTAILED),
            (1.2, lambda: swap_roles(claim, text, rng), NOT_ENTAILED),
            (1.2, lambda: change_number(claim, figures, rng), CONTRADICTION),
            (0.8, lambda: change_month(claim, rng), CONTRADICTION),
            (0.8, lambda: negate(claim, rng), CONTRADICTION),
            (1.5, lambda: oppose(claim, text, rng), CONTRADICTION),
            (1.0, lambda: None if aliased else fuse(claim, rng.choice(rest)), NOT_ENTAILED),
        ]
        if longer:
            ways += [
                (1.0, lambda: add(claim, rng.choice(rest if rng.random() < 0.3 else elsewhere)), NOT_ENTAILED),
                (0.5, lambda: f"{claim} {compress(rng.choice(elsewhere), rng)}", NOT_ENTAILED),
            ]
        # A weighted order (Efraimidis and Spirakis 2006).
        for _, make, label in sorted(ways, key=lambda way: rng.random() ** (1 / way[0]), reverse=True):
            if (corrupted := make()) is not None:
                return corrupted, label
        return None

    def _document(self, title: str, said: list[str], rng: Random) -> str:
        own = " ".join(s for s in said if s)
        if title and rng.random() < 0.5:
            own = f"{title}: {own}"
        before, after = rng.choice([(0, 0), (0, 2), (2, 0), (3, 3)])
        return " ".join([*self.distractors(before, rng), own, *self.distractors(after, rng)])

    def question_row(self, rng: Random) -> Row:
        """A row whose claim is a question with an answer, supported in half of them."""
        kind = rng.random()
        if kind < 0.5 or kind >= 0.65 and not self._mistaken:
            question = rng.choice(self._answered)
            return Row(self._read(question.docs, rng), f"{question.text} {question.right}", ENTAILMENT)
        if kind < 0.6 and self._hops_kept:  # a hop is missing
            question, kept = rng.choice(self._hops_kept)
            docs = [kept, " ".join(self.distractors(rng.randint(2, 5), rng))]
            return Row(self._read(docs, rng), f"{question.text} {question.right}", NOT_ENTAILED)
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
