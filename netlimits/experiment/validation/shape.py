"""The shape of an experiment file, held against JSON Schema section by section."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from netlimits.errors import DocumentError
from netlimits.experiment import report_schema, schema
from netlimits.experiment.around_schema import AROUND
from netlimits.experiment.document import KeyPath
from netlimits.experiment.overrides import Source
from netlimits.experiment.violations import Fault, faults
from netlimits.settings import SETTINGS
from netlimits.tools import TOOLS


def shape_errors(data: dict[str, Any], where: Source) -> list[DocumentError]:
    """Every violation of the file's schema, each as the error that it is."""
    violations = faults(data, schema.structure(), skip_templates=False)
    for name, (kind, violations_of) in _PARTS.items():
        if isinstance(data.get(name), kind):
            violations += violations_of(data[name])
    for name, part_schema in AROUND.items():
        if name in data:
            violations += _within((name,), data[name], part_schema)
    return [where.error(fault.problem, *fault.key) for fault in dict.fromkeys(violations)]


def _faults_of_measure(tools: Mapping[str, Any]) -> list[Fault]:

    parts = {tool.name: schema.measured(tool.schema) for tool in TOOLS}
    return [
        fault
        for name, options in tools.items()
        if name in parts
        for fault in _within(("measure", name), options, parts[name])
    ]


def _faults_of_settings(entries: Sequence[Mapping[str, Any]]) -> list[Fault]:

    parts = {setting.name: setting.schema for setting in SETTINGS}
    return [
        fault
        for number, entry in enumerate(entries)
        if isinstance(entry, dict)
        for name, options in entry.items()
        if name in parts
        for fault in _within(("settings", number, name), options, parts[name])
    ]


def _faults_of_report(entries: Sequence[Mapping[str, Any]]) -> list[Fault]:
    return [
        fault
        for number, entry in enumerate(entries)
        if isinstance(entry, dict | str)
        for fault in _within(
            ("report", number), entry, report_schema.report_entry(entry), skip_templates=False
        )
    ]


_PARTS: Mapping[str, tuple[type, Callable[[Any], list[Fault]]]] = {
    "settings": (list, _faults_of_settings),
    "measure": (dict, _faults_of_measure),
    "report": (list, _faults_of_report),
}
"""The sections whose parts have schemas of their own: the section's kind, and what is wrong."""


def _within(
    key: KeyPath, instance: Any, part: Mapping[str, Any], *, skip_templates: bool = True
) -> list[Fault]:
    inner = faults(instance, part, skip_templates=skip_templates)
    return [Fault((*key, *fault.key), fault.problem) for fault in inner]
