"""The Turin report's figures and claims, measured on the lab's machines.

`turin-lab.csv` has a row for each run of the gallery's campaigns (written by `scripts/gallery.py`).
The lab is not a 2.5 Gbit/s link, and nuttcp replaces nttcp.
"""

from __future__ import annotations

from functools import cache
from importlib import resources

import pandas as pd

from netlimits.reproduce.claims import Assertion, Judgement, between, not_shown, ratio

FILE = "turin-lab.csv"
EXPERIMENTS = ("tool-comparison", "tso", "jumbo", "cpu-stress")
COLUMNS = (
    *("run", "block", "tool", "send_size", "tso", "mtu", "workers_per_cpu"),
    *("throughput_mbps", "local_process_cpu_pct", "local_processes", "local_threads"),
)
"""Columns that are kept of each ok run."""

STAND_IN = "nuttcp"
"""Successor of nttcp, measured instead of it."""

CPU = "local_process_cpu"
MSS = 1460
SMALL, LARGE = f"send_size < {MSS}", "send_size >= 10000"
LENGTH = ("send_size",)
BOTH = ("tool", "send_size")
UNLIKE = "a length or rate of the report's own link and CPUs"
NOT_FULL = "needs a link that the sender fills, which these runs did not"


@cache
def runs(experiment: str) -> pd.DataFrame:
    """Return the runs of an experiment as `nl.open` would, with those of COLUMNS that it has."""
    text = resources.files("netlimits.reproduce").joinpath(FILE)
    with text.open(encoding="utf-8") as file:
        every = pd.read_csv(file)
    mine = every[every["experiment"] == experiment].drop(columns="experiment")
    mine = mine.dropna(axis="columns", how="all").reset_index(drop=True)
    factors = {name: int for name in ("mtu", "workers_per_cpu") if name in mine.columns}
    return mine.astype(factors)


@cache
def reports_tool() -> str:
    """Return the tool in nttcp's role: nttcp itself if it was measured."""
    return "nttcp" if "nttcp" in set(runs("tso")["tool"]) else STAND_IN


def claims() -> tuple[Assertion, ...]:
    """Return the report's claims on its curves, each as a ratio of the lab's runs."""
    nttcp = reports_tool()
    of_nttcp, of_iperf3 = f"tool == '{nttcp}'", "tool == 'iperf3'"
    return (
        Assertion(
            "below the MSS nttcp carries nearly double what iperf3 does",
            "tool-comparison",
            ratio("throughput", "tool", nttcp, "iperf3", SMALL, LENGTH),
            *(1.6, 2.4, "turin-nttcp-over-iperf3"),
        ),
        Assertion(
            "nttcp takes significantly more CPU than iperf3",
            "tool-comparison",
            ratio(CPU, "tool", nttcp, "iperf3", SMALL, LENGTH),
            low=1,
            statement="turin-cpu-nttcp-over-iperf3",
        ),
        Assertion(
            "at high lengths both take about the same CPU",
            "tool-comparison",
            ratio(CPU, "tool", nttcp, "iperf3", LARGE, LENGTH),
            *(0.8, 1.25, "turin-cpu-large-lengths"),
        ),
        Assertion(
            "small lengths take more CPU than large ones",
            "tool-comparison",
            between(CPU, SMALL, LARGE, ("tool",)),
            low=1,
            statement="turin-cpu-small-over-large",
        ),
        Assertion(
            "with TSO nttcp's goodput increases slightly on the slope",
            "tso",
            ratio("throughput", "tso", "on", "off", f"{of_nttcp} and {SMALL}", LENGTH),
            low=1,
            statement="turin-tso-goodput-gain",
        ),
        Assertion(
            "with TSO nttcp's CPU is always below that without",
            "tso",
            ratio(CPU, "tso", "on", "off", of_nttcp, LENGTH),
            high=1,
            statement="turin-tso-cpu",
        ),
        Assertion(
            "jumbo frames make no significant difference to the CPU",
            "jumbo",
            ratio(CPU, "mtu", "9000", "1500", "", BOTH),
            *(0.9, 1 / 0.9, "turin-jumbo-cpu"),
        ),
        Assertion(
            "with jumbo frames goodput grows faster on the slope",
            "jumbo",
            ratio("throughput", "mtu", "9000", "1500", SMALL, BOTH),
            low=1,
            statement="turin-jumbo-slope",
        ),
        Assertion(
            "under stress large sends reach the same peak",
            "cpu-stress",
            ratio("throughput", "workers_per_cpu", "2", "0", LARGE, BOTH),
            *(0.95, 1 / 0.95, "turin-stress-peak"),
        ),
        Assertion(
            "under stress goodput is lower on the slope",
            "cpu-stress",
            ratio("throughput", "workers_per_cpu", "2", "0", SMALL, BOTH),
            high=1,
            statement="turin-stress-goodput",
        ),
        Assertion(
            "under stress iperf3's CPU is extremely higher",
            "cpu-stress",
            ratio(CPU, "workers_per_cpu", "2", "0", of_iperf3, LENGTH),
            low=1.5,
            statement="turin-stress-cpu-iperf3",
        ),
        *(
            Assertion(words, experiment, not_shown(why), statement=statement)
            for statement, experiment, words, why in (
                ("turin-peak-iperf3", "tool-comparison", "iperf3's peak", NOT_FULL),
                ("turin-peak-nttcp", "tool-comparison", "nttcp's peak", NOT_FULL),
                ("turin-saturation-length", "tool-comparison", "both saturate from 750", UNLIKE),
                ("turin-variance-iperf3", "tool-comparison", "iperf3's mean range", UNLIKE),
                ("turin-variance-nttcp", "tool-comparison", "nttcp's mean range", UNLIKE),
                ("turin-jumbo-peak-iperf3", "jumbo", "iperf3's peak, jumbo", NOT_FULL),
                ("turin-jumbo-peak-nttcp", "jumbo", "nttcp's peak, jumbo", NOT_FULL),
                ("turin-jumbo-saturation", "jumbo", "jumbo saturates earlier", NOT_FULL),
                ("turin-jumbo-cpu-saturated", "jumbo", "less CPU once saturated", NOT_FULL),
                ("turin-stress-cpu-peak-length", "cpu-stress", "CPU's peak at 1000", UNLIKE),
                ("turin-stress-nttcp-length", "cpu-stress", "stress shows to 1000", UNLIKE),
                ("turin-stress-nttcp-saturation", "cpu-stress", "saturates at 1500", UNLIKE),
                ("turin-nttcp-cpu", "cpu-stress", "nttcp's CPU already at 100 %", UNLIKE),
            )
        ),
    )


@cache
def judgements() -> dict[str, Judgement]:
    """Return the lab's judgement of each claim, by statement."""
    return {claim.statement: claim.judge(runs(claim.experiment)) for claim in claims()}
