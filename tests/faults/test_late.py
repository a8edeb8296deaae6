"""Machines that answer late, as hosts behind a slow path or with busy CPUs do."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from drivers import Drivers

from netlimits.lab import labs

pytestmark = pytest.mark.lab

TEXT = """\
experiment: late
settings:
  - roles: [sender]
    offload: {tso: off}
measure:
  netperf: {test: TCP_RR, seconds: 1}
repeat: {replicates: 1, order: listed}
"""


def test_hosts_whose_every_answer_comes_a_second_late_are_hosts(
    small_machines, small_guests, tmp_path
):
    """A whole campaign, from the login to the last leaf that is put back, without more patience."""
    machines, guests = small_machines, small_guests
    on = Drivers(machines, guests, tmp_path)
    # QEMU before 8.1 translates no memory barriers where there can be but one CPU; devices need them
    command = Path("/proc", str(guests.process("sender")), "cmdline").read_text()
    assert "cpus=1,maxcpus=2" in command
    assert guests("sender", "nproc").strip() == "1"
    assert guests("sender", "cat", "/sys/devices/system/cpu/possible").strip() == "0"
    try:
        for host in machines.hosts:
            guests(host, "tc", "qdisc", "replace", "dev", "mgmt0", "root", "netem", "delay", "1s")
        answered = time.monotonic()
        guests("sender", "true")
        assert time.monotonic() - answered >= 1
        assert all(state.sshd for state in labs.status(machines.name))
        on("run", on.experiment(TEXT), *on.hosts, "--out", on.out)
    finally:
        for host in machines.hosts:
            guests(host, "tc", "qdisc", "del", "dev", "mgmt0", "root")
    assert on.statuses() == [(1, 1, "ok")]
    on.as_found()
