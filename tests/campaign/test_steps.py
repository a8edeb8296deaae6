"""The steps of a measurement as data: how many connections the looks of a run wait for."""

from __future__ import annotations

import pytest

from netlimits.campaign import steps
from netlimits.campaign.specifications import specified
from netlimits.experiment import load
from netlimits.experiment.plan import Plan
from netlimits.model import Machine
from netlimits.tools import Features


@pytest.mark.parametrize(
    ("measure", "carrying"),
    [
        ("measure: {netperf: {test: TCP_STREAM}}", 1),
        ("streams: 4\nmeasure: {netperf: {test: TCP_STREAM}}", 4),
        ("measure: {iperf3: {protocol: tcp, parallel: 8}}", 8),
        ("measure: {iperf3: {protocol: tcp, parallel: 3, bidirectional: true}}", 6),
        ("measure: {netperf: {test: UDP_STREAM, send_size: 1024}}", 0),
        ("bulk: {streams: 2, direction: both}\nmeasure: {netperf: {test: TCP_RR}}", 5),
        ("bulk: {streams: 2, direction: send}\nmeasure: {netperf: {test: UDP_RR}}", 2),
    ],
)
def test_looks_wait_for_every_connection_that_is_to_carry_data(measure: str, carrying: int):
    plan = Plan(load.parse(f"experiment: looks\n{measure}\nrepeat: {{seed: 1}}\n", "looks.yaml"))
    run = next(plan.runs())
    machines = {
        role: Machine(role, interface="data0", address=f"198.18.0.{n}")
        for n, role in enumerate(("sender", "receiver"), 1)
    }
    specification = specified(plan.setup(run.values), plan.experiment.ends_of(run.values), machines)
    planned = steps.measurement(specification, Features("2.7.1"), machines)
    assert {look.role for look in planned.looks} == {"sender", "receiver"}
    for look in planned.looks:
        assert look.command.argv[13] == str(carrying)
        assert look.command.argv[15] == "dst"
