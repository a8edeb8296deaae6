"""Guards and claims on real hosts: whoever is lost, the hosts are as they were found, leaf by leaf."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from campaign.test_campaign_lab import Lab, gone
from waiting import BRIEF, LONG, stopped, wait

import netlimits as nl
from netlimits.lab import labs

pytestmark = pytest.mark.lab

EVERYTHING = """\
experiment: everything
factors: {offloads: [off]}
settings:
  - roles: [sender, receiver]
    sysctl: {net.ipv4.tcp_slow_start_after_idle: 0}
    mtu: 1400
    offload: {tso: "${offloads}", gso: "${offloads}", gro: "${offloads}"}
    qdisc: {kind: tbf, rate: 1gbit, burst: 256kb, latency: 50ms}
    napi: {gro_flush_timeout: 20000}
    route: {quickack: 1, initcwnd: 20}
measure:
  netperf: {seconds: 1, send_size: 1024}
repeat: {replicates: 2, order: blocked, seed: 3}
"""
SOME = re.sub(r"    (sysctl|qdisc|napi|route): .*\n", "", EVERYTHING)
"""The settings that go back in an order of their own."""
NOTHING = """\
experiment: nothing
measure:
  netperf: {seconds: 1, send_size: 1024}
repeat: {replicates: 40, order: blocked, seed: 3}
"""
LEAVES = (
    ("grep", "", "/sys/class/net/data0/gro_flush_timeout"),
    ("ethtool", "-k", "data0"),
    ("ethtool", "-k", "mgmt0"),
    ("ip", "-d", "link", "show"),
    ("ip", "addr", "show"),
    ("ip", "route", "show", "table", "all"),
    ("ip", "-6", "route", "show", "table", "all"),
    ("tc", "-r", "-d", "qdisc", "show"),
    ("sh", "-c", "grep -rs '' /proc/sys/net/core /proc/sys/net/ipv4 /proc/sys/net/ipv6 || true"),
)


class Hosts(Lab):
    """The lab, its hosts' leaves, and what of ours is on them."""

    def __init__(self, lab: labs.Lab, folder: Path) -> None:
        super().__init__(lab, folder)
        self.begun: list[subprocess.Popen] = []

    def start(self, command: str, *argv: object) -> subprocess.Popen:
        self.begun.append(super().start(command, *argv))
        return self.begun[-1]

    def leaves(self) -> set[str]:
        leaves, script = (
            set(),
            "\n".join(f"echo '@{n}'; {shlex.join(a)}" for n, a in enumerate(LEAVES)),
        )
        for host in self.lab.hosts:
            for line in self.inside(host, "sh", "-ec", script).splitlines():
                if line.startswith("@"):
                    what = " ".join(LEAVES[int(line[1:])][:4])
                else:
                    leaves.add(f"{host}: {what}: {line}")
        return leaves

    def over_ssh(self, host: str, command: str, user: str = "root") -> str:
        ssh = ["ssh", "-F", str(self.lab.ssh_config), self.lab.login(host, user), command]
        return subprocess.run(ssh, capture_output=True, text=True, check=True).stdout

    def beside_sshd(self, host: str, command: str) -> str:
        """What a command prints that sees what a login sees, without one: it is asked all the time."""
        sshd = (self.lab.host_folder(host) / "sshd.pid").read_text().strip()
        inside = ["nsenter", "-t", sshd, "-m", "-n", "-u", "sh", "-c", command]
        return subprocess.run(inside, capture_output=True, text=True, check=True).stdout

    def ours(self) -> list[str]:
        """Files and processes of guards, notes and claims on every host."""
        look = (
            "ls -A /run/netlimits ~root/.local/state/netlimits 2>/dev/null | "
            "grep -v -e ':$' -e '^$' -e '^campaigns$'; ls /run/lock; "  # campaigns: a controller's
            # all hosts share /tmp, also those of other labs
            "net=$(readlink /proc/self/ns/net | tr -dc 0-9); "
            r'ls /tmp | grep "^netlimits-$net-.*\.\(claim\|alive\)$" || true'
        )
        files = [line for h in self.lab.hosts for line in self.beside_sshd(h, look).splitlines()]
        return files + self.running(".guard watch", ".guard now")

    def status(self, *argv: object) -> dict[str, dict]:
        return json.loads(self("status", *argv, "--json").stdout)["hosts"]

    def fire(self, host: str) -> None:
        """The time of the host's guard has come, instead of in some minutes; it looks at once."""
        self.over_ssh(
            host,
            'for file in /run/netlimits/*.deadline; do echo 0 >"$file"; '
            'read -r guard <"${file%.deadline}.pid"; pkill -P "$guard" sleep; done',
        )

    def started(self, out: Path, *argv: object) -> subprocess.Popen:
        """`netlimits run`, which stands still in a run whose netperf has begun."""
        process = self.start("run", *argv, "--out", out)

        def measures() -> object:
            journal = out / "journal.jsonl"  # there is none yet when the check tries the tools
            lines = journal.read_bytes().split(b"\n")[:-1] if journal.exists() else ()
            events = [json.loads(line)["event"] for line in lines]
            return events.count("start") > events.count("end") and self.running("netperf -P 0")

        stopped(process, measures, "a run measures")
        return process


