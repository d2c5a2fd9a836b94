#!/usr/bin/python3
"""Behaves like the existing Python worker (protocol: "Existing workers"), its faults included:
it hangs on __quit__ while it is blocked in a read, and when the pipe alone is closed; only
__quit__, then the end of the pipe, lets it go. After any error it neither answers nor exits.

A body of "fail" raises in the handler; "reply X" is answered with 201 and X; all else with 200."""

import os
import socket
import sys
import tempfile
import threading

import msgpack


def receive_exactly(pipe, size):
    received = b""
    while len(received) < size:
        chunk = pipe.recv(size - len(received))
        if not chunk:
            raise EOFError
        received += chunk
    return received


def handle(task):
    """The output map; its keys are complete, with nil for what is not said."""
    message = task["0"]
    if message == "fail":
        raise RuntimeError("the handler failed")
    if message.startswith("reply "):
        return {"0": message[6:], "1": 201, "2": {"test": "testval"}, "3": None}
    return {"0": None, "1": 200, "2": None, "3": None}


class Worker:
    def __init__(self):
        self.quit = False
        self.ended = threading.Event()  # set at the end of the pipe, never after an error

    def work(self, pipe):
        try:
            while not self.quit:
                size = int.from_bytes(receive_exactly(pipe, 4), "big")
                task = msgpack.unpackb(receive_exactly(pipe, size))
                output = msgpack.packb(handle(task))
                pipe.sendall(len(output).to_bytes(4, "big") + output)
            self.ended.set()
        except EOFError:
            self.ended.set()
        except Exception as error:
            print("error:", error, flush=True)

    def listen(self):
        """Only __quit__ ends this, and only once the reader has come back."""
        for line in sys.stdin:
            if line.strip() == "__quit__":
                self.quit = True
                self.ended.wait()
                return
        threading.Event().wait()


def main():
    name = sys.stdin.readline().rstrip("\n")
    pipe = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    pipe.connect(os.path.join(tempfile.gettempdir(), "CoreFxPipe_" + name))
    worker = Worker()
    threading.Thread(target=worker.work, args=(pipe,), daemon=True).start()
    worker.listen()


if __name__ == "__main__":
    main()
