#!/usr/bin/python3
"""The worker of probe.py with an `async def` handler: the same answers, and more deeds for python_sdk."""

import asyncio
import functools
import os
import signal
import sys
import tempfile
import threading
import time

import probe
from wpool_worker import Done, run

gates = {}


def gate_of(name):
    return gates.setdefault(name, asyncio.Event())


async def gate(task, rest):
    """Wait until another task opens the gate."""
    await task.progress("begun")
    await gate_of(rest).wait()
    return f"passed {rest}"


async def open_gate(task, rest):
    gate_of(rest).set()


async def accept(task, rest):
    await task.accept()


async def progress(task, rest):
    await task.progress(rest)


async def progress_left(task, rest):
    task.progress(rest)


async def until_stop(task, rest):
    task.progress("begun")
    await asyncio.wait_for(task.stop_event.wait(), 30)
    return "stopped"


async def ask_twice(task, rest):
    task.progress("begun")
    while not task.should_stop():
        await asyncio.sleep(0.001)
    await asyncio.wait_for(task.stop_event.wait(), 10)
    return "stopped"


async def compute(task, rest):
    """Never give the loop a turn."""
    print("computing", file=sys.stderr, flush=True)
    while not task.should_stop():
        pass
    return "stopped"


async def fork(task, rest):
    return probe.fork(task, rest)


async def late_progress(task, rest):
    async def report():
        await gate_of("late").wait()
        try:
            task.progress("too late")
        except RuntimeError as error:
            print(f"refused: {error}", file=sys.stderr, flush=True)

    task.reporter = asyncio.create_task(report())


async def until_cancelled(task, rest):
    """Answer the cancellation itself."""
    task.progress("begun")
    try:
        await asyncio.Event().wait()
    except asyncio.CancelledError:
        return "cancelled" if task.is_cancelled else "not cancelled"


async def until_stop_or_cancel(task, rest):
    task.progress("begun")
    await asyncio.wait_for(task.stop_event.wait(), 30)
    return "cancelled" if task.is_cancelled else "not cancelled"


async def for_ever(task, rest):
    task.progress("begun")
    await asyncio.Event().wait()


async def roll_back(task, rest):
    """Is cancelled, and needs a while."""
    task.progress("begun")
    try:
        await asyncio.Event().wait()
    except asyncio.CancelledError:
        task.progress("rolling back")
        await gate_of(rest).wait()
        return "rolled back"


async def stubborn(task, rest):
    """Is cancelled, and works on."""
    task.progress("begun")
    try:
        await asyncio.Event().wait()
    except asyncio.CancelledError:
        task.progress("going on")
    return await gate(task, rest)


async def cancel_self(task, rest):
    asyncio.current_task().cancel()
    await asyncio.sleep(0)


async def cancel_all(task, rest):
    for running in asyncio.all_tasks():
        running.cancel()
    await asyncio.sleep(0)


def wait_for_line(path):
    with open(path) as fifo:
        line = fifo.readline()
    print("released", file=sys.stderr, flush=True)
    return line


async def block(task, rest):
    """Keep the loop until a line comes from the FIFO."""
    return wait_for_line(rest)


async def block_in_subtask(task, rest):
    async def part():
        return wait_for_line(rest)

    return await asyncio.create_task(part(), name="the-part")


async def block_in_callback(task, rest):
    done = asyncio.get_running_loop().create_future()
    asyncio.get_running_loop().call_soon(lambda: done.set_result(wait_for_line(rest)))
    return await done


async def flood(task, rest):
    """Report progress without end to a supervisor that does not read."""
    sent = 0
    print("flooding", file=sys.stderr, flush=True)
    try:
        while sent < 1000:
            await task.progress(b"x" * 65536)
            sent += 1
    except asyncio.CancelledError:
        pass
    print(f"flooded {sent}", file=sys.stderr, flush=True)
    return Done()


async def stop_loop(task, rest):
    asyncio.get_running_loop().stop()
    await asyncio.Event().wait()


async def loop(task, rest):
    return type(asyncio.get_running_loop()).__module__.partition(".")[0]


async def announce(task, rest):
    """Print that control lines up to the one for this task were read."""
    task.progress("begun")
    await asyncio.wait_for(task.stop_event.wait(), 30)
    print(f"announced {rest}", file=sys.stderr, flush=True)


