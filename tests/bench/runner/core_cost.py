"""The core alone, without a broker: what a message with a key costs more than one without, and the memory of a session."""

import json
import subprocess

from . import Failure

MESSAGES = 1_000_000


class CoreCost:
    kind = "core"
    name = "core"
    label = "the core alone"

    def missing(self):
        return ""

    def run(self, bench):
        command = bench.argv(("BUILD/bench/core_cost", bench.extent.messages * 10 or MESSAGES))
        run = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
        if run.returncode != 0:
            raise Failure(f"core_cost ended with {run.returncode}")
        figures = json.loads(run.stdout)
        # In the same window, so that only the key makes the difference.
        return figures | {"throttle_ns": figures["throttled_10000_ns"] - figures["no_key_ns"],
                          "ratio_1000": figures["keys_1000_ns"] / figures["no_key_ns"],
                          "ratio_65000": figures["keys_65000_ns"] / figures["no_key_wide_ns"]}
