"""Programs at paths of their own: another build of a tool, whatever it is wrapped in."""

from __future__ import annotations

import pytest

from netlimits.checks.survey.tools import ANY_BUILD
from netlimits.errors import DocumentError, InputError
from netlimits.experiment import load
from netlimits.model import Command, ServerAddress
from netlimits.tools import TOOLS, at_path, tool

HERE = ServerAddress("192.0.2.2", 5000)
OWN = {"program": "/opt/a/client", "server_program": "/opt/a/server"}
NAMES = [each.name for each in TOOLS if each.name in ("netperf", "iperf3", "nuttcp", "nttcp")]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("more", [{}, {"interim_seconds": 1}, {"cpus": "0,1", "server_cpus": "1"}])
def test_a_path_takes_the_place_of_the_programs_name_and_of_nothing_else(name, more):
    options = {n: v for n, v in more.items() if n in tool(name).schema["properties"]}
    options |= {"count": 1} if name == "nttcp" else {}
    usual = tool(name).client(options, ANY_BUILD, HERE)
    own = tool(name).client({**options, **OWN}, ANY_BUILD, HERE)
    assert own.argv == tuple("/opt/a/client" if word == name else word for word in usual.argv)
    assert own.deadline == usual.deadline
    program = tool(name).server_program
    usual = tool(name).server(options, HERE)
    own = tool(name).server({**options, **OWN}, HERE)
    assert own.argv == tuple("/opt/a/server" if word == program else word for word in usual.argv)
    assert "/opt/a/server" in own.argv


def test_bulk_streams_beside_are_of_the_same_build():
    rr = {"test": "TCP_RR", **OWN}
    stream = tool("netperf").bulk(rr, "send", 3)
    assert stream is not None
    assert "/opt/a/client" in tool("netperf").client(stream, ANY_BUILD, HERE).argv
    assert tool("netperf").bulk({**rr, "test": "TCP_STREAM"}, "send", 3) is None


def test_a_tool_of_several_programs_says_that_it_has_no_single_one():
    with pytest.raises(InputError, match="/opt/x: neper runs no program of its own name"):
        at_path(Command(("tcp_rr", "-l", "1")), "neper", "/opt/x")


@pytest.mark.parametrize(
    "wrong", ["netperf", "-x", "/opt/../x", "/a b", "/$(x)", "/x;y", "${size}", "/", "//x"]
)
def test_what_is_no_path_is_refused(wrong):
    text = f"experiment: x\nfactors: {{size: [1]}}\nmeasure: {{netperf: {{program: '{wrong}', " \
           "send_size: '${size}'}}\n"  # fmt: skip
    with pytest.raises(DocumentError, match=r"measure.netperf.program"):
        load.parse(text, "x.yaml")
