"""The loss, the schedule, the batches, and a run that stops and goes on."""

import json
import math
import os
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from random import Random

import numpy as np
import onnx
import onnxruntime
import pytest
import torch

from verifier_train import __main__ as main
from verifier_train import card, export, fit, mixture, model
from verifier_train.recipe import Recipe
from verifier_train.sets import NOT_ENTAILED, Row

TINY = Recipe(
    examples=24, tokens=256, sets=("fool_me_twice", "tracie"), corpora=("squad2_halfdev",), questions=0, max_tokens=96
)


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch):
    """Little work: few examples are made at a time, by one thread."""
    monkeypatch.setattr(mixture, "CHUNK", 48)
    torch.set_num_threads(1)


def test_the_loss_of_a_known_class_and_of_a_row_that_is_only_not_entailed():
    logits = torch.tensor([[2.0, 0.0, 1.0], [2.0, 0.0, 1.0]])
    total = math.exp(2) + 1 + math.exp(1)
    want = -math.log(1 / total) - math.log((1 + math.exp(1)) / total)
    assert float(fit.loss_of(logits, torch.tensor([1, NOT_ENTAILED]), True)) == pytest.approx(want, rel=1e-6)
    as_neutral = -2 * math.log(1 / total)
    assert float(fit.loss_of(logits, torch.tensor([1, NOT_ENTAILED]), False)) == pytest.approx(as_neutral, rel=1e-6)


def test_the_rate_rises_stays_and_falls():
    recipe = Recipe(warmup=0.1, decay=0.4)
    rates = [fit.rate_at(recipe, share) for share in (0, 0.05, 0.1, 0.5, 0.8, 1)]
    assert rates == pytest.approx([0, 0.5, 1, 1, 0.5, 0])


def test_batches_hold_every_example_within_the_budget():
    rng = Random(2)
    encoded = [([5] * rng.randint(3, 60), [0] * 60, 0) for _ in range(200)]
    encoded = [(ids, types[: len(ids)], label) for ids, types, label in encoded]
    made = fit.batches(encoded, 128, rng)
    assert sum(len(b.labels) for b in made) == 200
    assert all(b.input_ids.numel() <= 128 for b in made)
    assert sum(int(b.attention_mask.sum()) for b in made) == sum(len(ids) for ids, _, _ in encoded)


def test_padding_does_not_change_what_a_pair_scores():
    torch.manual_seed(0)
    for pooling in ("cls", "mean", "claim"):
        made = model.start("minilm", pooling, Path()).eval()
        encoded = fit.encode([Row("A cat sat.", "It sat.", 0), Row("Cats. " * 30, "It sat.", 0)], model.tokenizer(), Recipe(max_tokens=128))
        with torch.no_grad():
            alone = fit._padded(encoded[:1])
            both = fit._padded(encoded)
            one = made(alone.input_ids, alone.attention_mask, alone.token_type_ids)[0]
            two = made(both.input_ids, both.attention_mask, both.token_type_ids)[0]
        assert torch.allclose(one, two, atol=1e-5), pooling


def test_a_run_that_stops_goes_on_as_if_it_had_not(data: Path, tmp_path: Path):
    recipe = replace(TINY, examples=100)
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    for out in (whole, parts):
        out.mkdir()
    fit.Run(recipe, data, whole, 0, 1).fit()
    first = fit.Run(recipe, data, parts, 0, 1)
    for chunk in range(2):  # the second is lost
        for batch in first._chunk_batches():
            first._step(batch)
        first.chunk += 1
        if chunk == 0:
            first._save()
    with pytest.raises(SystemExit, match="began with 1 processes"):
        fit.Run(recipe, data, parts, 0, 2)
    second = fit.Run(recipe, data, parts, 0, 1)
    assert 0 < second.examples < first.examples and second.chunk == 1
    second.fit()
    for state in ("model", "average"):
        unbroken, resumed = (torch.load(out / fit.STATE, weights_only=True)[state] for out in (whole, parts))
        assert all(torch.equal(unbroken[name], weights) for name, weights in resumed.items())
    logs = [[(line["step"], line["loss"]) for line in fit.lines_of(out / fit.LOG)] for out in (whole, parts)]
    assert logs[0] == logs[1]
    noted = [line["examples"] for line in fit.lines_of(parts / fit.HELD_OUT)]
    assert len(noted) == 2 and noted[0] < noted[1] == second.examples


