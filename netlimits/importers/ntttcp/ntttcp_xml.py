"""The XML of ntttcp, Windows' (`-xml`) and Linux' (`-x`)."""

from __future__ import annotations

import re
from xml.parsers import expat

from netlimits.importers.base import Given, ImportedRun, SourceText
from netlimits.importers.ntttcp.results import Values, key, run_of

_ROOT = re.compile(r"\s*(?:<\?xml[^>]{0,200}\?>\s*)?<ntttcp([sr])\b")
_DEEPEST = 6


def claims(source: SourceText) -> bool:
    return _ROOT.match(source.text) is not None


def read(source: SourceText, given: Given) -> list[ImportedRun]:
    values, last = _values(source)
    root = _ROOT.match(source.text)
    assert root is not None
    return [run_of(values, sender=root[1] == "s", line=last)]


def _values(source: SourceText) -> tuple[Values, int]:
    """Return the texts of the elements without children, and the number of the last line."""
    values: Values = {}
    path: list[str] = []
    text: list[str] = []
    metric = [""]
    parser = expat.ParserCreate()

    def begin(name: str, attributes: dict[str, str]) -> None:
        if len(path) >= _DEEPEST:
            source.refuse(parser.CurrentLineNumber, "is not ntttcp's XML: too deep")
        if not path:
            values[key("version", "")] = attributes.get("version", "")[:300]
        path.append(name)
        metric.append(attributes.get("metric", ""))
        text.clear()

    def end(name: str) -> None:
        values.setdefault(key("/".join(path[1:]), metric.pop()), "".join(text).strip()[:300])
        path.pop()
        text.clear()

    def refuse(*_: object) -> None:
        source.refuse(parser.CurrentLineNumber, "declares entities, as ntttcp does not")

    parser.StartElementHandler, parser.EndElementHandler = begin, end
    parser.CharacterDataHandler = text.append
    parser.EntityDeclHandler = parser.StartDoctypeDeclHandler = refuse
    try:
        parser.Parse(re.sub(r"^\s*<\?xml[^>]{0,200}\?>", "", source.text).lstrip().encode(), True)
    except expat.ExpatError as error:
        source.refuse(error.lineno, f"is not complete XML: {expat.ErrorString(error.code)}")
    return values, parser.CurrentLineNumber
