"""Writes rows.jsonl and golden.json: made rows, and their figures by scikit-learn.

AUROC, balanced accuracy and the Brier score are scikit-learn's. ECE-15, the
cross-fitted threshold (by trying every one) and the bootstrap over documents are
written out here in NumPy, apart from the Go code. The bootstrap draws other
random numbers than Go does, so that its intervals agree only about. Run in this
folder:

    pip install numpy==2.4.6 scikit-learn==1.9.1
    python make_golden.py
"""

import json
import zlib

import numpy as np
from sklearn.metrics import balanced_accuracy_score, brier_score_loss, roc_auc_score

DRAWS = 2000
rng = np.random.default_rng(20261130)


def make_set(name, rows, documents, prevalence, strength, digits):
    document = rng.integers(0, documents, rows)
    mood = rng.normal(0, 1, documents)  # claims about one document resemble each other
    label = rng.random(rows) < prevalence
    logit = strength * (label - 0.5) + mood[document] + rng.normal(0, 1, rows)
    support = np.round(1 / (1 + np.exp(-logit)), digits)
    for i in range(rows):
        yield {
            "set": name,
            "id": f"{name}-{i}",
            "label": bool(label[i]),
            "document": f"{name}-{document[i]}",
            "words": int(20 + 90 * (document[i] % 14)),
            "types": [["number"], ["name", "negation"], ["none of these"]][i % 3],
            "support": float(support[i]),
        }


def columns(rows):
    return (
        np.array([r["label"] for r in rows]),
        np.array([r["support"] for r in rows]),
        np.array([r["document"] for r in rows]),
    )


def half(document):
    return zlib.crc32(document.encode()) & 1


def mean_balanced_accuracy(sets, threshold):
    return np.mean([balanced_accuracy_score(y, s >= threshold) for y, s, _ in sets])


def best_threshold(sets):
    """The highest of the best thresholds: midway between neighbouring scores."""
    scores = np.unique(np.concatenate([s for _, s, _ in sets]))
    candidates = (scores[1:] + scores[:-1]) / 2
    values = np.array([mean_balanced_accuracy(sets, t) for t in candidates])
    return float(candidates[np.flatnonzero(values > values.max() - 1e-12)[-1]])


def ece(label, support, bins=15):
    which = np.clip(np.searchsorted(np.arange(1, bins) / bins, support, side="left"), 0, bins - 1)
    return sum(abs(label[which == b].sum() - support[which == b].sum()) for b in np.unique(which)) / len(label)


def figures(label, support, chosen, threshold=0.5):
    return {
        "auroc": roc_auc_score(label, support),
        "balanced_accuracy": balanced_accuracy_score(label, support >= threshold),
        "balanced_accuracy_chosen": balanced_accuracy_score(label, support >= chosen),
        "ece_15": ece(label, support),
        "brier": brier_score_loss(label, support),
    }


def draws(label, support, document, chosen):
    names = np.unique(document)
    members = [np.flatnonzero(document == d) for d in names]
    out = []
    for _ in range(DRAWS):
        rows = np.concatenate([members[i] for i in rng.integers(0, len(names), len(names))])
        out.append(list(figures(label[rows], support[rows], chosen[rows]).values()))
    return np.array(out)


LENGTHS = [50, 200, 500, 1000, float("inf")]
TYPES = ["name", "negation", "none of these", "number"]
LEAST = 10  # rows of either class that a set needs in a slice


def slice_of(made, within):
    """The mean over the sets that have enough rows of either class in a slice, and those rows."""
    parts = [columns(part) for rows in made.values() if (part := [r for r in rows if within(r)])]
    parts = [(y, s) for y, s, _ in parts if min(y.sum(), (~y).sum()) >= LEAST]
    of_sets = [[roc_auc_score(y, s), balanced_accuracy_score(y, s >= 0.5)] for y, s in parts]
    mean = dict(zip(["auroc", "balanced_accuracy"], map(float, np.mean(of_sets, axis=0)), strict=True)) if of_sets else {}
    return {"rows": sum(len(y) for y, _ in parts), "sets": len(parts), **mean}


def main():
    made = {
        "alpha": list(make_set("alpha", 240, 40, 0.5, 1.6, 2)),
        "beta": list(make_set("beta", 150, 150, 0.3, 0.8, 3)),
        "gamma": list(make_set("gamma", 90, 12, 0.7, 2.2, 1)),
    }
    with open("rows.jsonl", "w", encoding="utf-8") as out:
        for rows in made.values():
            for row in rows:
                out.write(json.dumps(row) + "\n")
    sets = {name: columns(rows) for name, rows in made.items()}
    halves = []
    for h in (0, 1):
        other = [(y[k], s[k], d[k]) for y, s, d in sets.values() for k in [np.array([half(x) != h for x in d])]]
        halves.append(best_threshold(other))
    golden = {"halves": halves, "all": best_threshold(list(sets.values())), "sets": {}}
    golden["lengths"] = [
        slice_of(made, lambda r, low=low, high=high: low < r["words"] <= high)
        for low, high in zip([0, *LENGTHS], LENGTHS, strict=False)
    ]
    golden["types"] = [slice_of(made, lambda r, kind=kind: kind in r["types"]) for kind in TYPES]
    per_set = []
    for name, (y, s, d) in sets.items():
        chosen = np.array([halves[half(x)] for x in d])
        drawn = draws(y, s, d, chosen)
        per_set.append(drawn)
        lower, upper = np.quantile(drawn, [0.025, 0.975], axis=0)
        values = figures(y, s, chosen)
        golden["sets"][name] = {
            f: {"value": float(v), "lower": float(lower[i]), "upper": float(upper[i])} for i, (f, v) in enumerate(values.items())
        }
    mean = np.mean(per_set, axis=0)
    lower, upper = np.quantile(mean, [0.025, 0.975], axis=0)
    names = list(next(iter(golden["sets"].values())))
    golden["mean"] = {
        f: {
            "value": float(np.mean([golden["sets"][s][f]["value"] for s in sets])),
            "lower": float(lower[i]),
            "upper": float(upper[i]),
        }
        for i, f in enumerate(names)
    }
    with open("golden.json", "w", encoding="utf-8") as out:
        json.dump(golden, out, indent=1)
        out.write("\n")


if __name__ == "__main__":
    main()
