"""`netlimits check` against faults made on purpose in the lab: each is found, with what to do."""

from __future__ import annotations

import contextlib
import json
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import narrow_path
import pytest
import warm
from waiting import LONG, wait

from netlimits.lab import labs

pytestmark = pytest.mark.lab

SMALL = """\
experiment: small
settings:
  - roles: [sender, receiver]
    offload: {tso: off}
measure:
  netperf: {seconds: 1, send_size: 1024}
repeat: {replicates: 1, order: listed, seed: 3}
"""


class Check:
    """`netlimits check` of an experiment on a lab."""

    def __init__(self, lab: labs.Lab, folder: Path) -> None:
        self.lab, self.folder, self.hosts = lab, folder, lab.hosts_file

    def __call__(self, text: str = SMALL, *, status: int = 0) -> list[dict[str, str]]:
        ran = self.run("check", self.experiment(text), "--json", status=status)
        findings: list[dict[str, str]] = json.loads(ran.stdout)["findings"]
        return findings

    def run(self, *argv: object, status: int = 0) -> subprocess.CompletedProcess[str]:
        words = [*map(str, argv), "--hosts", str(self.hosts)]
        ran = warm.run(
            [sys.executable, "-m", "netlimits", *words],
            cwd=self.folder, capture_output=True, text=True, timeout=2 * LONG,
        )  # fmt: skip
        assert ran.returncode == status, ran.stdout + ran.stderr
        assert "Traceback" not in ran.stderr
        return ran

    def experiment(self, text: str) -> Path:
        path = self.folder / "small.yaml"
        path.write_text(text)
        return path

    def bind(self, **machines: str) -> None:
        """Another hosts file: role -> what is written behind its colon."""
        self.hosts = self.folder / "hosts.yaml"
        lines = [f"{role}: {written}\n" for role, written in machines.items()]
        self.hosts.write_text(f"ssh_config: {self.lab.ssh_config}\n" + "".join(lines))

    def machine(self, host: str, user: str = "root", **more: str) -> str:
        entry = {"ssh": self.lab.login(host, user), "interface": "data0", **more}
        return json.dumps(entry)

    def inside(self, host: str, *argv: str) -> None:
        namespace = ("ip", "netns", "exec", self.lab.namespace(host))
        subprocess.run([*namespace, *argv], check=True, capture_output=True)

    @contextlib.contextmanager
    def fault(self, host: str, make: str, mend: str) -> Iterator[None]:
        self.inside(host, *make.split())
        try:
            yield
        finally:
            self.inside(host, *mend.split())


@pytest.fixture
def check(lab, tmp_path) -> Check:
    return Check(lab, tmp_path)


def severe(findings: list[dict[str, str]], severity: str = "error") -> dict[tuple[str, str], str]:
    """(host, what) -> problem and advice of each finding of a severity."""
    return {
        (finding["host"], finding["check"]): f"{finding['problem']}; {finding['advice']}"
        for finding in findings
        if finding["severity"] == severity
    }


def test_a_sound_lab_has_no_errors_and_says_what_was_looked_at(check):
    findings = check()
    assert severe(findings) == {}
    looked_at = {(finding["host"], finding["check"]) for finding in findings}
    both = {"settings", "link", "sudo", "kernel", "cpu", "disk", "path"}
    assert {(role, what) for role in ("sender", "receiver") for what in both} <= looked_at
    assert {("sender", "tools"), ("receiver", "ports"), ("receiver", "clock")} <= looked_at
    warned = severe(findings, "warning")
    assert "one boot id" in warned["receiver", "kernel"]
    link = severe(findings, "note")["sender", "link"]
    assert "data0 is up, 10000Mb/s, MTU 8896" in link


def test_settings_are_written_and_restored_only_where_it_may_try_them(check):
    text = SMALL.replace("offload: {tso: off}", "gso: {max: 32768}")
    note = severe(check(text), "note")["sender", "settings"]
    assert "available: gso; not tried: gso (--try writes them)" in note
    tried = json.loads(check.run("check", check.experiment(text), "--json", "--try").stdout)
    assert severe(tried["findings"], "note")["sender", "settings"] == "available: gso; tried; "
    check.inside("sender", "sh", "-c", "! ip -d link show dev data0 | grep 'gso_max_size 32768'")


