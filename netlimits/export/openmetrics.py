"""OpenMetrics 1.0 text for Prometheus: a gauge for each metric, with a sample for each run.

The name of a gauge is `netlimits_`, followed by the metric's column in `results.csv`. A run that is
not ok has a sample only in the gauge `netlimits_run_ok`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from netlimits.errors import escaped

if TYPE_CHECKING:
    from netlimits.export.base import ExportedRun, Runs

PREFIX = "netlimits_"
_OWN = ("experiment", "run", "block", "attempt")


METRICS_AT_A_TIME = 16
"""Maximum number of metrics in memory at a time.

OpenMetrics requires that all samples of a metric are together. So all runs are read again for each
group of metrics.
"""


def openmetrics(runs: Runs) -> Iterator[str]:
    """Yield the lines, metric by metric. The last line is `# EOF`."""
    names = _label_names(runs.factors)
    yield from _head(f"{PREFIX}run_ok", "", "1 if the run is ok")
    for batch in runs.batches():
        for run in batch.runs:
            yield f"{PREFIX}run_ok{_labels(runs.name, run, names)} {int(run.ok)}{_time(run)}\n"
    for begin in range(0, len(runs.metrics), METRICS_AT_A_TIME):
        some = runs.metrics[begin : begin + METRICS_AT_A_TIME]
        samples: dict[str, list[str]] = {metric.column: [] for metric in some}
        for batch in runs.batches():
            labels = [(_labels(runs.name, run, names), _time(run)) for run in batch.runs]
            for column, lines in samples.items():
                lines += [
                    f"{PREFIX}{column}{label_set} {figure}{time}\n"
                    for (label_set, time), figure in zip(
                        labels, batch.figures(column).to_pylist(), strict=True
                    )
                    if figure is not None
                ]
        for metric in some:
            about = ". ".join(part for part in (metric.label, metric.direction) if part)
            unit = metric.column.removeprefix(metric.name).removeprefix("_")
            yield from _head(PREFIX + metric.column, unit, about)
            yield from samples.pop(metric.column)
    yield "# EOF\n"


def _head(name: str, unit: str, about: str) -> Iterator[str]:
    yield f"# TYPE {name} gauge\n"
    if unit:
        yield f"# UNIT {name} {unit}\n"
    yield f"# HELP {name} {about}\n"


def _label_names(factors: Sequence[str]) -> dict[str, str]:
    """Return factor -> a valid and unique label name."""
    names: dict[str, str] = {}
    for factor in factors:
        name = re.sub(r"[^A-Za-z0-9_]", "_", factor)
        if name in _OWN or not re.match(r"[A-Za-z]", name):
            name = f"factor_{name}"
        while name in names.values():
            name += "_"
        names[factor] = name
    return names


def _labels(experiment: str, run: ExportedRun, names: Mapping[str, str]) -> str:
    own = {name: run.identity[name] for name in _OWN if name in run.identity}
    labels = {"experiment": experiment, **own}
    labels |= {names[factor]: value for factor, value in run.labels.items()}
    return "{" + ",".join(f'{name}="{_escaped(str(v))}"' for name, v in labels.items()) + "}"


def _escaped(text: str) -> str:
    text = escaped(text).replace("\\", "\\\\")
    return text.replace("\n", "\\n").replace('"', '\\"')


def _time(run: ExportedRun) -> str:
    return "" if run.started is None else f" {run.started:.3f}"
