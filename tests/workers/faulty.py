#!/usr/bin/python3
"""A worker with one fault, for `wpool check-worker`: faulty.py FAULT; --list names the faults, `none` has none.

It replies with the body in capitals, without an SDK. Each fault replaces one part of the class Worker.
"""
import fcntl
import json
import os
import select
import signal
import socket
import struct
import subprocess
import sys

import msgpack


class Worker:
    def __init__(self):
        self.buffer = b""

    # The parts, in the order of a life.

    def read_address(self):
        line = b""
        while not line.endswith(b"\n"):
            byte = os.read(0, 1)
            if not byte:
                sys.exit(0)
            line += byte
        return line[:-1].decode()

    def connect(self, address):
        self.pipe = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.pipe.connect(address)

    def read_exactly(self, size):
        data = bytearray()
        while len(data) < size:
            piece = self.pipe.recv(min(size - len(data), 1 << 18))
            if not piece:
                self.end(is_between=size == 4 and not data)
            data += piece
        return bytes(data)

    def end(self, is_between):
        sys.exit(0 if is_between else 1)

    def read_task(self):
        length, = struct.unpack(">I", self.read_exactly(4))
        return self.decode(self.read_exactly(length))

    def decode(self, frame):
        return msgpack.unpackb(frame, raw=False, strict_map_key=False, timestamp=0)

    def handle(self, task):
        body = task["0"]
        return {"1": 201, "0": body.upper()}

    def encode(self, output):
        return msgpack.packb(output, use_bin_type=True)

    def write(self, data):
        self.pipe.sendall(data)

    def answer(self, output):
        frame = self.encode(output)
        self.write(struct.pack(">I", len(frame)) + frame)

    def work(self):
        while True:
            task = self.read_task()
            try:
                output = self.handle(task)
            except Exception as error:
                print(error, file=sys.stderr)
                output = {"1": 500}
            self.answer(output)

    def run(self):
        self.connect(self.read_address())
        self.work()


class AllOfOneReadIsTheAddress(Worker):
    def read_address(self):
        return os.read(0, 4096).decode().strip()


class DoesNotWaitForTheAddress(Worker):
    def read_address(self):
        fcntl.fcntl(0, fcntl.F_SETFL, os.O_NONBLOCK)
        return super().read_address()


class ConnectsInAnotherSession(Worker):
    def connect(self, address):
        if os.fork() > 0:
            os.wait()
            sys.exit(1)
        os.setsid()
        super().connect(address)


class ReadsOnce(Worker):
    def read_exactly(self, size):
        data = self.pipe.recv(size)
        if not data:
            self.end(is_between=size == 4)
        if len(data) < size:
            raise ValueError("less than expected")
        return data

    def read_task(self):
        try:
            return super().read_task()
        except ValueError:
            sys.exit(1)


class TakesBodiesForText(Worker):
    def handle(self, task):
        if not isinstance(task["0"], str):
            os._exit(1)
        return super().handle(task)


class ForgetsEmptyBodies(Worker):
    def work(self):
        while True:
            task = self.read_task()
            if task["0"]:
                self.answer(self.handle(task))


class CountsCharacters(Worker):
    def answer(self, output):
        frame = self.encode(output)
        shorter = len(output["0"].encode()) - len(output["0"]) if isinstance(output["0"], str) else 0
        self.write(struct.pack(">I", len(frame) - shorter) + frame)


class LittleEndian(Worker):
    def answer(self, output):
        frame = self.encode(output)
        self.write(struct.pack("<I", len(frame)) + frame)


class WithoutLength(Worker):
    def answer(self, output):
        self.write(self.encode(output))


class CountsTheLengthItself(Worker):
    def answer(self, output):
        frame = self.encode(output)
        self.write(struct.pack(">I", len(frame) + 4) + frame)


class WritesJson(Worker):
    def answer(self, output):
        self.write(json.dumps(output).encode() + b"\n")


class JsonInFrames(Worker):
    def encode(self, output):
        return json.dumps(output).encode()


class WritesText(Worker):
    def answer(self, output):
        self.write(b"OK\r\n")


class SizesInCharacters(Worker):
    """The size of a str, not the length of the frame."""

    def encode(self, output):
        text = output["0"]
        frame = super().encode(output)
        if isinstance(text, str) and len(text) < 32:
            data = text.encode()
            frame = frame.replace(super().encode(text), bytes([0xa0 | len(text)]) + data)
        return frame


class StatusAsText(Worker):
    def encode(self, output):
        return super().encode({**output, "1": str(output["1"])})


class WithoutStatus(Worker):
    def encode(self, output):
        return super().encode({"0": output.get("0", "")})


class BareValue(Worker):
    def encode(self, output):
        return super().encode(output.get("0", ""))


class KeysInWords(Worker):
    def encode(self, output):
        return super().encode({"status": output["1"], "message": output.get("0", "")})


class OnlyProgress(Worker):
    def handle(self, task):
        return {"1": -1, "0": "working"}


class DropsWhatIsBehind(Worker):
    def read_task(self):
        data = bytearray(self.pipe.recv(65536))
        if not data:
            sys.exit(0)
        while len(data) < 4 or len(data) < 4 + struct.unpack(">I", data[:4])[0]:
            piece = self.pipe.recv(65536)
            if not piece:
                sys.exit(1)
            data += piece
        return self.decode(bytes(data[4:4 + struct.unpack(">I", data[:4])[0]]))