def going_on(process: subprocess.Popen) -> subprocess.Popen:
    """A campaign that goes on where it stood still."""
    process.send_signal(signal.SIGCONT)
    return process


def killed(process: subprocess.Popen) -> None:
    process.kill()
    process.communicate()


@pytest.fixture
def on(lab: labs.Lab, tmp_path: Path) -> Iterator[Hosts]:
    hosts = Hosts(lab, tmp_path)

    def up() -> bool:
        return not any("state DOWN" in hosts.inside(host, "ip", "link") for host in lab.hosts)

    wait(up, "the links of a lab just made are up")
    yield hosts
    left = [process for process in hosts.begun if process.poll() is None]
    for process in left:  # only after a failure: nothing may reach the next test
        killed(process)
    if left or hosts.ours():
        hosts("restore", "--hosts", lab.hosts_file)


@pytest.fixture
def hosts(lab: labs.Lab) -> tuple[str, str]:
    return ("--hosts", str(lab.hosts_file))


def test_a_lost_controllers_hosts_put_themselves_back_and_are_cleared_from_anywhere(on, hosts):
    before = on.leaves()
    out = on.folder / "out"
    process = on.started(out, on.experiment(EVERYTHING), *hosts, "--guard", "5m")
    assert on.leaves() != before
    running = on.status(*hosts)
    assert {status["guard"] for status in running.values()} == {"waiting"}
    assert all(f"mtu {on.lab.mtu}" in " ".join(o["puts_back"]) for o in running.values())
    assert all(status["claims"][0]["campaign"] == "out" for status in running.values())
    killed(process)
    assert gone(on, "netserver", "netperf")
    for host in on.lab.hosts:
        on.fire(host)
    wait(lambda: not on.running(".guard"), "the guards are done")
    assert on.leaves() == before
    statuses = on.status(out, "--guards")
    assert {status["guard"] for status in statuses.values()} == {"fired"}
    assert all(status["log"][-1] == "done" for status in statuses.values())
    assert [len(status["changed"]) for status in statuses.values()] == [6, 6], statuses
    assert "restored: " in on("restore", *hosts).stdout
    assert on.ours() == []
    assert on.leaves() == before
    on("resume", out)
    assert set(nl.open(out).frame().query("status == 'ok'")["run"]) == {1, 2}
    statuses = on.status(*hosts)
    assert all(status["guard"] == "none" and not status["claims"] for status in statuses.values())
    assert on.ours() == []
    assert on.leaves() == before


def test_a_stopped_controller_that_goes_on_sets_again_what_its_guards_put_back(on, hosts):
    before = on.leaves()
    out = on.folder / "out"
    text = SOME.replace("replicates: 2", "replicates: 3")
    process = on.started(out, on.experiment(text), *hosts, "--guard", "20s")  # none too late
    try:
        wait(lambda: on.running(".guard now"), "a guard fires", longest=BRIEF)
        wait(lambda: not on.running(".guard"))
        assert on.leaves() == before
    finally:
        process.send_signal(signal.SIGCONT)
    process.communicate(timeout=2 * LONG)
    records = nl.open(out).records()
    assert sorted(r.status for r in records) == ["invalid", "ok", "ok"]
    (reason,) = (r.reason for r in records if r.status == "invalid")
    assert "restored settings during the run" in reason
    assert on.ours() == []
    assert on.leaves() == before


