"""Collect the figures that classes of limits read, from a campaign or from any frame of runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from numbers import Real
from statistics import median
from typing import TYPE_CHECKING, Any

from netlimits.analysis import frames, wording
from netlimits.analysis.goodput import bound
from netlimits.archive.reader import Campaign
from netlimits.limits import proof
from netlimits.limits.figures import RunFigures
from netlimits.limits.links import DataLinks

if TYPE_CHECKING:
    import pandas as pd

STREAMS = ("streams", "parallel")
"""Factors that set the number of connections."""
LEAST_RUNS = 3
"""Minimum number of runs of a configuration to compute `RunFigures.slowest`."""
JUDGED = 240
"""Maximum number of runs of a configuration to judge. With so many runs, the share of runs that
agree is known to within ±6 percentage points."""


def evidence_of(
    results: Campaign | pd.DataFrame, run: int | None = None, *, sampled: bool = True
) -> tuple[pd.DataFrame, dict[Any, RunFigures]]:
    """Return the ok runs to judge, and index -> the figures that classes of limits read.

    If `sampled`, `sample` reduces configurations with more than JUDGED runs; it keeps the run with
    number `run`. The frame's `attrs["runs"]` then maps each of these configurations to the number
    of its ok runs. Raises DataError if no run is ok.
    """
    campaign = None
    if isinstance(results, Campaign):
        campaign = results
        frame = _judged(campaign, run) if sampled else frames.usable(campaign.frame())
    else:
        frame = frames.usable_of_table(results)
        frame = sample(frame, run) if sampled else frame
    links = DataLinks(campaign, frame["run"]) if campaign and not campaign.imported else None
    evidence = {}
    for index, row in frame.iterrows():
        figures: Mapping[str, Any] = {str(name): value for name, value in row.items()}
        evidence[index] = run_figures(figures, links, of_file=campaign is None)
    derived = campaign.experiment.derive if campaign else {}
    factors = [name for name in frames.varied(frame) if name not in derived]
    if proof.tested(frame):  # columns of changed values do not distinguish configurations
        factors = [name for name in factors if not name.startswith(proof.CHANGED)]
    rates = _rates_by_size(frame, evidence, factors)
    sums = _rates_by_streams(frame, evidence, factors)
    known = links or campaign is None  # the paths of an imported campaign are unknown
    most = _most(frame, evidence, factors, links) if known else {}
    slowest = _slowest(frame, evidence, factors)
    return frame, {
        index: replace(
            run,
            rates_by_size=rates.get(index, {}),
            rates_by_streams=sums.get(index, {}),
            most_mbps=most.get(index),
            slowest=slowest.get(index),
        )
        for index, run in evidence.items()
    }


def sample(frame: pd.DataFrame, run: int | None = None) -> pd.DataFrame:
    """Return at most JUDGED runs of each configuration, and also the run with number `run`.

    A frame with interventions, or without a column `config`, is returned whole.
    """
    if "config" not in frame.columns or proof.tested(frame):
        return frame
    groups = frame.groupby("config", observed=True, dropna=False)["config"]
    count, place = groups.transform("size").astype(int), groups.cumcount()
    kept = place * JUDGED // count != (place - 1) * JUDGED // count
    kept |= count <= JUDGED
    if kept.all():
        return frame
    if run is not None and "run" in frame.columns:
        kept |= frame["run"] == run
    many = frame.loc[count > JUDGED, "config"].value_counts()
    chosen = frame[kept]
    chosen.attrs["runs"] = {str(config): int(n) for config, n in many.items() if n}
    return chosen


def _judged(campaign: Campaign, run: int | None) -> pd.DataFrame:
    """Return a campaign's runs to judge, with all columns; a large one is not read whole."""
    if not campaign.large:
        return sample(frames.usable(campaign.frame()), run)
    chosen = sample(frames.usable(campaign.frame(frames.RUN_COLUMNS, coded=True)), run)
    table = campaign.attempts(chosen)
    if "runs" in chosen.attrs:
        table.attrs["runs"] = chosen.attrs["runs"]
    return frames.with_process_cpu(table)


