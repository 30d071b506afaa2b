"""Measures every weight format of a model against fp32.

    python measure.py MODEL OUT [--plumbline BIN --data DIR]

MODEL is a folder that export.py wrote in fp32. For each format: size, pairs per
processor second at several lengths, how far a pair's logits move when it stands
in a padded batch, and how far they are from fp32's, on the pairs of
reference.json; with data, also the AUROC of "plumbline eval" with its paired
difference to fp32. OUT gets the files, table.md and table.json.

One thread runs all formats in turns, and processor time counts, so that ratios
hold on a machine that does other work as well.
"""

import argparse
import json
import shutil
import subprocess
import time
from pathlib import Path

import numpy as np
import onnxruntime

import export
import quantize

LENGTHS = (64, 128, 256)
FP32 = "fp32"


def open_session(path):
    """A session as the engine opens it."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.enable_mem_pattern = False
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def batch(manifest, rows):
    """Rows of token ids, padded to the longest."""
    width = max(len(row["ids"]) for row in rows)

    def padded(values):
        return np.array([list(v) + [0] * (width - len(v)) for v in values], dtype=np.int64)

    values = {
        "input_ids": padded([row["ids"] for row in rows]),
        "attention_mask": padded([[1] * len(row["ids"]) for row in rows]),
        "token_type_ids": padded([row["types"] for row in rows]),
    }
    if manifest.get("decoder"):
        values["decoder_input_ids"] = np.full((len(rows), 1), manifest["decoder"]["start_id"], dtype=np.int64)
    return {name: values[name] for name in manifest["inputs"]}


def logits(session, manifest, rows):
    (out,) = session.run(["logits"], batch(manifest, rows))
    if manifest.get("decoder"):
        out = out[:, 0, manifest["decoder"]["class_ids"]]
    return out


def drift(session, manifest, rows):
    """The largest difference of a pair's logits alone and in a padded batch of three."""
    worst = 0.0
    for i, row in enumerate(rows):
        together = logits(session, manifest, [row, rows[(i + 1) % len(rows)], rows[(i + 5) % len(rows)]])[0]
        worst = max(worst, float(np.abs(together - logits(session, manifest, [row])[0]).max()))
    return worst


def speeds(sessions, manifest, rows, rounds):
    """Pairs per processor second of each session and length."""
    ids = [i for row in rows for i in row["ids"]]
    out = {name: {} for name in sessions}
    for length in LENGTHS:
        row = {"ids": (ids * (length // len(ids) + 1))[:length], "types": [0] * length}
        spent = dict.fromkeys(sessions, 0.0)
        for name, session in sessions.items():  # the first run of a shape allocates
            logits(session, manifest, [row])
        for _ in range(rounds):
            for name, session in sessions.items():
                start = time.process_time()
                logits(session, manifest, [row])
                spent[name] += time.process_time() - start
        for name in sessions:
            out[name][str(length)] = rounds / spent[name]
    return out


def model_folder(source, manifest, weights, name, out):
    """A folder that serves a format."""
    folder = out / "models" / name
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copy(source / "tokenizer.json", folder)
    shutil.copy(weights, folder)
    files = manifest["files"] | {"weights": export.file_entry(folder / weights.name)}
    changed = manifest | {"files": files, "weights_format": f"onnx-{name}", "name": f"{manifest['name']} ({name})"}
    (folder / "manifest.json").write_text(json.dumps(changed, indent=2) + "\n", encoding="utf-8")
    return folder


def evaluation(options, folder, name):
    """The figures of "plumbline eval"; its scores are kept, to go on after an interruption."""
    scores = options.out / f"{name}.scores"
    command = [options.plumbline, "eval", options.data, "--model-dir", str(folder), "--scores", str(scores), "--quiet"]
    command += ["--limit", str(options.limit), "--seed", str(options.seed)]
    if options.sets:
        command += ["--sets", options.sets]
    if name != FP32:
        command += ["--against", str(options.out / f"{FP32}.scores")]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    answer = json.loads(run.stdout)
    found = {"auroc": answer["mean"]["figures"]["auroc"], "sets": answer["mean"]["sets"]}
    if name != FP32:
        found["difference"] = answer["against"]["mean"]["differences"]["auroc"]
    return found


def measure(options):
    manifest = json.loads((options.model / "manifest.json").read_text(encoding="utf-8"))
    rows = json.loads((options.model / "reference.json").read_text(encoding="utf-8"))
    rows = [row for row in rows if len(row["ids"]) <= 512]
    fp32 = options.model / manifest["files"]["weights"]["name"]
    paths = {FP32: fp32} | quantize.make_formats(fp32, options.out / "formats")
    sessions = {name: open_session(path) for name, path in paths.items()}
    speed = speeds(sessions, manifest, rows, options.rounds)
    exact = [logits(sessions[FP32], manifest, [row])[0] for row in rows]
    table = {}
    for name, session in sessions.items():
        alone = [logits(session, manifest, [row])[0] for row in rows]
        table[name] = {
            "megabytes": paths[name].stat().st_size / 1e6,
            "pairs_per_processor_second": speed[name],
            "batch_drift": drift(session, manifest, rows),
            "from_fp32": max(float(np.abs(a - b).max()) for a, b in zip(alone, exact, strict=True)),
        }
    del sessions
    if options.data:
        for name in [FP32, *options.evaluate]:
            path = paths[name]
            table[name]["evaluation"] = evaluation(options, model_folder(options.model, manifest, path, name, options.out), name)
    return table


def markdown(table):
    head = ["format", "MB", *(f"pairs/s at {n}" for n in LENGTHS), "batch drift", "from fp32", "AUROC", "difference of AUROC"]
    lines = [head, ["---"] * len(head)]
    for name, row in table.items():
        speed = [f"{row['pairs_per_processor_second'][str(n)]:.1f}" for n in LENGTHS]
        found = row.get("evaluation", {})
        auroc = f"{found['auroc']['value']:.4f}" if found else ""
        d = found.get("difference")
        difference = f"{d['value']:+.4f} [{d['lower']:+.4f}, {d['upper']:+.4f}]" if d else ""
        lines.append([name, f"{row['megabytes']:.1f}", *speed, f"{row['batch_drift']:.2g}", f"{row['from_fp32']:.2g}", auroc, difference])
    return "".join("| " + " | ".join(line) + " |\n" for line in lines)


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--rounds", type=int, default=20, help="runs of each length")
    parser.add_argument("--plumbline", default="bin/plumbline", help="the program")
    parser.add_argument("--data", help="folder of labelled sets, for the AUROC")
    parser.add_argument(
        "--evaluate", type=lambda s: s.split(","), default=list(quantize.FORMATS), help="formats to evaluate; all if none is named"
    )
    parser.add_argument("--sets", default="", help="names of the sets, separated by commas")
    parser.add_argument("--limit", type=int, default=100, help="rows of a set")
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args()


if __name__ == "__main__":
    options = parse()
    options.out.mkdir(parents=True, exist_ok=True)
    table = measure(options)
    (options.out / "table.json").write_text(json.dumps(table, indent=1) + "\n", encoding="utf-8")
    text = markdown(table)
    (options.out / "table.md").write_text(text, encoding="utf-8")
    print(text)
