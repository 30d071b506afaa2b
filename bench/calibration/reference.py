"""The work of `plumbline calibrate fit` in NumPy and scikit-learn.

    python reference.py records.parquet [--bootstrap 1000]

Separation of each signal with a bootstrap interval, correlations, Youden's
floors, and what each floor and the policy catch and escalate, with intervals,
on the calibration split and on the records held out. Draws are shared out to a
process on each core.
"""

import argparse
import concurrent.futures
import os
import time

import numpy as np
import pyarrow.parquet as pq
from sklearn.metrics import roc_auc_score, roc_curve


CHUNK = 25  # draws of a task


def some_draws(statistic, arrays, seed, draws):
    """The statistic of draws of records; arrays are the records' columns."""
    rng, n = np.random.default_rng(seed), len(arrays[0])
    out = []
    for _ in range(draws):
        drawn = rng.integers(0, n, n)
        out.append(statistic(*(a[drawn] for a in arrays)))
    return out


def interval(pool, statistic, arrays, draws):
    """A percentile interval over draws of records."""
    sizes = [min(CHUNK, draws - start) for start in range(0, draws, CHUNK)]
    tasks = [pool.submit(some_draws, statistic, arrays, seed, size) for seed, size in enumerate(sizes)]
    return np.percentile(np.concatenate([t.result() for t in tasks]), [2.5, 97.5], axis=0)


def decisions(fired, label):
    """What MeasureDecisions measures."""
    tp, fp = np.sum(fired & label), np.sum(fired & ~label)
    fn, tn = np.sum(~fired & label), np.sum(~fired & ~label)
    n = len(label)
    return np.array([tp / (tp + fn), (tp + fp) / n, fp / (fp + tn), tp / (tp + fp), (tp + tn) / n,
                     (tp / (tp + fn) + tn / (tn + fp)) / 2, 2 * tp / (2 * tp + fp + fn), (tp + fn) / n, fn / (fn + tn)])


def main():
    """Fits and measures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file")
    parser.add_argument("--bootstrap", type=int, default=1000)
    arguments = parser.parse_args()
    start = time.perf_counter()
    with concurrent.futures.ProcessPoolExecutor(os.cpu_count()) as pool:
        kept, signals = fit(pool, arguments.file, arguments.bootstrap)
    used = os.times()
    cpu = used.user + used.system + used.children_user + used.children_system
    print(f"kept {kept} of {signals}; {time.perf_counter() - start:.1f} s, {cpu:.1f} s of CPU")


def fit(pool, file, draws):
    """Fits and measures; returns how many signals were kept, and had been there."""
    table = pq.read_table(file)
    label, split = table["label"].to_numpy(), table["split"].to_numpy(zero_copy_only=False)
    names = [c for c in table.column_names if c.startswith("signals.")]
    x = np.column_stack([table[c].to_numpy() for c in names])
    cal, test = split == "calibration", split == "test"
    y, xc = label[cal], x[cal]
    strength = {}
    for j, name in enumerate(names):
        area = roc_auc_score(y, xc[:, j])
        sign = 1 if area >= 0.5 else -1
        bounds = interval(pool, roc_auc_score, (y, sign * xc[:, j]), draws)
        strength[name] = (max(area, 1 - area), sign, bounds)
    kept = []
    for name in sorted(names, key=lambda n: -strength[n][0]):
        j = names.index(name)
        if strength[name][0] > 0.65 and all(abs(np.corrcoef(xc[:, j], xc[:, k])[0, 1]) <= 0.85 for k, _, _ in kept):
            false_alarm, recall, thresholds = roc_curve(y, strength[name][1] * xc[:, j])
            kept.append((j, strength[name][1], thresholds[np.argmax(recall - false_alarm)]))
    for j, sign, floor in kept:
        interval(pool, decisions, (sign * xc[:, j] >= floor, y), draws)
    for side in (cal, test):
        fired = np.any([sign * x[side][:, j] >= floor for j, sign, floor in kept], axis=0)
        interval(pool, decisions, (fired, label[side]), draws)
    return len(kept), len(names)


if __name__ == "__main__":
    main()
