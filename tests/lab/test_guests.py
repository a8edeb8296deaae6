"""Machines in the lab: what they are, what they have, and that nothing of them stays."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import warm

from netlimits.lab import labs, layout
from netlimits.lab.guests import contents, images, kernels, qemu
from netlimits.lab.guests.seed import Entry, archive

pytestmark = pytest.mark.lab
HOSTS = ("sender", "receiver")


def test_machines_have_kernels_of_their_own(machines, guests):
    here = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    assert len({here, *(guests.boot_id(host) for host in HOSTS)}) == 3
    for host in HOSTS:
        assert guests(host, "hostname").strip() == machines.namespace(host)
        assert guests(host, "uname", "-r") != Path("/proc/sys/kernel/osrelease").read_text()


def test_a_machine_reads_its_clock_without_its_devices(guests):
    """Several CPUs have the kernel distrust a TSC; where code is translated, this machine's is right
    if its own kernel trusts it."""
    clock = guests("receiver", "cat", str(qemu.CLOCKSOURCE)).strip()
    assert clock in ("tsc", "kvm-clock") or qemu.CLOCKSOURCE.read_text().strip() != "tsc"


def test_a_machines_nic_has_what_a_nic_has(guests):
    features = guests("sender", "ethtool", "-k", "data0")
    for feature in ("tcp-segmentation-offload", "generic-receive-offload", "rx-gro-hw"):
        assert f"{feature}: on\n" in features
    guests("sender", "ethtool", "-K", "data0", "rx-gro-hw", "off")
    assert "rx-gro-hw: off\n" in guests("sender", "ethtool", "-k", "data0")
    guests("sender", "ethtool", "-K", "data0", "rx-gro-hw", "on")
    assert re.findall(r"Combined:\t+(\d)", guests("sender", "ethtool", "-l", "data0")) == ["2", "2"]
    guests("sender", "ethtool", "-L", "data0", "combined", "1")
    guests("sender", "ethtool", "-G", "data0", "rx", "256")
    assert re.findall(r"RX:\t+(\d+)", guests("sender", "ethtool", "-g", "data0")) == ["1024", "256"]
    guests("sender", "ethtool", "-G", "data0", "rx", "1024")
    guests("sender", "ethtool", "-L", "data0", "combined", "2")
    interrupts = guests("sender", "cat", "/proc/interrupts")
    assert interrupts.count("-input.") >= 3  # management has one


def test_what_a_machine_writes_is_its_own_and_a_reboot_brings_it_back_as_built(machines, guests):
    image = images.image("virtio", lambda line: None)
    digest = hashlib.sha256(image.root.read_bytes()).digest()
    before = guests("sender", "ip", "-br", "addr")
    guests.sh("sender", "echo gone >/etc/motd; ip link set data0 mtu 1400; date -s '+1 hour'")
    guests.sh("sender", "echo changed >/usr/bin/env.new; rm /usr/bin/env; echo x >/etc/protocols")
    guests.run("sender", "dd", "if=/dev/zero", "of=/dev/vda", "count=1", "conv=fsync")
    assert Path("/usr/bin/env").exists()
    assert not Path("/usr/bin/env.new").exists()
    assert guests.run("receiver", "test", "-e", "/usr/bin/env.new").status == 1
    assert hashlib.sha256(image.root.read_bytes()).digest() == digest
    guests.reboot("sender")
    assert guests("sender", "ip", "-br", "addr") == before
    assert guests.run("sender", "test", "-e", "/etc/motd").status == 1
    assert guests.run("sender", "test", "-e", "/usr/bin/env").status == 0
    assert all(state.sshd for state in labs.status(machines.name))
    private = machines.host_folder("sender") / "initrd"
    assert not private.stat().st_mode & 0o077, "it holds the host's key"


def test_the_engineer_may_what_security_md_says_and_no_more(guests):
    rules, _ = contents.texts()["etc/sudoers"]
    assert rules.startswith("root ALL=(ALL:ALL) ALL\n\n# `timeout`")
    assert rules.endswith("NETLIMITS_DROPS\n")
    engineer = {"user": "engineer"}
    assert guests("sender", "pwd", **engineer) == "/home/engineer\n"
    guests("sender", "touch", "/home/engineer/mine", **engineer)
    for state in ("off", "on"):
        guests("sender", "sudo", "-n", "ethtool", "-K", "data0", "tso", state, **engineer)
    for refused in (("true",), ("ethtool", "-k", "data0"), ("cat", "/etc/shadow")):
        assert guests.run("sender", "sudo", "-n", *refused, **engineer).status == 1
    assert guests.run("sender", "cat", "/etc/ssh/host_key", **engineer).status == 1


def test_qdiscs_that_this_kernel_may_lack_are_there(guests):
    for kind in ("fq", "netem delay 10ms loss 1%", "tbf rate 1gbit burst 128kb latency 50ms"):
        guests.sh("sender", f"tc qdisc add dev data0 root {kind}; tc qdisc del dev data0 root")
    before = guests("sender", "sysctl", "-n", "net.ipv4.tcp_congestion_control")
    guests("sender", "sysctl", "-w", "net.ipv4.tcp_congestion_control=bbr")
    guests("sender", "sysctl", "-w", f"net.ipv4.tcp_congestion_control={before.strip()}")


def test_nothing_of_the_machines_is_on_this_machine_but_one_interface(machines):
    own = [p.name for p in Path("/sys/class/net").iterdir() if machines.name in p.name]
    assert own == [machines.bridge]
    forwarding = Path("/proc/sys/net/ipv4/conf", machines.bridge, "forwarding")
    assert forwarding.read_text() == "0\n", "what comes from a machine goes no further"
    for host in HOSTS:
        pid = int((machines.host_folder(host) / "qemu.pid").read_text())
        assert (layout.NAMESPACES / machines.switch).samefile(f"/proc/{pid}/ns/net")


def test_a_machine_takes_no_more_memory_than_was_said(guests):
    assert guests.filled("sender") <= 400 * 10**6


def test_status_says_what_kind_of_host_it_is(machines):
    command = [sys.executable, "-m", "netlimits", "lab", "status", "--name", machines.name]
    status = warm.run([*command, "--json"], capture_output=True, text=True, check=True)
    rows = json.loads(status.stdout)
    accelerator = machines.guest.accelerator
    assert accelerator in ("kvm", "tcg")
    assert [row["kind"] for row in rows] == [f"{accelerator}, 2 CPUs, virtio"] * 2
    assert [(row["sshd"], row["mtu"]) for row in rows] == [(True, machines.mtu)] * 2


def test_an_image_is_made_anew_when_a_program_changes(machines, tmp_path, monkeypatch):
    source = layout.IMAGES / f"kernel-virtio-{kernels.KEPT}"
    lines: list[str] = []
    monkeypatch.setattr(images, "IMAGES", tmp_path)
    monkeypatch.setattr(kernels, "IMAGES", tmp_path)
    shutil.copytree(source, tmp_path / source.name)
    first = images.image("virtio", lines.append)
    assert images.image("virtio", lines.append) == first
    assert len(lines) == 1, "the second time nothing is made"
    program = tmp_path / "nttcp"
    program.write_text("#!/bin/sh\n")
    monkeypatch.setattr(contents, "_FILES", (*contents._FILES, str(program).lstrip("/")))
    second = images.image("virtio", lines.append)
    assert second != first
    assert len(lines) == 2
    assert not list(tmp_path.glob(".*")), "nothing half made stays"


def test_an_archive_is_what_cpio_reads(tmp_path):
    entries = [Entry("etc"), Entry("etc/a", b"abc", 0o600), Entry("b", b"", 0o755)]
    (tmp_path / "archive").write_bytes(archive(entries))
    listed = subprocess.run(
        ["busybox", "cpio", "-itv"],
        input=(tmp_path / "archive").read_bytes(), capture_output=True, check=True,
    )  # fmt: skip
    rows = [line.split() for line in listed.stdout.decode().splitlines()]
    assert [(row[0], row[-1]) for row in rows] == [
        ("drwxr-xr-x", "etc"),
        ("-rw-------", "etc/a"),
        ("-rwxr-xr-x", "b"),
    ]