@pytest.fixture
def without_ipv6(on):
    """No IPv6 on the interface that is cut off, which an MTU of 68 would take its routes' order."""
    name = "net.ipv6.conf.mgmt0.disable_ipv6"
    on.inside("receiver", "sysctl", "-w", f"{name}=1")
    yield
    on.inside("receiver", "sysctl", "-w", f"{name}=0")


def test_a_change_that_cuts_off_our_own_ssh_heals_by_itself(on, without_ipv6):
    """An MTU that no answer fits into."""
    before = on.leaves()
    lab = on.lab
    entries = {
        host: {"ssh": lab.login(host), "interface": "mgmt0", "address": lab.management(host)}
        for host in ("sender", "receiver")
    }
    path = on.folder / "hosts.yaml"
    path.write_text(json.dumps({"ssh_config": str(lab.ssh_config), **entries}))
    text = NOTHING.replace("replicates: 40", "replicates: 1").replace(
        "measure:", "settings: [{roles: [receiver], mtu: 68}]\nmeasure:"
    )
    out = on.folder / "out"
    process = on.start("run", on.experiment(text), "--hosts", path, "--guard", "2s", "--out", out)
    wait(lambda: on.running(".guard watch"), "a guard waits", longest=BRIEF)
    wait(lambda: on.running(".guard now"), "it fires", longest=BRIEF)
    _, complaint = process.communicate(timeout=2 * LONG)
    assert "Traceback" not in complaint
    assert out.is_dir(), complaint
    *lost, record = nl.open(out).records()
    assert all(each.status == "interrupted" for each in lost), lost
    assert record.status in ("failed", "invalid"), record  # invalid: it took, and the guard fired
    assert process.returncode == 1, complaint
    assert on.leaves() == before
    assert on.ours() == []


def test_two_campaigns_at_the_same_moment_one_is_refused(on, hosts):
    file = on.experiment(NOTHING)
    both = [on.start("run", file, *hosts, "--out", name) for name in ("a", "b")]
    other = wait(lambda: next((p for p in both if p.poll() is not None), None), seconds=2 * LONG)
    _, refused = other.communicate()
    # refused by the check before (2), or, with a folder of its own already, by the claim (1)
    assert other.returncode in (1, 2), refused
    assert "is using it" in refused
    (survivor,) = (process for process in both if process is not other)
    survivor.send_signal(signal.SIGINT)
    _, ended = survivor.communicate(timeout=2 * LONG)
    assert survivor.returncode == 130, ended
    assert "interrupted" in ended
    assert on.ours() == []


def test_a_living_campaigns_hosts_are_put_back_only_by_force_and_it_stops(on, hosts):
    before = on.leaves()
    text = SOME.replace("replicates: 2", "replicates: 60")
    process = going_on(on.started(on.folder / "out", on.experiment(text), *hosts))
    changed = on.leaves()
    refused = on("run", on.experiment(NOTHING), *hosts, "--out", "second", status=2).stderr
    assert not (on.folder / "second").exists()
    for words in ("campaign out of", f"process {process.pid}", "since 20", "netlimits restore"):
        assert words in refused
    assert len(refused.splitlines()) == 1
    refused = on("restore", *hosts, status=2).stderr
    assert "sender: campaign out of" in refused
    assert "its connection is up); end it first" in refused
    assert len(refused.splitlines()) == 1
    assert on.leaves() == changed, "nothing is touched"
    assert all(status["claims"][0]["held"] for status in on.status(*hosts).values())
    assert "restored: sender: data0: mtu" in on("restore", *hosts, "--force").stdout
    taken = time.time()
    assert on.leaves() == before
    _, complaint = process.communicate(timeout=2 * LONG)
    assert process.returncode in (1, 3), complaint
    assert "no longer claimed by this campaign" in complaint
    assert on.leaves() == before, "it could write nothing any more"
    good = [r for r in nl.open(on.folder / "out").records() if r.status == "ok"]
    assert all(r.started + r.duration_s < taken for r in good), "none was measured as found"
    on("restore", "out")
    assert on.leaves() == before
    assert on.ours() == []


