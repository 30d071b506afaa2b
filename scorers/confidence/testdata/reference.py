"""Reference values for the confidence scores, by a second implementation.

Written from the published formulas with NumPy, SciPy-free, and on purpose in
the plainest form: full matrices over all responses with duplicates spelled
out, dynamic programming for subsequences, mpmath where rounding matters.

    pip install numpy==2.4.6 mpmath==1.4.1
    python reference.py > reference.json
"""

import json
import math
import random

import mpmath
import numpy as np

rng = random.Random(20261130)
mpmath.mp.dps = 60

POOL = [
    "the red house",
    "a red house by the river",
    "the river",
    "house of the red river",
    "blue boats",
    "la maison rouge",
    "the old red house by the blue river",
]


def softmax(xs):
    e = np.exp(np.array(xs) - max(xs))
    return (e / e.sum()).tolist()


def label(p):  # entailment, neutral, contradiction
    return ("entailment", "neutral", "contradiction")[int(np.argmax(p))]


def equivalent(rule, ab, ba):
    pair = {ab, ba}
    if rule == "STRICT":
        return pair == {"entailment"}
    if rule == "NON_STRICT":
        return "contradiction" not in pair and pair != {"neutral"}
    return "entailment" in pair


def union_find(n, same):
    sets = [{i} for i in range(n)]
    for i in range(n):
        for j in range(i + 1, n):
            if same(i, j):
                a = next(s for s in sets if i in s)
                b = next(s for s in sets if j in s)
                if a is not b:
                    sets.remove(b)
                    a |= b
    return sorted(sorted(s) for s in sets)


def first_head(n, same):
    groups = []
    for i in range(n):
        for g in groups:
            if same(g[0], i):
                g.append(i)
                break
        else:
            groups.append([i])
    return groups


def last_head(n, same):
    ids, following = [-1] * n, 0
    for i in range(n):
        if ids[i] == -1:
            ids[i] = following
            for j in range(i + 1, n):
                if same(i, j):
                    ids[j] = following
            following += 1
    return [[i for i in range(n) if ids[i] == c] for c in range(following)]


def every_head(n, same):
    groups = []
    for i in range(n):
        hits = [g for g in groups if same(g[0], i)]
        for g in hits:
            g.append(i)
        if not hits:
            groups.append([i])
    return groups


CLUSTERINGS = {
    "UNION_FIND": union_find,
    "FIRST_HEAD": first_head,
    "LAST_HEAD": last_head,
    "EVERY_HEAD": every_head,
}


def entropy(weights):
    w = np.array(weights, dtype=float)
    p = w[w > 0] / w.sum()
    return float(-(p * np.log(p)).sum()) + 0.0


def rao(groups, texts, logs, once):
    """Likelihood-weighted entropy in 60 digits; None where nothing is known."""
    mass = []
    for g in groups:
        items = [i for i in g if logs[i] is not None]
        if once:
            best = {}
            for i in items:
                best[texts[i]] = max(best.get(texts[i], -math.inf), logs_of(texts, logs, texts[i]))
            # a text counts in a group through its likeliest occurrence only
            items = [next(i for i in range(len(texts)) if texts[i] == t and logs[i] == l) for t, l in best.items()]
            items = [i for i in items if i in g]
        mass.append(sum((mpmath.e ** mpmath.mpf(logs[i]) for i in items), mpmath.mpf(0)))
    total = sum(mass)
    if total == 0:
        return None
    return float(-sum(m / total * mpmath.log(m / total) for m in mass if m > 0))


def logs_of(texts, logs, text):
    return max(l for t, l in zip(texts, logs) if t == text and l is not None)


def rouge_l(a, b):
    a, b = a.split(), b.split()
    t = [[0] * (len(b) + 1) for _ in range(len(a) + 1)]
    for i, x in enumerate(a):
        for j, y in enumerate(b):
            t[i + 1][j + 1] = t[i][j] + 1 if x == y else max(t[i][j + 1], t[i + 1][j])
    lcs = t[-1][-1]
    if lcs == 0:
        return 0.0
    p, r = lcs / len(a), lcs / len(b)
    return 2 * p * r / (p + r)


