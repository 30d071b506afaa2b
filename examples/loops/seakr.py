"""SeaKR-style: twenty sampled answers; while they spread, search and sample
again with what was found.

native     spread of the samples' vectors, policy "seakr". SeaKR compares hidden
           states, which an OpenAI-style API does not give: embeddings of the
           answers stand in for them, a substitution whose threshold must be
           fitted anew
plumbline  confidence of the samples' majority, policy "seakr.plumbline"
calvert    the same scores in the prompt; the model chooses
"""

import gates
import prompts

SAMPLES = 20  # the published threshold belongs to this number
TURNS = 3


def solve(tools, run, gate):
    """Answers run.question."""
    for turn in range(1, TURNS + 1):
        samples = gates.sample(tools, run, SAMPLES)
        guess, action, query = GATES[gate](tools, run, samples, turn)
        if action != "RETRIEVE":
            return guess
        run.search(tools, query or what_next(tools, run, guess))
    return gates.answer(tools, run)["text"]


def what_next(tools, run, guess):
    """The search query that the model writes."""
    return tools.model.chat(prompts.next_query(run.question, guess, run.passages), max_tokens=64)[0]["text"]


def native(tools, run, samples, _):
    vectors = [{"values": v} for v in tools.model.embed([s["text"] for s in samples])]
    scores = tools.plumbline.score_confidence(vectors=vectors)
    decision = tools.plumbline.decide("seakr", gram_logdet=gates.value(scores["gram_logdet"]))
    return gates.majority(samples), run.decided(decision), ""


def plumbline(tools, run, samples, _):
    guess, request = gates.belief(tools, run, samples)
    return guess, gates.replacement(tools, run, "seakr.plumbline", confidence=request), ""


def calvert(tools, run, samples, turn):
    guess, request = gates.belief(tools, run, samples)
    # The samples are new in each turn, so the confidence is, too.
    observed = tools.plumbline.observe(confidence=request, **gates.grounded(run, guess))
    choice = gates.agent_chooses(tools, run, guess, observed, turn, TURNS)
    # Sampling again from the passages in hand is what every turn does: refine.
    # A smaller question is a search for it: decompose.
    return choice.answer or guess, "NO_RETRIEVAL" if choice.action in ("commit", "refine") else "RETRIEVE", choice.query


GATES = {"native": native, "plumbline": plumbline, "calvert": calvert}
