"""An experiment file's data into an Experiment: its shape by JSON Schema, then what names refer to.

A schema cannot say that lists are of one length, that a name in `${…}` exists, that expressions
can be computed or that a role is bound; `Reader` checks that, in the order of the file's keys.
"""

from __future__ import annotations

import graphlib
import keyword
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from netlimits import expressions, schema, templates
from netlimits.document import KeyPath, did_you_mean
from netlimits.errors import InputError
from netlimits.expressions import Expression, shown
from netlimits.machines import members_of
from netlimits.metrics import METRICS, TOOL_PREFIXES, metric
from netlimits.model import Experiment, Repeat, Scalar, SettingUse, Values
from netlimits.overrides import Source
from netlimits.violations import Fault, faults

RESERVED = frozenset(
    ("run", "block", "config", "skip", "attempt", "status", "reason", "started", "duration_s")
) | {m.column for m in METRICS}
"""Columns of a campaign's results, which no factor may be called."""

Lists = Mapping[str, tuple[Scalar, ...]]
Groups = Mapping[str, tuple[str, ...]]


def check_shape(data: dict[str, Any], where: Source) -> None:
    """Raise for the first violation of the file's schema, in the order of lines."""
    from netlimits.settings import SETTINGS
    from netlimits.tools import TOOLS

    found = faults(data, schema.structure(), skip_templates=False)
    if not found:
        for name, part in schema.AROUND.items():
            if name in data:
                found += _within((name,), data[name], part)
        for name, part in ((t.name, schema.measured(t.schema)) for t in TOOLS):
            if name in data["measure"]:
                found += _within(("measure", name), data["measure"][name], part)
        for number, entry in enumerate(data.get("settings", [])):
            for name, part in ((s.name, s.schema) for s in SETTINGS):
                if name in entry:
                    found += _within(("settings", number, name), entry[name], part)
        for number, entry in enumerate(data.get("report", [])):
            part = schema.report_entry(entry)
            found += _within(("report", number), entry, part, skip_templates=False)
    if found:
        unknown = [fault for fault in found if "unknown key" in fault.problem]
        first = min(unknown or found, key=lambda fault: where.line(fault.key) or 0)
        raise where.error(first.problem, *first.key)


def _within(
    key: KeyPath, instance: Any, part: Mapping[str, Any], *, skip_templates: bool = True
) -> list[Fault]:
    inner = faults(instance, part, skip_templates=skip_templates)
    return [Fault((*key, *fault.key), fault.problem) for fault in inner]


