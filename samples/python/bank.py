#!/usr/bin/python3
"""Bank accounts. The key of the task's session is the account, and the body is one of its payments:
  {"Number": 3, "Amount": -150}
The payments of an account have the numbers 1, 2, 3... A payment that would make the balance
negative is declined, so the order matters. The reply is {"Balance": b, "Declined": false}.
No lock is needed: wpool never runs two payments of an account at once, in whichever worker. And
one number is enough to find repeats, because they come in order: a payment up to the last number
has been made before. The accounts are files in the folder that BANK names, so that all workers
share them. A payment out of order is refused and shows that the order was broken. BANK_MS: how
many milliseconds a payment takes, for a demonstration."""

import json
import os
import re
import sys
import time
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2] / "worker-sdk" / "python"))

from wpool_worker import Reject, run  # noqa: E402

FOLDER = Path(os.environ.get("BANK") or "bank")
SECONDS = int(os.environ.get("BANK_MS") or 0) / 1000
NAME = re.compile("[A-Za-z0-9_-]{1,64}")  # it becomes that of a file
AMOUNT_MAX = 10 ** 12
NOT_A_PAYMENT = 400
OUT_OF_RANGE = 422
OUT_OF_ORDER = 409


def read_payment(text):
    """Return number and amount; None if the text is not a payment."""
    try:
        payment = json.loads(text)
        number, amount = payment["Number"], payment["Amount"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    return (number, amount) if type(number) is int and type(amount) is int else None


def open_account(path):
    """Return the number of the last payment and the balance. An account without a file is new."""
    try:
        number, balance = path.read_text().split()
    except FileNotFoundError:
        return 0, 0
    return int(number), int(balance)


def save_account(path, number, balance):
    """The new file replaces the old one as a whole, so that a worker can be killed at any time."""
    new = path.with_name(path.name + ".new")
    new.write_text(f"{number} {balance}\n")
    new.replace(path)


def answer(balance, is_declined):
    return json.dumps({"Balance": balance, "Declined": is_declined})


def pay(path, number, amount):
    last, balance = open_account(path)
    if number <= last:
        return answer(balance, False)
    if number > last + 1:
        print(f"payment {number} comes before payment {last + 1}", file=sys.stderr, flush=True)
        return Reject(OUT_OF_ORDER)
    time.sleep(SECONDS)  # a payment of the same account in this time would be lost
    is_declined = amount < 0 and balance + amount < 0
    if not is_declined:
        balance += amount
    save_account(path, number, balance)
    return answer(balance, is_declined)


def handle(task):
    payment = read_payment(task.body)
    if payment is None:
        return Reject(NOT_A_PAYMENT)
    number, amount = payment
    if not NAME.fullmatch(task.session) or number < 1 or abs(amount) > AMOUNT_MAX:
        return Reject(OUT_OF_RANGE)
    return pay(FOLDER / task.session, number, amount)


if __name__ == "__main__":
    FOLDER.mkdir(mode=0o700, exist_ok=True)
    sys.exit(run(handle))
