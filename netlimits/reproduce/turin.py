"""The Turin report: “Performance Measurements, Report 3” (Politecnico di Torino)."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pandas as pd

from netlimits.analysis import goodput
from netlimits.charts import Chart
from netlimits.reproduce import marks, published
from netlimits.reproduce.items import Item, Report, Slip
from netlimits.reproduce.rounding import ComputedFigure, exact, published_rows, transcribed

LINK = "2.5G"
PEAKS = {1500: "turin-peak", 9000: "turin-jumbo-peak"}
"""MTU -> prefix of the statement ids for the peaks of both tools."""


def bounds() -> pd.DataFrame:
    """Return the goodput bounds at both MTUs and the peaks that the report states, in Gbit/s."""
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
    """Return the figures of the goodput formula for the report's MTUs and link rate."""
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
        "turin-bound": standard.goodput_bps / 1e9,
        "turin-jumbo-mss": jumbo.data_bytes,
        "turin-jumbo-bound": jumbo.goodput_bps / 1e9,
    }
    return {
        **{key: exact(value) for key, value in formulas.items()},
        **{key: transcribed(value) for key, value in ours.items()},
    }


def _samples(tool: str) -> Mapping[str, ComputedFigure]:
    replicates = published_rows("turin-lengths", {"tool": tool})["replicates"]
    return {f"turin-samples-{tool}": transcribed(replicates.iloc[0])}


def _lengths(tool: str) -> Mapping[str, pd.DataFrame]:
    rows = published_rows("turin-lengths", {"tool": tool})
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
"""(Number, caption, experiment) of each figure."""

NO_DATA = "the report gives no data of this curve; drawn: the lab's"


def _figure(number: str, caption: str) -> Callable[[], Mapping[str, Chart]]:
    """Return a function that draws a figure of the report with `marks.turin`."""
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
            charts=_figure(number, caption),
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

CURVE, RANGES = "read off a curve", "minima and maxima are not printed"
CURVES = {
    "1a": ("peak-iperf3", "peak-nttcp", "saturation-length", "nttcp-over-iperf3"),
    "5": ("jumbo-peak-iperf3", "jumbo-peak-nttcp", "jumbo-slope", "jumbo-saturation"),
    "7a": ("stress-peak", "stress-goodput"),
    "7b": ("stress-cpu-peak-length", "stress-cpu-iperf3"),
    "8b": ("stress-nttcp-length", "nttcp-cpu"),
    "1b": ("cpu-nttcp-over-iperf3", "cpu-small-over-large", "cpu-large-lengths"),
    "4a": ("tso-goodput-gain",),
    "4b": ("tso-cpu",),
    "6": ("jumbo-cpu", "jumbo-cpu-saturated"),
    "8a": ("stress-nttcp-saturation",),
}
"""Figure -> ids, without `turin-`, of the statements that the report reads off the figure."""
REPORT = Report(
    "turin",
    "Performance Measurements, Report 3",
    ITEMS,
    no_data={
        f"turin-{name}": (f"figure-{n}", CURVE) for n, names in CURVES.items() for name in names
    }
    | {f"turin-variance-{tool}": ("figure-2", RANGES) for tool in ("iperf3", "nttcp")},
    slips={"turin-jumbo-mss": Slip(8960, "9000 − 40 = 8960; the bound is 2.478 for both")},
)
