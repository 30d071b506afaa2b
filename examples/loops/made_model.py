"""A made model: an OpenAI-compatible server whose replies are written down here.

It is no language model. What it "knows" of an invented archipelago stands in the
tables below, chosen so that each question shows something else about a gate:
known, wrong and sure of it, unsure, two hops, one answer in several wordings. Its
token probabilities follow from the shares of its answers. The replies in
replies.jsonl were recorded from it, so that the loops run and are tested without
a model; figures made with it show how a loop behaves, not how well one works.
"""

import argparse
import hashlib
import json
import math
import re

from replay import serve

# For each question: what it answers from memory, as shares of 20; P(true) of each
# of these answers; the confidence it states; the passages that tell the answer,
# and that answer; and the follow-up questions it would ask itself.
MIND = {
    "In which year was the Ane bridge opened?": {
        "memory": {"1902": 20},
        "p_true": {"1902": 0.97},
        "stated": 0.97,
        "needs": ["Ane bridge"],
        "read": "1902",
        "follow_ups": [],
    },
    "Which town is the capital of Skarne?": {
        "memory": {"Quellport": 20},
        "p_true": {"Quellport": 0.38},
        "stated": 0.95,
        "needs": ["Skarne"],
        "read": "Dunmarrow",
        "follow_ups": [],
    },
    "Who wrote The Salt Register?": {
        "memory": {"Edda Brandt": 8, "Odile Brandt": 7, "Olaf Brunt": 5},
        "p_true": {"Edda Brandt": 0.45, "Odile Brandt": 0.52, "Olaf Brunt": 0.21},
        "stated": "not sure",
        "needs": ["The Salt Register"],
        "read": "Odile Brandt",
        "follow_ups": ["Who wrote The Salt Register?"],
    },
    "In which town was the designer of Tarrow Light born?": {
        "memory": {"Dunmarrow": 11, "Quellport": 9},
        "p_true": {"Dunmarrow": 0.55, "Quellport": 0.47},
        "stated": 0.6,
        "needs": ["Tarrow Light", "Ivo Marran"],
        "read": "Quellport",
        "follow_ups": ["Who designed Tarrow Light?", "Where was Ivo Marran born?"],
    },
    "Who designed Tarrow Light?": {
        "memory": {"Ivo Marran": 12, "Ivar Moran": 8},
        "p_true": {"Ivo Marran": 0.6, "Ivar Moran": 0.3},
        "stated": 0.6,
        "needs": ["Tarrow Light"],
        "read": "Ivo Marran",
        "follow_ups": [],
    },
    "Where was Ivo Marran born?": {
        "memory": {"Dunmarrow": 20},
        "p_true": {"Dunmarrow": 0.5},
        "stated": 0.6,
        "needs": ["Ivo Marran"],
        "read": "Quellport",
        "follow_ups": [],
    },
    "In which town did the author of The Salt Register grow up?": {
        "memory": {"Dunmarrow": 20},
        "p_true": {"Dunmarrow": 0.92},
        "stated": 0.9,
        "needs": ["The Salt Register", "Odile Brandt"],
        "read": "Dunmarrow",
        "follow_ups": ["Who wrote The Salt Register?", "Where did Odile Brandt grow up?"],
    },
    "Where did Odile Brandt grow up?": {
        "memory": {"Dunmarrow": 20},
        "p_true": {"Dunmarrow": 0.9},
        "stated": 0.9,
        "needs": ["Odile Brandt"],
        "read": "Dunmarrow",
        "follow_ups": [],
    },
    "What is the highest hill of Skarne?": {
        "memory": {"Mount Orrel": 14, "Mount Orrel.": 4, "Orrel": 2},
        "p_true": {"Mount Orrel": 0.96, "Orrel": 0.3},
        "stated": 0.92,
        "needs": ["Mount Orrel"],
        "read": "Mount Orrel",
        "follow_ups": ["What is the highest hill of Skarne?"],
    },
}


def respond(path, body):
    """The reply to one request."""
    if path == "/v1/embeddings":
        return {"object": "list", "model": body["model"], "data": [_embedding(i, t) for i, t in enumerate(body["input"])]}
    if path != "/v1/chat/completions":
        return None
    prompt = body["messages"][0]["content"]
    task = next(reply for start, reply in TASKS.items() if prompt.startswith(start))
    choices = [_choice(i, text, shares, body) for i, (text, shares) in enumerate(task(prompt, body["n"]))]
    return {"object": "chat.completion", "model": body["model"], "choices": choices}


def _answer(prompt, n):
    """n short answers: the commonest first, the others spread evenly."""
    mind, shares = _recall(prompt)
    if n == 1:
        return [(max(shares, key=shares.get), shares)]
    given, texts = dict.fromkeys(shares, 0), []
    for i in range(1, n + 1):
        # The answer that lags furthest behind its share is next.
        text = max(shares, key=lambda t: shares[t] * i / 20 - given[t])
        given[text] += 1
        texts.append((text, shares))
    return texts


def _judge(prompt, _):
    """Yes or No with P(true)."""
    mind, shares = _recall(prompt)
    proposed = _last(prompt, "Proposed answer").strip(" .")
    if mind["read"] in shares and len(shares) == 1 and _has_read(prompt, mind):
        p = 0.97 if proposed == mind["read"] else 0.05
    else:
        p = mind["p_true"].get(proposed, 0.1)
    shares = {"Yes": 20 * p * 0.98, "No": 20 * (1 - p) * 0.98, "I": 0.4}
    return [("Yes" if p >= 0.5 else "No", shares)]


