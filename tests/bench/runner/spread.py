"""The summary of several rounds: median, minimum, maximum."""

import statistics


def pick(runs, path):
    """The values at "cpu_us/broker" of those runs that have one."""
    found = []
    for run in runs:
        for key in path.split("/"):
            run = run.get(key) if isinstance(run, dict) else None
        if run is not None:
            found.append(run)
    return found


def spread(values):
    """{median, min, max}, or None for no values."""
    if not values:
        return None
    return {"median": statistics.median(values), "min": min(values), "max": max(values)}


def ratios(runs, others, path="rate"):
    """The ratio of the two values in each round, without rounds in which one failed."""
    pairs = ((pick([run], path), pick([other], path)) for run, other in zip(runs, others))
    return [ours[0] / theirs[0] for ours, theirs in pairs if ours and theirs and theirs[0]]
