"""The JSON Schema of an experiment file.

The parts under `settings:` and `measure:` come from the registries, so that a new tool or setting
brings its own. `document_schema` is what editors get: there each scalar of those parts may also
be a text with `${name}`. Checks (violations.py) use the same parts as they stand and skip such
texts, so that a violation is never hidden behind "or a template".
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from netlimits import templates

DRAFT = "https://json-schema.org/draft/2020-12/schema"
NAME = "^[A-Za-z_][A-Za-z0-9_]*$"
ROLE = "^[A-Za-z][A-Za-z0-9_-]{0,31}$"
ROLES = ("sender", "receiver")
ORDERS = ("blocked", "shuffled", "listed", "coin-flips")
TABLES = ("summary",)
CHARTS: Mapping[str, tuple[str, ...]] = {
    "percentiles": ("of", "series", "title"),
    "spread": ("of", "by", "series", "bound_mbps", "title"),
    "cost": ("of", "size", "series", "title"),
    "packet_rate": ("of", "size", "title"),
    "pacing": ("requested", "of", "size", "title"),
    "acks": ("of", "series", "ratio", "tolerance", "title"),
    "highest_average": ("window_s", "by", "series", "link", "cap", "title"),
    "aggregate": ("of", "stream", "step", "window_s", "bound_mbps", "run", "title"),
    "first_bursts": ("series", "first_transaction", "role", "title"),
    "bursts": (
        *("connection", "first_transaction", "transactions", "gap_s"),
        *("run", "role", "title"),
    ),
    "burst_histogram": ("run", "role", "title"),
}
"""Kind of chart -> what an entry of `report:` may say of it: the arguments of its function, and
`role` where that takes a packet trace.

charts.CHARTS holds the functions; a test holds the two against each other, since an experiment
must be read without importing matplotlib.
"""
"""Kinds of tables and charts that `report:` may ask for; analysis and charts make them."""

_SCALAR: Mapping[str, Any] = {"type": ["string", "number", "boolean", "null"]}
_TEXT: Mapping[str, Any] = {"type": "string", "minLength": 1}
_NAMES: Mapping[str, Any] = {
    "anyOf": [_TEXT, {"type": "array", "minItems": 1, "items": _TEXT}],
}
_LISTS: Mapping[str, Any] = {
    "type": "object",
    "propertyNames": {"pattern": NAME},
    "additionalProperties": {"type": "array", "minItems": 1, "items": _SCALAR},
}
_EXPRESSION = {"type": ["string", "number", "boolean"]}


_RATE: Mapping[str, Any] = {
    "type": "number",
    "exclusiveMinimum": 0,
    "maximum": 1e13,
}
AROUND: Mapping[str, Mapping[str, Any]] = {
    "streams": {
        "title": "Parallel streams",
        "description": "How many clients run at the same time to each server. More than one "
        "connection needs interim results, since only the time that all share counts.",
        "type": "integer",
        "minimum": 1,
        "maximum": 256,
        "default": 1,
    },
    "pace": {
        "title": "A constant bit rate",
        "description": "Paced by what the sender can do, best first: netperf's -q under fq, "
        "fq maxrate, tbf. A run that misses the rate is invalid.",
        "type": "object",
        "additionalProperties": False,
        "required": ["rate", "frame_rate"],
        "properties": {
            "rate": {"description": "Of user data, bit/s.", **_RATE},
            "frame_rate": {
                "description": "Of whole frames, which a qdisc counts, bit/s: over UDP and IPv4 "
                "rate * (send_size + 42) / send_size.",
                **_RATE,
            },
            "tolerance_pct": {
                "description": "How far from `rate` a run may be, percent.",
                "type": "number",
                "exclusiveMinimum": 0,
                "maximum": 100,
                "default": 1,
            },
        },
    },
    "trace": {
        "title": "A packet trace",
        "description": "tcpdump on the data link during each run, bounded in packets and time.",
        "type": "object",
        "additionalProperties": False,
        "required": ["roles", "packets"],
        "properties": {
            "roles": {
                "description": "Where it is taken.",
                "type": "array",
                "minItems": 1,
                "items": {"type": "string"},
            },
            "packets": {
                "description": "The most packets that are kept.",
                "type": "integer",
                "minimum": 1,
                "maximum": 100_000,
            },
            "snap_bytes": {
                "description": "Bytes kept of each packet.",
                "type": "integer",
                "minimum": 64,
                "maximum": 65535,
                "default": 96,
            },
        },
    },
}
"""What may be asked for around the tool, whichever it is."""


IF_MISSING = "if_missing"
_OF_EVERY_TOOL: Mapping[str, Any] = {
    "port": {
        "description": "The port of the tool's server, for a firewall; else its customary one.",
        "type": "integer",
        "minimum": 1024,
        "maximum": 65535,
    },
    IF_MISSING: {
        "description": "Where the tool is not installed on both ends: fail before anything runs, "
        "or skip its runs and say so in the plan.",
        "enum": ["fail", "skip"],
        "default": "fail",
    },
}


def measured(tool_schema: Mapping[str, Any]) -> dict[str, Any]:
    """The schema of a tool's block: its own options, and those that every tool has."""
    return {**tool_schema, "properties": {**tool_schema["properties"], **_OF_EVERY_TOOL}}


