"""What the code published with "Route Retrieval by Evidence" computes.

Runs that code (qdrant-labs/self-correcting-loops-workshop at commit 15a02b0,
src/signals.py, of which nothing is kept here) on requests of our own and prints
the numbers that compat SOURCE must give:

    python source_reference.py PATH/TO/self-correcting-loops-workshop/src > source.json
"""

import json
import random
import sys
from types import SimpleNamespace

sys.path.insert(0, sys.argv[1])
import signals  # noqa: E402

TEXTS = [
    ("The Lord of the Rings", "Peter Jackson directed the films, of which the first came out in 2001."),
    ("Paris", "The capital of FRANCE, where the Université de Paris stands; see O'Brien 1999."),
    ("", "unrelated words about the boiling point of water"),
    ("Ludwig van Beethoven", "Beethoven wrote nine symphonies between 1799 and 1824."),
    ("Straße", "Die STRASSE und die İstanbul-Route, ΣΊΣΥΦΟΣ."),
]
QUESTIONS = [
    "",
    "what is the boiling point of water?",
    "Who directed The Lord of the Rings in 2001, and was it O'Brien's idea?",
    "The Lord of the Rings came out when?",
    "Did Ludwig van Beethoven and Peter Jackson meet in Paris and London in 0999 or 12345?",
    "Is X & Y or Tom and Jerry older than (Paris) \"Berlin\" “Rome”?",
    "Name A of the University of Texas, Straße, ΣΊΣΥΦΟΣ and İstanbul 2001?",
    "  Paris\u00a0France - Rome , 1799_1824 ٢٠٠١ Ⓐbc de",
    "What Is The Capital Of France In 1824",
]


def case(rng, i):
    def ranking(prefix, n):
        items = [{"id": f"d{j}", "score": round(rng.uniform(-0.2, 1), 3)} for j in rng.sample(range(14), n)]
        return sorted(items, key=lambda x: (-x["score"], x["id"]))

    fused = ranking("fused", [0, 1, 2, 7, 12][i % 5])
    for item in fused:
        item["title"], item["text"] = rng.choice(TEXTS)
    raw = {}
    if i % 7:
        raw["dense"] = ranking("dense", [0, 1, 2, 12][i % 4])
        raw["sparse"] = ranking("sparse", [0, 1, 3, 9, 13][(i // 2) % 5])
    question = QUESTIONS[i % len(QUESTIONS)]
    top = fused[:10]
    result = SimpleNamespace(
        query=question, scores=[x["score"] for x in top],
        candidates=[SimpleNamespace(title=x["title"], text=x["text"]) for x in top],
        raw={n: [(x["id"], x["score"]) for x in r] for n, r in raw.items()},
    )
    values = signals.signal_values(result, detector="sparse")
    expected = {
        "max_score": values["max_score"], "score_stddev": values["score_variance"],
        "confidence_gap": values["confidence_gap"], "evidence_coverage": values["evidence_coverage"],
        "dense_gap": values["dense_gap"], "dense_stddev": values["dense_variance"],
    }
    if raw:
        expected["retriever_divergence"] = values["divergence_overlap"]
        if max(map(len, raw.values())) >= 2 and min(map(len, raw.values())) + max(map(len, raw.values())) > 2:
            expected["rbo"] = 1 - values["divergence_rbo"]
    rankings = [{"name": "fused", "score_kind": "SCORE_KIND_COSINE", "items": fused}]
    rankings += [{"name": n, "items": r} for n, r in raw.items()]
    return {
        "name": f"source {i}",
        "request": {"question": question, "rankings": rankings, "compat": "COMPAT_SOURCE"},
        "expected": expected,
        "entities": sorted(signals.question_entities(question)),
    }


def main():
    rng = random.Random(7)
    print("[\n" + ",\n".join(json.dumps(case(rng, i)) for i in range(63)) + "\n]")


if __name__ == "__main__":
    main()
