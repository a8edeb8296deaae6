"""“Performance Measurements, Report 3” (Politecnico di Torino): its bound, figures and scripts."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pandas as pd

from netlimits.analysis import goodput
from netlimits.charts import Chart
from netlimits.reproduce import marks, published
from netlimits.reproduce.items import Item, Report, Slip
from netlimits.reproduce.rounding import ComputedFigure, chosen, exact, transcribed

LINK = "2.5G"
PEAKS = {1500: "turin-peak", 9000: "turin-jumbo-peak"}
"""MTU -> start of the ids of both tools' peaks."""


def bounds() -> pd.DataFrame:
    """Return the goodput bounds (Gbit/s) at both MTUs, and the peaks that the report states."""
    stated = published.statements()["value"]
    rows = []
    for mtu, start in PEAKS.items():
        bound = goodput.bound(mtu, LINK)
        stamped = goodput.bound(mtu, LINK, timestamps=True).goodput_bps / 1e9
        for tool in ("iperf3", "nttcp"):
            peak = stated[f"{start}-{tool}"]
            rows.append(
                {
                    "tool": tool,
                    "mtu": mtu,
                    "mss": bound.data_bytes,
                    "bound_gbps": bound.goodput_bps / 1e9,
                    "bound_timestamps_gbps": stamped,
                    "peak_gbps": peak,
                    "of_bound_pct": 100e9 * peak / bound.goodput_bps,
                }
            )
    return pd.DataFrame(rows)


def _formula_figures() -> Mapping[str, ComputedFigure]:
    """Return the formula's figures for the MTUs and the link rate that the report states."""
    stated = published.statements()["value"]
    link = f"{stated['turin-link']:g}G"
    standard, jumbo = (
        goodput.bound(int(stated[key]), link) for key in ("turin-mtu", "turin-jumbo-mtu")
    )
    sizes = standard.frame().set_index("header")["bytes"]
    ethernet = standard.header_bytes - sizes["TCP"] - sizes["IPv4"]
    ours = {
        "turin-tcp-header": sizes["TCP"],
        "turin-ip-header": sizes["IPv4"],
        "turin-ethernet-overhead": ethernet,
    }
    formulas = {
        "turin-mss": standard.data_bytes,
        "turin-bound": goodput.turin(standard.data_bytes, link) / 1e9,
        "turin-jumbo-mss": jumbo.data_bytes,
        "turin-jumbo-bound": goodput.turin(jumbo.data_bytes, link) / 1e9,
    }
    return {
        **{key: exact(value) for key, value in formulas.items()},
        **{key: transcribed(value) for key, value in ours.items()},
    }


def _samples(tool: str) -> Mapping[str, ComputedFigure]:
    replicates = chosen("turin-lengths", {"tool": tool})["replicates"]
    return {f"turin-samples-{tool}": transcribed(replicates.iloc[0])}


def _lengths(tool: str) -> Mapping[str, pd.DataFrame]:
    rows = chosen("turin-lengths", {"tool": tool})
    return {f"turin-lengths-{tool}": published.printed("turin-lengths").loc[rows.index]}


FIGURES = (
    ("1a", "Goodput Nttcp vs Iperf3: Comparison - TSO off", "tool-comparison"),
    ("1b", "%CPU Nttcp vs Iperf3: Comparison - TSO off", "tool-comparison"),
    ("2", "Sample variance - TSO off", "tool-comparison"),
    ("3", "Processes generated", "tool-comparison"),
    ("4a", "Nttcp, TSO on and off: goodput", "tso"),
    ("4b", "Nttcp, TSO on and off: CPU consumption", "tso"),
    ("5", "Goodput - TSO Off, jumbo frames and none", "jumbo"),
    ("6", "CPU consumption - TSO Off, jumbo frames and none", "jumbo"),
    ("7a", "Iperf3 under stress: Goodput", "cpu-stress"),
    ("7b", "Iperf3 under stress: CPU Consumption", "cpu-stress"),
    ("8a", "Nttcp under stress: Goodput", "cpu-stress"),
    ("8b", "Nttcp under stress: CPU Consumption", "cpu-stress"),
)
"""Number, caption and experiment."""

