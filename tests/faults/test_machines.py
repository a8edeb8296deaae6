"""Machines whose clocks are really set, and that really reboot, while a campaign runs on them."""

from __future__ import annotations

import time

import pytest

import netlimits as nl

pytestmark = pytest.mark.lab

TEXT = """\
experiment: faults
settings:
  - roles: [receiver]
    ring: {rx: 256}
  - roles: [sender]
    qdisc: {kind: fq, maxrate: 8mbit}
measure:
  netperf: {seconds: 10, send_size: 1024}
repeat: {replicates: 3, order: listed}
"""
HOUR = 3600
PATIENT = ("--patience", "5m")
"""For as long as a reboot takes on a busy machine."""


def test_clocks_are_set_and_a_host_reboots_in_mid_campaign(on, guests):
    """In run 1 the sender's clock goes forward, in run 2 back, and in run 3 the receiver reboots."""

    def set_clock(to: float) -> list[str]:
        return ["date", "-s", f"@{time.time() + to:.0f}"]

    try:
        with on.begun("run", on.experiment(TEXT), *on.hosts, "--out", on.out, *PATIENT) as process:
            for number, to in ((1, HOUR), (2, -HOUR)):
                on.held(process, number, *set_clock(to))
                assert all(on.changed().values()), "an hour of the clock is none of a guard's"
                on.release()
            on.held(process, 3)
            changed = on.changed()
            before = guests.boot_id("receiver")
            guests.reboot("receiver")
            after = guests.boot_id("receiver")
            on.release()
            printed = on.ended(process, 1)
        assert (
            f"receiver: it rebooted during the campaign (boot {before} is now {after})" in printed
        )
        assert "netlimits resume --accept-changed-hosts" in printed
        on.as_found()

        refused = on("resume", on.out, status=2)
        assert "not the same hosts" in refused
        assert "receiver: boot_id was" in refused
        on("resume", on.out, "--accept-changed-hosts", status=1)
        on.as_found()
    finally:
        guests("sender", *set_clock(0))

    records = nl.open(on.out).records()
    reasons = [record.reason for record in records]
    assert [attempt[:2] for attempt in on.statuses()] == [(1, 1), (2, 1), (3, 1), (3, 2)]
    # netperf itself may give up where a second has taken an hour
    assert {record.status for record in records[:2]} <= {"invalid", "failed"}, reasons
    assert [record.status for record in records[2:]] == ["interrupted", "ok"], reasons
    stepped = [record for record in records[:2] if record.status == "invalid"]
    assert all("clock" in record.reason for record in stepped), reasons
    assert all(1 <= record.duration_s < HOUR / 2 for record in (*records[:2], records[-1]))
    again = nl.open(on.out).archive.raw.read(3, 2)
    written = {" ".join(entry.argv[-5:]) for entry in again if entry.host == "receiver"}
    assert any("ethtool -G data0 rx 256" in line for line in written), written
    assert any("qdisc fq " in line for line in changed["sender"])
