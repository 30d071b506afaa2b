"""The work of `plumbline calibrate fit` in NumPy and scikit-learn.

    python reference.py records.parquet [--bootstrap 1000]

Separation of each signal with a bootstrap interval, correlations, Youden's
floors, and what each floor and the policy catch and escalate, with intervals,
on the calibration split and on the records held out.
"""

import argparse
import time

import numpy as np
import pyarrow.parquet as pq
from sklearn.metrics import roc_auc_score, roc_curve


def interval(statistic, n, draws, rng):
    """A percentile interval over draws of records."""
    values = [statistic(rng.integers(0, n, n)) for _ in range(draws)]
    return np.percentile(values, [2.5, 97.5], axis=0)


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
    start, cpu = time.perf_counter(), time.process_time()
    table = pq.read_table(arguments.file)
    label, split = table["label"].to_numpy(), table["split"].to_numpy(zero_copy_only=False)
    names = [c for c in table.column_names if c.startswith("signals.")]
    x = np.column_stack([table[c].to_numpy() for c in names])
    rng = np.random.default_rng(0)
    cal, test = split == "calibration", split == "test"
    y, xc, draws = label[cal], x[cal], arguments.bootstrap
    strength = {}
    for j, name in enumerate(names):
        area = roc_auc_score(y, xc[:, j])
        sign = 1 if area >= 0.5 else -1
        oriented = sign * xc[:, j]
        bounds = interval(lambda i: roc_auc_score(y[i], oriented[i]), len(y), draws, rng)
        strength[name] = (max(area, 1 - area), sign, bounds)
    kept = []
    for name in sorted(names, key=lambda n: -strength[n][0]):
        j = names.index(name)
        if strength[name][0] > 0.65 and all(abs(np.corrcoef(xc[:, j], xc[:, k])[0, 1]) <= 0.85 for k, _, _ in kept):
            false_alarm, recall, thresholds = roc_curve(y, strength[name][1] * xc[:, j])
            kept.append((j, strength[name][1], thresholds[np.argmax(recall - false_alarm)]))
    for j, sign, floor in kept:
        fired = sign * xc[:, j] >= floor
        interval(lambda i: decisions(fired[i], y[i]), len(y), draws, rng)
    for side in (cal, test):
        fired = np.any([sign * x[side][:, j] >= floor for j, sign, floor in kept], axis=0)
        truth = label[side]
        interval(lambda i: decisions(fired[i], truth[i]), len(truth), draws, rng)
    print(f"kept {len(kept)} of {len(names)}; {time.perf_counter() - start:.1f} s, {time.process_time() - cpu:.1f} s of CPU")


if __name__ == "__main__":
    main()
