"""The steps of a measurement as data: how many connections the looks of a run wait for."""

from __future__ import annotations

import pytest

from netlimits.campaign import steps
from netlimits.campaign.specifications import Specification, specified
from netlimits.experiment import load
from netlimits.experiment.plan import Plan
from netlimits.model import Machine, Values
from netlimits.tools import Features

MACHINES = {
    role: Machine(role, interface="data0", address=f"198.18.0.{n}")
    for n, role in enumerate(("sender", "receiver"), 1)
}


def planned_of(measure: str) -> Plan:
    return Plan(load.parse(f"experiment: looks\n{measure}\nrepeat: {{seed: 1}}\n", "looks.yaml"))


def specified_of(plan: Plan, values: Values) -> Specification:
    return specified(plan.setup(values), plan.experiment.ends_of(values), MACHINES)


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
    plan = planned_of(measure)
    specification = specified_of(plan, next(plan.runs()).values)
    planned = steps.measurement(specification, Features("2.7.1"))
    assert {look.role for look in planned.samplers} == {"sender", "receiver"}
    for look in planned.samplers:
        assert look.command.argv[13] == str(carrying)
        assert look.command.argv[15] == "dst"


def test_a_search_counts_what_arrives_by_samples():
    """iperf3 counts until its connection ends, which is too late by the queue before the path."""
    measure = 'measure: {iperf3: {protocol: udp, rate: "${rate}"}}'
    plan = planned_of(f"search: {{of: rate, from: 1M, to: 1G}}\n{measure}")
    assert specified_of(plan, plan.searches()[0].values).counting == ("remote",)
    alone = planned_of("measure: {iperf3: {protocol: udp, rate: 1M}}")
    assert specified_of(alone, next(alone.runs()).values).counting == ()
