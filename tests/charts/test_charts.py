"""The registry of charts: what its lines say is what the functions take."""

from __future__ import annotations

import inspect
import pkgutil
import subprocess
import sys
from typing import Any

import pytest

from netlimits import charts
from netlimits.charts import kinds
from netlimits.experiment import report_schema

FRAMES = {
    "runs": "frame",
    "intervals": "intervals",
    "packets": "packets",
    "timelines": "frame",
    "sensitivities": "frame",
}


def parameters(function: Any) -> list[inspect.Parameter]:
    return list(inspect.signature(function).parameters.values())


@pytest.mark.parametrize("kind", charts.CHARTS, ids=lambda kind: kind.name)
def test_a_charts_line_says_what_its_function_takes(kind: charts.ChartKind) -> None:
    source, *options = parameters(kind.draw)
    assert source.name == FRAMES[kind.source]
    sayable = {  # by YAML, so no mapping
        p.name: charts.REQUIRED if p.default is p.empty else p.default
        for p in options
        if not str(p.annotation).startswith("Mapping")
    }
    role = {"role": None} if kind.source == "packets" else {}
    assert {**sayable, **role} == dict(kind.options)
    assert set(kind.options) <= set(report_schema.OPTIONS)


@pytest.mark.parametrize(
    "kind", [kind for kind in charts.CHARTS if kind.table], ids=lambda kind: kind.name
)
def test_the_table_beside_a_chart_takes_what_is_not_the_drawings_alone(
    kind: charts.ChartKind,
) -> None:
    assert kind.table
    _, *options = parameters(charts._function(kind.table))
    assert set(kind.cosmetic) <= set(kind.options)
    assert {*kind.options} - {*kind.cosmetic} <= {p.name for p in options}


def test_every_file_of_charts_is_of_a_kind() -> None:
    files = {module.name for module in pkgutil.iter_modules(kinds.__path__)}
    assert files - {kind.module for kind in charts.CHARTS} == {"goodput"}  # bounds, no campaign


def test_an_experiment_is_checked_without_matplotlib() -> None:
    code = (
        "import sys\nfrom pathlib import Path\nfrom netlimits.experiment import load\n"
        "load.load(Path('experiments/stateless-offloads.yaml'))\n"
        "print(sorted({'matplotlib', 'pandas', 'numpy'} & set(sys.modules)))\n"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"


def test_a_chart_is_drawn_by_its_name() -> None:
    assert {*charts.KINDS, "goodput", "save", "Chart"} <= set(dir(charts))
    with pytest.raises(AttributeError, match="no attribute 'pie'"):
        charts.pie  # noqa: B018
