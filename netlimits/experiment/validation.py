"""The shape of an experiment file, held against JSON Schema section by section."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from netlimits.errors import DocumentError
from netlimits.experiment import report_schema, schema
from netlimits.experiment.document import KeyPath
from netlimits.experiment.overrides import Source
from netlimits.experiment.violations import Fault, faults


def shape_errors(data: dict[str, Any], where: Source) -> list[DocumentError]:
    """Every violation of the file's schema, each as the error that it is."""
    violations = faults(data, schema.structure(), skip_templates=False)
    wrong = {fault.key[0] for fault in violations if fault.key}
    for part in (name for name in _PARTS if name in data and name not in wrong):
        violations += _PARTS[part](data[part])
    for name, part_schema in schema.AROUND.items():
        if name in data:
            violations += _within((name,), data[name], part_schema)
    return [where.error(fault.problem, *fault.key) for fault in violations]


def _faults_of_measure(tools: Mapping[str, Any]) -> list[Fault]:
    from netlimits.tools import TOOLS

    parts = {tool.name: schema.measured(tool.schema) for tool in TOOLS}
    return [
        fault
        for name, options in tools.items()
        for fault in _within(("measure", name), options, parts[name])
    ]


def _faults_of_settings(entries: Sequence[Mapping[str, Any]]) -> list[Fault]:
    from netlimits.settings import SETTINGS

    parts = {setting.name: setting.schema for setting in SETTINGS}
    return [
        fault
        for number, entry in enumerate(entries)
        for name, options in entry.items()
        if name in parts
        for fault in _within(("settings", number, name), options, parts[name])
    ]


def _faults_of_report(entries: Sequence[Mapping[str, Any]]) -> list[Fault]:
    return [
        fault
        for number, entry in enumerate(entries)
        for fault in _within(
            ("report", number), entry, report_schema.report_entry(entry), skip_templates=False
        )
    ]


_PARTS: Mapping[str, Callable[[Any], list[Fault]]] = {
    "settings": _faults_of_settings,
    "measure": _faults_of_measure,
    "report": _faults_of_report,
}
"""The sections whose own parts a schema is for; each is looked into where it has its shape."""


def _within(
    key: KeyPath, instance: Any, part: Mapping[str, Any], *, skip_templates: bool = True
) -> list[Fault]:
    inner = faults(instance, part, skip_templates=skip_templates)
    return [Fault((*key, *fault.key), fault.problem) for fault in inner]
