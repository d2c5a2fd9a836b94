#!/usr/bin/python3
"""A worker with one fault, for `wpool check-worker`: faulty.py FAULT; --list names the faults, `none` has none.

It replies with the body in capitals, without an SDK. Each fault replaces one part of the class Worker, which has one
task at a time, or of Loop, which has several. `threads` has no fault either: a thread for each of several tasks. `one-by-one`
may have several tasks, but works on one at a time. `accepts` has one, and accepts it before it answers. `ends-with-its-answer` ends with
status 205.
"""
import fcntl
import json
import os
import queue
import random
import select
import signal
import socket
import struct
import subprocess
import sys
import threading
import time

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


class Accepts(Worker):
    def handle(self, task):
        self.answer({"1": -2})
        return super().handle(task)


class EndsWithItsAnswer(Worker):
    def answer(self, output):
        super().answer({"1": 205})
        sys.exit(3)


class OnlyProgress(Worker):
    def handle(self, task):
        return {"1": -1, "0": "working"}


class HardLimitInWords(Worker):
    def handle(self, task):
        self.answer({"1": -1, "2": {"HardLimitMilliseconds": "10 s"}})
        return {"1": 200}


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
    KNOWN = {"0", "1", "2", "3", "4", "6", "7"}

    def decode(self, frame):
        task = super().decode(frame)
        if not task.keys() <= self.KNOWN:
            sys.exit("unknown key")
        return task


class KnowsNoSession(RefusesUnknownKeys):
    KNOWN = {"0", "1", "2", "3", "6", "7", "8", "9", "later"}


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
    """A write takes no more than this, as of a full pipe, however fast the reader is."""

    AT_ONCE = 64 << 10

    def write(self, data):
        self.pipe.send(data[:self.AT_ONCE])


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
        if select.select([0], [], [], 1)[0] and self.read_address() == "__quit__":  # while it works
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


class NeverExits(Worker):
    def end(self, is_between):
        signal.pause()


class AnswersWithoutEnd(Worker):
    def answer(self, output):
        while True:
            super().answer(output)


class ExitsBeforeItIsSent(Worker):
    """What the pipe cannot take at once is sent in the background, and lost at the exit."""
    sending = None

    def write(self, data):
        if self.sending:
            self.sending.join()
        try:
            sent = self.pipe.send(data, socket.MSG_DONTWAIT)
        except BlockingIOError:
            sent = 0
        if sent < len(data):
            self.sending = threading.Thread(target=self.pipe.sendall, args=(data[sent:],), daemon=True)
            self.sending.start()

    def end(self, is_between):
        os._exit(0 if is_between else 1)


# ---------- several tasks at once ----------

class Loop(Worker):
    """One thread that waits for control lines and tasks. When several tasks are open, each waits for a moment or for
    the next control line, and the last is answered first."""

    HOLD = 1

    def __init__(self):
        super().__init__()
        self.places = int(os.environ["WPOOL_CONCURRENCY"])
        self.open = {}  # by id, in the order in which they came
        self.bytes = bytearray()

    def read_tasks(self):
        piece = self.pipe.recv(1 << 18)
        if not piece:
            self.end_of_data()
        self.bytes += piece
        tasks = []
        while len(self.bytes) >= 4 and len(self.bytes) >= 4 + struct.unpack(">I", self.bytes[:4])[0]:
            size = 4 + struct.unpack(">I", self.bytes[:4])[0]
            tasks.append(self.decode(bytes(self.bytes[4:size])))
            del self.bytes[:size]
        return tasks

    def end_of_data(self):
        self.answer_open()
        self.end(is_between=not self.bytes)

    def add(self, tasks):
        for task in tasks:
            self.open[task["7"]] = task

    def output_of(self, task):
        try:
            output = self.handle(task)
        except Exception as error:
            print(error, file=sys.stderr)
            output = {"1": 500}
        return {**output, "7": task["7"]}

    def answer_open(self):
        outputs = [self.output_of(task) for task in self.open.values()]
        self.open.clear()
        self.write_outputs(outputs if self.places == 1 else outputs[::-1])

    def write_outputs(self, outputs):
        for output in outputs:
            self.answer(output)

    def on_line(self, line):
        word, _, number = line.partition(" ")
        if word == "__quit__":
            self.on_quit()
        elif word == "__cancel__":
            self.on_cancel(int(number))

    def on_quit(self):
        pass  # the end of the data pipe follows

    def on_cancel(self, number):
        if number in self.open:
            del self.open[number]
            self.answer({"1": 500, "7": number})

    def work(self):
        while True:
            ready = select.select([0, self.pipe], [], [], self.HOLD if len(self.open) > 1 else None)[0]
            if 0 in ready:
                self.on_line(self.read_address())
            if self.pipe in ready:
                self.add(self.read_tasks())
            if len(self.open) == 1 or self.pipe not in ready:
                self.answer_open()


