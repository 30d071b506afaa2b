"""Scores documents as the reference implementation of MiniCheck does: one after
the other, all chunks of a document in one batch that is padded to the longest.

The first line of standard input is a JSON list of documents, each a list of
[chunk, claim]. Every further line asks for one pass over all of them, which is
answered by a line with the support of each document."""

import argparse
import json
import sys

from model import Model


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--weights", required=True)
    parser.add_argument("--tokenizer", required=True)
    parser.add_argument("--threads", type=int, required=True)
    args = parser.parse_args()
    model = Model(args.weights, args.tokenizer, args.threads)
    documents = [[tuple(pair) for pair in document] for document in json.loads(sys.stdin.readline())]
    for _ in sys.stdin:
        support = [float(model.run(model.encode(document))[:, 0].max()) for document in documents]
        print(json.dumps(support), flush=True)


if __name__ == "__main__":
    main()
