"""The training loop: two processes, each with a part of every step's batch."""

from __future__ import annotations

import fcntl
import json
import os
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import IO, Iterator

import torch
import torch.distributed as dist
import torch.nn.functional as F
from tokenizers import Tokenizer
from torch import Tensor

from . import model as models
from .mixture import CHUNK, Mixture, cut_to_fit
from .overlap import of_folder
from .recipe import Recipe
from .sets import NOT_ENTAILED, Row

SAVE_SECONDS = 300
"""Time between checkpoints."""
STATE = "state.pt"
"""The file of a run's checkpoint."""
LOG, HELD_OUT = "log.jsonl", "held_out.jsonl"
"""The files with a line for every step, and for every checkpoint."""
RUN = "run.json"
"""The file that says what a run did, and with what."""
VALIDATION_ROWS = 400
"""About how many held-out rows have their loss noted at every checkpoint."""


@dataclass(frozen=True)
class Batch:
    """Encoded pairs, padded to the longest."""

    input_ids: Tensor
    attention_mask: Tensor
    token_type_ids: Tensor
    labels: Tensor


def encode(rows: list[Row], tokenizer: Tokenizer, recipe: Recipe) -> list[tuple[list[int], list[int], int]]:
    """(ids, types, label) of each row, cut to the recipe's limit, without those that cannot be."""
    limit = recipe.max_tokens

    def count(text: str) -> int:
        return len(tokenizer.encode(text, add_special_tokens=False).ids)

    encoded = tokenizer.encode_batch([(row.doc, row.claim) for row in rows])
    found = []
    for row, pair in zip(rows, encoded, strict=True):
        if len(pair.ids) > limit:
            fitted = cut_to_fit(row, count, limit, recipe.whole)
            if fitted is None:
                continue
            pair = tokenizer.encode(fitted.doc, fitted.claim)
        if len(pair.ids) <= limit:
            found.append((pair.ids, pair.type_ids, row.label))
    return found


def batches(encoded: list, budget: int, rng: Random) -> list[Batch]:
    """Batches of pairs of like length, each within a budget of tokens."""
    encoded = sorted(encoded, key=lambda e: (len(e[0]), rng.random()))
    groups: list[list] = [[]]
    for example in encoded:
        if groups[-1] and len(example[0]) * (len(groups[-1]) + 1) > budget:
            groups.append([])
        groups[-1].append(example)
    rng.shuffle(groups)
    return [_padded(group) for group in groups]


def _padded(group: list) -> Batch:
    longest = max(len(ids) for ids, _, _ in group)
    ids = torch.zeros(len(group), longest, dtype=torch.int64)
    types, mask = torch.zeros_like(ids), torch.zeros_like(ids)
    for i, (row_ids, row_types, _) in enumerate(group):
        ids[i, : len(row_ids)] = torch.tensor(row_ids)
        types[i, : len(row_ids)] = torch.tensor(row_types)
        mask[i, : len(row_ids)] = 1
    return Batch(ids, mask, types, torch.tensor([label for _, _, label in group]))


def loss_of(logits: Tensor, labels: Tensor, marginal: bool) -> Tensor:
    """The sum of the losses: cross-entropy where the class is known, and
    −log(1 − P(entailment)) where only "not entailed" is."""
    log_p = F.log_softmax(logits, dim=-1)
    if marginal:
        rest = torch.logsumexp(log_p[:, 1:], dim=-1)
    else:
        rest = log_p[:, 1]
    known = log_p.gather(1, labels.clamp(min=0).unsqueeze(1)).squeeze(1)
    return -torch.where(labels == NOT_ENTAILED, rest, known).sum()


TEMPERATURE = 2.0
"""Softens teachers' answers, so that a pupil sees their differences far from 0.5 too."""


def taught_loss(logits: Tensor, taught: Tensor) -> Tensor:
    """The sum of the cross-entropies with the softened answers of teachers, given as
    logits; times the temperature's square, which keeps the gradients' size."""
    wanted = F.softmax(taught / TEMPERATURE, dim=-1)
    return -(wanted * F.log_softmax(logits / TEMPERATURE, dim=-1)).sum() * TEMPERATURE**2


def rate_at(recipe: Recipe, seen: float) -> float:
    """The learning rate as a share of its peak, when a share of the run is over."""
    if seen < recipe.warmup:
        return seen / recipe.warmup
    if seen > 1 - recipe.decay:
        return max((1 - seen) / recipe.decay, 0.0)
    return 1.0