def test_a_put_back_that_fails_keeps_its_guard(on, hosts):
    """The MTU cannot come back while the host's `ip` does nothing; its guard tries on."""
    before = on.leaves()
    text = SOME.replace("replicates: 2", "replicates: 1")
    out = on.folder / "out"
    sshd = (on.lab.host_folder("receiver") / "sshd.pid").read_text().strip()
    inside = ["nsenter", "-t", sshd, "-m"]
    lame = on.folder / "lame"
    lame.write_text('#!/bin/sh\ncase "$*" in *"set dev"*) exit 1;; esac\nexec /sbin/ip.real "$@"\n')
    lame.chmod(0o755)
    ip = os.path.realpath("/sbin/ip")
    lame.write_text(lame.read_text().replace("/sbin/ip.real", str(on.folder / "ip")))
    (on.folder / "ip").write_bytes(Path(ip).read_bytes())
    (on.folder / "ip").chmod(0o755)
    process = on.started(out, on.experiment(text), *hosts, "--guard", "5m")
    subprocess.run([*inside, "mount", "--bind", str(lame), ip], check=True)
    process.send_signal(signal.SIGCONT)
    try:
        _, complaint = process.communicate(timeout=2 * LONG)
        assert process.returncode == 3, complaint
        assert "receiver: data0: mtu" in complaint
        state = on.status(*hosts)
        assert state["sender"]["guard"] == "none"
        assert not state["sender"]["claims"]
        assert state["receiver"]["guard"] == "waiting"
        assert on.leaves() != before
        on.fire("receiver")
        wait(lambda: on.status(*hosts)["receiver"]["guard"] == "trying again")
        assert on.leaves() != before
    finally:
        subprocess.run([*inside, "umount", ip], check=True)
    wait(lambda: on.status(*hosts)["receiver"]["guard"] == "fired")
    times = on.over_ssh("receiver", "cat /run/netlimits/*.log | grep -c '^restoring at '")
    assert int(times) > 1
    assert on.leaves() == before
    on("restore", out)
    assert on.leaves() == before
    assert on.ours() == []


def test_a_login_without_root_has_a_guard_that_asks_sudo(on):
    rule = "engineer ALL=(root) NOPASSWD: ALL\n"
    files = [on.lab.namespace_files(host) / "sudoers" for host in on.lab.hosts]
    texts = [path.read_text() for path in files]
    before = on.leaves()
    lab = on.lab
    entries = {
        host: {
            "ssh": lab.login(host, "engineer"),
            "interface": "data0",
            "address": lab.data(host),
        }
        for host in ("sender", "receiver")
    }
    path = on.folder / "hosts.yaml"
    path.write_text(json.dumps({"ssh_config": str(lab.ssh_config), **entries}))
    for file, text in zip(files, texts, strict=True):
        file.write_text(text + rule)  # in place: the host's /etc/sudoers is this very file
    try:
        argv = (on.experiment(EVERYTHING), "--hosts", path, "--guard", "2s")
        killed(on.started(on.folder / "out", *argv))
        look = "ls ~/.local/state/netlimits | grep -c guard"
        assert on.over_ssh("sender", look, "engineer").strip() == "1"
        wait(lambda: not on.running(".guard"))
        assert on.leaves() == before
        statuses = on.status("--hosts", path)
        assert all(status["log"][-1] == "done" for status in statuses.values())
        assert any("sudo -n -- ip link" in line for line in statuses["sender"]["log"])
        on("restore", "--hosts", path)
        left = on.over_ssh("sender", "ls -A ~/.local/state/netlimits 2>&1 || true", "engineer")
        assert "No such file" in left
    finally:
        for file, text in zip(files, texts, strict=True):
            file.write_text(text)
    assert on.ours() == []
