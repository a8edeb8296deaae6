"""What the reports say that must come out in the lab too: each claim beside its interval there.

`table` makes the rows of experiments/README.md from the campaigns that scripts/gallery.py keeps. A
claim is a ratio that ought to lie above 1, so its interval decides: all of it above 1 is *shown*,
all of it below is *otherwise*, anything else is *undecided*, which more runs would change; of fewer
than six runs a side no interval decides. Where nothing is a ratio the figures stand alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

import netlimits as nl
from netlimits.analysis import aggregate, bursts, contrasts, cost, frames, packet_rate
from netlimits.errors import DataError
from netlimits.metrics import metric


@dataclass(frozen=True)
class Ratio:
    """A ratio that ought to lie above 1, where, and its 95 % interval."""

    where: str
    value: float
    low: float
    high: float
    runs: int

    @property
    def verdict(self) -> str:
        """What the interval says; of fewer than six runs a side it says nothing reliable."""
        if self.runs < 12:
            return "too few runs"
        if self.low > 1:
            return "shown"
        return "otherwise" if self.high < 1 else "undecided"

    def __str__(self) -> str:
        return f"{self.where}: {self.value:.2f} [{self.low:.2f}, {self.high:.2f}] {self.verdict}"


Findings = Iterable[Ratio | str]


def improvements(
    of: Sequence[str], rows: str, columns: str | Sequence[str], improvement: str, where: str = ""
) -> Callable[[nl.Campaign], Findings]:
    """A contrast of two values of a factor, better always above 1, as `nl.summary` makes it."""

    def ratios(campaign: nl.Campaign) -> Findings:
        frame = campaign.frame()
        frame = frame.query(where) if where else frame
        across = [columns] if isinstance(columns, str) else list(columns)
        table = nl.summary(frame, list(of), rows, across, improvement=improvement)
        for row in table[table["statistic"] == "improvement"].to_dict("records"):
            name = metric(str(row["metric"])).title.lower()
            values = ", ".join(str(row[column]) for column in across)
            place = f"{name} at {values}"
            yield Ratio(place, row["value"], row["low"], row["high"], row["n"])

    return ratios


def pooled(
    of: str, factor: str, improvement: str, conditions: Sequence[str]
) -> Callable[[nl.Campaign], Findings]:
    """A contrast over all conditions alike: one ratio a condition and block."""

    def ratios(campaign: nl.Campaign) -> Findings:
        logs = _log_gains(campaign, of, factor, improvement, conditions)
        yield _ratio(f"{metric(of).title.lower()} over {len(logs)} pairs", logs.to_numpy())

    return ratios


def greater(
    factor: str, improvement: str, sizes: Mapping[str, Callable[[float], bool]]
) -> Callable[[nl.Campaign], Findings]:
    """How many times greater a gain in throughput is at sends of the first sizes than at others.

    One ratio a tool and block, of geometric means over the sizes. `sizes` has words for both.
    """

    def ratios(campaign: nl.Campaign) -> Findings:
        logs = _log_gains(campaign, "throughput", factor, improvement, ("tool", "send_size"))
        present = logs.index.get_level_values("send_size")
        sides = [
            logs[[within(size) for size in present]].groupby(["block", "tool"]).mean()
            for within in sizes.values()
        ]
        for words, side in zip(sizes, sides, strict=True):
            yield _ratio(f"gain at {words} sends", side.to_numpy())
        first, second = sizes
        yield _ratio(f"{first} over {second}", (sides[0] - sides[1]).dropna().to_numpy())

    return ratios


def _log_gains(
    campaign: nl.Campaign, of: str, factor: str, improvement: str, conditions: Sequence[str]
) -> pd.Series:
    """The logarithm of what `better over worse` improves by, of each block and condition."""
    frame = campaign.frame()
    frame = frame.assign(block=contrasts.blocks(frame), level=frame[factor].map(str))
    column = frames.column(frame, of).column
    runs = frames.usable(frame).pivot_table(
        index=["block", *conditions], columns="level", values=column
    )
    better, worse = improvement.split(" over ")
    direction = 1 if metric(of).better == "higher" else -1
    return direction * np.log(runs[better] / runs[worse]).dropna()


def _ratio(where: str, logs: np.ndarray) -> Ratio:
    interval, _ = contrasts.paired(logs)
    value, low, high = np.exp([interval.value, interval.low, interval.high])
    return Ratio(where, value, low, high, 2 * len(logs))


def udp_cost(campaign: nl.Campaign) -> Findings:
    """Each end's time for a packet and for a KiB."""
    frame = campaign.frame().query("protocol == 'udp'")
    for row in cost.cost(frame, of=["local_sd", "remote_sd"]).itertuples():
        end = "sender" if row.of == "local_sd" else "receiver"
        packet = f"{row.packet_ns:,.0f} [{row.packet_ns_low:,.0f}, {row.packet_ns_high:,.0f}]"
        kib = f"{row.kib_ns:,.0f} [{row.kib_ns_low:,.0f}, {row.kib_ns_high:,.0f}]"
        yield f"{end}: {packet} ns a packet, {kib} ns a KiB"


