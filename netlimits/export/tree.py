"""JSON: the metrics with their units, and the runs with their factors and figures."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from netlimits.export.base import Runs


def tree(runs: Runs) -> Iterator[str]:
    """Yield the text of a JSON object, with one line for each metric and one for each run."""
    metrics = {
        m.column: {"name": m.name, "title": m.title, "unit": m.unit, "better": m.better}
        for m in runs.metrics
    }
    yield f'{{"experiment": {_json(runs.name)},\n "factors": {_json(list(runs.factors))},\n'
    yield ' "metrics": {\n'
    yield ",\n".join(f"  {_json(name)}: {_json(about)}" for name, about in metrics.items())
    yield '\n },\n "runs": [\n'
    prefixes = {metric.column: f"{_json(metric.column)}: " for metric in runs.metrics}
    between = " "
    for batch in runs.batches():
        for run, figures in zip(batch.runs, batch.fields(prefixes), strict=True):
            row = {**run.identity, "started": run.started, "factors": dict(run.labels)}
            yield f'{between} {_json(row)[:-1]}, "figures": {{{figures}}}}}\n'
            between = ","
    yield " ]\n}\n"


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=True, allow_nan=False)
