"""Up to which size packets per second are the limit, and from which size bytes are.

A send of s bytes takes t = a + b s ("Sometimes the Limit is Packets Per Second"):

    packet-rate limit up to   s₁ = a/b × share / (1 − share)   the packet rate is `share` below 1/a
    byte limit from           s₂ = a/b                         bytes take half of the time

(s₂ is Hockney's n½.) The fit is least squares of relative errors over the runs. The interval of a/b
is the delete-a-block jackknife of its logarithm. Without blocks, the k-th runs of all sizes are
block k. With fewer than three blocks it is the profile interval. For each ratio r, take the sum of
squares of t = b (r + s) with its best b. The interval has all r at which this sum is at most
1 + F(1, n − 2) / (n − 2) times the minimum.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.optimize import brentq
from scipy.special import stdtrit

from netlimits.analysis import frames, pooling
from netlimits.analysis.statistics import intervals
from netlimits.errors import DataError

FEWEST_GROUPS = 3
NOTHING = 1e-9
"""A cost below this share of the other cost is a rounding error."""


def packet_rate(
    frame: pd.DataFrame,
    of: str | None = None,
    size: str = "send_size",
    pool: str | Sequence[str] = (),
) -> pd.DataFrame:
    """Compute throughput, packets per second and time per packet at each size.

    A send is one packet: packets/s = throughput / (8 × size).

    Args:
        frame: A row for each run.
        of: The rate, by default the sender's, since the limits are those of sending.
        size: Factor with the send size in bytes.
        pool: Factors that may differ within a size.

    Returns:
        `size`'s column, `throughput_mbps`, `packet_rate_pps` and `packet_ns` (means over the runs)
        and `n`.

    Raises:
        DataError: A column is missing or not above zero, or runs of a size differ in a factor that
            is not in `pool`.
    """
    runs = _times(frame, of, size, pool)
    size = str(runs.columns[0])
    table = runs.groupby(size, sort=True).agg(
        throughput_mbps=("mbps", "mean"),
        packet_rate_pps=("pps", "mean"),
        packet_ns=("ns", "mean"),
        n=("ns", "size"),
    )
    return table.reset_index()


@dataclass(frozen=True, slots=True)
class Regimes:
    """The fitted line and the two sizes that separate the regimes.

    Attributes:
        packet_ns: The line's a.
        byte_ns: The line's b.
        packets_until: Size in bytes up to which packets per second are the limit.
        packets_until_interval: Its confidence interval.
        bytes_from: Size in bytes from which bytes are the limit.
        bytes_from_interval: Its confidence interval.
        share: Share by which the packet rate at `packets_until` is below `ceiling_pps`.
        n: Number of runs.
        interval: Method of the intervals.
    """

    packet_ns: float
    byte_ns: float
    packets_until: float
    packets_until_interval: tuple[float, float]
    bytes_from: float
    bytes_from_interval: tuple[float, float]
    share: float
    n: int
    interval: str

    @property
    def ceiling_pps(self) -> float:
        """Packet rate of empty packets."""
        return 1e9 / self.packet_ns

    @property
    def ceiling_mbps(self) -> float:
        """Throughput of endless packets."""
        return 8e3 / self.byte_ns

    def regime(self, size: float) -> str:
        """Return the limit at a size.

        Args:
            size: Bytes.

        Returns:
            `packets`, `bytes`, or `both` between the two regimes.
        """
        if size <= self.packets_until:
            return "packets"
        return "bytes" if size >= self.bytes_from else "both"

    def frame(self) -> pd.DataFrame:
        """Return the two sizes as a frame.

        Returns:
            A row for each regime: `limit` in words, and `size_bytes` with its interval `low` and
            `high`.
        """
        return pd.DataFrame(
            [
                (
                    f"packets per second, to {100 * self.share:g} %",
                    self.packets_until,
                    *self.packets_until_interval,
                ),
                ("bytes, from half of the time on", self.bytes_from, *self.bytes_from_interval),
            ],
            columns=["limit", "size_bytes", "low", "high"],
        )


def regimes(
    frame: pd.DataFrame,
    of: str | None = None,
    size: str = "send_size",
    share: float = 0.05,
    confidence: float = 0.95,
    pool: str | Sequence[str] = (),
) -> Regimes:
    """Fit the sizes at which the packet-rate limit ends and the byte limit begins.

    Args:
        frame: A row for each run.
        of: The rate, by default the sender's.
        size: Factor with the send size in bytes.
        share: Share by which the packet rate may be below its maximum in the first regime.
        confidence: Confidence level of the intervals.
        pool: Factors that may differ within a size.

    Returns:
        The line in ns per packet and per byte, and the two sizes in bytes with their intervals.

    Raises:
        DataError: The data cannot decide: fewer than three sizes or four runs, or no cost of bytes
            or packets above the noise.
    """
    if not 0 < share < 0.5:
        raise DataError(f"share: it must be between 0 and 0.5, not {share}")
    runs = _times(frame, of, size, pool)
    size = str(runs.columns[0])
    sizes, ns = runs[size].to_numpy(dtype=float), runs["ns"].to_numpy(dtype=float)
    if len(np.unique(sizes)) < 3 or len(sizes) < 4:
        raise DataError(
            f"{len(sizes)} runs of {len(np.unique(sizes))} sizes do not show where one limit ends "
            "and the other begins; measure four runs of three sizes or more"
        )
    packet, byte, weights = _line(sizes, ns)
    if problem := _one_limit(packet, byte, sizes):
        raise DataError(problem)
    ratio = packet / byte
    groups = _groups(runs, size)
    if groups is not None:
        low, high = _without_each(sizes, ns, groups, ratio, confidence)
        how = f"delete-a-block jackknife, {len(np.unique(groups))} blocks"
    else:
        low, high = _profile(sizes, ns, weights, ratio, confidence)
        how = "profile interval: too few repetitions to tell whether all sizes spread alike"
    until = share / (1 - share)
    return Regimes(
        packet,
        byte,
        ratio * until,
        (low * until, high * until),
        ratio,
        (low, high),
        share,
        len(sizes),
        how,
    )


def _line(sizes: np.ndarray, ns: np.ndarray) -> tuple[float, float, np.ndarray]:
    """Return a and b of the least squares of relative errors, and each run's weight."""
    _, place = np.unique(sizes, return_inverse=True)
    weights = (np.bincount(place) / np.bincount(place, ns))[place]
    design = np.column_stack([np.ones_like(sizes), sizes])
    (packet, byte), *_ = np.linalg.lstsq(design * weights[:, None], ns * weights, rcond=None)
    return float(packet), float(byte), weights