async def used_time(task, rest):
    """Reply with the processor time that this process uses in a second in which it only waits."""
    started = time.process_time()
    task.progress("begun")
    await asyncio.wait_for(task.stop_event.wait(), 30)
    await asyncio.sleep(1)
    return str(time.process_time() - started)


async def hold_thread(task, rest):
    """Keep a thread for longer than anybody waits. One that has not begun would be cancelled with the handler."""
    loop, has_begun = asyncio.get_running_loop(), asyncio.Event()

    def hold():
        loop.call_soon_threadsafe(has_begun.set)
        time.sleep(60)

    thread = asyncio.ensure_future(asyncio.to_thread(hold))
    await has_begun.wait()
    task.progress("begun")
    await thread


async def in_thread(task, rest):
    thread = await asyncio.to_thread(threading.current_thread)
    return "yes" if thread is not threading.main_thread() else "no"


DEEDS = {
    "gate": gate,
    "open": open_gate,
    "accept": accept,
    "progress": progress,
    "progress-left": progress_left,
    "until-stop": until_stop,
    "ask-twice": ask_twice,
    "compute": compute,
    "fork": fork,
    "late-progress": late_progress,
    "until-cancelled": until_cancelled,
    "until-stop-or-cancel": until_stop_or_cancel,
    "for-ever": for_ever,
    "roll-back": roll_back,
    "stubborn": stubborn,
    "cancel-self": cancel_self,
    "cancel-all": cancel_all,
    "block": block,
    "block-in-subtask": block_in_subtask,
    "block-in-callback": block_in_callback,
    "flood": flood,
    "stop-loop": stop_loop,
    "loop": loop,
    "announce": announce,
    "used-time": used_time,
    "hold-thread": hold_thread,
    "in-thread": in_thread,
}


async def handle(task):
    name, _, rest = task.body.partition(b" ")
    deed = DEEDS.get(name.decode("utf-8", "replace"))
    if "PROBE_REPORTS" in os.environ or deed is None:
        return probe.handle(task)
    return await deed(task, rest.decode())


async def handle_in_wrapper(task):
    return "wrapped"


class Tidy:
    """Its tasks tidy up when they are cancelled, and at the end it opens files."""

    async def __aenter__(self):
        self.begun = []

    async def __call__(self, task):
        self.begun.append(asyncio.current_task())
        task.progress("begun")
        try:
            await task.stop_event.wait()
        except asyncio.CancelledError:
            await asyncio.sleep(0)
            task.progress("tidying up")
            print(f"tidied up {task.id}", file=sys.stderr, flush=True)
        return "stopped"

    async def __aexit__(self, *error):
        with tempfile.TemporaryFile() as file, os.fdopen(os.dup(file.fileno())), os.fdopen(os.dup(file.fileno())):
            for running in self.begun:
                running.cancel()
            await asyncio.sleep(0.01)  # turns of the loop in which something could still be written
            print(f"left, {os.fstat(file.fileno()).st_size} bytes", file=sys.stderr, flush=True)


def run_at_once(loop, coroutine, **options):
    """What asyncio.eager_task_factory of Python 3.12 does with a coroutine that does not wait."""
    if not loop.is_running():
        return asyncio.Task(coroutine, loop=loop, **options)
    done = loop.create_future()
    try:
        coroutine.send(None)
    except StopIteration as stop:
        done.set_result(stop.value)
        return done
    raise AssertionError("this coroutine waits")


class Eager:
    async def __aenter__(self):
        asyncio.get_running_loop().set_task_factory(getattr(asyncio, "eager_task_factory", run_at_once))

    async def __call__(self, task):
        task.should_stop()
        return task.text

    async def __aexit__(self, *error):
        pass


HANDLERS = {
    "eager": Eager,
    "tidy": Tidy,
    "object": lambda: WithState(),
    "wrapper": lambda: lambda task: handle_in_wrapper(task),
    "": lambda: functools.partial(handle),
}


class WithState(probe.WithState):
    """As in probe.py, with what only works in a loop."""

    async def __aenter__(self):
        self.lock = asyncio.Lock()
        super().__enter__()

    async def __call__(self, task):
        async with self.lock:
            return super().__call__(task)

    async def __aexit__(self, *error):
        super().__exit__(*error)


if __name__ == "__main__":
    signal.signal(signal.SIGUSR1, lambda number, frame: None)
    blocked_after = float(os.environ.get("PROBE_BLOCKED_AFTER", "5"))
    sys.exit(run(HANDLERS["".join(sys.argv[1:])](), blocked_after=blocked_after))
