"""Split service demand into the cost of a packet and the cost of a byte.

The CPU time of a packet of k KiB is t = a + b k = service demand × k ("A Brief Look at Network
Performance Limiters"). The fit is weighted least squares over the runs, with weights 1 / (mean t of
the size)². Intervals come from a delete-a-block jackknife (Tukey 1958) or, for runs without blocks,
from robust standard errors (HC3, MacKinnon and White 1985). The condition number is that of the
weighted design with columns of unit length. Belsley, Kuh and Welsch (1980) call values above 30
harmful.

If three or more sizes were repeated, a test shows whether a straight line fits. It compares each
size's mean logarithm of t, adjusted for block effects, with the line. Each size has its own
variance (Welch 1951, James 1951; critical values by Johansen 1980), because otherwise one noisy
size would look like a misfit.
`benchmarks/coverage.py` prints the rate of false alarms.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import stdtrit

from netlimits.analysis import caveats, frames, pooling, wording
from netlimits.analysis.statistics import dependence, intervals
from netlimits.analysis.statistics.intervals import ENOUGH
from netlimits.errors import DataError
from netlimits.metrics import metric

HARMFUL = 30.0
TIME_PER_SEND = "time_per_send"
UNFIT = 0.05
"""Largest p-value of the test for lack of fit at which a note rejects the straight line."""
STEPS = 4
"""Number of iterations of variances and line. More iterations change nothing."""
FEW_BLOCKS = (
    f"intervals are wide: a jackknife of fewer than {ENOUGH} blocks; `netlimits extend` adds blocks"
)
LEAST = 0.3
"""Minimum of a size's variance, as a share of the median variance of all sizes.

The same share limits a size's degrees of freedom: at least LEAST × (number of its runs − 1)."""


def cost(
    frame: pd.DataFrame,
    of: str | Sequence[str] = ("local_sd", "remote_sd"),
    size: str = "send_size",
    series: str | Sequence[str] = (),
    confidence: float = 0.95,
    pool: str | Sequence[str] = (),
) -> pd.DataFrame:
    """Estimate the cost of a packet and of a KiB for each metric and series.

    Args:
        frame: A row for each run.
        of: Service demands per KiB, or `time_per_send`.
        size: Factor with the bytes of data in a packet (`mss` for TCP without segmentation
            offload).
        series: Factors whose combinations are fitted separately.
        confidence: Confidence level of the intervals.
        pool: Factors that may differ within a fit.

    Returns:
        `of`, the factors, `n`, `sizes`, `packet_ns` and `kib_ns`, each with `…_low` and `…_high`,
        `condition` and `r2` of the weighted fit, and `lack_of_fit_p` (NaN if it cannot be tested).

    Raises:
        DataError: The data cannot separate the two costs: one size only, sizes too similar, too few
            runs, or a single run that decides one of them.
    """
    names = frames.as_list(of)
    frame, (keys, (size,), pooled) = frames.resolve(frame, series, size, pool)
    pooling.refuse(frames.usable(frame), [*keys, size], pooled)
    rows = []
    unfit = []
    few = False
    dependent: list[str] = []
    for name in names:
        table = packet_times(frame, name, size, keys)
        for key, part in frames.groups(table, keys):
            where = ", ".join(wording.phrases(key, keys))
            about = f"{name}{f' ({where})' if where else ''}"
            kib, ns = part["kib"].to_numpy(), part["ns"].to_numpy()
            blocks = _numbered(frames.blocks(part))
            fitted = _fit(kib, ns, blocks, confidence, about)
            few |= blocks is not None and int(blocks.max()) + 1 < ENOUGH
            p = lack_of_fit(kib, ns, blocks)
            if blocks is not None:
                dependent += _dependence_notes(part, size, about)
            if p < UNFIT:
                unfit.append(f"{about}: {_unfit(p)}")
            rows.append(
                {"of": name, **dict(zip(keys, key, strict=True)), **fitted, "lack_of_fit_p": p}
            )
    table = pd.DataFrame(rows)
    table.attrs["notes"] = (
        *_notes(frame, names),
        *unfit,
        *dependent,
        *([FEW_BLOCKS] if few else []),
    )
    return table


def packet_times(
    frame: pd.DataFrame, of: str, size: str = "send_size", series: Sequence[str] = ()
) -> pd.DataFrame:
    """Compute each run's time per packet.

    Args:
        frame: A row for each run.
        of: A service demand per KiB, or `time_per_send`.
        size: Factor with the bytes of data in a packet.
        series: Factors to keep.

    Returns:
        A row for each run that counts: the factors, `size`'s column, `kib` of data and `ns` per
        packet, and `campaign` and `block` if present.

    Raises:
        DataError: A column is missing, a value is not above zero, or `of` is another metric.
    """
    frame, (keys, (size,)) = frames.resolve(frame, list(series), size)
    runs = frames.usable(frame)
    kib = frames.positive(runs, size) / 1024
    if of == TIME_PER_SEND:
        sent = frames.metric_for(frame, frames.sent(frame), [*keys, size]).column
        frames.complete(runs, [sent, size])
        ns = 8e3 * 1024 * kib / frames.positive(runs, sent)
    else:
        if not metric(of).column.endswith("_us_per_kib"):
            raise DataError(f"of: {of} is not a service demand per KiB, nor {TIME_PER_SEND}")
        demand = frames.metric_for(frame, of, [*keys, size]).column
        frames.complete(runs, [demand, size])
        ns = 1e3 * frames.positive(runs, demand) * kib
    table = runs[keys].assign(**{size: runs[size], "kib": kib, "ns": ns})
    for name in ("campaign", "block"):
        if name in runs.columns and name not in table.columns:
            table[name] = runs[name]
    return table


