"""A gate's result as JUnit XML (Jenkins' junit-10.xsd), which every CI server shows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from xml.etree import ElementTree

from netlimits.cli.compare.gates import Judged
from netlimits.errors import escaped

Suite = tuple[str, Sequence[Judged], Sequence[str]]
"""A comparison: its title, what the gate's conditions found, the notes of its tables."""


def junit(suites: Iterable[Suite], *, strict: bool) -> str:
    """Return the document; with `strict` an unclear row fails, otherwise it counts as skipped."""
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
