"""The six percentile charts of “A Brief Look at Network Performance Limiters”.

The report draws the charts from a larger set of results, which it does not give. This module draws
them from the printed runs. The report prints no runs of TCP with offloads off, so the charts show
the Summary's means instead.
"""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from netlimits import charts
from netlimits.charts import Chart
from netlimits.charts._colours import KNOWN
from netlimits.metrics import metric
from netlimits.reproduce import marks, published
from netlimits.reproduce.items import Agreement, Item
from netlimits.reproduce.rounding import published_rows

OF = {
    "throughput": ("throughput", "Single-Stream Throughput"),
    "send-sd": ("local_sd", "Single-Stream Send Service Demand"),
    "receive-sd": ("remote_sd", "Single-Stream Receive Service Demand"),
}
"""Part of an item's name -> (metric, the report's heading of the chart)."""


def by_size() -> list[Item]:
    """Return three charts of the 20 printed UDP runs, with 1024 and 8192 bytes per send."""
    return [
        _item(
            f"udp-{short}-percentiles",
            f"{heading} Vs Send/Packet Size",
            of,
            "udp-send-size",
            ("udp-send-size",),
            "of the 20 printed runs; the report's larger set is not given",
        )
        for short, (of, heading) in OF.items()
    ]


def by_transport() -> list[Item]:
    """Return three charts of the 40 printed runs of UDP and of TCP with stateless offloads."""
    return [
        _item(
            f"transport-{short}-percentiles",
            heading,
            of,
            "stateless-offloads",
            ("udp-send-size", "tcp-mss"),
            "of the 40 printed runs of UDP and TCP on; dashed: TCP off, of which the report gives "
            "means only, from another set of runs",
        )
        for short, (of, heading) in OF.items()
    ]


def _item(
    name: str, heading: str, of: str, experiment: str, data: tuple[str, ...], remark: str
) -> Item:
    def draw() -> Mapping[str, Chart]:
        title = f"{heading}: {'UDP and TCP' if len(data) > 1 else 'UDP'}"
        chart = charts.percentiles(_runs(data), of, ["transport", "send_size"], title=title)
        if len(data) > 1:
            marks.levels(chart, _off(of), KNOWN["tcp off"])
            marks.note(chart, f"TCP off: means of the Summary, {OTHER_SET}:\n{_example()}")
        return {name: chart}

    def checks() -> list[Agreement]:
        return _sets(of) if len(data) > 1 else []

    return Item(name, "chart", heading, experiment, data, remark, charts=draw, checks=checks)


OTHER_SET = "which are from another set of runs than those printed"


def _off(of: str) -> list[tuple[str, float]]:
    """Return (label, mean) for each send size, from the Summary's rows with offloads off."""
    rows = published_rows("summary", {"transport": "TCP off"})
    column = metric(of).column
    texts = published.printed("summary").loc[rows.index, column]
    return [
        (f"TCP off, {size}: mean {text}", float(text))
        for size, text in zip(rows["send_size"], texts, strict=True)
    ]


def _sets(of: str) -> list[Agreement]:
    """Compare the Summary's means, except TCP with offloads off, with those of the printed runs."""
    column, unit, texts = metric(of).column, metric(of).unit, published.printed("summary")
    runs = _runs(tuple(TRANSPORTS))
    agreements = []
    rows = published_rows("summary", {"transport": tuple(TRANSPORTS.values())})
    for transport, size, text in zip(
        rows["transport"], rows["send_size"], texts.loc[rows.index, column], strict=True
    ):
        same = (runs["transport"] == transport) & (runs["send_size"] == size)
        agreements.append(
            Agreement(
                f"{metric(of).title}, {transport}, {size} bytes: mean in the Summary",
                f"{text} {unit}",
                f"{runs.loc[same, column].mean():,.{DIGITS[of]}f} {unit} over the printed runs",
                None,
                "from another set of runs",
                kind="stated",
            )
        )
    return agreements


DIGITS = {"throughput": 0, "local_sd": 2, "remote_sd": 2}


def _example() -> str:
    """Return a sentence with one difference between the Summary and the printed runs."""
    row = published_rows("summary", {"transport": "UDP", "send_size": 8192})[
        "throughput_mbps"
    ].iloc[0]
    runs = _runs(("udp-send-size",))
    mean = runs.loc[runs["send_size"] == 8192, "throughput_mbps"].mean()
    return f"UDP of 8192 bytes has {row:,.0f} Mbit/s in the Summary and {mean:,.0f} in these runs"


def sets_note() -> str:
    """Return a note which says that the Summary's means come from other runs."""
    return f"The Summary's means are from another set of runs than those printed: {_example()}."


TRANSPORTS = {"udp-send-size": "UDP", "tcp-mss": "TCP on"}
"""Name of a table -> the Summary's name for its transport."""


def _runs(names: tuple[str, ...]) -> pd.DataFrame:
    """Return the printed runs of the tables, each with its transport."""
    parts = [published_rows(name).assign(transport=TRANSPORTS[name]) for name in names]
    return pd.concat(parts, ignore_index=True)
