"""The SSH connection is cut in the middle of a run, in every way, and comes back or does not."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from faults.ground import Ground, statuses, wait

import netlimits as nl

pytestmark = pytest.mark.lab

CHANGING = """\
experiment: cut
settings:
  - roles: [sender, receiver]
    mtu: 1400
    offload: {tso: off}
measure:
  netperf: {seconds: 1, test: TCP_RR}
repeat: {replicates: 5, order: listed}
"""
"""One packet is on its way at a time: none of a run that was cut is left under the next one, and a
server that is gone refuses one."""


def sessions_killed(ground: Ground) -> None:
    for pid in ground.sessions("sender"):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def reset(ground: Ground) -> None:
    """The receiver's kernel sends an RST on every connection to its sshd."""
    ground.on("receiver", "ss", "-K", "state", "established", "sport", "=", ":22")


@contextlib.contextmanager
def link_down(ground: Ground) -> Iterator[None]:
    port = ground.lab.port("sender")
    subprocess.run(["ip", "link", "set", port, "down"], check=True)
    try:
        yield
    finally:
        subprocess.run(["ip", "link", "set", port, "up"], check=True)


@contextlib.contextmanager
def no_sshd(ground: Ground, host: str) -> Iterator[None]:
    """Neither a listening sshd nor one with a connection; the host itself stays what it is."""
    listener = ground.sshd(host)
    spaces = {n: os.open(f"/proc/{listener}/ns/{n}", os.O_RDONLY) for n in ("mnt", "uts", "net")}
    for pid in (listener, *ground.sessions(host)):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    try:
        yield
    finally:
        folder = ground.lab.host_folder(host)
        (folder / "sshd.pid").unlink()
        inside = [f"--{name}=/proc/self/fd/{fd}" for name, fd in zip(
            ("mount", "uts", "net"), spaces.values(), strict=True)]  # fmt: skip
        sshd = [shutil.which("sshd"), "-f", f"{folder}/sshd_config", "-E", f"{folder}/sshd.log"]
        subprocess.run(["nsenter", *inside, *sshd], check=True, pass_fds=spaces.values())
        for fd in spaces.values():
            os.close(fd)
        wait(lambda: (folder / "sshd.pid").exists() and ground.sshd(host), "sshd is back")


def test_cut_in_every_way_and_back_after_seconds(ground):
    out = ground.folder / "out"
    process = ground.campaign(CHANGING, out)
    with ground.held(process, out):
        sessions_killed(ground)
    ended(ground, out, 1)  # as interrupted; its second attempt is cut by nobody
    ended(ground, out, 2)
    with ground.held(process, out):
        reset(ground)
    ended(ground, out, 4)
    with ground.held(process, out), link_down(ground):
        time.sleep(2)
    ended(ground, out, 5)
    with ExitStack() as stack:
        with ground.held(process, out):
            before = refused(ground, "receiver")
            stack.enter_context(no_sshd(ground, "receiver"))
        ended(ground, out, 6)
        wait(lambda: refused(ground, "receiver") >= before + 2, "it is tried again")
    ground.ended(process)

    rows = ground.settled(out)
    assert statuses(rows) == [
        (1, 1, "interrupted"), (1, 2, "ok"),
        (2, 1, "interrupted"), (2, 2, "ok"),
        (3, 1, "ok"),
        (4, 1, "interrupted"), (4, 2, "ok"),
        (5, 1, "ok"),
    ]  # fmt: skip
    assert "sender: " in rows[0][3]
    # of a command that runs in the shell at that moment its own end is seen first
    assert "connection is gone" in rows[0][3] or "was cut off" in rows[0][3]
    again = ground.events(out, "reconnected")
    assert [event["role"] for event in again] == ["sender", "receiver", "receiver"]
    assert again[-1]["tries"] > 1
    assert all(event["reason"] for event in again)
    state = nl.open(out).state()
    assert state["reconnected"] == {"sender": 1, "receiver": 2}
    assert "receiver: its connection was lost and made again 2 ×" in ground("status", out).stdout


def refused(ground: Ground, host: str) -> int:
    """How many connections a host has refused, or ended in such a way."""
    lines = ground.inside(host, "cat", "/proc/net/snmp").splitlines()
    names, values = (line.split() for line in lines if line.startswith("Tcp:"))
    return int(values[names.index("OutRsts")])


def ended(ground: Ground, out, count: int) -> None:
    """Wait until so many attempts have their outcome."""
    wait(lambda: len(ground.ends(out)) >= count, f"{count} attempts have ended")


def test_a_connection_that_does_not_come_back_within_the_budget(ground):
    out = ground.folder / "out"
    text = CHANGING.replace("replicates: 5", "replicates: 2")
    process = ground.campaign(text, out, "--patience", "10s")
    with ExitStack() as stack:
        with ground.held(process, out):
            before = refused(ground, "receiver")
            stack.enter_context(no_sshd(ground, "receiver"))
        printed = ground.ended(process, 3)
        # within the time 0.25, 0.5, 1, 2, 4, 5 s apart, and then once for each that is left
        assert refused(ground, "receiver") < before + 40, "not for each setting as often again"
        assert "receiver: data0: mtu: the connection does not come back" in printed
        assert f"by hand: `ip link set dev data0 mtu {ground.lab.mtu}`" in printed
        assert "sender: data0" not in printed
        assert f"netlimits resume {out}" in printed
        left = nl.open(out).state()["not_put_back"]
        assert {place["role"] for place in left} == {"receiver"}
    rows = ground.settled(out)
    assert statuses(rows) == [(1, 1, "interrupted"), (1, 2, "ok"), (2, 1, "ok")]
