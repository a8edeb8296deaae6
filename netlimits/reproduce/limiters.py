"""The report “A Brief Look at Network Performance Limiters”: tables, charts and scripts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pandas as pd

from netlimits import charts
from netlimits.analysis import cost, pacing, packet_rate, spread
from netlimits.analysis.headers import BYTES
from netlimits.analysis.summary import means, summary
from netlimits.charts import Chart
from netlimits.reproduce import marks, percentile_charts, published, sentences
from netlimits.reproduce.items import Agreement, Item, Report, Slip
from netlimits.reproduce.rounding import (
    ComputedFigure,
    exact,
    improvement_id,
    published_rows,
    transcribed,
    within_rounding,
)
from netlimits.reproduce.rows import arrived, sent, service_demands

SUMMARIZED = ("throughput", "local_sd", "remote_sd")
SIZES = "8192 over 1024"
CPUS = 48
"""Number of vCPUs of an n2-standard-48 (limiters-vcpus in `statements.csv`)."""

RATE, SENT = "throughput_mbps", "local_send_throughput_mbps"
LOCAL, REMOTE = "local_sd_us_per_kib", "remote_sd_us_per_kib"
PEAK = "local_cpu_peak_pct"
ROUNDED = (RATE, SENT, LOCAL, REMOTE, PEAK)


# --- Summary


def _summary_tables() -> Mapping[str, pd.DataFrame]:
    table = summary(published_rows("summary"), SUMMARIZED, "send_size", "transport", SIZES)
    table.attrs["notes"] = (
        "last digits of improvements may differ from the report, since they are ratios of rounded "
        "means; each cell is one printed mean, hence 1 run: the report gives neither number nor "
        "variance of its runs",
    )
    return {"summary": table}


def _improvements() -> Mapping[str, ComputedFigure]:
    """Return the Summary's nine improvements and the ratio of the send sizes, by statement id."""

    def ratios(frame: pd.DataFrame) -> dict[str, float]:
        table = summary(frame, SUMMARIZED, "send_size", "transport", SIZES)
        improvements = table[table["statistic"] == "improvement"]
        return {
            improvement_id(str(row["metric"]), str(row["transport"])): float(row["value"])
            for row in improvements.to_dict("records")
        }

    sizes = published_rows("summary")["send_size"]
    return within_rounding("summary", ROUNDED, "send_size", ratios) | {
        "limiters-size-ratio": exact(sizes.max() / sizes.min())
    }


# --- the UDP_STREAM table


def _udp_tables() -> Mapping[str, pd.DataFrame]:
    frame = published_rows("udp-send-size")
    return {
        "udp-send-size": published.printed("udp-send-size"),
        "udp-send-size-summary": summary(
            frame, (*SUMMARIZED, "local_send_throughput"), "send_size", improvement=SIZES
        ),
        "udp-send-size-cost": cost.cost(frame, ("local_sd", "remote_sd", cost.TIME_PER_SEND)),
    }


def _udp_charts() -> Mapping[str, Chart]:
    title = "The cost of a UDP packet and of its bytes"
    return {"udp-send-size-cost": charts.cost(published_rows("udp-send-size"), title=title)}


def _udp_figures() -> Mapping[str, ComputedFigure]:
    def small(frame: pd.DataFrame) -> dict[str, float]:
        table = means(summary(frame, ("throughput", "local_sd"), "send_size"))
        mean = table.set_index("metric")["value"]
        remote = spread.spread(frame, "remote_sd")
        return {
            "limiters-udp-1024-throughput": mean[RATE] / 1e3,
            "limiters-udp-1024-local-sd": mean[LOCAL],
            "limiters-udp-1024-remote-sd-low": remote["min"].iloc[0],
            "limiters-udp-1024-remote-sd-high": remote["max"].iloc[0],
            "limiters-udp-1024-local-cpu-peak": spread.spread(frame, PEAK)["min"].iloc[0],
        }

    def large(frame: pd.DataFrame) -> dict[str, float]:
        least = spread.spread(frame, "local_send_throughput")["min"].iloc[0]
        return {"limiters-udp-8192-throughput": least / 1e3}

    name, by = "udp-send-size", "send_size"
    figures = within_rounding(name, ROUNDED, by, small, {by: 1024})
    figures |= within_rounding(name, ROUNDED, by, large, {by: 8192})
    key = "limiters-udp-8192-throughput"
    figures[key] = replace(figures[key], rule=_least_arrived(published_rows(name, {by: 8192})))
    return figures | {"limiters-runs-per-table": transcribed(len(published_rows(name)))}


