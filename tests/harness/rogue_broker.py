#!/usr/bin/env python3
"""A broker that ignores every prefetch: to each consumer it delivers messages of SIZE bytes as fast as it
can, until the client closes the channel, or TOTAL bytes of frames were sent.

rogue_broker.py SIZE TOTAL

It serves AMQP 0-9-1 on a free port of 127.0.0.1 and writes to standard error: "port N;", "consumer N;" at
each basic.consume, "channel closed: CODE TEXT" at each channel.close of a client. A task tells the echo
worker to sleep, so that none is acked.
"""
import ctypes
import signal
import socket
import struct
import sys
import threading

METHOD, HEADER, BODY, HEARTBEAT = 1, 2, 3, 8
FRAME_MAX = 131072
BATCH_BYTES = 1 << 18

consumers = 0


def say(text):
    print(text, file=sys.stderr, flush=True)


def short(text):
    return bytes([len(text)]) + text


def long(text):
    return struct.pack(">I", len(text)) + text


def frame(kind, channel, payload):
    return struct.pack(">BHI", kind, channel, len(payload)) + payload + b"\xce"


def method(channel, class_id, method_id, arguments=b""):
    return frame(METHOD, channel, struct.pack(">HH", class_id, method_id) + arguments)


def content(channel, size):
    """The frames after basic.deliver: each message has the same."""
    headers = short(b"X-Sleep-Ms") + b"S" + long(b"600000")
    parts = [frame(HEADER, channel, struct.pack(">HHQH", 60, 0, size, 0x2000) + long(headers))]
    for at in range(0, size, FRAME_MAX - 8):
        parts.append(frame(BODY, channel, b"x" * min(size - at, FRAME_MAX - 8)))
    return b"".join(parts)


class Connection:
    def __init__(self, sock, size, total):
        self.sock, self.size, self.total = sock, size, total
        self.closed = set()  # channels
        self.lock = threading.Lock()
        self.tag = 0

    def send(self, frames):
        with self.lock:
            self.sock.sendall(frames)

    def read(self, size):
        parts = b""
        while len(parts) < size:
            part = self.sock.recv(size - len(parts))
            if not part:
                raise EOFError
            parts += part
        return parts

    def flood(self, channel, consumer):
        after = content(channel, self.size)
        sent = 0
        try:
            while channel not in self.closed and sent < self.total:
                batch = []
                while sum(map(len, batch)) < BATCH_BYTES and len(batch) < 500:
                    self.tag += 1
                    deliver = short(consumer) + struct.pack(">QB", self.tag, 0) + short(b"") + short(b"q")
                    batch.append(method(channel, 60, 60, deliver) + after)
                batch = b"".join(batch)
                self.send(batch)
                sent += len(batch)
        except OSError:
            pass

    def consume(self, channel, arguments):
        global consumers
        queue_len = arguments[2]
        at = 3 + queue_len
        consumer = arguments[at + 1:at + 1 + arguments[at]]
        consumers += 1
        say(f"consumer {consumers};")
        self.send(method(channel, 60, 21, short(consumer)))
        threading.Thread(target=self.flood, args=(channel, consumer), daemon=True).start()

    def on_method(self, channel, class_id, method_id, arguments):
        empty = {(60, 10): (60, 11), (85, 10): (85, 11)}  # basic.qos, confirm.select
        if (class_id, method_id) in empty:
            self.send(method(channel, *empty[class_id, method_id]))
        elif (class_id, method_id) == (10, 11):
            self.send(method(0, 10, 30, struct.pack(">HIH", 2047, FRAME_MAX, 0)))
        elif (class_id, method_id) == (10, 40):
            self.send(method(0, 10, 41, short(b"")))
        elif (class_id, method_id) == (10, 50):
            self.send(method(0, 10, 51))
            raise EOFError
        elif (class_id, method_id) == (20, 10):
            self.closed.discard(channel)
            self.tag = 0
            self.send(method(channel, 20, 11, long(b"")))
        elif (class_id, method_id) == (20, 40):
            self.closed.add(channel)
            code = struct.unpack(">H", arguments[:2])[0]
            say(f"channel closed: {code} {arguments[3:3 + arguments[2]].decode()}")
            self.send(method(channel, 20, 41))
        elif (class_id, method_id) == (50, 10):
            name = arguments[3:3 + arguments[2]]
            self.send(method(channel, 50, 11, short(name) + struct.pack(">II", 0, 0)))
        elif (class_id, method_id) == (60, 20):
            self.consume(channel, arguments)
        elif (class_id, method_id) == (60, 30):
            self.send(method(channel, 60, 31, arguments[:1 + arguments[0]]))

    def serve(self):
        try:
            self.read(8)  # the protocol header
            properties = long(b"")
            self.send(method(0, 10, 10, b"\0\x09" + properties + long(b"PLAIN") + long(b"en_US")))
            while True:
                kind, channel, size = struct.unpack(">BHI", self.read(7))
                payload = self.read(size + 1)[:-1]
                if kind == METHOD:
                    self.on_method(channel, *struct.unpack(">HH", payload[:4]), payload[4:])
        except (OSError, EOFError):
            pass
        self.closed.update(range(2048))
        self.sock.close()


def main():
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG: not to outlive its test
    size, total = int(sys.argv[1]), int(sys.argv[2])
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen(16)
    say(f"port {listener.getsockname()[1]};")
    while True:
        sock, _ = listener.accept()
        connection = Connection(sock, size, total)
        threading.Thread(target=connection.serve, daemon=True).start()


main()
