"""Bursts: how many segments, or ACKs, an end sends before a packet of its peer arrives.

*A burst is the longest run of packets of one kind from one end of a connection that no packet of
the other end interrupts*, in the order of the trace. Packets of other kinds from the same end
neither count nor interrupt. The sender is the end that sent more bytes of data (the server if
equal). The requester opened the connection or, if that is not in the trace, sent data first. A
transaction starts with the requester's first data after data of the other end.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from netlimits.analysis import frames
from netlimits.analysis.packets.traces import CONTROL_PORT, trace
from netlimits.errors import DataError

__all__ = ["CONTROL_PORT", "ack_bursts", "burst_sizes", "bursts", "first_of_transactions"]
__all__ += ["over_transactions", "trace"]

KEYS = ["connection", "transaction", "burst"]


def bursts(packets: pd.DataFrame, *, first_transaction: int = 1) -> pd.DataFrame:
    """Find the bursts of data segments in a trace.

    Args:
        packets: The frame of `trace`.
        first_transaction: Number of the trace's first transaction.

    Returns:
        A row for each burst, sorted by time: `connection`, `transaction`, `burst` (within its
        transaction, from 1), `source`, `source_port`, `start_s`, `end_s` (of its first and
        last packet), `segments`, `bytes`, `seq_start`, `seq_end`, `first` and `last` (rows of
        `packets`).

    Raises:
        DataError: The trace has no data segment.
    """
    segments = _burst_packets(packets, "segment", first_transaction)
    if segments.empty:
        raise DataError("the trace has no data segments, so there are no bursts")
    return _collapse(
        segments,
        segments=("length_bytes", "size"),
        bytes=("length_bytes", "sum"),
        seq_start=("seq_start", "min"),
        seq_end=("seq_end", "max"),
    )


def ack_bursts(packets: pd.DataFrame, *, first_transaction: int = 1) -> pd.DataFrame:
    """Find the bursts of pure ACKs that the receiver of the data sends.

    A request that acknowledges data carries data itself, so it is not a pure ACK. If the receiver
    acknowledges only with its own data, it sends no pure ACKs and the frame is empty.

    Args:
        packets: The frame of `trace`.
        first_transaction: Number of the trace's first transaction.

    Returns:
        The columns of `bursts`, with `acks` and `acked_bytes` instead of `segments`, `bytes`,
        `seq_start` and `seq_end`. `acked_bytes` are the newly acknowledged bytes (NaN if the trace
        does not show what had been acknowledged before its first ACK).
    """
    acks = _burst_packets(packets, "ack", first_transaction)
    return _collapse(acks, acks=("length_bytes", "size"), acked_bytes=("acked", _sum_or_nan))


def first_of_transactions(table: pd.DataFrame) -> pd.DataFrame:
    """Return the first burst of each transaction, which is sent before the first ACK arrives.

    Args:
        table: The frame of `bursts` or `ack_bursts`.

    Returns:
        The columns of `table`, with a row for each connection and transaction, and an index from 0.
    """
    return table[table["burst"] == 1].reset_index(drop=True)


def over_transactions(
    packets: pd.DataFrame, series: str | Sequence[str] = (), first_transaction: int = 1
) -> pd.DataFrame:
    """Summarize the first burst of each transaction over the runs of each combination of `series`.

    Args:
        packets: The frame of `trace`, or several with a column `run` and the factors
            (`campaign.traces()`). Only the connection with the most data of each run counts.
        series: Factors whose combinations are summarized.
        first_transaction: Number of each trace's first transaction.

    Returns:
        The factors, `transaction`, `min`, `median` and `max` of the burst's segments, and `runs`.
        The last transaction of a trace is left out, since the trace's limit may have cut it off.

    Raises:
        DataError: No transaction is left, or the trace has no data segment.
    """
    keys = frames.factors(packets, series)
    each = [*keys, "run"] if "run" in packets.columns else keys
    tables = []
    for key, rows in frames.groups(packets, each):
        held = rows.groupby("connection")["length_bytes"].sum()
        busiest = rows[rows["connection"] == held.idxmax()]
        table = first_of_transactions(bursts(busiest, first_transaction=first_transaction))
        table = table[table["transaction"] < table["transaction"].max()]
        tables.append(table.assign(**dict(zip(each, key, strict=True))))
    firsts = pd.concat(tables)
    if firsts.empty:
        raise DataError("the trace has no complete transaction; capture more packets")
    sizes = firsts.groupby([*keys, "transaction"], sort=False, dropna=False)["segments"]
    spread: pd.DataFrame = sizes.agg(min="min", median="median", max="max", runs="size")
    return spread.reset_index()


def burst_sizes(table: pd.DataFrame) -> pd.DataFrame:
    """Count the bursts of each size.

    Args:
        table: The frame of `bursts` (sizes in segments) or `ack_bursts` (in ACKs).

    Returns:
        `size`, `bursts`, `share_pct` and `cumulative_pct`.

    Raises:
        DataError: The frame is empty, or was not returned by `bursts` or `ack_bursts`.
    """
    size = "segments" if "segments" in table else "acks"
    if size not in table or table.empty:
        raise DataError("there are no bursts to count; give a frame of bursts or ack_bursts")
    counts = table[size].value_counts().sort_index()
    share = 100 * counts / counts.sum()
    return pd.DataFrame(
        {
            "size": counts.index.to_numpy(),
            "bursts": counts.to_numpy(),
            "share_pct": share.to_numpy(),
            "cumulative_pct": share.cumsum().to_numpy(),
        }
    )


def roles(packets: pd.DataFrame) -> pd.DataFrame:
    """Return the `requester` and the `sender` of each connection, as "address port"."""
    ends = _ends(packets)
    parties = []
    for connection, rows in packets.assign(end=ends).groupby("connection", sort=True):
        data = rows[rows["length_bytes"] > 0]
        opened = rows[rows["flags"].str.contains("S", regex=False)]
        if len(opened):
            opener = opened.iloc[0]
            end, peer = opener["end"], f"{opener['destination']} {opener['destination_port']}"
            requester = peer if "." in opener["flags"] else end
        else:
            requester = (data if len(data) else rows).iloc[0]["end"]
        sent = data.groupby("end")["length_bytes"].sum()
        request_bytes = sent.get(requester, 0)
        others = sent.drop(requester, errors="ignore")
        sender = requester if others.empty or request_bytes > others.iloc[0] else others.index[0]
        parties.append((connection, requester, sender))
    return pd.DataFrame(parties, columns=["connection", "requester", "sender"])


def _ends(packets: pd.DataFrame) -> pd.Series[str]:
    return packets["source"] + " " + packets["source_port"].astype(str)


def _burst_packets(packets: pd.DataFrame, kind: str, first: int) -> pd.DataFrame:
    """Return the packets of all bursts of `kind`, with their `transaction` and `burst`."""
    frame = packets.reset_index(drop=True)
    frame = frame.assign(row=frame.index, end=_ends(frame)).merge(
        roles(frame), on="connection", validate="many_to_one"
    )
    parts = [
        _connection_bursts(rows.sort_values("row"), kind, first)
        for _, rows in frame.groupby("connection", sort=True)
    ]
    return pd.concat(parts).sort_values("row")


def _connection_bursts(rows: pd.DataFrame, kind: str, first: int) -> pd.DataFrame:
    """Return the packets of one connection's bursts, given all its packets in order."""
    sending = rows["end"] == rows["sender"]
    data = rows["length_bytes"] > 0
    asks = (rows["end"] == rows["requester"])[data]
    starts = asks & ~asks.shift(fill_value=False)
    transaction = starts.reindex(rows.index, fill_value=False).cumsum() + first - 1

    acked = rows["ack"].where(~sending).astype("Float64")
    news = acked - acked.cummax().shift().ffill()
    mine = sending if kind == "segment" else ~sending
    interrupted = (~mine).cumsum()
    part = rows.assign(transaction=transaction, run=interrupted, acked=news.clip(lower=0))
    part = part[mine & (rows["kind"] == kind) & ~_opening(rows, sending & data)]
    breaks = part["run"].diff().ne(0) | part["transaction"].diff().ne(0)
    run = breaks.cumsum()
    before = run.groupby(part["transaction"]).transform("min")
    return part.assign(burst=run - before + 1)


def _opening(rows: pd.DataFrame, sent: pd.Series[bool]) -> pd.Series[bool]:
    """Return a mask of the packets before the first data, whose ACKs acknowledge no data.

    No packet is masked if the handshake is not in the trace: earlier data may be missing.
    """
    opened = bool(rows["flags"].str.contains("S", regex=False).any())
    return ~sent.cummax() & opened


def _collapse(packets: pd.DataFrame, **columns: tuple[str, object]) -> pd.DataFrame:
    """Return a row for each burst, in the order of their first packets."""
    table = packets.groupby(KEYS, sort=False).agg(
        source=("source", "first"),
        source_port=("source_port", "first"),
        start_s=("time_s", "first"),
        end_s=("time_s", "last"),
        **columns,
        first=("row", "first"),
        last=("row", "last"),
    )
    return table.reset_index().sort_values("first", ignore_index=True)


def _sum_or_nan(values: pd.Series[float]) -> float:
    return float(values.sum()) if values.notna().all() else np.nan
