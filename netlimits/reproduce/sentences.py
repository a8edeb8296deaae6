"""What the limiters report says of its tables in words, held against the rows they are about.

Words that order two figures ("faster", "higher", "not pegged") agree or differ; words of degree
("occasionally", "very roughly") stand beside what was computed.
"""

from __future__ import annotations

import pandas as pd

from netlimits.reproduce.items import Agreement
from netlimits.reproduce.rounding import chosen

RATE = "throughput_mbps"
DEMANDS = {"sending": "local_sd_us_per_kib", "receiving": "remote_sd_us_per_kib"}
WORDS = "words, which no figure can be held against"


def of_udp() -> list[Agreement]:
    """The paragraphs below the UDP_STREAM table."""
    runs = chosen("udp-send-size")
    small, large = (runs[runs["send_size"] == size] for size in (1024, 8192))
    busiest = small["remote_cpu_peak_pct"].max()
    higher = (small["remote_cpu_pct"] > small["local_cpu_pct"]).sum()
    whole = (runs["remote_recv_calls"] == runs["local_send_calls"]).sum()
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
            f"{whole} of {len(runs)}",
            None,
            WORDS,
        ),
    ]


def of_tcp() -> list[Agreement]:
    """The paragraph below the TCP_STREAM table, which holds it against UDP's."""
    udp, tcp = (
        chosen(name).groupby("send_size")[[RATE, *DEMANDS.values()]].mean()
        for name in ("udp-send-size", "tcp-mss")
    )
    return [
        Agreement(
            "TCP with offloads at 1024 bytes: mean throughput, against UDP's",
            "markedly higher",
            f"{tcp.loc[1024, RATE]:,.0f} against {udp.loc[1024, RATE]:,.0f} Mbit/s",
            bool(tcp.loc[1024, RATE] > udp.loc[1024, RATE]),
        ),
        *(
            Agreement(
                f"Service demand of {end}, TCP with offloads against UDP: means at 1024 and 8192",
                "a considerable difference",
                "; ".join(
                    f"{tcp.loc[size, column]:.2f} against {udp.loc[size, column]:.2f} µs/KiB"
                    for size in tcp.index
                ),
                None,
                WORDS,
            )
            for end, column in DEMANDS.items()
        ),
    ]


def of_summary() -> list[Agreement]:
    """What is said of the means, in the Summary and below the charts by transport."""
    means = chosen("summary").pivot_table(
        index="send_size", columns="transport", values=[RATE, *DEMANDS.values()]
    )
    rates = means[RATE]
    udp_first = [
        size for size in rates.index if rates.loc[size, "UDP"] > rates.loc[size, "TCP off"]
    ]
    on, off = (_ratios(rates, transport) for transport in ("TCP on", "TCP off"))
    narrower = all(max(b, 1 / b) < max(a, 1 / a) for a, b in zip(on, off, strict=True))
    small, large = means.loc[1024], means.loc[8192]
    gains = pd.concat([large[RATE] / small[RATE], *(small[c] / large[c] for c in DEMANDS.values())])
    written = [", ".join(f"{ratio:.2f}" for ratio in ratios) for ratios in (on, off)]
    return [
        Agreement(
            "Improvement from 1024 to 8192 bytes in throughput and service demands, the greatest",
            "not 8X",
            f"{gains.max():.2f}",
            bool(gains.max() < 8),
        ),
        Agreement(
            "Without offloads: mean throughput of UDP against TCP's",
            "can even be “faster”",
            f"faster at {', '.join(map(str, udp_first)) or 'no size'}",
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


def _ratios(rates: pd.DataFrame, transport: str) -> list[float]:
    """Mean throughput over UDP's, a figure a size."""
    return [float(ratio) for ratio in rates[transport] / rates["UDP"]]
