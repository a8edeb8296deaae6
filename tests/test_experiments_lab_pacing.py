"""Short forms of the experiments that pace or that move the ratio of segments to ACKs."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pandas as pd
import pytest
import warm

import netlimits as nl

pytestmark = pytest.mark.lab
EXPERIMENTS = Path(__file__).parents[1] / "experiments"


def sets(*pairs: str) -> list[str]:
    return [word for pair in pairs for word in ("--set", pair)]


def short_form(name: str, out: Path, *argv: str) -> pd.DataFrame:
    """The frame of a campaign of which every run is ok, whose table can be made."""
    command = [sys.executable, "-m", "netlimits", "run", EXPERIMENTS / f"{name}.yaml", "--out", out]
    ran = warm.run([*command, *argv], capture_output=True, text=True, timeout=600)
    frame = nl.open(out).frame()
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert set(frame["status"]) == {"ok"}, frame["reason"].tolist()
    outcome = warm.run(
        [sys.executable, "-m", "netlimits", "table", out], capture_output=True, text=True
    )
    assert outcome.returncode == 0, outcome.stderr
    assert outcome.stdout
    return frame


@pytest.fixture
def hosts(direct) -> tuple[str, str]:
    return ("--hosts", str(direct.hosts_file))


@pytest.fixture
def narrow(lab) -> tuple[str, str]:
    """The hosts of the lab whose path has a bottleneck, which leaves the receiver's CPU idle."""
    return ("--hosts", str(lab.hosts_file))


SLOW = sets("derive.rate=20e6", "measure.netperf.seconds=2", "measure.netperf.local_buffer=32K")
"""A rate that one CPU among several can keep up, and little in the socket beside a short run."""


LENIENT = 90
"""Per cent that a sender may stay below the rate here, whose CPUs others use as well."""


def the_rate_was_held(
    frame: pd.DataFrame, ways: tuple[str, ...], mbps: float, below: float = 1
) -> None:
    """Never exceeded by more than 1 %, whatever the CPUs do, and missed by `below` at most."""
    assert set(frame["send_size"]) == {1024, 8192}
    assert set(frame["paced_by"]) in [{way} for way in ways]
    assert (frame["pace_mbps"] == mbps).all()
    assert frame["pace_off_pct"].between(-below, 1).all()
    off = frame["local_send_throughput_mbps"] / mbps
    assert off.between(1 - below / 100, 1.01).all()
    assert (frame["local_qdisc_drops"] == 0).all(), "what the sender counts as sent left"
    # what the sender's interface counts in bytes says the same by another way: whole frames
    carried = frame["local_tx_bytes"] * 8 / frame["elapsed_s"] / frame["frame_rate"] / off
    assert carried.between(0.98, 1.02).all()
    # datagrams, not rates: each end divides by seconds of its own
    assert (frame["remote_recv_calls"] <= frame["local_send_calls"]).all()


def test_constant_bitrate_by_what_this_kernel_has(hosts, tmp_path):
    runs = sets("repeat={replicates: 2, seed: 1}", f"pace.tolerance_pct={LENIENT}")
    frame = short_form("constant-bitrate", tmp_path / "out", *hosts, *SLOW, *runs)
    assert len(frame) == 4
    the_rate_was_held(frame, ("tbf", "fq maxrate"), 20, LENIENT)


def refused(hosts, out: Path, *changes: str) -> str:
    """The reason of the one run of a constant-bitrate campaign, which must be invalid."""
    command = [sys.executable, "-m", "netlimits", "run", EXPERIMENTS / "constant-bitrate.yaml"]
    overrides = sets(
        "repeat={replicates: 1, seed: 1}", "measure.netperf.seconds=1", "report=[]", *changes
    )
    ran = warm.run([*command, "--out", out, *hosts, *overrides], capture_output=True, text=True)
    assert ran.returncode == 1, ran.stdout + ran.stderr
    (record,) = nl.open(out).records()
    assert record.status == "invalid"
    assert not record.figures
    return record.reason


def test_a_rate_that_the_sender_cannot_reach_is_invalid(narrow, tmp_path):
    reason = refused(narrow, tmp_path / "out", "derive.rate=50e9", "factors.send_size=[64]")
    assert re.match(r"paced by (tbf|fq maxrate) to 50000 Mbit/s, ", reason)
    assert reason.endswith("where 1 % are allowed: the sender or its CPU could not keep it up")


