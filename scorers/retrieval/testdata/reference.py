"""Reference values for the retrieval signals, by other means than the Go code.

Every formula is written from its definition over whole arrays and sets (numpy,
scipy.stats, and the PyPI package rbo as a second opinion), so that it shares
no algorithm with the package under test. Prints JSON:

    pip install numpy==1.26.4 scipy==1.17.1 rbo==0.1.3
    python reference.py > reference.json
"""

import itertools
import json
import math
import re

import numpy as np
import rbo
from scipy import special, stats

P = 0.9
KINDS = ["COSINE", "DOT", "L2_DISTANCE", "BM25", "PROBABILITY", "LOGIT", "RRF", "DBSF", "RELATIVE", "UNSPECIFIED"]
RELATIVE = {"RRF", "DBSF", "RELATIVE"}


# --- rankings ---------------------------------------------------------------


def ordered(ranking):
    """(id, oriented score) pairs, best first, best of duplicates, ties by id."""
    sign = -1 if ranking["kind"] == "L2_DISTANCE" else 1
    best = {}
    for item in ranking["items"]:
        s = sign * item["score"]
        if item["id"] not in best or s > best[item["id"]]:
            best[item["id"]] = s
    return sorted(best.items(), key=lambda p: (-p[1], p[0]))


def fuse(rankings, constant):
    scores = {}
    for ranking in rankings:
        for rank, (doc, _) in enumerate(ordered(ranking), start=1):
            scores[doc] = scores.get(doc, 0) + 1 / (constant + rank)
    return sorted(scores.items(), key=lambda p: (-p[1], p[0]))


# --- scores -----------------------------------------------------------------


def score_signals(pairs, kind, corpus_mean, k, window, words, temperature=1):
    s = np.array([score for _, score in pairs[:k]])
    whole = np.array([score for _, score in pairs])
    out = {}
    if len(s) >= 1:
        out["max_score"] = s.max()
        out["mean_score"] = s.mean()
        out["window_last_score"] = s[: min(window, k)][-1]
    if len(s) >= 2:
        out["score_gap"] = s[0] - s[1]
        out["confidence_gap"] = np.ptp(s)
        out["relative_gap"] = (s[0] - s[1]) / max(abs(s[0]), abs(s[1]))
        out["score_stddev"] = out["uqc"] = np.std(s)
        out["coefficient_of_variation"] = stats.variation(s) * np.sign(s.mean())
        out["sigma_max"] = max(np.std(s[: n + 1]) for n in range(len(s)))
        out["score_entropy"] = stats.entropy(special.softmax(s / temperature)) / math.log(len(s))
        if s[0] > 0:
            top = s[s >= 0.5 * s[0]]
            if len(top) >= 2:
                out["sigma_x"] = np.std(top)
        if kind not in RELATIVE:
            sign = -1 if kind == "L2_DISTANCE" else 1
            corpus = whole.mean() if corpus_mean is None else sign * corpus_mean
            out["nqc"] = np.sqrt(np.mean((s - s.mean()) ** 2)) / abs(corpus)
            if words and (corpus_mean is not None or len(whole) > len(s)):
                out["wig"] = np.mean([(x - corpus) / math.sqrt(words) for x in s])
            if (s > 0).all():
                out["smv"] = np.mean(s * np.abs(np.log(s / s.mean()))) / abs(corpus)
    if len(s) >= 3:
        out["score_skewness"] = stats.skew(s)
    return out


# --- agreement --------------------------------------------------------------


def rbo_ext(a, b):
    """Eq. 32 of Webber, Moffat, Zobel (2010), set by set."""
    short, long = sorted([a, b], key=len)
    s, l = len(short), len(long)
    if s == 0:
        return 0.0
    x = [len(set(short[:d]) & set(long[:d])) for d in range(l + 1)]
    first = sum(x[d] / d * P**d for d in range(1, l + 1))
    second = sum(x[s] * (d - s) / (s * d) * P**d for d in range(s + 1, l + 1))
    value = (1 - P) / P * (first + second) + ((x[l] - x[s]) / l + x[s] / s) * P**l
    if s == l:
        assert abs(value - rbo.RankingSimilarity(a, b).rbo_ext(p=P)) < 1e-9
    return value


