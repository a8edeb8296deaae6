"""Where the limit is packets per second, and from which size on it is bytes.

A sender that is held back by its own work needs t = a + b s for a send of s bytes: a for the
packet, b for each byte ("Sometimes the Limit is Packets Per Second"; the same line as
`analysis.cost`). The packet rate 1 / t stays near its ceiling 1 / a while b s is small beside a,
and throughput nears 1 / b once a is small beside b s. Two sizes mark the regimes:

    packet-rate limit up to   s₁ = a/b × share / (1 − share)   the packet rate is down by `share`
    byte limit from           s₂ = a/b                         half of the time goes by bytes

(s₂ is Hockney's n½: half of the throughput that very long packets would reach.) Fit: least
squares of relative errors over the runs. The interval of a/b is the delete-a-block jackknife of
its logarithm: it holds where sizes spread differently, as the profile interval does not (81 to
83 % where the spread grows with size, 49 % where one size is noisy). Without blocks the k-th runs
of all sizes are a block; with fewer than three of them there is only the profile interval, which
takes all sizes to spread alike: all r for which t = b (r + s), with its best b, raises the sum of
squares by no more than the factor 1 + F(1, n − 2) / (n − 2).
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
"""A cost below this share of the other is arithmetic, not a cost."""


def packet_rate(
    frame: pd.DataFrame,
    of: str | None = None,
    size: str = "send_size",
    pool: str | Sequence[str] = (),
) -> pd.DataFrame:
    """Throughput, packets per second and time per packet at each size.

    `of` is the rate of the sender where left out (there a limit of sending shows), one packet a
    send. `pool` names factors that may differ within a size. Returns
    `size`'s column, `throughput_mbps`, `packet_rate_pps`, `packet_ns` (means over the runs of a
    size) and `n`. packets/s = throughput / (8 × size). Raises DataError for what is not there.
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
    interval: str
    """How the intervals came about, in words."""

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
    of: str | None = None,
    size: str = "send_size",
    share: float = 0.05,
    confidence: float = 0.95,
    pool: str | Sequence[str] = (),
) -> Regimes:
    """Where the packet-rate limit ends and the byte limit begins (the module's head has the rule).

    Raises DataError where the data cannot say: fewer than three sizes or four runs, no cost of
    bytes or of packets beyond noise.
    """
    if not 0 < share < 0.5:
        raise DataError(f"the share lies between 0 and 0.5, not {share}")
    runs = _times(frame, of, size, pool)
    size = str(runs.columns[0])
    sizes, ns = runs[size].to_numpy(dtype=float), runs["ns"].to_numpy(dtype=float)
    if len(np.unique(sizes)) < 3 or len(sizes) < 4:
        raise DataError(
            f"{len(sizes)} runs of {len(np.unique(sizes))} sizes; where one limit ends and the "
            "other begins shows from four runs of three sizes on"
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
    """a and b of the least squares of relative errors, and each run's weight."""
    _, place = np.unique(sizes, return_inverse=True)
    weights = (np.bincount(place) / np.bincount(place, ns))[place]
    design = np.column_stack([np.ones_like(sizes), sizes])
    (packet, byte), *_ = np.linalg.lstsq(design * weights[:, None], ns * weights, rcond=None)
    return float(packet), float(byte), weights


def _one_limit(packet: float, byte: float, sizes: np.ndarray) -> str:
    """Why a fit shows only one of the two limits; "" where it shows both."""
    most = byte * sizes.max()
    if most > NOTHING * abs(packet) and packet > NOTHING * most:
        return ""
    return (
        f"time per packet does not {'stand above 0' if packet <= 0 else 'grow with size'} "
        f"over {sizes.min():g} to {sizes.max():g} bytes: only one limit shows"
    )


def _groups(runs: pd.DataFrame, size: str) -> np.ndarray | None:
    """Each run's group for the jackknife: its block, else its place among the runs of its size."""
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
    """The jackknife's interval of a/b. Raises DataError where one block decides what shows."""
    log_ratios = []
    for group in np.unique(groups):
        rest = groups != group
        if len(np.unique(sizes[rest])) < 3:
            raise DataError("one block alone holds some sizes: repeat them")
        packet, byte, _ = _line(sizes[rest], ns[rest])
        if _one_limit(packet, byte, sizes):
            raise DataError(
                f"the cost of {'packets' if packet <= 0 else 'bytes'} does not show beyond noise "
                "in these runs: without one block it is gone"
            )
        log_ratios.append(np.log(packet / byte))
    interval = intervals.jackknife(float(np.log(ratio)), np.array(log_ratios), confidence)
    return float(np.exp(interval.low)), float(np.exp(interval.high))


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


def _times(
    frame: pd.DataFrame, of: str | None, size: str, pool: str | Sequence[str]
) -> pd.DataFrame:
    """Each run's size (its column first), `mbps`, `pps` and `ns` per packet, and its block."""
    frame, ((size,), meant) = frames.apart(frame, size, pool)
    rate = frames.metric_beside(frame, of or frames.sent(frame), [size]).column
    runs = frames.complete(frames.usable(frame), [rate, size])
    pooling.refuse(runs, [size], meant)
    if not pd.api.types.is_numeric_dtype(runs[size]) or pd.api.types.is_bool_dtype(runs[size]):
        raise DataError(f"{size} must be a number of bytes in every run")
    if not ((runs[rate] > 0) & (runs[size] > 0)).all():
        raise DataError(f"{rate} and {size} must be above zero in every run")
    ns = 8e3 * runs[size].astype(float) / runs[rate]
    block = {name: runs[name] for name in ("campaign", "block") if name in runs.columns}
    times = pd.DataFrame({size: runs[size], "mbps": runs[rate], "pps": 1e9 / ns, "ns": ns, **block})
    return times.reset_index(drop=True)