def test_weights_of_half_a_run_are_not_finished(tmp_path: Path):
    model.save(model.Verifier(TINY.pooling), tmp_path)
    assert fit.finished(tmp_path, TINY), "a soup has no log"
    (tmp_path / fit.LOG).write_text(json.dumps({"step": 1, "examples": TINY.examples - 1}) + "\n", encoding="utf-8")
    assert not fit.finished(tmp_path, TINY)


def test_half_a_run_is_not_gone_on_with_by_another_recipe(data: Path, tmp_path: Path):
    run = tmp_path / "tiny"
    run.mkdir()
    fit.describe(run, {"recipe": TINY.values()})
    model.save(model.Verifier(TINY.pooling), run)
    (run / fit.LOG).write_text(json.dumps({"step": 1, "examples": 1}) + "\n", encoding="utf-8")
    with pytest.raises(SystemExit, match="pad"):
        main.make("tiny", {"tiny": replace(TINY, pad=TINY.pad / 2)}, data, tmp_path, 1)
    assert json.loads((run / "run.json").read_text(encoding="utf-8"))["recipe"]["pad"] == TINY.pad


def test_a_run_goes_on_from_another(data: Path, tmp_path: Path):
    first, second = tmp_path / "first", tmp_path / "second"
    for out in (first, second):
        out.mkdir()
    fit.Run(TINY, data, first, 0, 1).fit()
    run = fit.Run(replace(TINY, init="first"), data, second, 0, 1)
    saved = model.Verifier(TINY.pooling)
    model.load(saved, first)
    assert all(torch.equal(run.model.state_dict()[name], weights) for name, weights in saved.state_dict().items())


def test_what_teachers_answer_is_learnt_whatever_the_label():
    taught, logits = torch.tensor([[3.0, -1.0, 0.5]]), torch.zeros(1, 3, requires_grad=True)
    optimizer = torch.optim.SGD([logits], lr=0.5)
    for _ in range(400):
        optimizer.zero_grad()
        fit.taught_loss(logits, taught).backward()
        optimizer.step()
    assert torch.allclose(logits.softmax(-1), taught.softmax(-1), atol=1e-3)


def test_a_pupil_comes_nearer_to_the_mean_of_its_teachers(data: Path, tmp_path: Path):
    for seed, name in enumerate(("one", "two")):
        torch.manual_seed(seed)
        made = model.start("minilm", TINY.pooling, Path())
        made.out.bias.data[0] = 4 * seed  # opinions that differ
        model.save(made, tmp_path / name)
    recipe = replace(TINY, init="one", teachers={"one": 1, "two": 1}, examples=200, rate=1e-3)
    assert recipe.needs() == ("one", "two")
    (tmp_path / "pupil").mkdir()
    run = fit.Run(recipe, data, tmp_path / "pupil", 0, 1)
    batch = next(run._chunk_batches())

    def distance() -> float:
        with torch.no_grad():
            logits = run.model(batch.input_ids, batch.attention_mask, batch.token_type_ids)
        return float((logits.softmax(-1) - run._taught(batch).softmax(-1)).abs().mean())

    before = distance()
    run.fit()
    assert 0 < distance() < before / 2


