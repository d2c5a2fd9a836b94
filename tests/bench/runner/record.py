"""The record of a bench: JSON with every single value, and the machine, broker and commit."""

import datetime
import json
import os
import pathlib
import platform
import subprocess

from .goals import evaluate_goals
from .spread import pick, ratios, spread


def first_of(path, key):
    for line in pathlib.Path(path).read_text().splitlines():
        if line.startswith(key):
            return line.split(":", 1)[1].strip()
    return ""


def output_of(*argv):
    run = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                         cwd=pathlib.Path(__file__).resolve().parent)
    return run.stdout.strip()


def describe(bench):
    changed = output_of("git", "status", "--porcelain", "--untracked-files=no")
    return {
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "commit": output_of("git", "rev-parse", "--short", "HEAD") + ("+" if changed else ""),
        "processor": first_of("/proc/cpuinfo", "model name") or platform.machine(),
        "cores": len(os.sched_getaffinity(0)),
        "memory_gib": round(int(first_of("/proc/meminfo", "MemTotal").split()[0]) / (1 << 20), 1),
        "kernel": platform.release(),
        "broker": f"RabbitMQ {bench.node.release}",
        "rounds": bench.extent.rounds,
        "seconds": bench.extent.seconds,
        "load_at_start": os.getloadavg()[0],
    }


def entry(measurement, rounds, all_rounds):
    made = {"label": measurement.label, "kind": measurement.kind, "rounds": rounds}
    if measurement.missing():
        made["missing"] = measurement.missing()
    if measurement.kind == "throughput":
        c = measurement.contestant
        made |= {
            "workers": c.workers, "pipeline": c.pipeline, "bytes": c.size, "rpc": c.is_rpc, "against": c.against,
            "rate": spread(pick(rounds, "rate")),
            "ratio": spread(ratios(rounds, all_rounds.get(c.against, []))),
        }
    return made


def make(about, measurements, rounds):
    return {"about": about, "goals": list(evaluate_goals(rounds)),
            "runs": {m.name: entry(m, rounds[m.name], rounds) for m in measurements}}


def write(record, path):
    path.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n")
