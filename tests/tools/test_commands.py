"""CPUs of client and server: in the command, on the real machine, and where they are not there."""

from __future__ import annotations

import os
import subprocess
import sys

import jsonschema
import pytest
import warm

import netlimits as nl
from netlimits.errors import InputError, ToolFailure
from netlimits.model import Command, Completed, ServerAddress
from netlimits.tools import Features, tool
from netlimits.tools._commands import bound

ENDS = ServerAddress("198.51.100.2", 5999)
LAST = (os.cpu_count() or 1) - 1
NAMES = ("iperf3", "nuttcp", "nttcp")


def ran(*argv: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(argv, capture_output=True, text=True)


@pytest.mark.parametrize("name", NAMES)
def test_each_end_by_itself(name):
    options = {"count": 1} if name == "nttcp" else {}
    features = Features("1")
    free = tool(name).client(options, features, ENDS)
    server = tool(name).server(options, ENDS)
    options |= {"cpus": "0,2-3", "server_cpus": 1}
    jsonschema.validate(options, tool(name).schema)
    tool(name).check(options, features)
    ahead = ("taskset", "-c", "3", "taskset", "-c", "0,2-3")
    assert tool(name).client(options, features, ENDS).argv == (*ahead, *free.argv)
    assert tool(name).server(options, ENDS).argv == ("taskset", "-c", "1", *server.argv)
    only = {key: value for key, value in options.items() if key != "server_cpus"}
    assert tool(name).server(only, ENDS) == server


@pytest.mark.parametrize("name", NAMES)
def test_what_is_no_list_of_cpus(name):
    count = {"count": 1} if name == "nttcp" else {}
    for wrong in ("", "a", "0;1", -1, [0]):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate({**count, "cpus": wrong}, tool(name).schema)
    with pytest.raises(
        InputError, match=rf"measure\.{name}\.server_cpus: 1-0 is a descending range"
    ):
        tool(name).check({**count, "server_cpus": "1-0"}, Features("1"))


def test_the_clock_is_read_before_the_client_is_bound():
    argv = tool("iperf3").client({"interim_seconds": 1, "cpus": 0}, Features("1"), ENDS).argv
    assert argv[3:7] == ("taskset", "-c", "0", "iperf3")


@pytest.mark.parametrize("cpus", [0, f"0-{LAST}"])
def test_a_program_runs_where_it_shall(cpus):
    shown = ran(*bound(("grep", "Cpus_allowed_list", "/proc/self/status"), cpus)).stdout
    assert shown.split()[1] == (str(cpus) if LAST else "0")


@pytest.mark.parametrize("cpus", [LAST + 1, f"0,{LAST + 1}", f"0-{LAST + 1}"])
@pytest.mark.parametrize("name", NAMES)
def test_a_cpu_that_is_not_there_fails_the_run(name, cpus):
    options = {"cpus": cpus, "count": 1}
    outcome = ran(*bound(("true",), cpus))
    completed = Completed(
        "sender", Command(("taskset",)), outcome.returncode, outcome.stdout, outcome.stderr, 0.1
    )
    with pytest.raises(ToolFailure, match=f"{name} exited 1: taskset: failed to set .*Invalid"):
        tool(name).read(completed, options)


EXPERIMENT = """
experiment: cpus
roles: [sender, receiver]
factors:
  tool: [iperf3, nuttcp]
  end: [cpus, server_cpus]
  cpu: [0, 1000]
derive:
  client: cpu if end == 'cpus' else 0
  server: cpu if end == 'server_cpus' else 0
measure:
  iperf3: {seconds: 1, cpus: "${client}", server_cpus: "${server}"}
  nuttcp: {seconds: 1, cpus: "${client}", server_cpus: "${server}"}
repeat: {replicates: 1, order: listed, seed: 1}
"""


@pytest.mark.lab
def test_a_cpu_that_either_end_lacks_is_refused_before_the_first_run(lab, tmp_path):
    file, out = tmp_path / "cpus.yaml", tmp_path / "out"
    file.write_text(EXPERIMENT)

    def run(*more):
        words = ("run", file, "--hosts", lab.hosts_file, "--out", out, *more)
        argv = (sys.executable, "-m", "netlimits", *map(str, words))
        return warm.run(argv, capture_output=True, text=True)

    refused = run()
    assert refused.returncode == 2
    for name in ("iperf3", "nuttcp"):
        for host, option in (("sender", "cpus"), ("receiver", "server_cpus")):
            assert f"measure.{name}.{option}: {host} has no CPU 1000" in refused.stderr
    assert not out.exists()
    done = run("--set", "factors.cpu=[0]")
    assert done.returncode == 0, done.stderr
    assert {*nl.open(out).frame()["status"]} == {"ok"}
