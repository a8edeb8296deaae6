"""Reference of all keys, options, metrics and columns, made from the program's own tables."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from netlimits.charts import CHARTS, KINDS, REQUIRED, SOURCES
from netlimits.checks import AFTERWARDS, CHECKS
from netlimits.checks.survey import settings, trial
from netlimits.errors import InputError, nearest, one_line
from netlimits.experiment import hosts_file, report_schema, schema, templates
from netlimits.experiment.around_schema import AROUND
from netlimits.limits.classes import CLASSES
from netlimits.limits.figures import DERIVED
from netlimits.metrics import IDENTITY, METRICS, Metric, names
from netlimits.metrics.hints import alternatives
from netlimits.settings import SETTINGS
from netlimits.tools import TOOLS

OF_AN_ENTRY = ("roles", schema.WHEN)
"""The keys of an entry of `settings:` that are not settings."""

ANY = "NAME"
"""Stands for a key that the reader chooses."""


@dataclass(frozen=True, slots=True)
class Section:
    title: str
    about: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


OPTION = ("key", "takes", "default", "what it is")
NAMED = ("name", "what it is")
CLASS = ("class", "what it is", "what proves it")


def topics() -> list[str]:
    return list(dict.fromkeys([*listed(), *(name for name, _ in _to_read())]))


def described(name: str) -> list[Section]:
    """Return the sections about a topic, or about everything with this name. Raises InputError."""
    if name in _general():
        return list(_general()[name]())
    every = itertools.chain(_to_write(), _to_read())
    named = {name, f"local_{name}", f"remote_{name}"}  # verdicts omit `local_` and `remote_`
    sections = [make() for topic, make in every if topic in named]
    if not sections:
        near = nearest(name, topics())
        if near in names() or not near:
            near = " or ".join(alternatives(name))
        hint = f"did you mean {near}?" if near else f"there are {', '.join(_general())}"
        raise InputError(f"there is nothing called {name!r} to describe; {hint}")
    return sections


def listed() -> list[str]:
    """Return the topics without the names of metrics and columns, which are many."""
    return list(dict.fromkeys([*_general(), *(name for name, _ in _to_write())]))


def _general() -> dict[str, Callable[[], Iterable[Section]]]:
    return {
        "experiment": _experiment,
        "hosts": _hosts,
        "settings": _settings,
        "tools": _tools,
        "metrics": _metrics,
        "charts": _charts,
        "checks": _checks,
        "verdicts": _verdicts,
    }


def _to_write() -> Iterator[tuple[str, Callable[[], Section]]]:
    for setting in SETTINGS:
        yield setting.name, partial(_of_schema, setting.name, setting.schema)
    for tool in TOOLS:
        yield tool.name, partial(_of_schema, tool.name, schema.with_common_options(tool.schema))
    for name, around in AROUND.items():
        yield name, partial(_of_schema, name, around)
    for kind in KINDS:
        yield kind, partial(_chart, kind)
    table = report_schema.table_entry()
    yield "table", partial(_of_schema, "table", table)
    improvement = table["properties"]["improvement"]
    yield "improvement", partial(_of_schema, "improvement", improvement)


def _to_read() -> Iterator[tuple[str, Callable[[], Section]]]:
    for metric in METRICS:
        for name in dict.fromkeys((metric.name, metric.column)):
            yield name, partial(Section, "metric", "", METRIC, (_row(metric),))
    for row in DERIVED.items():
        yield row[0], partial(Section, "figure of a verdict", "", NAMED, (row,))
    for name, classes in _classes():
        yield name, partial(Section, "class of a verdict", "", CLASS, (classes,))
    for row in IDENTITY.items():
        yield row[0], partial(Section, "column of results.csv", "", NAMED, (row,))


# -- what is written ------------------------------------------------------------------------


def _experiment() -> Iterator[Section]:
    full_schema = schema.document_schema()
    parts = dict(full_schema["properties"])
    settings = parts["settings"]["items"]["properties"]
    report = parts.pop("report")
    measure = {**parts["measure"], "properties": {}}
    properties = {**parts, "settings": _less(parts["settings"], settings), "measure": measure}
    yield _of_schema("experiment", {**full_schema, "properties": properties})
    words = " or ".join(f"`{word}`" for word in report_schema.WORDS)
    about = f"{report['description']} The word {words} alone is an entry too."
    yield _of_schema("report, a table", {**report_schema.table_entry(), "description": about})
    yield _names("settings, each in an entry of `settings:`", settings, *OF_AN_ENTRY)
    yield _names("tools, under `measure:`", parts["measure"]["properties"])
    yield Section(
        "charts, in an entry of `report:`",
        "",
        ("name", "options"),
        tuple((kind.name, ", ".join(kind.options)) for kind in CHARTS),
    )


def _less(part: Mapping[str, Any], settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema of `settings:` without the settings, which have sections of their own."""
    items = {**part["items"], "properties": {name: settings[name] for name in OF_AN_ENTRY}}
    return {**part, "items": items}


