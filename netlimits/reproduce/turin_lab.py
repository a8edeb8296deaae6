"""Judge the Turin report's claims with runs on the lab's machines.

`scripts/gallery.py` writes `turin-lab.csv`, which has a row for each run of the gallery's
campaigns. Some claims depend on the report's link of 2.5 Gbit/s. Only runs that fill such a link
can decide them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import resources

import numpy as np
import pandas as pd

from netlimits.analysis import frames
from netlimits.metrics import metric
from netlimits.reproduce.claims import (
    FULL,
    Assertion,
    Judgement,
    Sample,
    between,
    full_link,
    needs,
    of_blocks,
    ratio,
)

FILE = "turin-lab.csv"
EXPERIMENTS = ("tool-comparison", "tso", "jumbo", "cpu-stress")
COLUMNS = (
    *("run", "block", "tool", "send_size", "tso", "mtu", "workers_per_cpu"),
    *("throughput_mbps", "local_process_cpu_pct", "local_processes", "local_threads"),
)
"""Columns of the file besides `experiment`; the rows are runs with the status ok."""

CPU = "local_process_cpu"
MSS = 1460
SMALL, LARGE = f"send_size < {MSS}", "send_size >= 10000"
LENGTH = ("send_size",)
BOTH = ("tool", "send_size")
PEAK = "send_size == 100000"
PAIR = ("iperf3", "nttcp")
"""The report's tools."""
JUMBO = ("tool", "send_size", "mtu")
FILLED = full_link(JUMBO, PEAK, share=0.93)
"""Condition that runs with both MTUs fill the link. The share leaves room for the headers, which
take 5 % more with the smaller MTU."""

LINK = 100_000_000
"""Rate of the path in the experiment tool-comparison, in bit/s of frames."""
LAB_BOUND = LINK / 1e6 * 1448 / 1514
"""Maximum goodput of this path in Mbit/s; its shaper counts frames without preamble and FCS."""
REPORTS_BOUND = 2354.0
"""Maximum goodput of the report's link of 2.5 Gbit/s, in Mbit/s."""


@cache
def runs(experiment: str) -> pd.DataFrame:
    """Return the runs of an experiment as a frame, without columns that have no values."""
    text = resources.files("netlimits.reproduce").joinpath(FILE)
    with text.open(encoding="utf-8") as file:
        every = pd.read_csv(file)
    mine = every[every["experiment"] == experiment].drop(columns="experiment")
    mine = mine.dropna(axis="columns", how="all").reset_index(drop=True)
    factors = {name: int for name in ("mtu", "workers_per_cpu") if name in mine.columns}
    return mine.astype(factors)


def reports_link(frame: pd.DataFrame) -> str:
    """Return the reason if the runs do not fill a link like the report's, else ""."""
    rates = frames.usable(frame).groupby(["tool", "send_size"])["throughput_mbps"].mean()
    fastest = float(rates.max())
    if 0.9 <= fastest / REPORTS_BOUND <= 1.1:
        return ""
    return f"needs the report's link of 2.5 Gbit/s; the fastest runs carried {fastest:.0f} Mbit/s"


def saturation(runs: pd.DataFrame) -> float:
    """Return the smallest send size from which goodput stays within 5 % of its peak."""
    rates = runs.groupby("send_size")["throughput_mbps"].mean().sort_index()
    below = rates.index[rates < FULL * rates.max()]
    return float(rates.index[rates.index > (below.max() if len(below) else 0)].min())


def spread(frame: pd.DataFrame) -> Sample:
    """Return the sample of a ratio: the variation of nttcp's goodput, divided by iperf3's.

    The variation is the mean absolute deviation from the tool's median at each send size.
    """
    runs = frames.usable(frame)
    rates = runs["throughput_mbps"]
    medians = rates.groupby([runs["tool"], runs["send_size"]]).transform("median")
    far = (rates - medians).abs().groupby([runs["block"], runs["tool"]]).mean().unstack()
    compared = runs["tool"].isin(PAIR)
    return Sample(np.log((far["nttcp"] / far["iperf3"]).to_numpy()), int(compared.sum()))


