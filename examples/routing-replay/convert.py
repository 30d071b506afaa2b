"""Turns recorded outcomes into calibration records, one JSON object a line.

    python convert.py paired  hotpotqa.paired.jsonl.gz  > hotpotqa.jsonl
    python convert.py signals nq.signals.jsonl.gz       > nq.jsonl
    python convert.py scores  minicheck.csv.gz          > minicheck.jsonl

paired   questions with the answers of one model without and with one retrieval
         (s-nlp/AdaRAGUE, HotpotQA). F1 and exact match are SQuAD's. Signals:
         adaptive_rag_single_or_multi and adaptive_rag_multi, the probability
         that Adaptive-RAG's classifier gives to labels B or C, and to C;
         seakr_eigen_score. The file has neither tokens nor passage counts, so
         that an answer with retrieval counts as one retrieval in "passages".
signals  perplexity, energy, entropy and eigen score of answers (less is surer,
         but for energy), and whether the answer is right.
scores   y_true and y_score of a fact checker.

With --wrong the positive class is what goes wrong (a wrong answer, a claim that
is not supported), as policies that escalate need it.

Only Python's standard library is needed.
"""

import argparse
import collections
import csv
import gzip
import json
import re
import string
import sys


def normalise(text):
    """SQuAD's: lower case, no punctuation, no articles, single blanks."""
    text = "".join(c for c in text.lower() if c not in string.punctuation)
    return " ".join(re.sub(r"\b(a|an|the)\b", " ", text).split())


def f1(prediction, gold):
    """Token F1 of two answers."""
    p, g = normalise(prediction).split(), normalise(gold).split()
    common = sum((collections.Counter(p) & collections.Counter(g)).values())
    if not p or not g:
        return float(p == g)
    return 2 * common / (len(p) + len(g))


def arm(prediction, golds, passages):
    """The outcome of one arm; an answer that is missing failed."""
    if not prediction:
        return {"failed": True, "passages": passages, "calls": 1}
    return {
        "f1": max(f1(prediction, g) for g in golds),
        "em": max(float(normalise(prediction) == normalise(g)) for g in golds),
        "passages": passages,
        "calls": 1,
    }


def paired(lines):
    """Questions with both arms."""
    for row in map(json.loads, lines):
        probabilities = row["adaptive_rag_label_probs"]
        signals = {
            "adaptive_rag_single_or_multi": probabilities["B"] + probabilities["C"],
            "adaptive_rag_multi": probabilities["C"],
            "seakr_eigen_score": row["seakr_last_step_eigen_score"],
        }
        yield {
            "id": row["id"],
            "dataset": "hotpotqa",
            "signals": {k: v for k, v in signals.items() if v is not None},
            "arms": {
                "never": arm(row["answer_no_retrieval"], row["gold"], 0),
                "always": arm(row["answer_one_retrieval"], row["gold"], 1),
            },
        }


def signals(lines):
    """Answers with signals."""
    for row in map(json.loads, lines):
        names = ("perplexity", "energy_score", "ln_entropy", "eigen_score")
        yield {
            "id": row["id"],
            "dataset": "nq",
            "label": bool(row["in_accuracy"]),
            "signals": {n: row[n] for n in names if row.get(n) is not None},
        }


def scores(lines):
    """Pairs with a fact checker's score."""
    for number, row in enumerate(csv.DictReader(lines), 1):
        yield {
            "id": str(number),
            "dataset": "llm-aggrefact",
            "label": row["y_true"] == "1",
            "signals": {"minicheck": float(row["y_score"])},
        }


def main():
    """Reads one file, writes records."""
    kinds = {"paired": paired, "signals": signals, "scores": scores}
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", choices=kinds)
    parser.add_argument("file")
    parser.add_argument("--wrong", action="store_true", help="negate the label")
    arguments = parser.parse_args()
    with gzip.open(arguments.file, "rt", encoding="utf-8") as lines:
        for record in kinds[arguments.kind](lines):
            if arguments.wrong and "label" in record:
                record["label"] = not record["label"]
            sys.stdout.write(json.dumps(record) + "\n")


if __name__ == "__main__":
    main()
