"""The report “Data demonstrating the CPU overhead of ACKs”: three lists of runs and two traces."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pandas as pd

from netlimits import charts
from netlimits.analysis import acks, bursts, goodput
from netlimits.charts import Chart
from netlimits.charts.kinds.bursts import burst_histogram
from netlimits.charts.kinds.bursts import bursts as burst_chart
from netlimits.reproduce import published
from netlimits.reproduce.items import Agreement, Item, Report
from netlimits.reproduce.rounding import (
    ComputedFigure,
    exact,
    printed_figures,
    published_rows,
    transcribed,
    within_rounding,
)
from netlimits.reproduce.rows import service_demands

CPUS = 2
"""Number of the sender's CPUs (acks-cpus in `statements.csv`)."""

Where = Mapping[str, Any]

SD, PER_ACK = "local_sd_us_per_kib", "segments_per_ack"
OFF: Where = {"tso": "off"}
ON: Where = {"tso": "on", "tcp_tso_win_divisor": 8}
EACH: Where = {"tso": "on", "tcp_tso_win_divisor": 1}
LISTS = {"ack-overhead-tso-off": OFF, "ack-overhead-tso-on": ON, "ack-overhead-win-divisor-1": EACH}
TRACES = {"rr-trace-deferred-acks": 1, "rr-trace-ack-every-other": 2}
"""Name of a trace -> number of the trace's first transaction."""


def _list_tables(name: str) -> Mapping[str, pd.DataFrame]:
    frame = published_rows("ack-overhead", LISTS[name])
    tables = {name: published.printed("ack-overhead").loc[frame.index]}
    return tables | ({f"{name}-change": acks.acks(frame)} if len(frame) > 1 else {})


SERIES = {
    "TSO off": OFF,
    "TSO on, tcp_tso_win_divisor 8": ON,
    "TSO on, tcp_tso_win_divisor 1": EACH,
}


def _chart() -> Mapping[str, Chart]:
    parts = [
        published_rows("ack-overhead", where).assign(sending=name) for name, where in SERIES.items()
    ]
    return {"ack-overhead": charts.acks(pd.concat(parts), series="sending")}


def _changes(where: Where, segments: int, tso: str) -> dict[str, ComputedFigure]:
    """Return the drop of the service demand from 2 to `segments` segments per ACK, in %.

    The result also has the rise from `segments` to 2 segments per ACK, in %.
    """

    def figures(frame: pd.DataFrame) -> dict[str, float]:
        row = acks.acks(frame).iloc[-1]
        return {
            f"acks-drop-{tso}-{segments}": -row["change_pct"],
            f"acks-rise-{tso}-{segments}": row["reverse_pct"],
        }

    where = {**where, PER_ACK: (2, segments)}
    return within_rounding("ack-overhead", (SD,), PER_ACK, figures, where)


def _off_figures() -> Mapping[str, ComputedFigure]:
    frame = published_rows("ack-overhead", OFF)
    demand = acks.acks(frame).set_index(PER_ACK)[SD]
    run = frame.iloc[0]
    best = float(published_rows("ack-overhead")["throughput_mbps"].max()) / 1e3
    low, high = (
        best / goodput.bound(1500, "1G", timestamps=stamped).ratio for stamped in (False, True)
    )
    return {
        **_changes(OFF, 8, "tso-off"),
        **_changes(OFF, 16, "tso-off"),
        **{f"acks-sd-tso-off-{n}": transcribed(demand[n]) for n in (2, 8, 16)},
        "acks-link": ComputedFigure(
            high,
            low,
            high,
            "highest throughput over Data/(Data+Headers), with timestamps to without: the lists "
            "do not say, the trace has none",
        ),
        "acks-remote-rcvbuf": transcribed(run["remote_rcvbuf_bytes"] / 1024),
        "acks-local-sndbuf-reported": transcribed(run["local_sndbuf_bytes"] / 1024),
        "acks-send-size": transcribed(run["send_size"] / 1024),
        "acks-seconds": transcribed(run["elapsed_s"]),
    }


def _on_figures() -> Mapping[str, ComputedFigure]:
    off, on = _changes(OFF, 8, "tso-off"), _changes(ON, 8, "tso-on")
    less, more = off["acks-drop-tso-off-8"], on["acks-drop-tso-on-8"]
    return {
        **on,
        **_changes(ON, 17, "tso-on"),
        "acks-tso-delta-points": ComputedFigure(
            more.value - less.value, more.low - less.high, more.high - less.low
        ),
        "acks-tso-delta-relative": ComputedFigure(
            100 * (more.value / less.value - 1),
            100 * (more.low / less.high - 1),
            100 * (more.high / less.low - 1),
        ),
        "acks-win-divisor-default": transcribed(
            published_rows("ack-overhead", ON)["tcp_tso_win_divisor"].iloc[0]
        ),
    }


def _on_checks() -> list[Agreement]:
    """Check the service demands, and the row whose throughput the report calls an anomaly.

    The row agrees if it is slower than all runs without TSO.
    """
    least = float(published_rows("ack-overhead", OFF)["throughput_mbps"].min())
    rates = published_rows("ack-overhead", ON).set_index(PER_ACK)["throughput_mbps"]
    named = int(printed_figures()["acks-anomaly-segments"][1].value)
    slower = [f"{n}" for n in rates.index[rates < least]]
    return [
        service_demands("ack-overhead", "local", CPUS, ON),
        Agreement(
            f"TSO on: throughput at {named} segments per ACK, against the slowest run without TSO",
            "a throughput anomaly",
            f"{rates[named]:.2f} against {least:.2f} Mbit/s",
            bool(rates[named] < least),
            f"as slow as that: {', '.join(slower)}; the first of them is not {named}",
            "acks-anomaly-segments",
        ),
    ]


