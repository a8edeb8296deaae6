"""Where the limit is packets per second, and from which size on it is bytes.

A sender that is held back by its own work needs t = a + b s for a send of s bytes: a for the
packet, b for each byte ("Sometimes the Limit is Packets Per Second"; the same line as
`analysis.cost`). The packet rate 1 / t stays near its ceiling 1 / a while b s is small beside a,
and throughput nears 1 / b once a is small beside b s. Two sizes mark the regimes:

    packet-rate limit up to   s₁ = a/b × share / (1 − share)   the packet rate is down by `share`
    byte limit from           s₂ = a/b                         half of the time goes by bytes

(s₂ is Hockney's n½: half of the throughput that very long packets would reach.) Fit: least
squares of relative errors over the runs. The interval of a/b is the profile one: all r for
which t = b (r + s), with its best b, raises the sum of squares by no more than the factor
1 + F(1, n − 2) / (n − 2).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.optimize import brentq
from scipy.special import stdtrit

from netlimits.analysis import frames
from netlimits.errors import DataError

NOTHING = 1e-9
"""A cost below this share of the other is arithmetic, not a cost."""


def packet_rate(
    frame: pd.DataFrame, of: str = "local_send_throughput", size: str = "send_size"
) -> pd.DataFrame:
    """Throughput, packets per second and time per packet at each size.

    `of` is the rate of the sender (where a limit of sending shows), one packet a send. Returns
    `size`'s column, `throughput_mbps`, `packet_rate_pps`, `packet_ns` (means over the runs of a
    size) and `n`. packets/s = throughput / (8 × size). Raises DataError for what is not there.
    """
    runs = _times(frame, of, size)
    table = runs.groupby(size, sort=True).agg(
        throughput_mbps=("mbps", "mean"),
        packet_rate_pps=("pps", "mean"),
        packet_ns=("ns", "mean"),
        n=("ns", "size"),
    )
    return table.reset_index()


@dataclass(frozen=True, slots=True)
class Regimes:
    """The fitted line and the two sizes, bytes, each with its confidence interval.

    `packet_ns` is a, `byte_ns` b; `ceiling_pps` is 1 / a, `ceiling_mbps` 8 / b.
    """

    packet_ns: float
    byte_ns: float
    packets_until: float
    packets_until_interval: tuple[float, float]
    bytes_from: float
    bytes_from_interval: tuple[float, float]
    share: float
    n: int

    @property
    def ceiling_pps(self) -> float:
        """The packet rate that empty packets would reach."""
        return 1e9 / self.packet_ns

    @property
    def ceiling_mbps(self) -> float:
        """The throughput that endless packets would reach."""
        return 8e3 / self.byte_ns

    def regime(self, size: float) -> str:
        """Which limit holds at a size: `packets`, `bytes`, or `both` between them."""
        if size <= self.packets_until:
            return "packets"
        return "bytes" if size >= self.bytes_from else "both"

    def frame(self) -> pd.DataFrame:
        """The two sizes, a row each: `limit`, `size_bytes`, `low`, `high`."""
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
    of: str = "local_send_throughput",
    size: str = "send_size",
    share: float = 0.05,
    confidence: float = 0.95,
) -> Regimes:
    """Where the packet-rate limit ends and the byte limit begins (the module's head has the rule).

    Raises DataError where the data cannot say: fewer than three sizes or four runs, no cost of
    bytes or of packets beyond noise.
    """
    if not 0 < share < 0.5:
        raise DataError(f"the share lies between 0 and 0.5, not {share}")
    runs = _times(frame, of, size)
    sizes, ns = runs[size].to_numpy(dtype=float), runs["ns"].to_numpy(dtype=float)
    if len(np.unique(sizes)) < 3 or len(sizes) < 4:
        raise DataError(
            f"{len(sizes)} runs of {len(np.unique(sizes))} sizes; where one limit ends and the "
            "other begins shows from four runs of three sizes on"
        )
    weights = 1 / runs.groupby(size)["ns"].transform("mean").to_numpy()
    design = np.column_stack([np.ones_like(sizes), sizes])
    (packet, byte), *_ = np.linalg.lstsq(design * weights[:, None], ns * weights, rcond=None)
    most = byte * sizes.max()
    if most <= NOTHING * abs(packet) or packet <= NOTHING * most:
        raise DataError(
            f"time per packet does not {'stand above 0' if packet <= 0 else 'grow with size'} "
            f"over {sizes.min():g} to {sizes.max():g} bytes: only one limit shows"
        )
    ratio = float(packet / byte)
    low, high = _profile(sizes, ns, weights, ratio, confidence)
    until = share / (1 - share)
    return Regimes(
        float(packet),
        float(byte),
        ratio * until,
        (low * until, high * until),
        ratio,
        (low, high),
        share,
        len(sizes),
    )


def _profile(
    sizes: np.ndarray, ns: np.ndarray, weights: np.ndarray, best: float, confidence: float
) -> tuple[float, float]:
    """The profile interval of a/b; DataError when it has no end."""

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
            raise DataError(f"the cost of {missing} does not show beyond noise in these runs")
        near, far = sorted((best, edge))
        ends.append(float(brentq(lambda r: squares(r) - allowed, near, far)))
    return ends[0], ends[1]


def _times(frame: pd.DataFrame, of: str, size: str) -> pd.DataFrame:
    """Each run's size, `mbps`, `pps` and `ns` per packet."""
    frames.factors(frame, size)
    rate = frames.column(frame, of).column
    runs = frames.complete(frames.usable(frame), [rate, size])
    if not ((runs[rate] > 0) & (runs[size] > 0)).all():
        raise DataError(f"{rate} and {size} must be above zero in every run")
    ns = 8e3 * runs[size].astype(float) / runs[rate]
    return pd.DataFrame({size: runs[size], "mbps": runs[rate], "pps": 1e9 / ns, "ns": ns})
