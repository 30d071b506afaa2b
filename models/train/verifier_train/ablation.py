"""Small runs that differ in one thing, side by side, and a table of what each
thing is worth on the development sets."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from . import fit
from .recipe import Recipe

BASE = "ablation"
"""The recipe that the others change; their names begin with its name."""

SETS = (
    "wice_claim,lfqa,factcheck_gpt,ragtruth_qa_sent,aggrefact_cliff,summedits,qags_cnndm,qags_xsum,"
    "fever_symmetric,equate_newsnli,lila_stress,halueval_qa_small"
)
"""The development sets that runs are compared on."""


@dataclass(frozen=True)
class Place:
    """Where an ablation reads and writes."""

    data: Path
    out: Path
    plumbline: Path
    """The program, whose "eval" measures."""
    limit: int
    """Rows of a set."""

    def scores(self, name: str) -> Path:
        return self.out / name / "dev.scores"


def chosen(recipes: dict[str, Recipe], only: list[str] | None) -> dict[str, Recipe]:
    """The base, and those of the ablation's other recipes that only names, or all."""
    found = {name: value for name, value in recipes.items() if name.startswith(BASE)}
    if unknown := set(only or ()) - found.keys():
        raise SystemExit(f"--only: {', '.join(sorted(unknown))}: no recipe of the ablation; there are {', '.join(found)}")
    return {name: value for name, value in found.items() if name == BASE or only is None or name in only}


def run(recipes: dict[str, Recipe], place: Place) -> Path:
    """Trains, exports and measures every recipe of the ablation, two at a time
    with a process each, going on with what an earlier call left. Returns the
    table's file."""
    place.out.mkdir(parents=True, exist_ok=True)
    names = list(recipes)
    with ThreadPoolExecutor(max_workers=2) as pool:
        list(pool.map(lambda name: _train(name, recipes[name], place), names))
    found = {name: _measure(name, place) for name in names}
    table = place.out / f"{BASE}.md"
    table.write_text(markdown({name: (changes(recipes, name), found[name]) for name in names}), encoding="utf-8")
    return table


def changes(recipes: dict[str, Recipe], name: str) -> str:
    """What a recipe changes of the base."""
    base, other = recipes[BASE].values(), recipes[name].values()
    return ", ".join(f"{key} = {value}" for key, value in other.items() if value != base[key])


def markdown(rows: dict[str, tuple[str, dict]]) -> str:
    """The table: a row for each recipe, with its difference to the base."""
    lines = [
        "| change | mean AUROC | difference | mean balanced accuracy | difference |",
        "|---|---:|---:|---:|---:|",
    ]
    for change, answer in rows.values():
        cells = [change or "none"]
        for figure in ("auroc", "balanced_accuracy_chosen"):
            cells.append(f"{answer['mean']['figures'][figure]['value']:.3f}")
            cells.append(_difference(answer.get("against"), figure))
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _difference(against: dict | None, figure: str) -> str:
    if against is None:
        return ""
    d = against["mean"]["differences"][figure]
    return f"{d['value']:+.3f} [{d['lower']:+.3f}, {d['upper']:+.3f}]"


def _train(name: str, recipe: Recipe, place: Place) -> None:
    folder = place.out / name
    if fit.differences(folder, recipe):
        shutil.rmtree(folder)
    if place.scores(name).exists():
        return  # scores belong to the weights that were exported then
    common = [name, "--data", str(place.data), "--out", str(place.out)]
    program = [sys.executable, "-m", __package__]
    with (place.out / f"{name}.txt").open("w", encoding="utf-8") as log:
        for command in (["train", *common, "--processes", "1"], ["export", *common, "--name", name]):
            subprocess.run([*program, *command], check=True, stdout=log, stderr=log)


def _measure(name: str, place: Place) -> dict:
    command = [str(place.plumbline), "eval", str(place.data / "dev"), "--sets", SETS, "--limit", str(place.limit)]
    command += ["--model-dir", str(place.out / name / "model" / "int8-dynamic"), "--scores", str(place.scores(name)), "--quiet"]
    if name != BASE:
        command += ["--against", str(place.scores(BASE))]
    answer = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(answer.stdout)
