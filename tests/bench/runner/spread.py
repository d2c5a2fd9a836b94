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


def pairs(runs, others, path):
    """The two values of each round, without rounds in which one failed."""
    both = ((pick([run], path), pick([other], path)) for run, other in zip(runs, others))
    return [(ours[0], theirs[0]) for ours, theirs in both if ours and theirs]


def ratios(runs, others, path="rate"):
    return [ours / theirs for ours, theirs in pairs(runs, others, path) if theirs]


def differences(runs, others, path):
    return [ours - theirs for ours, theirs in pairs(runs, others, path)]