def _self_ask(prompt, _):
    """The next follow-up question, or the final answer."""
    own = prompt[prompt.rindex("Question: ") :]
    mind = MIND[_last(own, "Question")]
    done = own.count("Intermediate answer:")
    if done < len(mind["follow_ups"]):
        return [(("Yes.\n" if not done else "") + f"Follow up: {mind['follow_ups'][done]}\n", None)]
    memory = max(mind["memory"], key=mind["memory"].get)
    final = _last(own, "Intermediate answer") if done else memory
    return [(("" if done else "No.\n") + f"So the final answer is: {final}", None)]


def _probe(prompt, _):
    """BeyondUncertainty's probe."""
    mind = MIND[_last(prompt, "Question")]
    memory = max(mind["memory"], key=mind["memory"].get)
    reply = {"answer": memory, "confidence": mind["stated"], "action": "answer", "summary": "This is what I recall of the isles."}
    return [(json.dumps(reply), None)]


def _next_query(prompt, _):
    """The first follow-up question that the passages do not answer yet."""
    mind = MIND[_last(prompt, "Question")]
    open_questions = [f for f in mind["follow_ups"] if not _has_read(prompt, MIND[f])]
    return [((open_questions or [_last(prompt, "Question")])[0], None)]


def _act(prompt, _):
    """An agent that commits what is both believed and, once there are passages,
    supported by them. It forgets the rules once: when unsure, it writes prose
    around its JSON."""
    question = _last(prompt, "Question")
    mind = MIND[question]
    confidence, support = _reading(prompt, "final_conf"), _reading(prompt, "g_min")
    current = _last(prompt, "Current answer")
    if "Passages:" not in prompt:
        if confidence is not None and confidence >= 0.8:
            reply = {"action": "commit", "answer": current, "reason": "the readings are high"}
        elif mind["stated"] == "not sure":
            return [('I would search: {"action": "retrieve"}', None)]
        elif len(mind["needs"]) > 1:
            reply = {"action": "decompose", "reason": "this has two steps"}
        else:
            reply = {"action": "retrieve", "reason": "the model does not stand by its answer"}
    elif _has_read(prompt, mind) or (support or 0) >= 0.5:
        reply = {"action": "commit", "answer": current, "reason": "the passages say it"}
    else:
        reply = {"action": "retrieve", "query": _next_query(prompt, 1)[0][0], "reason": "a step is missing"}
    return [(json.dumps(reply), None)]


TASKS = {
    "Answer the question from": _answer,
    "Judge whether": _judge,
    "Answer the last question": _self_ask,
    "Answer the question from what you know, without looking": _probe,
    "Write one search query": _next_query,
    "You answer a question in turns": _act,
}
# The longest start that fits is the task's.
TASKS = dict(sorted(TASKS.items(), key=lambda item: -len(item[0])))


def _recall(prompt):
    """What it knows of the prompt's question, and its answers by share of 20:
    those of the passages if they tell, else those of memory."""
    mind = MIND[_last(prompt, "Question")]
    return mind, ({mind["read"]: 20} if _has_read(prompt, mind) else mind["memory"])


def _has_read(prompt, mind):
    return all(f"[{title}]" in prompt for title in mind["needs"])


def _last(prompt, label):
    """The text after the last line that starts with a label."""
    return re.findall(rf"^{label}: *(.*)$", prompt, re.MULTILINE)[-1].strip()


def _reading(prompt, name):
    found = re.search(rf"^- {name} ([0-9.]+)", prompt, re.MULTILINE)
    return float(found[1]) if found else None


def _choice(index, text, shares, body):
    choice = {"index": index, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
    if body.get("logprobs"):
        choice["logprobs"] = {"content": _tokens(text, shares, body.get("top_logprobs", 0))}
    return choice


def _tokens(text, shares, top):
    """Words as tokens. The first carries the shares of the answers that start
    with it; the others are almost certain."""
    first = {}
    for answer, share in shares.items():
        word = answer.split()[0]
        first[word] = first.get(word, 0) + share / 20
    return [
        _token(word, first if i == 0 and len(first) > 1 else {word.strip(): 0.999}, top)
        for i, word in enumerate(re.findall(r"\S+\s*", text))
    ]


def _token(token, probabilities, top):
    ranked = sorted(probabilities.items(), key=lambda item: -item[1])[:top]
    return {
        "token": token,
        "logprob": _log(probabilities[token.strip()]),
        "top_logprobs": [{"token": t, "logprob": _log(p)} for t, p in ranked],
    }


def _log(probability):
    return round(math.log(probability), 4)


def _embedding(index, text):
    """A unit vector of 24 numbers that depends on the words alone."""
    digest = hashlib.sha256(" ".join(re.findall(r"\w+", text.lower())).encode()).digest()
    values = [b - 127.5 for b in digest[:24]]
    length = math.sqrt(sum(v * v for v in values))
    return {"object": "embedding", "index": index, "embedding": [round(v / length, 4) for v in values]}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--port", type=int, default=8001, help="0 takes a free one (default: %(default)s)")
    serve(respond, parser.parse_args().port)


if __name__ == "__main__":
    main()
