"""How often `netlimits history` finds a step that is there, and alarms where there is none.

    python benchmarks/history.py
    python benchmarks/history.py 200       # of so many histories a row, not 2,000

Histories of 60 campaigns are drawn with a known truth: runs vary by a CV of 2 %, and from one
campaign on, drawn from 6 to 54, throughput is 5 % lower. A campaign has 1, 3, 5 or 10 runs, and the
history sees its mean. `found` is the share of histories with exactly this one change within one
campaign of the truth, and `alarms` that of histories without a step in which any change is
reported. `squares` is how often the place of the smallest squared deviations is as near: with one
run a campaign the noise is 40 % of the step, and they are further off in some 6 %. A further row
has campaigns that differ by a CV of 1 % as sessions do. The last rows are flat histories of other
lengths, with one run a campaign and any change counted, however small.

Seeds are fixed. Exit status 1 if a row finds less than 95 %, or alarms in more than 5 %.
"""

from __future__ import annotations

import argparse
import sys

import numpy as np
import pandas as pd

from netlimits.analysis.history import history
from netlimits.analysis.statistics.changes import change_points

COUNT = 2000
CAMPAIGNS, STEP, CV = 60, 0.05, 0.02
EDGE = 6
"""Campaigns before the first and after the last place of a step."""
FOUND, ALARMS = 95.0, 5.0
SESSIONS = 0.01
LENGTHS = (6, 20, 60, 200)


def series(chance: np.random.Generator, runs: int, step_at: int | None, sessions: float) -> object:
    """Return the means of the campaigns of one history."""
    level = np.full(CAMPAIGNS, 1000.0) * np.exp(sessions * chance.standard_normal(CAMPAIGNS))
    if step_at is not None:
        level[step_at:] *= 1 - STEP
    noise = 1 + CV * chance.standard_normal((CAMPAIGNS, runs))
    return (level[:, None] * noise).mean(axis=1)


def changes(means: object) -> list[int]:
    """Return the places of the changes that the analysis reports."""
    frame = pd.DataFrame({"campaign": range(CAMPAIGNS), "throughput_mbps": means})
    table = history(frame, "throughput")
    return [*table.index[table["verdict"] != ""]]


def smallest_squares(means: np.ndarray) -> int:
    """Return the place of one step with the smallest squared deviations."""
    places = range(2, CAMPAIGNS - 1)
    squares = [len(means[:p]) * means[:p].var() + len(means[p:]) * means[p:].var() for p in places]
    return places[int(np.argmin(squares))]


def main() -> None:
    """Print a row for each kind of history."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("count", nargs="?", type=int, default=COUNT)
    count = parser.parse_args().count
    failed = False
    for runs, sessions in ((1, 0.0), (3, 0.0), (5, 0.0), (10, 0.0), (5, SESSIONS)):
        chance = np.random.default_rng(60 + runs + round(1000 * sessions))
        near = optimum = alarms = 0
        for _ in range(count):
            truth = int(chance.integers(EDGE, CAMPAIGNS - EDGE + 1))
            means = series(chance, runs, truth, sessions)
            found = changes(means)
            near += len(found) == 1 and abs(found[0] - truth) <= 1
            optimum += abs(smallest_squares(means) - truth) <= 1
            alarms += bool(changes(series(chance, runs, None, sessions)))
        shares = [100 * number / count for number in (near, optimum, alarms)]
        kind = f"{runs} run{'s' * (runs > 1)} a campaign" + (", sessions differ" * bool(sessions))
        print(
            f"{kind}: found {shares[0]:.1f} %, squares {shares[1]:.1f} %, alarms {shares[2]:.1f} %",
            flush=True,
        )
        failed |= shares[2] > ALARMS or shares[0] < FOUND
    for length in LENGTHS:
        chance = np.random.default_rng(length)
        flat = (1 + CV * chance.standard_normal((count, length))).tolist()
        share = 100 * sum(bool(change_points(values)) for values in flat) / count
        print(f"{length} campaigns, flat: alarms {share:.1f} %", flush=True)
        failed |= share > ALARMS
    sys.exit(failed)


if __name__ == "__main__":
    main()
