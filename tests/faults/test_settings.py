"""A setting that is refused half-way, and one that cannot be put back."""

from __future__ import annotations

import re
from contextlib import ExitStack

import pytest
from faults.ground import statuses

import netlimits as nl

pytestmark = pytest.mark.lab

TEXT = """\
experiment: refused
factors: {idle: [0, 1]}
settings:
  - roles: [sender, receiver]
    sysctl: {net.ipv4.tcp_slow_start_after_idle: "${idle}"}
    offload: {tso: off}
measure:
  netperf: {seconds: 1, send_size: 1024}
repeat: {replicates: 2, order: listed}
"""
READ_ONLY = ("--bind", "-o", "ro", "/proc/sys", "/proc/sys")
"""As in a container: the kernel's settings can be read and not be written."""


def test_a_setting_is_refused_half_way_on_the_second_host(ground):
    """1 is what was found, so that only 0 has to be written; the sender takes it."""
    out = ground.folder / "out"
    with ground.mounted("receiver", *READ_ONLY):
        printed = ground.ended(ground.campaign(TEXT, out), 1)
    assert "restored: " not in printed
    rows = ground.settled(out)
    assert statuses(rows) == [
        (1, 1, "failed"), (2, 1, "ok"), (3, 1, "failed"), (4, 1, "ok")]  # fmt: skip
    for *_, reason in (rows[0], rows[2]):
        assert reason.startswith("receiver: sysctl: did not take: ")
        assert "permission denied on key" in reason
    writes = [
        entry.host
        for entry in nl.open(out).archive.raw.read(1, 1)
        if entry.step == "settings" and "-w" in entry.argv
    ]
    assert sorted(writes) == ["receiver", "sender"], "the other host had taken it"


def test_a_put_back_fails_and_is_mended_by_hand(ground):
    out = ground.folder / "out"
    once = TEXT.replace("[0, 1]", "[0]")
    held = once.replace("send_size: 1024", "test: TCP_RR")  # a stream held in mid-send ends at once
    process = ground.campaign(held, out)
    with ExitStack() as stack:
        with ground.held(process, out):
            stack.enter_context(ground.mounted("receiver", *READ_ONLY))
        printed = ground.ended(process, 3)
        left = ground.leaves() ^ ground.original
        assert {line.split(":")[0] for line in left} == {"receiver"}, "the other one is put back"
        assert {line.split(":")[1] for line in left} == {" sysctls"}, "and all but this of it"
        assert f"netlimits restore {out}" in ground("status", out).stdout
    by_hand = re.findall(r"receiver: data0: sysctl: .*by hand: `(.+)`", printed)
    assert len(by_hand) == 1, printed
    ground.on("receiver", "sh", "-c", by_hand[0])
    assert ground.leaves() == ground.original
    assert "restored: receiver: data0: sysctl" in ground("restore", out).stdout
    ground.hosts_are_as_found()
    rows = ground.settled(out)
    assert [status for _, _, status, _ in rows] == ["ok", "ok"]