def _numbered(blocks: pd.Series[Any] | None) -> np.ndarray | None:
    """Return the runs' blocks, numbered from 0; None if there are fewer than two blocks."""
    if blocks is None:
        return None
    names, numbers = np.unique(blocks.to_numpy(), return_inverse=True)
    return numbers if len(names) > 1 else None


def _dependence_notes(times: pd.DataFrame, size: str, about: str) -> Iterator[str]:
    """Yield a note if consecutive blocks depend on each other, since the intervals ignore that."""
    order = dependence.order(times)
    values = times["ns"].to_numpy()
    sizes = times.groupby(size, sort=False).indices.values()
    blocks = dependence.by_block(order, ((order.codes[rows], values[rows]) for rows in sizes))
    correlation, p = dependence.autocorrelation(blocks)
    if p <= dependence.LEVEL:
        yield (
            f"{about}: intervals are too narrow, because consecutive blocks are alike "
            f"(lag-1 correlation {correlation:.2f})"
        )


def lack_of_fit(kib: np.ndarray, ns: np.ndarray, blocks: np.ndarray | None = None) -> float:
    """Test whether time per packet is a straight line in size.

    Args:
        kib: KiB of data in a packet, for each run.
        ns: Time per packet in ns, for each run.
        blocks: Each run's block as a number from 0; None if runs have no blocks.

    Returns:
        The p-value of the straight line. NaN if it cannot be tested, for example because fewer than
        three sizes were repeated.
    """
    from scipy.stats import f

    blocks = np.zeros(len(kib), int) if blocks is None else blocks
    while True:
        place, block = (np.unique(of, return_inverse=True)[1] for of in (kib, blocks))
        kept = (np.bincount(place)[place] > 1) & (np.bincount(block)[block] > 1)
        if kept.all():
            break
        kib, ns, blocks = kib[kept], ns[kept], blocks[kept]
    if not len(kib) or place.max() < 2:
        return float("nan")
    effects = _effects(np.log(ns), place, block)
    if effects is None:
        return float("nan")
    logs, information, freedom = effects
    line, design = _line(logs, np.unique(kib), information)
    onto = np.linalg.pinv(design.T @ information @ design) @ design.T @ information
    missed = logs - line - design @ (onto @ (logs - line))
    unknown = np.linalg.pinv(information)
    left = np.diag(unknown @ (information - information @ design @ onto))
    count = round(float(left.sum()))
    if count < 1:
        return float("nan")
    unsure = float((left**2 / freedom).sum())
    scale = count + 2 * unsure - 6 * unsure / (count + 2)
    ratio = float(missed @ information @ missed) / scale
    return float(f.sf(ratio, count, count * (count + 2) / (3 * unsure)))


