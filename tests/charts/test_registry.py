from __future__ import annotations

import inspect

from netlimits import charts
from netlimits.experiment import report_schema


def takes(draw: object) -> tuple[str, set[str]]:
    """What a chart is drawn from, and its options: all that YAML can say, so no mapping."""
    source, *options = inspect.signature(draw).parameters.values()  # type: ignore[arg-type]
    sayable = {p.name for p in options if not str(p.annotation).startswith("Mapping")}
    return source.name, sayable | ({"role"} if source.name == "packets" else set())


def test_an_experiment_may_ask_for_each_chart_with_all_that_it_takes():
    functions = {name: takes(draw)[1] for name, draw in charts.CHARTS}
    assert functions == {name: set(options) for name, options in report_schema.CHARTS.items()}
    assert list(functions) == list(report_schema.CHARTS)


def test_the_first_parameter_of_a_chart_says_what_it_is_drawn_from():
    sources = {takes(draw)[0] for _, draw in charts.CHARTS}
    assert sources == set(charts.TAKES)