def _one_figures() -> Mapping[str, ComputedFigure]:
    only = published_rows("ack-overhead", EACH)["tcp_tso_win_divisor"].iloc[0]
    return {"acks-win-divisor-one": transcribed(only)}


def _divisor_checks() -> list[Agreement]:
    here, default = (
        float(published_rows("ack-overhead", {**where, PER_ACK: 2})[SD].iloc[0])
        for where in (EACH, ON)
    )
    return [
        service_demands("ack-overhead", "local", CPUS, EACH),
        Agreement(
            "Service demand with tcp_tso_win_divisor 1 against its default, 2 segments per ACK",
            "lower",
            f"{here:g} against {default:g} µs/KiB",
            here < default,
        ),
    ]


def _bursts(name: str) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """Return a trace's packets, its bursts of segments and its bursts of ACKs."""
    packets = bursts.trace(published.path(name))
    first = TRACES[name]
    return (
        packets,
        bursts.bursts(packets, first_transaction=first),
        bursts.ack_bursts(packets, first_transaction=first),
    )


def _trace_tables(name: str) -> Mapping[str, pd.DataFrame]:
    packets, segments, answers = _bursts(name)
    return {
        name: packets,
        f"{name}-bursts": segments,
        f"{name}-ack-bursts": answers,
        f"{name}-burst-sizes": bursts.burst_sizes(segments),
    }


def _trace_charts(name: str) -> Mapping[str, Chart]:
    packets, segments, _ = _bursts(name)
    about = published.traces()[name].partition(", ")[2]  # such as "receiver defers ACKs"
    return {
        f"{name}-bursts": burst_chart(
            packets, first_transaction=TRACES[name], title=f"Bursts of a response: {about}"
        ),
        f"{name}-burst-sizes": burst_histogram(segments, title=f"Burst sizes, {about}"),
    }


def _deferred_figures() -> Mapping[str, ComputedFigure]:
    _, segments, _ = _bursts("rr-trace-deferred-acks")
    return {
        "acks-control-port": transcribed(_first_port("rr-trace-deferred-acks")),
        "acks-data-port-deferred": transcribed(segments["source_port"].iloc[0]),
        "acks-response-size": exact(segments.groupby("transaction")["bytes"].sum().median() / 1024),
        **_first_bursts("acks-burst-deferred", segments, (2, 3, 4)),
    }


def _first_port(name: str) -> int:
    """Return netserver's port in a trace: the destination port of the first packet."""
    first = published.path(name).read_text(encoding="utf-8").partition("\n")[0]
    return int(first.partition(" > ")[2].partition(":")[0].rpartition(".")[2])


def _every_other_figures() -> Mapping[str, ComputedFigure]:
    _, segments, answers = _bursts("rr-trace-ack-every-other")
    largest = answers.groupby("transaction")["acks"].max()
    rule = "the largest burst of ACKs in that transaction"
    return _first_bursts("acks-burst-every-other", segments, (2, 3)) | {
        f"acks-ack-burst-every-other-{n}": exact(largest[n], rule) for n in (2, 3)
    }


def _first_bursts(
    start: str, segments: pd.DataFrame, transactions: tuple[int, ...]
) -> dict[str, ComputedFigure]:
    table = bursts.first_of_transactions(segments).set_index("transaction")["segments"]
    return {f"{start}-{n}": exact(table[n]) for n in transactions}


def _trace(
    name: str, heading: str, remark: str, figures: Callable[[], Mapping[str, ComputedFigure]]
) -> Item:
    return Item(
        name,
        "trace",
        heading,
        "rr-bursts",
        (name,),
        remark,
        tables=lambda: _trace_tables(name),
        charts=lambda: _trace_charts(name),
        figures=figures,
    )


ITEMS = (
    Item(
        "ack-overhead-tso-off",
        "table",
        "TSO disabled, netperf 128x32 TCP_STREAM",
        "ack-overhead",
        ("ack-overhead",),
        "31 rows, 2 to 32 segments per ACK; the chart is ours",
        tables=lambda: _list_tables("ack-overhead-tso-off"),
        charts=_chart,
        figures=_off_figures,
        checks=lambda: [service_demands("ack-overhead", "local", CPUS, OFF)],
    ),
    Item(
        "ack-overhead-tso-on",
        "table",
        "TSO enabled and tcp_tso_win_divisor at its default of 8",
        "ack-overhead",
        ("ack-overhead",),
        "31 rows, 2 to 32 segments per ACK",
        tables=lambda: _list_tables("ack-overhead-tso-on"),
        figures=_on_figures,
        checks=_on_checks,
    ),
    Item(
        "ack-overhead-win-divisor-1",
        "table",
        "set tcp_tso_win_divisor to 1",
        "ack-overhead",
        ("ack-overhead",),
        "one row, 2 segments per ACK",
        tables=lambda: _list_tables("ack-overhead-win-divisor-1"),
        figures=_one_figures,
        checks=_divisor_checks,
    ),
    _trace(
        "rr-trace-deferred-acks",
        "tcpdump trace of a netperf TCP_RR test",
        "transactions 1 to 4; the charts are ours",
        _deferred_figures,
    ),
    _trace(
        "rr-trace-ack-every-other",
        "when the receiver is doing ack-every-other",
        "transactions 2 and 3; the charts are ours",
        _every_other_figures,
    ),
)

REPORT = Report(
    "acks",
    "Data demonstrating the CPU overhead of ACKs",
    ITEMS,
)
