"""Which server serves a run, and on which port, where one lasts for the campaign."""

from __future__ import annotations

from dataclasses import replace

import pytest

from netlimits.errors import HostError
from netlimits.hosts.scripted import ScriptedHost, answer
from netlimits.hosts.servers import Servers
from netlimits.model import Command, Completed, ServerAddress
from netlimits.tools import tool

ENDS = ServerAddress("192.0.2.2", 5037)
NEAR, FIXED = (f"ss -Htan '( sport >= :{first} and sport <= :5037 )'" for first in (5008, 5037))
WAITS = "TIME-WAIT 0 0 192.0.2.2:5037 192.0.2.1:40000\n"


def listens(port: int) -> str:
    return f"LISTEN 0 5 *:{port} *:*\n"


def test_other_options_make_another_server_on_a_port_of_its_own():
    script = {
        NEAR: ["", WAITS],
        "ss -Hltn": [listens(5037), listens(5036)],
        "nttcp -i -p 5037": "",
        "taskset -c 1 nttcp -i -p 5036": "",
    }
    host, servers = ScriptedHost(script, "receiver"), Servers()
    assert servers.serve(tool("nttcp"), {}, host, ENDS) == ENDS
    assert servers.serve(tool("nttcp"), {"cpus": 0}, host, ENDS) == ENDS, "the client's alone"
    assert servers.serve(tool("nttcp"), {"server_cpus": 1}, host, ENDS).port == 5036
    assert [server.stopped for server in host.servers] == [True, False]


def test_a_port_that_was_asked_for_is_waited_for(monkeypatch):
    monkeypatch.setattr("time.sleep", lambda seconds: None)
    script = {
        FIXED: [WAITS, WAITS, ""],
        "ss -Hltn": [listens(5037)],
        "nttcp -i -p 5037": "",
    }
    host, looked = ScriptedHost(script, "receiver"), []
    ends = Servers().serve(tool("nttcp"), {"port": 5037}, host, ENDS, lambda: looked.append(1))
    assert ends.port == 5037
    assert len(looked) == 2, "whoever interrupts is heard while it waits"


def test_a_port_that_stays_taken_is_an_error(monkeypatch):
    monkeypatch.setattr("netlimits.hosts.servers.TIME_WAIT", -100.0)
    host = ScriptedHost({FIXED: [listens(5037)]}, "receiver")
    with pytest.raises(HostError, match="port 5037 is taken, and stayed so for"):
        Servers().serve(tool("nttcp"), {"port": 5037}, host, ENDS)
    assert host.served == []


def test_anothers_server_is_used_where_it_is_the_same_and_takes_its_port_otherwise():
    ends = ServerAddress("192.0.2.2", 12865)
    host = ScriptedHost({"ss -Hltn": [listens(12865), listens(5201)]}, "receiver")
    assert Servers().serve(tool("netperf"), {}, host, ends) == ends
    with pytest.raises(HostError, match=r"another server listens on port 5201 of"):
        Servers().serve(tool("iperf3"), {}, host, ServerAddress("192.0.2.2", 5201))
    assert host.served == []


def test_what_is_no_list_of_sockets_is_no_closed_port():
    ends = ServerAddress("192.0.2.2", 12865)
    host = ScriptedHost({"ss -Hltn": ["Segmentation fault\n"]}, "receiver")
    with pytest.raises(HostError, match="printed no sockets, but: Segmentation fault"):
        Servers().serve(tool("netperf"), {}, host, ends)


def hangs(command: Command) -> Completed | None:
    if command.argv[0] != "ss":
        return answer(command)
    return replace(answer(command, status=124), timed_out=True)


@pytest.mark.parametrize(("name", "what"), [("netperf", "ss -Hltn"), ("nttcp", "ss -Htan")])
def test_an_ss_that_hangs_is_named_and_no_port_is_free_or_closed(name: str, what: str):
    with pytest.raises(HostError, match=f"`{what}.*` did not end within 10 s"):
        Servers().serve(tool(name), {}, ScriptedHost(hangs, "receiver"), ENDS)


def test_an_ss_that_lists_nothing_tells_of_no_server(monkeypatch):
    host = ScriptedHost(answer, "receiver")
    monkeypatch.setattr(type(host.patience), "seconds", -1.0, raising=False)
    with pytest.raises(HostError, match="`ss -Hltn` lists no socket at all"):
        Servers().serve(tool("netperf"), {}, host, ENDS)
