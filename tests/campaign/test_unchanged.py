"""A run of which a host was changed meanwhile does not count, and says what was changed."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from netlimits.archive.raw import SETTING_AFTER, WATCH_AFTER, WATCH_BEFORE, RawEntry
from netlimits.campaign import steps
from netlimits.campaign.figures import unchanged
from netlimits.campaign.specifications import Specification, specified
from netlimits.errors import ToolFailure
from netlimits.experiment import load
from netlimits.experiment.plan import Plan
from netlimits.model import Completed, Machine
from netlimits.tools import Features

TEXT = """\
experiment: unchanged
settings:
  - roles: [sender, receiver]
    mtu: 1500
    sysctl: {net.ipv4.tcp_sack: 1}
measure: {netperf: {test: TCP_STREAM}}
repeat: {seed: 1}
"""
QUIET = "watch 1.0\nifindex 2\nmtu 1500\nfeatures rx-gro\n"


@pytest.fixture
def specification() -> Specification:
    plan = Plan(load.parse(TEXT, "unchanged.yaml"))
    run = next(plan.runs())
    machines = {
        role: Machine(role, interface="data0", address=f"198.18.0.{n}")
        for n, role in enumerate(("sender", "receiver"), 1)
    }
    return specified(plan.setup(run.values), plan.experiment.ends_of(run.values), machines)


def entries(
    specification: Specification, sack: str = "1", after: str = QUIET
) -> Iterable[RawEntry]:
    """What the two readings of both hosts print; the receiver's is another after the run."""
    printed = {WATCH_BEFORE: QUIET, WATCH_AFTER: QUIET}
    planned = steps.measurement(specification, Features("2.7.1"))
    for step in (*planned.before, *planned.after):
        text = printed.get(step.name, "")
        if step.role == "receiver" and step.name == WATCH_AFTER:
            text = after
        if step.name == SETTING_AFTER:
            assert step.command.argv[0] == "sysctl", "the watch reads the MTU"
            value = sack if step.role == "receiver" else "1"
            text = f"net.ipv4.tcp_sack = {value}\n" if value else ""
        yield RawEntry(step.name, Completed(step.role, step.command, 0, text, "", 0.0))


def reason(specification: Specification, **told: str) -> str:
    with pytest.raises(ToolFailure) as failure:
        unchanged.refuse(specification, [*entries(specification, **told)])
    assert failure.value.status == "invalid"
    return str(failure.value).removeprefix("changed during the run, not by netlimits: ")


def test_a_run_whose_hosts_stay_as_they_are_counts(specification):
    unchanged.refuse(specification, [*entries(specification)])
    unchanged.refuse(specification, [])


def test_a_setting_that_is_another_after_the_run_is_told_with_its_host(specification):
    assert reason(specification, sack="0") == "receiver: sysctl: net.ipv4.tcp_sack is 0, not 1"


def test_an_interface_that_is_another_after_the_run_is_told_with_its_host(specification):
    changed = "receiver: data0: its MTU was changed from 1500 to 9000"
    after = QUIET.replace("1500", "9000")
    assert reason(specification, after=after) == changed
    both = f"{changed}; receiver: sysctl: net.ipv4.tcp_sack is 0, not 1"
    assert reason(specification, after=after, sack="0") == both


def test_a_setting_that_cannot_be_read_any_more_is_told(specification):
    assert "there is no net.ipv4.tcp_sack" in reason(specification, sack="")
