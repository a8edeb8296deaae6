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
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from netlimits.analysis import frames
from netlimits.errors import DataError
from netlimits.metrics import metric

HARMFUL = 30.0
TIME_PER_SEND = "time_per_send"
LOSS = 0.001
"""Above this share of packets lost, a reader must know what the receiver's figures divide by."""


def cost(
    frame: pd.DataFrame,
    of: str | Sequence[str] = ("local_sd", "remote_sd"),
    size: str = "send_size",
    series: str | Sequence[str] = (),
    confidence: float = 0.95,
) -> pd.DataFrame:
    """Per-packet and per-byte cost of each metric and series.

    `of` are service demands per KiB, or `time_per_send`; `size` is the factor that holds the
    bytes of data in a packet (`mss` for TCP without segmentation offload). Returns `of`, the
    series' factors, `n`, `sizes`, `packet_ns` with `packet_ns_low` and `packet_ns_high`,
    `kib_ns` with its own, `condition` and `r2` (of the weighted fit).

    Raises DataError, with the reason, when the data cannot separate the two costs: one size
    only, sizes too close together, too few runs, or a run that alone decides one of them.
    """
    names = [of] if isinstance(of, str) else list(of)
    keys = frames.factors(frame, series)
    frames.factors(frame, size)
    rows = []
    for name in names:
        table = packet_times(frame, name, size, keys)
        for key, part in frames.groups(table, keys):
            where = ", ".join(frames.said(key, keys))
            about = f"{name}{f' ({where})' if where else ''}"
            fitted = _fit(part["kib"].to_numpy(), part["ns"].to_numpy(), confidence, about)
            rows.append({"of": name, **dict(zip(keys, key, strict=True)), **fitted})
    found = pd.DataFrame(rows)
    found.attrs["notes"] = _notes(frame, names)
    return found


def packet_times(
    frame: pd.DataFrame, of: str, size: str = "send_size", series: Sequence[str] = ()
) -> pd.DataFrame:
    """Each run's time per packet: the series' factors, `size`, `kib` (of data) and `ns`."""
    runs = frames.usable(frame)
    kib = runs[size].astype(float) / 1024
    if of == TIME_PER_SEND:
        sent = frames.column(frame, "local_send_throughput").column
        frames.complete(runs, [sent, size])
        ns = 8e3 * runs[size].astype(float) / runs[sent]
    else:
        if not metric(of).column.endswith("_us_per_kib"):
            raise DataError(f"{of} is no service demand per KiB; nor is it {TIME_PER_SEND}")
        demand = frames.column(frame, of).column
        frames.complete(runs, [demand, size])
        ns = 1e3 * runs[demand] * kib
    table = runs[[*series]].assign(**{size: runs[size], "kib": kib, "ns": ns})
    if not ((table["ns"] > 0) & np.isfinite(table["ns"]) & (table["kib"] > 0)).all():
        raise DataError(f"{of}: a time per packet must be above zero, and so must {size}")
    return table


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
    """What a reader must know, loss included: netperf divides both sides' cost by bytes sent."""
    said = list(frames.notes(frame, [f"_{name}_" for name in names]))
    sent, arrived = "local_send_throughput_mbps", "remote_recv_throughput_mbps"
    if any(name.startswith("remote") for name in names) and {sent, arrived} <= set(frame.columns):
        runs = frames.usable(frame)
        lossy = int((runs[arrived] < (1 - LOSS) * runs[sent]).sum())
        if lossy:
            said.append(
                f"{lossy} of {len(runs)} runs lost packets: the receiver's cost is per packet sent"
            )
    return tuple(said)
