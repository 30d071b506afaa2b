"""Figures of the evaluation: AUROC and calibration error with bootstrap
intervals, and token F1 of short answers."""

import collections
import re
import string

import numpy as np
from scipy.stats import rankdata

DRAWS = 1000
SEED = 0
BINS = 15


def auroc(right, scores):
    """The share of (right, wrong) pairs in which the right one scores higher,
    ties counting half, along the last axis. NaN where one side is absent."""
    right = np.asarray(right, dtype=bool)
    ranks = rankdata(scores, axis=-1)
    n_right = right.sum(axis=-1)
    n_wrong = right.shape[-1] - n_right
    with np.errstate(divide="ignore", invalid="ignore"):
        above = (ranks * right).sum(axis=-1) - n_right * (n_right + 1) / 2
        return above / (n_right * n_wrong)


def calibration_error(right, confidences):
    """Expected calibration error over BINS bins of equal width, along the last
    axis: mean |share right − mean confidence| of the bins, by their sizes. A bin is
    closed on the right, as in scorers/calibration/stats; the first holds 0 too."""
    right = np.asarray(right, dtype=float)
    confidences = np.asarray(confidences, dtype=float)
    # By comparison with the borders themselves, on which confidences often lie.
    bins = np.searchsorted(np.arange(1, BINS) / BINS, confidences, side="left")
    gaps = [np.abs(((right - confidences) * (bins == b)).sum(axis=-1)) for b in range(BINS)]
    return sum(gaps) / right.shape[-1]


def estimate(figure, right, scores, groups=None):
    """The figure, and the 2.5th and 97.5th percentile of it over DRAWS bootstrap
    draws. With groups, whole groups are drawn: records of one group (sentences
    of one passage, say) are not independent."""
    right, scores = np.asarray(right), np.asarray(scores, dtype=float)
    random = np.random.default_rng(SEED)
    if groups is None:
        draws = random.integers(0, len(right), (DRAWS, len(right)))
        drawn = figure(right[draws], scores[draws])
    else:
        members = collections.defaultdict(list)
        for i, group in enumerate(groups):
            members[group].append(i)
        members = [np.array(m) for m in members.values()]
        drawn = []
        for _ in range(DRAWS):
            draw = np.concatenate([members[g] for g in random.integers(0, len(members), len(members))])
            drawn.append(figure(right[draw], scores[draw]))
    low, high = np.nanpercentile(drawn, [2.5, 97.5])
    return {"value": float(figure(right, scores)), "low": float(low), "high": float(high), "n": len(right)}


def normalised(answer):
    """SQuAD's normalisation of a short answer."""
    answer = "".join(c for c in answer.lower() if c not in string.punctuation)
    return " ".join(re.sub(r"\b(a|an|the)\b", " ", answer).split())


def token_f1(answer, gold):
    """The best token F1 of the answer against any of the gold answers."""
    return max(_f1(normalised(answer).split(), normalised(g).split()) for g in gold)


def _f1(got, want):
    shared = sum((collections.Counter(got) & collections.Counter(want)).values())
    if not shared:
        return float(got == want)
    precision, recall = shared / len(got), shared / len(want)
    return 2 * precision * recall / (precision + recall)
