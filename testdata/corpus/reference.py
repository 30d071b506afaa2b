"""Computes the numbers of this folder's cases from their definitions.

Standard library only, and nothing of the service: run it and compare its lines
with the cases of the same name.
"""

import math
from itertools import combinations
from statistics import fmean, pstdev


def rrf(*rankings, k=60):
    """Reciprocal rank fusion: the sum of 1 / (k + rank) over the lists."""
    fused = {}
    for ranking in rankings:
        for rank, item in enumerate(ranking, 1):
            fused[item] = fused.get(item, 0) + 1 / (k + rank)
    return fused


def entropy(masses):
    """Entropy in nats."""
    return -sum(p * math.log(p) for p in masses if p > 0) + 0.0


def dot(a, b):
    return math.fsum(x * y for x, y in zip(a, b))


def cosine(a, b):
    return dot(a, b) / math.hypot(*a) / math.hypot(*b)


def determinant(matrix):
    """Determinant by elimination with pivoting."""
    rows, result = [list(row) for row in matrix], 1.0
    for i in range(len(rows)):
        pivot = max(range(i, len(rows)), key=lambda r: abs(rows[r][i]))
        if pivot != i:
            rows[i], rows[pivot], result = rows[pivot], rows[i], -result
        result *= rows[i][i]
        for r in range(i + 1, len(rows)):
            factor = rows[r][i] / rows[i][i]
            rows[r] = [x - factor * y for x, y in zip(rows[r], rows[i])]
    return result


def gram_logdet(vectors, alpha=1e-3):
    """(1/k) log det(Z J Z' + alpha I), J taking off each vector's own mean."""
    centred = [[x - fmean(v) for x in v] for v in vectors]
    gram = [[dot(a, b) + (alpha if i == j else 0) for j, b in enumerate(centred)] for i, a in enumerate(centred)]
    return math.log(determinant(gram)) / len(vectors)


def show(name, value):
    print(f"{name}: {value!r}")


fused = rrf(["a", "b", "c", "d"], ["b", "a", "e"])
show("two-rankings max_score", max(fused.values()))
show("two-rankings score_stddev", pstdev(fused.values()))
show("two-rankings dense_stddev", pstdev([0.82, 0.61, 0.6, 0.42]))
show("two-rankings retriever_divergence", 1 - 2 / 4)
show("two-rankings jaccard", 2 / 5)

show("one-ranking score_stddev", pstdev([0.9, 0.7, 0.4]))
show("l2-distance score_stddev", pstdev([0.2, 0.5, 1.1]))

vectors = [(1, 0), (0.6, 0.8), (0, 1)]
show("embeddings mean_pairwise_cosine", fmean(cosine(a, b) for a, b in combinations(vectors, 2)))

show("five-samples semantic_entropy", entropy([4 / 6, 1 / 6, 1 / 6]))
show("five-samples normalized", entropy([4 / 6, 1 / 6, 1 / 6]) / math.log(6))

masses = [math.exp(-0.4) + math.exp(-0.9), math.exp(-1.2)]
total = sum(masses)
show("sample-logprobs semantic_entropy_weighted", -sum(m / total * math.log(m / total) for m in masses))
show("sample-logprobs sequence_entropy", -fmean([-0.4, -0.9, -1.2]))

show("first-token p_true", 0.75 / (0.75 + 0.15))
show("labels B", 0.6 / 0.9)

draft = [[0.7, 0.2, 0.1], [0.5, 0.5], [0.9, 0.1]]
show("draft mean_token_entropy", fmean(entropy(p) for p in draft))
show("draft margin", fmean(math.exp(-(math.log(p[0]) - math.log(p[1]))) for p in draft))
show("draft perplexity", math.exp(-fmean(math.log(p[0]) for p in draft)))
show("draft mean_token_probability", fmean(p[0] for p in draft))
show("three-drafts prefix_divergence", fmean([0, 1 / 3, 2 / 3]))

show("vectors gram_logdet", gram_logdet([(1, 2, 3), (2, 4, 9), (0, 1, 0)]))