def _slowest(
    frame: pd.DataFrame, evidence: Mapping[Any, RunFigures], factors: list[str]
) -> dict[Any, float]:
    """Return each run's `RunFigures.slowest`, for configurations of LEAST_RUNS or more."""
    shares: dict[Any, float] = {}
    for _, same in frames.groups(proof.bare(frame), factors):
        rates = [rate for index in same.index if (rate := evidence[index].throughput)]
        if len(rates) >= LEAST_RUNS:
            shares |= dict.fromkeys(same.index, min(rates) / max(rates))
    return shares


def _most(
    frame: pd.DataFrame,
    evidence: Mapping[Any, RunFigures],
    factors: list[str],
    links: DataLinks | None,
) -> dict[Any, float]:
    """Return each run's `RunFigures.most_mbps`.

    Runs from a file count as runs on the same path if they differ only in sizes.
    """
    alike = [name for name in factors if name not in wording.FACTOR_UNITS]
    rates: dict[Any, dict[Any, list[float]]] = {}
    paths = {}
    for index, row in proof.bare(frame).iterrows():
        run = evidence[index]
        of = links.path(int(row["run"])) if links else tuple(str(row[name]) for name in alike)
        if of is None or run.wire_mbps is None:
            continue
        paths[index] = path = (run.sender, run.udp, of)
        config = tuple(str(row[name]) for name in factors)
        rates.setdefault(path, {}).setdefault(config, []).append(run.wire_mbps)
    most = {
        path: max(map(median, by_config.values()))
        for path, by_config in rates.items()
        if len(by_config) > 1
    }
    return {index: most[path] for index, path in paths.items() if path in most}


def _rates_by_size(
    frame: pd.DataFrame, evidence: Mapping[Any, RunFigures], factors: list[str]
) -> dict[Any, dict[float, float]]:
    """Return each run's `RunFigures.rates_by_size`."""
    sizes = [name for name in factors if name in wording.FACTOR_UNITS]
    others = [name for name in factors if name not in sizes]
    rates: dict[Any, dict[float, float]] = {}
    for _, part in frames.groups(frame, others) if sizes else ():
        by_size = {}
        for _, same in frames.groups(part, sizes):
            points = [
                (run.packet_bytes, run.packet_rate)
                for run in (evidence[index] for index in same.index)
                if run.packet_bytes and run.packet_rate
            ]
            if points:
                by_size[median(size for size, _ in points)] = median(rate for _, rate in points)
        rates |= dict.fromkeys(part.index, by_size)
    return rates


def _rates_by_streams(
    frame: pd.DataFrame, evidence: Mapping[Any, RunFigures], factors: list[str]
) -> dict[Any, dict[float, float]]:
    """Return each run's `RunFigures.rates_by_streams`."""
    others = [name for name in factors if name not in STREAMS]
    rates: dict[Any, dict[float, float]] = {}
    for _, part in frames.groups(proof.bare(frame), others) if others != factors else ():
        by_number: dict[float, list[float]] = {}
        for index in part.index:
            run = evidence[index]
            if run.throughput:
                by_number.setdefault(run.flows, []).append(run.throughput)
        sums = {number: median(each) for number, each in by_number.items()}
        rates |= dict.fromkeys(part.index, sums)
    return rates


def _target(figures: Mapping[str, Any]) -> float | None:
    target = figures.get("target_mbps")
    goal = float(target) if isinstance(target, Real) else 0.0
    return goal if goal > 0 else None


def run_figures(
    figures: Mapping[str, Any], links: DataLinks | None, *, of_file: bool = False
) -> RunFigures:
    """Return a run's figures with the facts of its link; `links` is None if they are unknown."""
    one_machine = figures.get("shared_kernel") is True
    if links is None:
        return RunFigures(
            figures, one_machine=one_machine, goal_mbps=_target(figures), of_file=of_file
        )
    run = int(figures["run"])
    mtu, rate = links.mtu(run), links.rate(run)
    limit = None
    stack, outer, gained = links.tunnel(run)
    if mtu and rate:
        full = bound(mtu, rate, stack, timestamps=True, ipv6=links.ipv6(run), outer_ipv6=outer)
        limit = full.goodput_bps / 1e6
    return RunFigures(
        figures,
        limit,
        mtu,
        one_machine,
        links.goal_mbps(run) or _target(figures),
        shapers=links.shapers(run),
        queues=links.queues(run),
        send_bytes=links.send_bytes(run),
        pcie_mbps=links.pcie_mbps(run),
        gained=gained,
    )