def _least_arrived(large: pd.DataFrame) -> str:
    """Return the remark about the runs in which less data arrived than was sent."""
    lossy = large[large[RATE] < large[SENT]]
    return (
        f"of what was sent; in {len(lossy)} of {len(large)} runs less arrived, "
        f"down to {lossy[RATE].min() / 1e3:.1f}"
    )


# --- the TCP_STREAM table


def _tcp_tables() -> Mapping[str, pd.DataFrame]:
    table = summary(published_rows("tcp-mss"), SUMMARIZED, "transport_mss_bytes", improvement=SIZES)
    return {"tcp-mss": published.printed("tcp-mss"), "tcp-mss-summary": table}


# --- packets per second


def _pps_tables() -> Mapping[str, pd.DataFrame]:
    frame = published_rows("packets-per-second")
    return {
        "packets-per-second": published.printed("packets-per-second"),
        "packets-per-second-rates": packet_rate.packet_rate(frame),
        "packets-per-second-regimes": packet_rate.regimes(frame).frame(),
    }


def _pps_charts() -> Mapping[str, Chart]:
    chart = charts.packet_rate(published_rows("packets-per-second"))
    words = [(phrase, low, high) for _, phrase, low, high in WORDS]
    return {"packets-per-second": marks.sizes_in_words(chart, words)}


WORDS = (("regime", "roughly the same", 1, 64), ("close", "somewhat close", 128, 512))
"""(Name, what the report's text says of the numbers of send calls, smallest size, largest size)."""


def _pps_checks() -> list[Agreement]:
    """Compare the text's words with the differences between the numbers of send calls."""
    calls = published_rows("packets-per-second").set_index("send_size")["local_send_calls"]
    agreements = []
    for short, words, low, high in WORDS:
        few, many = calls.loc[low:high].min(), calls.loc[low:high].max()
        for end, size in (("smallest", low), ("largest", high)):
            agreements.append(
                Agreement(
                    f"packets per second: send calls {words}, {end} message size",
                    f"{size} bytes, {words}",
                    f"{few:,} to {many:,} calls, {100 * (1 - few / many):.1f} % apart",
                    None,
                    sentences.WORDS,
                    f"limiters-pps-{short}-{end}",
                )
            )
    return agreements


# --- constant bitrate


def _cbr_tables() -> Mapping[str, pd.DataFrame]:
    frame = published_rows("constant-bitrate")
    return {
        "constant-bitrate": published.printed("constant-bitrate"),
        "constant-bitrate-pacing": pacing.pacing(frame),
        "constant-bitrate-summary": summary(
            frame, ("local_sd", "remote_sd"), "send_size", improvement=SIZES
        ),
        "constant-bitrate-cost": cost.cost(frame),
    }


def _cbr_charts() -> Mapping[str, Chart]:
    return {"constant-bitrate": charts.pacing(published_rows("constant-bitrate"))}


