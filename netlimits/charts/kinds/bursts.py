"""Charts of packet traces: bursts over time, their sizes, and the first burst of a transaction."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator, NullLocator

from netlimits.analysis import frames
from netlimits.analysis.bursts import burst_sizes, over_transactions
from netlimits.analysis.bursts import bursts as bursts_frame
from netlimits.charts._colours import GREY, KNOWN, series_styles
from netlimits.charts._labels import heading, label_ends
from netlimits.charts._style import Chart, blank, style
from netlimits.errors import DataError

SEGMENTS, ACKS = KNOWN["sender"], KNOWN["receiver"]
SHADE = "#E3E9EF"
LABELLED = 40
"""With more bursts or bars than this, none has a label. With more ACKs, their markers are small."""

MANY = 20
"""Number of transactions above which the axis of transactions is logarithmic."""


def bursts(
    packets: pd.DataFrame,
    *,
    connection: int | None = None,
    first_transaction: int = 1,
    transactions: int | None = None,
    run: int | None = None,
    title: str | None = None,
) -> Chart:
    """Draw the sequence numbers of segments and ACKs over time, and bursts with their sizes.

    Args:
        packets: Packets, as `analysis.bursts.trace` or `campaign.traces()` returns them.
        connection: Connection to draw, by default the connection with the most data.
        first_transaction: Number of the first transaction in the trace.
        transactions: Number of transactions to draw, by default all.
        run: Run to draw, if the frame contains several.
        title: Title of the chart, instead of a standard title.

    Returns:
        One panel: data in KiB by sequence number over time in ms.

    Raises:
        DataError: The trace has no data segment, or the connection or run does not exist.
    """
    rows, others = _one_connection(frames.one_run(packets, run), connection)
    table = bursts_frame(rows, first_transaction=first_transaction)
    if transactions is not None:
        table = table[table["transaction"] < first_transaction + transactions]
        rows = rows.iloc[: _answered(rows, int(table["last"].max()) + 1)]
    source, port = str(table["source"].iloc[0]), int(table["source_port"].iloc[0])
    sent = (rows["source"] == source) & (rows["source_port"] == port)
    bottom = float(rows.loc[sent & (rows["length_bytes"] > 0), "seq_start"].min())
    places = rows.assign(
        ms=rows["time_s"] * 1e3,
        low=(rows["seq_start"].astype("float64") - bottom) / 1024,
        high=(rows["seq_end"].astype("float64") - bottom) / 1024,
        acked=(rows["ack"].astype("float64").clip(lower=bottom) - bottom).cummax() / 1024,
    )
    with style():
        figure, (axes,) = blank(8.2, 4.6)
        _packets(axes, places[sent], places[~sent])
        _marks(axes, table, bottom)
        axes.set_xlabel("Time (ms)")
        axes.set_ylabel("Data, by sequence number (KiB)")
        axes.legend(loc="upper left")
        about = (
            f"{len(table)} bursts; numbers: segments of a burst, bold the first of a transaction"
        )
        if len(table) > LABELLED:
            about = f"{len(table)} bursts of at most {table['segments'].max()} segments"
        title = title or f"Bursts from {source} port {port}"
        heading(axes, title, packets.attrs.get("run", ""), about + others)
    return figure


def _answered(rows: pd.DataFrame, start: int) -> int:
    """Return the index of the first row with data at or after row `start`.

    `start` follows the last segment to draw. The rows from there to the returned index are drawn
    too, since they contain the ACKs of that segment.
    """
    data = np.flatnonzero(rows["length_bytes"].to_numpy()[start:] > 0)
    return start + int(data[0]) if len(data) else len(rows)


def _packets(axes: Axes, sent: pd.DataFrame, back: pd.DataFrame) -> None:
    """Draw segments as vertical lines, ACKs as a step line, and requests along the x-axis."""
    data = sent[sent["length_bytes"] > 0]
    acks = back[back["ack"].notna() & ~back["flags"].str.contains("S", regex=False)]
    requests = back[back["length_bytes"] > 0]
    pure = int((acks["kind"] == "ack").sum())
    label = f"segment ({len(data)})"
    axes.vlines(data["ms"], data["low"], data["high"], color=SEGMENTS, lw=1.8, label=label)
    axes.step(
        acks["ms"],
        acks["acked"],
        where="post",
        color=ACKS,
        lw=1,
        marker="o",
        ms=3.5 if len(acks) <= LABELLED else 1.5,
        label=f"acknowledged ({pure} ACKs)",
    )
    if len(requests):
        axes.plot(
            requests["ms"],
            [0.02] * len(requests),
            transform=axes.get_xaxis_transform(),
            color=GREY,
            marker="^",
            ls="",
            ms=5,
            label=f"request ({len(requests)})",
        )
    top = float(data["high"].max())
    axes.set_ylim(-0.06 * top, top * 1.1)


def _marks(axes: Axes, table: pd.DataFrame, bottom: float) -> None:
    """Shade each burst. If there are at most LABELLED bursts, write each burst's size above it."""
    for burst in table.to_dict("records"):
        start, end = burst["start_s"] * 1e3, burst["end_s"] * 1e3
        axes.axvspan(start, end, color=SHADE, lw=2, zorder=0)
        if len(table) > LABELLED:
            continue
        first = burst["burst"] == 1
        axes.annotate(
            str(burst["segments"]),
            (end, (burst["seq_end"] - bottom) / 1024),
            xytext=(0, 3),
            textcoords="offset points",
            ha="center",
            fontsize=11 if first else 8.5,
            fontweight="bold" if first else "normal",
            color=SEGMENTS,
        )


