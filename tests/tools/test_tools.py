"""What every tool says of itself, so that nothing else knows tools by their names."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import netlimits
from netlimits.tools import TOOLS, Features, Transfer, tool

PACKAGE = Path(netlimits.__file__).parent
KNOW_TOOLS = ("tools", "importers", "reproduce", "lab/programs.py")
"""Files and reports of a tool's, and the package of that name."""


def test_only_a_tools_own_file_knows_it_by_its_name() -> None:
    names = re.compile("|".join(f'"{each.name}"' for each in TOOLS))
    knowing = [
        path
        for path in (p.relative_to(PACKAGE) for p in PACKAGE.rglob("*.py"))
        if not str(path).startswith(KNOW_TOOLS) and names.search((PACKAGE / path).read_text())
    ]
    assert not knowing


@pytest.mark.parametrize("of", TOOLS, ids=lambda of: of.name)
@pytest.mark.parametrize("udp", [False, True])
def test_the_shortest_run_is_one_that_the_tool_takes(of: Any, udp: bool) -> None:
    protocol = {"protocol": "udp"} if udp and "protocol" in of.schema["properties"] else {}
    options = {**of.shortest({"count": 50_000, **protocol}), **protocol}
    assert options.keys() <= of.schema["properties"].keys()
    of.check(options, Features("1", vocabulary=frozenset({"REMOTE_CPU_COUNT"})))
    assert of.seconds(options) <= 1
    assert options.get("count", 0) <= 1000


def test_who_does_not_tell_what_arrives_while_it_does() -> None:
    assert tool("netperf").needs_watch({}, 2)
    assert tool("netperf").needs_watch({"interim_seconds": 1}, 1)
    assert not tool("netperf").needs_watch({}, 1)
    assert tool("iperf3").needs_watch({"omit": 1}, 1)
    assert not tool("iperf3").needs_watch({}, 2)


@pytest.mark.parametrize(
    ("name", "options", "transfer"),
    [
        ("netperf", {}, Transfer("tcp", "remote")),
        ("netperf", {"test": "TCP_MAERTS"}, Transfer("tcp", "local")),
        ("netperf", {"direction": "recv", "protocol": "udp"}, Transfer("udp", "local")),
        ("netperf", {"test": "TCP_CRR"}, Transfer("tcp", None)),
        ("netperf", {"test": "UDP_STREAM", "send_size": "8k"}, Transfer("udp", "remote", 8000)),
        ("netperf", {"test": "UDP_STREAM", "send_size": "8K,1K"}, Transfer("udp", "remote", 0)),
        ("netperf", {"test": "UDP_RR", "request_size": 1, "response_size": "2K"},
         Transfer("udp", None, 2048)),
        ("netperf", {"protocol": "udp", "direction": "rr"}, Transfer("udp", None)),
        ("iperf3", {"reverse": True}, Transfer("tcp", "local")),
        ("iperf3", {"bidirectional": True}, Transfer("tcp", None)),
        ("iperf3", {"protocol": "udp", "send_size": "1k"}, Transfer("udp", "remote", 1024)),
        ("nuttcp", {"protocol": "udp", "send_size": 512, "reverse": True},
         Transfer("udp", "local", 512)),
        ("nttcp", {"send_size": 100}, Transfer("tcp", "remote")),
    ],
)  # fmt: skip
def test_what_a_test_sends(name: str, options: dict[str, Any], transfer: Transfer) -> None:
    assert tool(name).transfer(options) == transfer


def test_what_limits_a_client_is_of_all_its_streams() -> None:
    assert tool("netperf").limit({"pacing": 1000}) == ("pacing", 8000)
    assert tool("iperf3").limit({"rate": "1M", "parallel": 3}) == ("rate", 3e6)
    assert tool("nuttcp").limit({"rate": "1M", "parallel": 3}) == ("rate", 1e6)
    assert tool("iperf3").limit({"rate": 0}) is None
    assert tool("nttcp").limit({}) is None


def test_a_size_is_read_as_the_tool_reads_it() -> None:
    others = ("iperf3", "nuttcp", "nttcp", "neper", "irtt")
    assert tool("netperf").bytes_of("1k") == 1000
    assert {tool(name).bytes_of("1k") for name in others} == {1024}
