"""The log of a run as a picture."""

from __future__ import annotations

from pathlib import Path

import matplotlib

from .fit import HELD_OUT, LOG, lines_of

matplotlib.use("Agg")
from matplotlib import pyplot  # noqa: E402  # after the backend is chosen

WINDOW = 200
"""Steps that a point of the curve is the mean of."""


def draw(run: Path) -> Path:
    """Writes curves.svg beside the log: loss, learning rate and speed."""
    lines = lines_of(run / LOG)
    groups = [lines[i : i + WINDOW] for i in range(0, len(lines), WINDOW)]

    def mean(key: str) -> list[float]:
        return [sum(line[key] for line in group) / len(group) for group in groups]

    examples = [group[-1]["examples"] / 1000 for group in groups]
    speed = [
        (group[-1]["tokens"] - group[0]["tokens"]) / max(sum(line["seconds"] for line in group[1:]), 1e-9)
        for group in groups
    ]
    figure, axes = pyplot.subplots(3, 1, figsize=(7, 7), sharex=True, layout="constrained")
    for axis, values, label in zip(
        axes, (mean("loss"), mean("rate"), speed), ("loss", "learning rate", "tokens a second"), strict=True
    ):
        axis.plot(examples, values, label="training")
        axis.set_ylabel(label)
        axis.grid(alpha=0.3)
    if held_out := lines_of(run / HELD_OUT):
        axes[0].plot([line["examples"] / 1000 for line in held_out], [line["loss"] for line in held_out], label="held out")
        axes[0].legend()
    axes[-1].set_xlabel("thousand examples")
    figure.savefig(run / "curves.svg")
    pyplot.close(figure)
    return run / "curves.svg"
