"""What several rounds come to: median, least, most."""

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
    """Each round's value over the same round's of the other; rounds where one failed are left out."""
    pairs = ((pick([run], path), pick([other], path)) for run, other in zip(runs, others))
    return [ours[0] / theirs[0] for ours, theirs in pairs if ours and theirs and theirs[0]]
