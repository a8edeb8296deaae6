"""What keeps perf from recording, from captured answers."""

from __future__ import annotations

import pytest
from checks.test_checks import printed, site

from netlimits.checks.profile import Profiles

TEXT = """\
experiment: small
measure: {netperf: {seconds: 1}}
profile: {roles: [receiver], frequency: 999}
"""
GOOD = "kernel=6.1\nperf=/usr/bin/perf\nversion=perf version 6.1\nlimit=100000\nevent=cycles\nnames=yes\n"


def told(stdout: str, stderr: str = "") -> list[str]:
    answers = (printed(stdout, stderr=stderr),)
    return [str(finding) for finding in Profiles().findings(site(TEXT), "receiver", answers)]


def test_only_profiled_roles_are_asked():
    assert Profiles().commands(site(TEXT), "sender") == ()
    (command,) = Profiles().commands(site(TEXT), "receiver")
    assert command.argv[-1] == "999"


def test_the_event_is_noted():
    assert told(GOOD) == ["receiver: profile: perf takes cycles"]


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        ("kernel=6.1\n", "there is no perf"),
        (GOOD.replace("perf version 6.1", ""), "perf does not run; install the package"),
        (GOOD.replace("100000", "500"), "the kernel takes at most 500 samples/s, not 999"),
        (GOOD.replace("cycles", ""), "may not record all CPUs: No permission"),
        (GOOD.replace("names=yes\n", ""), "hides the names of its functions; set kernel.kptr"),
    ],
)
def test_a_problem_is_one_line_that_says_what_to_do(answer, problem):
    (line,) = told(answer, "No permission")
    assert problem in line
    assert "; " in line