class OneByOne(Worker):
    """Right: it has one task at a time, and leaves the others in the pipe."""

    def handle(self, task):
        time.sleep(0.02)
        return {**super().handle(task), "7": task["7"]}


class MissingId(Loop):
    def output_of(self, task):
        output = super().output_of(task)
        del output["7"]
        return output


class WithId(Loop):
    def output_of(self, task):
        output = super().output_of(task)
        return {**output, "7": self.id_of(output["7"])}

    def id_of(self, number):
        raise NotImplementedError


class IdAsText(WithId):
    def id_of(self, number):
        return str(number)


class IdAsFloat(WithId):
    def id_of(self, number):
        return float(number)


class IdNegative(WithId):
    def id_of(self, number):
        return -number


class IdZero(WithId):
    def id_of(self, number):
        return 0


class NextId(WithId):
    def id_of(self, number):
        return number + 1


class AlwaysOne(WithId):
    def id_of(self, number):
        return 1


class IdOf32Bits(WithId):
    def id_of(self, number):
        return number & 0xffffffff


class FirstId(WithId):
    first = None

    def id_of(self, number):
        self.first = self.first or number
        return self.first


class AnswersIdsTwice(Loop):
    def answer(self, output):
        super().answer(output)
        super().answer(output)


class OneTooMany(Loop):
    """N tasks, N + 1 answers."""
    last = 0

    def add(self, tasks):
        super().add(tasks)
        self.last = max(self.open) if len(self.open) > 50 else 0

    def end_of_data(self):
        self.answer_open()
        if self.last:
            self.answer({"1": 200, "7": self.last + 1})
        super().end_of_data()


class LosesOne(Loop):
    def add(self, tasks):
        before = len(self.open)
        super().add(tasks)
        if before <= 50 < len(self.open):  # however many came at once
            self.open.popitem()


class Blocks(Loop):
    def add(self, tasks):
        super().add(tasks)
        if len(self.open) > 50:
            signal.pause()


class WaitsForAll(Loop):
    def work(self):
        while True:
            self.add(self.read_tasks())
            if len(self.open) == self.places:
                self.answer_open()


class MixesAnswers(Loop):
    def write_outputs(self, outputs):
        if len(outputs) > 50:
            outputs[0]["7"], outputs[1]["7"] = outputs[1]["7"], outputs[0]["7"]
        super().write_outputs(outputs)


class MixesFrames(Loop):
    """Two threads that write at once; always in this order."""

    def write_outputs(self, outputs):
        if len(outputs) > 50:
            frames = [self.encode(output) for output in outputs]
            for frame in frames:
                self.write(struct.pack(">I", len(frame)))
            for frame in frames:
                self.write(frame)
        else:
            super().write_outputs(outputs)


class ProgressWithoutId(Loop):
    def write_outputs(self, outputs):
        if len(outputs) > 5:
            self.answer({"1": -1, "0": "half"})
        super().write_outputs(outputs)


class ProgressOfNone(Loop):
    def write_outputs(self, outputs):
        if len(outputs) > 5:
            self.answer({"1": -1, "0": "half", "7": 1 << 60})
        super().write_outputs(outputs)


class ProgressBehindTheAnswer(Loop):
    def write_outputs(self, outputs):
        super().write_outputs(outputs[:1])
        if len(outputs) > 5:
            self.answer({"1": -1, "0": "done", "7": outputs[0]["7"]})
        super().write_outputs(outputs[1:])


class QuitsAtCancel(Loop):
    def on_cancel(self, number):
        sys.exit(0)


class KnowsOnlyOpenIds(Loop):
    def on_cancel(self, number):
        self.open[number]["cancelled"] = True


class CancelsAll(Loop):
    def on_cancel(self, number):
        for number in list(self.open):
            super().on_cancel(number)


class GivesUpAll(Loop):
    """With a status that is no failure of the task."""

    def on_cancel(self, number):
        for other in self.open:
            self.answer({"1": 400, "7": other})
        self.open.clear()


class DropsTheCancelled(Loop):
    def on_cancel(self, number):
        self.open.pop(number, None)


class AnswersTheCancelledTwice(Loop):
    def on_cancel(self, number):
        if number in self.open:
            self.answer({"1": 500, "7": number})


