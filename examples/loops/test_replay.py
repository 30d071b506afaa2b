"""Which recorded reply belongs to a request."""

import json
import pathlib
import tempfile
import unittest

from replay import Replies


class ReplayTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        path = pathlib.Path(folder.name) / "replies.jsonl"
        asked = {"sc 0.300 (low): share": "low", "sc 0.700 (high) IMPROVED +0.400: share": "high", "plain": "plain"}
        path.write_text("".join(json.dumps({"path": "/v1", "request": r, "response": a}) + "\n" for r, a in asked.items()))
        self.replies = Replies(path, upstream=None)

    def test_nearest_readings(self):
        for request, want in {
            "plain": "plain",
            "sc 0.300 (low): share": "low",
            "sc 0.311 (low) IMPROVED +0.006: share": "low",
            "sc 0.690 (high): share": "high",
            "sc 0.500 (medium): share": None,
            "sc 0.300 (low): another": None,
            "nothing of the kind": None,
        }.items():
            with self.subTest(request):
                self.assertEqual(self.replies.find("/v1", request), want)
        self.assertIsNone(self.replies.find("/v2", "plain"))


if __name__ == "__main__":
    unittest.main()
