"""Reads what a model writes back: the action of an agent that saw the prompt
block, and the probe of BeyondUncertainty.

The Go package scorers/telemetry/agent does the same; both pass the cases of its
testdata/golden.json. As a program, it reads one JSON string (a reply) a line and
says what it is.
"""

import dataclasses
import json
import pathlib
import sys

MAX_REPLY_BYTES = 64 << 10
ACTIONS = ("commit", "retrieve", "refine", "decompose")
PROBE_PROMPT = (pathlib.Path(__file__).parent / "probe.txt").read_text(encoding="utf-8")


class Malformed(ValueError):
    """A reply that cannot be used. The message says why, without its text."""


@dataclasses.dataclass
class Reply:
    """An agent's choice. answer is set for a commit only, query for a retrieve
    only; analysis and reason are the agent's own words, for logs."""

    action: str
    answer: str = ""
    query: str = ""
    analysis: str = ""
    reason: str = ""


@dataclasses.dataclass
class Probe:
    """A model's reply to a probe. confidence is None if it cannot be read, and
    no_confidence says why: the gate then retrieves. suggested_action is for logs
    and never routes, so that the rule stays reproducible."""

    answer: str = ""
    confidence: float | None = None
    no_confidence: str = ""
    suggested_action: str = ""
    summary: str = ""


def parse_reply(reply, subquestion):
    """Reads exactly one JSON object: a commit needs an answer, and the query of
    a retrieve defaults to the subquestion. Raises Malformed."""
    fields = _object(reply)
    texts = {name: _text(fields, name) for name in ("action", "answer", "query", "analysis", "reason")}
    choice = Reply(**texts)
    if not choice.action:
        raise Malformed('"action" is missing')
    if choice.action not in ACTIONS:
        raise Malformed('"action" must be commit, retrieve, refine or decompose')
    if choice.action != "commit":
        choice.answer = ""
    elif not choice.answer:
        raise Malformed('a commit needs "answer"')
    if choice.action != "retrieve":
        choice.query = ""
    elif not choice.query:
        choice.query = subquestion.strip()
        if not choice.query:
            raise Malformed('a retrieve needs "query" where there is no subquestion')
    return choice


def probe_prompt(question):
    """The probe's question: a provisional answer, how sure the model is, what it
    would do, and a summary, as compact JSON."""
    return f"{PROBE_PROMPT}\nQuestion: {question.strip()}\n"


def parse_probe(reply):
    """Reads a reply to a probe. A fence around the JSON is forgiven. It never
    fails: a confidence that cannot be read is missing."""
    try:
        fields = _object(_unfenced(reply))
    except Malformed:
        return Probe(no_confidence="STATUS_INVALID_INPUT")
    confidence, problem = _confidence(fields.get("confidence"))
    return Probe(
        answer=_text_or_nothing(fields, "answer"),
        confidence=confidence,
        no_confidence=problem,
        suggested_action=_text_or_nothing(fields, "action"),
        summary=_text_or_nothing(fields, "summary"),
    )


class _Pairs(list):
    """An object as its name–value pairs, so that a repeated name shows."""


def _not_json(constant):
    raise ValueError(f"{constant} is not JSON")


_decoder = json.JSONDecoder(object_pairs_hook=_Pairs, parse_constant=_not_json)
_BLANKS = " \t\r\n"


def _object(reply):
    """One JSON object without repeated fields. A field given twice is refused,
    since the two could disagree."""
    size = len(reply.encode("utf-8", "surrogatepass"))
    if size > MAX_REPLY_BYTES:
        raise Malformed(f"it has {size} bytes; at most {MAX_REPLY_BYTES} are allowed")
    reply = reply.strip(_BLANKS)
    if not reply.startswith("{"):
        raise Malformed("it is not one JSON object")
    try:
        pairs, end = _decoder.raw_decode(reply)
    except (ValueError, RecursionError):
        raise Malformed("it is not valid JSON") from None
    if len({name for name, _ in pairs}) < len(pairs):
        raise Malformed("a field is given twice")
    if end < len(reply):
        raise Malformed("there is something after the JSON object")
    return dict(pairs)


def _text(fields, name):
    """A field that holds a string; one that is absent or null is empty."""
    value = fields.get(name)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise Malformed(f'"{name}" must be a string')
    # Half a surrogate pair is no text that could be sent on.
    return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace").strip()


def _text_or_nothing(fields, name):
    try:
        return _text(fields, name)
    except Malformed:
        return ""


def _unfenced(reply):
    """Takes a Markdown fence away."""
    text = reply.strip()
    if not text.startswith("```") or not text[3:].endswith("```"):
        return reply
    return text[3:-3].removeprefix("json")


def _confidence(value):
    """A number in [0, 1]. A larger one is invalid rather than a percentage,
    since the probe asks for this scale."""
    if value is None:
        return None, "STATUS_MISSING_INPUT"
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= 1:
        return None, "STATUS_INVALID_INPUT"
    return float(value), ""


def main():
    for line in sys.stdin:
        reply = json.loads(line)
        try:
            result = dataclasses.asdict(parse_reply(reply, "the subquestion"))
        except Malformed as problem:
            result = {"malformed": str(problem)}
        print(json.dumps({"reply": result, "probe": dataclasses.asdict(parse_probe(reply))}))


if __name__ == "__main__":
    main()
