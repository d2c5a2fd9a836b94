"""What the scripts of these tests share."""

import re
import time

from celery.exceptions import TimeoutError

PATIENCE = 60  # seconds


def wait_until(is_true, what):
    """Wait for something that nothing reports. AssertionError if it does not come."""
    deadline = time.monotonic() + PATIENCE
    while not is_true():
        assert time.monotonic() < deadline, f"waited in vain for {what}"
        time.sleep(0.02)


def outcome(result, seconds=PATIENCE):
    """Return the state and the value, as text that is the same in each run."""
    try:
        value = repr(result.get(timeout=seconds))
    except TimeoutError:
        return f"nothing, state {result.state}"
    except Exception as error:
        value = f"{type(error).__module__}.{type(error).__name__}: {error}"
    # An error of a chord is there before the state of the result, and a state is read after its value.
    wait_until(lambda: getattr(result, "state", "SUCCESS") not in ("PENDING", "STARTED", "RETRY"), "the state of a result")
    value = re.sub(r"( Job: \d+)?\.$", "", value) if "Worker exited" in value else value  # Celery has a number for it, too
    value = re.sub(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "ID", value)
    return f"{getattr(result, 'state', '')} {value if len(value) < 300 else len(value)}"
