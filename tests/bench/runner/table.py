"""The record as tables: medians, and in brackets the minimum and maximum of all rounds."""

from .spread import pick, ratios, spread

PERCENTILES = ("50", "90", "99", "99.9", "100")
QUIET = 0.5
LOADS = {"idle": "one at a time", "half": "half load", "full": "500 at a time"}


def number(value):
    if value is None:
        return "-"
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"


def spread_text(found, scale=1):
    if not found:
        return "-"
    low, high = number(found["min"] * scale), number(found["max"] * scale)
    return f"{number(found['median'] * scale)} ({low}–{high})"


def median_text(values, scale=1):
    found = spread(values)
    return number(found["median"] * scale) if found else "-"


def print_table(title, heads, rows):
    rows = list(rows)
    if not rows:
        return
    widths = [max(len(row[i]) for row in [heads, *rows]) for i in range(len(heads))]
    print(f"\n{title}")
    for row in [heads, *rows]:
        cells = [cell.ljust(width) if i == 0 else cell.rjust(width)
                 for i, (cell, width) in enumerate(zip(row, widths))]
        print("  " + "  ".join(cells).rstrip())


def of_kind(record, kind):
    return {name: run for name, run in record["runs"].items() if run["kind"] == kind}


def throughput_rows(record):
    for name, run in of_kind(record, "throughput").items():
        rounds = run["rounds"]
        if "missing" in run:
            yield [f"{run['label']}: {run['missing']}", *[""] * 8]
            continue
        yield [
            run["label"], spread_text(run["rate"]),
            spread_text(run["ratio"]) if run["against"] != name else "1",
            *(median_text(pick(rounds, f"cpu_us/{part}")) for part in ("supervisor", "workers", "broker")),
            median_text(pick(rounds, "supervisor_kib"), 1 / 1024),
            median_text(pick(rounds, "workers_kib"), 1 / 1024),
            number(max(pick(rounds, "longest_turn_ms"), default=None)),
        ]


def latency_rows(record):
    runs = of_kind(record, "latency")
    plain = runs.get("latency-plain", {}).get("rounds", [])
    for load, text in LOADS.items():
        for name, run in runs.items():
            cells = [spread_text(spread(pick(run["rounds"], f"{load}/rate")))]
            for percent in PERCENTILES:
                path = f"{load}/us/{percent}"
                cells.append(median_text(pick(run["rounds"], path), 1 / 1000))
                if percent in ("50", "99"):
                    cells.append(median_text(ratios(run["rounds"], plain, path)))
            yield [f"{run['label']}, {text}", *cells]


def idle_rows(record):
    for run in of_kind(record, "idle").values():
        rounds = run["rounds"]
        yield [run["label"], spread_text(spread(pick(rounds, "start_seconds"))),
               *(median_text(pick(rounds, f"start_cpu_ms/{part}")) for part in ("supervisor", "workers")),
               spread_text(spread(pick(rounds, "stop_seconds"))),
               spread_text(spread(pick(rounds, "supervisor_kib"))), median_text(pick(rounds, "a_worker_kib"))]


def core_rows(record):
    for run in of_kind(record, "core").values():
        rounds = run["rounds"]
        yield [run["label"], *(spread_text(spread(pick(rounds, name)))
                               for name in ("no_key_ns", "keys_1000_ns", "throttled_10000_ns", "no_key_wide_ns",
                                            "keys_65000_ns"))]


def takeover_rows(record):
    for run in of_kind(record, "takeover").values():
        yield [run["label"], spread_text(spread(pick(run["rounds"], "gap_seconds")))]


def preload_rows(record):
    for run in of_kind(record, "preload").values():
        yield [run["label"], spread_text(spread(pick(run["rounds"], "replace_ms")))]


def countdown_rows(record):
    for run in of_kind(record, "countdown").values():
        if "missing" not in run:
            yield [run["label"], *(spread_text(spread(pick(run["rounds"], f"late_ms/{percent}"))) for percent in ("50", "100"))]


def shared_rows(record):
    for run in of_kind(record, "shared").values():
        yield [run["label"], *(spread_text(spread(pick(run["rounds"], name))) for name in ("used", "messages_a_start"))]


def large_rows(record):
    for run in of_kind(record, "large").values():
        rounds = run["rounds"]
        yield [run["label"], spread_text(spread(pick(rounds, "mib_a_second"))),
               spread_text(spread(pick(rounds, "supervisor_kib")), 1 / 1024),
               *(median_text(pick(rounds, f"{when}/us/{percent}"), 1 / 1000)
                 for when in ("alone", "during") for percent in ("50", "99", "100")),
               number(max(pick(rounds, "longest_turn_ms"), default=None))]


def goal_rows(record):
    text = {True: "reached", False: "NOT REACHED"}
    for goal in record["goals"]:
        if goal["reached"] is None:
            continue
        sign = "≥" if goal["sign"] == ">=" else "≤"
        yield [goal["what"], f"{sign} {number(goal['goal'])} {goal['unit']}", spread_text(goal["found"]),
               text[goal["reached"]]]


def print_all(record):
    about = record["about"]
    print("{processor}, {cores} cores, {memory_gib} GiB, Linux {kernel}, {broker}; commit {commit}, {date}; "
          "{rounds} round{s} of {seconds:g} s".format(s="" if about["rounds"] == 1 else "s", **about))
    if about["load_at_start"] > QUIET:
        print(f"The machine was busy: its load was {about['load_at_start']:.1f} before the first round.")
    print_table("Throughput: a full durable quorum queue, until all is acked",
                ["", "messages/s", "× plain", "CPU µs/msg: main", "workers", "broker", "MiB: main", "workers",
                 "longest turn, ms"], throughput_rows(record))
    print_table("Remote calls: the time of one, ms",
                ["", "calls/s", "p50", "× plain", "p90", "p99", "× plain", "p99.9", "longest"], latency_rows(record))
    print_table("Idle pools",
                ["", "all up after, s", "its CPU, ms: main", "workers", "stopped after, s", "KiB: main", "a worker"],
                idle_rows(record))
    print_table("Large bodies beside 200 small calls a second, whose times are in ms",
                ["", "large, MiB/s", "MiB: main", "alone p50", "p99", "longest", "meanwhile p50", "p99", "longest",
                 "longest turn, ms"], large_rows(record))
    print_table("The core alone: ns for a message, from its delivery to its ack",
                ["", "window 2,000: no key", "1,000 keys", "10,000 throttled keys", "window 65,535: no key", "65,000 keys"], core_rows(record))
    print_table("Two supervisors of one queue: the longest time without a settled message, s", ["", "s"],
                takeover_rows(record))
    print_table("A preloaded pool: from the kill of a worker until another one is ready, ms", ["", "ms"], preload_rows(record))
    print_table("Tasks that wait for their time: how late they begin, ms", ["", "p50", "longest"], countdown_rows(record))
    print_table("A shared throttle, under a backlog", ["", "of the limit", "messages a start"], shared_rows(record))
    print_table("Goals", ["", "goal", "measured", ""], goal_rows(record))
    unmeasured = sum(goal["reached"] is None for goal in record["goals"])
    if unmeasured:
        print(f"  not measured: {unmeasured}")
