"""A plain function as a verifier: the share of the claim's words that the evidence has.

python examples/overlap.py --listen 127.0.0.1:50061
"""

import re
from collections.abc import Sequence

from plumbline.sidecar import Description, Pair, serve


def words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.lower()))


def overlap(pair: Pair) -> float:
    claim = words(pair.hypothesis)
    return len(claim & words(pair.premise)) / max(len(claim), 1)


def score(pairs: Sequence[Pair]) -> list[float]:
    return [overlap(pair) for pair in pairs]


if __name__ == "__main__":
    serve(score, Description(name="overlap", digest="words-v1", deterministic=True))