def graph_scores(E):
    n = len(E)
    W = (E + E.T) / 2
    d = W.sum(axis=1)
    L = np.eye(n) - np.diag(d**-0.5) @ W @ np.diag(d**-0.5)
    lam, vec = np.linalg.eigh(L)
    kept = [vec[:, k] for k in range(n) if lam[k] < 0.9]
    ecc = math.sqrt(sum(((v - v.mean()) ** 2).sum() for v in kept))
    return 1 - W.sum() / n**2, float(np.maximum(0, 1 - lam).sum()), ecc


def responses_case():
    size = rng.randint(2, len(POOL))
    pool = rng.sample(POOL, size)
    P = [[softmax([rng.gauss(0, 2) for _ in range(3)]) for _ in range(size)] for _ in range(size)]
    for i in range(size):
        P[i][i] = softmax([4 + rng.random(), 0.0, -2.0])
    n = rng.randint(2, 9)
    ids = [rng.randrange(size) for _ in range(n)]
    texts = [pool[i] for i in ids]
    E = np.array([[P[a][b][0] for b in ids] for a in ids])
    C = np.array([[P[a][b][2] for b in ids] for a in ids])
    logs = [None] + [rng.choice([None, -rng.random() * 30]) if rng.random() < 0.3 else -rng.random() * 30 for _ in ids[1:]]

    def lab(i, j):
        return label(P[ids[i]][ids[j]])

    deg, eig, ecc = graph_scores(E)
    S = E / (E + C)
    luq = 1 - float(np.mean([(S[i].sum() - S[i, i]) / (n - 1) for i in range(n)]))
    support = E > C
    sets = len(union_find(n, lambda i, j: ids[i] == ids[j] or (support[i, j] and support[j, i])))
    lexical = float(np.mean([rouge_l(texts[i], texts[j]) for i in range(n) for j in range(i + 1, n)]))

    sc = {}
    for rule in ("ENTAIL_BOTH", "ENTAIL_EITHER", "NOT_CONTRADICT"):
        hits = 0
        for j in range(1, n):
            ab, ba = lab(0, j), lab(j, 0)
            hits += ids[j] == ids[0] or {
                "ENTAIL_BOTH": ab == ba == "entailment",
                "ENTAIL_EITHER": "entailment" in (ab, ba),
                "NOT_CONTRADICT": "contradiction" not in (ab, ba),
            }[rule]
        sc[rule] = hits / (n - 1)
    dinco = sum(ids[j] == ids[0] or (E[0, j] + E[j, 0]) / 2 > 0.9 for j in range(1, n))
    sc["DINCO"] = (dinco + 1) / n

    semantic = []
    for eq in ("STRICT", "NON_STRICT", "EITHER"):
        same = lambda i, j: ids[i] == ids[j] or equivalent(eq, lab(i, j), lab(j, i))  # noqa: E731
        for name, cluster in CLUSTERINGS.items():
            groups = cluster(n, same)
            h = entropy([len(g) for g in groups])
            semantic.append(
                {
                    "equivalence": eq,
                    "clustering": name,
                    "clusters": groups,
                    "entropy": h,
                    "normalized": h / math.log(n),
                    "weighted_each": rao(groups, texts, logs, False),
                    "weighted_once": rao(groups, texts, logs, True),
                }
            )
    known = [l for l in logs if l is not None]
    return {
        "pool": pool,
        "probabilities": P,
        "ids": ids,
        "logprobs": logs,
        "degree_matrix": deg,
        "eigenvalues_laplacian": eig,
        "eccentricity": ecc,
        "luq": luq,
        "semantic_sets": sets,
        "lexical_similarity": lexical,
        "sc": sc,
        "semantic": semantic,
        "sequence_entropy": -float(np.mean(known)) if known else None,
    }


