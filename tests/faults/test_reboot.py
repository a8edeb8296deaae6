"""A host is booted in the middle of a run: its network, files and processes are all new."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import uuid
from pathlib import Path
from unittest.mock import patch

import pytest
from faults.ground import Ground, statuses, wait

import netlimits as nl
from netlimits.lab import network, sshd

pytestmark = pytest.mark.lab

TEXT = """\
experiment: boot
settings:
  - roles: [sender, receiver]
    sysctl: {net.ipv4.tcp_slow_start_after_idle: 0}
    mtu: 1400
    offload: {tso: off}
    route: {quickack: 1}
measure:
  netperf: {seconds: 1, send_size: 1024}
repeat: {replicates: 2, order: listed}
"""
BOOT_ID = "/proc/sys/kernel/random/boot_id"


def boot_id(ground: Ground, host: str) -> tuple[str, Path]:
    """A new boot's id, and the file that shows it."""
    boot = str(uuid.uuid4())
    file = ground.folder / f"{host}-{boot}"
    file.write_text(f"{boot}\n")
    return boot, file


def booted(ground: Ground, host: str) -> str:
    """Give the host, which shares this machine's kernel, a boot of its own; returns its id."""
    boot, file = boot_id(ground, host)
    ground.on(host, "mount", "--bind", str(file), BOOT_ID)
    return boot


def reboot(ground: Ground, host: str) -> str:
    """End all that runs there, take its network away, build it again; returns the new boot's id."""
    lab = ground.lab

    def gone() -> bool:
        pids = ground.inside_pids(host)
        for pid in pids:  # and again, for those that were forked meanwhile
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        return not pids

    wait(gone, "all processes are gone")
    ip("link", "delete", lab.port(host))
    ip("netns", "delete", lab.namespace(host))
    port = f"port{lab.number(host)}@"  # the kernel takes it away in its own time
    links = ("ip", "-n", lab.switch, "-brief", "link")
    wait(lambda: port not in subprocess.run(links, capture_output=True, text=True).stdout)

    ip("netns", "add", lab.namespace(host))
    # the same lines that built the host, without the others'
    number = f" port{lab.number(host)}"
    switch = [line for line in network._switch(lab) if number in line]
    network.batch(switch, lab.switch)
    management = [line for line in network._management(lab) if lab.port(host) in line]
    network.batch(management)
    network.batch(network._addresses(lab, host), lab.namespace(host))
    boot, file = boot_id(ground, host)
    start = sshd._START.replace("cd /\n", f"mount --bind {file} {BOOT_ID}\ncd /\n")
    with patch.object(sshd, "_START", start):
        sshd._start(lab, host, shutil.which("sshd"))
    return boot


def ip(*argv: str) -> None:
    subprocess.run(["ip", *argv], check=True)


def test_a_host_reboots_in_mid_run(switched):
    ground = switched
    old = {host: booted(ground, host) for host in ("sender", "receiver")}
    out: Path = ground.folder / "out"
    process = ground.campaign(TEXT, out)
    with ground.held(process, out):
        assert ground.leaves() != ground.original
        new = reboot(ground, "receiver")
    printed = ground.ended(process, 1)
    assert "receiver: it rebooted during the campaign" in printed
    assert old["receiver"] in printed
    assert new in printed
    assert "netlimits resume --accept-changed-hosts" in printed
    ground.hosts_are_as_found()
    assert nl.open(out).state()["not_put_back"] == []

    refused = ground("resume", out, status=2).stderr
    assert "not the same hosts" in refused
    assert "receiver: boot_id was" in refused
    ground.hosts_are_as_found()
    rows = ground.settled(out, "--accept-changed-hosts")
    assert statuses(rows) == [(1, 1, "interrupted"), (1, 2, "ok"), (2, 1, "ok")]
    assert not nl.open(out).frame()["shared_kernel"].any()
