"""The JSON of Linux' ntttcp (`-j`), in which every value is a string."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from netlimits.importers.base import ImportedRun, SourceText
from netlimits.importers.documents import JsonDocument
from netlimits.importers.ntttcp.results import key, run_of

_ENDS = ("ntttcps", "ntttcpr")


def recognizes(document: Mapping[str, Any]) -> bool:
    results = next((document[end] for end in _ENDS if end in document), None)
    return isinstance(results, dict) and "parameters" in results


def read(source: SourceText, documents: Sequence[JsonDocument]) -> list[ImportedRun]:
    runs = []
    for line, document in documents:
        end = next(end for end in _ENDS if end in document)
        values = dict(_texts("", document[end]))
        runs.append(run_of(values, sender=end == _ENDS[0], line=line))
    return runs


def _texts(name: str, value: Any) -> Iterator[tuple[tuple[str, str], str]]:
    """Yield key and text of each value; a value in the list `throughputs` is named `throughput`."""
    if isinstance(value, str | int | float):
        yield key(name, ""), str(value)[:300]
    elif isinstance(value, dict) and isinstance(value.get("value"), str):
        yield key(name, str(value.get("metric", ""))), value["value"][:300]
    elif isinstance(value, dict) and name in ("", "parameters"):
        for inner, each in value.items():
            yield from _texts(f"{name}/{inner}".lstrip("/"), each)
    elif isinstance(value, list) and name == "throughputs":
        for each in value:
            if isinstance(each, dict) and isinstance(each.get("value"), str):
                yield key("throughput", str(each.get("metric", ""))), each["value"][:300]
