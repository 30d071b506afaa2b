"""Compares ways to spread single pairs over the processors and to keep memory.

    python threads.py --weights MODEL.onnx --pairs PAIRS.json [--rounds 5]

PAIRS.json is a list of objects with the token ids ("ids") and segments ("types") of a pair.
Every setting runs in a process of its own, in turns, forwards and backwards every other
round. Printed are medians: pairs a second with all processors at work, pairs a second of
processor time, milliseconds of a pair that runs alone, and the resident memory in the end."""

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass

CORES = len(os.sched_getaffinity(0))


@dataclass(frozen=True)
class Setting:
    name: str
    sessions: int = 1
    workers: int = CORES
    threads: int = 1
    """Threads of a run."""
    spinning: bool = False
    arena: bool = True
    pattern: bool = False


SETTINGS = (
    Setting("as shipped: one session, a run for each processor"),
    Setting("a session for each processor", sessions=CORES),
    Setting("one run on all processors", workers=1, threads=CORES),
    Setting("one run on all processors, spinning", workers=1, threads=CORES, spinning=True),
    Setting("as shipped, without the arena", arena=False),
    Setting("as shipped, with memory patterns", pattern=True),
)


def measure(setting, weights, pairs):
    """The figures of one setting, in this process."""
    import numpy as np
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = setting.threads
    options.inter_op_num_threads = 1
    options.add_session_config_entry("session.intra_op.allow_spinning", str(int(setting.spinning)))
    options.enable_cpu_mem_arena = setting.arena
    options.enable_mem_pattern = setting.pattern
    sessions = [onnxruntime.InferenceSession(weights, options, providers=["CPUExecutionProvider"]) for _ in range(setting.sessions)]
    inputs = [
        {"input_ids": np.array([p["ids"]]), "attention_mask": np.ones((1, len(p["ids"])), np.int64), "token_type_ids": np.array([p["types"]])}
        for p in sorted(pairs, key=lambda p: len(p["ids"]), reverse=True)
    ]

    def run(i):
        sessions[i % len(sessions)].run(["logits"], inputs[i])

    def all_of():
        with ThreadPoolExecutor(setting.workers) as pool:
            list(pool.map(run, range(len(inputs))))

    all_of()  # the first run of a length allocates
    began, before = time.perf_counter(), time.process_time()
    all_of()
    rate = len(inputs) / (time.perf_counter() - began)
    work = len(inputs) / (time.process_time() - before)
    began = time.perf_counter()
    for i in range(len(inputs)):
        run(i)
    alone = (time.perf_counter() - began) / len(inputs)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"rate": rate, "work": work, "alone": alone * 1000, "memory": memory}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--weights", required=True)
    parser.add_argument("--pairs", required=True)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--setting", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.setting:
        with open(options.pairs, encoding="utf-8") as file:
            pairs = json.load(file)
        print(json.dumps(measure(Setting(**json.loads(options.setting)), options.weights, pairs)))
        return
    found = {setting: [] for setting in SETTINGS}
    for number in range(options.rounds):
        for setting in SETTINGS if number % 2 == 0 else SETTINGS[::-1]:
            command = [sys.executable, __file__, *sys.argv[1:], "--setting", json.dumps(asdict(setting))]
            found[setting].append(json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout))
    print("| setting | pairs/s | pairs/CPU-s | ms alone | MiB |\n|---|---:|---:|---:|---:|")
    for setting, rounds in found.items():
        median = {key: statistics.median(r[key] for r in rounds) for key in rounds[0]}
        print(f"| {setting.name} | {median['rate']:.1f} | {median['work']:.1f} | {median['alone']:.1f} | {median['memory']:.0f} |")


if __name__ == "__main__":
    main()