def _line(
    logs: np.ndarray, kib: np.ndarray, information: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the logarithms of the best line, and their derivatives by the line's two costs."""
    design = np.column_stack([np.ones(len(kib)), kib])
    level = np.exp(logs - logs.mean())
    costs = np.linalg.lstsq(design / level[:, None], np.ones(len(kib)), rcond=None)[0]
    for _ in range(STEPS):
        line = design @ costs
        if not (line > 0).all():
            break
        slopes = design / line[:, None]
        weighted = slopes.T @ information
        step = np.linalg.pinv(weighted @ slopes) @ weighted @ (logs - np.log(line))
        costs = costs + step
    line = design @ costs
    line = line if (line > 0).all() else level
    return np.log(line), design / line[:, None]


def _effects(
    logs: np.ndarray, place: np.ndarray, block: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """Return the effects of the sizes, their information matrix, and the degrees of freedom.

    The model is log t ~ size + block, with a variance for each size. A size's effect is its mean
    logarithm plus half its variance: about the logarithm of its mean. Return None if the median
    variance of the sizes is 0.
    """
    sizes, counts = int(place.max()) + 1, np.bincount(place)
    table = np.zeros((int(block.max()) + 1, sizes))
    np.add.at(table, (block, place), 1.0)
    variances = np.ones(sizes)
    for _ in range(STEPS):
        weights = table / variances
        of_blocks = weights.sum(axis=1)
        shares = weights / of_blocks[:, None]
        information = np.diag(weights.sum(axis=0)) - weights.T @ shares
        unknown = np.linalg.pinv(information, hermitian=True)
        each = 1 / variances[place]
        level = np.bincount(block, each * logs) / of_blocks
        effects = unknown @ np.bincount(place, each * (logs - level[block]))
        own = logs - effects[place] - (level - shares @ effects)[block]
        # a run's leverage is the variance of its fitted value: the sum of the variances of
        # (its size's effect - its block's mean effect) and of its block's level
        cross = unknown @ shares.T
        lever = np.diag(unknown)[place] - 2 * cross[place, block]
        lever += np.einsum("bi,ib->b", shares, cross)[block] + 1 / of_blocks[block]
        freedom = np.bincount(place, 1 - each * lever)
        freedom = np.maximum(freedom, LEAST * (counts - 1))
        variances = np.bincount(place, own**2) / freedom
        if not np.median(variances) > 0:
            return None
        variances = np.maximum(variances, LEAST * np.median(variances))
    return effects + variances / 2, information, freedom


def _unfit(p: float) -> str:
    return (
        "the intervals do not hold, because a straight line does not fit (lack of fit, "
        f"{wording.p_value(p)}): there are more costs than those of a packet and a byte"
    )


def _fit(
    kib: np.ndarray, ns: np.ndarray, blocks: np.ndarray | None, confidence: float, about: str
) -> dict[str, Any]:
    """Return the weighted fit of ns on 1 and kib.

    Raises DataError if the data cannot separate the two costs.
    """
    sizes, place = np.unique(kib, return_inverse=True)
    if len(sizes) < 2:
        raise DataError(
            f"{about}: all packets have {kib[0] * 1024:g} bytes; per-packet and per-byte cost "
            "need at least two sizes"
        )
    if len(kib) < 4:
        raise DataError(f"{about}: {len(kib)} runs are too few for two costs and their error")
    means = np.bincount(place, ns) / np.bincount(place)
    design = np.column_stack([np.ones_like(kib), kib])
    root = design / means[place][:, None]
    scaled = root / np.linalg.norm(root, axis=0)
    condition = float(np.linalg.cond(scaled))
    if condition > HARMFUL:
        raise DataError(
            f"{about}: packets of {sizes[0] * 1024:g} to {sizes[-1] * 1024:g} bytes are too "
            f"similar to separate the two costs (condition number {condition:.0f}, above "
            f"{HARMFUL:.0f})"
        )
    inverse = np.linalg.pinv(root)
    hat = np.einsum("ij,ji->i", root, inverse)
    if hat.max() > 1 - 1e-9:
        lone = kib[int(hat.argmax())] * 1024
        raise DataError(f"{about}: a single run has {lone:g} bytes and decides a cost; repeat it")
    shares, weights = ns / means[place], means[place] ** -2.0
    costs = inverse @ shares
    errors = shares - root @ costs
    without = None if blocks is None else _leave_one_out(root, shares, blocks)
    if without is not None:
        each = zip(costs, without.T, strict=True)
        limits = [intervals.jackknife(estimate, part, confidence)[1:3] for estimate, part in each]
    else:  # HC3
        half = np.sqrt(((inverse * errors / (1 - hat)) ** 2).sum(axis=1))
        half *= stdtrit(len(kib) - 2, (1 + confidence) / 2)
        limits = list(zip(costs - half, costs + half, strict=True))
    spread = weights @ (ns - np.average(ns, weights=weights)) ** 2
    return {
        "n": len(kib),
        "sizes": len(sizes),
        "packet_ns": costs[0],
        "packet_ns_low": limits[0][0],
        "packet_ns_high": limits[0][1],
        "kib_ns": costs[1],
        "kib_ns_low": limits[1][0],
        "kib_ns_high": limits[1][1],
        "condition": condition,
        "r2": 1 - float(errors @ errors / spread),
    }


def _leave_one_out(design: np.ndarray, shares: np.ndarray, blocks: np.ndarray) -> np.ndarray | None:
    """Return both costs for each block left out; None if the rest cannot separate the costs."""
    order = np.argsort(blocks, kind="stable")
    starts = np.flatnonzero(np.diff(blocks[order], prepend=-1))
    products = design[order][:, :, None] * design[order][:, None, :]
    normals = np.add.reduceat(products, starts)
    sides = np.add.reduceat(design[order] * shares[order][:, None], starts)
    left = normals.sum(axis=0) - normals
    scale = np.sqrt(np.einsum("bii->bi", left))
    if not (scale > 0).all():
        return None
    if np.linalg.cond(left / (scale[:, :, None] * scale[:, None, :])).max() > HARMFUL**2:
        return None
    return np.array(np.linalg.solve(left, (sides.sum(axis=0) - sides)[:, :, None])[:, :, 0])


def _notes(frame: pd.DataFrame, names: Sequence[str]) -> tuple[str, ...]:
    """Return the caveats; the note on losses refers to the cost per packet, not per KiB."""
    notes = list(caveats.notes(frame, [f"_{name}_" for name in names]))
    if any(name.startswith("remote") for name in names) and (lossy := caveats.losses(frame)):
        notes = [note for note in notes if lossy not in note]
        notes.append(f"the receiver's cost is per packet sent: {lossy}")
    return tuple(notes)
