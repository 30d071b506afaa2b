"""Makes golden.json: statistics by SciPy and scikit-learn for stats_test.go.

Run with numpy, scipy and scikit-learn installed:

    python make_golden.py > golden.json

Where neither library has the statistic (ECE, AURC) the definition of the Go
doc comment is written out here, independently, in NumPy.
"""

import json
import sys

import numpy as np
import scipy
import sklearn
from scipy import optimize, special, stats
from sklearn import metrics
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression

rng = np.random.default_rng(20261130)


def binary_cases():
    """Labelled scores: plain, tied, constant, tiny, separable."""
    yield "plain", rng.random(200), rng.random(200) < 0.4
    yield "ties", np.round(rng.random(150), 1), rng.random(150) < 0.5
    yield "constant", np.full(20, 0.25), np.arange(20) % 3 == 0
    yield "tiny", np.array([0.2, 0.8]), np.array([False, True])
    yield "three", np.array([0.5, 0.5, 0.1]), np.array([True, False, False])
    yield "separable", np.linspace(0, 1, 40), np.arange(40) >= 20
    yield "borders", np.array([0, 0.2, 0.2, 0.4, 0.6, 0.8, 1.0, 1.0]), np.array([0, 1, 0, 1, 0, 1, 1, 0], bool)


def equal_width(p, y, bins):
    """ECE and MCE of right-closed bins of equal width, 0 in the first."""
    edges = np.array([b / bins for b in range(1, bins + 1)])
    which = np.searchsorted(edges, p, side="left").clip(max=bins - 1)
    gaps = [(np.sum(which == b), abs(y[which == b].mean() - p[which == b].mean())) for b in np.unique(which)]
    return sum(n * g for n, g in gaps) / len(p), max(g for _, g in gaps)


def equal_mass(p, y, bins):
    """ECE of bins of equal mass, borders rounded half to even, ties stable."""
    idx = np.argsort(p, kind="stable")
    edges = [round(b * len(p) / bins) for b in range(bins + 1)]
    parts = [idx[a:b] for a, b in zip(edges, edges[1:]) if b > a]
    return sum(len(i) * abs(y[i].mean() - p[i].mean()) for i in parts) / len(p)


def aurc(confidence, correct):
    """Mean of the selective risk, errors spread evenly within ties."""
    idx = np.argsort(-confidence, kind="stable")
    error = (~correct[idx]).astype(float)
    c = confidence[idx]
    spread = np.array([error[c == v].mean() for v in c])
    return float(np.mean(np.cumsum(spread) / np.arange(1, len(c) + 1)))


def binary(name, s, y):
    """Every statistic of one labelled score."""
    y = np.asarray(y, bool)
    yf = y.astype(float)
    out = {"name": name, "scores": s.tolist(), "labels": y.tolist()}
    out["auroc"] = metrics.roc_auc_score(y, s)
    out["auprc"] = metrics.average_precision_score(y, s)
    out["brier"] = metrics.brier_score_loss(y, s)
    out["log_loss"] = metrics.log_loss(y, s)
    out["accuracy"] = metrics.accuracy_score(y, s >= 0.5)
    out["balanced_accuracy"] = metrics.balanced_accuracy_score(y, s >= 0.5)
    if (y | (s >= 0.5)).any():
        out["f1"] = metrics.f1_score(y, s >= 0.5)
    for bins in (5, 10, 15):
        out[f"ece_width_{bins}"], out[f"mce_width_{bins}"] = equal_width(s, yf, bins)
        out[f"ece_mass_{bins}"] = equal_mass(s, yf, bins)
    out["aurc"] = aurc(s, y)
    false_alarm, recall, _ = metrics.roc_curve(y, s, drop_intermediate=False)
    precision, _, _ = metrics.precision_recall_curve(y, s)
    out["roc_false_alarm"], out["roc_recall"] = false_alarm.tolist(), recall.tolist()
    out["precision"] = precision[::-1].tolist()
    iso = IsotonicRegression(out_of_bounds="clip").fit(s, yf)
    grid = np.linspace(-0.1, 1.1, 13)
    out["isotonic_grid"], out["isotonic"] = grid.tolist(), iso.predict(grid).tolist()
    return out


def paired_cases():
    """Paired samples for correlations and the signed-rank test."""
    x = rng.normal(size=30)
    yield "exact", x, x + rng.normal(size=30)
    yield "exact50", *rng.normal(size=(2, 50))
    yield "normal", *rng.normal(size=(2, 120))
    a = rng.integers(0, 5, 60).astype(float)
    yield "ties and zeros", a, rng.integers(0, 5, 60).astype(float)
    yield "two", np.array([1.0, 3.0]), np.array([0.5, 1.0])
    yield "one sided", np.arange(1.0, 9), np.zeros(8)


def paired(name, x, y):
    """Every statistic of one pair of samples."""
    d = x - y
    nz = d[d != 0]
    exact = len(nz) <= 50 and len(np.unique(np.abs(nz))) == len(nz)
    w = stats.wilcoxon(nz, method="exact" if exact else "asymptotic", correction=not exact, zero_method="wilcox")
    out = {"name": name, "x": x.tolist(), "y": y.tolist()}
    out["wilcoxon"], out["wilcoxon_p"], out["exact"] = float(w.statistic), float(w.pvalue), bool(exact)
    if len(np.unique(y)) > 1:
        out["pearson"] = float(stats.pearsonr(x, y).statistic)
        out["spearman"] = float(stats.spearmanr(x, y).statistic)
    return out


def logistic_gradient(beta, x, y, c):
    """The gradient of |w|^2 / 2 + C * log-loss."""
    residual = special.expit(x @ beta[:-1] + beta[-1]) - y
    return np.append(beta[:-1] / c + x.T @ residual, residual.sum())


def logistic():
    """L2 logistic regressions, solved tightly."""
    for n, width, c in ((60, 2, 1.0), (200, 5, 0.1), (300, 3, 10.0)):
        x = rng.normal(size=(n, width))
        y = rng.random(n) < 1 / (1 + np.exp(-(x @ rng.normal(size=width) + 0.3)))
        m = LogisticRegression(C=c, solver="newton-cholesky", tol=1e-13, max_iter=1000).fit(x, y)
        # scikit-learn stops at about 1e-8; SciPy's root finder takes its
        # solution to the zero of the same objective's gradient.
        start = np.append(m.coef_[0], m.intercept_)
        best = optimize.root(logistic_gradient, start, args=(x, y, c), tol=1e-15).x
        assert np.abs(best - start).max() < 1e-6
        yield {"rows": x.tolist(), "targets": y.astype(float).tolist(), "c": c,
               "weights": best[:-1].tolist(), "intercept": float(best[-1])}


json.dump({
    "made_with": {"numpy": np.__version__, "scipy": scipy.__version__, "scikit-learn": sklearn.__version__},
    "binary": [binary(*c) for c in binary_cases()],
    "paired": [paired(*c) for c in paired_cases()],
    "logistic": list(logistic()),
    "quantiles": {"values": sorted(v := rng.random(17).tolist()), "q": [0, 0.025, 0.3, 0.5, 0.975, 1],
                  "expected": np.quantile(v, [0, 0.025, 0.3, 0.5, 0.975, 1]).tolist()},
}, sys.stdout, separators=(",", ":"))
