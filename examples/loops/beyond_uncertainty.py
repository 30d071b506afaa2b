"""BeyondUncertainty: one structured probe; if its confidence is below the
threshold, one search and an answer from the passages.

native     the confidence that the probe states, policy "beyond_uncertainty"
plumbline  confidence of the majority of the probe's answer and four samples,
           policy "beyond_uncertainty.plumbline"; the stated one is its fallback
calvert    the same scores in the prompt; the model chooses

The Go program in go/ is the same loop.
"""

import agent
import gates


def solve(tools, run, gate):
    """Answers run.question."""
    reply = tools.model.chat(agent.probe_prompt(run.question), max_tokens=256)[0]["text"]
    probe = agent.parse_probe(reply)
    guess, action, query = GATES[gate](tools, run, probe, reply)
    if action != "RETRIEVE":
        return guess
    run.search(tools, query)
    return gates.answer(tools, run)["text"]


def native(tools, run, probe, _):
    # What the probe suggests to do is in the reply, and is not used.
    decision = tools.plumbline.decide("beyond_uncertainty", verbalized=probe.confidence)
    return probe.answer, run.decided(decision), run.question


def plumbline(tools, run, probe, reply):
    guess, request = _request(tools, run, probe, reply)
    return guess, gates.replacement(tools, run, "beyond_uncertainty.plumbline", confidence=request), run.question


def calvert(tools, run, probe, reply):
    guess, request = _request(tools, run, probe, reply)
    choice = gates.agent_chooses(tools, run, guess, tools.plumbline.observe(confidence=request))
    return choice.answer or guess, "NO_RETRIEVAL" if choice.action == "commit" else "RETRIEVE", choice.query or run.question


def _request(tools, run, probe, reply):
    samples = gates.sample(tools, run, gates.SAMPLES - 1)
    if probe.answer:
        samples = [{"text": probe.answer, "tokens": []}, *samples]
    guess, request = gates.belief(tools, run, samples)
    return guess, request | {"raw_output": reply, "confidence_scale": "CONFIDENCE_SCALE_UNIT"}


GATES = {"native": native, "plumbline": plumbline, "calvert": calvert}
