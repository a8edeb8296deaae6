"""The result of `netlimits diagnose`: each workload's limit, its proof, and changes that help."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from netlimits.analysis import frames
from netlimits.analysis.statistics import intervals
from netlimits.errors import DataError
from netlimits.limits import explained, proof
from netlimits.limits.base import LEAST_SIGN, OPEN, PROVEN, REFUTED
from netlimits.limits.classes import CLASSES
from netlimits.limits.evidence import evidence_of
from netlimits.limits.figures import RunFigures
from netlimits.limits.ladder.doses import NO_SIGN, RESOURCES, Resource, resource, ruled_out
from netlimits.limits.ladder.sensitivity import RULED_OUT, sensitivities
from netlimits.limits.ladder.workloads import WORKLOAD
from netlimits.limits.verdicts import UNDETERMINED, firing, of_configuration, of_run, remaining
from netlimits.model import SettingUse
from netlimits.tools import WORKLOADS

if TYPE_CHECKING:
    import pandas as pd

    from netlimits.archive.reader import Campaign

HELPS = 1.05
"""A change helps if the interval of its ratio of throughput starts at this value or higher."""
FEW = 3
"""Minimum number of runs to compute an interval of their mean. The interval of only two runs would
reach below zero."""
SUGGESTED = "suggested"
CPUS = {"sender CPU", "receiver CPU"}
"""Names of the resources in `doses.RESOURCES` that are the CPUs of one end."""
SHARED_SUM = {"path-cap", "link"}
"""Classes that are proven if twice the streams have the same total throughput. A full CPU has the
same effect."""
DEMANDS = ("sd_us_per_kib", "sd_us_per_tran")
"""Columns of an end's service demand: CPU time per KiB, and per transaction."""


@dataclass(frozen=True, slots=True)
class Help:
    """A change of settings that helps a workload: one rung of the ladder.

    `throughput` is the mean rate of the runs with the change. `cost` has each end's CPU time per
    KiB or per transaction, without and with the change. `then` is the next limit.
    """

    workload: str
    change: str
    ratio: float
    low: float
    high: float
    throughput: float
    cost: Mapping[str, tuple[float | None, float | None]]
    settings: Sequence[tuple[str, str, Mapping[str, Any]]]
    then: str = ""


def workloads(campaign: Campaign) -> list[dict[str, Any]]:
    """Return one row for each workload, as `netlimits diagnose --json` prints it."""
    frame, evidence = evidence_of(campaign)
    if WORKLOAD not in frame.columns:
        raise DataError(
            f"{campaign.path}: holds no diagnosis; name a results folder of `netlimits diagnose`"
        )
    verdicts = {row[WORKLOAD]: row for row in records(explained.explain(campaign))}
    measured = records(sensitivities(campaign)) if proof.tested(frame) else []
    blocks = frames.blocks(frame)
    rows = []
    for part in explained.configurations(frame):
        name = str(part[WORKLOAD].iloc[0])
        verdict = verdicts[name]
        own = [row for row in measured if row[WORKLOAD] == name]
        bare = proof.bare(part)
        without = _ruled_out([evidence[at] for at in bare.index], own)
        left = _left(part, evidence, blocks, own, without)
        limit, state, proven_by = judged(verdict, own, without, left)
        values = [rate for at in bare.index if (rate := evidence[at].achieved)]
        transactions = any(evidence[at].transactions for at in bare.index)
        value, low, high = _mean(values)
        column = "transaction_rate_tps" if transactions else "throughput_mbps"
        rows.append(
            {
                "workload": name,
                "throughput_mbps": None,
                "transaction_rate_tps": None,
                column: _number(value),
                "low": _number(low),
                "high": _number(high),
                "limit": limit,
                "state": state,
                "proof": proven_by,
                "cpu_us": _costs(bare),
                "sensitivities": [
                    {
                        "resource": row["resource"],
                        "value": _number(row["sensitivity"]),
                        "low": _number(row["low"]),
                        "high": _number(row["high"]),
                        "state": row["state"],
                    }
                    for row in own
                ],
                "ruled_out": without,
                "known": {key: _number(value) for key, value in verdict["known_figures"].items()},
                "evidence": verdict["evidence"],
            }
        )
    return sorted(rows, key=lambda row: [*WORKLOADS, row["workload"]].index(row["workload"]))