def test_an_exported_run_answers_as_the_model_does(data: Path, tmp_path: Path):
    run = tmp_path / "tiny"
    run.mkdir()
    made = fit.Run(TINY, data, run, 0, 1)
    made.fit()
    (run / fit.RUN).write_text(json.dumps({"sources": made.mixture.describe()}))
    export.export(TINY, run, data, run / "model", "tiny", "0.0.1")
    described = card.write(tmp_path, {"tiny": TINY})
    assert "| tiny | minilm | 2" in described and "| tracie | Apache-2.0 | " in described and "Temperature " in described
    (run / "model").rename(tmp_path / "model")
    answers = {}
    for form, weights in export.FORMATS.items():
        folder = tmp_path / "model" / form
        manifest = json.loads((folder / "manifest.json").read_text())
        assert (folder / "tokenizer.json").exists() and manifest["weights_format"] == f"onnx-{form}"
        assert manifest["files"]["weights"]["bytes"] == (folder / weights).stat().st_size
        assert form == "fp32" or (folder / weights).stat().st_size < 30e6
        session = onnxruntime.InferenceSession(str(folder / weights), providers=["CPUExecutionProvider"])
        assert [i.name for i in session.get_inputs()] == list(export.INPUTS)
        pair = model.tokenizer().encode(*export.PROBE)
        ids, types = np.array([pair.ids]), np.array([pair.type_ids])
        answers[form] = session.run(None, dict(zip(export.INPUTS, (ids, np.ones_like(ids), types), strict=True)))[0]
    for form, answer in answers.items():
        assert np.abs(answer - answers["fp32"]).max() < 0.3, form


def test_the_shift_moves_entailment_alone(data: Path, tmp_path: Path):
    run = tmp_path / "tiny"
    run.mkdir()
    fit.Run(TINY, data, run, 0, 1).fit()
    biases = []
    for shift in (0.0, 0.5):
        export.export(replace(TINY, shift=shift), run, data, tmp_path / str(shift), "tiny", "0.0.1")
        graph = onnx.load(tmp_path / str(shift) / "fp32" / "model.onnx").graph
        (bias,) = (i for i in graph.initializer if i.name == "out.bias")
        biases.append(onnx.numpy_helper.to_array(bias))
    assert biases[1] - biases[0] == pytest.approx([0.5, 0, 0], abs=1e-6)


def test_a_soup_is_the_mean_of_its_runs(tmp_path: Path):
    for seed in range(2):
        torch.manual_seed(seed)
        model.save(model.start("minilm", "cls", Path()), tmp_path / str(seed))
    # Both runs have their weights, so that nothing is trained.
    one_run = Recipe(pooling="cls")
    recipes = {"mean": Recipe(pooling="cls", soup=("0", "1")), "0": one_run, "1": one_run}
    assert main.make("mean", recipes, Path("no data"), tmp_path, 1) == tmp_path / "mean" / model.WEIGHTS
    assert json.loads((tmp_path / "mean" / "run.json").read_text())["recipe"]["soup"] == ["0", "1"]
    (tmp_path / "0" / "run.json").write_text('{"recipe": {"seed": 5}}')
    assert fit.differences(tmp_path / "0", Recipe(seed=6)) == "seed 5 (now 6)"
    one, two, mean = (model.start("minilm", "cls", Path()) for _ in range(3))
    for made, name in ((one, "0"), (two, "1"), (mean, "mean")):
        model.load(made, tmp_path / name)
    assert not torch.equal(one.out.weight, two.out.weight)
    assert torch.allclose(mean.out.weight, (one.out.weight + two.out.weight) / 2, atol=1e-3)


def test_two_runs_do_not_write_to_one_folder(tmp_path: Path):
    with fit.claim(tmp_path), pytest.raises(SystemExit, match="another run"):
        fit.claim(tmp_path)
    fit.claim(tmp_path).close()


def test_a_process_ends_with_the_one_that_started_it():
    child = "from verifier_train import fit; import os, time; fit.end_with(os.getppid()); print('up', flush=True); time.sleep(600)"
    parent = (
        "import subprocess, sys; "
        f"p = subprocess.Popen([sys.executable, '-c', {child!r}], stdout=subprocess.PIPE, text=True); "
        "p.stdout.readline(); print(p.pid, flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", parent], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[1]
    ) as started:
        pid = int(started.stdout.readline())
        os.kill(pid, 0)
        started.kill()
    for _ in range(100):
        state = Path(f"/proc/{pid}/stat")
        if not state.exists() or state.read_text().split(") ")[1].startswith("Z"):
            return
        time.sleep(0.1)
    pytest.fail("it goes on alone")
