"""A default qdisc takes its parameters from the MTU that it is made under: as found all the same."""

from __future__ import annotations

from pathlib import Path

import pytest
from faults.ground import wait
from faults.guest_ground import GuestGround
from waiting import stopped

pytestmark = pytest.mark.lab

SMALL = """\
experiment: small
settings:
  - roles: [sender]
    mtu: 1400
    qdisc: {kind: pfifo, limit: 100}
measure:
  netperf: {seconds: 1, send_size: 1024}
repeat: {replicates: 1}
"""


def qdiscs(ground: GuestGround) -> list[str]:
    """Those of the sender's data interface: kind, parent and parameters."""
    shown = ground.on("sender", "tc", "-d", "qdisc", "show", "dev", "data0")
    return sorted(shown.splitlines())


def test_a_guard_restores_an_mtu_and_a_qdisc(machine_ground: GuestGround):
    """Each queue has an fq_codel, whose quantum is the MTU and a header."""
    ground = machine_ground
    before = qdiscs(ground)
    assert f"quantum {ground.lab.mtu + 14}" in " ".join(before)
    out: Path = ground.folder / "out"
    process = ground.campaign(SMALL, out, "--guard", "5s")
    stopped(process, lambda: "pfifo" in str(qdiscs(ground)), "it is changed")
    process.kill()
    process.communicate()
    wait(lambda: qdiscs(ground) == before, lambda: f"{qdiscs(ground)}, not {before}")
    log = ("sh", "-c", "cat /run/netlimits/*.log")
    wait(lambda: "restoring at " in ground.on("sender", *log), "its guard says that it fired")
    ground("restore", *ground.hosts)
    ground.hosts_are_as_found()