def test_datagrams_that_were_fragmented_are_said_to_be_the_reason(hosts, tmp_path):
    small = "settings=[{roles: [sender, receiver], mtu: 1500}]"
    size = ("factors.send_size=[8192]", "derive.rate=200e6", "measure.netperf.local_buffer=32K")
    reason = refused(hosts, tmp_path / "out", *size, small)
    assert float(re.search(r", (-\d+\.\d\d) % off", reason)[1]) < -1, "5 more headers on 8234 bytes"
    assert "its datagrams were fragmented" in reason


def test_what_waits_in_the_socket_is_said_to_be_the_reason(hosts, tmp_path):
    large = ("factors.send_size=[8192]", "measure.netperf.local_buffer=208K")
    reason = refused(hosts, tmp_path / "out", "derive.rate=10e6", *large)
    assert "local_buffer" in reason


SECOND = "measure.netperf.seconds=1"
ONCE = "repeat={replicates: 1, seed: 1}"


def test_ack_overhead(hosts, tmp_path):
    # as the file says for a lab: tbf cuts what TSO hands on, at a rate that leaves the CPU idle
    link = ("derive.link=200000000", "derive.burst=10000", "factors.mss=[1460]")
    some = (
        "exclude=[\"sending == 'TSO on' or receiver in"
        " ['GRO on', 'GRO waits 4 frames', 'GRO waits 8 frames', 'GRO waits 24 frames']\"]"
    )
    frame = short_form("ack-overhead", tmp_path / "out", *hosts, *sets(SECOND, ONCE, *link, some))
    assert len(frame) == 2 * 4
    assert (frame["segments_per_ack"] >= 1).all()
    assert (frame["local_sd_us_per_kib"] > 0).all()
    assert (frame["transport_mss_bytes"] == 1448).all()
    for sending, part in frame.groupby("sending"):
        ratio = part.set_index("receiver")["segments_per_ack"]
        assert ratio.idxmin() == "quickack", sending
        assert ratio["GRO off"] > ratio["quickack"], "ACKs are delayed: every other one"
    out = tmp_path / "out" / "raw"
    for row in frame.itertuples():
        shown = (out / f"{row.run:06}-{row.attempt}.jsonl").read_text()
        assert f"net.ipv4.tcp_tso_win_divisor = {row.tso_win_divisor}\\n" in shown
        assert " -s 128K -S 128K " in " ".join(
            next(e["argv"] for e in map(json.loads, shown.splitlines()) if e["step"] == "client")
        )
    # veth merges only what comes from a sender without TSO
    ratio = frame[frame["tso"] == "off"].set_index("receiver")["segments_per_ack"]
    assert ratio["GRO waits 16 frames"] > 2 * ratio["GRO off"]
    assert ratio["GRO waits 32 frames"] > 2 * ratio["GRO off"]


def test_stateless_offloads_where_rx_gro_hw_took_lro_s_place(narrow, tmp_path):
    out = tmp_path / "out"
    frame = short_form("stateless-offloads-gro-hw", out, *narrow, *sets(SECOND, ONCE))
    assert set(frame["transport"]) == {"UDP", "TCP on", "TCP off"}
    assert len(frame) == 6
    udp, tcp = (frame[frame["protocol"] == name] for name in ("udp", "tcp"))
    # datagrams, not rates: each end divides by seconds of its own
    assert (udp["remote_recv_calls"] <= udp["local_send_calls"]).all()
    assert (tcp["transport_mss_bytes"] == tcp["send_size"]).all()
    for run, attempt, offloads in frame[["run", "attempt", "offloads"]].itertuples(index=False):
        lines = (out / "raw" / f"{run:06}-{attempt}.jsonl").read_text().splitlines()
        shown = [e["stdout"] for e in map(json.loads, lines) if e["argv"][:2] == ["ethtool", "-k"]]
        assert len(shown) >= 2, "both hosts, before each run"
        for features in shown[-1:]:
            assert f"\ngeneric-receive-offload: {offloads}\n" in features
            assert "\nrx-gro-hw: off [fixed]\n" in features, "accepted, and left alone"