def structure() -> dict[str, Any]:
    """The schema of the file but for the parts that tools and settings bring."""
    from netlimits.settings import SETTINGS
    from netlimits.tools import TOOLS

    return {
        "title": "netlimits experiment",
        "description": "What to vary, what to set, what to measure, how often, what to report.",
        "type": "object",
        "additionalProperties": False,
        "required": ["experiment", "measure"],
        "properties": {
            "experiment": {
                "title": "Name",
                "description": "Names the results' folder: letters, digits, dots, - and _.",
                "type": "string",
                "pattern": "^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$",
            },
            "question": {
                "title": "Question",
                "description": "What the experiment is to answer, in a sentence.",
                "type": "string",
            },
            "source": {
                "title": "Source",
                "description": "The report that the experiment is from.",
                "type": "string",
            },
            "roles": {
                "title": "Roles",
                "description": "What the hosts file binds to machines: the first role runs the "
                "tool's client, the last its server. `sinks: 2` is a role that two machines play.",
                "type": "array",
                "minItems": 2,
                "items": {
                    "type": ["string", "object"],
                    "pattern": ROLE,
                    "propertyNames": {"pattern": ROLE},
                    "additionalProperties": {"type": "integer", "minimum": 1, "maximum": 64},
                    "minProperties": 1,
                    "maxProperties": 1,
                },
                "default": [*ROLES],
            },
            "factors": {
                "title": "Factors",
                "description": "Name to list of values; every combination is a configuration.",
                **_LISTS,
            },
            "zip": {
                "title": "Lists that move together",
                "description": "Equally long lists of which one row is taken at a time; or a "
                "list of such groups.",
                "anyOf": [_LISTS, {"type": "array", "minItems": 1, "items": _LISTS}],
            },
            "derive": {
                "title": "Derived values",
                "description": "Name to an expression over factors and other derived values.",
                "type": "object",
                "propertyNames": {"pattern": NAME},
                "additionalProperties": _EXPRESSION,
            },
            "exclude": {
                "title": "Configurations to leave out",
                "description": "Conditions; a configuration for which one is true is left out.",
                "type": "array",
                "items": _EXPRESSION,
            },
            "include": {
                "title": "Configurations to add",
                "description": "Each gives every factor a value; added after `exclude`.",
                "type": "array",
                "items": {"type": "object", "additionalProperties": _SCALAR},
            },
            "settings": {
                "title": "Settings of the hosts",
                "description": "Applied in this order before each run, read back, and put back "
                "at the end.",
                "type": "array",
                "items": {
                    "type": "object",
                    "required": ["roles"],
                    "additionalProperties": False,
                    "properties": {
                        "roles": {
                            "description": "The roles whose data interface is set.",
                            "type": "array",
                            "minItems": 1,
                            "items": {"type": "string"},
                        },
                        **{setting.name: {} for setting in SETTINGS},
                    },
                },
            },
            "measure": {
                "title": "What measures",
                "description": "Tool to its options; of several tools a factor named `tool` "
                "chooses one.",
                "type": "object",
                "minProperties": 1,
                "additionalProperties": False,
                "properties": {tool.name: {} for tool in TOOLS},
            },
            **{name: {} for name in AROUND},
            "repeat": _repeat(),
            "report": {
                "title": "Tables and charts",
                "description": "What `netlimits table` and `netlimits figures` make by default.",
                "type": "array",
                "items": {"type": "object"},
            },
        },
    }


def _repeat() -> dict[str, Any]:
    return {
        "title": "How often, in which order",
        "type": "object",
        "additionalProperties": False,
        "properties": {
            "replicates": {
                "description": "Runs of each configuration (all orders but coin-flips).",
                "type": "integer",
                "minimum": 1,
                "maximum": 10_000_000,
                "default": 1,
            },
            "order": {
                "description": "blocked: each block holds every configuration once, shuffled; "
                "shuffled: all runs; listed: as written; coin-flips: each run draws each factor.",
                "enum": list(ORDERS),
                "default": "blocked",
            },
            "seed": {
                "description": "Of the order; left out, one is drawn and recorded.",
                "type": ["integer", "null"],
                "minimum": 0,
                "maximum": 2**63 - 1,
            },
            "runs": {
                "description": "How many runs (coin-flips only).",
                "type": "integer",
                "minimum": 1,
                "maximum": 10_000_000,
            },
        },
    }


