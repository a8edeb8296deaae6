"""An experiment file, read and checked: YAML in, `Experiment` out, or an error with its line.

The text becomes data with lines (document), `--set` changes it (overrides), its shape and names are
checked (reading). What depends on the configurations, such as an `exclude` that removes nothing,
is checked where they are made (plan). `resolved` says what one configuration sets and measures.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from netlimits import document, schema, templates
from netlimits import overrides as sets
from netlimits.document import Document, KeyPath
from netlimits.expressions import shown
from netlimits.model import Around, Experiment, Pace, SettingUse, Trace, Values
from netlimits.overrides import Source
from netlimits.reading import Reader, check_shape
from netlimits.violations import faults


def load(path: Path | str, overrides: Sequence[tuple[str, str]] = ()) -> Experiment:
    """The experiment in a file, with `--set` overrides as (KEY, VALUE) pairs.

    Raises DocumentError that names file, line (or `--set`) and key.
    """
    return _checked(document.load(path), overrides)


def parse(text: str, path: Path | str, overrides: Sequence[tuple[str, str]] = ()) -> Experiment:
    """The experiment in a text, such as the archive's; `path` is what errors call it."""
    return _checked(document.parse(text, path), overrides)


def source(experiment: Experiment) -> Source:
    """Where the experiment's keys come from, to name in an error found later."""
    return Source(experiment.path, experiment.lines, experiment.overrides)


def names(experiment: Experiment) -> tuple[str, ...]:
    """Factors, zipped factors and derived values: the columns of a plan, in their order."""
    zipped = [name for group in experiment.zips for name in group]
    return (*experiment.factors, *zipped, *experiment.derive)


def resolved(
    experiment: Experiment, values: Values
) -> tuple[tuple[SettingUse, ...], tuple[str, dict[str, Any]]]:
    """The settings and the (tool, options) of one configuration, with every `${…}` looked up.

    Raises DocumentError when an option cannot take the value that it gets.
    """
    from netlimits.settings import setting
    from netlimits.tools import tool

    settings = []
    for use in experiment.settings:
        options = templates.resolve(use.options, values)
        key = ("settings", use.entry, use.name)
        _hold(experiment, key, use.options, options, setting(use.name).schema, values)
        settings.append(dataclasses.replace(use, options=options))
    name = tool_of(experiment, values)
    unresolved = experiment.measure[name]
    options = templates.resolve(unresolved, values)
    part = schema.measured(tool(name).schema)
    _hold(experiment, ("measure", name), unresolved, options, part, values)
    options.pop(schema.IF_MISSING, None)  # for us, not for the tool
    return tuple(settings), (name, options)


def tool_of(experiment: Experiment, values: Values) -> str:
    """The tool that a configuration measures with."""
    return str(values["tool"]) if "tool" in values else next(iter(experiment.measure))


def may_be_missing(experiment: Experiment, tool: str) -> bool:
    """Whether the runs of a tool are left out where it is not installed. Raises DocumentError."""
    said = experiment.measure[tool].get(schema.IF_MISSING, "fail")
    if templates.is_template(said):
        problem = f"must be fail or skip, not {said}: it is asked before there is a configuration"
        raise source(experiment).error(problem, "measure", tool, schema.IF_MISSING)
    return bool(said == "skip")


def around(experiment: Experiment, values: Values) -> Around:
    """The streams, pace and trace of one configuration, with every `${…}` looked up.

    Raises DocumentError when one of them cannot take the value that it gets.
    """
    found = {}
    for name, written in experiment.around.items():
        found[name] = templates.resolve(written, values)
        _hold(experiment, (name,), written, found[name], schema.AROUND[name], values)
    pace, trace = found.get("pace"), found.get("trace")
    return Around(
        streams=found.get("streams", 1),
        pace=Pace(**pace) if pace else None,
        trace=Trace(**{**trace, "roles": tuple(trace["roles"])}) if trace else None,
    )


def _hold(
    experiment: Experiment,
    key: KeyPath,
    unresolved: Any,
    options: Any,
    part: Mapping[str, Any],
    values: Values,
) -> None:
    """Raise for the first resolved option that its schema does not allow."""
    for fault in faults(options, part, skip_templates=False):
        written: Any = unresolved
        for step in fault.key:
            written = written[step] if not templates.is_template(written) else written
        used = dict.fromkeys(
            name for _, text in templates.leaves(written) for name in templates.names(text)
        )
        where = ", ".join(f"{name} = {shown(values[name])}" for name in used)
        at = f" (where {where})" if where else ""
        raise source(experiment).error(f"{fault.problem}{at}", *key, *fault.key)


def _checked(read: Document, changes: Sequence[tuple[str, str]]) -> Experiment:
    data, where = sets.apply(read, changes)
    if not isinstance(data, dict):
        found = "a list" if isinstance(data, list) else shown(data)
        raise where.error(f"an experiment is a mapping (experiment: NAME …), not {found}")
    check_shape(data, where)
    return Reader(data, where, read.text).experiment()