def _saturation_at(mtu: int) -> Callable[[pd.DataFrame], float]:
    return lambda runs: saturation(runs[runs["mtu"] == mtu])


def _mean(of: str) -> Callable[[pd.DataFrame], float]:
    return lambda runs: float(runs[metric(of).column].mean())


def slowed(runs: pd.DataFrame) -> float:
    """Return the largest send size at which stress reduces goodput by more than 5 %."""
    rates = runs.pivot_table("throughput_mbps", "send_size", "workers_per_cpu")
    return float(rates.index[rates[2] < FULL * rates[0]].max())


def busiest(runs: pd.DataFrame) -> float:
    """Return the send size at which the tool's mean CPU utilization is highest."""
    cpu = runs.groupby("send_size")[metric(CPU).column].mean().sort_values()
    return float(cpu.index[-1])


def claims() -> tuple[Assertion, ...]:
    """Return the report's claims about its curves, each as a ratio that the lab's runs measure."""
    of_nttcp, of_iperf3 = "tool == 'nttcp'", "tool == 'iperf3'"
    jumbo = f"{of_iperf3} and mtu == 9000"
    unstressed = full_link(("tool", "send_size"), f"workers_per_cpu == 0 and {LARGE}")
    return (
        Assertion(
            "below the MSS nttcp carries nearly double what iperf3 does",
            "tool-comparison",
            ratio("throughput", "tool", "nttcp", "iperf3", SMALL, LENGTH),
            *(1.6, 2.4, ("turin-nttcp-over-iperf3",)),
        ),
        Assertion(
            "nttcp takes significantly more CPU than iperf3",
            "tool-comparison",
            ratio(CPU, "tool", "nttcp", "iperf3", SMALL, LENGTH),
            low=1,
            statements=("turin-cpu-nttcp-over-iperf3",),
        ),
        Assertion(
            "at high lengths both take about the same CPU",
            "tool-comparison",
            ratio(CPU, "tool", "nttcp", "iperf3", LARGE, LENGTH),
            *(0.8, 1.25, ("turin-cpu-large-lengths",)),
        ),
        Assertion(
            "small lengths take more CPU than large ones",
            "tool-comparison",
            between(CPU, SMALL, LARGE, ("tool",)),
            low=1,
            statements=("turin-cpu-small-over-large",),
        ),
        Assertion(
            "with TSO nttcp's goodput increases slightly on the slope",
            "tso",
            ratio("throughput", "tso", "on", "off", f"{of_nttcp} and {SMALL}", LENGTH),
            low=1,
            statements=("turin-tso-goodput-gain",),
        ),
        Assertion(
            "with TSO nttcp's CPU is always below that without",
            "tso",
            ratio(CPU, "tso", "on", "off", of_nttcp, LENGTH),
            high=1,
            statements=("turin-tso-cpu",),
        ),
        Assertion(
            "jumbo frames make no significant difference to the CPU",
            "jumbo",
            ratio(CPU, "mtu", "9000", "1500", "", BOTH),
            *(0.9, 1 / 0.9, ("turin-jumbo-cpu",)),
        ),
        Assertion(
            "with jumbo frames goodput grows faster on the slope",
            "jumbo",
            ratio("throughput", "mtu", "9000", "1500", SMALL, BOTH),
            low=1,
            statements=("turin-jumbo-slope",),
        ),
        Assertion(
            "under stress large sends reach the same peak",
            "cpu-stress",
            needs(unstressed, ratio("throughput", "workers_per_cpu", "2", "0", LARGE, BOTH)),
            *(0.95, 1 / 0.95, ("turin-stress-peak",)),
        ),
        Assertion(
            "under stress goodput is lower on the slope",
            "cpu-stress",
            ratio("throughput", "workers_per_cpu", "2", "0", SMALL, BOTH),
            high=1,
            statements=("turin-stress-goodput",),
        ),
        Assertion(
            "under stress iperf3's CPU is extremely higher",
            "cpu-stress",
            ratio(CPU, "workers_per_cpu", "2", "0", of_iperf3, LENGTH),
            low=1.5,
            statements=("turin-stress-cpu-iperf3",),
        ),
        *(
            Assertion(
                f"{tool}'s peak is 99 % of the bound",
                "tool-comparison",
                needs(
                    full_link(("tool",), f"{PEAK} and tool in {PAIR}"),
                    of_blocks(_mean("throughput"), LAB_BOUND, f"{PEAK} and tool == '{tool}'"),
                ),
                *(0.98, 1, (f"turin-peak-{tool}",)),
            )
            for tool in ("iperf3", "nttcp")
        ),
        Assertion(
            "nttcp's goodput varies more than iperf3's",
            "tool-comparison",
            spread,
            low=1,
            statements=("turin-variance-iperf3", "turin-variance-nttcp"),
        ),
        *(
            Assertion(
                f"{tool}'s peak with jumbo frames is 1.05 times that without",
                "jumbo",
                needs(FILLED, ratio("throughput", "mtu", "9000", "1500", f"{PEAK} and {where}")),
                *(1.03, 1.07, (f"turin-jumbo-peak-{tool}",)),
            )
            for tool, where in (("iperf3", of_iperf3), ("nttcp", of_nttcp))
        ),
        Assertion(
            "with jumbo frames goodput saturates at smaller lengths",
            "jumbo",
            needs(FILLED, of_blocks(_saturation_at(9000), _saturation_at(1500), f"tool in {PAIR}")),
            high=0.99,
            statements=("turin-jumbo-saturation",),
        ),
        Assertion(
            "with jumbo frames iperf3's CPU falls once goodput saturates",
            "jumbo",
            needs(FILLED, between(CPU, f"{jumbo} and {LARGE}", f"{jumbo} and {SMALL}")),
            high=1,
            statements=("turin-jumbo-cpu-saturated",),
        ),
        *(
            Assertion(
                words,
                experiment,
                needs(reports_link, of_blocks(figure, stated, where)),
                *(0.7, 1.4, (statement,)),
            )
            for words, experiment, figure, where, stated, statement in (
                (
                    "both tools saturate from 750 bytes on",
                    "tool-comparison",
                    saturation,
                    f"tool in {PAIR}",
                    *(750, "turin-saturation-length"),
                ),
                (
                    "under stress iperf3's CPU peaks at about 1000 bytes",
                    "cpu-stress",
                    busiest,
                    f"{of_iperf3} and workers_per_cpu == 2",
                    *(1000, "turin-stress-cpu-peak-length"),
                ),
                (
                    "stress slows nttcp up to about 1000 bytes",
                    "cpu-stress",
                    slowed,
                    of_nttcp,
                    *(1000, "turin-stress-nttcp-length"),
                ),
                (
                    "under stress nttcp saturates at about 1500 bytes",
                    "cpu-stress",
                    saturation,
                    f"{of_nttcp} and workers_per_cpu == 2",
                    *(1500, "turin-stress-nttcp-saturation"),
                ),
            )
        ),
        Assertion(
            "under stress nttcp's CPU is at 100 % up to about 1000 bytes",
            "cpu-stress",
            needs(
                reports_link,
                of_blocks(_mean(CPU), 100, f"{of_nttcp} and {SMALL} and workers_per_cpu == 2"),
            ),
            *(0.9, 1.1, ("turin-nttcp-cpu",)),
        ),
    )


@cache
def judgements() -> dict[str, Judgement]:
    """Return the judgement of each claim by the lab's runs, by statement id."""
    return {
        statement: judgement
        for judgement in (claim.judge(runs(claim.experiment)) for claim in claims())
        for statement in judgement.claim.statements
    }
