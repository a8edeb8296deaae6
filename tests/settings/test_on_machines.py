"""Settings of virtio's driver, queues and interrupts, and qdiscs that a namespace may lack.

The campaign's controller is killed in its second run. One host's guard restores that host,
`netlimits restore` the other one.
"""

from __future__ import annotations

import re

import pytest

import netlimits as nl

pytestmark = pytest.mark.lab

VIRTIO = """\
experiment: virtio
settings:
  - roles: [sender, receiver]
    channels: {combined: 1}
    mtu: 1400
    ring: {rx: 256}
    irq: {cpus: "1"}
    offload: {rx-gro-hw: off}
    qdisc: {kind: netem, delay: 50ms, loss: 3}
measure:
  netperf: {seconds: 2, send_size: 1024, mss: 1024}
repeat: {replicates: 2, order: listed}
"""

HELD_MS = 75
"""The least of round trips where each end holds its packets for 50 ms by a clock of its own, and more
than the least of many where one does. 100 would ask that two kernels agree on how long that is."""

STEERED = """
cd /sys/class/net/data0/queues
echo 3 >rx-1/rps_cpus; echo 64 >rx-1/rps_flow_cnt; echo 2 >tx-0/xps_cpus; echo 1 >tx-1/xps_cpus
"""
"""What an administrator gave the queues, one of which goes with `channels`."""


def test_queues_rings_interrupts_hardware_gro_and_netem_of_virtio(on, guests):
    """Each queue has an fq_codel, whose quantum is the MTU that it was made under and a header."""
    for host in on.lab.hosts:
        guests.sh(host, STEERED)
    on.original = on.leaves()
    assert f"quantum {on.lab.mtu + 14}" in str(on.original)
    with on.begun("run", on.experiment(VIRTIO), *on.hosts, "--out", on.out) as process:
        on.held(process, 2)
        now = on.changed()
        text = guests("sender", "ss", "-Htin", "dst", on.lab.data("receiver"))
    for lines in now.values():
        assert lines >= {"Combined: 1", "RX: 256", "rx-gro-hw: off"}
        assert any(" mtu 1400 " in line for line in lines)
        assert {line for line in lines if line.startswith("virtio")} == {
            f"virtio2-{name} on CPUs 1" for name in ("config", "input.0", "output.0")
        }
        assert any("qdisc netem" in line and "delay 50ms loss 3%" in line for line in lines)
    trips = [float(trip) for trip in re.findall(r"minrtt:([0-9.]+)", text)]
    assert min(trips) >= HELD_MS, text
    on.fire("receiver")
    states = on.put_back("receiver")
    assert states["sender"] == now["sender"]
    printed = on("restore", on.out)
    for name in ("channels", "mtu", "ring", "irq", "offload", "qdisc"):
        assert f"restored: sender: data0: {name}" in printed
    on.as_found()

    records = nl.open(on.out).records()
    assert [(r.run.number, r.status) for r in records] == [(1, "ok"), (2, "interrupted")]
    run = nl.open(on.out).frame().iloc[0]
    assert run["local_qdisc_drops"] > 0
    assert run["local_tcp_retrans_segs"] > 0
    for host in on.lab.hosts:  # queues that are built anew are as the driver makes them
        guests.sh(host, "ethtool -L data0 combined 1; ethtool -L data0 combined 2")
    on.original = on.leaves()
