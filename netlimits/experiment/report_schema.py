"""JSON Schema of `report:`: the tables and charts, and what each takes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from netlimits.charts import KINDS

TABLES = ("summary",)

VERDICTS = "verdicts"
"""Entry of one word: a table of what limited each configuration (`limits.explained`)."""

SEARCH = "search"
"""Entry of one word: the highest load of each configuration (`analysis.statistics.search`)."""

WORDS = (VERDICTS, SEARCH)
"""The entries of `report:` that consist of one word."""

TEXT: Mapping[str, Any] = {"type": "string", "minLength": 1}
_NAMES: Mapping[str, Any] = {
    "anyOf": [TEXT, {"type": "array", "minItems": 1, "items": TEXT}],
}

_POOL: Mapping[str, Any] = {
    "description": "Factors to pool: one figure may hold runs that differ in them.",
    **_NAMES,
}

_ABOVE_ZERO: Mapping[str, Any] = {"type": "number", "exclusiveMinimum": 0}

_COUNT: Mapping[str, Any] = {"type": "integer", "minimum": 1}

_WINDOW: Mapping[str, Any] = {
    "description": "Seconds over which the highest average of parallel streams is taken.",
    **_ABOVE_ZERO,
}

_COMPARISON: Mapping[str, Any] = {
    "description": "write A over B, such as 16384 over 256.",
    "type": "string",
    "pattern": "^.+ over .+$(?!\\n)",
}

OPTIONS: Mapping[str, Any] = {
    "of": {"description": "Metric, or a list of metrics with a chart each.", **_NAMES},
    "series": {"description": "Factors; each combination is a curve.", **_NAMES},
    "by": {"description": "The factor on the x-axis.", **TEXT},
    "size": {"description": "The factor that holds bytes per send.", **TEXT},
    "ratio": {"description": "The column that holds segments per ACK.", **TEXT},
    "bound_mbps": {"description": "A goodput bound to draw, Mbit/s.", "type": "number"},
    "requested": {
        "description": "The requested rate: bit/s, or a text such as 1G.",
        "type": ["number", "string"],
    },
    "window_s": _WINDOW,
    "step": {"description": "Seconds to average over.", **_ABOVE_ZERO},
    "stream": {"description": "Columns that identify a stream.", **_NAMES},
    "link": {
        "description": "Bit rate of a link whose goodput bound to draw: bit/s, such as 100G, or "
        "the column that holds it.",
        "type": ["number", "string"],
    },
    "cap": {
        "description": "An egress cap on user data to draw: bit/s, such as 50G, or the column "
        "that holds it.",
        "type": ["number", "string"],
    },
    "run": {
        "description": "The run to draw; default: the first of each configuration.",
        **_COUNT,
    },
    "role": {"description": "The role whose trace to draw, if several recorded one.", **TEXT},
    "connection": {"description": "The connection of the trace to draw.", **_COUNT},
    "first_transaction": {
        "description": "Number of the trace's first transaction.",
        **_COUNT,
    },
    "transactions": {"description": "Number of transactions to draw.", **_COUNT},
    "threshold": {
        "description": "The smallest change that matters, as a share.",
        "type": "number",
        "exclusiveMinimum": 0,
        "exclusiveMaximum": 1,
    },
    "tolerance": {
        "description": "Share below the plateau that is an anomaly.",
        "type": "number",
    },
    "title": {"description": "Title of the chart.", **TEXT},
    "pool": _POOL,
}
"""Option of a chart -> its schema; `charts.CHARTS` has the options of each chart."""


def table_entry() -> dict[str, Any]:
    return {
        "type": "object",
        "required": ["table", "of", "rows"],
        "additionalProperties": False,
        "properties": {
            "table": {"description": "Kind of table.", "enum": list(TABLES)},
            "of": {"description": "Metrics.", **_NAMES},
            "rows": {"description": "The factor whose values are rows.", **TEXT},
            "columns": {"description": "The factors whose values are columns.", **_NAMES},
            "improvement": {
                "description": "Two values of a factor to compare, such as {offloads: on over "
                "off} or {send_size: [8192 over 1024, 1024 over 256]}. Without a factor, `8192 "
                "over 1024` compares values of `rows`.",
                "anyOf": [
                    _COMPARISON,
                    {
                        "type": "object",
                        "minProperties": 1,
                        "additionalProperties": {
                            "anyOf": [
                                _COMPARISON,
                                {"type": "array", "minItems": 1, "items": _COMPARISON},
                            ]
                        },
                    },
                ],
            },
            "window_s": _WINDOW,
            "pool": _POOL,
            "title": {"description": "Title of the table.", **TEXT},
        },
    }


def word_entry() -> dict[str, Any]:
    about = "Table of what limited each configuration, or of the highest load that held."
    return {"description": about, "enum": [*WORDS]}


def chart_entry(kind: str | None = None) -> dict[str, Any]:
    """Return the schema of a kind of chart; by default it allows the options of all kinds."""
    takes = OPTIONS if kind is None else KINDS[kind].options
    return {
        "type": "object",
        "required": ["chart"],
        "additionalProperties": False,
        "properties": {
            "chart": {"description": "Kind of chart.", "enum": [kind] if kind else list(KINDS)},
            **{option: OPTIONS[option] for option in takes},
        },
    }


def report_entry(entry: Mapping[str, Any] | str) -> dict[str, Any]:
    if isinstance(entry, str):
        return word_entry()
    if "chart" not in entry or "table" in entry:
        return table_entry()
    kind = entry["chart"]
    return chart_entry(kind if isinstance(kind, str) and kind in KINDS else None)


def contradictions(entry: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Yield (factor, part, other part) for each factor that an entry both shows and pools.

    A factor in both `rows` and `columns` is a contradiction too.
    """
    parts: dict[str, list[str]] = {}
    for part in ("pool", "columns", "rows", "series", "by", "improvement"):
        names = entry.get(part) or []
        names = [names] if isinstance(names, str) else list(names)
        parts[part] = [] if isinstance(entry.get(part), str) and part == "improvement" else names
    for part, others in (
        ("pool", ("rows", "columns", "series", "by", "improvement")),
        ("columns", ("rows",)),
    ):
        for name in parts[part]:
            for other in others:
                if name in parts[other]:
                    yield name, part, other
                    break
