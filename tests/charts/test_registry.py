from __future__ import annotations

import inspect

from netlimits import charts, schema


def test_an_experiment_may_ask_for_each_chart_with_all_that_it_takes():
    functions = {
        name: tuple(p for p in inspect.signature(draw).parameters if p != "frame")
        for name, draw in charts.CHARTS
    }
    assert {name: set(takes) for name, takes in functions.items()} == {
        name: set(takes) for name, takes in schema.CHARTS.items()
    }
    assert list(functions) == list(schema.CHARTS)
