"""The columns that a table or chart of a large campaign needs, so that no others are read.

Always needed are all factors and derived values, the columns that identify a run, and those that
analyses use by themselves (`LOOKED_AT`: analysis.caveats, the direction in analysis.frames). If the
columns cannot be known beforehand, or for an error that lists the metrics, all are read.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from netlimits.errors import InputError
from netlimits.experiment.report_schema import VERDICTS, WORDS
from netlimits.metrics import IDENTITY, metric

LIMITED_BY = "limited_by"
"""The one of IDENTITY that no campaign has by itself."""

LOOKED_AT = (
    *(
        "disturbed_pct",
        "local_other_cpu_pct",
        "remote_other_cpu_pct",
        "covered_pct",
        "loss_pct",
        "transport_mss_bytes",
        "paced_by",
    ),
    *("aggregated_runs", "transaction_rate_tps", "throughput_mbps"),
    *("local_send_throughput_mbps", "remote_recv_throughput_mbps"),
    *("local_recv_throughput_mbps", "remote_send_throughput_mbps"),
)
WINDOWS = ("window_s", "elapsed_s")
"""What they look at where both what was sent and what arrived is shown."""

CHARTS = ("percentiles", "boxes", "bars", "spread", "cost")
"""The charts that look at no other columns than those they are told."""


def of_tables(
    report: Sequence[Mapping[str, Any]], options: Mapping[str, Any]
) -> frozenset[str] | None:
    """Return the columns that the report's tables, or the options, need; None for all."""
    named = [entry for entry in report if "table" in entry and entry["table"] != VERDICTS]
    if any(entry["table"] in WORDS for entry in named):
        return None
    return _columns([*named, options])


def of_charts(
    report: Sequence[Mapping[str, Any]], options: Mapping[str, Any]
) -> frozenset[str] | None:
    named = [entry for entry in report if "chart" in entry]
    chart = options.get("chart")
    kinds = [chart] if chart else [entry["chart"] for entry in named]
    if not kinds or not {*kinds} <= {*CHARTS}:
        return None
    return _columns([*named, options])


def of_page(report: Sequence[Mapping[str, Any]]) -> frozenset[str] | None:
    tables, charts = of_tables(report, {}), of_charts(report, {})
    return None if tables is None or charts is None else tables | charts


def of_comparison(names: Sequence[str], gated: Sequence[str]) -> frozenset[str] | None:
    from netlimits.analysis import defaults

    return _columns([{"of": [*(names or defaults.TABLES), *gated]}])


def _columns(entries: Iterable[Mapping[str, Any]]) -> frozenset[str] | None:
    from netlimits.analysis.caveats import ARRIVED, SENT

    columns, shown = {*IDENTITY, *LOOKED_AT} - {"reason", LIMITED_BY}, set[str]()
    for entry in entries:
        for key, value in entry.items():
            words = [value] if isinstance(value, str) else value
            if not isinstance(words, list | tuple) or key in ("title", "chart", "table"):
                continue
            columns.update(str(word) for word in words)
            if key != "of":
                continue
            for name in words:
                try:
                    column = metric(name).column
                except InputError:
                    return None
                if "process_cpu" in column or column.startswith("highest_average"):
                    return None
                shown.add(column)
    if shown & SENT and shown & ARRIVED:
        columns.update(WINDOWS)
    return frozenset(columns | shown) if shown else None
