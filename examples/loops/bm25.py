"""A BM25 retriever over a file of passages, small enough to read in a minute."""

import collections
import json
import math
import re

K1, B = 1.2, 0.75
STOP = frozenset("a an and are at by did do does for from has in is it of on or the to was were what when where which who whose with".split())


def words(text):
    """The words of a text that say something, in lower case."""
    return [w for w in re.findall(r"\w+", text.lower()) if w not in STOP]


class BM25:
    """Finds passages by the words that they share with a query."""

    def __init__(self, passages):
        self.passages = passages
        self.counts = [collections.Counter(words(p["title"] + " " + p["text"])) for p in passages]
        self.lengths = [sum(c.values()) for c in self.counts]
        self.mean_length = sum(self.lengths) / len(passages)
        containing = collections.Counter(word for c in self.counts for word in c)
        self.idf = {w: math.log(1 + (len(passages) - n + 0.5) / (n + 0.5)) for w, n in containing.items()}

    @classmethod
    def load(cls, path):
        """Reads passages (id, title, text) from a JSON-lines file."""
        with open(path, encoding="utf-8") as lines:
            return cls([json.loads(line) for line in lines])

    def search(self, query, k=3):
        """The k best passages that share a word with the query, best first,
        each with its score; of equals the first in the file."""
        scored = [(self._score(i, words(query)), i) for i in range(len(self.passages))]
        scored.sort(key=lambda pair: (-pair[0], pair[1]))
        return [self.passages[i] | {"score": s} for s, i in scored[:k] if s > 0]

    def _score(self, i, query):
        counts, norm = self.counts[i], K1 * (1 - B + B * self.lengths[i] / self.mean_length)
        return sum(self.idf[w] * counts[w] * (K1 + 1) / (counts[w] + norm) for w in query if w in counts)
