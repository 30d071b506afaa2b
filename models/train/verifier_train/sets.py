"""The labelled sets: which are used, their licences, and how they are read."""

from __future__ import annotations

import gzip
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Iterator

CLASSES = ("entailment", "neutral", "contradiction")
"""The model's classes, in the order of its logits."""

NOT_ENTAILED = -1
"""The class of a row that is known only not to be entailed."""


@dataclass(frozen=True)
class Row:
    """One labelled pair. label is an index into CLASSES, or NOT_ENTAILED."""

    doc: str
    claim: str
    label: int


@dataclass(frozen=True)
class Set:
    """A labelled set of the mixture."""

    title: str
    """Name and repository."""
    files: tuple[str, ...]
    """Names below the data folder, without .jsonl.gz."""
    share: float
    """Its weight in the mixture; the shares are normalised to 1."""
    licence: str
    """As its source states it; NOT_STATED where it does not."""
    crowd: bool = False
    """Whether its premises are scenes about nobody in particular, so that one
    premise may well decide another's claim: such premises are no distractors."""


NOT_STATED = "not stated"

SETS = {
    "lingnli": Set(
        "LingNLI, train and dev (Alicia-Parrish/ling_in_loop)",
        ("train/lingnli.train", "train/lingnli.dev"),
        9,
        NOT_STATED,
    ),
    "te_new_protocols": Set(
        "Textual Entailment New Protocols, train and dev (google-research-datasets/Textual-Entailment-New-Protocols)",
        ("train/te_new_protocols.train", "train/te_new_protocols.dev"),
        8,
        NOT_STATED,  # of the pairs; their text is Wikipedia's
    ),
    "mnli_taxinli": Set(
        "TaxiNLI's rows of MNLI (microsoft/TaxiNLI)",
        ("train/mnli_taxinli.train", "train/mnli_taxinli.dev"),
        8,
        "C-UDA 1.0",
    ),
    "snli": Set(
        "SNLI, dev and test (OanaMariaCamburu/e-SNLI)",
        ("train/snli.dev", "train/snli.test"),
        4,
        "CC BY-SA 4.0",
        crowd=True,
    ),
    "conjnli": Set("ConjNLI, adversarial train (swarnaHub/ConjNLI)", ("train/conjnli_adv.train",), 3, "MIT"),
    "cad_nli": Set(
        "Counterfactually augmented NLI, train and dev (acmi-lab/counterfactually-augmented-data)",
        ("train/cad_nli.train", "train/cad_nli.dev"),
        4,
        "Apache-2.0",
        crowd=True,
    ),
    "fever": Set(
        "FEVER dev as premise and claim (asaakyan/covidfact)", ("train/fever_dev.dev",), 12, NOT_STATED
    ),
    "feverous": Set(
        "FEVEROUS dev claims (teacherpeterpan/ProgramFC)", ("train/feverous.dev",), 8, "CC BY-SA 3.0"
    ),
    "fool_me_twice": Set(
        "Fool Me Twice dev, gold evidence (google-research/fool-me-twice)",
        ("train/fool_me_twice.dev",),
        4,
        "Apache-2.0",
    ),
    "fool_me_twice_retrieved": Set(
        "Fool Me Twice dev, retrieved and gold evidence (google-research/fool-me-twice)",
        ("train/fool_me_twice_retr.dev",),
        4,
        "Apache-2.0",
    ),
    "rte": Set("RTE train (amrnag/Specialized-Transformers)", ("train/rte.train",), 3, NOT_STATED),
    "covidfact": Set("COVID-Fact RTE train (asaakyan/covidfact)", ("train/covidfact.train",), 4, NOT_STATED),
    "healthver": Set("HealthVer dev (sarrouti/HealthVer)", ("train/healthver.dev",), 2, NOT_STATED),
    "scifact": Set("SciFact RTE train (asaakyan/covidfact)", ("train/scifact_rte.train",), 1.5, NOT_STATED),
    "qa_ground": Set(
        "AdaRAGUE's questions, answers and paragraphs of 2WikiMultihopQA and HotpotQA, train (s-nlp/AdaRAGUE)",
        ("train/qa_ground_hotpotqa.train", "train/qa_ground_2wiki.train"),
        5,
        "MIT",
    ),
    "summedits": Set(
        "SummEdits, evaluation split (salesforce/factualNLG)", ("train/summedits.dev",), 5, "Apache-2.0"
    ),
    "control": Set(
        "ConTRoL, dev and test (csitfun/ConTRoL-dataset)",
        ("train/control.dev", "train/control.test"),
        3,
        NOT_STATED,
    ),
    "monotonicity": Set(
        "HELP's conjunctions and disjunctions, and MED (verypluming/HELP, verypluming/MED)",
        ("train/help_conj.train", "train/med.test"),
        2,
        "CC BY-SA 4.0",
        crowd=True,
    ),
    "scone": Set("ScoNe NLI train (selenashe/ScoNe)", ("train/scone.train",), 1.5, "CC0 1.0", crowd=True),
    "lila_stress": Set(
        "LILA stress test, train (IoanaMazilu/msc_qnli)", ("train/lila_stress.train",), 2.5, NOT_STATED
    ),
    "dnc_kg": Set(
        "DNC knowledge-graph relations, dev and test (decompositional-semantics-initiative/DNC)",
        ("train/dnc_kg_relations.dev", "train/dnc_kg_relations.test"),
        2,
        NOT_STATED,
    ),
    "dnc_veridicality": Set(
        "DNC MegaVeridicality, train and dev (decompositional-semantics-initiative/DNC)",
        ("train/dnc_megaveridicality.train", "train/dnc_megaveridicality.dev"),
        1.5,
        NOT_STATED,
    ),
    "tracie": Set(
        "TRACIE uniform train (allenai/aristo-leaderboard)", ("train/tracie.train",), 0.5, "Apache-2.0"
    ),
}
"""The labelled sets. Left out: DNC's sentiment, verbnet and factuality parts,
whose claims ("The giving happened") have nothing of what people write."""


