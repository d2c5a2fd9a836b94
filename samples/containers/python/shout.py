"""Replies to each message with its text in capitals."""
from wpool_worker import run


def handle(task):
    return task.text.upper()


run(handle)
