"""The names that an experiment defines, and the check of every reference to a name."""

from __future__ import annotations

import keyword
import math
from collections.abc import Iterable, Mapping
from typing import Any

from netlimits.charts import KINDS
from netlimits.errors import DocumentError, InputError, did_you_mean
from netlimits.experiment import expressions, templates
from netlimits.experiment.document import KeyPath
from netlimits.experiment.expressions import Expression, shown
from netlimits.experiment.overrides import Source
from netlimits.experiment.validation.salvage import Salvage
from netlimits.metrics import IDENTITY, METRICS, Metric, metric, names, tools_own
from netlimits.tools import COLUMN_PREFIXES

RESERVED = (
    frozenset(
        ("run", "block", "config", "skip", "attempt", "status", "reason", "started", "duration_s")
    )
    | {m.column for m in METRICS}
    | {*IDENTITY, "paced_by"}
)
"""Columns of a campaign's results, which no factor may have as its name."""


class Names:
    def __init__(self, where: Source, salvaged: Salvage) -> None:
        self.where = where
        self.salvaged = salvaged
        self.errors: list[DocumentError] = []
        self.known = list(dict.fromkeys(salvaged.names))
        """Factors, zipped factors and derived values of the file."""
        self.defined: set[str] = set()
        self.unknown: list[str] = []
        """Names that refer to nothing, perhaps misspelt; "" for a reference that cannot be read."""

    def fault(self, problem: str, *key: str | int) -> None:
        self.errors.append(self.where.error(problem, *key))

    def define(self, name: str, key: KeyPath) -> None:
        if (
            name in expressions.FUNCTIONS
            or name in expressions.CONSTANTS
            or keyword.iskeyword(name)
        ):
            self.fault(f"{name} has a meaning in expressions; choose another name", *key)
        elif name in RESERVED or name.startswith(COLUMN_PREFIXES) or tools_own([name]):
            self.fault(f"{name} is a column of the results; choose another name", *key)
        elif name in self.defined:
            self.fault(f"{name} is the name of another factor already", *key)
        self.defined.add(name)

    def unique(self, rows: Iterable[Any], key: KeyPath) -> None:
        """Add an error for each duplicate row; 1, 1.0, true and "1" are four values."""
        seen: dict[Any, int] = {}
        for number, row in enumerate(rows):
            parts = row if isinstance(row, tuple) else (row,)
            same = tuple((type(part), part) for part in parts)
            if same in seen:
                text = ", ".join(shown(part) for part in parts)
                self.fault(f"has {text} twice", *key, number)
            seen[same] = number

    def no_factor(
        self,
        name: str,
        known: Iterable[str],
        *key: str | int,
        written: str = "",
        quote: bool = False,
    ) -> None:
        self.unknown.append(name)
        if self.may_be(name):
            return
        before = f"{written}: " if written else ""
        hint = did_you_mean(name, known)
        if quote and "did you mean" not in hint:
            hint += f'; if it is a text, quote it: "{name}"'
        self.fault(f"{before}no factor is called {name}{hint}", *key)

    def may_be(self, name: str) -> bool:
        """Return True if the unreadable parts of the file may define the name."""
        return self.salvaged.any_name or name in self.salvaged.brought

    def expression(self, written: Any, key: KeyPath, known: Iterable[str]) -> Expression | None:
        """Return the expression at a key, None if it is invalid; add an error for unknown names."""
        try:
            expression = expressions.compile(templates.written(written))
        except InputError as error:
            self.fault(str(error), *key)
            self.unknown.append("")  # an invalid expression may refer to any name
            return None
        known = list(known)
        for name in sorted(expression.names - set(known)):
            self.no_factor(name, known, *key, quote=True)
        return expression

    def check_metric(self, name: str, chart: str, data: Mapping[str, Any], *key: str | int) -> None:
        """Add an error for a metric that runs of `data` cannot have, or an unknown panel."""
        panels = KINDS[chart].panels if chart in KINDS else ()
        if panels:
            if name not in panels:
                self.fault(f"no panel is called {name}{did_you_mean(name, panels)}", *key)
            return
        try:
            refuse_own(metric(name), name, data)
        except InputError as error:
            self.fault(str(error), *key)

    def lookups(self, options: Any, key: KeyPath) -> None:
        """Add an error for each `${…}` that refers to nothing."""
        for place, text in templates.leaves(options):
            try:
                used = templates.names(text)
            except InputError as error:
                self.fault(str(error), *key, *place)
                self.unknown.append("")
                continue
            for name in used:
                if name not in self.known:
                    self.no_factor(name, self.known, *key, *place, written=f"${{{name}}}")

    def lookup(self, written: str, key: KeyPath) -> str:
        """Return the name in a text that consists of a single `${name}`."""
        (name,) = templates.names(written)
        if name not in self.known:
            self.no_factor(name, self.known, *key)
        return name


def refuse_own(metric: Metric, name: str, data: Mapping[str, Any]) -> None:
    """Raise InputError if the metric is a tool's own figure that runs of `data` cannot have."""
    prefix = next((own for own in COLUMN_PREFIXES if metric.name.startswith(own)), "")
    if not prefix:
        return
    tool, bare = prefix.rstrip("_"), metric.name.removeprefix(prefix)
    measure = data.get("measure")
    if isinstance(measure, Mapping) and measure and tool not in measure:
        why = f"{tool} does not measure here"
    elif (several := _clients(data)) > 1:
        why = f"{tool}'s own figures of {several} clients cannot be added up"
    else:
        return
    advice = f"; take {bare}, which netlimits measures" if bare in names() else "; leave it out"
    raise InputError(f"{name}: {why}{advice}")


def _clients(data: Mapping[str, Any]) -> int:
    """Return the minimum number of clients that measure at once in every configuration."""
    streams, roles = data.get("streams", 1), data.get("roles")
    last = roles[-1] if isinstance(roles, list) and roles else {}
    servers = next(iter(last.values()), 1) if isinstance(last, dict) else 1
    numbers = [n for n in (streams, servers) if isinstance(n, int)]
    return math.prod(numbers)