def _names(title: str, parts: Mapping[str, Any], *but: str) -> Section:
    rows = [(name, _about(part, name)) for name, part in parts.items() if name not in but]
    return Section(title, "", NAMED, tuple(rows))


def _hosts() -> Iterator[Section]:
    about = (
        "Each role is a key, and its value is a machine: `sender: {ssh: NAME, interface: NAME}`. "
        "A list of machines binds several to one role."
    )
    yield Section("hosts file", about, NAMED, tuple(hosts_file.KEYS.items()))


def _settings() -> Iterator[Section]:
    yield _names("settings", {s.name: s.schema for s in SETTINGS})


def _tools() -> Iterator[Section]:
    rows = [
        (t.name, t.server_program, str(t.port), f"a {t.server_lasts}", _about(t.schema, t.name))
        for t in TOOLS
    ]
    yield Section("tools", "", ("name", "server", "port", "one serves", "what it is"), tuple(rows))


def _of_schema(name: str, part: Mapping[str, Any]) -> Section:
    rows = list(_options(part)) or [("", _takes(part), _default(part), "")]
    return Section(name, _about(part, name), OPTION, tuple(rows))


def _options(
    part: Mapping[str, Any], prefix: str = "", above: Mapping[str, Any] | None = None
) -> Iterator[tuple[str, ...]]:
    """Yield a row for each key below a part, but not for a key that is the same as one above."""
    above = part.get("properties", {}) if above is None else above
    for branch in part.get("anyOf", ()):
        yield from _options(branch, prefix, above)
    required = part.get("required", ())
    for key, option in part.get("properties", {}).items():
        if prefix and above.get(key) is option:
            continue
        default = "required" if key in required else _default(option)
        yield f"{prefix}{key}", _takes(option), default, _about(option, key)
        yield from _options(option, f"{prefix}{key}.", above)
    if isinstance(deeper := part.get("additionalProperties"), Mapping):
        names = part.get("propertyNames", {}).get("description", "")
        yield f"{prefix}{ANY}", _takes(deeper), _default(deeper), _text(deeper) or names
        yield from _options(deeper, f"{prefix}{ANY}.", above)
    if isinstance(items := part.get("items"), Mapping) and "properties" in items:
        yield from _options(items, f"{prefix.rstrip('.')}[].", above)


def _takes(part: Mapping[str, Any]) -> str:
    if "enum" in part:
        return " | ".join(templates.written(value) for value in part["enum"])
    if "anyOf" in part:
        branches = [b for b in part["anyOf"] if b.get("pattern") != templates.PATTERN]
        return " or ".join(dict.fromkeys(_takes(branch) for branch in branches))
    kinds = part.get("type", "string")
    kinds = [kinds] if isinstance(kinds, str) else [kind for kind in kinds if kind != "null"]
    if "array" in kinds and isinstance(part.get("items"), Mapping):
        return f"list of {_takes(part['items'])}"
    return " or ".join(
        _KINDS[kind] + (_bounds(part) if kind in ("integer", "number") else "") for kind in kinds
    )


