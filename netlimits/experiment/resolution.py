"""Resolution of one configuration: its settings, tool and options with every `${…}` replaced."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from functools import cache
from typing import Any

from netlimits.errors import DocumentError, InputError, raise_all
from netlimits.experiment import expressions, schema, search, templates
from netlimits.experiment.around_schema import AROUND, PROFILE
from netlimits.experiment.document import KeyPath
from netlimits.experiment.expressions import Expression, shown
from netlimits.experiment.overrides import Source
from netlimits.experiment.violations import faults
from netlimits.model import (
    SIDE,
    Around,
    Bulk,
    Experiment,
    Pace,
    Profiling,
    SettingUse,
    Setup,
    Trace,
    Values,
)
from netlimits.settings import setting
from netlimits.tools import tool

INTERIM = "interim_seconds"
LEAST_INTERIM = 0.1
"""Minimum interval of interim results in seconds, below which tools print none."""


def source(experiment: Experiment) -> Source:
    return Source(experiment.path, experiment.lines, experiment.overrides)


def names(experiment: Experiment) -> tuple[str, ...]:
    zipped = [name for group in experiment.zips for name in group]
    return (*experiment.factors, *zipped, *experiment.derive)


def setup(experiment: Experiment, values: Values) -> Setup:
    """Resolve one configuration. Raises DocumentError with all errors in its options."""
    experiment = experiment.side_of(values)
    settings, errors = [], []
    for use in experiment.settings:
        try:
            if not applies(use, values):
                continue
        except InputError as error:
            key = ("settings", use.entry, schema.WHEN)
            errors.append(source(experiment).error(str(error), *key))
            continue
        options = templates.resolve(use.options, values)
        if templates.left_out(use.options, options):
            continue
        key = ("settings", use.entry, use.name)
        errors += _violations(
            experiment, key, use.options, options, setting(use.name).schema, values
        )
        settings.append(dataclasses.replace(use, options=options))
    name, options = tool_of(experiment, values), {}
    if name in experiment.measure:  # the tool is missing only in a file with errors
        unresolved = experiment.measure[name]
        options = templates.resolve(unresolved, values)
        part = schema.with_common_options(tool(name).schema)
        errors += _violations(experiment, ("measure", name), unresolved, options, part, values)
    parts = {}
    for part_name, written in experiment.around.items():
        resolved = templates.resolve(written, values)
        if not templates.left_out(written, resolved):
            allowed = AROUND[part_name]
            errors += _violations(experiment, (part_name,), written, resolved, allowed, values)
            parts[part_name] = resolved
    raise_all(errors)
    options.pop(schema.IF_MISSING, None)  # an option of netlimits, not of the tool
    around = _around(parts, values)
    servers = 1 if experiment.mesh else len(experiment.ends["remote"])
    return Setup(
        name,
        {**options, **_interim(name, options, around.streams * servers)},
        around,
        tuple(settings),
    )


def _interim(name: str, options: Mapping[str, Any], clients: int) -> dict[str, float]:
    """Return the default of `interim_seconds` for several clients, whose rates are added up."""
    if clients < 2 or INTERIM not in tool(name).schema["properties"] or INTERIM in options:
        return {}
    tenth = round(tool(name).seconds(options) / 10, 2)
    return {INTERIM: min(1.0, max(LEAST_INTERIM, tenth))}


def looked_up(experiment: Experiment) -> frozenset[str]:
    """Return the names whose values decide what `setup` returns."""
    if experiment.sides:
        return frozenset((SIDE,)).union(*map(looked_up, experiment.sides.values()))
    options = [use.options for use in experiment.settings]
    written = [options, *experiment.measure.values(), dict(experiment.around)]
    conditions = (_condition(use.when).names for use in experiment.settings if use.when)
    return templates.used(written).union({"tool", experiment.searched}, *conditions)


def applies(use: SettingUse, values: Values) -> bool:
    """Return True if a setting applies in a configuration. Raises InputError if undecidable."""
    return not use.when or _condition(use.when).holds(values)


@cache
def _condition(text: str) -> Expression:
    return expressions.compile(text)


def tool_of(experiment: Experiment, values: Values) -> str:
    return str(values["tool"]) if "tool" in values else next(iter(experiment.measure), "")


def may_be_missing(experiment: Experiment, tool: str) -> bool:
    """Return True if the runs of a tool are skipped when it is not installed."""
    return bool(experiment.measure[tool].get(schema.IF_MISSING) == "skip")


def _around(parts: Mapping[str, Any], values: Values) -> Around:
    pace, trace, bulk, sought = (parts.get(name) for name in ("pace", "trace", "bulk", "search"))
    profile = parts.get(PROFILE)
    return Around(
        streams=parts.get("streams", 1),
        pace=Pace(**pace) if pace else None,
        family=parts.get("family"),
        trace=Trace(**{**trace, "roles": tuple(trace["roles"])}) if trace else None,
        bulk=Bulk(**{**bulk, "dscp": tuple(bulk.get("dscp", ()))})
        if bulk and bulk["streams"]
        else None,
        search=search.read(sought, int(values[sought["of"]] or 0)) if sought else None,
        profile=Profiling(**{**profile, "roles": tuple(profile.get("roles", ()))})
        if profile
        else None,
    )


def _violations(
    experiment: Experiment,
    key: KeyPath,
    unresolved: Any,
    options: Any,
    part: Mapping[str, Any],
    values: Values,
) -> list[DocumentError]:
    """Return an error for each violation of a schema, with the values that led to it."""
    errors = []
    for fault in faults(options, part, skip_templates=False):
        written: Any = unresolved
        for step in fault.key:
            written = written[step] if not templates.is_template(written) else written
        used = dict.fromkeys(
            name for _, text in templates.leaves(written) for name in templates.names(text)
        )
        where = ", ".join(f"{name} = {shown(values[name])}" for name in used)
        at = f" (where {where})" if where else ""
        errors.append(source(experiment).error(f"{fault.problem}{at}", *key, *fault.key))
    return errors
