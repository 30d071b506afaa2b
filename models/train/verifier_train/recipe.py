"""What a run does, in one value that is written beside its result."""

from __future__ import annotations

import tomllib
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path


MINILM = "minilm"
"""The init that needs no other run."""


@dataclass(frozen=True)
class Recipe:
    """The settings of a run."""

    seed: int = 17
    examples: int = 200_000
    """Examples seen; a set that is shorter than its part is seen again."""
    init: str = MINILM
    """"minilm": all-MiniLM-L6-v2 with a new head; else the name of another
    recipe, whose run it goes on from."""

    soup: tuple[str, ...] = ()
    """Other recipes, of the same head and one's init the other, whose weights
    are averaged in place of training (Wortsman et al. 2022, Model soups)."""

    teachers: dict[str, float] = field(default_factory=dict)
    """Other recipes, of the same head, with weights: what a pair should score is then
    the weighted mean of their logits, whatever its label (Hinton et al. 2015,
    Distilling the knowledge in a neural network)."""

    # Optimisation.
    rate: float = 1.5e-4
    """Peak of AdamW's learning rate: after warmup until the decay begins."""
    warmup: float = 0.02
    decay: float = 0.3
    """Shares of the run with a rising, and with a falling rate."""
    head_rate: float = 5.0
    """The head's rate, as a multiple."""
    weight_decay: float = 0.01
    frozen_layers: int = 0
    """Encoder layers kept as they are, from below. Word embeddings always are."""
    tokens: int = 2048
    """Tokens of a process's part of a step, padding included."""
    average: float = 0.998
    """Decay of the moving average of the weights that is exported; 0: none."""
    pooling: str = "claim"
    """What the head reads: "cls", "mean", or "claim" ([CLS] with the mean and
    the maximum over the claim's tokens)."""
    max_tokens: int = 256
    """Longer pairs are cut to the sentences that share most with the claim."""
    whole: bool = True
    """Pairs are left out where words that document and claim share do not all
    stay; without, the label is taken to survive the cut."""
    marginal: bool = True
    """For rows known only not to be entailed: the loss −log(1 − P(entailment));
    without, they count as neutral."""

    # Export.
    window: int = 160
    """Tokens of a pair up to which the service cuts evidence into passages for it."""
    shift: float = 0.0
    """Added to the logit of entailment, so that 0.5 is the threshold that does
    best on the development sets."""

    # The mixture.
    stated_licences_only: bool = False
    sets: tuple[str, ...] = ()
    """Labelled sets in use; empty means all."""
    corpora: tuple[str, ...] = ("hotpotqa", "squad2_halfdev", "cranfield", "cisi")
    """Paragraphs for synthetic rows and for distractors."""
    synthetic: float = 0.22
    questions: float = 0.06
    joined: float = 0.05
    """Shares of rows made from paragraphs, from questions with answers, and by
    joining several claims about one document."""
    pad: float = 0.30
    """Share of the short labelled documents put among unrelated sentences."""
    orphan: float = 0.04
    """Share of the labelled claims shown with an unrelated document: neutral."""
    balanced: bool = True
    """Sets weigh as their table says; without, by their number of rows."""
    shares: dict[str, float] = field(default_factory=dict)
    """Weights of sets in place of those of their table."""

    def with_changes(self, changes: dict) -> "Recipe":
        """The recipe with some settings changed."""
        return replace(self, **{k: tuple(v) if isinstance(v, list) else v for k, v in changes.items()})

    def needs(self) -> tuple[str, ...]:
        """The recipes that must have been run before this one."""
        return self.soup or tuple(dict.fromkeys(name for name in (self.init, *self.teachers) if name != MINILM))

    def values(self) -> dict:
        """The settings as plain values."""
        return asdict(self)


def read(path: Path) -> dict[str, Recipe]:
    """The named recipes of a TOML file: each table changes the defaults, or
    those of the recipe that its "base" names."""
    tables = tomllib.loads(path.read_text(encoding="utf-8"))
    recipes: dict[str, Recipe] = {}
    for name, table in tables.items():
        base = recipes[table.pop("base")] if "base" in table else Recipe()
        recipes[name] = base.with_changes(table)
        if recipes[name].soup and recipes[name].teachers:
            raise ValueError(f"recipe {name}: a soup is not taught")
    return recipes


def lineage(recipes: dict[str, Recipe], name: str) -> dict[str, Recipe]:
    """A recipe and all that it builds on, each after what it needs."""
    found: dict[str, Recipe] = {}
    for needed in recipes[name].needs():
        found |= lineage(recipes, needed)
    return found | {name: recipes[name]}
