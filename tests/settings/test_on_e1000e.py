"""Settings of the driver of e1000e, on machines that have that NIC."""

from __future__ import annotations

import pytest
from drivers import Drivers
from guests import Guests
from waiting import wait

import netlimits as nl
from netlimits.errors import SettingError
from netlimits.settings import setting

pytestmark = pytest.mark.lab

E1000E = """\
experiment: e1000e
settings:
  - roles: [sender]
    ring: {rx: 512, tx: 1024}
    coalesce: {rx-usecs: 50}
pace: {rate: 4e6, frame_rate: 4.05e6, tolerance_pct: 15}
measure:
  netperf: {seconds: 10, send_size: 16384}
repeat: {replicates: 1, order: listed}
"""


def set_up(now: dict[str, set[str]]) -> dict[str, set[str]] | None:
    """Return the changed lines once every setting is there."""
    paced = any("qdisc fq " in line for line in now["sender"])
    return now if paced and now["sender"] >= {"RX: 512", "TX: 1024", "rx-usecs: 50"} else None


def test_rings_coalescing_and_fq_of_e1000e(intel, tmp_path):
    guests = Guests(intel)
    try:
        on = Drivers(intel, guests, tmp_path)
        text = on.experiment(E1000E)
        channels = setting("channels")
        shown = guests.host("sender").run(channels.read("data0", {"combined": 1}))
        with pytest.raises(SettingError, match="not supported; leave `channels` out for this host"):
            channels.state(shown)

        with on.begun("run", text, *on.hosts, "--out", on.out) as process:
            wait(lambda: on.under_way(1), "the run is under way")  # to look there costs a second
            now = wait(lambda: set_up(on.changed()), "the sender has its settings")
            assert any("maxrate 4050Kbit" in line for line in now["sender"])
            on.ended(process, 0)
        on.as_found()
        assert on.statuses() == [(1, 1, "ok")]
        run = nl.open(on.out).frame().iloc[-1]
        assert run["paced_by"] == "fq maxrate"
        assert run["remote_recv_throughput_mbps"] == pytest.approx(4, rel=0.15)
        assert guests.filled("sender") <= 400 * 10**6, "QEMU keeps this kernel unpacked as well"
    finally:
        guests.close()
