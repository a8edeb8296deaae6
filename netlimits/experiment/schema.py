"""The JSON Schema of an experiment file; tools and settings bring their own parts.

`document_schema` is what editors get: there, each scalar in a tool's or setting's part may also be
a `${name}`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from netlimits.charts import KINDS
from netlimits.experiment import templates
from netlimits.experiment.around_schema import AROUND
from netlimits.experiment.mesh import pairs
from netlimits.experiment.report_schema import TEXT, chart_entry, table_entry, word_entry
from netlimits.settings import SETTINGS
from netlimits.tools import TOOLS

DRAFT = "https://json-schema.org/draft/2020-12/schema"
NAME = "^[A-Za-z_][A-Za-z0-9_]*$(?!\\n)"
ROLE = "^[A-Za-z][A-Za-z0-9_-]{0,31}$(?!\\n)"
ROLES = ("sender", "receiver")
WHEN = "when"
"""A key in an entry of `settings:` that names no setting. The only other key of this kind is
`roles`."""

ORDERS = ("blocked", "shuffled", "listed", "coin-flips")

_SCALAR: Mapping[str, Any] = {"type": ["string", "number", "boolean", "null"]}
_LISTS: Mapping[str, Any] = {
    "type": "object",
    "propertyNames": {"pattern": NAME},
    "additionalProperties": {"type": "array", "minItems": 1, "items": _SCALAR},
}
_EXPRESSION = {
    "type": ["string", "number", "boolean"],
    "examples": ['tso == "off" and send_size < 1024'],
}


IF_MISSING = "if_missing"
_PATH: Mapping[str, Any] = {
    "type": "string",
    "pattern": r"^(/[A-Za-z0-9_+@][A-Za-z0-9_.+@-]*){1,40}$(?!\n)",
}
_OF_EVERY_TOOL: Mapping[str, Any] = {
    "port": {
        "description": "The port of the tool's server, for a firewall; default: the tool's own.",
        "type": "integer",
        "minimum": 1024,
        "maximum": 65535,
    },
    "program": {
        "description": "Path of the client's program on the host, such as "
        "/opt/netperf/bin/netperf; default: from the PATH.",
        **_PATH,
    },
    "server_program": {
        "description": "Path of the server's program on the host; default: from the PATH.",
        **_PATH,
    },
    IF_MISSING: {
        "description": "If the tool is not installed on both ends: fail before the first run, or "
        "skip the tool's runs, which the plan reports.",
        "enum": ["fail", "skip"],
        "default": "fail",
    },
}


def with_common_options(tool_schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return a tool's schema with the options that every tool has."""
    return {**tool_schema, "properties": {**tool_schema["properties"], **_OF_EVERY_TOOL}}


