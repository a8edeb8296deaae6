"""`netlimits diagnose` without hosts: its one-line errors, and what `--plan` prints."""

from __future__ import annotations

import pytest
import yaml

from netlimits.cli import main
from netlimits.cli.diagnose import path_of
from netlimits.errors import HostError
from netlimits.hosts.scripted import ScriptedHost, answer
from netlimits.limits.ladder.doses import RESOURCES
from netlimits.model import Command, Completed, Machine


def netlimits(capsys, *words: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as ended:
        main(["diagnose", *words])
    printed = capsys.readouterr()
    return ended.value.code, printed.out, printed.err


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (("a", "a"), "a is named twice; name two hosts, or say --local"),
        (("a",), "name two hosts, A and B, not 1: netlimits diagnose A B"),
        (("a", "b", "c"), "name two hosts, A and B, not 3: netlimits diagnose A B"),
        (("a", "b", "--local"), "name two hosts, or say one of --hosts, --lab and --local"),
        (("a", "b", "--workload", "tpc"), "--workload tpc: there is no such workload; did you mean tcp?"),
        (("a", "b", "--reverse", "--both"), "--reverse and --both exclude each other; keep one"),
        (("a", "b", "--plan", "--json"), "--plan prints an experiment as YAML; drop --json"),
        (("a", "b", "--time", "x"), "--time x: write a time from 1s to 168h, as in 90s or 5m"),
        (("--lab", "nolab"), "no lab is called nolab; `netlimits lab up --name nolab` builds it"),
        (("a", "b", "--time", "20s"), "--time 20s: is too short for 4 workloads; it takes 58 s at "
         "least: choose fewer with --workload, or --no-changes"),
    ],
)  # fmt: skip
def test_wrong_input_gets_one_line(capsys, words, line):
    status, out, err = netlimits(capsys, *words)
    assert (status, out) == (2, "")
    assert err == f"netlimits: {line}\n"


def test_an_unknown_host_gets_one_line(capsys):
    status, _, err = netlimits(
        capsys, "no-such-host.invalid", "nor-such.invalid", "--patience", "1s"
    )
    assert status == 2
    assert "sender: login: " in err
    assert "Traceback" not in err


def test_the_plan_is_an_experiment_and_says_what_may_be_changed(capsys):
    status, out, _ = netlimits(capsys, "a", "b", "--plan", "--workload", "tcp,rr")
    assert status == 0
    assert yaml.safe_load(out)["zip"]["workload"] == ["tcp", "rr"]
    assert all(f"#   {each.name}: " in out for each in RESOURCES)
    _, out, _ = netlimits(capsys, "a", "b", "--plan", "--no-changes")
    assert "receive buffer" not in out


def having(*programs: str) -> dict[str, ScriptedHost]:
    """Two hosts with these programs."""

    def script(command: Command) -> Completed:
        return answer(command, status=0 if command.argv[-1] in programs else 1)

    return {role: ScriptedHost(script, role) for role in ("sender", "receiver")}


BOUND = {role: Machine(role, f"vm-{role}", "eth0", "192.0.2.1") for role in ("sender", "receiver")}


def test_the_first_tool_that_both_hosts_have_measures_and_what_is_missing_is_named(capsys):
    assert path_of(BOUND, having("netperf", "netserver", "iperf3"), "") == (BOUND, "netperf", [])
    _, tool, lines = path_of(BOUND, having("netperf", "iperf3"), "")
    assert tool == "iperf3"
    problem = "netperf is missing (vm-sender: netserver, vm-receiver: netserver)"
    assert lines == [problem]
    assert capsys.readouterr().err == f"note: {problem}; iperf3 measures what it can\n"


def test_without_any_tool_the_error_names_what_is_missing():
    with pytest.raises(HostError, match="no tool is on both hosts; install netperf"):
        path_of(BOUND, having("iperf"), "")
