#!/usr/bin/env python3
"""Publishes to the pools of the samples with the wpool command, and prints each call with its reply.

AMQP_URL is the broker's address. FEED_SECONDS: the pause between two rounds (default 10; 0: one round).
"""
import json
import os
import pathlib
import subprocess
import sys
import time

QUEUES = ("fibonacci", "fibonacci.python")
TEXTS = pathlib.Path("/usr/share/common-licenses")


def call(queue, title, body, *options):
    """One RPC; False when no reply came."""
    run = subprocess.run(["wpool", "request", "--queue", queue, "--timeout", "30s", *options, "-"],
                         input=body, stdout=subprocess.PIPE)
    reply = run.stdout.decode(errors="replace").strip() if run.returncode == 0 else "no reply"
    print(f"{queue} {title} -> {reply}", flush=True)
    return run.returncode == 0


def call_json(queue, request, *options):
    text = json.dumps(request)
    return call(queue, text, text.encode(), *options)


def feed_once():
    ok = True
    for value in range(-20, 21):
        ok &= call_json(QUEUES[value % 2], {"Value": value})
    for queue in ("long_batch", "long_batch.python"):
        ok &= call_json(queue, {"TotalCount": 1000, "BatchExecutedCount": 100}, "--header", "TimeoutMilliseconds=1000")
    for path in sorted(path for path in TEXTS.glob("*") if path.is_file()):
        for queue in ("word_count", "word_count.python"):
            ok &= call(queue, path.name, path.read_bytes())
    return ok


def main():
    pause = float(os.environ.get("FEED_SECONDS", "10"))
    while True:
        ok = feed_once()
        if pause == 0:
            return 0 if ok else 1
        time.sleep(pause)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
