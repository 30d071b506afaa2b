"""What a verifier says of itself."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from plumbline import v1

PROTOCOL_VERSION = 1
"""The version of VerifierService that this package serves."""

_TWO_CLASSES = (
    v1.EntailmentClass.ENTAILMENT_CLASS_ENTAILMENT,
    v1.EntailmentClass.ENTAILMENT_CLASS_NOT_SUPPORTED,
)
_THREE_CLASSES = (
    v1.EntailmentClass.ENTAILMENT_CLASS_ENTAILMENT,
    v1.EntailmentClass.ENTAILMENT_CLASS_NEUTRAL,
    v1.EntailmentClass.ENTAILMENT_CLASS_CONTRADICTION,
)
_SCORE_KINDS = {
    "probability": v1.VerifierScoreKind.VERIFIER_SCORE_KIND_PROBABILITY,
    "token_probability": v1.VerifierScoreKind.VERIFIER_SCORE_KIND_TOKEN_PROBABILITY,
    "vote_share": v1.VerifierScoreKind.VERIFIER_SCORE_KIND_VOTE_SHARE,
}


@dataclass(frozen=True)
class Description:
    """What a verifier is. Servers plan by it: how long chunks may be, what may be
    cached, which policies were calibrated with this very model."""

    name: str
    """The model's name."""
    digest: str
    """The digest of its weights, such as "sha256:…" (see digest_of_files): two models with
    one digest are taken for the same."""
    three_class: bool = False
    """The function gives (entailment, neutral, contradiction); else P(support) alone."""
    max_tokens: int = 0
    """The longest pair in tokens, special tokens included; 0 means not stated."""
    pair_overhead: int = 0
    """The special tokens that a pair costs."""
    trained_tokens: int = 0
    """The longest pair in tokens that was seen in training, if that is less than
    max_tokens; 0 means max_tokens."""
    fine_tokens: int = 0
    """Asks for a second, finer cut of the evidence, into windows of that many tokens, for
    a model that overlooks what stands among much else; 0 means one cut."""
    languages: Sequence[str] = ()
    """BCP 47 codes of the languages that the model was made for; empty means not stated."""
    score_kind: Literal["probability", "token_probability", "vote_share"] = "probability"
    """What the numbers are."""
    deterministic: bool = False
    """Equal pairs give equal scores."""
    epsilon: float = 0.0
    """How far a probability may move with the composition of a batch, in [0, 1]."""
    qa_template: str = ""
    """How the hypothesis of a short answer is built: "{question}" and "{answer}" are
    replaced."""

    def __post_init__(self) -> None:
        for field in ("name", "digest"):
            if not getattr(self, field):
                raise ValueError(f"{field}: must not be empty")
        if not 0 <= self.epsilon <= 1:
            raise ValueError("epsilon: give a distance of probabilities, in [0, 1]")
        if self.score_kind not in _SCORE_KINDS:
            raise ValueError(f"score_kind: give one of {', '.join(_SCORE_KINDS)}")
        if self.max_tokens < 0 or (self.max_tokens > 0 and self.pair_overhead >= self.max_tokens):
            raise ValueError("pair_overhead: must be below max_tokens, else no text fits")
        if 0 < self.max_tokens < self.trained_tokens:
            raise ValueError("trained_tokens: must not be above max_tokens")

    def message(self) -> v1.DescribeResponse:
        """The description as it is sent."""
        return v1.DescribeResponse(
            name=self.name,
            digest=self.digest,
            classes=_THREE_CLASSES if self.three_class else _TWO_CLASSES,
            max_tokens=self.max_tokens,
            pair_overhead=self.pair_overhead,
            trained_tokens=self.trained_tokens,
            fine_tokens=self.fine_tokens,
            languages=self.languages,
            score_kind=_SCORE_KINDS[self.score_kind],
            deterministic=self.deterministic,
            epsilon=self.epsilon,
            protocol_version=PROTOCOL_VERSION,
            qa_template=self.qa_template,
        )


def digest_of_files(folder: str | Path) -> str:
    """The digest of all files below a folder, by their paths and contents.

    Raises FileNotFoundError if there is none.
    """
    root = Path(folder)
    files = sorted(path for path in root.rglob("*") if path.is_file())
    if not files:
        raise FileNotFoundError(f"no file below {folder}")
    digest = hashlib.sha256()
    for path in files:
        with path.open("rb") as file:
            content = hashlib.sha256()
            while block := file.read(1 << 20):
                content.update(block)
        digest.update(f"{path.relative_to(root).as_posix()}\0{content.hexdigest()}\n".encode())
    return f"sha256:{digest.hexdigest()}"
