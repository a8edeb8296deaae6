"""The stages of a diagnosis: their time, and which changes a host's refusals are about."""

from __future__ import annotations

import time

import pytest

from netlimits.checks import Finding
from netlimits.cli.shared.stages import (
    CLOSING,
    Budget,
    _levels_of,
    refuse_short,
    seconds_of_a_run,
)
from netlimits.errors import InputError
from netlimits.experiment import load
from netlimits.experiment.plan import Plan, seeded
from netlimits.model import Record, Run

TEXT = """\
experiment: diagnose-a-b
measure: {netperf: {seconds: 2}}
streams: ${next_streams}
settings:
  - roles: [receiver]
    sysctl: {net.ipv4.tcp_rmem: "${next_rmem}"}
  - roles: [sender]
    load: {workers_per_cpu: "${next_load}"}
zip:
  intervention: [none, receive-buffer-x2, sender-load-x1, streams-x2]
  next_rmem: [null, 4096 262144 12582912, null, null]
  next_load: [null, null, 1, null]
  next_streams: [1, 1, 1, 2]
"""


@pytest.mark.parametrize(
    ("host", "check", "levels"),
    [("sender", "load", {"sender-load-x1"}), ("receiver", "sudo", {"receive-buffer-x2"}),
     ("sender", "sysctl", set()), ("sender", "ports", set())],
)  # fmt: skip
def test_a_refusal_is_about_the_changes_that_make_its_setting(host, check, levels):
    plan = Plan(seeded(load.parse(TEXT, "experiment.yaml")))
    assert _levels_of(plan, [Finding(host, check, "error", "no")]) == levels


def test_a_run_is_timed_without_the_first_ones_that_start_a_server():
    seconds = [("a", 6.5), ("b", 2.0), ("a", 1.5), ("b", 2.5)]
    records = [
        Record(Run(n, 1, config, {}), 1, "ok", "", 0.0, took, {})
        for n, (config, took) in enumerate(seconds)
    ]
    assert seconds_of_a_run(records) == (1.5 + 2.0) / 2


def test_a_budget_keeps_time_for_what_follows_the_last_run():
    budget = Budget(100.0, time.monotonic() - 30)
    assert budget.left == pytest.approx(70 - CLOSING, abs=1)


def test_a_time_for_less_than_two_blocks_is_refused():
    refuse_short(40, 1)
    with pytest.raises(InputError, match="--time 40s: is too short for 4 workloads"):
        refuse_short(40, 4)