def _one_limit(packet: float, byte: float, sizes: np.ndarray) -> str:
    """Explain why a fit shows only one of the two limits; "" if it shows both."""
    most = byte * sizes.max()
    if most > NOTHING * abs(packet) and packet > NOTHING * most:
        return ""
    return (
        f"only one limit shows over {sizes.min():g} to {sizes.max():g} bytes: time per packet does "
        f"not {'stay above 0 for small packets' if packet <= 0 else 'grow with size'}"
    )


def _groups(runs: pd.DataFrame, size: str) -> np.ndarray | None:
    """Return each run's group for the jackknife: its block, or its place among runs of its size.

    Return None if there are fewer than FEWEST_GROUPS groups.
    """
    blocks = frames.blocks(runs)
    if blocks is None:
        least = int(runs[size].value_counts().min())
        groups = (runs.groupby(size).cumcount() % least).to_numpy()
    else:
        groups = np.unique(blocks.to_numpy(), return_inverse=True)[1]
    return groups if len(np.unique(groups)) >= FEWEST_GROUPS else None


def _without_each(
    sizes: np.ndarray, ns: np.ndarray, groups: np.ndarray, ratio: float, confidence: float
) -> tuple[float, float]:
    """Return the jackknife's interval of a/b. Raises DataError if one block alone shows a cost."""
    log_ratios = []
    for group in np.unique(groups):
        rest = groups != group
        if len(np.unique(sizes[rest])) < 3:
            raise DataError("only one block has some of the sizes; repeat them in others")
        packet, byte, _ = _line(sizes[rest], ns[rest])
        if _one_limit(packet, byte, sizes):
            raise DataError(
                f"the cost of {'packets' if packet <= 0 else 'bytes'} is not above the noise in "
                "these runs: without one block it disappears"
            )
        log_ratios.append(np.log(packet / byte))
    interval = intervals.jackknife(float(np.log(ratio)), np.array(log_ratios), confidence)
    return float(np.exp(interval.low)), float(np.exp(interval.high))


def _profile(
    sizes: np.ndarray, ns: np.ndarray, weights: np.ndarray, best: float, confidence: float
) -> tuple[float, float]:
    """Return the profile interval of a/b. Raises DataError if it is unbounded."""

    def squares(ratio: float) -> float:
        shape = (ratio + sizes) * weights
        seen = ns * weights
        return float(((seen - shape * (shape @ seen) / (shape @ shape)) ** 2).sum())

    freedom = len(sizes) - 2
    least = squares(best)
    allowed = least * (1 + stdtrit(freedom, (1 + confidence) / 2) ** 2 / freedom)
    if least <= 1e-24 * len(sizes):
        return best, best
    ends = []
    for factor in (0.5, 2.0):
        edge = best
        for _ in range(60):
            edge *= factor
            if squares(edge) > allowed:
                break
        else:
            missing = "packets" if factor < 1 else "bytes"
            raise DataError(f"the cost of {missing} is not above the noise in these runs")
        near, far = sorted((best, edge))
        ends.append(float(brentq(lambda r: squares(r) - allowed, near, far)))
    return ends[0], ends[1]


def _times(
    frame: pd.DataFrame, of: str | None, size: str, pool: str | Sequence[str]
) -> pd.DataFrame:
    """Return each run's size (its column first), `mbps`, `pps`, `ns` per packet, and its block."""
    frame, ((size,), pooled) = frames.resolve(frame, size, pool)
    rate = frames.metric_for(frame, of or frames.sent(frame), [size]).column
    runs = frames.complete(frames.usable(frame), [rate, size])
    pooling.refuse(runs, [size], pooled)
    sizes, rates = frames.positive(runs, size), frames.positive(runs, rate)
    ns = 8e3 * sizes / rates
    block = {name: runs[name] for name in ("campaign", "block") if name in runs.columns}
    times = pd.DataFrame({size: runs[size], "mbps": rates, "pps": 1e9 / ns, "ns": ns, **block})
    return times.reset_index(drop=True)
