"""Turns labelled pairs into grounding requests, and grounding replies into
calibration records.

    python convert.py requests < pairs.jsonl > requests.jsonl
    python convert.py records pairs.jsonl replies.jsonl > records.jsonl
    plumbline calibrate evaluate … | python convert.py summary

A pair has id, doc, claim, label (1 supported, 0 not). A record has the claim's
support as its signal "support" and the label; a claim that was not scored has
no signal.
"""

import json
import sys


def requests(pairs):
    """One request a pair: the document as evidence, the claim as it is."""
    for pair in map(json.loads, pairs):
        yield {
            "id": pair["id"],
            "evidence": [{"id": "doc", "text": pair["doc"]}],
            "claims": [{"id": "claim", "text": pair["claim"]}],
        }


def records(pairs, replies):
    """One record a pair, joined by position: replies keep the order."""
    for pair, reply in zip(map(json.loads, pairs), map(json.loads, replies), strict=True):
        record = {"id": pair["id"], "dataset": pair["source"], "label": pair["label"] == 1}
        claims = reply.get("claims", [])
        if claims and claims[0]["support"]["status"] == "STATUS_OK":
            record["signals"] = {"support": claims[0]["support"]["value"]}
        yield record


def summary(evaluation):
    """The figures that people look at first, with their intervals."""
    metrics = json.load(evaluation)["metrics"]
    for name in ("auroc", "balanced_accuracy", "ece_15", "brier"):
        m = metrics[name]
        print(f"{name:18} {m['value']:.3f} [{m['lower']:.3f}, {m['upper']:.3f}]  n = {m['n']}")


if __name__ == "__main__":
    if sys.argv[1] == "summary":
        summary(sys.stdin)
        sys.exit()
    if sys.argv[1] == "requests":
        lines = requests(sys.stdin)
    else:
        lines = records(open(sys.argv[2], encoding="utf-8"), open(sys.argv[3], encoding="utf-8"))
    for line in lines:
        print(json.dumps(line, ensure_ascii=False))
