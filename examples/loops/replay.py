"""An OpenAI-compatible server that answers from a file of recorded replies.

    python replay.py --replies replies.jsonl                      # replay
    python replay.py --replies mine.jsonl --record http://HOST/v1  # record

A reply belongs to the exact request (path and body), but for the readings of
Plumbline's prompt block: they differ a little between kinds of processors, so
that the recorded request with the nearest ones will do. While recording, a
request that is not in the file goes to the recorded API and its reply is kept;
otherwise it is refused with 404. It prints its address once it listens.
"""

import argparse
import collections
import http.server
import json
import os
import pathlib
import re
import threading

from clients import post

# A reading: three decimals, its bin and its trend.
READING = re.compile(r"\b([01]\.\d{3})\b(?: \([a-z ]+\))?(?: (?:IMPROVED|DECREASED) [+-][01]\.\d{3})?")
TOLERANCE = 0.05


def split(path, body):
    """A request as what must be the same and its readings."""
    text = json.dumps([path, body], sort_keys=True)
    return READING.sub("#", text), [float(r) for r in READING.findall(text)]


class Replies:
    """Replies by request, and where missing ones come from."""

    def __init__(self, path, upstream):
        self.path, self.upstream, self.lock = path, upstream, threading.Lock()
        self.known = collections.defaultdict(list)
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        for record in map(json.loads, lines):
            self._add(record["path"], record["request"], record["response"])

    def find(self, path, body):
        """The reply to a request, or None."""
        with self.lock:
            # Of a new recording every request is exact.
            found = self._nearest(path, body, 0 if self.upstream else TOLERANCE)
            if found is None and self.upstream:
                headers = {"Authorization": f"Bearer {os.environ.get('OPENAI_API_KEY', 'none')}"}
                found = post(self.upstream.rstrip("/") + path.removeprefix("/v1"), body, headers)
                self._add(path, body, found)
                with open(self.path, "a", encoding="utf-8") as file:
                    record = {"path": path, "request": body, "response": found}
                    file.write(json.dumps(record, ensure_ascii=False) + "\n")
            return found

    def _add(self, path, body, response):
        same, readings = split(path, body)
        self.known[same].append((readings, response))

    def _nearest(self, path, body, tolerance):
        same, readings = split(path, body)
        gaps = [(max(map(abs, map(float.__sub__, r, readings)), default=0), i) for i, (r, _) in enumerate(self.known[same])]
        gap, i = min(gaps, default=(1, -1))
        return self.known[same][i][1] if gap <= tolerance else None


def handler(answer):
    """A handler that answers POST requests by answer(path, body), which gives
    None for what it does not know."""

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            try:
                response = answer(self.path, body)
            except (OSError, RuntimeError) as failure:
                self._reply(502, {"error": {"message": str(failure)}})
                return
            if response is None:
                self._reply(404, {"error": {"message": f"no reply is recorded for this request to {self.path}"}})
            else:
                self._reply(200, response)

        def _reply(self, status, body):
            data = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_):
            """Says nothing of each request."""

    return Handler


def serve(answer, port):
    """Serves until killed."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", port), handler(answer))
    print(f"http://127.0.0.1:{server.server_port}/v1", flush=True)
    server.serve_forever()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--replies", type=pathlib.Path, required=True, help="JSON-lines file")
    parser.add_argument("--record", metavar="URL", help="API to ask for what the file does not have")
    parser.add_argument("--port", type=int, default=8000, help="0 takes a free one (default: %(default)s)")
    options = parser.parse_args()
    serve(Replies(options.replies, options.record).find, options.port)


if __name__ == "__main__":
    main()
