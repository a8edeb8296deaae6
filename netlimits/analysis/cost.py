"""What a packet costs and what a byte costs: service demand split in two.

Per-packet costs do not depend on a packet's size, per-byte costs not on the number of packets
("A Brief Look at Network Performance Limiters"). So the CPU time of a packet of k KiB is

    t = a + b k,    with t = service demand × k

a per packet, b per KiB. `time_per_send` takes the wall time of a send instead, 8 × size / send
throughput: where one CPU is the limit it is that CPU's time.

Fit: weighted least squares over the runs. A run's error is taken to be the same fraction of t
at every size, so its weight is 1 / (mean t of its size)². Standard errors are robust (HC3,
MacKinnon and White 1985), intervals Student's t with n − 2 degrees of freedom. The condition
number is that of the weighted design with columns of unit length (Belsley, Kuh and Welsch
1980), who call figures above 30 harmful.

Whether it is a straight line at all is tested where three sizes and more were repeated: what the
line leaves over at the sizes' means is held against how runs of each size differ, each by its own
(Welch 1951, James 1951; critical values by Johansen 1980), since one noisy size would else make a
misfit of a straight line in one campaign of six. What a block's runs have in common moves along the
line and is no misfit. `benchmarks/coverage.py` prints how often the test alarms falsely. Where the
line does not fit, the intervals of a and b hold for neither (with 300 ns more above 4 KiB they
cover 19 % and 0 %), and a note says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from netlimits.analysis import caveats, contrasts, frames, pooling, wording
from netlimits.errors import DataError
from netlimits.metrics import metric

HARMFUL = 30.0
TIME_PER_SEND = "time_per_send"
UNFIT = 0.05
"""A p-value of the test for lack of fit at which the straight line is not believed."""
LEAST = 0.3
"""A size's variance is at least this share of the sizes' median, and so are its degrees of freedom
of those that it had without blocks."""


def cost(
    frame: pd.DataFrame,
    of: str | Sequence[str] = ("local_sd", "remote_sd"),
    size: str = "send_size",
    series: str | Sequence[str] = (),
    confidence: float = 0.95,
    pool: str | Sequence[str] = (),
) -> pd.DataFrame:
    """Per-packet and per-byte cost of each metric and series.

    `of` are service demands per KiB, or `time_per_send`; `size` is the factor that holds the
    bytes of data in a packet (`mss` for TCP without segmentation offload). Returns `of`, the
    series' factors, `n`, `sizes`, `packet_ns` with `packet_ns_low` and `packet_ns_high`,
    `kib_ns` with its own, `condition` and `r2` (of the weighted fit), and `lack_of_fit_p` (NaN
    where it cannot be tested). `pool` names factors that may differ within a fit.

    Raises DataError, with the reason, when the data cannot separate the two costs: one size
    only, sizes too close together, too few runs, or a run that alone decides one of them.
    """
    names = [of] if isinstance(of, str) else list(of)
    frame, (keys, (size,), meant) = frames.apart(frame, series, size, pool)
    pooling.refuse(frames.usable(frame), [*keys, size], meant)
    rows = []
    unfit = []
    for name in names:
        table = packet_times(frame, name, size, keys)
        for key, part in frames.groups(table, keys):
            where = ", ".join(wording.phrases(key, keys))
            about = f"{name}{f' ({where})' if where else ''}"
            kib, ns = part["kib"].to_numpy(), part["ns"].to_numpy()
            fitted = _fit(kib, ns, confidence, about)
            p = lack_of_fit(kib, ns, contrasts.blocks(part))
            if p < UNFIT:
                unfit.append(f"{about}: {_unfit(p)}")
            rows.append(
                {"of": name, **dict(zip(keys, key, strict=True)), **fitted, "lack_of_fit_p": p}
            )
    table = pd.DataFrame(rows)
    table.attrs["notes"] = (*_notes(frame, names), *unfit)
    return table


def packet_times(
    frame: pd.DataFrame, of: str, size: str = "send_size", series: Sequence[str] = ()
) -> pd.DataFrame:
    """Each run's time per packet: the series' factors, `size`, `kib` (of data) and `ns`.

    And its `campaign` and `block`, where it has them. Raises DataError for a metric that is not
    there or is no service demand per KiB, for sizes that are no numbers, for runs without a value,
    and for times that are not above zero.
    """
    frame, (keys, (size,)) = frames.apart(frame, list(series), size)
    runs = frames.usable(frame)
    kib = _kib(runs, size)
    if of == TIME_PER_SEND:
        sent = frames.metric_beside(frame, frames.sent(frame), [*keys, size]).column
        frames.complete(runs, [sent, size])
        ns = 8e3 * 1024 * kib / runs[sent]
    else:
        if not metric(of).column.endswith("_us_per_kib"):
            raise DataError(f"{of} is no service demand per KiB; nor is it {TIME_PER_SEND}")
        demand = frames.metric_beside(frame, of, [*keys, size]).column
        frames.complete(runs, [demand, size])
        ns = 1e3 * runs[demand] * kib
    table = runs[keys].assign(**{size: runs[size], "kib": kib, "ns": ns})
    for name in ("campaign", "block"):
        if name in runs.columns and name not in table.columns:
            table[name] = runs[name]
    if not ((table["ns"] > 0) & np.isfinite(table["ns"]) & (table["kib"] > 0)).all():
        raise DataError(f"{of}: a time per packet must be above zero, and so must {size}")
    return table


def _kib(runs: pd.DataFrame, size: str) -> pd.Series[float]:
    """The sizes in KiB. Raises DataError where they are no numbers."""
    if pd.api.types.is_bool_dtype(runs[size]):
        raise DataError(f"{size} is true or false: a size is a number of bytes")
    try:
        kib: pd.Series[float] = runs[size].astype(float) / 1024
    except (TypeError, ValueError):
        raise DataError(f"{size} must be a number of bytes in every run") from None
    return kib


def lack_of_fit(kib: np.ndarray, ns: np.ndarray, blocks: pd.Series[Any] | None = None) -> float:
    """The p-value of the test for lack of fit; NaN where it cannot be computed.

    A small value says that time per packet is not a straight line in size. Each size has a
    variance of its own. Differences between blocks are taken out of it, since runs of one block
    share its speed. Sizes that ran once say nothing of how they spread, and are left out.
    """
    from scipy.stats import f

    named = None if blocks is None else np.unique(blocks.to_numpy(), return_inverse=True)[1]
    _, place, counts = np.unique(kib, return_inverse=True, return_counts=True)
    repeated = counts[place] > 1
    if not repeated.all():
        kib, ns = kib[repeated], ns[repeated]
        named = None if named is None else named[repeated]
        _, place, counts = np.unique(kib, return_inverse=True, return_counts=True)
    if len(counts) < 3:
        return float("nan")
    means = np.bincount(place, ns) / counts
    variances, freedom = _variances(ns / means[place] - 1, place, named)
    if not (variances > 0).all():
        return float("nan")
    weights = counts / variances
    design = np.column_stack([np.ones(len(counts)), np.unique(kib)]) / means[:, None]
    onto = np.linalg.solve(design.T @ (weights[:, None] * design), design.T * weights)
    missed = 1 - design @ onto.sum(axis=1)
    left = 1 - np.einsum("ij,ji->i", design, onto)
    count = len(counts) - 2
    unsure = float((left**2 / freedom).sum())
    scale = count + 2 * unsure - 6 * unsure / (count + 2)
    ratio = float((weights * missed**2).sum()) / scale
    return float(f.sf(ratio, count, count * (count + 2) / (3 * unsure)))


def _variances(
    shares: np.ndarray, place: np.ndarray, blocks: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray]:
    """The variance of each size's runs, and its degrees of freedom.

    What a block's runs have in common is their mean, each size weighted by how little its runs
    differ, so that a noisy one does not make noise of the others. A variance from few runs may be
    far too small by chance: it is at least LEAST of the sizes' median.
    """
    counts = np.bincount(place)

    def centred(values: np.ndarray) -> np.ndarray:
        less: np.ndarray = values - (np.bincount(place, values) / counts)[place]
        return less

    def spread(values: np.ndarray) -> np.ndarray:
        sizes: np.ndarray = np.bincount(place, values**2) / (counts - 1)
        sizes[sizes < LEAST * np.median(sizes)] = LEAST * np.median(sizes)
        return sizes

    shares = centred(shares)
    if blocks is None or blocks.max() == 0:
        return spread(shares), counts - 1.0
    medians = pd.Series(shares).groupby(blocks).transform("median").to_numpy()
    own = centred(shares - medians)
    for _ in range(3):
        if not (spread(own) > 0).all():
            break
        weights = 1 / spread(own)[place]
        lever = weights / np.bincount(blocks, weights)[blocks]
        own = centred(shares - np.bincount(blocks, lever * shares)[blocks])
    else:
        free = np.maximum(np.bincount(place, 1 - lever) / counts, LEAST)
        return spread(own) / free, (counts - 1) * free
    return spread(shares), counts - 1.0


def _unfit(p: float) -> str:
    chance = f"p = {p:.2g}" if p >= 1e-4 else "p < 0.0001"
    return (
        f"a straight line does not fit (lack of fit, {chance}): there is more than a cost of a "
        "packet and one of a byte, and the intervals do not hold"
    )


def _fit(kib: np.ndarray, ns: np.ndarray, confidence: float, about: str) -> dict[str, Any]:
    """The weighted fit of ns on 1 and kib, refused where it would mean nothing."""
    import statsmodels.api as sm

    sizes, place = np.unique(kib, return_inverse=True)
    if len(sizes) < 2:
        raise DataError(
            f"{about}: all packets have {kib[0] * 1024:g} bytes; per-packet and per-byte cost "
            "need at least two sizes"
        )
    if len(kib) < 4:
        raise DataError(f"{about}: {len(kib)} runs are too few to tell two costs and their error")
    means = np.bincount(place, ns) / np.bincount(place)
    design = np.column_stack([np.ones_like(kib), kib])
    root = design / means[place][:, None]
    scaled = root / np.linalg.norm(root, axis=0)
    condition = float(np.linalg.cond(scaled))
    if condition > HARMFUL:
        raise DataError(
            f"{about}: packets of {sizes[0] * 1024:g} to {sizes[-1] * 1024:g} bytes are too alike "
            f"to tell the two costs apart (condition number {condition:.0f}, above {HARMFUL:.0f})"
        )
    hat = np.einsum("ij,ji->i", root, np.linalg.pinv(root))
    if hat.max() > 1 - 1e-9:
        lone = kib[int(hat.argmax())] * 1024
        raise DataError(f"{about}: one run alone has {lone:g} bytes and decides a cost; repeat it")
    fit = sm.WLS(ns, design, weights=means[place] ** -2.0).fit(cov_type="HC3", use_t=True)
    (packet, byte), limits = fit.params, fit.conf_int(1 - confidence)
    return {
        "n": len(kib),
        "sizes": len(sizes),
        "packet_ns": packet,
        "packet_ns_low": limits[0][0],
        "packet_ns_high": limits[0][1],
        "kib_ns": byte,
        "kib_ns_low": limits[1][0],
        "kib_ns_high": limits[1][1],
        "condition": condition,
        "r2": fit.rsquared,
    }


def _notes(frame: pd.DataFrame, names: Sequence[str]) -> tuple[str, ...]:
    """What a reader must know, in sentences.

    Of loss too, since netperf divides both sides' cost by the bytes that were sent.
    """
    notes = list(caveats.notes(frame, [f"_{name}_" for name in names]))
    if any(name.startswith("remote") for name in names) and (lossy := caveats.losses(frame)):
        notes = [note for note in notes if lossy not in note]
        notes.append(f"{lossy}: the receiver's cost is per packet sent")
    return tuple(notes)