def test_one_host_that_cannot_be_reached_does_not_hide_the_others_faults(check):
    known_hosts = check.folder / "known"
    config = check.folder / "config"
    config.write_text(
        f"Match host {check.lab.login('sender')}\n  UserKnownHostsFile {known_hosts}\n"
        f"Match all\nInclude {check.lab.ssh_config}\n"
    )
    known_hosts.touch()
    check.bind(sender=check.machine("sender"), receiver=check.machine("receiver", interface="no0"))
    check.hosts.write_text(check.hosts.read_text().replace(str(check.lab.ssh_config), str(config)))
    errors = severe(check(status=1))
    assert "is unknown" in errors["sender", "login"]
    assert "add it with `ssh -F" in errors["sender", "login"]
    assert "there is no interface 'no0'" in errors["receiver", "host"]
    complaint = check.run("run", check.experiment(SMALL), status=2).stderr
    assert "sender: login: the host key" in complaint
    assert not (check.folder / "results").exists()


def test_a_link_that_is_down(check):
    port = f"ip -n {check.lab.switch} link set {check.lab.data_port('sender')}"
    with (
        check.fault("receiver", "ip link set data0 down", "ip link set data0 up"),
        check.fault("receiver", f"{port} down", f"{port} up"),
    ):
        errors = severe(check(status=1))
    assert "ip link set dev data0 up" in errors["receiver", "link"]
    assert "no carrier" in errors["sender", "link"]
    assert ("receiver", "ports") not in errors, "no firewall is blamed for it"


def test_a_login_without_sudo_is_told_every_program_it_lacks(check):
    check.bind(sender=check.machine("sender", "engineer"), receiver=check.machine("receiver"))
    text = SMALL.replace("offload: {tso: off}", "offload: {tso: off}\n    mtu: 1500")
    findings = [finding for finding in check(text, status=1) if finding["severity"] == "error"]
    refused = [
        finding["problem"]
        for finding in findings
        if (finding["host"], finding["check"]) == ("sender", "sudo")
    ]
    assert any("sudo -n ethtool -K data0 tso off" in problem for problem in refused), findings
    assert any("sudo -n ip link set dev data0 mtu 1500" in problem for problem in refused)
    complaint = check.run("run", check.experiment(text), status=2).stderr
    assert complaint.count("may not run `sudo -n") >= 2, "all of them, not just the first"


def test_sudo_for_the_change_but_not_for_the_way_back(check):
    """What is allowed is `mtu 1500`; what puts 8896 back is not."""
    sudoers = check.lab.namespace_files("sender") / "sudoers"
    as_it_was = sudoers.read_text()
    try:
        sudoers.write_text(
            as_it_was + "engineer ALL=(root) NOPASSWD: /usr/sbin/ip link set dev data0 mtu 1500\n"
        )
        check.bind(sender=check.machine("sender", "engineer"), receiver=check.machine("receiver"))
        text = SMALL.replace("offload: {tso: off}", "mtu: 1500")
        findings = check(text, status=1)
    finally:
        sudoers.write_text(as_it_was)
    refused = " ".join(finding["problem"] for finding in findings if finding["check"] == "sudo")
    assert "ip link set dev data0 mtu 8896" in refused
    assert "mtu 1500" not in refused


FIXED = SMALL.replace("send_size: 1024", "send_size: 1024, data_port: 12866")


def test_a_port_behind_a_firewall(check):
    """The server's answers from the control port vanish, as behind a firewall that drops."""
    rule = "pref 5 ipproto tcp sport 12865 blackhole"
    with check.fault("receiver", f"ip rule add {rule}", f"ip rule del {rule}"):
        errors = severe(check(FIXED, status=1))
    assert f"TCP control port 12865 of {check.lab.data('receiver')}" in errors["receiver", "ports"]
    assert "port 12865 pass on receiver" in errors["receiver", "ports"]


def test_output_that_cannot_be_read_is_no_firewalls_doing(check):
    script = check.folder / "netperf"
    script.write_text('#!/bin/sh\nnetperf "$@" | sed "s/=\\([0-9]*\\)[.]/=\\1,/"\n')
    script.chmod(0o755)
    both = SMALL.replace("seconds: 1", f"program: {script}, seconds: 1, protocol: '${{p}}'")
    findings = severe(check("factors: {p: [tcp, udp]}\n" + both, status=1))
    (((role, name), problem),) = findings.items()
    assert (role, name) == ("sender", "tools")
    assert re.fullmatch(r"netperf printed [A-Z_]+=\d+,\d+, which has a decimal comma.*", problem)


def test_a_data_port_that_is_another_each_time_can_be_fixed(check):
    rule = "pref 5 ipproto tcp sport 20000-65534 blackhole"
    with check.fault("receiver", f"ip rule add {rule}", f"ip rule del {rule}"):
        errors = severe(check(status=1))
        pattern = rf"TCP data port \d+ of {check.lab.data('receiver')} .*fix it with `data_port`"
        assert re.search(pattern, errors["receiver", "ports"])
        assert severe(check(FIXED)) == {}, "a fixed port gets through"


