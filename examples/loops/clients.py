"""The two services that a loop talks to: a model behind an OpenAI-compatible
API, and Plumbline. Both speak JSON over HTTP."""

import json
import os
import urllib.error
import urllib.request


def post(url, body, headers=None):
    """Sends JSON and returns the JSON reply."""
    request = urllib.request.Request(
        url, json.dumps(body).encode(), {"Content-Type": "application/json"} | (headers or {})
    )
    try:
        with urllib.request.urlopen(request, timeout=120) as response:
            return json.load(response)
    except urllib.error.HTTPError as refusal:
        raise RuntimeError(f"{url}: {refusal.code} {refusal.read().decode(errors='replace')}") from None


class Model:
    """A chat model. It counts what it was asked: calls, and completions (a call
    for n samples makes n)."""

    def __init__(self, url, name, embedder):
        self.url, self.name, self.embedder = url.rstrip("/"), name, embedder
        self.headers = {"Authorization": f"Bearer {os.environ.get('OPENAI_API_KEY', 'none')}"}
        self.calls = self.completions = 0

    def chat(self, prompt, n=1, temperature=0, max_tokens=256, **parameters):
        """The choices of a chat completion, each with "text" and "tokens" (as
        Plumbline's DraftToken, empty without log-probabilities)."""
        body = {
            "model": self.name,
            "messages": [{"role": "user", "content": prompt}],
            "n": n,
            "temperature": temperature,
            "max_tokens": max_tokens,
            "seed": 0,
            **parameters,
        }
        self.calls += 1
        self.completions += n
        choices = post(f"{self.url}/chat/completions", body, self.headers)["choices"]
        return [{"text": (c["message"]["content"] or "").strip(), "tokens": _tokens(c)} for c in choices]

    def embed(self, texts):
        """One vector a text, in order."""
        self.calls += 1
        data = post(f"{self.url}/embeddings", {"model": self.embedder, "input": texts}, self.headers)["data"]
        return [item["embedding"] for item in sorted(data, key=lambda item: item["index"])]


def _tokens(choice):
    content = (choice.get("logprobs") or {}).get("content") or []
    return [
        {
            "token": t["token"],
            "logprob": t["logprob"],
            "top": [{"token": o["token"], "logprob": o["logprob"]} for o in t.get("top_logprobs") or []],
        }
        for t in content
    ]


class Plumbline:
    """Plumbline's JSON API. Every method is one call; names are the schema's."""

    def __init__(self, url):
        self.url = url.rstrip("/")

    def score_confidence(self, **request):
        """Every confidence score that the inputs allow."""
        return self._call("ConfidenceService/ScoreConfidence", request)

    def batch_score_confidence(self, requests):
        """The same for several requests, in order."""
        results = self._call("ConfidenceService/BatchScoreConfidence", {"requests": requests})["results"]
        for result in results:
            if "error" in result:
                raise RuntimeError(f"BatchScoreConfidence: {result['error']}")
        return [result["response"] for result in results]

    def decide(self, policy, **inputs):
        """One decision on inputs by name. An input that is None is missing."""
        return self._call("GateService/Decide", {"policy": policy, "inputs": inputs})

    def decide_on_telemetry(self, policy, telemetry):
        """One decision on the telemetry of observe."""
        return self._call("GateService/Decide", {"policy": policy, "telemetry": telemetry})

    def observe(self, **request):
        """One turn: telemetry, prompt block and the decisions of policies."""
        return self._call("TelemetryService/Observe", request)

    def _call(self, method, request):
        return post(f"{self.url}/plumbline.v1.{method}", request)


def value(score):
    """A score's number, or None where Plumbline says why there is none."""
    return score.get("value") if score["status"] == "STATUS_OK" else None
