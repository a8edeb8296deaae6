"""Check the sentences of the report on limiters about its tables."""

from __future__ import annotations

import pandas as pd

from netlimits.reproduce.items import Agreement
from netlimits.reproduce.rounding import published_rows

RATE = "throughput_mbps"
DEMANDS = {"sending": "local_sd_us_per_kib", "receiving": "remote_sd_us_per_kib"}
SIZES = (1024, 8192)
WORDS = "words, which no figure can confirm"


def of_udp() -> list[Agreement]:
    """Check the paragraphs below the UDP_STREAM table."""
    runs = published_rows("udp-send-size")
    small, large = (runs[runs["send_size"] == size] for size in SIZES)
    busiest = small["remote_cpu_peak_pct"].max()
    higher = (small["remote_cpu_pct"] > small["local_cpu_pct"]).sum()
    equal = (runs["remote_recv_calls"] == runs["local_send_calls"]).sum()
    return [
        Agreement(
            "Receiver at 1024 bytes: its busiest CPU",
            "not pegged",
            f"{busiest:.2f} % at most",
            bool(busiest < 100),
        ),
        Agreement(
            "Receiver at 1024 bytes: overall CPU utilization, against the sender's",
            "higher",
            f"higher in {higher} of {len(small)} runs",
            bool(higher == len(small)),
        ),
        *(
            Agreement(
                f"Service demand of {end} at 8192 bytes, against 1024",
                "significantly lower",
                f"{large[column].max():g} at most against {small[column].min():g} at least µs/KiB",
                bool(large[column].max() < small[column].min()),
            )
            for end, column in DEMANDS.items()
        ),
        Agreement(
            "Runs whose receive calls equal the send calls",
            "occasionally",
            f"{equal} of {len(runs)}",
            None,
            WORDS,
        ),
    ]


def of_tcp() -> list[Agreement]:
    """Check the paragraph below the TCP_STREAM table, which compares TCP with UDP."""
    udp, tcp = (
        {column: _means(published_rows(name), column) for column in (RATE, *DEMANDS.values())}
        for name in ("udp-send-size", "tcp-mss")
    )
    ours, theirs = tcp[RATE][1024], udp[RATE][1024]
    return [
        Agreement(
            "TCP with offloads at 1024 bytes: mean throughput, against UDP's",
            "markedly higher",
            f"{ours:,.0f} against {theirs:,.0f} Mbit/s",
            ours > theirs,
        ),
        *(
            Agreement(
                f"Service demand of {end}, TCP with offloads against UDP: means at 1024 and 8192",
                "a considerable difference",
                "; ".join(
                    f"{tcp[column][size]:.2f} against {udp[column][size]:.2f} µs/KiB"
                    for size in SIZES
                ),
                None,
                WORDS,
            )
            for end, column in DEMANDS.items()
        ),
    ]


def of_summary() -> list[Agreement]:
    """Check the sentences about means in the Summary and below the charts by transport."""
    summary = published_rows("summary")
    transports = {
        name: _means(summary[summary["transport"] == name], RATE)
        for name in ("UDP", "TCP on", "TCP off")
    }
    udp = transports["UDP"]
    on, off = (
        [transports[name][size] / udp[size] for size in SIZES] for name in ("TCP on", "TCP off")
    )
    udp_first = [str(size) for size, ratio in zip(SIZES, off, strict=True) if ratio < 1]
    narrower = all(max(b, 1 / b) < max(a, 1 / a) for a, b in zip(on, off, strict=True))
    greatest = max(
        max(values[1024] / values[8192], values[8192] / values[1024])
        for name in transports
        for column in (RATE, *DEMANDS.values())
        for values in (_means(summary[summary["transport"] == name], column),)
    )
    written = [", ".join(f"{ratio:.2f}" for ratio in ratios) for ratios in (on, off)]
    return [
        Agreement(
            "Improvement from 1024 to 8192 bytes in throughput and service demands, the greatest",
            "not 8X",
            f"{greatest:.2f}",
            greatest < 8,
        ),
        Agreement(
            "Without offloads: mean throughput of UDP against TCP's",
            "can even be “faster”",
            f"faster at {', '.join(udp_first) or 'no size'}",
            bool(udp_first),
        ),
        Agreement(
            "TCP's mean throughput over UDP's at 1024 and 8192, offloads off against on",
            "narrows the gaps",
            f"{written[1]} against {written[0]}",
            narrower,
        ),
        Agreement(
            "The same without offloads: both transports' levels",
            "very roughly the same",
            written[1],
            None,
            WORDS,
        ),
    ]


def _means(runs: pd.DataFrame, column: str) -> dict[int, float]:
    return {size: float(runs.loc[runs["send_size"] == size, column].mean()) for size in SIZES}
