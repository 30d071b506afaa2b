"""Trains and exports Plumbline's bundled verifier."""

from __future__ import annotations

import argparse
import os
import socket
import threading
from pathlib import Path

import torch.multiprocessing as mp
from tqdm import tqdm

from . import ablation, card, curves, export, fit, probes, recipe
from . import model as models

RECIPES = Path(__file__).parent.parent / "recipes.toml"


def main() -> None:
    recipes = recipe.read(RECIPES)
    parser = argparse.ArgumentParser(prog="verifier_train", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    train = commands.add_parser("train", help="train a recipe and what it builds on, each from its last checkpoint, and draw the curves")
    train.add_argument("--processes", type=int, default=2, help="processes that share each step (default: 2)")
    to_onnx = commands.add_parser("export", help="write a trained run as the model folders fp32/, int8-storage/ and int8-dynamic/")
    to_onnx.add_argument("--name", default="plumbline-verifier", help="name in the manifest")
    to_onnx.add_argument("--version", default="1.0.0", help="version in the manifest")
    for command in (train, to_onnx):
        command.add_argument("recipe", choices=recipes, help="a table of recipes.toml")
    ablate = commands.add_parser("ablate", help="train and measure the recipes of the ablation, and write their table")
    ablate.add_argument("--plumbline", type=Path, required=True, help='the program, whose "eval" measures')
    ablate.add_argument("--limit", type=int, default=150, help="rows of a development set (default: 150)")
    ablate.add_argument("--only", type=lambda names: names.split(","), help="some of them, by name, separated by commas (default: all)")
    probe = commands.add_parser("probe", help="write rows of a development set with premises that training has not, and with padded ones, for \"plumbline eval\"")
    probe.add_argument("set", help="its name in DATA/dev, as fever_symmetric.dev")
    for command in (train, to_onnx, ablate, probe):
        command.add_argument("--data", type=Path, required=True, help="folder with train/, dev/ and retrieval/")
        command.add_argument("--out", type=Path, required=True, help="folder of all runs; of probe, of the rows")
    arguments = parser.parse_args()
    if arguments.command == "ablate":
        place = ablation.Place(arguments.data, arguments.out, arguments.plumbline, arguments.limit)
        print(ablation.run(ablation.chosen(recipes, arguments.only), place))
        return
    if arguments.command == "probe":
        print(probes.write(arguments.data, arguments.out, arguments.set))
        return
    chosen, run = recipes[arguments.recipe], arguments.out / arguments.recipe
    if arguments.command == "train":
        print(make(arguments.recipe, recipes, arguments.data, arguments.out, arguments.processes))
    elif not fit.finished(run, chosen):
        parser.error(f"{run} has no finished run: train {arguments.recipe} first")
    else:
        export.export(chosen, run, arguments.data, run / "model", arguments.name, arguments.version)
        lineage = recipe.lineage(recipes, arguments.recipe)
        (run / "model" / "card.md").write_text(card.write(arguments.out, lineage), encoding="utf-8")
        print(run / "model")


def make(name: str, recipes: dict[str, recipe.Recipe], data: Path, out: Path, processes: int) -> Path:
    """Trains a recipe, or averages the runs of its soup, after the recipes that it
    builds on. Runs that are there already are kept. Returns the file of the weights."""
    chosen, run = recipes[name], out / name
    for needed in chosen.needs():
        make(needed, recipes, data, out, processes)
    run.mkdir(parents=True, exist_ok=True)
    with fit.claim(run):
        if chosen.soup:
            fit.describe(run, {"recipe": chosen.values()})
            return models.mean_of([out / part for part in chosen.soup], run)
        changed, finished = fit.differences(run, chosen), fit.finished(run, chosen)
        if changed and not finished:
            raise SystemExit(f"{run} is half a run of another recipe: {changed}. Take it away, or change the recipe back")
        if changed:
            print(f"{name}: what is there was made by another recipe: {changed}", flush=True)
        if not finished:
            print(f"{name}: {chosen.examples} examples", flush=True)
            spawn(chosen, data, run, processes)
            curves.draw(run)
    return run / models.WEIGHTS


def spawn(chosen: recipe.Recipe, data: Path, run: Path, processes: int) -> None:
    """Trains in processes of their own, with a bar of the examples seen."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    done = threading.Event()
    watcher = threading.Thread(target=watch, args=(run / fit.LOG, chosen.examples, done))
    watcher.start()
    try:
        mp.spawn(fit.worker, args=(os.getpid(), processes, port, chosen, data, run), nprocs=processes)
    finally:
        done.set()
        watcher.join()


def watch(log: Path, examples: int, done: threading.Event) -> None:
    """Shows how far the log has come."""
    with tqdm(total=examples, unit="example", smoothing=0.05) as bar:
        while not done.wait(timeout=5):
            if seen := fit.lines_of(log)[-1:]:
                bar.set_postfix(loss=seen[0]["loss"], refresh=False)
                bar.update(seen[0]["examples"] - bar.n)


if __name__ == "__main__":
    main()
