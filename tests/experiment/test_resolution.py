"""What a configuration gets where the file says nothing."""

from __future__ import annotations

import pytest

from netlimits.experiment import load
from netlimits.experiment.plan import Plan


@pytest.mark.parametrize(
    ("body", "interval"),
    [
        ("streams: 4\nmeasure: {netperf: {seconds: 10}}", 1.0),
        ("streams: 4\nmeasure: {netperf: {seconds: 60}}", 1.0),
        ("streams: 4\nmeasure: {netperf: {seconds: 2}}", 0.2),
        ("streams: 4\nmeasure: {netperf: {seconds: 2, interim_seconds: -1}}", -1),
        ("roles: [a, b: 2]\nmeasure: {netperf: {seconds: 5}}", 0.5),
        ("measure: {netperf: {seconds: 10}}", None),
        ("streams: 2\nmeasure: {nttcp: {count: 10}}", None),
    ],
)
def test_several_clients_get_interim_results(body, interval):
    experiment = load.parse(f"experiment: x\n{body}\n", "x.yaml")
    (setup,) = Plan(experiment).setups()
    assert setup.options.get("interim_seconds") == interval
