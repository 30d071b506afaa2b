"""Runs a loop over questions and says what each gate decided and what it cost.

    python run.py targ --gate plumbline --llm http://localhost:8000/v1 --model NAME

Writes one JSON line a question: the answer, whether it is right, the decisions,
and the calls, completions and passages that it took.
"""

import argparse
import json
import pathlib
import sys

import beyond_uncertainty
import seakr
import self_ask
import targ
from bm25 import BM25
from clients import Model, Plumbline
from gates import Run, Tools

LOOPS = {"self_ask": self_ask, "targ": targ, "seakr": seakr, "beyond_uncertainty": beyond_uncertainty}
HERE = pathlib.Path(__file__).parent


def solve(loop, gate, tools, question):
    """One question through one loop, as a record."""
    run = Run(question["question"], key=f"{loop}/{gate}/{question['id']}")
    calls, completions = tools.model.calls, tools.model.completions
    answer = LOOPS[loop].solve(tools, run, gate)
    return {
        "loop": loop,
        "gate": gate,
        "id": question["id"],
        "answer": answer,
        "right": answer.lower().strip(" .") in map(str.lower, question["gold"]),
        "decisions": run.decisions,
        "calls": tools.model.calls - calls,
        "completions": tools.model.completions - completions,
        "passages": run.fetched,
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("loop", choices=LOOPS)
    parser.add_argument("--gate", choices=["native", "plumbline", "calvert"], default="plumbline")
    parser.add_argument("--llm", default="http://localhost:8000/v1", help="OpenAI-compatible API (default: %(default)s); its key is OPENAI_API_KEY")
    parser.add_argument("--model", default="made", help="chat model (default: %(default)s)")
    parser.add_argument("--embedder", default="made-embeddings", help="embedding model, for SeaKR's native gate (default: %(default)s)")
    parser.add_argument("--plumbline", default="http://localhost:8080", help="Plumbline's HTTP listener (default: %(default)s)")
    parser.add_argument("--questions", default=HERE / "questions.jsonl", help="JSON lines of id, question, gold")
    parser.add_argument("--corpus", default=HERE / "corpus.jsonl", help="JSON lines of id, title, text")
    options = parser.parse_args()

    tools = Tools(
        Model(options.llm, options.model, options.embedder), Plumbline(options.plumbline), BM25.load(options.corpus)
    )
    with open(options.questions, encoding="utf-8") as lines:
        for question in map(json.loads, lines):
            print(json.dumps(solve(options.loop, options.gate, tools, question), ensure_ascii=False))
            sys.stdout.flush()


if __name__ == "__main__":
    main()
