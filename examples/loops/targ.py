"""TARG-style: a short closed-book draft; if it is uncertain, one search and an
answer from the passages.

native     mean token entropy of the draft's first 20 tokens, policy "targ"
plumbline  confidence of the majority of five samples, policy "targ.plumbline"
calvert    the same scores in the prompt; the model chooses
"""

import gates


def solve(tools, run, gate):
    """Answers run.question."""
    guess, action, query = GATES[gate](tools, run)
    if action != "RETRIEVE":
        return guess
    run.search(tools, query)
    return gates.answer(tools, run)["text"]


def native(tools, run):
    draft = gates.answer(tools, run, logprobs=True, top_logprobs=20)
    scores = tools.plumbline.score_confidence(drafts=[{"tokens": draft["tokens"][:20]}])
    decision = tools.plumbline.decide("targ", mean_token_entropy=gates.value(scores["mean_token_entropy"]))
    return draft["text"], run.decided(decision), run.question


def plumbline(tools, run):
    guess, request = gates.belief(tools, run, gates.sample(tools, run))
    return guess, gates.replacement(tools, run, "targ.plumbline", confidence=request), run.question


def calvert(tools, run):
    guess, request = gates.belief(tools, run, gates.sample(tools, run))
    choice = gates.agent_chooses(tools, run, guess, tools.plumbline.observe(confidence=request))
    # There is one decision: whatever does not commit searches.
    return choice.answer or guess, "NO_RETRIEVAL" if choice.action == "commit" else "RETRIEVE", choice.query or run.question


GATES = {"native": native, "plumbline": plumbline, "calvert": calvert}