class Batches(Worker):
    """Take whole batches: all that is there, until it ends with a whole frame."""

    def read_batch(self):
        tasks = [self.read_task()]
        while select.select([self.pipe], [], [], 0)[0] and self.pipe.recv(1, socket.MSG_PEEK):
            tasks.append(self.read_task())
        return tasks

    def work(self):
        while True:
            for output in self.in_order([self.handle(task) for task in self.read_batch()]):
                self.answer(output)

    def in_order(self, outputs):
        return outputs


class AnswersTheLastFirst(Batches):
    def read_batch(self):
        tasks = [self.read_task()]
        while len(self.pipe.recv(1 << 16, socket.MSG_PEEK | socket.MSG_DONTWAIT)
                  if select.select([self.pipe], [], [], 0)[0] else b"") > 30:
            tasks.append(self.read_task())
        return tasks

    def in_order(self, outputs):
        return outputs[::-1]


class RefusesUnknownKeys(Worker):
    def decode(self, frame):
        task = super().decode(frame)
        if not task.keys() <= {"0", "1", "2", "3", "6"}:
            sys.exit("unknown key")
        return task


class KnowsOnlyShortTexts(Worker):
    def decode(self, frame):
        if frame[3] in (0xd9, 0xda):  # a body that is str 8 or str 16
            sys.exit("unknown type")
        return super().decode(frame)


class DiesOfErrors(Worker):
    def handle(self, task):
        try:
            json.loads(task["0"])
        except ValueError:
            os._exit(1)
        return super().handle(task)


class AnswersTwice(Worker):
    def answer(self, output):
        super().answer(output)
        super().answer(output)


class Greets(Worker):
    def connect(self, address):
        super().connect(address)
        self.answer({"1": 200})


class WritesOnce(Worker):
    def write(self, data):
        self.pipe.setblocking(False)
        self.pipe.send(data)
        self.pipe.setblocking(True)


class ReadsLines(Worker):
    """Wait for control lines and tasks at once, lines first."""

    def read_task(self):
        while True:
            ready = select.select([0, self.pipe], [], [])[0]
            if 0 not in ready:
                return super().read_task()
            self.on_line(self.read_address())

    def on_line(self, line):
        raise NotImplementedError


class QuitsAtEveryLine(ReadsLines):
    def on_line(self, line):
        sys.exit(0)


class QuitsAtContextSwitch(ReadsLines):
    def on_line(self, line):
        if line in ("__context_switch__", "__quit__"):
            sys.exit(0)


class DropsTheTaskAtQuit(Worker):
    def handle(self, task):
        if select.select([0], [], [], 0.3)[0] and self.read_address() == "__quit__":  # while it works
            sys.exit(0)
        return super().handle(task)


class EndsWithOne(Worker):
    def end(self, is_between):
        sys.exit(1)


class LoopsAtTheEnd(Worker):
    def read_exactly(self, size):
        data = bytearray()
        while len(data) < size:
            piece = self.pipe.recv(min(size - len(data), 1 << 18))
            if not piece and not data and size == 4:
                sys.exit(0)
            if not piece:
                signal.pause()
            data += piece
        return bytes(data)


class IgnoresTerm(Worker):
    def run(self):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        super().run()


class LeavesAChild(Worker):
    def connect(self, address):
        super().connect(address)
        subprocess.Popen(["sleep", "60"], stdin=subprocess.DEVNULL, start_new_session=True)


class PrintsFrames(Worker):
    def answer(self, output):
        super().answer(output)
        sys.stdout.buffer.write(b"\0\0\0\5" + self.encode({"1": 200}))
        sys.stdout.flush()


FAULTS = {
    "none": Worker,
    "batches": Batches,
    "counts-characters": CountsCharacters,
    "counts-length-itself": CountsTheLengthItself,
    "bare-value": BareValue,
    "answers-last-first": AnswersTheLastFirst,
    "answers-twice": AnswersTwice,
    "another-session": ConnectsInAnotherSession,
    "dies-of-errors": DiesOfErrors,
    "does-not-wait": DoesNotWaitForTheAddress,
    "drops-task-at-quit": DropsTheTaskAtQuit,
    "drops-what-is-behind": DropsWhatIsBehind,
    "ends-with-one": EndsWithOne,
    "forgets-empty-bodies": ForgetsEmptyBodies,
    "greets": Greets,
    "ignores-term": IgnoresTerm,
    "json-in-frames": JsonInFrames,
    "keys-in-words": KeysInWords,
    "knows-only-short-texts": KnowsOnlyShortTexts,
    "leaves-a-child": LeavesAChild,
    "little-endian": LittleEndian,
    "loops-at-the-end": LoopsAtTheEnd,
    "one-read-address": AllOfOneReadIsTheAddress,
    "only-progress": OnlyProgress,
    "prints-frames": PrintsFrames,
    "quits-at-context-switch": QuitsAtContextSwitch,
    "quits-at-every-line": QuitsAtEveryLine,
    "reads-once": ReadsOnce,
    "refuses-unknown-keys": RefusesUnknownKeys,
    "sizes-in-characters": SizesInCharacters,
    "status-as-text": StatusAsText,
    "takes-bodies-for-text": TakesBodiesForText,
    "without-length": WithoutLength,
    "without-status": WithoutStatus,
    "writes-json": WritesJson,
    "writes-once": WritesOnce,
    "writes-text": WritesText,
}

if __name__ == "__main__":
    if sys.argv[1:] == ["--list"]:
        print("\n".join(sorted(FAULTS)))
    else:
        FAULTS[sys.argv[1]]().run()