NO_DATA = "the report gives no data of this curve; drawn: the lab's"


def _frame(number: str, caption: str) -> Callable[[], Mapping[str, Chart]]:
    """Return a function that draws the lab's curves with what is printed of the figure."""
    title = f"Figure {number}: {caption}"
    return lambda: {f"turin-figure-{number}": marks.turin(number, title)}


ITEMS = (
    Item(
        "goodput-formula",
        "formula",
        "max goodput, formula (1)",
        "tool-comparison",
        remark="computed; needs no data",
        tables=lambda: {"turin-bounds": bounds()},
        figures=_formula_figures,
    ),
    *(
        Item(
            f"figure-{number}",
            "chart",
            f"Figure {number}: {caption}",
            experiment,
            remark=NO_DATA,
            charts=_frame(number, caption),
        )
        for number, caption, experiment in FIGURES
    ),
    *(
        Item(
            f"appendix-{letter.lower()}",
            "script",
            f"{letter} {tool.capitalize()} script",
            "tool-comparison",
            ("turin-lengths",),
            "its lengths, counts and repetitions",
            tables=lambda tool=tool: _lengths(tool),  # type: ignore[misc]
            figures=lambda tool=tool: _samples(tool),  # type: ignore[misc]
        )
        for letter, tool in (("A", "iperf3"), ("B", "nttcp"))
    ),
)

CURVE = "read off a curve"
REPORT = Report(
    "turin",
    "Performance Measurements, Report 3",
    ITEMS,
    no_data={
        "turin-peak-iperf3": ("figure-1a", CURVE),
        "turin-peak-nttcp": ("figure-1a", CURVE),
        "turin-saturation-length": ("figure-1a", CURVE),
        "turin-variance-iperf3": ("figure-2", "minima and maxima are not printed"),
        "turin-variance-nttcp": ("figure-2", "minima and maxima are not printed"),
        "turin-nttcp-over-iperf3": ("figure-1a", CURVE),
        "turin-jumbo-peak-iperf3": ("figure-5", CURVE),
        "turin-jumbo-peak-nttcp": ("figure-5", CURVE),
        "turin-stress-peak": ("figure-7a", CURVE),
        "turin-stress-cpu-peak-length": ("figure-7b", CURVE),
        "turin-stress-nttcp-length": ("figure-8b", CURVE),
        "turin-cpu-nttcp-over-iperf3": ("figure-1b", CURVE),
        "turin-cpu-small-over-large": ("figure-1b", CURVE),
        "turin-tso-goodput-gain": ("figure-4a", CURVE),
        "turin-tso-cpu": ("figure-4b", CURVE),
        "turin-cpu-large-lengths": ("figure-1b", CURVE),
        "turin-jumbo-cpu": ("figure-6", CURVE),
        "turin-jumbo-cpu-saturated": ("figure-6", CURVE),
        "turin-jumbo-slope": ("figure-5", CURVE),
        "turin-jumbo-saturation": ("figure-5", CURVE),
        "turin-stress-goodput": ("figure-7a", CURVE),
        "turin-stress-cpu-iperf3": ("figure-7b", CURVE),
        "turin-nttcp-cpu": ("figure-8b", CURVE),
        "turin-stress-nttcp-saturation": ("figure-8a", CURVE),
    },
    conditions=frozenset(
        {
            "turin-link",
            "turin-mtu",
            "turin-seconds",
            "turin-jumbo-mtu",
            "turin-cores",
            "turin-stress-workers",
        }
    ),
    slips={"turin-jumbo-mss": Slip(8960, "9000 − 40 = 8960; the bound is 2.478 for both")},
)