_KINDS = {
    "string": "text",
    "integer": "whole number",
    "number": "number",
    "boolean": "true | false",
    "array": "list",
    "object": "mapping",
}


def _bounds(part: Mapping[str, Any]) -> str:
    words = {"minimum": "from", "exclusiveMinimum": "above", "maximum": "to"}
    return "".join(
        f" {word} {_number(part[keyword])}" for keyword, word in words.items() if keyword in part
    )


def _number(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:,.10g}"


def _default(part: Mapping[str, Any]) -> str:
    if "default" not in part:
        return ""
    value = part["default"]
    return (
        f"[{', '.join(map(str, value))}]" if isinstance(value, list) else templates.written(value)
    )


def _text(part: Mapping[str, Any]) -> str:
    return str(part.get("description", ""))


def _about(part: Mapping[str, Any], name: str = "") -> str:
    """Return the title, unless it is the name, and the description."""
    title = part.get("title", name)
    return " ".join(part for part in ("" if title == name else f"{title}.", _text(part)) if part)


# -- what is read ---------------------------------------------------------------------------

METRIC = ("name", "column of results.csv", "unit", "better", "what it is")


def _metrics() -> Iterator[Section]:
    from netlimits import tools

    prefixes = ", ".join(tools.COLUMN_PREFIXES)
    about = f"If a column's name begins with {prefixes}, the figure is the tool's own."
    yield Section("metrics", about, METRIC, tuple(map(_row, METRICS)))
    yield Section("the other columns of results.csv", "", NAMED, tuple(IDENTITY.items()))
    yield Section("figures of verdicts that are not columns", "", NAMED, tuple(DERIVED.items()))


def _row(of: Metric) -> tuple[str, ...]:
    return of.name, of.column, of.unit, of.better, of.title


def _charts() -> Iterator[Section]:
    rows = [(kind.name, SOURCES[kind.source], _first(kind.draw.__doc__)) for kind in CHARTS]
    yield Section("charts", "", ("name", "drawn from", "what it is"), tuple(rows))


def _chart(name: str) -> Section:
    kind = KINDS[name]
    rows = []
    for option, default in kind.options.items():
        part = report_schema.OPTIONS[option]
        value = "" if default in (None, ()) else _listed(default)
        default_text = "required" if default is REQUIRED else value
        rows.append((option, _takes(part), default_text, _text(part)))
    about = one_line((kind.draw.__doc__ or "").partition("Args:")[0])
    return Section(f"chart {name}", about, OPTION, tuple(rows))


def _listed(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, tuple) else templates.written(value)


def _checks() -> Iterator[Section]:
    from netlimits.checks.survey import login, tools

    named: list[tuple[str, str | None]] = [(login.NAME, login.__doc__), (tools.NAME, tools.__doc__)]
    named += [("settings", settings.__doc__)]
    named += [(check.name, sys.modules[type(check).__module__].__doc__) for check in CHECKS]
    named += [(trial.NAME, trial.__doc__)]
    named += [(check.name, sys.modules[type(check).__module__].__doc__) for check in AFTERWARDS]
    yield Section("checks", "", NAMED, tuple((name, _first(about)) for name, about in named))


def _verdicts() -> Iterator[Section]:
    about = "The classes of limits, in the order in which one explains another."
    yield Section("verdicts", about, CLASS, tuple(row for _, row in _classes()))


def _classes() -> Iterator[tuple[str, tuple[str, str, str]]]:
    for limit in CLASSES:
        yield limit.name, (limit.name, limit.title, limit.intervention.decides("it"))


def _first(docstring: str | None) -> str:
    return one_line((docstring or "").split("\n\n")[0])
