"""Constant bit rate: the accuracy of pacing, and the cost of packets of each size at that rate.

A qdisc paces whole frames, so for a rate R of user data in messages of M bytes it must be set to
R × (M + 42) / M ("What about at a constant bitrate?").
"""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from netlimits.analysis import frames, pooling, wording
from netlimits.analysis.goodput import bits_per_second
from netlimits.analysis.headers import BYTES
from netlimits.analysis.statistics import intervals
from netlimits.analysis.summary import IMPROVEMENT, summary
from netlimits.errors import DataError

SEEN_BY_QDISC = sum(BYTES[header][0] for header in ("Ethernet", "IPv4", "UDP"))
"""Bytes of headers that a qdisc counts for each UDP datagram over IPv4: 42."""

IPV6_MORE = BYTES["IPv6"][0] - BYTES["IPv4"][0]
"""Additional bytes of headers for IPv6: 20."""

PACE = "pace_mbps"
"""Column with the rate that a run was paced at, Mbit/s of user data."""


def frame_rate(requested: str | float, size: float, ipv6: bool = False) -> float:
    """Return the qdisc's rate in bit/s for which user data is sent at `requested`.

    Args:
        requested: Bit rate of user data, as "1G" or in bit/s.
        size: Bytes of user data in a packet.
        ipv6: True for IPv6.

    Returns:
        bit/s of whole frames, as a qdisc counts them.

    Raises:
        DataError: The rate or the size is not above zero.
    """
    if size <= 0:
        raise DataError(f"size: a message has at least one byte, not {size:g}")
    headers = SEEN_BY_QDISC + (IPV6_MORE if ipv6 else 0)
    return bits_per_second(requested) * (size + headers) / size


def paced(frame: pd.DataFrame, requested: str | float | None = None) -> tuple[pd.DataFrame, float]:
    """Select the runs that were paced at one rate.

    Args:
        frame: A row for each run.
        requested: The rate of user data, as "1G" or in bit/s, by default the only rate of the runs.
            If there is no column `pace_mbps` (as in the report's table), all runs are assumed to be
            paced at `requested`, by default at 1 Gbit/s.

    Returns:
        The runs that count, and their rate in Mbit/s.

    Raises:
        DataError: No run has the rate, or `requested` is None and the runs have several rates.
    """
    runs = frames.usable(frame)
    requested_mbps = None if requested is None else bits_per_second(requested) / 1e6
    if PACE not in runs.columns:
        return runs, 1000.0 if requested_mbps is None else requested_mbps
    rates = sorted(runs[PACE].dropna().unique())
    if requested_mbps is None and len(rates) == 1:
        requested_mbps = float(rates[0])
    chosen = runs[runs[PACE] == requested_mbps]
    if requested_mbps is None or chosen.empty:
        raise DataError(
            f"the runs were paced at {', '.join(f'{rate:g}' for rate in rates) or 'no rate'} "
            "Mbit/s; give one of these as `requested` (in bit/s, or as 1G)"
        )
    return chosen, requested_mbps


def pacing(
    frame: pd.DataFrame,
    requested: str | float | None = None,
    of: str | None = None,
    size: str = "send_size",
    pool: str | Sequence[str] = (),
    ipv6: bool = False,
) -> pd.DataFrame:
    """Compare the achieved rate at each size with the requested one.

    Args:
        frame: A row for each run.
        requested: Rate of user data, as "1G" or in bit/s, by default the only rate of the runs, or
            1 Gbit/s if they have no column `pace_mbps`.
        of: Metric with the sender's rate, by default the one for the direction of the runs.
        size: Factor with the send size in bytes.
        pool: Factors that may differ within a size.
        ipv6: True if the runs used IPv6.

    Returns:
        `size`'s column, `n`, `requested_mbps`, `frame_rate_mbps` (the qdisc's setting),
        `mean_mbps`, `achieved` (mean over requested) with its 95 % interval `achieved_low` and
        `achieved_high` (Student's t), `achieved_min`, `achieved_max` and `packet_rate_pps`.

    Raises:
        DataError: A column is missing, no run has the rate, the runs have several rates, or runs of
            a size differ in a factor that is not in `pool`.
    """
    frame, ((size,), pooled) = frames.resolve(frame, size, pool)
    column = frames.metric_for(frame, of or frames.sent(frame), [size]).column
    runs, requested_mbps = paced(frame, requested)
    pooling.refuse(runs, [size], pooled)
    frames.complete(runs, [column, size])
    rows = []
    for (value,), part in frames.groups(runs, [size]):
        rate, bytes_ = part[column], float(frames.positive(part, size).iloc[0])
        achieved = intervals.mean(rate.to_numpy(dtype=float) / requested_mbps)
        rows.append(
            {
                size: value,
                "n": len(part),
                "requested_mbps": requested_mbps,
                "frame_rate_mbps": frame_rate(requested_mbps * 1e6, bytes_, ipv6) / 1e6,
                "mean_mbps": rate.mean(),
                "achieved": achieved.value,
                "achieved_low": achieved.low,
                "achieved_high": achieved.high,
                "achieved_min": rate.min() / requested_mbps,
                "achieved_max": rate.max() / requested_mbps,
                "packet_rate_pps": 1e6 * rate.mean() / (8 * bytes_),
            }
        )
    return pd.DataFrame(rows)


def ratios(
    frame: pd.DataFrame,
    improvement: str | None = None,
    of: Sequence[str] = ("local_sd", "remote_sd"),
    size: str = "send_size",
    pool: str | Sequence[str] = (),
) -> pd.DataFrame:
    """Return the ratios of service demand between two sizes at the same bit rate.

    Args:
        frame: A row for each run.
        improvement: As "8192 over 1024", by default the largest size over the smallest.
        of: Service demands.
        size: Factor with the send size in bytes.
        pool: Factors that may differ within a size.

    Returns:
        The improvement rows of `analysis.summary`: 1024's service demand over 8192's, with 95 %
        intervals.
    """
    frames.factors(frame, size)
    sizes = sorted(frames.usable(frame)[size].unique(), key=wording.rank)
    written = improvement or f"{wording.text(sizes[-1])} over {wording.text(sizes[0])}"
    table = summary(frame, of, size, improvement=written, pool=pool)
    rows = table[table["statistic"] == IMPROVEMENT].reset_index(drop=True)
    rows.attrs = table.attrs
    return rows
