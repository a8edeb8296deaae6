"""Round trips at a fixed interval, alone and beside streams of which each has a class."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
import warm

import netlimits as nl

pytestmark = pytest.mark.lab

TEXT = """\
experiment: classes
factors: {streams: [0, 2]}
bulk: {streams: "${streams}", direction: both, dscp: [8, 46], lead: 1, tail: 3}
measure: {irtt: {seconds: 1, dscp: 34, interim_seconds: 0.25}}
repeat: {order: listed}
"""


def test_each_class_is_on_the_wire_and_latency_is_measured_over_time(lab, tmp_path: Path):
    (tmp_path / "classes.yaml").write_text(TEXT)
    space = lab.namespace("receiver")
    dump = ("tcpdump", "-nvl", "-i", "data0", "inbound and (udp port 2112 or tcp[13] & 8 != 0)")
    for number in range(4):  # irtt sends too few packets on a host that is too busy for it
        out = tmp_path / f"out{number}"
        words = (tmp_path / "classes.yaml", "--hosts", lab.hosts_file, "--out", out)
        with subprocess.Popen(
            ("ip", "netns", "exec", space, *dump), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        ) as seen:
            done = warm.run(
                (sys.executable, "-m", "netlimits", "run", *map(str, words)),
                capture_output=True, text=True, timeout=300,
            )  # fmt: skip
            seen.terminate()
            assert seen.stdout
            wire = seen.stdout.read().decode()
        if "too busy for it" not in done.stdout:
            break
    assert done.returncode == 0, done.stdout + done.stderr
    marked = set(re.findall(r"tos (0x\w+),.* proto (\w+)", wire))
    assert {("0x88", "UDP"), ("0x20", "TCP"), ("0xb8", "TCP")} <= marked
    campaign = nl.open(out)
    idle, loaded = (row for _, row in campaign.frame().iterrows())
    assert loaded["latency_p50_us"] > 10 * idle["latency_p50_us"]
    assert 0 < loaded["bulk_send_throughput_mbps"] <= 100
    assert idle["irtt_send_delay_p50_us"] > 0
    assert (campaign.intervals().groupby("run").size() >= 3).all()
    assert json.dumps(campaign.archive.meta["features"]["netperf"]), "its streams need it"