class Run:
    """One process's part of a run."""

    def __init__(self, recipe: Recipe, data: Path, out: Path, rank: int, world: int):
        self.recipe, self.out, self.rank, self.world = recipe, out, rank, world
        torch.manual_seed(recipe.seed)
        self.tokenizer = models.tokenizer()
        self.mixture = Mixture(recipe, data, of_folder(data / "dev"), out.parent / "prepared")
        self.model = models.start(recipe.init, recipe.pooling, out.parent)
        self.model.bert.embeddings.word_embeddings.requires_grad_(False)
        for layer in self.model.bert.encoder.layer[: recipe.frozen_layers]:
            layer.requires_grad_(False)
        self.teachers = [(models.start(name, recipe.pooling, out.parent).eval(), weight) for name, weight in recipe.teachers.items()]
        self.average = models.Verifier(recipe.pooling)
        self.average.load_state_dict(self.model.state_dict())
        head = [*self.model.dense.parameters(), *self.model.out.parameters()]
        body = [p for p in self.model.bert.parameters() if p.requires_grad]
        self.optimizer = torch.optim.AdamW(
            [
                {"params": body, "peak": recipe.rate},
                {"params": head, "peak": recipe.rate * recipe.head_rate},
            ],
            lr=recipe.rate,
            weight_decay=recipe.weight_decay,
            fused=True,
        )
        self.parameters = body + head
        self.step = self.chunk = self.examples = self.tokens = 0
        self._resume()

    # --- Checkpoints ---

    def _resume(self) -> None:
        if (self.out / STATE).exists():
            state = torch.load(self.out / STATE, weights_only=True)
            if (began := state.get("processes", self.world)) != self.world:
                raise SystemExit(f"{self.out}: began with {began} processes, and goes on only with as many: --processes")
            self.model.load_state_dict(state["model"])
            self.average.load_state_dict(state["average"])
            self.optimizer.load_state_dict(state["optimizer"])
            self.step, self.chunk, self.examples, self.tokens = state["at"]
        if self.rank == 0:  # what came after the checkpoint is done again
            for log in (self.out / LOG, self.out / HELD_OUT):
                if log.exists():
                    kept = [line for line in lines_of(log) if line["step"] <= self.step]
                    log.write_text("".join(json.dumps(line) + "\n" for line in kept), encoding="utf-8")

    def _save(self) -> None:
        """At a chunk's end, so that the stream goes on exactly there."""
        if self.rank != 0:
            return
        state = {
            "model": self.model.state_dict(),
            "average": self.average.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "processes": self.world,
            "at": [self.step, self.chunk, self.examples, self.tokens],
        }
        # The weights first: what has a whole checkpoint has its weights.
        models.save(self.average if self.recipe.average else self.model, self.out)
        partial = self.out / "state.partial"
        torch.save(state, partial)
        os.replace(partial, self.out / STATE)
        self._validate()

    @torch.no_grad()
    def _validate(self) -> None:
        """Notes the loss of some rows that are held out."""
        held = self.mixture.held_out
        some = held[:: max(1, len(held) // VALIDATION_ROWS)]  # of every set
        if not (rows := encode(some, self.tokenizer, self.recipe)):
            return
        judged = (self.average if self.recipe.average else self.model).eval()
        total = sum(
            float(loss_of(judged(b.input_ids, b.attention_mask, b.token_type_ids), b.labels, self.recipe.marginal))
            for b in batches(rows, self.recipe.tokens, Random(0))
        )
        _append(self.out / HELD_OUT, {"step": self.step, "examples": self.examples, "loss": round(total / len(rows), 5)})
        judged.train()

    # --- The loop ---

    def fit(self) -> None:
        """Trains until the recipe's examples are seen, going on from the last
        checkpoint of the same folder."""
        saved = time.monotonic()
        while self.examples < self.recipe.examples:
            for batch in self._chunk_batches():
                if self.examples >= self.recipe.examples:
                    break
                self._step(batch)
            self.chunk += 1
            if time.monotonic() - saved > SAVE_SECONDS:
                self._save()
                saved = time.monotonic()
        self._save()

    def _chunk_batches(self) -> Iterator[Batch]:
        rows = self.mixture.chunk(self.chunk)
        encoded = encode(rows, self.tokenizer, self.recipe)
        made = batches(encoded, self.recipe.tokens, Random(f"{self.recipe.seed}/batches/{self.chunk}"))
        # Every process takes its part; a remainder would leave one waiting.
        even = len(made) - len(made) % self.world
        return iter(made[self.rank : even : self.world])

    def _step(self, batch: Batch) -> None:
        began = time.monotonic()
        share = rate_at(self.recipe, self.examples / self.recipe.examples)
        for group in self.optimizer.param_groups:
            group["lr"] = group["peak"] * share
        logits = self.model(batch.input_ids, batch.attention_mask, batch.token_type_ids)
        loss = taught_loss(logits, self._taught(batch)) if self.teachers else loss_of(logits, batch.labels, self.recipe.marginal)
        loss.backward()
        totals = torch.tensor([loss.item(), len(batch.labels), float(batch.attention_mask.sum())])
        self._sync(totals)
        torch.nn.utils.clip_grad_norm_(self.parameters, 1.0)
        self.optimizer.step()
        self.optimizer.zero_grad()
        self.step += 1
        self.examples += int(totals[1])
        self.tokens += int(totals[2])
        self._average()
        self._log(totals, share, time.monotonic() - began)

    @torch.no_grad()
    def _taught(self, batch: Batch) -> Tensor:
        """The mean of the teachers' logits, by their weights."""
        inputs = (batch.input_ids, batch.attention_mask, batch.token_type_ids)
        return sum(weight * teacher(*inputs) for teacher, weight in self.teachers) / sum(self.recipe.teachers.values())

    def _sync(self, totals: Tensor) -> None:
        """Sums the gradients over the processes and divides by the examples."""
        if self.world > 1:
            dist.all_reduce(totals)
        grads = [p.grad for p in self.parameters]
        flat = torch.cat([g.view(-1) for g in grads])
        if self.world > 1:
            dist.all_reduce(flat)
        flat /= totals[1]
        at = 0
        for grad in grads:
            grad.copy_(flat[at : at + grad.numel()].view_as(grad))
            at += grad.numel()

    @torch.no_grad()
    def _average(self) -> None:
        # Early on the average follows closely, so that it forgets the start.
        decay = min(self.recipe.average, self.step / (self.step + 10))
        for ours, theirs in zip(self.average.parameters(), self.model.parameters(), strict=True):
            ours.lerp_(theirs, 1 - decay)

    def _log(self, totals: Tensor, share: float, seconds: float) -> None:
        if self.rank != 0:
            return
        line = {
            "step": self.step,
            "examples": self.examples,
            "tokens": self.tokens,
            "loss": round(float(totals[0] / totals[1]), 5),
            "rate": round(self.recipe.rate * share, 8),
            "seconds": round(seconds, 3),
        }
        _append(self.out / LOG, line)


def _append(log: Path, line: dict) -> None:
    with log.open("a", encoding="utf-8") as out:
        out.write(json.dumps(line) + "\n")


def lines_of(log: Path) -> list[dict]:
    """The lines of a log; none if there is no log."""
    return [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()] if log.exists() else []


def describe(run: Path, described: dict) -> None:
    """Writes what a run did into its folder."""
    (run / RUN).write_text(json.dumps(described, indent=1) + "\n", encoding="utf-8")


def finished(run: Path, recipe: Recipe) -> bool:
    """Whether a run's folder has the weights of the whole run, whose checkpoint may
    have been deleted. Those of a soup are whole."""
    if not (run / models.WEIGHTS).exists():
        return False
    state = run / STATE
    if state.exists():
        return torch.load(state, weights_only=True, mmap=True)["at"][2] >= recipe.examples
    steps = lines_of(run / LOG)
    return not steps or steps[-1]["examples"] >= recipe.examples


def differences(run: Path, recipe: Recipe) -> str:
    """How the recipe that a run's folder was made by differs from this one."""
    if not (run / RUN).exists():
        return ""
    defaults = json.loads(json.dumps(Recipe().values()))
    was = defaults | json.loads((run / RUN).read_text(encoding="utf-8"))["recipe"]
    now = json.loads(json.dumps(recipe.values()))
    return ", ".join(f"{key} {was[key]} (now {now[key]})" for key in now if was[key] != now[key])


def end_with(parent: int) -> None:
    """Ends this process soon after its parent, however that ended: nobody would
    look after a run that goes on alone."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def claim(out: Path) -> IO[str]:
    """Locks a run's folder for as long as the returned file is open."""
    lock = (out / "lock").open("w")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise SystemExit(f"{out}: another run is writing to this folder") from None
    return lock


def worker(rank: int, parent: int, world: int, port: int, recipe: Recipe, data: Path, out: Path) -> None:
    """One process of a run, which the process parent started."""
    end_with(parent)
    torch.set_num_threads(1)
    if world > 1:
        os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
        dist.init_process_group("gloo", rank=rank, world_size=world)
    run = Run(recipe, data, out, rank, world)
    if rank == 0:
        described = {"recipe": recipe.values(), "sources": run.mixture.describe(), "chunk": CHUNK}
        describe(out, described)
    run.fit()
    if world > 1:
        dist.destroy_process_group()
