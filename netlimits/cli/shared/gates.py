"""The gate file of `compare`: metrics that must not get worse, thresholds, and where they hold.

gate:
  - {of: throughput, threshold: 5%}
  - {of: local_sd, threshold: 10%, where: {send_size: 1024}}
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

from netlimits.cli.shared.options import share
from netlimits.errors import DocumentError, InputError, escaped, raise_all
from netlimits.experiment import document
from netlimits.experiment.violations import faults
from netlimits.metrics import metric

if TYPE_CHECKING:
    import pandas as pd


_CONDITION = {
    "type": "object",
    "additionalProperties": False,
    "required": ["of"],
    "properties": {
        "of": {"type": "string"},
        "threshold": {"type": ["string", "number"]},
        "where": {"type": "object"},
    },
}
SCHEMA = {
    "type": "object",
    "additionalProperties": False,
    "required": ["gate"],
    "properties": {"gate": {"type": "array", "minItems": 1, "items": _CONDITION}},
}
THRESHOLD = "3%"


@dataclass(frozen=True, slots=True)
class Judged:
    """A comparison's row with its condition; `fault` is how the row breaks the condition, or ""."""

    of: str
    where: str
    verdict: str
    ratio: str
    fault: str


@dataclass(frozen=True, slots=True)
class Condition:
    of: str
    threshold: float
    where: Mapping[str, Any]
    error: Callable[[str, str], DocumentError]
    """Makes an error from a problem and the factor of `where` that has it."""

    def rows(self, table: pd.DataFrame) -> pd.DataFrame:
        """Return the rows that match. Raises DocumentError for an unknown factor or value."""
        from netlimits.analysis import wording

        factors = table.attrs["factors"]
        for name, value in self.where.items():
            # a comparison appends `_` to a factor that has the name of another column
            factor = f"{name}_" if name not in factors and f"{name}_" in factors else name
            if factor not in factors:
                names = ", ".join(factors) or "none"
                raise self.error(f"is no factor of both sides; there are {names}", name)
            written = "" if wording.is_missing(value) else wording.text(value)
            rows = table[table[factor] == written]
            if rows.empty:
                known = ", ".join(table[factor].unique())
                raise self.error(
                    f"no configuration of both sides has {written}; there are {known}", name
                )
            table = rows
        return table

    def judged(self, rows: pd.DataFrame) -> Iterator[Judged]:
        factors = rows.attrs["factors"]
        for row in rows.to_dict("records"):
            where = ", ".join(f"{name} {row[name]}" for name in factors)
            figures = f"×{row['ratio']:.3f} [{row['low']:.3f}, {row['high']:.3f}]"
            fault = self._fault(row, f" at {where}" if where else "", figures)
            yield Judged(self.of, where, str(row["verdict"]), figures, fault)

    def _fault(self, row: Mapping[Hashable, Any], where: str, ratio: str) -> str:
        from netlimits.analysis.comparisons import sides, survivors, verdicts

        verdict = row["verdict"]
        unlike_sessions = verdict == verdicts.DIFFER and verdicts.worsened(dict(row))
        ended = f"{row['ok_after']} of {row['of_after']} runs ok after"
        if verdict not in verdicts.BAD and not unlike_sessions:
            return ""
        if verdict == sides.FAILED:
            return f"{self.of} failed{where}: {ended}"
        if verdict == survivors.FEWER:
            return (
                f"{self.of}: fewer runs ended{where}: {ended}, {row['ok_before']} of "
                f"{row['of_before']} before"
            )
        if unlike_sessions:
            return (
                f"{self.of} differs for the worse{where}: {ratio}; two sessions may differ "
                "this much without a change; to decide, use a duet, --history or "
                "--sessions-differ-by"
            )
        return f"{self.of} is worse{where}: {ratio}"


def conditions(path: Path) -> list[Condition]:
    """Load the conditions of a gate file. Raises DocumentError with all errors of the file."""
    written = document.load(path, repeated=True)
    wrong = faults(written.data, SCHEMA, skip_templates=False)
    errors = [*written.repeated, *(written.error(fault.problem, *fault.key) for fault in wrong)]
    misshapen = {fault.key[:3] for fault in wrong}
    listed = []
    for number, entry in enumerate(_entries(written.data)):
        for option, judge in (("of", metric), ("threshold", share)):
            if option in entry and ("gate", number, option) not in misshapen:
                try:
                    judge(entry[option])
                except InputError as error:
                    errors.append(written.error(str(error), "gate", number, option))
        if not errors:
            threshold = share(entry.get("threshold", THRESHOLD))
            at = partial(_error, written, number)
            listed.append(Condition(entry["of"], threshold, entry.get("where", {}), at))
    raise_all(errors)
    return listed


def _error(file: document.Document, number: int, problem: str, factor: str) -> DocumentError:
    return file.error(problem, "gate", number, "where", factor)


def _entries(data: Any) -> list[Mapping[str, Any]]:
    entries = data.get("gate") if isinstance(data, dict) else None
    return [
        entry if isinstance(entry, dict) else {}
        for entry in (entries if isinstance(entries, list) else ())
    ]


Suite = tuple[str, Sequence[Judged], Sequence[str]]
"""A comparison: its title, its judged rows, and the notes of its table."""


def junit(suites: Iterable[Suite], *, strict: bool) -> str:
    """Return JUnit XML; with `strict` an undecided row is a failure, otherwise it is skipped."""
    root = ElementTree.Element("testsuites", name="netlimits compare")
    every = [_suite(root, *suite, strict) for suite in suites]
    for name in ("tests", "failures", "errors"):
        root.set(name, str(sum(int(suite.get(name, "0")) for suite in every)))
    ElementTree.indent(root)
    text = ElementTree.tostring(root, encoding="unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{text}\n'


def _suite(
    root: ElementTree.Element,
    title: str,
    every: Sequence[Judged],
    remarks: Sequence[str],
    strict: bool,
) -> ElementTree.Element:
    element = ElementTree.SubElement(root, "testsuite", name=escaped(title))
    outcomes = [_case(element, judged, strict) for judged in every]
    counts = {
        "tests": len(outcomes),
        "failures": outcomes.count("failure"),
        "errors": 0,
        "skipped": outcomes.count("skipped"),
    }
    for name, count in counts.items():
        element.set(name, str(count))
    if remarks:
        notes = ElementTree.SubElement(element, "system-out")
        notes.text = escaped("\n".join(dict.fromkeys(remarks)))
    return element


def _case(suite: ElementTree.Element, judged: Judged, strict: bool) -> str:
    name = f"{judged.of} at {judged.where}" if judged.where else judged.of
    case = ElementTree.SubElement(
        suite, "testcase", classname=f"netlimits.gate.{judged.of}", name=escaped(name)
    )
    undecided = judged.verdict in ("unclear", "differ")
    outcome = "failure" if judged.fault or (undecided and strict) else ""
    if undecided and not outcome:
        outcome = "skipped"
    message = escaped(judged.fault or f"{judged.verdict}: {judged.ratio}")
    if outcome:
        element = ElementTree.SubElement(case, outcome, message=message, type=judged.verdict)
        element.text = message
    else:
        ElementTree.SubElement(case, "system-out").text = message
    return outcome
