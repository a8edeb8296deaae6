"""Parse results that people already have into runs: one pure parser for each format.

To add a format: one file with `claims` (text) or `recognizes` (JSON) and `read`, one line in TEXTS
or DOCUMENTS, and outputs under tests/captures. `folder` writes a results folder from the runs.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from netlimits.errors import DataError
from netlimits.importers import (
    base,
    documents,
    flent,
    iperf3,
    iperf3_text,
    k8s_netperf,
    neper,
    nuttcp,
    perfkit,
    sockperf,
    turin,
    uperf,
)
from netlimits.importers.base import Given, ImportedRun, SourceText
from netlimits.importers.documents import JsonDocument
from netlimits.importers.iperf2 import iperf2_csv, iperf2_text
from netlimits.importers.netperf import text
from netlimits.importers.ntttcp import ntttcp_json, ntttcp_text, ntttcp_xml


class TextFormat(NamedTuple):
    """A format of text: `claims` recognizes a file's text, `read` parses its runs."""

    name: str
    claims: Callable[[SourceText], bool]
    read: Callable[[SourceText, Given], list[ImportedRun]]


class DocumentFormat(NamedTuple):
    """A format of JSON: `recognizes` a document; `read` parses the runs of several documents."""

    name: str
    recognizes: Callable[[Mapping[str, Any]], bool]
    read: Callable[[SourceText, Sequence[JsonDocument]], list[ImportedRun]]


DOCUMENTS: tuple[DocumentFormat, ...] = (
    DocumentFormat("iperf3 JSON", iperf3.recognizes, iperf3.read),
    DocumentFormat("flent", flent.recognizes, flent.read),
    DocumentFormat("k8s-netperf", k8s_netperf.recognizes, k8s_netperf.read),
    DocumentFormat("ntttcp JSON", ntttcp_json.recognizes, ntttcp_json.read),
    DocumentFormat("PerfKitBenchmarker", perfkit.recognizes, perfkit.read),
)
"""JSON formats in order of precedence: the first that recognizes a document reads it."""

TEXTS: tuple[TextFormat, ...] = (
    TextFormat("Turin script", turin.claims, turin.read),
    TextFormat("ntttcp XML", ntttcp_xml.claims, ntttcp_xml.read),
    TextFormat("ntttcp", ntttcp_text.claims, ntttcp_text.read),
    TextFormat("iperf CSV", iperf2_csv.claims, iperf2_csv.read),
    TextFormat("iperf3", iperf3_text.claims, iperf3_text.read),
    TextFormat("iperf", iperf2_text.claims, iperf2_text.read),
    TextFormat("sockperf", sockperf.claims, sockperf.read),
    TextFormat("uperf", uperf.claims, uperf.read),
    TextFormat("neper", neper.claims, neper.read),
    TextFormat("nuttcp", nuttcp.claims, nuttcp.read),
    TextFormat("netperf", text.claims, text.read),
)
"""Text formats in order of precedence: the first that claims a file reads it.

They are tried only for files in which no JSON format recognizes a document.
"""


def read(name: str, data: bytes, given: Given | None = None) -> tuple[str, list[ImportedRun]]:
    """Parse a file of any known format.

    Args:
        name: The file's name in errors.
        data: The file's bytes, perhaps compressed.
        given: Values that the user states, since the file lacks them.

    Returns:
        The name of the format, and the runs in the file's order.

    Raises:
        DataError: The file cannot be parsed; the message names the file and the line.
    """
    given = given or Given()
    source = base.source(name, data, given.limit)
    if texts := documents.texts(source.text):
        source = base.SourceText(name, "\n".join(texts).split("\n"))
    broken: DataError | None = None
    try:
        formats, runs = _of_documents(source)
    except DataError as error:
        broken, formats, runs = error, [], []
    if not formats:
        format_ = next((each for each in TEXTS if each.claims(source)), None)
        if format_ is None and given.columns:
            format_ = TEXTS[-1]
        if format_ is None:
            raise broken or _unknown(source)
        formats, runs = [format_.name], format_.read(source, given)
    elif broken:
        raise broken
    if not runs:
        source.refuse(1, "contains no run")
    return " and ".join(formats), runs


def _of_documents(source: SourceText) -> tuple[list[str], list[ImportedRun]]:
    known = [
        (format_, inner)
        for document in source.documents
        for inner in documents.recognized(document, _format)
        if (format_ := _format(inner.value))
    ]
    runs: list[ImportedRun] = []
    names: dict[str, None] = {}
    for format_, group in itertools.groupby(known, key=lambda pair: pair[0]):
        names[format_.name] = None
        runs += format_.read(source, [document for _, document in group])
    return list(names), runs


def _format(value: Mapping[str, Any]) -> DocumentFormat | None:
    return next((each for each in DOCUMENTS if each.recognizes(value)), None)


def _unknown(source: SourceText) -> DataError:
    at, line = next((n, line) for n, line in enumerate(source.lines, 1) if line.strip())
    if source.documents:
        of = source.documents[0]
        return DataError(
            f"{source.name}:{of.line}: is JSON, but not of a tool that netlimits reads; its keys: "
            f"{', '.join(sorted(map(base.clean, of.value))[:4]) or 'none'}"
        )
    if text.is_row(line.strip()):
        return DataError(f"{source.name}:{at}: {text.rows_alone(line.strip())}")
    formats = [*(each.name for each in DOCUMENTS), *(each.name for each in TEXTS)]
    names = ", ".join(dict.fromkeys(name.split()[0] for name in formats))
    return DataError(
        f"{source.name}:{at}: is not output of a tool that netlimits reads ({names}): "
        f"{base.clean(line.strip())[:60]!r}; `netlimits table FILE --metric` reads other tables"
    )