def _cbr_figures() -> Mapping[str, ComputedFigure]:
    def figures(frame: pd.DataFrame) -> dict[str, float]:
        paced = pacing.pacing(frame)
        ratio = pacing.ratios(frame, SIZES).set_index("metric")["value"]
        return {
            "limiters-cbr-user-rate": float(paced["mean_mbps"].mean()) / 1e3,
            "limiters-cbr-packet-ratio": paced["packet_rate_pps"].iloc[0]
            / paced["packet_rate_pps"].iloc[-1],
            "limiters-cbr-local-sd-ratio": ratio[LOCAL],
            "limiters-cbr-remote-sd-ratio-low": ratio[REMOTE],
            "limiters-cbr-remote-sd-ratio-high": ratio[REMOTE],
        }

    return within_rounding("constant-bitrate", ROUNDED, "send_size", figures) | {
        "limiters-cbr-frame-overhead": transcribed(
            pacing.SEEN_BY_QDISC, "what our qdiscs are asked for too: 14 + 20 + 8"
        )
    }


def _both_ends(name: str) -> list[Agreement]:
    return [service_demands(name, end, CPUS) for end in ("local", "remote")]


def _both_rates(name: str) -> list[Agreement]:
    return [sent(name), arrived(name)]


ITEMS = (
    Item(
        "summary",
        "table",
        "Summary",
        "stateless-offloads",
        ("summary", "summary-improvement"),
        "means only: the report gives neither runs nor variance",
        tables=_summary_tables,
        figures=_improvements,
        checks=sentences.of_summary,
    ),
    Item(
        "udp-send-size",
        "table",
        "MIGRATED UDP STREAM TEST: 1024 and 8192 bytes",
        "udp-send-size",
        ("udp-send-size",),
        tables=_udp_tables,
        charts=_udp_charts,
        figures=_udp_figures,
        checks=lambda: [
            *_both_rates("udp-send-size"),
            *_both_ends("udp-send-size"),
            *sentences.of_udp(),
        ],
    ),
    Item("footnote-2", "script", "footnote 2: the loop behind the UDP table", "udp-send-size"),
    *percentile_charts.by_size(),
    Item(
        "tcp-mss",
        "table",
        "TCP_STREAM by Transport MSS: 1024 and 8192 bytes",
        "tcp-mss",
        ("tcp-mss",),
        tables=_tcp_tables,
        checks=lambda: [*_both_ends("tcp-mss"), *sentences.of_tcp()],
    ),
    *percentile_charts.by_transport(),
    Item(
        "packets-per-second",
        "table",
        "Sometimes the Limit is Packets Per Second",
        "packets-per-second",
        ("packets-per-second",),
        tables=_pps_tables,
        charts=_pps_charts,
        checks=lambda: [*_both_rates("packets-per-second"), *_pps_checks()],
    ),
    Item(
        "constant-bitrate",
        "table",
        "What about at a constant bitrate?",
        "constant-bitrate",
        ("constant-bitrate",),
        tables=_cbr_tables,
        charts=_cbr_charts,
        figures=_cbr_figures,
        checks=lambda: [*_both_rates("constant-bitrate"), *_both_ends("constant-bitrate")],
    ),
    Item(
        "footnote-7",
        "script",
        "footnote 7: the loop behind the constant-bitrate table",
        "constant-bitrate",
    ),
    Item(
        "percentile-script",
        "script",
        "Script For Percentile Data",
        "stateless-offloads",
        figures=lambda: {"limiters-script-mss-extra": transcribed(BYTES["TCP timestamps"][0])},
    ),
)

REPORT = Report(
    "limiters",
    "A Brief Look at Network Performance Limiters",
    ITEMS,
    no_data={
        "limiters-checksum-offload-saving": ("", "of the 1990s; no experiment measures it"),
    },
    slips={
        "limiters-udp-1024-local-cpu-peak": Slip(
            56.30, "not every run: 10, 12 and 14 print 68.43, 56.30 and 61.00 %"
        ),
    },
    ranges=frozenset(
        {
            "limiters-cbr-remote-sd-ratio-low",
            "limiters-cbr-remote-sd-ratio-high",
            "limiters-udp-1024-remote-sd-low",
            "limiters-udp-1024-remote-sd-high",
        }
    ),
)
