"""What the loops share: one question's run, the confidence request of the
replacement gates, and the agent that sees the prompt block."""

import collections
import dataclasses

import agent
import prompts
from clients import value

SAMPLES = 5  # answers sampled for a replacement; SeaKR draws 20 anyway
CANDIDATES = 5  # distinct answers that are asked for P(true)


@dataclasses.dataclass
class Tools:
    """What a loop works with."""

    model: object
    plumbline: object
    retriever: object


@dataclasses.dataclass
class Run:
    """One question on its way through a loop, and what it cost."""

    question: str
    key: str  # unique to the run: Plumbline keeps a subgoal's confidence under it
    passages: list = dataclasses.field(default_factory=list)
    fetched: int = 0  # passages returned by searches, repeated ones too
    decisions: list = dataclasses.field(default_factory=list)

    def decided(self, decision):
        """Notes a gate's decision and returns its action, such as "RETRIEVE"."""
        action = decision["action"].removeprefix("ACTION_")
        self.decisions.append({"by": decision["decided_by"], "action": action})
        return action

    def search(self, tools, query):
        """Adds what a search finds to the evidence."""
        found = tools.retriever.search(query)
        self.fetched += len(found)
        known = {p["id"] for p in self.passages}
        self.passages += [p for p in found if p["id"] not in known]
        return found


def answer(tools, run, **parameters):
    """One answer from the passages in hand."""
    return tools.model.chat(prompts.answer(run.question, run.passages), max_tokens=32, **parameters)[0]


def sample(tools, run, n=SAMPLES):
    """n sampled answers with their tokens' log-probabilities."""
    return tools.model.chat(prompts.answer(run.question, run.passages), n=n, temperature=1, max_tokens=32, logprobs=True)


def key(text):
    """What makes two short answers the same to the majority."""
    return text.lower().strip(" .")


def majority(samples):
    """The commonest answer as it was first written; of equals the first seen."""
    counts = collections.Counter(key(s["text"]) for s in samples)
    most = max(counts, key=counts.get)
    return next(s["text"] for s in samples if key(s["text"]) == most)


def belief(tools, run, samples):
    """The majority answer, and the ScoreConfidence request that scores it: the
    other samples for self-consistency, and the distinct answers with P(true) for
    DiNCo's normalised confidence, the likeliest first. (DiNCo takes its rivals
    from a beam; samples are what every API has.)"""
    main = majority(samples)
    distinct = {}
    for s in sorted(samples, key=_mean_logprob, reverse=True):
        distinct.setdefault(key(s["text"]), s["text"])
    rivals = [text for k, text in distinct.items() if k != key(main)][: CANDIDATES - 1]
    p_true = _p_true(tools, run, [main, *rivals])
    others = list(samples)
    others.remove(next(s for s in samples if s["text"] == main))  # its own sample does not count
    request = {
        "question": run.question,
        "main_answer": main,
        "samples": [{"text": s["text"]} for s in others],
        "alternatives": [_drop_none(text=text, p_true=p) for text, p in zip(rivals, p_true[1:])],
        **_drop_none(p_true=p_true[0]),
    }
    return main, request


def _mean_logprob(s):
    logprobs = [t["logprob"] for t in s["tokens"]]
    return sum(logprobs) / len(logprobs) if logprobs else 0.0


def _p_true(tools, run, candidates):
    """P(true) of each candidate, None where the model said neither yes nor no.
    Plumbline reads it from the first token, over all spellings of both words."""
    replies = [
        tools.model.chat(prompts.is_it_right(run.question, c, run.passages), max_tokens=1, logprobs=True, top_logprobs=20)[0]
        for c in candidates
    ]
    first = [reply["tokens"][0]["top"] if reply["tokens"] else [] for reply in replies]
    return [value(r["p_true"]) for r in tools.plumbline.batch_score_confidence([{"first_token_logprobs": f} for f in first])]


def _drop_none(**fields):
    return {name: v for name, v in fields.items() if v is not None}


def replacement(tools, run, policy, **turn):
    """Plumbline's gate in one call: the turn's scores and the policy's action."""
    return run.decided(tools.plumbline.observe(**turn, policies=[policy])["decisions"][0]["response"])


def grounded(run, guess):
    """The part of a turn that asks how well the passages support the current
    answer; nothing before the first search."""
    if not run.passages:
        return {}
    evidence = [{"id": p["id"], "title": p["title"], "text": p["text"]} for p in run.passages]
    # The two steps of a two-hop question stand in two passages: multi_hop also
    # looks at pairs of the three that support the answer best.
    return {"grounding": {"question": run.question, "answer": guess, "evidence": evidence, "multi_hop": 3}}


def agent_chooses(tools, run, guess, observed, turn=1, turns=1):
    """CalVerT's form: the model sees the scores and chooses. A reply that is
    malformed retrieves, as a missing input of a policy would."""
    prompt = prompts.action(run.question, guess, run.passages, observed["prompt_block"], turn, turns)
    reply = tools.model.chat(prompt, max_tokens=256)[0]["text"]
    try:
        choice, by = agent.parse_reply(reply, run.question), "agent"
    except agent.Malformed:
        choice, by = agent.Reply("retrieve", query=run.question), "agent, malformed reply"
    run.decisions.append({"by": by, "action": choice.action.upper()})
    return choice