def read(path: Path) -> Iterator[Row]:
    """The rows of a gzip JSONL file."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            yield Row(row["doc"], row["claim"], _label(row))


def _label(row: dict) -> int:
    if row.get("label3") in CLASSES:
        return CLASSES.index(row["label3"])
    return 0 if row["label"] == 1 else NOT_ENTAILED


def load(data: Path, name: str) -> list[Row]:
    """All rows of a set of SETS."""
    rows = [row for file in SETS[name].files for row in read(data / f"{file}.jsonl.gz")]
    return without_variants(rows) if name == "qa_ground" else rows


def without_variants(rows: list[Row]) -> list[Row]:
    """Rows of questions and answers without the answers that their set counts as
    wrong, by comparing texts, and that may be right: those that share a word or
    number with the right answer ("James A. Garfield" for "James Abram Garfield"), and
    long ones."""
    right = {(row.doc, question_of(row.claim)[0]): question_of(row.claim)[1] for row in reversed(rows) if row.label == 0}

    def doubtful(row: Row) -> bool:
        question, answer = question_of(row.claim)
        shared = telling(right.get((row.doc, question), "")) & telling(answer)
        return row.label == NOT_ENTAILED and (len(answer.split()) > 12 or bool(shared))

    return [row for row in rows if not doubtful(row)]


def question_of(claim: str) -> tuple[str, str]:
    """The question and the answer of a claim that is made of both; of another,
    nothing and the claim."""
    question, _, answer = claim.rpartition("?")
    return question, answer.strip()


def telling(answer: str) -> set[str]:
    """The longer words and the numbers of an answer."""
    return {w for w in re.findall(r"\w+", answer.lower()) if len(w) > 3 or w.isdigit()}