def regimes(campaign: nl.Campaign) -> Findings:
    """Up to which size packets limit, and from which on bytes do."""
    fit = packet_rate.regimes(campaign.frame())
    for words, size, (low, high) in (
        ("packets up to", fit.packets_until, fit.packets_until_interval),
        ("bytes from", fit.bytes_from, fit.bytes_from_interval),
    ):
        yield f"{words} {size:,.0f} [{low:,.0f}, {high:,.0f}] bytes"


def first_bursts(campaign: nl.Campaign) -> Findings:
    """The first burst of a connection's first response and of its later ones."""
    for (gro, quickack), packets in campaign.traces().groupby(["gro", "quickack"]):
        table = bursts.over_transactions(packets)
        first, last = table["median"].iloc[0], table["median"].tail(5).median()
        word = "shown" if last > first else "otherwise"
        yield f"GRO {gro}, quickack {quickack}: from {first:g} to {last:g} segments, {word}"


def by_mtu(campaign: nl.Campaign) -> Findings:
    """How much more each machine sends at the larger MTU: only where the link binds.

    One ratio a block and number of streams, its interval beside what the link's bounds make it.
    """
    entry = next(e for e in campaign.experiment.report if e.get("chart") == "highest_average")
    frame = campaign.frame()
    blocks = frame.assign(block=contrasts.blocks(frame))[["run", "block"]]
    runs = aggregate.highest_averages(campaign.intervals(), entry["window_s"]).merge(blocks)
    bound = (8896 - 52) / (8896 + 38) / ((1500 - 52) / (1500 + 38))
    for machine, part in runs.groupby("machine"):
        rates = part.pivot_table(
            index=["block", "streams_per_sink"], columns="mtu", values="highest_average_mbps"
        )
        interval, _ = contrasts.paired(np.log(rates[8896] / rates[1500]).dropna().to_numpy())
        value, low, high = np.exp([interval.value, interval.low, interval.high])
        ratio = f"{value:.3f} [{low:.3f}, {high:.3f}]"
        yield f"{machine}: {ratio} times as much (the link's bounds: {bound:.3f})"


MSS = 1460
"""Bytes that a segment carries at an MTU of 1500, without options."""
SD = ("throughput", "local_sd", "remote_sd")
PAIRS = (
    (
        "TCP with offloads on against off: throughput up, both service demands down",
        "stateless-offloads-gro-hw",
        improvements(SD, "transport", "send_size", "TCP on over TCP off"),
    ),
    ("UDP: a cost for each packet, and one for each KiB", "stateless-offloads-gro-hw", udp_cost),
    ("Small messages: packets per second are the limit", "packets-per-second", regimes),
    (
        "Service demand falls with segments per ACK",
        "ack-overhead",
        pooled("local_sd", "receiver", "GRO waits 500 µs over quickack", ("sending", "mss")),
    ),
    ("The first burst of a response grows", "rr-bursts", first_bursts),
    ("A link's bound moves with the MTU, an egress cap does not", "mtu-aggregate-capped", by_mtu),
    (
        "TSO's gain grows with the send",
        "tso",
        greater("tso", "on over off", {"larger": lambda n: n > MSS, "smaller": lambda n: n < MSS}),
    ),
    (
        "Jumbo frames' gain grows with the send",
        "jumbo",
        greater(
            "mtu", "9000 over 1500", {"larger": lambda n: n > MSS, "smaller": lambda n: n < MSS}
        ),
    ),
    (
        "Stress hurts small sends first (how many times as fast without it)",
        "cpu-stress",
        greater(
            "workers_per_cpu", "0 over 2", {"small": lambda n: n < MSS, "large": lambda n: n > MSS}
        ),
    ),
)
"""Claim, experiment, what of its campaign bears on it."""


def table(kept: Path) -> str:
    """The claims as rows of Markdown, from the campaigns below `kept`."""
    lines = ["| claim | in the lab |", "|---|---|"]
    for claim, name, figures in PAIRS:
        if not (kept / name).is_dir():
            continue
        try:
            cell = "<br>".join(str(figure) for figure in figures(nl.open(kept / name)))
        except DataError as error:
            cell = f"not decided: {error}"
        lines.append(f"| {claim} ({name}) | {cell.replace('|', '')} |")
    return "\n".join(lines)
