"""The six percentile charts of “A Brief Look at Network Performance Limiters”.

The report draws them from "a second, much larger set of results" that it does not give. They are
drawn here from the runs that it prints, and each item says so. TCP with offloads off has no
printed runs, only its means in the summary; the experiment measures it.
"""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from netlimits import charts
from netlimits.charts import Chart
from netlimits.reproduce.items import Item
from netlimits.reproduce.rounding import chosen

OF = {
    "throughput": ("throughput", "Single-Stream Throughput"),
    "send-sd": ("local_sd", "Single-Stream Send Service Demand"),
    "receive-sd": ("remote_sd", "Single-Stream Receive Service Demand"),
}
"""Part of the item's name -> metric, and the report's heading."""


def by_size() -> list[Item]:
    """UDP, 1024 versus 8192 bytes per send: three charts of the 20 printed runs."""
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
    """UDP versus TCP with stateless offloads: three charts of the 40 printed runs."""
    return [
        _item(
            f"transport-{short}-percentiles",
            heading,
            of,
            "stateless-offloads",
            ("udp-send-size", "tcp-mss"),
            "of the 40 printed runs of UDP and TCP on; of TCP off the report gives means only",
        )
        for short, (of, heading) in OF.items()
    ]


def _item(
    name: str, heading: str, of: str, experiment: str, data: tuple[str, ...], remark: str
) -> Item:
    def draw() -> Mapping[str, Chart]:
        title = f"{heading}: {'UDP, TCP with Offloads On' if len(data) > 1 else 'UDP'}"
        return {name: charts.percentiles(_runs(data), of, ["transport", "send_size"], title=title)}

    return Item(name, "chart", heading, experiment, data, remark, charts=draw)


TRANSPORTS = {"udp-send-size": "UDP", "tcp-mss": "TCP on"}
"""Table -> the report's word for its transport."""


def _runs(names: tuple[str, ...]) -> pd.DataFrame:
    """The printed runs of the tables, each with its transport."""
    parts = [chosen(name).assign(transport=TRANSPORTS[name]) for name in names]
    return pd.concat(parts, ignore_index=True)
