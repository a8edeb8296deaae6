"""Servers and clients are killed in the middle of a run."""

from __future__ import annotations

import pytest
from faults.ground import statuses, wait

pytestmark = pytest.mark.lab

TOOLS = """\
experiment: tools
factors: {tool: [netperf, iperf3]}
measure:
  netperf: {seconds: 1, send_size: 1024}
  iperf3: {seconds: 1}
repeat: {replicates: 3, order: listed}
"""
VICTIMS = (
    ("netperf -P 0", "receiver", "netserver", "netperf exited"),
    ("iperf3 -c", "receiver", "iperf3", "iperf3"),
    ("netperf -P 0", "sender", "netperf", "netperf exited 137"),
    ("iperf3 -c", "sender", "iperf3", "iperf3 exited 137"),
)
"""(client that runs, host of the victim, what is killed there, how the reason begins), in turn."""


def test_servers_and_clients_are_killed(ground):
    out = ground.folder / "out"
    process = ground.campaign(TOOLS, out)
    for number, (client, host, victim, _) in enumerate(VICTIMS, 1):
        with ground.held(process, out, client):
            ground.kill(host, victim)
        wait(lambda n=number: len(ground.ends(out)) >= n, f"run {number} has ended")
    ground.ended(process, 1)
    rows = ground.settled(out)
    assert statuses(rows) == [(n, 1, "failed") for n in (1, 2, 3, 4)] + [(5, 1, "ok"), (6, 1, "ok")]
    for (*_, begins), (*_, reason) in zip(VICTIMS, rows, strict=False):
        assert reason.startswith(begins), reason
