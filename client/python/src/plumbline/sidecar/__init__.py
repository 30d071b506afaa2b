"""Serve a model as a verifier: a function from pairs to probabilities, and one call.

    from plumbline.sidecar import Description, serve

    def score(pairs):
        return [probability_of_support(p.premise, p.hypothesis) for p in pairs]

    serve(score, Description(name="mine", digest="sha256:…"))

The process then answers VerifierService, health and reflection, on the address that
`--listen` names, or on the private socket of the Plumbline server that started it
(`exec:`).
"""

from plumbline.sidecar._description import Description, digest_of_files
from plumbline.sidecar._scores import NoScore, Pair, Score, ScoreFunction
from plumbline.sidecar._serve import aserve, serve
from plumbline.sidecar._server import Limits, Sidecar

__all__ = [
    "Description",
    "Limits",
    "NoScore",
    "Pair",
    "Score",
    "ScoreFunction",
    "Sidecar",
    "aserve",
    "digest_of_files",
    "serve",
]
