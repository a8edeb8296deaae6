"""What SECURITY.md promises of hosts, seen on hosts: rights, listeners, modes, no secret anywhere."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import warm
import yaml

import netlimits as nl
from netlimits.lab import labs

pytestmark = pytest.mark.lab
ROOT = Path(__file__).parents[1]
SNIPPET = re.search(r"```sudoers\n(.*?)```", (ROOT / "SECURITY.md").read_text(), re.DOTALL)[1]

SETTINGS = """\
experiment: rights
factors: {big: [1, 0]}
derive: {mtu: 1400 + 100 * big}
settings:
  - roles: [sender, receiver]
    sysctl: {net.ipv4.tcp_sack: "${big}"}
    mtu: "${mtu}"
    offload: {tso: off, gro: off}
    napi: {gro_flush_timeout: 1000, defer_hard_irqs: 2}
    qdisc: {kind: tbf, rate: 1gbit, burst: 256kb, latency: 50ms}
    route: {quickack: 1, initcwnd: 20}
measure:
  netperf: {seconds: 1, send_size: 1024}
trace: {roles: [sender], packets: 100}
repeat: {replicates: 1, order: listed}
"""
LONG = """\
experiment: listening
measure:
  TOOL: {seconds: 20}
repeat: {replicates: 3, order: listed}
"""


def run(folder: Path, *argv: object, **kwargs) -> subprocess.CompletedProcess:
    return warm.run(
        [sys.executable, "-m", "netlimits", *map(str, argv)],
        cwd=folder, capture_output=True, text=True, **kwargs,
    )  # fmt: skip


def inside(lab: labs.Lab, host: str, *argv: str) -> str:
    command = ["ip", "netns", "exec", lab.namespace(host), *argv]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def state(lab: labs.Lab, host: str) -> list[str]:
    """All that a campaign may have changed there."""
    return [
        inside(lab, host, "ip", "link", "show", "data0"),
        inside(lab, host, "ethtool", "-k", "data0"),
        inside(lab, host, "tc", "qdisc", "show", "dev", "data0"),
        inside(lab, host, "ip", "route", "show", "dev", "data0"),
        inside(lab, host, "ip", "-6", "addr", "show", "dev", "data0"),
        inside(lab, host, "sysctl", "net.ipv4.tcp_sack", "net.ipv6.conf.data0.mtu"),
    ]


@pytest.fixture
def engineers(lab) -> Iterator[None]:
    """SECURITY.md's sudoers are the login engineer's rights on every host."""
    files = [lab.namespace_files(host) / "sudoers" for host in lab.hosts]
    texts = [path.read_text() for path in files]
    for path, text in zip(files, texts, strict=True):
        path.write_text(f"{text}\n{SNIPPET}")  # in place: the host's /etc/sudoers is this file
    try:
        yield
    finally:
        for path, text in zip(files, texts, strict=True):
            path.write_text(text)


def hosts_file(lab: labs.Lab, folder: Path, user: str = "root") -> Path:
    path = folder / "hosts.yaml"
    machines = {
        host: {"ssh": lab.login(host, user), "interface": "data0", "address": lab.data(host)}
        for host in ("sender", "receiver")
    }
    path.write_text(yaml.safe_dump({"ssh_config": str(lab.ssh_config), **machines}))
    return path


def test_a_campaign_of_every_setting_under_the_documented_rights(lab, engineers, tmp_path):
    before = {host: state(lab, host) for host in lab.hosts}
    (tmp_path / "rights.yaml").write_text(SETTINGS)
    hosts = hosts_file(lab, tmp_path, "engineer")
    ran = run(tmp_path, "run", "rights.yaml", "--hosts", hosts, "--out", "out", timeout=600)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert {host: state(lab, host) for host in lab.hosts} == before
    campaign = nl.open(tmp_path / "out")
    assert set(campaign.frame()["status"]) == {"ok"}
    raw = [entry.completed for n in (1, 2) for entry in campaign.archive.raw.read(n, 1)]
    as_root = [completed for completed in raw if completed.command.sudo]
    programs = {completed.command.argv[0] for completed in as_root}
    assert programs == {"ethtool", "ip", "tc", "sysctl", "tee", "timeout"}
    assert {completed.status for completed in as_root} <= {0, 124}


@pytest.mark.parametrize(
    ("line", "granted"),
    [
        ("ethtool -K data0 tso off gso off", True),
        ("ip link set dev data0 mtu 1400", True),
        ("tc qdisc del dev data0 root", True),
        ("sysctl -w net.core.rmem_max=212992", True),
        ("tee /sys/class/net/data0/gro_flush_timeout", True),
        ("ethtool -f data0 x", False),
        ("ip netns exec x sh", False),
        ("tc exec bpf", False),
        ("sysctl -w kernel.core_pattern=x", False),
        ("sysctl -w net.core.rmem_max=1 -p /tmp/x", False),
        ("sysctl -w net/../kernel/core_pattern=x", False),
        ("tee /etc/passwd", False),
        ("timeout -s INT 5 sh", False),
        ("sh -c id", False),
    ],
)
def test_sudo_itself_judges_as_the_tests_do(lab, engineers, line, granted):
    ssh = ["ssh", "-F", str(lab.ssh_config), lab.login("sender", "engineer")]
    answer = subprocess.run([*ssh, f"sudo -n -l -- {line}"], capture_output=True, text=True)
    assert (answer.returncode == 0) == granted, answer.stdout + answer.stderr


@pytest.mark.parametrize("tool", ["netperf", "iperf3", "nuttcp"])
def test_servers_listen_on_the_data_address_and_die_with_the_controller(lab, tmp_path, tool):
    (tmp_path / "long.yaml").write_text(LONG.replace("TOOL", tool))
    addresses = {host: listeners(lab, host) for host in lab.hosts}
    argv = [sys.executable, "-m", "netlimits", "run", "long.yaml", "--hosts", lab.hosts_file]
    with warm.Popen(
        [*map(str, argv), "--out", "out"], cwd=tmp_path,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    ) as running:  # fmt: skip
        try:
            new = until(lambda: listeners(lab, "receiver") - addresses["receiver"])
            assert new, "no server came up"
            # control and data: with both there, every socket that waits for one is as well
            connected = ("ss", "-Htn", "state", "established", "dst", lab.data("receiver"))
            until(lambda: len(inside(lab, "sender", *connected).splitlines()) >= 2)
            for host in lab.hosts:
                for address in listeners(lab, host) - addresses[host]:
                    assert address.rpartition(":")[0].strip("[]") == lab.data(host), address
        finally:
            os.kill(running.pid, signal.SIGKILL)
            gone = until(lambda: listeners(lab, "receiver") == addresses["receiver"])
            cleared = run(tmp_path, "restore", "--hosts", lab.hosts_file, timeout=600)
    assert gone, listeners(lab, "receiver") - addresses["receiver"]
    assert cleared.returncode == 0, cleared.stderr  # the guard and the claim of the dead


def listeners(lab: labs.Lab, host: str) -> set[str]:
    """Local addresses that TCP and unconnected UDP sockets wait at."""
    tcp = inside(lab, host, "ss", "-Hltn").splitlines()
    udp = inside(lab, host, "ss", "-Hlun").splitlines()
    return {line.split()[3] for line in (*tcp, *udp) if line}


def until(what, seconds: float = 300.0):
    """What it returns once that is true, within some time."""
    deadline = time.monotonic() + seconds
    while not (result := what()) and time.monotonic() < deadline:
        time.sleep(0.1)
    return result


QUICK = "experiment: quick\nmeasure: {netperf: {seconds: 1}}\n"


def test_what_a_campaign_leaves_is_its_owners_alone_whatever_the_umask(lab, tmp_path):
    (tmp_path / "quick.yaml").write_text(QUICK)
    old = os.umask(0)
    try:
        ran = run(tmp_path, "run", "quick.yaml", "--hosts", lab.hosts_file, "--out", "out")
    finally:
        os.umask(old)
    assert ran.returncode == 0, ran.stderr
    out = tmp_path / "out"
    assert out.stat().st_mode & 0o777 == 0o700
    for path in out.rglob("*"):
        assert not path.stat().st_mode & 0o077, path
    assert not lab.key.stat().st_mode & 0o077


def test_a_passphrase_is_nowhere(lab, tmp_path):
    """An encrypted key that no agent holds: refused, and its passphrase asked for by nobody."""
    secret = "correct-horse-battery-sentinel"
    key = tmp_path / "encrypted"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", secret, "-f", str(key)], check=True)
    config = tmp_path / "config"
    config.write_text(lab.ssh_config.read_text().replace(str(lab.key), str(key)))
    hosts = hosts_file(lab, tmp_path)
    hosts.write_text(hosts.read_text().replace(str(lab.ssh_config), str(config)))
    (tmp_path / "quick.yaml").write_text(QUICK)
    clean = {k: v for k, v in os.environ.items() if k != "SSH_AUTH_SOCK"}
    ran = run(
        tmp_path, "run", "quick.yaml", "--hosts", hosts, "--json",
        input=f"{secret}\n", env=clean | {"SSHPASS": secret}, timeout=600,
    )  # fmt: skip
    assert ran.returncode == 2
    assert "is encrypted" in ran.stderr
    assert secret not in ran.stdout + ran.stderr
    for path in tmp_path.rglob("*"):
        assert not path.is_file() or secret.encode() not in path.read_bytes(), path