def positions(ranking, union, absent):
    return [ranking.index(d) + 1 if d in ranking else absent for d in union]


def footrule(a, b):
    absent = max(len(a), len(b)) + 1
    union = sorted(set(a) | set(b))
    distance = np.abs(np.subtract(positions(a, union, absent), positions(b, union, absent))).sum()
    apart = a + ["other " + d for d in b]
    disjoint = np.abs(np.subtract(positions(a, apart, absent), positions(["other " + d for d in b], apart, absent))).sum()
    return distance / disjoint


def kendall(a, b):
    union = sorted(set(a) | set(b))
    absent = max(len(a), len(b)) + 1
    return stats.kendalltau(positions(a, union, absent), positions(b, union, absent), variant="b").statistic


def agreement_signals(rankings, k, window):
    tops = {r["name"]: [d for d, _ in ordered(r)[:k]] for r in rankings if r["name"] != "fused"}
    measures = {
        "jaccard": lambda a, b: len(set(a) & set(b)) / len(set(a) | set(b)),
        "window_overlap": lambda a, b: len(set(a[:window]) & set(b[:window])) / max(len(a[:window]), len(b[:window])),
        "rbo": rbo_ext,
        "kendall_tau": kendall,
        "footrule": footrule,
        "top1_agreement": lambda a, b: float(a[:1] == b[:1]),
    }
    out = {}

    def over_pairs(name, measure, lists):
        if len(lists) < 2:
            return
        values = [measure(a, b) for a, b in itertools.combinations(lists, 2)]
        if any(math.isnan(v) for v in values):
            return
        out[name] = np.mean(values)
        out[name + "_worst"] = max(values) if name == "footrule" else min(values)

    if sum(len(t) >= 2 for t in tops.values()) >= len(tops) - 1:
        for name, measure in measures.items():
            over_pairs(name, measure, list(tops.values()))
    dense = [t for n, t in tops.items() if n.startswith("dense")]
    if sum(len(t) >= 2 for t in dense) >= len(dense) - 1:
        over_pairs("dense_agreement", measures["jaccard"], dense)
    if "dense" in tops and "sparse" in tops:
        a, b = tops["dense"], tops["sparse"]
        if max(len(a), len(b)) >= 2:
            out["retriever_divergence"] = 1 - len(set(a) & set(b)) / max(len(a), len(b))
    return out


# --- coherence --------------------------------------------------------------


def coherence_signals(pairs, embeddings, query, k, window):
    top = [d for d, _ in pairs[:k]]
    if not top or any(d not in embeddings for d in top):
        return {}
    vectors = np.array([embeddings[d] for d in top], dtype=np.float32).astype(np.float64)
    cos = np.array([[np.dot(u, v) / np.linalg.norm(u) / np.linalg.norm(v) for v in vectors] for u in vectors])
    scores = np.array([s for _, s in pairs[:k]])
    n, w = len(top), min(window, len(top))
    out = {}

    def mean_pair(m):
        return np.mean([cos[i, j] for i in range(m) for j in range(i)])

    if w >= 2:
        out["mean_pairwise_cosine"] = mean_pair(w)
        if mean_pair(n) > 0:
            out["pair_ratio"] = mean_pair(w) / mean_pair(n)
    if query is not None:
        q = np.array(query, dtype=np.float32).astype(np.float64)
        centroid = np.mean([v / np.linalg.norm(v) for v in vectors[:w]], axis=0)
        out["query_centroid_cosine"] = q @ centroid / np.linalg.norm(q) / np.linalg.norm(centroid)
    if n >= 3:
        weights = np.clip(cos, 0, None)
        np.fill_diagonal(weights, 0)
        sums = weights.sum(axis=1, keepdims=True)
        weights = np.divide(weights, sums, out=np.zeros_like(weights), where=sums > 0)
        z = stats.zscore(scores)
        out["spatial_autocorrelation"] = stats.pearsonr(z, weights @ z).statistic
    if n >= 2:
        out["near_duplicate_share"] = np.mean([any(cos[i, j] >= 0.95 for i in range(j)) for j in range(n)])
    return out


# --- coverage ---------------------------------------------------------------


