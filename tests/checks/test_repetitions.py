"""Configurations that are the same in all but their names, found in plans of every kind."""

from __future__ import annotations

import pytest

from netlimits.checks.survey import repetitions
from netlimits.experiment import load
from netlimits.experiment.plan import Plan

TWO_TOOLS = """\
experiment: trial
factors: {tool: [netperf, iperf3], nodelay: [true, false], size: [64, 1024]}
measure:
  netperf: {seconds: 1, nodelay: "${nodelay}", send_size: "${size}"}
  iperf3: {seconds: 1, send_size: "${size}"}
"""


def findings(text: str) -> list[str]:
    return [str(finding) for finding in repetitions.findings(Plan(load.parse(text, "trial.yaml")))]


def test_a_factor_that_one_of_two_tools_does_not_use():
    (finding,) = findings(TWO_TOOLS)
    assert finding == (
        "plan: only 2 of 4 configurations differ: nothing that they set or measure uses nodelay "
        'where tool = "iperf3", size = 64, and elsewhere; their rows are repetitions of each '
        "other; exclude all but one of each"
    )


@pytest.mark.parametrize(
    "change",
    [
        ('tool == "iperf3" and nodelay', "exclude"),
        ("nodelay", "dummies"),
    ],
)
def test_what_is_left_out_or_meant_is_none(change):
    what, section = change
    assert not findings(f"{TWO_TOOLS}{section}: ['{what}']\n")


def test_a_derived_value_that_comes_to_the_same():
    text = (
        "experiment: trial\nfactors: {size: [64, 65]}\nderive: {half: size // 2}\n"
        'measure: {netperf: {send_size: "${half}"}}\n'
    )
    (finding,) = findings(text)
    assert "only 1 of 2 configurations differ" in finding
    assert "uses size" in finding


def test_a_tool_that_nothing_chooses_is_a_warning() -> None:
    (told, *_) = findings(TWO_TOOLS.replace("[netperf, iperf3]", "[netperf]"))
    assert told == (
        "plan: measure.iperf3: no value of the factor `tool` chooses it; it is left out; add iperf3 "
        "to the factor to measure with it"
    )
