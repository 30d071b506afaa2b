"""Makes records that measure each retriever by itself, for
`plumbline calibrate evaluate`: one a question and retriever, with the ranking and
the passages that it should have found.

    python retrievers.py --data DIR --corpus hotpotqa --rankings hotpotqa.jsonl > hotpotqa.retrievers.jsonl

DIR is that of make_rankings.py, whose output the rankings are. The retriever is
the record's model, so that evaluate gives the figures of each as a group. Its best
score is there because evaluate measures a score; a record without a gold passage
in its window is positive. Questions that the corpus does not answer are left out.
"""

import argparse
import json
import pathlib
import sys

from corpora import questions_of


def main():
    """Writes the records."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=pathlib.Path, required=True)
    parser.add_argument("--corpus", required=True)
    parser.add_argument("--rankings", type=pathlib.Path, required=True)
    arguments = parser.parse_args()
    questions = {q["id"]: q for q in questions_of(arguments.data, arguments.corpus)}
    for line in arguments.rankings.open():
        request = json.loads(line)
        question = questions[request["id"]]
        if question.get("unanswerable"):
            continue
        for ranking in request["rankings"]:
            items = ranking["items"]
            record = {
                "id": f"{request['id']} {ranking['name']}",
                "dataset": arguments.corpus,
                "model": ranking["name"],
                "signals": {"top": max((i["score"] for i in items), default=0)},
                "ranking": {"ranked_ids": [i["id"] for i in items], "gold_ids": question["gold_ids"], "window": request["window"]},
            }
            sys.stdout.write(json.dumps(record) + "\n")


if __name__ == "__main__":
    main()