def words_of(text):
    return re.findall(r"[a-z0-9]+", re.sub(r"'s\b", "", text.lower()))


def coverage_signals(question, named, texts, window, idf):
    """named: the entities, numbers and quotes of the question, by hand."""
    out = {}
    blobs = [" " + " ".join(words_of(t)) + " " for t in texts]

    def has(blob, thing):
        return f" {' '.join(words_of(thing))} " in blob

    for name in ("evidence", "number", "quote"):
        things = named[name]
        if things:
            out[name + "_coverage"] = np.mean([any(has(b, t) for b in blobs) for t in things])
            out[f"window_{name}_coverage"] = np.mean([any(has(b, t) for b in blobs[:window]) for t in things])
    terms = sorted(set(words_of(question)))
    n = len(texts)
    df = {t: sum(has(b, t) for b in blobs) for t in terms}
    weight = {t: math.log(1 + (n - df[t] + 0.5) / (df[t] + 0.5)) for t in terms}
    if idf:
        weight = {t: idf.get(t, max(idf.values())) for t in terms}
    for name, part in (("term_coverage", blobs), ("window_term_coverage", blobs[:window])):
        out[name] = sum(weight[t] for t in terms if any(has(b, t) for b in part)) / sum(weight.values())
    return out


# --- cases ------------------------------------------------------------------


def request(case):
    r = {
        "question": case.get("question", ""),
        "window": case["window"],
        "k": case["k"],
        "rankings": [
            {"name": x["name"], "score_kind": "SCORE_KIND_" + x["kind"], "items": x["items"]}
            | ({} if x.get("corpus_mean") is None else {"corpus_mean_score": x["corpus_mean"]})
            for x in case["rankings"]
        ],
    }
    if case.get("query") is not None:
        r["query_embedding"] = case["query"]
    if case.get("rrf_k"):
        r["rrf_k"] = case["rrf_k"]
    if case.get("temperature"):
        r["softmax_temperature"] = case["temperature"]
    if case.get("idf"):
        r["idf"] = case["idf"]
    return r


def expected(case):
    rankings, k, window = case["rankings"], case["k"], min(case["window"], case["k"])
    words = len(words_of(case.get("question", "")))
    named = {r["name"]: r for r in rankings}
    if "fused" in named or len(rankings) == 1:
        source = named.get("fused", rankings[0])
        pairs, kind, mean = ordered(source), source["kind"], source.get("corpus_mean")
    else:
        pairs, kind, mean = fuse(rankings, case.get("rrf_k") or 60), "RRF", None
    out = score_signals(pairs, kind, mean, k, window, words, case.get("temperature") or 1)
    for part in ("dense", "sparse"):
        if part in named:
            r = named[part]
            values = score_signals(ordered(r), r["kind"], r.get("corpus_mean"), k, window, words)
            for name, short in (("max_score", "max_score"), ("confidence_gap", "gap"), ("score_stddev", "stddev"),
                                ("nqc", "nqc"), ("wig", "wig"), ("smv", "smv")):
                if name in values:
                    out[f"{part}_{short}"] = values[name]
    out |= agreement_signals(rankings, k, window)
    if case.get("embeddings"):
        out |= coherence_signals(pairs, case["embeddings"], case.get("query"), k, window)
    if case.get("named"):
        texts = {i["id"]: i.get("text", "") for r in rankings for i in r["items"]}
        out |= coverage_signals(case["question"], case["named"], [texts[d] for d, _ in pairs[:k]], window, case.get("idf"))
    return {name: float(v) for name, v in sorted(out.items())}


def scores_of(kind, rng, n):
    draw = {
        "COSINE": lambda: rng.uniform(-0.4, 0.95, n),
        "DOT": lambda: rng.normal(10, 20, n),
        "L2_DISTANCE": lambda: rng.uniform(0.1, 2, n),
        "BM25": lambda: rng.gamma(3, 4, n),
        "PROBABILITY": lambda: rng.beta(2, 3, n),
        "LOGIT": lambda: rng.normal(-1, 4, n),
        "RRF": lambda: 1 / (60 + rng.permutation(n) + 1),
        "DBSF": lambda: rng.uniform(0, 2, n),
        "RELATIVE": lambda: rng.uniform(0, 1, n),
        "UNSPECIFIED": lambda: rng.normal(0, 1, n),
    }
    return [float(x) for x in draw[kind]()]