def nvc_case():
    n = rng.randint(1, 6)
    p = [rng.random()] + [rng.choice([None, rng.random(), rng.random(), rng.random()]) for _ in range(n - 1)]
    E = [[rng.random() / 2 for _ in range(n)] for _ in range(n)]
    C = [[rng.random() / 2 for _ in range(n)] for _ in range(n)]
    used = [j for j in range(1, n) if p[j] is not None]
    D = p[0]
    for j in used:
        u = 1 + sum(E[i][j] for i in used if i != j)
        D += p[j] * (C[0][j] + C[j][0]) / 2 / u
    return {"p_true": p, "entail": E, "contradict": C, "nvc": p[0] / D if D > 1 else p[0], "D": D, "used": len(used)}


def gram_case(k, d, scale, noise, alpha):
    base = [rng.gauss(0, scale) for _ in range(d)]
    Z = [[float(np.float32(x + rng.gauss(0, noise))) for x in base] for _ in range(k)]
    centred = [[mpmath.mpf(x) - mpmath.fsum(map(mpmath.mpf, row)) / d for x in row] for row in Z]
    G = mpmath.matrix(k, k)
    for i in range(k):
        for j in range(k):
            G[i, j] = mpmath.fsum(a * b for a, b in zip(centred[i], centred[j])) + (mpmath.mpf(alpha) if i == j else 0)
    return {"vectors": Z, "alpha": alpha, "gram_logdet": float(mpmath.log(mpmath.det(G)) / k)}


def draft_case():
    vocabulary = ["the", " red", " house", " river", ".", "é"]
    draft = []
    for _ in range(rng.randint(1, 12)):
        p = softmax([rng.gauss(0, 2) for _ in vocabulary])
        k = rng.randint(2, len(vocabulary))
        top = sorted(range(len(vocabulary)), key=lambda i: -p[i])[:k]
        chosen = rng.randrange(len(vocabulary))
        draft.append(
            {
                "token": vocabulary[chosen],
                "logprob": math.log(p[chosen]),
                "top": [[vocabulary[i], math.log(p[i])] for i in rng.sample(top, k)],
            }
        )
    beta = rng.choice([0.5, 1.0, 2.0])
    H, M = [], []
    for t in draft:
        q = sorted((math.exp(l) for _, l in t["top"]), reverse=True)
        rest = 1 - sum(q)
        H.append(-sum(x * math.log(x) for x in q + ([rest] if rest > 1e-6 else [])))
        M.append((q[1] / q[0]) ** (1 / beta))
    p = [math.exp(t["logprob"]) for t in draft]
    doubtful, at = [], 0
    for i, t in enumerate(draft):
        size = len(t["token"].encode())
        if p[i] <= 0.4:
            doubtful.append([i, at, at + size])
        at += size
    return {
        "draft": draft,
        "beta": beta,
        "mean_token_entropy": float(np.mean(H)),
        "margin": float(np.mean(M)),
        "min_token_probability": min(p),
        "mean_token_probability": float(np.mean(p)),
        "perplexity": float(np.prod([1 / x for x in p]) ** (1 / len(p))),
        "doubtful": doubtful,
    }


if __name__ == "__main__":
    print(
        json.dumps(
            {
                "responses": [responses_case() for _ in range(30)],
                "nvc": [nvc_case() for _ in range(40)],
                "gram": [
                    gram_case(2, 3, 1, 1, 1e-3),
                    gram_case(5, 3, 1, 1, 1e-3),
                    gram_case(8, 16, 1, 0.1, 1e-2),
                    gram_case(6, 40, 100, 1e-3, 1e-3),
                    gram_case(6, 40, 1000, 0, 1e-3),
                    gram_case(4, 12, 1e6, 0, 1e-3),
                ],
                "drafts": [draft_case() for _ in range(20)],
            },
            ensure_ascii=False,
            separators=(",", ":"),
        )
    )
