"""A cap on the path of real hosts: suggested by counters, put to the proof by the campaign that follows."""

from __future__ import annotations

import subprocess
import sys

import pytest
import warm
from waiting import LONG

import netlimits as nl

pytestmark = pytest.mark.lab

EXPERIMENT = """\
experiment: capped
measure:
  netperf: {seconds: 1, send_size: 16384}
repeat: {replicates: 2, seed: 1}
"""
IDLE = {
    f"{end}_cpu_peak{part}_pct": 40.0 for end in ("local", "remote") for part in ("", "_softirq")
}


@pytest.fixture
def capped(switched):
    """The lab with a tbf at the switch's port to the receiver, outside of both hosts."""
    port = ("dev", switched.data_port(switched.hosts[1]), "root")
    shape = ("tbf", "rate", "100mbit", "burst", "16kb", "limit", "500kb")
    subprocess.run(("tc", "-n", switched.switch, "qdisc", "add", *port, *shape), check=True)
    yield switched
    subprocess.run(("tc", "-n", switched.switch, "qdisc", "del", *port), check=True)


def netlimits(*argv: object) -> str:
    command = [sys.executable, "-m", "netlimits", *map(str, argv)]
    ran = warm.run(command, capture_output=True, text=True, timeout=4 * LONG)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout


def test_a_cap_on_the_path_is_suggested_and_then_put_to_the_proof(capped, tmp_path):
    (tmp_path / "capped.yaml").write_text(EXPERIMENT)
    first, second = tmp_path / "first", tmp_path / "second"
    netlimits("run", tmp_path / "capped.yaml", "--hosts", capped.hosts_file, "--out", first)
    # the hosts are one machine, whose CPUs others may keep busy: that is not what is asked here
    frame = nl.open(first).frame().assign(**IDLE)
    (verdict,) = nl.explain(frame).to_dict("records")
    assert (verdict["class"], verdict["state"]) == ("path-cap", "suggested")

    sequel = tmp_path / "next.yaml"
    netlimits("explain", first, "--next", sequel, "--suspect", "path-cap")
    netlimits("run", sequel, "--hosts", capped.hosts_file, "--out", second)
    frame = nl.open(second).frame()
    assert set(frame["status"]) == {"ok"}, frame["reason"].tolist()
    (verdict,) = nl.explain(frame.assign(**IDLE)).to_dict("records")
    # a machine that is busy with other things may spread the runs too wide for a proof
    assert verdict["class"] == "path-cap", verdict
    assert verdict["state"] in ("proven", "open"), verdict
    assert 0.8 < verdict["ratio"] < 1.2, "a second stream gets no more through than the cap lets"
    assert "second stream" in " ".join(netlimits("explain", second).split())
