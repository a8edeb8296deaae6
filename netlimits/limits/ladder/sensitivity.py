"""How throughput follows each resource: the sensitivity, Δ ln throughput / Δ ln dose.

    campaign = nl.open("results/diagnose-vm1-vm2-20260101-120000")
    nl.sensitivities(campaign)

A sensitivity of about 1 means that the resource is the limit, and about 0 that it is not. In
between, it is one of several limits. As for every proof, runs with a dose are compared with runs
without it in the same blocks.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from netlimits.analysis import frames
from netlimits.analysis.statistics import contrasts
from netlimits.errors import DataError
from netlimits.limits import explained, mediators, proof
from netlimits.limits.base import OPEN, PROVEN
from netlimits.limits.evidence import evidence_of
from netlimits.limits.ladder.doses import Resource, resource
from netlimits.limits.ladder.workloads import WORKLOAD

if TYPE_CHECKING:
    import pandas as pd

    from netlimits.archive.reader import Campaign

RULED_OUT = "ruled out"
COLUMNS = (
    *("resource", "sensitivity", "low", "high", "state"),
    *("change", "factor", "ratio", "ratio_low", "ratio_high", "blocks", "why"),
)


def sensitivities(results: Campaign | pd.DataFrame) -> pd.DataFrame:
    """Return how throughput followed each resource that was changed.

    Args:
        results: A campaign that made interventions (`netlimits diagnose`, or the experiment that
            `netlimits explain --next` writes), or its frame.

    Returns:
        One row for each configuration and changed resource, with the configuration's factors (for a
        diagnosis, only `workload`) and these columns:

        - `resource`, `sensitivity`, `low`, `high`: the resource, and its sensitivity with the 95 %
          interval.
        - `state`: `proven` (the resource is the limit), `ruled out` or `open`.
        - `why`: the reason if the change proves nothing, else "".
        - `change`, `factor`: the change, and the factor by which it changed the resource.
        - `ratio`, `ratio_low`, `ratio_high`, `blocks`: the ratio of throughput with its interval,
          and the number of blocks.

    Raises:
        DataError: The campaign made no interventions, or no run is ok.
    """
    import pandas as pd

    frame, evidence = evidence_of(results)
    if not proof.tested(frame):
        raise DataError(
            "no run was made with a change: `netlimits diagnose` makes such runs, and so does the "
            "experiment that `netlimits explain RESULTS --next FILE` writes"
        )
    blocks = frames.blocks(frame)
    names = proof.factors(frame)
    names = [WORKLOAD] if WORKLOAD in names else names
    rows = []
    for part in explained.configurations(frame):
        values = {explained.heading(name): part[name].iloc[0] for name in names}
        without = proof.bare(part)
        for level, changed in frames.groups(part, [proof.INTERVENTION]):
            dose = resource(str(level[0])) if level[0] != proof.NONE else None
            if dose is None or without.empty:
                continue
            ratio = proof.ratio(changed, without, evidence, blocks)
            what = dose[0].dose.what
            sides = [[evidence[at] for at in side.index] for side in (changed, without)]
            why = mediators.unmoved("", what, *sides)
            slack = mediators.slack(what, sides[1])
            rows.append({**values, **dict(_row(str(level[0]), *dose, ratio, why, slack))})
    return pd.DataFrame(rows, columns=[*map(explained.heading, names), *COLUMNS])


def _row(
    level: str,
    of: Resource,
    factor: float,
    ratio: contrasts.Contrast | None,
    why: str,
    slack: str,
) -> Iterator[tuple[str, Any]]:
    if ratio is None:
        ratio = contrasts.Contrast(math.nan, math.nan, math.nan, math.nan, contrasts.NONE, 0)
        why = "a run with or without the change lacks its throughput"
    value, *ends = (_log(x) / math.log(factor) for x in (ratio.value, ratio.low, ratio.high))
    low, high = (min(ends), max(ends)) if not math.isnan(sum(ends)) else ends
    state = OPEN if why else judged(low, high, of.least)
    if state == PROVEN and slack:
        state, why = OPEN, slack
    figures = (of.name, value, low, high, state, level, factor)
    yield from zip(
        COLUMNS, (*figures, ratio.value, ratio.low, ratio.high, ratio.n, why), strict=True
    )


def _log(ratio: float) -> float:
    return math.log(ratio) if ratio else -math.inf


def judged(low: float, high: float, least: float) -> str:
    """Return `proven` if `low` is at least `least`, `ruled out` if `high` is less, else `open`."""
    if low >= least:
        return PROVEN
    return RULED_OUT if high < least else OPEN