def test_datagrams_behind_a_firewall(check):
    text = FIXED.replace("seconds: 1", "seconds: 1, protocol: udp")
    tc = "tc qdisc add dev data0 root handle 1: htb default 1"
    lines = [
        "tc class add dev data0 parent 1: classid 1:1 htb rate 10gbit quantum 60000",
        "tc class add dev data0 parent 1: classid 1:2 htb rate 1gbit quantum 60000",
        "tc qdisc add dev data0 parent 1:2 bfifo limit 1",  # nothing is as short as one byte
        "tc filter add dev data0 parent 1: protocol ip u32"
        " match ip protocol 17 0xff match ip dport 12866 0xffff flowid 1:2",
    ]
    with check.fault("sender", tc, "tc qdisc del dev data0 root"):
        for line in lines:
            check.inside("sender", *line.split())
        errors = severe(check(text, status=1))
    assert "netperf over UDP does not get through" in errors["receiver", "ports"]
    assert "port 12866" in errors["receiver", "ports"]


def test_a_port_that_another_server_has_taken(check):
    text = SMALL.replace("netperf: {seconds: 1", "iperf3: {seconds: 1, port: 5299")
    holder = subprocess.Popen(
        ["ip", "netns", "exec", check.lab.namespace("receiver"), "iperf3", "-s", "-p", "5299", "--forceflush"],
        stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        assert holder.stdout
        while "listening" not in holder.stdout.readline():
            assert holder.poll() is None
        errors = severe(check(text, status=1))
    finally:
        holder.terminate()
        holder.communicate()
    assert "5299" in errors["receiver", "ports"]
    assert "`port` under `measure.iperf3`" in errors["receiver", "ports"]
    check(text)


def test_an_address_that_is_on_another_interface_or_on_none(check):
    data, other = check.lab.data("receiver"), check.lab.management("receiver")
    check.bind(
        sender=check.machine("sender"), receiver=check.machine("receiver", address="192.0.2.99")
    )
    errors = severe(check(status=1))
    assert "no interface has the address" in errors["receiver", "link"]
    assert data not in errors["receiver", "link"]
    assert len(errors) == 1, "no route to it is no error of its own"
    check.bind(sender=check.machine("sender"), receiver=check.machine("receiver", address=other))
    errors = severe(check(status=1))
    assert "say `interface: mgmt0`" in errors["receiver", "link"]
    assert len(errors) == 1


def test_a_route_whose_mtu_is_smaller_than_the_links(check):
    network = check.lab.data("receiver").rsplit(".", 1)[0] + ".0/24"
    address = check.lab.data("sender")
    change = f"ip route change {network} dev data0 proto kernel scope link src {address}"
    with check.fault("sender", f"{change} mtu 1400", change):
        warned = severe(check(), "warning")
    assert "carries packets of 1400 bytes, data0 has an MTU of 8896" in warned["sender", "path"]


def test_an_mss_that_no_mtu_of_the_plan_can_carry(check):
    text = SMALL.replace("send_size: 1024", "mss: 8204").replace("offload: {tso: off}", "mtu: 1500")
    errors = severe(check(text, status=1))
    assert "an `mtu` of 8244" in errors["sender", "packet size"]
    assert severe(check(text.replace("mtu: 1500", "mtu: 8896"))) == {}


def test_datagrams_that_will_be_fragmented_are_only_warned_of(check):
    text = SMALL.replace("send_size: 1024", "protocol: udp, send_size: 16384")
    warned = severe(check(text), "warning")
    assert "send 8868 bytes at most" in warned["sender", "packet size"]


def test_settings_that_cannot_be_had(check):
    text = SMALL.replace(
        "offload: {tso: off}", "offload: {lro: on, tso: off}\n    qdisc: {kind: fq}"
    )
    errors = severe(check(text, status=1))
    for role in ("sender", "receiver"):
        assert "if_fixed: accept" in errors[role, "offload"]
        assert "small.yaml:4" in errors[role, "offload"]
    if ("sender", "qdisc") in errors:  # a kernel without fq
        assert "Specified qdisc kind is unknown" in errors["sender", "qdisc"]
        assert "ask for one that it has (tbf, htb, pfifo" in errors["sender", "qdisc"]
    assert ("sender", "qdisc") not in severe(
        check(SMALL.replace("offload: {tso: off}", "qdisc: {kind: pfifo, limit: 100}"))
    )


def test_a_tool_that_may_not_be_missing_is_an_error(check):
    text = (
        "experiment: small\nfactors: {tool: [netperf, nttcp], size: [1024, 8192]}\n"
        "measure:\n  netperf: {seconds: 1, send_size: '${size}'}\n"
        "  nttcp: {count: 100, send_size: '${size}', if_missing: skip}\n"
        "repeat: {replicates: 1, order: listed, seed: 3}\n"
    )
    errors = severe(check(text.replace("if_missing: skip", "if_missing: fail"), status=1))
    assert "nttcp" in errors["sender", "tools"]
    assert "there is no nttcp" in errors["receiver", "tools"]
    only = text.replace("[netperf, nttcp]", "[nttcp]").replace(
        "  netperf: {seconds: 1, send_size: '${size}'}\n", ""
    )
    assert "no tool is left" in severe(check(only, status=1))["", "tools"]


def started(folder: Path) -> bool:
    """Whether a run has begun; `run` makes and removes `results` to see if it can."""
    with suppress(FileNotFoundError):
        journals = folder.glob("results/*/journal.jsonl")
        return any('"start"' in file.read_text() for file in journals)
    return False


def test_a_host_on_which_a_campaign_is_at_work_is_left_in_peace(check):
    text = SMALL.replace("seconds: 1", "seconds: 6")
    argv = ["run", str(check.experiment(text)), "--hosts", str(check.hosts)]
    with warm.Popen(
        [sys.executable, "-m", "netlimits", *argv],
        cwd=check.folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    ) as campaign:  # fmt: skip
        wait(lambda: started(check.folder))
        campaign.send_signal(signal.SIGSTOP)  # so that it is at work still
        try:
            findings = check(text, status=1)
        finally:
            campaign.send_signal(signal.SIGCONT)
            campaign.send_signal(signal.SIGINT)
    assert campaign.returncode == 130
    assert severe(findings)["sender", "claim"]
    assert not [finding for finding in findings if finding["check"] == "ports"], (
        "its measurement was disturbed"
    )


@pytest.fixture(scope="module")
def three() -> Iterator[labs.Lab]:
    """A lab whose data link goes through a bridge, which drops what is too large and says nothing."""
    import os

    if os.geteuid() != 0:
        pytest.skip("the lab needs root")
    name = f"c{os.getpid()}"
    try:
        lab = labs.up(name, hosts=3)
        narrow_path.narrow(lab)
        yield lab
    finally:
        labs.down(name)


@pytest.mark.parametrize("protocol", ["tcp", "udp"])
def test_a_small_mtu_in_the_middle_that_nobody_tells_of(three, tmp_path, protocol):
    check = Check(three, tmp_path)
    text = SMALL.replace("send_size: 1024", f"protocol: {protocol}, send_size: 8192")
    switch = ("ip", "-n", three.switch, "link", "set", "port2")
    whole = "ethtool -K data0 tso {0} gso {0} tx-udp-segmentation {0}"
    with check.fault("sender", whole.format("off"), whole.format("on")):
        subprocess.run([*switch, "mtu", "1500"], check=True)
        try:
            errors = severe(check(text, status=1))
        finally:
            subprocess.run([*switch, "mtu", "8896"], check=True)
    assert "are lost on the way" in errors["receiver", "path"]


def test_runs_of_a_missing_tool_are_left_out_from_plan_to_resume(check):
    text = (
        "experiment: small\nfactors: {tool: [netperf, nttcp], size: [1024, 8192]}\n"
        "measure:\n  netperf: {seconds: 1, send_size: '${size}'}\n"
        "  nttcp: {count: 100, send_size: '${size}', if_missing: skip}\n"
        "repeat: {replicates: 1, order: listed, seed: 3}\n"
    )
    path = check.experiment(text)
    planned = check.run("plan", path).stdout
    assert "2 runs of them skipped, nttcp: sender: nttcp does not answer" in planned
    ran = check.run("run", path, "--out", "out")
    assert "2 more are skipped, nttcp: sender: nttcp does not answer" in ran.stdout
    assert "warning: tools: every run with nttcp is skipped" in ran.stderr
    assert "warning: receiver: kernel: shares a kernel with" in ran.stderr
    out = check.folder / "out"
    rows = [line.split(",") for line in (out / "plan.csv").read_text().splitlines()]
    assert rows[0][-1] == "skip"
    assert [bool(row[5].strip('"')) for row in rows[1:]] == [False, False, True, True]
    meta = json.loads((out / "campaign.json").read_text())
    assert set(meta["skipped"]) == {"nttcp"}
    assert {"ports", "link"} <= {finding["check"] for finding in meta["findings"]}
    assert set(meta["clocks"]) == {"sender", "receiver"}
    state = json.loads(alone(check, "status", out, "--json"))
    assert (state["planned"], state["ok"], state["left"]) == (2, 2, 0)
    assert state["skipped"][0]["runs"] == 2
    assert "2 runs: 2 ok" in alone(check, "resume", out), "what was skipped stays skipped"


def alone(check: Check, *argv: object) -> str:
    """A command that takes no hosts file."""
    ran = warm.run(
        [sys.executable, "-m", "netlimits", *map(str, argv)],
        cwd=check.folder, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return ran.stdout