_CONFIGURED: Mapping[str, Any] = {
    "experiment": {
        "title": "Name",
        "description": "Only letters, digits, dots, - and _. It is part of the results folder's "
        "name.",
        "type": "string",
        "pattern": "^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$(?!\\n)",
    },
    "question": {
        "title": "Question",
        "description": "The question that the experiment answers, in one sentence.",
        "type": "string",
    },
    "source": {
        "title": "Source",
        "description": "The publication that the experiment is from.",
        "type": "string",
    },
    "roles": {
        "title": "Roles",
        "description": "Names that the hosts file binds to machines. The first role runs the "
        "tool's client, the last its server. `sinks: 2` is a role with two machines. {hosts: 40, "
        "pairs: all} is a mesh, in which pairs of hosts measure.",
        "anyOf": [
            {
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
            },
            pairs.SCHEMA,
        ],
        "default": [*ROLES],
    },
    "factors": {
        "title": "Factors",
        "description": "Names with lists of values; every combination is a configuration.",
        **_LISTS,
    },
    "zip": {
        "title": "Lists that move together",
        "description": "Lists of equal length, used one row at a time; or a list of such groups.",
        "anyOf": [_LISTS, {"type": "array", "minItems": 1, "items": _LISTS}],
    },
    "derive": {
        "title": "Derived values",
        "description": "Names with expressions of factors and other derived values.",
        "type": "object",
        "propertyNames": {"pattern": NAME},
        "additionalProperties": _EXPRESSION,
    },
    "dummies": {
        "title": "Factors without an effect",
        "description": "Factors that deliberately nothing uses. Runs that differ only in them "
        "show how much equal runs differ.",
        "type": "array",
        "minItems": 1,
        "items": TEXT,
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
}
"""The keys from the name to the configurations, in the order in which a file has them."""

_REPORT: Mapping[str, Any] = {
    "title": "Tables and charts",
    "description": "What `netlimits table` and `netlimits figures` make by default.",
    "type": "array",
    "items": {"type": ["object", "string"]},
}


def structure() -> dict[str, Any]:
    """Return the schema of the file, without the options of tools and settings."""
    return {
        "title": "netlimits experiment",
        "description": "What to vary, to set, to measure and to report, and how often.",
        "type": "object",
        "additionalProperties": False,
        "required": ["experiment", "measure"],
        "properties": {
            **_CONFIGURED,
            "settings": _settings(),
            "measure": _measure(),
            **{name: {} for name in AROUND},
            "repeat": _repeat(),
            "report": _REPORT,
        },
    }


def _settings() -> dict[str, Any]:

    return {
        "title": "Settings of the hosts",
        "description": "Applied in this order before each run, read back, and restored at the end.",
        "type": "array",
        "items": {
            "type": "object",
            "required": ["roles"],
            "additionalProperties": False,
            "properties": {
                "roles": {
                    "description": "The roles whose data interface (or host) is changed.",
                    "type": "array",
                    "minItems": 1,
                    "items": {"type": "string"},
                },
                WHEN: {
                    "description": "A condition, as in `exclude`. The entry applies only to "
                    "configurations for which it is true; in the others the settings stay as "
                    "found.",
                    **_EXPRESSION,
                },
                **{setting.name: {} for setting in SETTINGS},
            },
        },
    }


def _measure() -> dict[str, Any]:

    return {
        "title": "The tool",
        "description": "Its name and its options. With several tools, a factor named `tool` "
        "selects one.",
        "type": "object",
        "minProperties": 1,
        "additionalProperties": False,
        "properties": {tool.name: {} for tool in TOOLS},
    }


def _repeat() -> dict[str, Any]:
    return {
        "title": "Number and order of the runs",
        "type": "object",
        "additionalProperties": False,
        "properties": {
            "replicates": {
                "description": "Runs of each configuration (not with coin-flips): a number, or "
                "${name} of a factor or derived value that holds the number.",
                "type": ["integer", "string"],
                "minimum": 1,
                "maximum": 10_000_000,
                "pattern": templates.WHOLE,
                "default": 1,
            },
            "order": {
                "description": "blocked: every configuration runs once, shuffled, before any runs "
                "again; shuffled: all runs shuffled; listed: as written; coin-flips: each run "
                "draws a value of each factor.",
                "enum": list(ORDERS),
                "default": "blocked",
            },
            "seed": {
                "description": "Seed of the order; default: a random one, which is recorded.",
                "type": ["integer", "null"],
                "minimum": 0,
                "maximum": 2**63 - 1,
            },
            "runs": {
                "description": "Number of runs (coin-flips only).",
                "type": "integer",
                "minimum": 1,
                "maximum": 10_000_000,
            },
        },
    }


def document_schema() -> dict[str, Any]:
    """Return the whole schema, for editors (draft 2020-12)."""
    schema = structure()
    keys = schema["properties"]
    keys["settings"]["items"]["minProperties"] = 2  # for editors: `run` has a clearer error
    entries = [word_entry(), table_entry(), *map(chart_entry, KINDS)]
    keys["report"] = {**_REPORT, "items": {"anyOf": entries}}
    settings = keys["settings"]["items"]["properties"]
    settings.update({setting.name: templated(setting.schema) for setting in SETTINGS})
    measures = {tool.name: templated(with_common_options(tool.schema)) for tool in TOOLS}
    keys["measure"]["properties"] = measures
    keys |= {name: templated(part) for name, part in AROUND.items()}
    return {"$schema": DRAFT, **schema}


def templated(schema: Any) -> Any:
    """Return the schema, extended to allow a text with `${name}` in place of any scalar."""
    if not isinstance(schema, Mapping):
        return schema
    deeper = dict(schema)
    if "properties" in schema:
        parts = schema["properties"].items()
        deeper["properties"] = {key: templated(part) for key, part in parts}
    for keyword in ("items", "additionalProperties"):
        if keyword in schema:
            deeper[keyword] = templated(schema[keyword])
    if "anyOf" in schema:
        deeper["anyOf"] = [templated(part) for part in schema["anyOf"]]
    if not _takes_scalar(schema):
        return deeper
    about = {key: deeper.pop(key) for key in ("title", "description", "default") if key in deeper}
    return {**about, "anyOf": [deeper, {"type": "string", "pattern": templates.PATTERN}]}


def _takes_scalar(schema: Mapping[str, Any]) -> bool:
    if "enum" in schema:
        return True
    kinds = schema.get("type", [])
    kinds = [kinds] if isinstance(kinds, str) else kinds
    return bool({"string", "number", "integer", "boolean", "null"} & set(kinds))