def _one_connection(packets: pd.DataFrame, connection: int | None) -> tuple[pd.DataFrame, str]:
    """Return the packets of one connection, and a note on the number of other connections."""
    held = packets.groupby("connection")["length_bytes"].sum()
    chosen = held.idxmax() if connection is None else connection
    if chosen not in held.index:
        names = ", ".join(map(str, held.index))
        raise DataError(f"the trace has no connection {chosen}; it has {names}")
    others = len(held) - 1
    remark = f" · {others} other connection{'s' if others > 1 else ''} not drawn" if others else ""
    return packets[packets["connection"] == chosen], remark


def first_bursts(
    packets: pd.DataFrame,
    series: str | Sequence[str] = (),
    first_transaction: int = 1,
    title: str | None = None,
) -> Chart:
    """Draw the number of segments sent before the first ACK arrives, against the transaction.

    Lines are medians of the runs. Bands reach from the minimum to the maximum of the runs.

    Args:
        packets: Packets of several runs (`campaign.traces()`).
        series: Factors whose combinations are the lines.
        first_transaction: Number of the first transaction in each trace.
        title: Title of the chart, instead of a standard title.

    Returns:
        One panel: segments over transactions. The x-axis is logarithmic from 21 transactions on.

    Raises:
        DataError: No transaction is complete, or a trace has no data segment.
    """
    keys = frames.factors(packets, series)
    table = over_transactions(packets, keys, first_transaction)
    parts = frames.groups(table, keys)
    styles = series_styles([key for key, _ in parts], keys)
    with style():
        figure, (axes,) = blank()
        ends = []
        for key, part in parts:
            line = styles[key]
            x = part["transaction"]
            axes.fill_between(x, part["min"], part["max"], color=line.color, alpha=0.18, lw=0)
            axes.plot(x, part["median"], **line.plot | ({"marker": ""} if len(x) > 40 else {}))
            ends.append((float(x.iloc[-1]), float(part["median"].iloc[-1]), line))
        last = int(table["transaction"].max())
        if last > MANY and first_transaction > 0:
            axes.set_xscale("log")  # bursts grow mainly in the first transactions
            ticks = [t for t in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000) if t <= last]
            axes.set_xticks(ticks, [f"{t:,}" for t in ticks])
            axes.xaxis.set_minor_locator(NullLocator())
        else:
            axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.set_xlim(first_transaction, max(last, first_transaction + 1))
        axes.set_ylim(0, float(table["max"].max()) * 1.1)
        axes.yaxis.set_major_locator(MaxNLocator(integer=True))
        axes.set_xlabel("Transaction on the connection")
        axes.set_ylabel("First burst of the transaction (segments)")
        runs = int(table["runs"].max())
        about = f"{runs} runs a curve: median, minimum and maximum" if runs > 1 else ""
        heading(axes, title or "Segments sent before the first ACK arrives", about)
        if keys:
            label_ends(axes, ends)
    return figure


def burst_histogram(
    packets: pd.DataFrame, run: int | None = None, title: str | None = None
) -> Chart:
    """Draw a histogram of the sizes of bursts.

    Args:
        packets: Frame of packets (`analysis.bursts.trace`), of bursts (`analysis.bursts.bursts`),
            or of bursts of ACKs (`analysis.bursts.ack_bursts`).
        run: Run to draw, if the frame contains several.
        title: Title of the chart, instead of a standard title.

    Returns:
        One panel: the number of bursts over their size in segments or ACKs.

    Raises:
        DataError: There are no bursts, or the run does not exist.
    """
    table = frames.one_run(packets, run)
    if not {"segments", "acks"} & {*table.columns}:
        table = bursts_frame(table)
    sizes = burst_sizes(table)
    unit, color = ("segments", SEGMENTS) if "segments" in table else ("ACKs", ACKS)
    total = int((sizes["size"] * sizes["bursts"]).sum())
    with style():
        figure, (axes,) = blank(5.6, 3.4)
        bars = axes.bar(sizes["size"], sizes["bursts"], width=0.8, color=color)
        if len(sizes) <= LABELLED:
            axes.bar_label(bars, padding=2, fontsize=8.5, color=GREY)
        axes.grid(visible=False, axis="x")
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.yaxis.set_major_locator(MaxNLocator(integer=True))
        axes.set_xlim(0.4, float(sizes["size"].max()) + 0.6)
        axes.set_ylim(0, float(sizes["bursts"].max()) * 1.15)
        axes.set_xlabel(f"Size of a burst ({unit})")
        axes.set_ylabel("Bursts")
        about = f"{len(table)} bursts of {total} {unit} in all"
        title = title or f"Number of {unit} in a burst"
        heading(axes, title, packets.attrs.get("run", ""), about)
    return figure


def busiest(
    packets: pd.DataFrame,
    connection: int | None = None,
    first_transaction: int = 1,
    run: int | None = None,
) -> pd.DataFrame:
    """Return the table for the chart `bursts`: a row for each burst of a connection.

    By default the table shows the connection with the most data.
    """
    rows, _ = _one_connection(frames.one_run(packets, run), connection)
    table = bursts_frame(rows, first_transaction=first_transaction)
    return table[["transaction", "burst", "start_s", "end_s", "segments"]]


def sizes(packets: pd.DataFrame, run: int | None = None) -> pd.DataFrame:
    """Return the table for the chart `burst_histogram`: the number of bursts of each size."""
    return burst_sizes(bursts_frame(frames.one_run(packets, run)))
