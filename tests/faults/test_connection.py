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
repeat: {replicates: 9, order: listed}
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
        killed = under_way(ground, out)
        sessions_killed(ground)
    made_again(ground, out, killed)
    with ground.held(process, out):
        cut = under_way(ground, out)
        reset(ground)
    made_again(ground, out, cut)
    with ground.held(process, out), link_down(ground):
        waited = under_way(ground, out)
        time.sleep(2)
    ended(ground, out, *waited)
    with ExitStack() as stack:
        with ground.held(process, out):
            alone = under_way(ground, out)
            before = refused(ground, "receiver")
            stack.enter_context(no_sshd(ground, "receiver"))
        ended(ground, out, *alone)
        wait(lambda: refused(ground, "receiver") >= before + 2, "it is tried again")
    ground.ended(process)

    rows = {(run, attempt): (status, why) for run, attempt, status, why in ground.settled(out)}
    interrupted = {attempt for attempt, (status, _) in rows.items() if status == "interrupted"}
    assert interrupted == {killed, cut, alone}, "and the one whose link was down is ok"
    again = {(run, 2) for run, _ in interrupted}
    assert rows.keys() == {(run, 1) for run in range(1, 10)} | again
    assert {status for status, _ in rows.values()} == {"interrupted", "ok"}
    why = rows[killed][1]
    assert "sender: " in why
    # of a command that runs in the shell at that moment its own end is seen first
    assert "connection is gone" in why or "was cut off" in why
    again = ground.events(out, "reconnected")
    assert [event["role"] for event in again] == ["sender", "receiver", "receiver"]
    assert again[-1]["tries"] > 1
    assert all(event["reason"] for event in again)
    state = nl.open(out).state()
    assert state["reconnected"] == {"sender": 1, "receiver": 2}
    assert "receiver: its connection was lost and made again 2 ×" in ground("status", out).stdout


def under_way(ground: Ground, out) -> tuple[int, int]:
    """The run that is held, and which attempt at it that is."""
    started, over = (
        [(event["run"], event["attempt"]) for event in ground.events(out, kind)]
        for kind in ("start", "end")
    )
    (attempt,) = [attempt for attempt in started if attempt not in over]
    return attempt


def ended(ground: Ground, out, run: int, attempt: int) -> None:
    """Wait until an attempt has its outcome."""
    done = {"run": run, "attempt": attempt}
    wait(
        lambda: any(done.items() <= event.items() for event in ground.ends(out)),
        f"attempt {attempt} of run {run} has ended",
    )


def made_again(ground: Ground, out, attempt: tuple[int, int]) -> None:
    """Wait until a run that was cut has its second attempt, which is cut by nobody."""
    ended(ground, out, *attempt)
    ended(ground, out, attempt[0], 2)


def refused(ground: Ground, host: str) -> int:
    """How many connections a host has refused, or ended in such a way."""
    lines = ground.inside(host, "cat", "/proc/net/snmp").splitlines()
    names, values = (line.split() for line in lines if line.startswith("Tcp:"))
    return int(values[names.index("OutRsts")])


def test_a_connection_that_does_not_come_back_within_the_budget(ground):
    out = ground.folder / "out"
    text = CHANGING.replace("replicates: 9", "replicates: 2")
    process = ground.campaign(text, out, "--patience", "5s")
    with ExitStack() as stack:
        with ground.held(process, out):
            before = refused(ground, "receiver")
            stack.enter_context(no_sshd(ground, "receiver"))
        printed = ground.ended(process, 3)
        # within the time 0.25, 0.5, 1, 2, 4, 5 s apart, and then once for each that is left
        assert refused(ground, "receiver") < before + 40, "not for each setting as often again"
        assert "receiver: data0: mtu: could not reconnect" in printed
        assert f"by hand: `ip link set dev data0 mtu {ground.lab.mtu}`" in printed
        assert "sender: data0" not in printed
        assert f"netlimits resume {out}" in printed
        left = nl.open(out).state()["not_put_back"]
        assert {place["role"] for place in left} == {"receiver"}
    rows = ground.settled(out)
    assert statuses(rows) == [(1, 1, "interrupted"), (1, 2, "ok"), (2, 1, "ok")]
