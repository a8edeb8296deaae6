"""`family:`, the data's version of IP: which addresses, what is refused, and real runs over both."""

from __future__ import annotations

import ipaddress
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import warm

import netlimits as nl
from netlimits.checks import Site
from netlimits.checks.family import Families
from netlimits.checks.fragments import Fragments
from netlimits.errors import DocumentError
from netlimits.experiment import load, resolution
from netlimits.lab import labs
from netlimits.model import Around, Machine, Setup

TEXT = """\
experiment: families
factors: {family: [ipv4, ipv6], protocol: [tcp, udp]}
family: "${family}"
measure: {netperf: {seconds: 1, protocol: "${protocol}", send_size: 1024}}
repeat: {replicates: 1, order: blocked, seed: 1}
"""
BOTH = Machine("sender", "vm1", "ens4", "192.0.2.1", None, ("2001:2::1", "2001:2::2"))
SIX = "2001:2:0:{index:x}::{host}"
"""Addresses that are set aside for benchmarks (RFC 5180)."""


def test_a_machine_is_reached_over_the_family_that_is_asked_for() -> None:
    assert BOTH.over(None) is BOTH
    assert BOTH.over("ipv4").address == "192.0.2.1"
    assert BOTH.over("ipv6").address == "2001:2::1"
    assert Machine("sender", address="2001:2::1").over("ipv4").address is None


def test_a_family_is_one_of_two_words() -> None:
    experiment = load.parse(TEXT, "e.yaml")
    assert (
        resolution.setup(experiment, {"family": "ipv6", "protocol": "tcp"}).around.family == "ipv6"
    )
    assert resolution.setup(load.parse(
        "experiment: e\nmeasure: {netperf: {}}\n", "e.yaml"), {}).around.family is None  # fmt: skip
    with pytest.raises(DocumentError, match="family: must be one of ipv4, ipv6"):
        resolution.setup(experiment, {"family": "ipv5", "protocol": "tcp"})


def site(machine: Machine, **options: object) -> Site:
    experiment = load.parse(TEXT, "e.yaml")
    setups = tuple(
        Setup("netperf", {"protocol": "udp", "send_size": 1472, **options}, Around(family=f))
        for f in ("ipv4", "ipv6")
    )
    facts = {"sender": {"link": {"value": {"mtu": 1500}}}}
    return Site(experiment, {"sender": machine}, facts, {}, setups)


def test_a_host_that_lacks_an_address_is_told_of_before_anything_runs() -> None:
    (finding,) = Families().findings(
        site(Machine("sender", "vm1", "ens4", "192.0.2.1")), "sender", ()
    )
    assert str(finding) == (
        "sender: family: ens4 has no address of ipv6; give it one, or take ipv6 out of the "
        "experiment's `family`"
    )
    (finding,) = Families().findings(site(BOTH), "sender", ())
    assert (finding.severity, finding.problem) == ("note", "data goes to 192.0.2.1, 2001:2::1")


def test_datagrams_that_fit_ipv4_alone_are_warned_of() -> None:
    (finding,) = Fragments().findings(site(BOTH), "sender", ())
    assert "up to 1472 bytes are fragmented" in finding.problem
    assert "send 1452 bytes at most" in finding.advice


@pytest.fixture
def dual(lab: labs.Lab) -> Iterator[labs.Lab]:
    """The lab with an IPv6 address on each data link beside the IPv4 one."""
    added = []
    for host, name in enumerate(lab.hosts, 1):
        address = SIX.format(index=lab.index, host=host) + "/64"
        namespace = ["ip", "netns", "exec", lab.namespace(name)]
        switch = "/proc/sys/net/ipv6/conf/data0/disable_ipv6"
        subprocess.run([*namespace, "sh", "-c", f"echo 0 >{switch}"], check=True)
        words = ["ip", "addr", "add", address, "dev", "data0", "nodad"]
        subprocess.run([*namespace, *words], check=True)
        added.append([*namespace, "ip", "addr", "del", address, "dev", "data0"])
    yield lab
    for words in added:
        subprocess.run(words, check=True)


def run(folder: Path, *argv: object, status: int = 0) -> str:
    words = [sys.executable, "-m", "netlimits", "run", *map(str, argv)]
    ran = warm.run(words, cwd=folder, capture_output=True, text=True, timeout=300)
    assert ran.returncode == status, ran.stdout + ran.stderr
    return ran.stdout + ran.stderr


@pytest.mark.lab
def test_both_families_of_one_plan_run_between_real_hosts(dual: labs.Lab, tmp_path: Path) -> None:
    file = tmp_path / "families.yaml"
    file.write_text(TEXT)
    run(tmp_path, file, "--hosts", dual.hosts_file, "--out", "results")
    campaign = nl.open(tmp_path / "results")
    frame = campaign.frame()
    assert (frame["status"] == "ok").all(), frame["reason"].tolist()
    assert sorted(frame["family"].value_counts().to_dict().items()) == [("ipv4", 2), ("ipv6", 2)]
    addresses = {
        "ipv4": campaign.archive.machines["receiver"].address,
        "ipv6": str(ipaddress.ip_address(SIX.format(index=dual.index, host=2))),
    }
    for record in campaign.records():
        entries = campaign.archive.raw.read(record.run.number, record.attempt)
        (client,) = [e.argv for e in entries if e.step == "client"]
        address = addresses[str(record.run.values["family"])]
        assert f"{address},{'6' if ':' in str(address) else '4'}" in client
    assert json.loads((tmp_path / "results" / "campaign.json").read_text())["machines"]["receiver"][
        "others"
    ] == [addresses["ipv6"]]


@pytest.mark.lab
def test_hosts_without_ipv6_are_refused_before_anything_runs(lab: labs.Lab, tmp_path: Path) -> None:
    file = tmp_path / "families.yaml"
    file.write_text(TEXT)
    printed = run(tmp_path, file, "--hosts", lab.hosts_file, status=2)
    assert "receiver: family: data0 has no address of ipv6" in printed
    assert not (tmp_path / "results").exists()
