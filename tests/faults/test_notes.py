"""What notes on a host would have put back: no more than settings of ours could have taken away.

And how a host that cannot be put back is freed all the same.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from faults.ground import Ground, wait
from setting_examples import IPV6, MTU
from waiting import stopped

import netlimits as nl
from netlimits.restore import notes
from netlimits.restore.originals import Original

pytestmark = pytest.mark.lab

LOST = """\
experiment: lost
factors: {mtu: [1400, 1000]}
settings:
  - roles: [sender, receiver]
    mtu: "${mtu}"
    route: {quickack: 1}
measure:
  netperf: {seconds: 1, send_size: 1024}
repeat: {replicates: 1, order: listed}
"""
ROUTED = (
    ("ip", "-6", "addr", "add", "2001:db8:1::1/64", "dev", "data0", "nodad"),
    ("ip", "-6", "route", "add", "2001:db8:9::/64", "via", "2001:db8:1::9", "dev", "data0"),
)


@pytest.fixture
def routed(ground: Ground):
    """The sender with an IPv6 route over a gateway, which goes when its MTU is below 1280."""
    for argv in ROUTED:
        ground.on("sender", *argv)
    before, ground.original = ground.original, ground.leaves()
    yield ground
    ground.end()
    ground.on("sender", "ip", "-6", "addr", "del", "2001:db8:1::1/64", "dev", "data0")
    ground.on("sender", "ip", "-6", "route", "flush", "2001:db8:9::/64")
    wait(lambda: ground.leaves() == before)


def planted(ground: Ground, original: Original) -> None:
    """A note on a host, as one of our campaigns would have left it."""
    mac = ground.on(original.role, "cat", "/sys/class/net/data0/address").strip()
    note = notes.write(notes.note_file(original, mac, "planted", "0" * 16, 0.0, 1))
    path = ground.folder / "note"
    path.write_text(note.stdin)
    ground.on(original.role, "mkdir", "-p", "/run/netlimits")
    ground.on(original.role, "cp", str(path), f"/run/netlimits/{note.argv[-1]}")


PLANTED = (
    (
        "route",
        {"routes": {"default via 198.19.255.254": {}}, "behind": {}},
        "the route default via 198.19.255.254 is missing, and `route` removes none",
    ),
    (
        "sysctl",
        {"net.ipv4.ip_forward": "1"},
        "the recorded state may not be set: net.ipv4.ip_forward changes more than itself",
    ),
    (
        "mtu",
        {**MTU, "mtu": 8896, "ipv6": {**IPV6, "conf": {"conf/forwarding": "1"}}},
        "net/ipv6/conf/forwarding is 0, not 1, and no setting changes it",
    ),
)


def test_planted_notes_are_shown_and_stay_until_they_are_forgotten(ground: Ground):
    for setting, state, _ in PLANTED:
        planted(ground, Original("receiver", "data0", setting, state))
    try:
        complaint = ground("restore", *ground.hosts, status=3).stderr
        assert all(why in complaint for *_, why in PLANTED), complaint
        assert ground.leaves() == ground.original
        left = [n for n in ground.on("receiver", "ls", "/run/netlimits").split() if "json" in n]
        assert len(left) == len(PLANTED), "they are still there to be seen"
        command = complaint.splitlines()[-1].rpartition(": netlimits ")[2]
        assert command == f"restore {' '.join(ground.hosts)} --forget"
        told = ground(*command.split()).stdout
        for setting, *_ in PLANTED:
            assert f"given up: receiver: data0: {setting}" in told
        ground.hosts_are_as_found()
    finally:
        ground.on("receiver", "rm", "-rf", "/run/netlimits")


def test_a_damaged_note_is_forgotten_by_the_command_that_a_refused_campaign_prints(ground: Ground):
    ground.on("receiver", "mkdir", "-p", "/run/netlimits")
    ground.on("receiver", "sh", "-c", r"printf '{\\n' >/run/netlimits/0123456789abcdef.json")
    try:
        refusal = ground("run", ground.experiment(LOST), *ground.hosts, status=2).stderr
        command = f"restore {' '.join(ground.hosts)} --forget"
        assert f"`netlimits {command}`" in refusal
        told = ground(*command.split()).stdout
        assert told == "given up: receiver: the note 0123456789abcdef.json, which is damaged\n"
        ground.hosts_are_as_found()
    finally:
        ground.on("receiver", "rm", "-rf", "/run/netlimits")


GIVEN_UP = """\
experiment: given-up
settings:
  - roles: [sender, receiver]
    sysctl: {net.ipv4.tcp_slow_start_after_idle: 0}
measure:
  netperf: {seconds: 1, send_size: 1024}
"""


def test_what_a_killed_campaign_left_is_given_up_and_its_journal_says_so(ground: Ground):
    out: Path = ground.folder / "out"
    process = ground.campaign(GIVEN_UP, out)
    read = ("sysctl", "-n", "net.ipv4.tcp_slow_start_after_idle")
    stopped(process, lambda: "0" in ground.on("receiver", *read), "it is set")
    living = ground("restore", *ground.hosts, "--forget", status=2).stderr
    assert "its connection is up" in living
    process.kill()
    process.communicate()
    told = ground("restore", out, "--forget").stdout
    for host in ground.lab.hosts:
        if ground.on(host, *read).strip() == "0":
            by_hand = "`sysctl -w net.ipv4.tcp_slow_start_after_idle=1`"
            assert f"{host}: data0: sysctl; to restore it by hand: {by_hand}" in told
            ground.on(host, "sysctl", "-w", "net.ipv4.tcp_slow_start_after_idle=1")
        assert f"given up: {host}: the comparison of its network state" in told
    assert nl.open(out).state()["not_put_back"] == []
    assert ground("restore", out, "--forget").stdout == "nothing to give up\n"
    ground.settled(out)


def test_routes_that_an_mtu_took_away_are_put_back_after_it(routed: Ground):
    """Killed below 1280, where IPv6 and its routes are gone: the MTU comes first, whatever was last."""
    out: Path = routed.folder / "out"
    process = routed.campaign(LOST, out)
    show = ("ip", "link", "show")
    stopped(process, lambda: "mtu 1000" in routed.on("sender", *show), "the MTU is below 1280")
    process.kill()
    process.communicate()
    assert "2001:db8:9::" not in routed.on("sender", "ip", "-6", "route")
    routed("restore", *routed.hosts)
    routed.hosts_are_as_found()
    assert {status for _, _, status, _ in routed.settled(out)} <= {"ok", "interrupted"}
    assert nl.open(out).state()["not_put_back"] == []
