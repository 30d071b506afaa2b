"""Asks `plumbline` on the command line: requests go in as JSON lines, responses
come back in the same order."""

import json
import os
import subprocess
import time


class Plumbline:
    """The program at a path, with the processor time that it has used."""

    def __init__(self, path, parallel):
        self.path = path
        self.parallel = parallel

    def confidence(self, requests):
        """ScoreConfidence for each request."""
        return self._run(["score", "confidence", "--parallel", str(self.parallel)], requests)

    def grounding(self, requests):
        """ScoreGrounding for each request."""
        return self._run(["score", "grounding", "--parallel", str(self.parallel)], requests)

    def decide(self, policy, inputs, thresholds=None):
        """The actions of a policy for each dictionary of inputs."""
        requests = [{"inputs": i, "thresholds": thresholds or {}} for i in inputs]
        responses = self._run(["gate", "decide", "--policy", policy], requests)
        return [r["action"].removeprefix("ACTION_") for r in responses]

    def _run(self, arguments, requests):
        lines = "".join(json.dumps(r) + "\n" for r in requests)
        result = subprocess.run(
            [self.path, *arguments, "--quiet"], input=lines, capture_output=True, text=True, check=False
        )
        if result.returncode != 0:
            raise RuntimeError(f"plumbline {' '.join(arguments)}: exit {result.returncode}\n{result.stderr}")
        return [json.loads(line) for line in result.stdout.splitlines()]


def processor_seconds():
    """Processor time of this program's children so far."""
    times = os.times()
    return times.children_user + times.children_system


class Stopwatch:
    """Wall and processor time since it was made."""

    def __init__(self):
        self.wall, self.cpu = time.monotonic(), processor_seconds()

    def read(self):
        return {"wall_s": round(time.monotonic() - self.wall, 2), "cpu_s": round(processor_seconds() - self.cpu, 2)}