def undecided(campaign: Campaign) -> list[int]:
    """Return the numbers (from 1) of configurations to repeat, as more blocks may prove a limit."""
    rows = {row["workload"]: row for row in workloads(campaign)}
    states = {
        (row[WORKLOAD], row["change"]): row["state"] for row in records(sensitivities(campaign))
    }
    proving = {limit.name: limit.intervention.level for limit in CLASSES}
    chosen: dict[str, list[int]] = {}
    bare: dict[str, int] = {}
    for number, each in enumerate(campaign.plan.configurations, 1):
        name, level = str(each.values[WORKLOAD]), str(each.values[proof.INTERVENTION])
        row = rows.get(name, {"state": OPEN, "limit": ""})
        if level == proof.NONE:
            bare[name] = number
        elif row["state"] != PROVEN and (
            states.get((name, level)) != RULED_OUT or level == proving.get(row["limit"])
        ):
            chosen.setdefault(name, []).append(number)
    return sorted(number for name, own in chosen.items() for number in (bare[name], *own))


def _mean(values: Sequence[float]) -> tuple[float, float, float]:
    """Return the mean and the ends of its interval, which are NaN for fewer than FEW values."""
    if not values:
        return (math.nan,) * 3
    value, low, high, _ = intervals.mean(np.array(values))
    return (value, low, high) if len(values) >= FEW else (value, math.nan, math.nan)


def records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    return [{str(name): row[name] for name in row} for row in frame.to_dict("records")]


def judged(
    verdict: Mapping[str, Any],
    rows: Sequence[Mapping[str, Any]],
    ruled_out_by_counters: Collection[str] = (),
    left: str = "",
) -> tuple[str, str, str]:
    """Return a workload's limit, its state and the proof in words.

    `verdict` is the workload's row of `explain`, and `rows` are its rows of `sensitivities`. The
    first of these rules that applies decides:

    1. A class that `explain` calls proven is `proven`, unless it is in SHARED_SUM and throughput
       follows the CPU of an end.
    2. The class of the resource that throughput follows most is `proven` (see `_named`).
    3. The class of the verdict is `suggested`, unless it is refuted or undetermined, or a change
       ruled out its resource.
    4. The class `left` (see `_left`) is `suggested`.
    5. Otherwise the state is `open`. The limit is the likeliest class, or "" if there is none or a
       change ruled out its resource.

    Rule 2 skips resources that throughput follows whatever the limit is:

    - the number of streams, because any limit of a connection has this effect;
    - the round trip of a stream, because its window or its losses have this effect;
    - the size of packets and calls, because each packet and call takes CPU time. These sizes do
      count if the CPUs of both ends are ruled out.
    """
    full = any(row["state"] == PROVEN for row in rows if row["resource"] in CPUS)
    if verdict["state"] == PROVEN and not (full and verdict["class"] in SHARED_SUM):
        by = [row for row in rows if verdict["class"] in _resource(row).limits]
        rest = [row for row in rows if row["resource"] == "streams"]
        return verdict["class"], PROVEN, _words(*(by or rest)[:1])
    free = {row["resource"] for row in rows if row["state"] == RULED_OUT}
    free |= {*ruled_out_by_counters}
    no_cause = {"streams"} if free >= CPUS else {"streams", "bytes a packet", "bytes a call"}
    if "transaction_rate_tps" not in verdict["known_figures"]:
        no_cause.add("round trip")
    causes = [row for row in rows if row["state"] == PROVEN and row["resource"] not in no_cause]
    if causes:
        first = max(causes, key=lambda row: row["sensitivity"])
        return _named(_resource(first), verdict), PROVEN, _words(first)
    refuted = {name for row in rows if row["state"] == RULED_OUT for name in _resource(row).limits}
    if verdict["class"] not in (UNDETERMINED, *refuted) and verdict["state"] != REFUTED:
        return verdict["class"], SUGGESTED, ""
    if left:
        return left, SUGGESTED, ""
    likely = verdict["points_to"]
    return ("" if likely in refuted else likely), OPEN, ""


def _left(
    part: pd.DataFrame,
    evidence: Mapping[Any, RunFigures],
    blocks: pd.Series[Any] | None,
    rows: Sequence[Mapping[str, Any]],
    ruled_out_by_counters: Collection[str],
) -> str:
    """Return the class that the runs without a change suggest, except refuted classes.

    A class is also skipped if its resource is ruled out or the effect of its change contradicts it.
    If the CPUs of both ends are ruled out, `remaining` selects the class, else `firing` does.
    Return "" if there is none.
    """
    bare = proof.bare(part)
    if bare.empty or len(bare) == len(part):
        return ""
    proofs = proof.proofs(part, evidence, blocks).values()
    refuted = {each.name for each in proofs if each.state == REFUTED or each.contrary}
    free = {row["resource"] for row in rows if row["state"] == RULED_OUT} | {*ruled_out_by_counters}
    refuted |= {limit for each in RESOURCES if each.name in free for limit in each.limits}
    verdicts = [of_run(evidence[at]) for at in bare.index]
    return remaining(verdicts, refuted) if free >= CPUS else firing(verdicts, refuted)