def random_cases(rng):
    names = [["fused"], ["dense"], ["dense", "sparse"], ["dense", "fused", "sparse"],
             ["bm25", "dense_a", "dense_b", "sparse"], ["dense", "dense_bge", "dense_e5", "fused", "sparse"]]
    for i in range(60):
        rankings, embeddings = [], {}
        for name in names[i % len(names)]:
            n = int(rng.integers(2, 15))
            kind = KINDS[int(rng.integers(len(KINDS)))]
            ids = [f"d{j}" for j in rng.choice(20, n, replace=False)]
            items = [{"id": d, "score": s} for d, s in zip(ids, scores_of(kind, rng, n))]
            if i % 5 == 0 and kind != "RRF":  # a repetition, and a tie
                items.append({"id": ids[0], "score": items[0]["score"] - 0.01})
                items[1]["score"] = items[-2]["score"]
            mean = float(rng.uniform(0.05, 0.3)) if rng.random() < 0.5 else None
            rankings.append({"name": name, "kind": kind, "items": items, "corpus_mean": mean})
        case = {"rankings": rankings, "window": int(rng.integers(2, 5)), "k": int(rng.integers(5, 11)),
                "question": "a question of just seven plain words", "rrf_k": [0, 2, 20][i % 3], "temperature": [0, 0.05, 3][i % 3]}
        if i % 2 == 0:
            centre = rng.normal(size=8)
            for d in {item["id"] for r in rankings for item in r["items"]}:
                embeddings[d] = [float(np.float32(x)) for x in centre + rng.normal(size=8)]
            docs = sorted(embeddings)
            embeddings[docs[-1]] = [2 * x for x in embeddings[docs[0]]]  # a near-duplicate
            for r in rankings:
                for item in r["items"]:
                    item["embedding"] = embeddings[item["id"]]
            case |= {"embeddings": embeddings, "query": [float(np.float32(x)) for x in centre]}
        yield f"random {i}", case


TEXTS = [
    "Peter Jackson directed The Lord of the Rings; the first part came out in 2001.",
    "The Fellowship of the Ring is a film by Peter Jackson, a New Zealander.",
    "Fran Walsh wrote the script with Philippa Boyens.",
    "In 2003 the third part won eleven awards, and 1000 extras had been hired.",
    "Howard Shore's music is for a large orchestra.",
]


def coverage_cases():
    rows = [
        ("Who directed The Lord of the Rings in 2001 with Fran Walsh's help?",
         {"evidence": ["The Lord of the Rings", "2001", "Fran Walsh"], "number": ["2001"], "quote": []}, None),
        ('Was "The Two Towers" or "the first part" shown in 2003, and who is Howard Shore?',
         {"evidence": ["The Two Towers", "2003", "Howard Shore"], "number": ["2003"],
          "quote": ["The Two Towers", "the first part"]}, None),
        ("Did Peter Jackson hire 1000 extras in 1998?",
         {"evidence": ["Peter Jackson", "1000", "1998"], "number": ["1000", "1998"], "quote": []},
         {"did": 0.1, "peter": 3.2, "jackson": 3.9, "hire": 5.0, "extras": 6.5, "in": 0.01}),
        ("what did the orchestra of the third part play?", {"evidence": [], "number": [], "quote": []}, None),
    ]
    for i, (question, named, idf) in enumerate(rows):
        items = [{"id": f"t{j}", "score": 0.9 - 0.1 * j, "text": t} for j, t in enumerate(TEXTS)]
        ranking = {"name": "dense", "kind": "COSINE", "items": items}
        yield f"coverage {i}", {"rankings": [ranking], "window": 2, "k": 10, "question": question, "named": named, "idf": idf}


def main():
    rng = np.random.default_rng(20240607)
    cases = [{"name": name, "request": request(case), "expected": expected(case)}
             for name, case in itertools.chain(random_cases(rng), coverage_cases())]
    print("[\n" + ",\n".join(json.dumps(case) for case in cases) + "\n]")


if __name__ == "__main__":
    main()
