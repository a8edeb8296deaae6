"""The report “Headers and Data and Bitrates! And MTUs too! Oh My!”: a formula and egress caps."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from netlimits import charts
from netlimits.analysis import goodput
from netlimits.analysis.goodput import Bound, Limit
from netlimits.charts import Chart
from netlimits.reproduce import marks, published
from netlimits.reproduce.items import Agreement, Item, Report, Slip
from netlimits.reproduce.rounding import ComputedFigure, exact, printed_figures, transcribed

MTUS = tuple(sorted({*range(576, 9001, 8), 1460, 1500, 8896, 9000}))
CLOUD_MTU = 8896
MACHINES = ("32", "80")
"""Numbers of vCPUs of the two n2-standard machines in the chart."""


def plain(mtu: int, link: str | float = "100G") -> Bound:
    """Return the goodput bound of the report's example.

    The example is TCP with timestamps over IPv4 on plain Ethernet.
    """
    return goodput.bound(mtu, link, timestamps=True)


def _ratio_tables() -> Mapping[str, pd.DataFrame]:
    curve = goodput.curve((1460, 1500, CLOUD_MTU, 9000), link="100G", timestamps=True)
    return {"data-over-headers": curve, "header-bytes": plain(1500).frame()}


def _ratio_charts() -> Mapping[str, Chart]:
    curve = goodput.curve(MTUS, timestamps=True)
    subtitle = '"Plain" Ethernet; TCP with timestamps over IPv4'
    return {"data-over-headers": charts.goodput(curve, subtitle=subtitle)}


def _mtus() -> Mapping[str, int]:
    """Return the report's MTUs by name: standard, jumbo, cloud and cloud-default."""
    stated = published.statements()["value"].filter(like="headers-mtu-")
    return {str(key).removeprefix("headers-mtu-"): int(value) for key, value in stated.items()}


def _header_figures() -> Mapping[str, ComputedFigure]:
    """Return the bytes of data in the example's packets, and the sizes of their headers."""
    mtu = _mtus()
    bound = plain(mtu["standard"])
    sizes = bound.frame().set_index("header")["bytes"]
    ours = {
        "headers-tcp-bytes": sizes["TCP"] + sizes["TCP timestamps"],
        "headers-ipv4-bytes": sizes["IPv4"],
        "headers-ethernet-bytes": sizes["Ethernet"],
        "headers-preamble-bytes": sizes["preamble"],
        "headers-sfd-bytes": sizes["start of frame delimiter"],
        "headers-fcs-bytes": sizes["frame check sequence"],
        "headers-gap-bytes": sizes["inter-packet gap"],
    }
    return {
        "headers-payload-1500": exact(bound.data_bytes),
        "headers-mtu-cloud-default-less": exact(
            bound.data_bytes - plain(mtu["cloud-default"]).data_bytes
        ),
        **{key: transcribed(value) for key, value in ours.items()},
    }


def _ratio_figures() -> Mapping[str, ComputedFigure]:
    mtus = _mtus()
    both = {1500: mtus["standard"], 9000: mtus["jumbo"]}
    return {f"headers-ratio-{key}": exact(100 * plain(mtu).ratio) for key, mtu in both.items()}


def limit(vcpus: str, mtu: int) -> tuple[Bound, Limit]:
    """Return the goodput bound of a machine's link, and the limit: this bound or the egress cap."""
    stated = published.statements()["value"]
    bound = plain(mtu, f"{stated[f'headers-physical-{vcpus}']:g}G")
    return bound, goodput.limit(bound, f"{stated[f'headers-egress-cap-{vcpus}']:g}G")


def limits() -> pd.DataFrame:
    """Return the limit of each machine at each MTU: the link's goodput bound or the egress cap."""
    rows = []
    for vcpus in MACHINES:
        for mtu in (1500, CLOUD_MTU):
            bound, binding = limit(vcpus, mtu)
            rows.append(
                {
                    "machine": f"n2-standard-{vcpus}",
                    "mtu": mtu,
                    "link_gbps": bound.link_bps / 1e9,
                    "egress_cap_gbps": binding.cap_bps / 1e9,
                    "link_bound_gbps": bound.goodput_bps / 1e9,
                    "limit_gbps": binding.rate_bps / 1e9,
                    "binds": binding.binds,
                }
            )
    return pd.DataFrame(rows)


def _cap_figures() -> Mapping[str, ComputedFigure]:
    _, small = limit("32", 1500)
    share = plain(_mtus()["standard"], small.cap_bps)
    return {"headers-naive-32": exact(share.goodput_bps / 1e9)}


def _cap_checks() -> list[Agreement]:
    """Check that the limit that applies (link or egress cap) is the limit that the report names."""
    statements = (
        ("32", 1500, "egress cap", "room for the headers beside 50 Gbit/s of data"),
        ("80", 1500, "link", "no room for 100 Gbit/s of data and its headers"),
        ("80", CLOUD_MTU, "link", "a percent or three below the physical limit"),
    )
    agreements = []
    for vcpus, mtu, words, why in statements:
        binds = limit(vcpus, mtu)[1].binds
        what = f"What binds n2-standard-{vcpus} at MTU {mtu}"
        agreements.append(Agreement(what, words, binds, binds == words, why))
    return [*agreements, *_measured()]


def _measured() -> list[Agreement]:
    """Compare the computed bounds with the throughput that the report states without data."""
    figures = {name: printed for name, (_, printed) in printed_figures().items()}
    link, jumbo = plain(1500), plain(CLOUD_MTU)
    least = 100 * (1 - jumbo.ratio)
    return [
        Agreement(
            "n2-standard-32 at MTU 1500",
            figures["headers-throughput-32"].written,
            f"the link's bound is {link.goodput_bps / 1e9:.2f} Gbit/s",
            None,
            "measured; the bar's height is in the chart only; mtu-aggregate measures it",
            "headers-throughput-32",
            "stated",
        ),
        *(
            Agreement(
                f"n2-standard-80 at MTU 8896, below the physical limit by, {end} end",
                figures[f"headers-shortfall-80-{which}"].written,
                f"plain Ethernet's headers take {least:.2f} %",
                None,
                "measured; the cloud's own headers are not public; mtu-aggregate measures it",
                f"headers-shortfall-80-{which}",
                "stated",
            )
            for end, which in (("lower", "low"), ("upper", "high"))
        ),
    ]


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
        remark="the bars' heights are in the chart only: drawn are the limits that they meet, "
        "computed, and the report's words of them",
        tables=lambda: {"egress-limits": limits()},
        charts=lambda: {"aggregate-throughput": marks.aggregate(limits())},
        figures=_cap_figures,
        checks=_cap_checks,
    ),
)

REPORT = Report(
    "headers",
    "Headers and Data and Bitrates! And MTUs too! Oh My!",
    ITEMS,
    slips={
        "headers-payload-1500": Slip(1448, "1500 − 20 − 32 = 1448; the ratio is 94 % for both"),
    },
)
