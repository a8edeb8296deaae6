"""The shape of an experiment file, checked against JSON Schemas section by section."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
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
    """Return an error for each violation of the file's schemas."""
    violations = faults(data, schema.structure(), skip_templates=False)
    for key, written, part in _parts(data):
        inner = faults(written, part, skip_templates=key[0] != "report")
        violations += [Fault((*key, *fault.key), fault.problem) for fault in inner]
    return [where.error(fault.problem, *fault.key) for fault in dict.fromkeys(violations)]


def _parts(data: Mapping[str, Any]) -> Iterator[tuple[KeyPath, Any, Mapping[str, Any]]]:
    """Yield (key, written value, schema) for each part that has its own schema."""
    settings = {setting.name: setting.schema for setting in SETTINGS}
    for number, entry in _entries(data, "settings"):
        for name, options in entry.items() if isinstance(entry, dict) else ():
            if name in settings:
                yield ("settings", number, name), options, settings[name]
    measure = data.get("measure")
    written = measure if isinstance(measure, dict) else {}
    for tool in TOOLS:
        if tool.name in written:
            yield (
                ("measure", tool.name),
                written[tool.name],
                schema.with_common_options(tool.schema),
            )
    for number, entry in _entries(data, "report"):
        if isinstance(entry, dict | str):
            yield ("report", number), entry, report_schema.report_entry(entry)
    for name, part in AROUND.items():
        if name in data:
            yield (name,), data[name], part


def _entries(data: Mapping[str, Any], section: str) -> Iterator[tuple[int, Any]]:
    entries = data.get(section)
    return iter(enumerate(entries if isinstance(entries, list) else ()))