class KnowsNoSwitchWithId(Loop):
    def on_line(self, line):
        if line.startswith("__context_switch__") and line != "__context_switch__":
            raise ValueError(line)
        super().on_line(line)


class DropsOpenTasksAtQuit(Loop):
    HOLD = 2  # they are open when the end comes, also on a busy machine

    def on_quit(self):
        sys.exit(0)


class DropsOpenTasksAtTheEnd(Loop):
    HOLD = 2

    def on_quit(self):
        self.add(self.read_tasks())  # of which there are none: it waits for the end

    def end_of_data(self):
        self.end(is_between=not self.bytes)


class Threads(Worker):
    """Right: a thread for each place, so that answers come in any order; one more for the control lines."""

    def __init__(self):
        super().__init__()
        self.places = int(os.environ["WPOOL_CONCURRENCY"])
        self.tasks = queue.SimpleQueue()
        self.cancelled = {}  # an event for each open task
        self.writing = threading.Lock()

    def write(self, data):
        with self.writing:
            try:
                super().write(data)
            except OSError:
                os._exit(1)

    def read_lines(self):
        while True:
            word, _, number = self.read_address().partition(" ")
            event = self.cancelled.get(int(number)) if word == "__cancel__" else None
            if event:
                event.set()

    def handle_tasks(self):
        while task := self.tasks.get():
            wait = random.random() / 50 if self.places > 1 else 0
            try:
                is_cancelled = self.cancelled[task["7"]].wait(wait)
                output = {"1": 500} if is_cancelled else self.handle(task)
            except Exception as error:
                print(error, file=sys.stderr)
                output = {"1": 500}
            del self.cancelled[task["7"]]
            self.answer({"1": -1, "0": "nearly", "7": task["7"]})
            self.answer({**output, "7": task["7"]})

    def end(self, is_between):
        for _ in self.threads:
            self.tasks.put(None)
        for thread in self.threads:
            thread.join()
        super().end(is_between)

    def work(self):
        threading.Thread(target=self.read_lines, daemon=True).start()
        self.threads = [threading.Thread(target=self.handle_tasks, daemon=True) for _ in range(min(self.places, 100))]
        for thread in self.threads:
            thread.start()
        while True:
            task = self.read_task()
            self.cancelled[task["7"]] = threading.Event()
            self.tasks.put(task)


FAULTS = {
    "none": Worker,
    "accepts": Accepts,
    "ends-with-its-answer": EndsWithItsAnswer,
    "loop": Loop,
    "threads": Threads,
    "one-by-one": OneByOne,
    "always-id-one": AlwaysOne,
    "answers-cancelled-twice": AnswersTheCancelledTwice,
    "answers-ids-twice": AnswersIdsTwice,
    "answers-without-end": AnswersWithoutEnd,
    "blocks": Blocks,
    "cancels-all": CancelsAll,
    "drops-cancelled": DropsTheCancelled,
    "drops-open-tasks-at-end": DropsOpenTasksAtTheEnd,
    "drops-open-tasks-at-quit": DropsOpenTasksAtQuit,
    "first-id-for-all": FirstId,
    "gives-up-all": GivesUpAll,
    "id-as-float": IdAsFloat,
    "id-as-text": IdAsText,
    "id-negative": IdNegative,
    "id-of-32-bits": IdOf32Bits,
    "id-zero": IdZero,
    "knows-no-switch-with-id": KnowsNoSwitchWithId,
    "knows-only-open-ids": KnowsOnlyOpenIds,
    "loses-one": LosesOne,
    "missing-id": MissingId,
    "mixes-answers": MixesAnswers,
    "mixes-frames": MixesFrames,
    "never-exits": NeverExits,
    "next-id": NextId,
    "one-too-many": OneTooMany,
    "progress-behind-answer": ProgressBehindTheAnswer,
    "progress-of-none": ProgressOfNone,
    "progress-without-id": ProgressWithoutId,
    "quits-at-cancel": QuitsAtCancel,
    "waits-for-all": WaitsForAll,
    "batches": Batches,
    "counts-characters": CountsCharacters,
    "hard-limit-in-words": HardLimitInWords,
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
    "exits-before-it-is-sent": ExitsBeforeItIsSent,
    "forgets-empty-bodies": ForgetsEmptyBodies,
    "greets": Greets,
    "ignores-term": IgnoresTerm,
    "json-in-frames": JsonInFrames,
    "keys-in-words": KeysInWords,
    "knows-no-session": KnowsNoSession,
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
