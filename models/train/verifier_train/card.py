"""What a model's card says of its training, from what the runs wrote down."""

from __future__ import annotations

import json
from pathlib import Path

from . import fit
from .recipe import Recipe


def write(out: Path, lineage: dict[str, Recipe]) -> str:
    """Markdown: the runs with their cost, the sets with their licences and rows, and
    the calibration, of the last of the recipes."""
    last = list(lineage)[-1]
    exported = json.loads((out / last / "model" / "export.json").read_text(encoding="utf-8"))
    return "\n".join(
        [
            "## Training",
            "",
            "| run | from | examples | tokens | hours of steps |",
            "|---|---|---:|---:|---:|",
            *(_run(out / name, recipe) for name, recipe in lineage.items()),
            "",
            "## Data",
            "",
            "| set | licence | rows | left out as in a development set |",
            "|---|---|---:|---:|",
            *_sources(out, lineage),
            "",
            f"Temperature {exported['temperature']:.3f}, fitted on {exported['held_out_rows']:,} rows held out of training; "
            f"{exported['shift']:+.2f} on the logit of entailment, chosen on the development sets.",
            "",
        ]
    )


def _run(folder: Path, recipe: Recipe) -> str:
    if recipe.soup:
        return f"| {folder.name} | mean of {' and '.join(recipe.soup)} | | | |"
    log = fit.lines_of(folder / fit.LOG)
    start = recipe.init + (f", taught by {' and '.join(recipe.teachers)}" if recipe.teachers else "")
    if not log:
        return f"| {folder.name} | {start} | {recipe.examples:,} | | |"
    hours = sum(line["seconds"] for line in log) / 3600
    return f"| {folder.name} | {start} | {log[-1]['examples']:,} | {log[-1]['tokens']:,} | {hours:.1f} |"


def _sources(out: Path, lineage: dict[str, Recipe]) -> list[str]:
    """A row for each source, as the last run that had it describes it."""
    found: dict[str, dict] = {}
    for name, recipe in lineage.items():
        if not recipe.soup and (out / name / fit.RUN).exists():
            found |= json.loads((out / name / fit.RUN).read_text(encoding="utf-8"))["sources"]
    return [f"| {name} | {s['licence']} | {s['rows'] or 'made'} | {s['dropped']} |" for name, s in found.items()]