_ABOVE_ZERO: Mapping[str, Any] = {"type": "number", "exclusiveMinimum": 0}
_COUNT: Mapping[str, Any] = {"type": "integer", "minimum": 1}
_WINDOW: Mapping[str, Any] = {
    "description": "Seconds over which the highest average of parallel streams is taken.",
    **_ABOVE_ZERO,
}
_CHART_OPTIONS: Mapping[str, Any] = {
    "of": {"description": "Metric, or a list: a chart for each.", **_NAMES},
    "series": {"description": "The factors that make a curve each.", **_NAMES},
    "by": {"description": "The factor on the x-axis.", **_TEXT},
    "size": {"description": "The factor that holds bytes per send.", **_TEXT},
    "ratio": {"description": "The column that holds segments per ACK.", **_TEXT},
    "bound_mbps": {"description": "A goodput bound to draw, Mbit/s.", "type": "number"},
    "requested": {
        "description": "The rate asked for, bit/s or such as 1G.",
        "type": ["number", "string"],
    },
    "window_s": _WINDOW,
    "step": {"description": "Seconds to average over.", **_ABOVE_ZERO},
    "gap_s": {"description": "A silence that ends a burst, seconds.", **_ABOVE_ZERO},
    "stream": {"description": "The columns that tell streams apart.", **_NAMES},
    "link": {
        "description": "A link's bit rate, whose goodput bound is drawn: bit/s, such as 100G, or "
        "the column that holds it.",
        "type": ["number", "string"],
    },
    "cap": {
        "description": "An egress cap on user data to draw: bit/s, such as 50G, or the column "
        "that holds it.",
        "type": ["number", "string"],
    },
    "run": {"description": "The run drawn; else the first of each configuration.", **_COUNT},
    "role": {"description": "Whose trace it is, where several were taken.", **_TEXT},
    "connection": {"description": "The connection of the trace that is drawn.", **_COUNT},
    "first_transaction": {"description": "The number of the trace's first.", **_COUNT},
    "transactions": {"description": "How many of the trace are drawn.", **_COUNT},
    "tolerance": {"description": "How far from the plateau is an anomaly.", "type": "number"},
    "title": {"description": "Above the chart.", **_TEXT},
}


def _table() -> dict[str, Any]:
    return {
        "type": "object",
        "required": ["table", "of", "rows"],
        "additionalProperties": False,
        "properties": {
            "table": {"description": "Kind of table.", "enum": list(TABLES)},
            "of": {"description": "Metrics.", **_NAMES},
            "rows": {"description": "The factor whose values are rows.", **_TEXT},
            "columns": {"description": "The factors whose values are columns.", **_NAMES},
            "improvement": {
                "description": "Two values of `rows`, such as 8192 over 1024.",
                "type": "string",
                "pattern": "^.+ over .+$",
            },
            "window_s": _WINDOW,
            "title": {"description": "Above the table.", **_TEXT},
        },
    }


def _chart(kind: str | None = None) -> dict[str, Any]:
    """The schema of one kind of chart; without one, of whatever any kind takes."""
    takes = _CHART_OPTIONS if kind is None else CHARTS[kind]
    return {
        "type": "object",
        "required": ["chart"],
        "additionalProperties": False,
        "properties": {
            "chart": {"description": "Kind of chart.", "enum": [kind] if kind else list(CHARTS)},
            **{option: _CHART_OPTIONS[option] for option in takes},
        },
    }


def report_entry(entry: Mapping[str, Any]) -> dict[str, Any]:
    """The schema of one `report:` entry, by whether it is a table or a chart."""
    if "chart" not in entry or "table" in entry:
        return _table()
    kind = entry["chart"]
    return _chart(kind if isinstance(kind, str) and kind in CHARTS else None)


def document_schema() -> dict[str, Any]:
    """The whole schema, for editors (draft 2020-12)."""
    from netlimits.settings import SETTINGS
    from netlimits.tools import TOOLS

    whole = structure()
    keys = whole["properties"]
    keys["settings"]["items"]["minProperties"] = 2  # checks say it in better words
    keys["report"]["items"] = {"anyOf": [_table(), *map(_chart, CHARTS)]}
    settings = keys["settings"]["items"]["properties"]
    settings.update({setting.name: templated(setting.schema) for setting in SETTINGS})
    measures = {tool.name: templated(measured(tool.schema)) for tool in TOOLS}
    keys["measure"]["properties"] = measures
    keys |= {name: templated(part) for name, part in AROUND.items()}
    return {"$schema": DRAFT, **whole}


def templated(schema: Any) -> Any:
    """The schema, with a text that holds `${name}` allowed wherever a scalar is."""
    if not isinstance(schema, Mapping):
        return schema
    deeper = dict(schema)
    for keyword in ("properties", "patternProperties", "$defs"):
        if keyword in schema:
            deeper[keyword] = {key: templated(part) for key, part in schema[keyword].items()}
    for keyword in ("items", "additionalProperties"):
        if keyword in schema:
            deeper[keyword] = templated(schema[keyword])
    for keyword in ("anyOf", "oneOf", "allOf", "prefixItems"):
        if keyword in schema:
            deeper[keyword] = [templated(part) for part in schema[keyword]]
    if not _takes_scalar(schema):
        return deeper
    about = {key: deeper.pop(key) for key in ("title", "description", "default") if key in deeper}
    return {**about, "anyOf": [deeper, {"type": "string", "pattern": templates.PATTERN}]}


def _takes_scalar(schema: Mapping[str, Any]) -> bool:
    if "enum" in schema or "const" in schema:
        return True
    kinds = schema.get("type", [])
    kinds = [kinds] if isinstance(kinds, str) else kinds
    return bool({"string", "number", "integer", "boolean", "null"} & set(kinds))
