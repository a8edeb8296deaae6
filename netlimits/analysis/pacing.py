"""A constant bit rate: did the pacing hold, and what did the same bits cost in other packets?

A qdisc paces whole frames, so for a rate R of user data in messages of M bytes it is asked for
R × (M + 42) / M ("What about at a constant bitrate?"): 42 bytes are the Ethernet, IPv4 and UDP
headers that it sees. netperf's `-q` and SO_MAX_PACING_RATE take bytes per second.
"""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from netlimits.analysis import frames
from netlimits.analysis.goodput import bits_per_second
from netlimits.analysis.headers import BYTES
from netlimits.analysis.summary import summary
from netlimits.errors import DataError

SEEN_BY_QDISC = sum(BYTES[header][0] for header in ("Ethernet", "IPv4", "UDP"))
"""The bytes of headers that a qdisc counts on each UDP datagram: 42."""

PACE = "pace_mbps"
"""The column of the rate that a run was paced at, Mbit/s of user data."""


def frame_rate(requested: str | float, size: float) -> float:
    """The rate to ask a qdisc for, bit/s, so that user data leaves at `requested`."""
    if size <= 0:
        raise DataError(f"a message has at least one byte, not {size:g}")
    return bits_per_second(requested) * (size + SEEN_BY_QDISC) / size


def paced(frame: pd.DataFrame, requested: str | float | None = None) -> tuple[pd.DataFrame, float]:
    """The runs that count of one rate, and that rate in Mbit/s.

    Runs that netlimits paced carry theirs (`pace_mbps`): then `requested` chooses among several.
    Other frames (the report's table) are taken to be of `requested`, 1 Gbit/s when left out.
    Raises DataError for several rates with none chosen, and for one that no run was paced at.
    """
    runs = frames.usable(frame)
    asked = None if requested is None else bits_per_second(requested) / 1e6
    if PACE not in runs.columns:
        return runs, 1000.0 if asked is None else asked
    rates = sorted(runs[PACE].dropna().unique())
    if asked is None and len(rates) == 1:
        asked = float(rates[0])
    chosen = runs[runs[PACE] == asked]
    if asked is None or chosen.empty:
        raise DataError(
            f"the runs were paced at {', '.join(f'{rate:g}' for rate in rates) or 'no rate'} "
            "Mbit/s; give one of these as `requested` (in bit/s, or such as 1G)"
        )
    return chosen, asked


def pacing(
    frame: pd.DataFrame,
    requested: str | float | None = None,
    of: str = "local_send_throughput",
    size: str = "send_size",
) -> pd.DataFrame:
    """How near each size came to the rate asked for; `requested` as in `paced`.

    Returns `size`'s column, `n`, `requested_mbps`, `frame_rate_mbps` (what the qdisc is asked
    for), `mean_mbps`, `achieved` (mean over requested), `achieved_min`, `achieved_max` and
    `packet_rate_pps`. `of` is the sender's rate. Raises DataError for what is not there.
    """
    frames.factors(frame, size)
    column = frames.column(frame, of).column
    runs, wanted = paced(frame, requested)
    frames.complete(runs, [column, size])
    rows = []
    for (value,), part in frames.groups(runs, [size]):
        rate, bytes_ = part[column], float(str(value))
        rows.append(
            {
                size: value,
                "n": len(part),
                "requested_mbps": wanted,
                "frame_rate_mbps": frame_rate(wanted * 1e6, bytes_) / 1e6,
                "mean_mbps": rate.mean(),
                "achieved": rate.mean() / wanted,
                "achieved_min": rate.min() / wanted,
                "achieved_max": rate.max() / wanted,
                "packet_rate_pps": 1e6 * rate.mean() / (8 * bytes_),
            }
        )
    return pd.DataFrame(rows)


def ratios(
    frame: pd.DataFrame,
    improvement: str | None = None,
    of: Sequence[str] = ("local_sd", "remote_sd"),
    size: str = "send_size",
) -> pd.DataFrame:
    """The service-demand ratios between two sizes at the same bit rate, with 95 % intervals.

    `improvement` reads "8192 over 1024"; left out, the largest size over the smallest. Returns
    the improvement rows of `analysis.summary`: 1024's service demand over 8192's.
    """
    frames.factors(frame, size)
    sizes = sorted(frames.usable(frame)[size].unique(), key=frames.rank)
    written = improvement or f"{frames.text(sizes[-1])} over {frames.text(sizes[0])}"
    table = summary(frame, of, size, improvement=written)
    found = table[table["statistic"] == "improvement"].reset_index(drop=True)
    found.attrs = table.attrs
    return found
