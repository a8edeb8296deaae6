"""What a host's kept Perl prints of evidence is what the commands print, byte for byte."""

from __future__ import annotations

import os
import random
import re
import shutil
from collections.abc import Iterator
from dataclasses import replace

import pytest
from waiting import LONG

from netlimits.evidence import cpu
from netlimits.evidence.counted import EVIDENCE, counters
from netlimits.evidence.counted.counters import Counters
from netlimits.evidence.counted.nic import Nic
from netlimits.evidence.counted.queues import Queues
from netlimits.evidence.network import script
from netlimits.evidence.network.state import parsed
from netlimits.hosts.connect import connect
from netlimits.hosts.local import local_host
from netlimits.hosts.login import LoginHost
from netlimits.model import Command, Completed, Machine
from netlimits.settings import carrier
from netlimits.settings.offload import Offload

pytestmark = pytest.mark.skipif(not shutil.which("perl"), reason="needs Perl")


@pytest.fixture
def host(tmp_path, monkeypatch) -> Iterator[LoginHost]:
    """This machine, with programs of the test's own before all others."""
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:{os.environ['PATH']}")
    opened = local_host("here")
    yield opened
    opened.close()


def both(host: LoginHost, command: Command) -> tuple[Completed, Completed]:
    """What comes of a command by Perl, and by a shell."""
    assert command.perl
    (by_perl,) = host.run_in_turn([command])
    return by_perl, host.run(command)


def same(host: LoginHost, command: Command) -> Completed:
    """What comes of it both ways."""
    by_perl, by_shell = both(host, command)
    assert (by_perl.stdout, by_perl.status) == (by_shell.stdout, by_shell.status)
    assert by_perl.stderr == by_shell.stderr
    return by_perl


PROC = {
    "snmp": "Ip: Forwarding\nIp: 1\nTcp: InSegs\nTcp: 12\nUdpLite: InDatagrams\n",
    "snmp6": "Ip6InReceives \t7\nUdp6InDatagrams \t8\nIcmp6InMsgs \t9\n",
    "netstat": "TcpExt: TCPTimeouts\nTcpExt: 3\nMPTcpExt: x\nMPTcpExt: 1\n",
    "softnet_stat": "0000000a 00000000 00000001\n",
    "interrupts": "      CPU0\n  9: 1 PCI xeth0\n 24: 5 PCI-MSI eth0-rx-0\n 25: 6 PCI-MSI eth0\n"
    " 26: 7 PCI-MSI virtio0-input.0\n 30: 9 PCI-MSI eth01\n",
    "cpu": "some avg10=0.00 total=55\nfull avg10=0.00 total=5\n",
    "memory": "some avg10=0.00 total=66",
}


@pytest.mark.parametrize(
    ("device", "irqs", "shown"),
    [("", (), {"24", "25"}), ("", ("26", "24"), {"24", "26"}), ("virtio0", ("26",), {"26"})],
)
@pytest.mark.parametrize("missing", [(), ("snmp6", "memory")])
def test_the_kernels_counters(host, tmp_path, device, irqs, shown, missing):
    """Of a tree of files as a kernel has it: a NIC with interrupts of its own, a virtio one, none."""
    nic = tmp_path / "net" / "eth0"
    (nic / "statistics").mkdir(parents=True)
    for number, name in enumerate(counters.INTERFACE.values()):
        (nic / "statistics" / name).write_text(f"{number}\n")
    pci = tmp_path / "pci"
    (pci / device / "msi_irqs").mkdir(parents=True)
    (nic / "device").symlink_to(pci / device)
    if device:
        (pci / device / "features").write_text("0")
        (pci / device / "msi_irqs").rmdir()
        (pci / "msi_irqs").mkdir()
    for irq in irqs:
        (pci / "msi_irqs" / irq).touch()
    (tmp_path / "proc").mkdir()
    for name, text in PROC.items():
        if name not in missing:
            (tmp_path / "proc" / name).write_text(text)

    def here(word: str) -> str:
        word = word.replace("/sys/class/net", f"{tmp_path}/net")
        return re.sub(r"^/proc/(net/|pressure/)?", f"{tmp_path}/proc/", word)

    read = Counters().read("eth0")
    command = replace(read, argv=tuple(map(here, read.argv)), perl=here(read.perl))
    completed = same(host, command)
    assert completed.status == (2 if missing else 0)
    assert set(re.findall(r"interrupts: *(\d+):", completed.stdout)) == shown
    assert ("snmp6:Ip6InReceives" in completed.stdout) is not missing
    assert completed.stdout.count("statistics") == len(counters.INTERFACE)
    assert "full" not in completed.stdout


@pytest.mark.parametrize("interface", ["lo", "no-such-one"])
def test_every_piece_of_evidence_of_this_machine(host, interface):
    """All lines alike but for the numbers, which go on counting."""
    for command in (*(kind.read(interface) for kind in EVIDENCE), cpu.READ):
        if command.perl:
            by_perl, by_shell = both(host, command)
            first, second = (
                re.sub("[0-9a-f]{8}|[0-9]+", "#", c.stdout) for c in (by_perl, by_shell)
            )
            assert first == second
            assert (by_perl.status, by_perl.stderr) == (by_shell.status, by_shell.stderr)


def test_the_clocks_and_the_cpus(host):
    first, second = map(cpu.times, both(host, cpu.READ))
    assert first.cpus == second.cpus
    assert first.clock_s
    assert second.clock_s
    assert 0 <= second.clock_s - first.clock_s < LONG
    assert 0 <= second.uptime_s - first.uptime_s < LONG