def _named(of: Resource, verdict: Mapping[str, Any]) -> str:
    """Return the class of limits for a resource that is proven to be the limit.

    If the verdict's class is in `of.limits`, return that class. Else return the last class of
    `of.limits` that is likely: its score is at least LEAST_SIGN. If none is likely, return the
    first.
    """
    if verdict["class"] in of.limits:
        return str(verdict["class"])
    near = {each["name"] for each in verdict["likely"] if each["score"] >= LEAST_SIGN}
    return next((name for name in reversed(of.limits) if name in near), of.limits[0])


def _ruled_out(runs: Sequence[RunFigures], rows: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Return resource -> why counters rule it out, for resources that were not changed."""
    if not runs:
        return {}
    verdict = of_configuration([of_run(run) for run in runs])
    dosed = {row["resource"] for row in rows}
    reasons = {
        each.name: ruled_out(each, verdict, runs) for each in RESOURCES if each.name not in dosed
    }
    return {name: why for name, why in reasons.items() if why and why != NO_SIGN}


def _resource(row: Mapping[str, Any]) -> Resource:
    known = resource(row["change"])
    assert known  # `sensitivities` has rows for known resources only
    return known[0]


def _words(*rows: Mapping[str, Any]) -> str:
    return "; ".join(
        f"{row['resource']} ×{row['factor']:g} → ×{row['ratio']:.2f} "
        f"[{row['ratio_low']:.2f}, {row['ratio_high']:.2f}]"
        for row in rows
    )


def _number(value: Any) -> float | None:
    return None if value is None or not math.isfinite(value) else float(value)


def _costs(part: pd.DataFrame) -> dict[str, float | None]:
    """Return the median CPU time of sender and receiver, µs per KiB or per transaction."""
    costs: dict[str, float | None] = {}
    for end, name in (("local", "send"), ("remote", "receive")):
        columns = [f"{end}_{demand}" for demand in DEMANDS if f"{end}_{demand}" in part.columns]
        medians = [part[column].median() for column in columns]
        costs[name] = next((float(value) for value in medians if value == value), None)
    return costs


def helping(campaign: Campaign) -> list[Help]:
    """Return the changes of settings that help (see HELPS), the highest ratio first."""
    frame, evidence = evidence_of(campaign)
    if not proof.tested(frame):
        return []
    rows = records(sensitivities(campaign))
    helps = []
    for part in explained.configurations(frame):
        name = str(part[WORKLOAD].iloc[0])
        bare = proof.bare(part)
        for level, changed in frames.groups(part, [proof.INTERVENTION]):
            own = [r for r in rows if r[WORKLOAD] == name and r["change"] == level[0]]
            if not own or not own[0]["ratio_low"] >= HELPS or bare.empty:
                continue
            uses = _uses(campaign, changed, bare)
            if not uses or any(use.name in ("load", "qdisc") for use in uses):
                continue  # a load or a delay tests a resource and cannot help
            before, after = _costs(bare), _costs(changed)
            rates = [rate for at in changed.index if (rate := evidence[at].achieved)]
            helps.append(
                Help(
                    name,
                    str(level[0]),
                    own[0]["ratio"],
                    own[0]["ratio_low"],
                    own[0]["ratio_high"],
                    float(np.mean(rates)),
                    {end: (before[end], after[end]) for end in before},
                    [(role, use.name, dict(use.options)) for use in uses for role in use.roles],
                )
            )
    return sorted(helps, key=lambda each: -each.ratio)


def as_json(rung: Help, commands: Sequence[str]) -> dict[str, Any]:
    """Return a rung of the ladder as `netlimits diagnose --json` prints it."""
    row = asdict(rung)
    del row["settings"]  # `commands` contains the settings
    cost = {end: [*pair] for end, pair in rung.cost.items()}
    return {**row, "cost": cost, "commands": [*commands]}


def _uses(campaign: Campaign, changed: pd.DataFrame, bare: pd.DataFrame) -> list[SettingUse]:
    with_, without = (
        campaign.plan.setup(campaign.runs[int(side["run"].iloc[0])].values).settings
        for side in (changed, bare)
    )
    return [use for use in with_ if use not in without]
