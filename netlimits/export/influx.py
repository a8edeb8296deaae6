r"""InfluxDB's line protocol: a line for each run, with factors as tags and metrics as fields.

A tag cannot contain a line feed or end in a backslash. These characters are replaced by escape
sequences: `\u000a` for a line feed, and `\u005c` for each backslash at the end.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from netlimits.errors import escaped

if TYPE_CHECKING:
    from netlimits.export.base import ExportedRun, Runs

MEASUREMENT = "netlimits"
_OWN = ("experiment", "run", "block")


def influx(runs: Runs) -> Iterator[str]:
    """Yield a line for each run.

    The timestamp is the start of the run in nanoseconds since 1970. It is left out if unknown.
    """
    prefixes = {metric.column: f"{_tag(metric.column)}=" for metric in runs.metrics}
    for batch in runs.batches():
        for run, figures in zip(batch.runs, batch.fields(prefixes), strict=True):
            tags = "".join(f",{_tag(k)}={_tag(value)}" for k, value in _tags(runs, run) if value)
            stamp = "" if run.started is None else f" {round(run.started * 1e9)}"
            fields = ",".join([*_fields(run), *([figures] if figures else [])])
            yield f"{MEASUREMENT}{tags} {fields}{stamp}\n"


def _tags(runs: Runs, run: ExportedRun) -> Iterator[tuple[str, str]]:
    own = {"experiment": runs.name, **{n: str(run.identity.get(n, "")) for n in _OWN[1:]}}
    yield from own.items()
    for name, value in run.labels.items():
        yield (f"factor_{name}" if name in (*_OWN, "time") else name), value


def _fields(run: ExportedRun) -> Iterator[str]:
    for name in ("status", "reason"):
        if run.identity.get(name):
            yield f"{name}={_text(str(run.identity[name]))}"
    for name in ("attempt", "duration_s"):
        if name in run.identity:
            yield f"{name}={float(run.identity[name])!r}"
    if not run.identity.get("status"):
        yield f"ok={str(run.ok).lower()}"


def _shown(text: str) -> str:
    text = escaped(text).replace("\n", "\\u000a").replace("\t", "\\u0009")
    return re.sub(r"\\+$", lambda end: "\\u005c" * len(end[0]), text)


def _tag(text: str) -> str:
    """Escape the name or the value of a tag, or the name of a field."""
    return re.sub(r"([,= ])", r"\\\1", _shown(text))


def _text(text: str) -> str:
    return '"' + escaped(text).replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ") + '"'
