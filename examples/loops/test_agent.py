"""The parsers' golden cases, which they share with the Go package."""

import dataclasses
import json
import pathlib
import unittest

import agent

GOLDEN = pathlib.Path(__file__).parents[2] / "scorers/telemetry/agent/testdata/golden.json"


class AgentTest(unittest.TestCase):
    def setUp(self):
        self.golden = json.loads(GOLDEN.read_text(encoding="utf-8"))

    def test_replies(self):
        for case in self.golden["replies"]:
            with self.subTest(case["name"]):
                if "want" in case:
                    got = agent.parse_reply(case["reply"], case["subquestion"])
                    self.assertEqual(got, agent.Reply(**case["want"]))
                else:
                    with self.assertRaises(agent.Malformed) as caught:
                        agent.parse_reply(case["reply"], case["subquestion"])
                    self.assertIn(case["malformed"], str(caught.exception))
                    self.assertNotIn("Paris", str(caught.exception))

    def test_hostile_replies(self):
        for reply in ('{"action": "commit", "answer": "' + "x" * (1 << 20) + '"}', '{"action": ' + "[" * 20000):
            with self.assertRaises(agent.Malformed):
                agent.parse_reply(reply, "Which city?")

    def test_probes(self):
        for case in self.golden["probes"]:
            with self.subTest(case["reply"]):
                got = agent.parse_probe(case["reply"])
                if "want" in case:
                    self.assertEqual(got, agent.Probe(**case["want"]))
                else:
                    self.assertEqual((got.confidence, got.no_confidence), (None, case["no_confidence"]))

    def test_the_prompt_shows_what_the_parser_reads(self):
        example = next(line for line in agent.probe_prompt("Who?").splitlines() if line.startswith("{"))
        self.assertTrue(all(dataclasses.asdict(agent.parse_probe(example))[f] for f in ("answer", "summary", "suggested_action")))


if __name__ == "__main__":
    unittest.main()
