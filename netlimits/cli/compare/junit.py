"""A gate's result as JUnit XML (Jenkins' junit-10.xsd), which every CI server shows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from xml.etree import ElementTree

from netlimits.cli.compare.gates import Judged
from netlimits.errors import escaped


@dataclass(frozen=True, slots=True)
class Suite:
    """A comparison: its title, what the gate's conditions found, the notes of its tables."""

    title: str
    judged: Sequence[Judged]
    notes: Sequence[str]


def junit(suites: Iterable[Suite], *, strict: bool) -> str:
    """Return the document; with `strict` an unclear row fails, otherwise it counts as skipped."""
    root = ElementTree.Element("testsuites", name="netlimits compare")
    every = [_suite(root, suite, strict) for suite in suites]
    for name in ("tests", "failures", "errors"):
        root.set(name, str(sum(int(suite.get(name, "0")) for suite in every)))
    ElementTree.indent(root)
    text = ElementTree.tostring(root, encoding="unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{text}\n'


def _suite(root: ElementTree.Element, suite: Suite, strict: bool) -> ElementTree.Element:
    element = ElementTree.SubElement(root, "testsuite", name=_text(suite.title))
    outcomes = [_case(element, judged, strict) for judged in suite.judged]
    counts = {
        "tests": len(outcomes),
        "failures": outcomes.count("failure"),
        "errors": 0,
        "skipped": outcomes.count("skipped"),
    }
    for name, count in counts.items():
        element.set(name, str(count))
    if suite.notes:
        notes = ElementTree.SubElement(element, "system-out")
        notes.text = _text("\n".join(dict.fromkeys(suite.notes)))
    return element


def _case(suite: ElementTree.Element, judged: Judged, strict: bool) -> str:
    """Add a case; return its outcome: `failure`, `skipped` or "" if it passed."""
    name = f"{judged.of} at {judged.where}" if judged.where else judged.of
    case = ElementTree.SubElement(
        suite, "testcase", classname=f"netlimits.gate.{judged.of}", name=_text(name)
    )
    undecided = judged.verdict in ("unclear", "differ")
    outcome = "failure" if judged.fault or (undecided and strict) else ""
    if undecided and not outcome:
        outcome = "skipped"
    message = judged.fault or f"{judged.verdict}: {judged.ratio}"
    if outcome:
        element = ElementTree.SubElement(case, outcome, message=_text(message), type=judged.verdict)
        element.text = _text(message)
    else:
        ElementTree.SubElement(case, "system-out").text = _text(message)
    return outcome


def _text(text: str) -> str:
    return escaped(text)
