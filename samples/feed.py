#!/usr/bin/env python3
"""Publishes to the pools of the samples with the wpool command, and prints each call with its reply.

AMQP_URL is the broker's address, or RABBITMQ_HOSTNAME and its like. FEED_SECONDS: the pause between two rounds
(default 10; 0: one round). All calls are on one connection: `wpool request --lines` takes a call and answers it as a
line of JSON.
"""
import json
import os
import pathlib
import signal
import subprocess
import sys
import time

QUEUES = ("fibonacci", "fibonacci.python")
TEXTS = pathlib.Path("/usr/share/common-licenses")


class Caller:
    """A running `wpool request --lines`."""

    def __init__(self):
        self.process = subprocess.Popen(["wpool", "request", "--lines", "--wait", "30s"], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, encoding="utf-8")

    def call(self, queue, title, body, headers=()):
        """One RPC; False when no reply came."""
        line = json.dumps({"queue": queue, "headers": dict(headers), "body": body})
        try:
            print(line, file=self.process.stdin, flush=True)
        except BrokenPipeError:
            pass
        answer = self.process.stdout.readline()
        if not answer:  # it has printed why
            sys.exit(self.process.wait() or 1)
        answer = json.loads(answer)
        print(f"{queue} {title} -> {answer.get('body', 'no reply: ' + answer.get('error', ''))}", flush=True)
        return "body" in answer

    def call_json(self, queue, request, headers=()):
        text = json.dumps(request)
        return self.call(queue, text, text, headers)

    def feed_once(self):
        ok = True
        for value in range(-20, 21):
            ok &= self.call_json(QUEUES[value % 2], {"Value": value})
        for queue in ("long_batch", "long_batch.python"):
            ok &= self.call_json(queue, {"TotalCount": 1000, "BatchExecutedCount": 100}, {"TimeoutMilliseconds": "1000"})
        for path in sorted(path for path in TEXTS.glob("*") if path.is_file()):
            for queue in ("word_count", "word_count.python"):
                ok &= self.call(queue, path.name, path.read_text(errors="replace"))
        return ok


def main():
    # Also as PID 1 of a container, which gets no signal that it does not handle.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    pause = float(os.environ.get("FEED_SECONDS", "10"))
    caller = Caller()
    try:
        while True:
            ok = caller.feed_once()
            if pause == 0:
                return 0 if ok else 1
            time.sleep(pause)
    finally:
        caller.process.terminate()


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
