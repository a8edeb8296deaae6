"""Congestion controls that the plan names, held against what a kernel has and allows."""

from __future__ import annotations

import pytest
from checks.test_checks import complaints, printed, site

from netlimits.checks.congestion import Congestion

SETTING = """\
experiment: small
factors: {cc: [cubic, bbr]}
settings:
  - roles: [sender]
    sysctl: {net.ipv4.tcp_congestion_control: "${cc}"}
measure:
  netperf: {seconds: 1}
"""
OPTION = """\
experiment: small
measure:
  iperf3: {seconds: 1, congestion_control: bbr}
"""
OUTSIDE, INSIDE = "644\n", "444\n"


def answers(available: str, allowed: str, spaces: str, *modules: int):
    return (
        printed(available),
        printed(allowed),
        printed(spaces),
        *(printed(status=status) for status in modules),
    )


def test_it_asks_only_where_the_plan_names_one():
    assert Congestion().commands(site(), "sender") == ()
    assert Congestion().commands(site(SETTING), "receiver") == ()
    modules = [command.argv[-1] for command in Congestion().commands(site(SETTING), "sender")]
    assert modules[-2:] == ["tcp_cubic", "tcp_bbr"]
    assert len(Congestion().commands(site(OPTION), "receiver")) == 4, "both ends set it"


def test_one_that_the_kernel_has_not_is_an_error_before_the_first_run():
    result = complaints(
        Congestion(), site(SETTING), *answers("reno cubic\n", "reno cubic\n", OUTSIDE, 1, 1)
    )
    assert "the kernel has no bbr; it has cubic, reno; choose one of these" in result["error"]
    assert "cubic" not in result["error"].partition(";")[0]


def test_one_that_is_missing_is_told_once_by_however_many_ways_it_is_named():
    both = SETTING.replace("seconds: 1", 'seconds: 1, congestion_control: "${cc}"')
    kernel = answers("reno cubic\n", "reno cubic\n", OUTSIDE, 1, 1)
    errors = [
        finding
        for finding in Congestion().findings(site(both), "sender", kernel)
        if finding.severity == "error"
    ]
    assert [finding.problem for finding in errors] == ["the kernel has no bbr; it has cubic, reno"]


@pytest.mark.parametrize("available", ["reno cubic bbr\n", "reno cubic\n"])
def test_one_that_is_there_or_can_be_loaded_is_not(available):
    result = complaints(
        Congestion(), site(SETTING), *answers(available, "reno cubic\n", OUTSIDE, 1, 0)
    )
    assert result == {"note": "available: bbr, cubic; \n"}


def test_a_network_namespace_takes_only_what_is_allowed():
    result = complaints(
        Congestion(), site(SETTING), *answers("reno cubic bbr\n", "reno bbr\n", INSIDE, 1, 1)
    )
    assert "cubic is not allowed in a network namespace; allowed are bbr, reno" in result["error"]
    assert "bbr is not" not in result["error"]


def test_a_tool_s_option_of_a_login_that_is_not_root_has_to_be_allowed():
    kernel = answers("reno cubic bbr\n", "reno cubic\n", OUTSIDE, 1)
    refused = complaints(Congestion(), site(OPTION, uid="1000"), *kernel)["error"]
    assert "only root may use bbr; others may use cubic, reno" in refused
    assert "tcp_allowed_congestion_control='bbr cubic reno'" in refused
    assert set(complaints(Congestion(), site(OPTION), *kernel)) == {"note"}, "root may choose any"
    both = SETTING.replace("netperf: {seconds: 1}", "iperf3: {seconds: 1, congestion_control: bbr}")
    opened = answers("reno cubic bbr\n", "reno cubic\n", OUTSIDE, 1, 1)
    allowed = complaints(Congestion(), site(both, uid="1000"), *opened)
    assert set(allowed) == {"note"}, "what is the default of a host is allowed to all"


def test_a_kernel_that_does_not_say_is_not_blamed():
    assert not complaints(
        Congestion(), site(SETTING), printed(status=1), printed(), printed(), printed(), printed()
    )
