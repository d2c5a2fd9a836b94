"""The plots of a record: tests/bench/runner/plot.py BENCH.json FOLDER draws them again."""

import json
import math
import pathlib
import re
import sys

if __package__:
    from . import svg
    from .spread import pick, spread
else:
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
    from runner import svg
    from runner.spread import pick, spread

LEVELS = {"plain": ("plain C consumer", 2), "plain-50": ("plain C, acks every 50th", 2),
          "celery": ("Celery prefork", 3), "amqp-consume": ("amqp-consume", 3)}
LINES = {"auto": ("wpool, auto", 0), "one": ("wpool, one in flight", 1)}
PERCENTS = ("50", "90", "99", "99.9")
TIMES = (("idle", False, "idle"), ("half", True, "half load"))
SERVERS = (("latency-wpool", "wpool", 0), ("latency-plain", "plain C", 2))


def machine(record):
    about = record["about"]
    return (f"{about['processor']}, {about['cores']} cores, {about['broker']}; "
            f"medians of {about['rounds']}, whiskers from minimum to maximum")


def step_for(high):
    """1, 2 or 5 times a power of ten, with four to nine steps up to high."""
    power = 10 ** math.floor(math.log10(high / 4))
    return next(factor * power for factor in (1, 2, 5, 10) if high / (factor * power) <= 9)


def pools(record, pipeline):
    """(workers, spread) of the pools of no-op C workers with this pipeline."""
    return sorted(((run["workers"], run["rate"]) for name, run in record["runs"].items()
                   if re.fullmatch(rf"wpool-{pipeline}-\d+", name) and run["rate"]), key=lambda point: point[0])


def draw_throughput(record):
    lines = {pipeline: pools(record, pipeline) for pipeline in LINES}
    levels = {name: record["runs"][name]["rate"] for name in LEVELS
              if name in record["runs"] and record["runs"][name]["rate"]}
    counts = sorted({workers for points in lines.values() for workers, _ in points})
    if not counts:
        return None
    high = max([found["max"] for points in lines.values() for _, found in points] +
               [found["median"] for found in levels.values()])
    step = step_for(high)
    ticks = [(step * i, f"{step * i:,.0f}") for i in range(math.ceil(high / step) + 1)]
    chart = svg.Chart(
        "Throughput against workers", machine(record),
        svg.x_axis(counts[0], max(counts[-1], counts[0] + 1), True, [(n, f"{n:,}") for n in counts],
                   "no-op worker processes in C, of one pool"),
        svg.y_axis(0, ticks[-1][0], False, ticks, "messages a second"))
    for name, found in levels.items():
        text, color = LEVELS[name]
        chart.level(found["median"], f"{text}: {found['median']:,.0f}/s", color)
    for pipeline, points in lines.items():
        text, color = LINES[pipeline]
        if points:
            chart.line(points, f"{text}: {points[-1][1]['median']:,.0f}/s", color)
    return chart.render()


def nines(percent):
    """The place of a percentile on the axis: 90, 99 and 99.9 are evenly spaced."""
    return -math.log10(1 - float(percent) / 100)


def times_of(record, name, load):
    rounds = record["runs"].get(name, {}).get("rounds", [])
    found = ((percent, spread(pick(rounds, f"{load}/us/{percent}"))) for percent in PERCENTS)
    return [(nines(percent), {key: value / 1000 for key, value in values.items()})
            for percent, values in found if values]


def log_ticks(low, high):
    """1, 2 and 5 times the powers of ten, from the last one below low to the first above high."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    every = [factor * 10.0 ** power for power in powers for factor in (1, 2, 5)]
    first = max(value for value in every if value <= low)
    last = min(value for value in every if value >= high)
    return [(value, f"{value:g}") for value in every if first <= value <= last]


def draw_latency(record):
    lines = [(times_of(record, name, load), f"{text}, {load_text}", color, dashed)
             for load, dashed, load_text in TIMES for name, text, color in SERVERS]
    every = [value for points, *_ in lines for _, found in points for value in found.values()]
    if not every:
        return None
    ticks = log_ticks(min(every), max(every))
    chart = svg.Chart(
        "How long a remote call takes", machine(record),
        svg.x_axis(nines(PERCENTS[0]), nines(PERCENTS[-1]), False, [(nines(p), f"p{p}") for p in PERCENTS],
                   "percentile of all calls"),
        svg.y_axis(ticks[0][0], ticks[-1][0], True, ticks, "milliseconds, from the call to its reply"))
    for points, text, color, dashed in lines:
        if points:
            chart.line(points, f"{text}: p50 {points[0][1]['median']:.2g} ms", color, dashed)
    return chart.render()


def draw_all(record, folder):
    for name, draw in (("throughput", draw_throughput), ("latency", draw_latency)):
        path = pathlib.Path(folder) / f"bench-{name}.svg"
        path.unlink(missing_ok=True)
        drawn = draw(record)
        if drawn:
            path.write_text(drawn)


if __name__ == "__main__":
    draw_all(json.loads(pathlib.Path(sys.argv[1]).read_text()), sys.argv[2])
