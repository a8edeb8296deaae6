"""Which server serves a run, where one lasts for the campaign and its options change."""

from __future__ import annotations

import pytest

from netlimits.errors import HostError
from netlimits.hosts.scripted import ScriptedHost
from netlimits.servers import Servers
from netlimits.tools.base import Ends

ENDS = Ends("192.0.2.2", 5037)
LISTENS = "LISTEN 0 5 *:5037 *:*\n"
SERVE, BOUND = "nttcp -i -p 5037", "taskset -c 1 nttcp -i -p 5037"


def test_other_options_make_another_server():
    script = {"ss -Hltn": ["", LISTENS, "", LISTENS], SERVE: "", BOUND: ""}
    host, servers = ScriptedHost(script, "receiver"), Servers()
    servers.serve("nttcp", {}, host, ENDS)
    servers.serve("nttcp", {"cpus": 0}, host, ENDS)  # the client's alone
    servers.serve("nttcp", {"server_cpus": 1}, host, ENDS)
    assert [" ".join(command.argv) for command in host.served] == [SERVE, BOUND]
    assert [server.stopped for server in host.servers] == [True, False]


def test_anothers_server_is_not_on_the_cpus_asked_for():
    host = ScriptedHost({"ss -Hltn": [LISTENS, LISTENS]}, "receiver")
    Servers().serve("nttcp", {}, host, ENDS)
    with pytest.raises(HostError, match=r"port 5037 of .* is taken by another server"):
        Servers().serve("nttcp", {"server_cpus": 1}, host, ENDS)
    assert host.served == []
