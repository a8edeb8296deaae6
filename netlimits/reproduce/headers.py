"""“Headers and Data and Bitrates! And MTUs too! Oh My!”: a formula, its chart, and egress caps."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from netlimits import charts, published
from netlimits.analysis import goodput
from netlimits.analysis.goodput import Bound, Limit
from netlimits.charts import Chart
from netlimits.reproduce.items import Check, Item, Report, Slip
from netlimits.reproduce.rounding import CameOut, exact

MTUS = tuple(sorted({*range(576, 9001, 8), 1460, 1500, 8896, 9000}))
CLOUD_MTU = 8896
MACHINES = ("32", "80")
"""vCPUs of the two n2-standard machines of the chart."""


def plain(mtu: int, link: str | float = "100G") -> Bound:
    """The bound of TCP with timestamps over IPv4 on plain Ethernet, the report's example."""
    return goodput.bound(mtu, link, timestamps=True)


def _ratio_tables() -> Mapping[str, pd.DataFrame]:
    curve = goodput.curve((1460, 1500, CLOUD_MTU, 9000), link="100G", timestamps=True)
    return {"data-over-headers": curve, "header-bytes": plain(1500).frame()}


def _ratio_charts() -> Mapping[str, Chart]:
    curve = goodput.curve(MTUS, timestamps=True)
    subtitle = '"Plain" Ethernet; TCP with timestamps over IPv4'
    return {"data-over-headers": charts.goodput(curve, subtitle=subtitle)}


def _header_figures() -> Mapping[str, CameOut]:
    """The bytes of the example, header by header, and the data that is left."""
    bound = plain(1500)
    sizes = bound.frame().set_index("header")["bytes"]
    stated = {
        "headers-payload-1500": bound.data_bytes,
        "headers-tcp-bytes": sizes["TCP"] + sizes["TCP timestamps"],
        "headers-ipv4-bytes": sizes["IPv4"],
        "headers-ethernet-bytes": sizes["Ethernet"],
        "headers-preamble-bytes": sizes["preamble"],
        "headers-sfd-bytes": sizes["start of frame delimiter"],
        "headers-fcs-bytes": sizes["frame check sequence"],
        "headers-gap-bytes": sizes["inter-packet gap"],
        "headers-mtu-cloud-default-less": bound.data_bytes - plain(1460).data_bytes,
    }
    return {key: exact(value) for key, value in stated.items()}


def _ratio_figures() -> Mapping[str, CameOut]:
    return {f"headers-ratio-{mtu}": exact(100 * plain(mtu).ratio) for mtu in (1500, 9000)}


def limit(vcpus: str, mtu: int) -> tuple[Bound, Limit]:
    """What the link under a machine can carry, and whether that or its egress cap binds."""
    stated = published.statements()["value"]
    bound = plain(mtu, f"{stated[f'headers-physical-{vcpus}']:g}G")
    return bound, goodput.limit(bound, f"{stated[f'headers-egress-cap-{vcpus}']:g}G")


def limits() -> pd.DataFrame:
    """What binds each machine at each MTU: the link's headers or the egress cap.

    Columns: `machine`, `mtu` (bytes), `link_gbps` (physical), `egress_cap_gbps`,
    `link_bound_gbps` (of user data on plain Ethernet), `limit_gbps`, `binds`.
    """
    rows = []
    for vcpus in MACHINES:
        for mtu in (1500, CLOUD_MTU):
            bound, found = limit(vcpus, mtu)
            rows.append(
                {
                    "machine": f"n2-standard-{vcpus}",
                    "mtu": mtu,
                    "link_gbps": bound.link_bps / 1e9,
                    "egress_cap_gbps": found.cap_bps / 1e9,
                    "link_bound_gbps": bound.goodput_bps / 1e9,
                    "limit_gbps": found.rate_bps / 1e9,
                    "binds": found.binds,
                }
            )
    return pd.DataFrame(rows)


def _cap_figures() -> Mapping[str, CameOut]:
    _, small = limit("32", 1500)
    return {
        "headers-naive-32": exact(plain(1500, small.cap_bps).goodput_bps / 1e9),
        "headers-throughput-32": exact(
            small.rate_bps / 1e9, f"computed limit: the {small.binds} binds"
        ),
        "headers-shortfall-80-low": exact(
            100 * (1 - plain(CLOUD_MTU).ratio),
            "what plain Ethernet's headers alone take; a cloud's take more",
        ),
    }


def _cap_checks() -> list[Check]:
    """Which limit binds, in the report's words."""
    said = (
        ("32", 1500, "egress cap", "room for the headers beside 50 Gbit/s of data"),
        ("80", 1500, "link", "no room for 100 Gbit/s of data and its headers"),
        ("80", CLOUD_MTU, "link", "a percent or three below the physical limit"),
    )
    found = []
    for vcpus, mtu, words, why in said:
        binds = limit(vcpus, mtu)[1].binds
        what = f"What binds n2-standard-{vcpus} at MTU {mtu}"
        found.append(Check(what, words, binds, binds == words, why))
    return found


ITEMS = (
    Item(
        "data-rate-formula",
        "formula",
        "MaxDataTransferRate",
        "mtu-aggregate",
        remark="computed; needs no data",
        figures=_header_figures,
    ),
    Item(
        "data-over-headers",
        "chart",
        "Data/(Data+Headers) vs. MTU",
        "mtu-aggregate",
        remark="computed; needs no data",
        tables=_ratio_tables,
        charts=_ratio_charts,
        figures=_ratio_figures,
    ),
    Item(
        "aggregate-throughput",
        "chart",
        "Aggregate netperf TCP_STREAM Throughput vs MTU",
        "mtu-aggregate",
        remark="the bars' heights are in the chart only; the limits that they meet are computed",
        tables=lambda: {"egress-limits": limits()},
        figures=_cap_figures,
        checks=_cap_checks,
    ),
)

REPORT = Report(
    "headers",
    "Headers and Data and Bitrates! And MTUs too! Oh My!",
    ITEMS,
    no_data={
        "headers-shortfall-80-high": (
            "aggregate-throughput",
            "measured; the cloud's own headers are not public",
        ),
    },
    conditions=frozenset(
        {
            "headers-ethernet-slowest",
            "headers-ethernet-fastest",
            "headers-mtu-standard",
            "headers-mtu-jumbo",
            "headers-mtu-cloud",
            "headers-mtu-cloud-default",
            "headers-egress-cap-32",
            "headers-egress-cap-80",
            "headers-physical-32",
            "headers-physical-80",
            "headers-window",
            "headers-sinks",
        }
    ),
    slips={
        "headers-payload-1500": Slip(1448, "1500 − 20 − 32 = 1448; the ratio is 94 % for both"),
    },
)
