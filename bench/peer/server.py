"""A Python server of VerifierService, made as well as its author knew how.

Pairs of all callers wait in one list. A worker takes the pair that has waited
longest and those next to it in length, as many as fit the budget of padded
tokens; as many workers as processors run side by side, one thread each.
"""

import argparse
import bisect
import threading
from concurrent import futures

import grpc
from model import Model
from plumbline.v1 import common_pb2, verifier_pb2, verifier_pb2_grpc


class Batcher:
    def __init__(self, model, workers, budget):
        self.model, self.budget = model, budget
        self.ready = threading.Condition()
        self.waiting = []  # (length, order, encoding, future), sorted
        self.order = 0
        for _ in range(workers):
            threading.Thread(target=self.work, daemon=True).start()

    def submit(self, encodings):
        promises = []
        with self.ready:
            for e in encodings:
                promise = futures.Future()
                bisect.insort(self.waiting, (len(e.ids), self.order, e, promise))
                self.order += 1
                promises.append(promise)
            self.ready.notify_all()
        return promises

    def take(self):
        """A batch around the pair that has waited longest; the lock is held."""
        first = min(range(len(self.waiting)), key=lambda i: self.waiting[i][1])
        low, high = first, first + 1
        # Shorter ones first: they do not make the batch wider.
        while low > 0 and (high - low + 1) * self.waiting[high - 1][0] <= self.budget:
            low -= 1
        while high < len(self.waiting) and (high - low + 1) * self.waiting[high][0] <= self.budget:
            high += 1
        batch = self.waiting[low:high]
        del self.waiting[low:high]
        return batch

    def work(self):
        while True:
            with self.ready:
                while not self.waiting:
                    self.ready.wait()
                batch = self.take()
            try:
                probabilities = self.model.run([item[2] for item in batch])
            except Exception as error:  # noqa: BLE001 - whoever waits must learn of any failure
                for item in batch:
                    item[3].set_exception(error)
                continue
            for item, p in zip(batch, probabilities):
                item[3].set_result(p)


class Verifier(verifier_pb2_grpc.VerifierServiceServicer):
    def __init__(self, model, batcher):
        self.model, self.batcher = model, batcher

    def Describe(self, request, context):
        return verifier_pb2.DescribeResponse(name="python peer", protocol_version=1)

    def Verify(self, requests, context):
        for request in requests:
            encodings = self.model.encode([(p.premise, p.hypothesis) for p in request.pairs])
            promises = self.batcher.submit(encodings)
            results = [result(p.id, f.result()) for p, f in zip(request.pairs, promises)]
            yield verifier_pb2.VerifyResponse(results=results)


def result(pair_id, p):
    probabilities = verifier_pb2.ClassProbabilities(entailment=p[0], neutral=p[1], contradiction=p[2])
    return verifier_pb2.VerifyResult(id=pair_id, status=common_pb2.STATUS_OK, probabilities=probabilities)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--weights", required=True)
    parser.add_argument("--tokenizer", required=True)
    parser.add_argument("--workers", type=int, required=True)
    parser.add_argument("--token-budget", type=int, required=True)
    args = parser.parse_args()
    model = Model(args.weights, args.tokenizer, threads=1)
    server = grpc.server(futures.ThreadPoolExecutor(max_workers=64))
    servicer = Verifier(model, Batcher(model, args.workers, args.token_budget))
    verifier_pb2_grpc.add_VerifierServiceServicer_to_server(servicer, server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    print(port, flush=True)
    server.wait_for_termination()


if __name__ == "__main__":
    main()
