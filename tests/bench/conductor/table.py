"""The figures as tables for people."""

from .spread import pick, ratios, spread


def number(value):
    if value is None:
        return "-"
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    if abs(value) >= 100:
        return f"{value:.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"


def spread_text(values, scale=1):
    """median (min-max)"""
    found = spread([value * scale for value in values])
    if not found:
        return "-"
    return f"{number(found['median'])} ({number(found['min'])}–{number(found['max'])})"


def median_text(values, scale=1):
    found = spread(values)
    return number(found["median"] * scale) if found else "-"


def print_table(title, heads, rows):
    widths = [max(len(row[i]) for row in [heads, *rows]) for i in range(len(heads))]
    print(f"\n{title}\n")
    for row in [heads, *rows]:
        first, *rest = (cell.ljust(width) if i == 0 else cell.rjust(width)
                        for i, (cell, width) in enumerate(zip(row, widths)))
        print("  ".join(["  " + first, *rest]).rstrip())


def throughput_rows(contestants, results):
    for contestant in contestants:
        runs = results.get(contestant.name, [])
        against = results.get(contestant.against, [])
        yield [
            contestant.label,
            spread_text(pick(runs, "rate")),
            spread_text(ratios(runs, against)) if contestant.against != contestant.name else "1",
            median_text(pick(runs, "cpu_us.supervisor")),
            median_text(pick(runs, "cpu_us.workers")),
            median_text(pick(runs, "cpu_us.broker")),
            median_text(pick(runs, "supervisor_kib"), 1 / 1024),
            median_text(pick(runs, "workers_kib"), 1 / 1024),
            number(max(pick(runs, "longest_turn_ms"), default=None)),
        ]


def print_throughput(contestants, results):
    print_table(
        "Throughput: messages a second from a full quorum queue until all are acked",
        ["", "messages/s", "× plain", "CPU µs: it", "workers", "broker", "MiB: it", "workers", "longest turn, ms"],
        list(throughput_rows(contestants, results)))