class Reader:
    """Data of the right shape into an Experiment, checking what names refer to."""

    def __init__(self, data: dict[str, Any], where: Source, text: str) -> None:
        self.data = data
        self.where = where
        self.text = text
        self.known: list[str] = []
        """Factors, zipped factors and derived values found so far."""

    def experiment(self) -> Experiment:
        """The experiment. Raises DocumentError."""
        factors = {
            name: self.values(values, ("factors", name))
            for name, values in self.data.get("factors", {}).items()
        }
        zips = tuple(self.zips())
        given = dict(factors)
        for group in zips:
            given.update(group)
        derive = self.derive()
        exclude = tuple(self.exclude())
        groups = self.groups()
        measure = self.measure(given)
        return Experiment(
            name=self.data["experiment"],
            path=self.where.path,
            text=self.text,
            overrides=self.where.overrides,
            question=self.data.get("question", ""),
            source=self.data.get("source", ""),
            roles=tuple(member for members in groups.values() for member in members),
            groups=groups,
            factors=factors,
            zips=zips,
            derive=derive,
            exclude=exclude,
            include=tuple(self.include(given)),
            settings=tuple(self.settings(groups)),
            measure=measure,
            around=self.around(groups),
            repeat=self.repeat(),
            report=tuple(self.report(given)),
            lines=self.where.lines,
        )

    def name(self, name: str, key: KeyPath) -> None:
        """Accept a new factor's or derived value's name."""
        taken = name in expressions.FUNCTIONS or name in expressions.CONSTANTS
        if taken or keyword.iskeyword(name):
            raise self.where.error(
                f"{name} means something in expressions; call it otherwise", *key
            )
        if name in RESERVED or name.startswith(TOOL_PREFIXES):
            raise self.where.error(f"{name} is a column of the results; call it otherwise", *key)
        if name in self.known:
            raise self.where.error(f"{name} is the name of another factor already", *key)
        self.known.append(name)

    def values(self, values: list[Scalar], key: KeyPath) -> tuple[Scalar, ...]:
        """A factor's values, none of them twice."""
        self.name(str(key[-1]), key)
        self.once(values, key)
        return tuple(values)

    def once(self, rows: Iterable[Any], key: KeyPath) -> None:
        """Raise when a row stands there twice; 1, 1.0, true and "1" are four values."""
        seen: dict[Any, int] = {}
        for number, row in enumerate(rows):
            parts = row if isinstance(row, tuple) else (row,)
            same = tuple((type(part), part) for part in parts)
            if same in seen:
                text = ", ".join(shown(part) for part in parts)
                raise self.where.error(f"has {text} twice", *key, number)
            seen[same] = number

    def zips(self) -> Iterator[Lists]:
        """Each group of lists that move together."""
        block = self.data.get("zip", [])
        numbered = isinstance(block, list)
        for number, group in enumerate(block if numbered else [block]):
            key: KeyPath = ("zip", number) if numbered else ("zip",)
            if not group:
                raise self.where.error("has no lists", *key)
            first, *others = group
            self.name(first, (*key, first))
            for name in others:
                self.name(name, (*key, name))
                if len(group[name]) != len(group[first]):
                    raise self.where.error(
                        f"is {len(group[name])} long where {first} is {len(group[first])} long; "
                        "lists that move together are equally long",
                        *key,
                        name,
                    )
            self.once(zip(*group.values(), strict=True), (*key, first))
            yield {name: tuple(values) for name, values in group.items()}

    def expression(self, written: Any, key: KeyPath, known: Iterable[str]) -> Expression:
        """The expression at a key, over known names. Raises DocumentError."""
        try:
            expression = expressions.compile(templates.written(written))
        except InputError as error:
            raise self.where.error(str(error), *key) from None
        known = list(known)
        for name in sorted(expression.names - set(known)):
            raise self.where.error(f"no factor is called {name}{did_you_mean(name, known)}", *key)
        return expression

    def derive(self) -> dict[str, str]:
        """Derived values in an order that can be computed."""
        block: dict[str, Any] = self.data.get("derive", {})
        for name in block:
            self.name(name, ("derive", name))
        found = {
            name: self.expression(written, ("derive", name), self.known)
            for name, written in block.items()
        }
        sorter = graphlib.TopologicalSorter[str]()
        for name, expression in found.items():
            sorter.add(name, *sorted(expression.names & set(block)))
        try:
            order = tuple(sorter.static_order())
        except graphlib.CycleError as error:
            loop = error.args[1][::-1]
            raise self.where.error(
                f"loops: {' needs '.join(loop)}; nothing can be computed first", "derive", loop[0]
            ) from None
        return {name: found[name].text for name in order}

    def exclude(self) -> Iterator[str]:
        """The conditions, in the file's order."""
        for number, written in enumerate(self.data.get("exclude", [])):
            yield self.expression(written, ("exclude", number), self.known).text

    def include(self, given: Lists) -> Iterator[Values]:
        """Configurations that name every factor, in the order of the factors."""
        for number, row in enumerate(self.data.get("include", [])):
            key: KeyPath = ("include", number)
            for name in row:
                if name in self.data.get("derive", {}):
                    raise self.where.error("is derived; leave it out", *key, name)
                if name not in given:
                    raise self.where.error(
                        f"no factor is called {name}{did_you_mean(name, given)}", *key, name
                    )
            missing = [name for name in given if name not in row]
            if missing:
                raise self.where.error(f"gives no value to {', '.join(missing)}", *key)
            yield {name: row[name] for name in given}

    def groups(self) -> dict[str, tuple[str, ...]]:
        """Each role and those who play it: itself, or `sinks-1`, `sinks-2` of `sinks: 2`."""
        groups: dict[str, tuple[str, ...]] = {}
        for number, entry in enumerate(self.data.get("roles", schema.ROLES)):
            ((role, count),) = entry.items() if isinstance(entry, dict) else ((entry, None),)
            members = (role,) if count is None else members_of(role, count)
            taken = {*groups, *(member for group in groups.values() for member in group)}
            if twice := taken & {role, *members}:
                raise self.where.error(f"has {shown(min(twice))} twice", "roles", number)
            groups[role] = members
        if len(next(iter(groups.values()))) > 1:
            raise self.where.error("the first role runs the client: it is one machine", "roles", 0)
        return groups

    def players(self, roles: Sequence[str], groups: Groups, *key: str | int) -> tuple[str, ...]:
        """Those who play the roles that stand at a key: `sinks` is all of them."""
        for index, role in enumerate(roles):
            if role not in groups:
                raise self.where.error(
                    f"no role is called {role}{did_you_mean(role, groups)}", *key, index
                )
        self.once(roles, key)
        return tuple(member for role in roles for member in groups[role])

    def around(self, groups: Groups) -> dict[str, Any]:
        """`streams`, `pace` and `trace` as written, with the trace's roles as their players."""
        found = {name: self.data[name] for name in schema.AROUND if name in self.data}
        for name, written in found.items():
            self.lookups(written, (name,))
        if "trace" in found:
            roles = self.players(found["trace"]["roles"], groups, "trace", "roles")
            found["trace"] = {**found["trace"], "roles": list(roles)}
        return found

    def settings(self, groups: Groups) -> Iterator[SettingUse]:
        """The settings in the file's order."""
        for number, entry in enumerate(self.data.get("settings", [])):
            roles = self.players(entry["roles"], groups, "settings", number, "roles")
            if len(entry) == 1:
                raise self.where.error("sets nothing on its roles", "settings", number)
            for name, options in entry.items():
                if name == "roles":
                    continue
                key = ("settings", number, name)
                self.lookups(options, key)
                line = self.where.line(key) or 0
                yield SettingUse(name, roles, options, line, number)

    def lookups(self, options: Any, key: KeyPath) -> None:
        """Raise for a `${…}` that names nothing."""
        for place, text in templates.leaves(options):
            try:
                used = templates.names(text)
            except InputError as error:
                raise self.where.error(str(error), *key, *place) from None
            for name in used:
                if name not in self.known:
                    raise self.where.error(
                        f"${{{name}}}: no factor is called {name}{did_you_mean(name, self.known)}",
                        *key,
                        *place,
                    )

    def measure(self, given: Lists) -> dict[str, Mapping[str, Any]]:
        """Tools and their options; a factor `tool` must choose among them, and each of them."""
        tools: dict[str, Mapping[str, Any]] = self.data["measure"]
        for name, options in tools.items():
            self.lookups(options, ("measure", name))
        if "tool" not in given:
            if "tool" in self.known:
                raise self.where.error("chooses what measures: make it a factor", "derive", "tool")
            if len(tools) > 1:
                raise self.where.error(
                    f"has {len(tools)} tools; choose by a factor: tool: [{', '.join(tools)}]",
                    "measure",
                )
            return tools
        rows = [
            ("include", i, row["tool"])
            for i, row in enumerate(self.data.get("include", []))
            if "tool" in row
        ]
        chosen = [*given["tool"], *(row[2] for row in rows)]
        for one in chosen:
            if one not in tools:
                raise self.where.error(
                    f"no tool under measure is called {shown(one)}{did_you_mean(str(one), tools)}",
                    *self.tool_key(),
                )
        for name in tools:
            if name not in chosen:
                raise self.where.error("no value of the factor `tool` chooses it", "measure", name)
        return tools

    def tool_key(self) -> KeyPath:
        """Where the factor `tool` stands."""
        if "tool" in self.data.get("factors", {}):
            return ("factors", "tool")
        return ("zip",)

    def repeat(self) -> Repeat:
        """Replicates or runs, order and seed."""
        block: dict[str, Any] = self.data.get("repeat", {})
        order = block.get("order", "blocked")
        if order == "coin-flips":
            if "replicates" in block:
                raise self.where.error(
                    "is not for coin-flips, where chance decides how often each configuration "
                    "runs; say how many `runs`",
                    *("repeat", "replicates"),
                )
            if "runs" not in block:
                raise self.where.error("coin-flips needs `runs`: how many", "repeat")
            if "include" in self.data:
                raise self.where.error("no coin can land on an included configuration", "include")
            return Repeat(1, order, block.get("seed"), block["runs"])
        if "runs" in block:
            raise self.where.error(
                f"is for coin-flips only; {order} takes `replicates`, runs of each configuration",
                *("repeat", "runs"),
            )
        return Repeat(block.get("replicates", 1), order, block.get("seed"))

    def report(self, given: Lists) -> Iterator[Mapping[str, Any]]:
        """The entries, whose metrics and factors exist."""
        for number, entry in enumerate(self.data.get("report", [])):
            key: KeyPath = ("report", number)
            for place, name in _named(entry, "of"):
                try:
                    metric(name)
                except InputError as error:
                    raise self.where.error(str(error), *key, *place) from None
            for part in ("rows", "columns", "series", "by", "size"):
                for place, name in _named(entry, part):
                    if name not in self.known:
                        hint = did_you_mean(name, self.known)
                        raise self.where.error(f"no factor is called {name}{hint}", *key, *place)
            if "improvement" in entry and entry["rows"] in given:
                values = [templates.written(value) for value in given[entry["rows"]]]
                for side in entry["improvement"].split(" over "):
                    if side.strip() not in values:
                        raise self.where.error(
                            f"{entry['rows']} has no value {side.strip()}"
                            f"{did_you_mean(side.strip(), values)}",
                            *(*key, "improvement"),
                        )
            yield entry


def _named(entry: Mapping[str, Any], part: str) -> Iterator[tuple[KeyPath, str]]:
    """The names in one part of a report's entry, with their places in it."""
    written = entry.get(part, [])
    if isinstance(written, str):
        yield (part,), written
    else:
        for index, name in enumerate(written):
            yield (part, index), name
