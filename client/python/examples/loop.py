"""One turn of a retrieval loop, with every service that it needs.

python examples/loop.py localhost:50051
"""

import sys

import plumbline
from plumbline.v1.dicts import EvidenceDict, ScoreGroundingRequestDict

EVIDENCE: list[EvidenceDict] = [{"id": "w", "text": "The bridge opened to traffic in 1932."}]
ANSWERS = ["The bridge opened in 1932.", "The bridge opened in 1832."]


def main(target: str) -> None:
    with plumbline.Client(target, timeout=10) as client:
        turn = client.observe(
            retrieval={
                "question": "When did the bridge open?",
                "rankings": [
                    {"name": "dense", "items": [{"id": "w", "score": 0.83}, {"id": "x", "score": 0.41}]}
                ],
            },
            confidence={
                "main_answer": "1932",
                "samples": [{"text": "1932"}, {"text": "1932"}, {"text": "1923"}],
            },
            policies=["beyond_uncertainty"],
        )
        print(turn.prompt_block)
        print("self-consistency:", plumbline.value(turn.telemetry.sc))

        requests: list[ScoreGroundingRequestDict] = [{"evidence": EVIDENCE, "answer": a} for a in ANSWERS]
        for reply in plumbline.call_many(client.score_grounding, requests, max_in_flight=2):
            if isinstance(reply, plumbline.CallError):
                print("failed:", reply.reason, reply.retry_after)
            else:
                verdict = plumbline.v1.Verdict.Name(reply.verdict)
                print(verdict, plumbline.value(reply.g_mean, None))


if __name__ == "__main__":
    main(sys.argv[1])