TC = {
    "no classes": ('echo \'[{"kind":"noqueue"}]\'', '[{"kind":"noqueue"}]\n', 0),
    "classes": (
        'case $* in *batch*) read -r words; set -- $words;; esac\n'
        'case $* in *qdisc*) printf \'[{"kind":"htb"}]\';; *) echo "class htb $5 $*"; exit 3;; esac',
        '[{"kind":"htb"}]\nclass htb eth0 -s class show dev eth0\n', 3),
    "empty lines": ("printf '[]\\n\\n\\n'", "[]\n", 0),
    "a refusal": ("echo no >&2; exit 2", "", 2),
}  # fmt: skip


@pytest.mark.parametrize("kind", TC)
def test_queues_with_classes_and_without(host, tmp_path, kind):
    script, printed, status = TC[kind]
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "tc").write_text(f"#!/bin/sh\n{script}\n")
    (tmp_path / "bin" / "tc").chmod(0o755)
    completed = same(host, Queues().read("eth0"))
    assert (completed.stdout, completed.status) == (printed, status)


VETH = ("ip", "link", "add", "probe0", "type", "veth", "peer", "name", "probe1")
QDISC = ("tc", "qdisc", "replace", "dev", "probe0", "root")
CHANGES = {
    "as it is made": (VETH,),
    "with a qdisc": ((*QDISC, "tbf", "rate", "1gbit", "burst", "64kb", "latency", "1s"),),
    "with classes": (
        (*QDISC, "handle", "1:", "htb", "default", "1"),
        ("tc", "class", "add", "dev", "probe0", "parent", "1:", "classid", "1:1", "htb", "rate", "1gbit"),
    ),
    "gone": (("ip", "link", "delete", "probe0"),),
    "another of that name": (VETH, (*QDISC, "pfifo", "limit", "7")),
}  # fmt: skip


@pytest.mark.lab
def test_a_nic_and_its_queues_whatever_becomes_of_them(lab):
    host = connect(Machine("sender", ssh=lab.login("sender"), ssh_config=lab.ssh_config))
    sizes = []
    try:
        for change in CHANGES.values():
            for words in change:
                assert host.run(Command(words)).status == 0
            sizes.append(
                [len(same(host, kind.read("probe0")).stdout) for kind in (Nic(), Queues())]
            )
    finally:
        host.run(Command(("ip", "link", "delete", "probe0")))
        host.close()
    assert sizes[0][0] > 100, "a veth counts"
    assert sizes[3] == [0, 0]
    assert len({of_queues for _, of_queues in sizes}) == len(CHANGES), sizes


@pytest.mark.lab
def test_a_carrier_that_is_there_or_not_or_not_to_be_read(lab, monkeypatch):
    monkeypatch.setattr(carrier, "SECONDS", 0.3)
    host = connect(Machine("sender", ssh=lab.login("sender"), ssh_config=lab.ssh_config))
    other = ("ip", "link", "set", "probe1")
    states = []
    try:
        for words in (
            VETH,
            ("ip", "link", "set", "probe0", "up"),
            (*other, "up"),
            (*other, "down"),
        ):
            assert host.run(Command(words)).status == 0
            states.append(same(host, carrier.wait("probe0")).status)
        assert same(host, carrier.wait("no-such-one")).status == 0
    finally:
        host.run(Command(("ip", "link", "delete", "probe0")))
        host.close()
    assert states == [0, 1, 0, 1]


FEATURES = ("tso", "gso", "gro", "tx", "sg", "rxvlan", "txvlan", "tx-udp-segmentation", "highdma")


@pytest.mark.lab
def test_features_whatever_they_are_switched_to(lab):
    """What was seen once is asked of the driver; a process of ethtool prints the same."""
    host = connect(Machine("sender", ssh=lab.login("sender"), ssh_config=lab.ssh_config))
    chance, read = random.Random(9), Offload().read("probe0", {})
    without = replace(read, perl=read.perl.replace("qw(ethtool -k)", "qw(no-such-program)"))
    shown = set()
    try:
        assert "no such" in same(host, read).stderr.lower()
        assert host.run(Command(VETH)).status == 0
        for _ in range(40):
            switches = [w for f in FEATURES for w in (f, chance.choice(["on", "off"]))]
            host.run(Command(("ethtool", "-K", "probe0", *switches)))
            text = same(host, read).stdout
            shown.add(text)
        assert any("[requested on]" in text for text in shown)
        assert len(shown) > 20
        assert host.run_in_turn([without])[0].stdout == text, "no process is needed any more"
        renamed = ("ip", "link", "set", "probe0", "name", "probe2")
        assert host.run(Command(renamed)).status == 0
        same(host, read)
        same(host, Offload().read("probe2", {}))
    finally:
        for name in ("probe0", "probe2"):
            host.run(Command(("ip", "link", "delete", name)))
        host.close()


def test_a_host_without_tc_says_so_both_ways(host):
    """In other words, by the same status."""
    command = Queues().read("eth0")
    command = replace(
        command,
        argv=tuple(word.replace("tc -s", "no-tc -s") for word in command.argv),
        perl=command.perl.replace("qw(tc", "qw(no-tc"),
    )
    by_perl, by_shell = both(host, command)
    assert by_perl.status == by_shell.status == 127
    assert "not found" in by_perl.stderr
    assert Queues().figures(by_perl, by_perl) == {}


def test_sysctls_and_queues(host):
    """In another order, and of what moves meanwhile not at all."""
    command, _ = script.read("lo")
    by_perl, by_shell = both(host, command)
    perl, shell = (parsed([done], "lo").leaves for done in (by_perl, by_shell))
    assert perl == shell
    kinds = {leaf.kind for leaf in perl}
    assert kinds == {"sysctl", "queue setting"}
