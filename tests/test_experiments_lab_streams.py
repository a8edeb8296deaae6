"""Short forms of the experiments with packet traces and with parallel streams to several hosts."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import warm

import netlimits as nl
from netlimits.analysis import aggregate, bursts, goodput
from netlimits.campaign import caps
from netlimits.evidence.counted import queues
from netlimits.experiment import hosts_file
from netlimits.lab import labs

pytestmark = pytest.mark.lab
EXPERIMENTS = Path(__file__).parents[1] / "experiments"


SINK = ("tbf", "rate", "400mbit", "burst", "256kb", "limit", "1mb")
"""What the switch lets through to each sink: more than any limit here, and not the whole machine."""


@pytest.fixture(scope="module")
def three() -> Iterator[labs.Lab]:
    """A lab of three hosts; one of a test run that was killed is cleared away first."""
    if os.geteuid() != 0:
        pytest.skip("the lab needs root")
    for name in labs.names():
        if name[0] == "e" and name[1:].isdigit() and not Path("/proc", name[1:]).exists():
            labs.down(name)
    name = f"e{os.getpid()}"
    try:
        lab = labs.up(name, hosts=3)
        for sink in lab.hosts[1:]:
            qdisc = ("qdisc", "add", "dev", lab.data_port(sink), "root")
            subprocess.run(["tc", "-n", lab.switch, *qdisc, *SINK], check=True)
        yield lab
    finally:
        labs.down(name)


@pytest.fixture
def hosts(three, tmp_path) -> tuple[str, str]:
    """The lab's hosts in the roles of these experiments."""
    machines = list(hosts_file.machines(three.hosts_file).values())
    bound = [f"{{ssh: {m.ssh}, interface: {m.interface}, address: {m.address}}}" for m in machines]
    path = tmp_path / "hosts.yaml"
    path.write_text(
        f"ssh_config: {machines[0].ssh_config}\n"
        f"client: {bound[0]}\nserver: {bound[1]}\n"
        f"source: {bound[0]}\nsinks: [{bound[1]}, {bound[2]}]\n"
    )
    return ("--hosts", str(path))


def netlimits(*argv: object, status: int = 0) -> str:
    words = [str(word) for word in argv]
    command = [sys.executable, "-m", "netlimits", *words]
    ran = warm.run(command, capture_output=True, text=True, timeout=600)
    assert ran.returncode == status, ran.stdout + ran.stderr
    return ran.stdout


def sets(*pairs: str) -> list[str]:
    return [word for pair in pairs for word in ("--set", pair)]


def short_form(name: str, out: Path, hosts: Sequence[str], *pairs: str) -> pd.DataFrame:
    """The runs, all of them ok, of a campaign whose table and figures can be made."""
    netlimits("run", EXPERIMENTS / f"{name}.yaml", "--out", out, *hosts, *sets(*pairs))
    frame = nl.open(out).frame()
    assert set(frame["status"]) == {"ok"}, frame["reason"].tolist()
    assert netlimits("table", out)
    drawn = netlimits("figures", out, "--format", "svg").splitlines()
    assert {Path(line).name.split("-")[0].removesuffix(".svg") for line in drawn} == {
        entry["chart"] for entry in nl.open(out).experiment.report if "chart" in entry
    }
    return frame


def test_rr_bursts(hosts, tmp_path):
    pairs = ("measure.netperf.seconds=1", "repeat.replicates=1", "factors.gro=[off]")
    frame = short_form("rr-bursts", tmp_path / "out", hosts, *pairs)
    assert len(frame) == 2
    latencies = [f"latency_{name}_us" for name in ("min", "p50", "p90", "p99", "max")]
    assert (np.diff(frame[latencies].to_numpy(), axis=1) >= 0).all(), "percentiles are ordered"
    assert frame["latency_mean_us"].between(frame["latency_min_us"], frame["latency_max_us"]).all()
    # one transaction after the other: their rate is what their mean time leaves room for
    assert (frame["transaction_rate_tps"] * frame["latency_mean_us"] / 1e6).between(0.8, 1.01).all()
    assert (frame["transport_mss_bytes"] == 1500 - 40).all(), "without timestamps"
    campaign = nl.open(tmp_path / "out")
    for run in campaign.ok_runs():
        the_trace_is_of_whole_transactions(campaign.packets(run))
    at_once = frame.groupby("quickack")["segments_per_ack"].max()
    assert at_once[1] <= at_once[0] * 1.1, "who acknowledges at once sends no fewer ACKs"


def the_trace_is_of_whole_transactions(packets: pd.DataFrame) -> None:
    """128 bytes there, 16384 back, in segments of the MSS, the first bursts growing to all of it."""
    assert 200 <= len(packets) <= 2100, "2000 are enough, of a busy machine's second fewer"
    assert packets["flags"].iloc[0] == "S", "tcpdump took every packet before there was any"
    table = bursts.bursts(packets)
    last = table["transaction"].max()
    assert last > 20
    whole = table[table["transaction"] < last]
    assert (whole["segments"] >= 1).all()
    sent = packets[packets["length_bytes"] > 0].groupby("source_port")["length_bytes"]
    assert set(sent.max()) == {128, 1460}
    port = whole["source_port"].iloc[0]
    requests = packets[(packets["length_bytes"] > 0) & (packets["source_port"] != port)]
    assert set(requests["length_bytes"]) == {128}
    assert last <= len(requests) <= last + 1, "the trace may end with a request"
    responses = packets[packets["source_port"] == port]["seq_end"].max() - 1  # counted from 1
    assert (last - 1) * 16384 <= responses <= last * 16384
    firsts = bursts.over_transactions(packets)["median"]
    assert firsts.iloc[0] <= 3, "the initial window"
    assert firsts.median() == 12, "a whole response of 11.2 segments, but for a few that were split"
    assert firsts.tail(10).median() > firsts.iloc[0], "it has grown"


SHORT = ("measure.netperf.seconds=5", "measure.netperf.interim_seconds=-0.25")
WINDOW_S = 1.5

LATE = 1.1
"""On a busy machine bytes wait for the program that counts them, or a look for its counters."""


def windows(*entries: int) -> list[str]:
    return [f"report.{entry}.window_s={WINDOW_S}" for entry in entries]


def streams_ran_together(frame: pd.DataFrame, intervals: pd.DataFrame) -> None:
    """All of them; what counts is the time that they share."""
    assert (frame["streams"] == 2 * frame["streams_per_sink"]).all()
    assert (frame["start_skew_s"] >= 0).all()
    assert (frame["start_skew_s"] + frame["end_skew_s"] < frame["elapsed_s"]).all()
    sent, received = frame["local_send_throughput_mbps"], frame["remote_recv_throughput_mbps"]
    # what arrived is looked at twice a second or so: the two ends' windows differ by that
    own_clock = 1 + 0.5 / frame["elapsed_s"]
    assert (received <= sent * own_clock).all(), "received is never more than sent"
    assert (frame["remote_rx_bytes"] <= frame["local_tx_bytes"] * 1.001).all(), "the kernels too"
    for row in frame.itertuples():
        mine = intervals[intervals["run"] == row.run]
        assert mine["stream"].nunique() == row.streams
        series = aggregate.aggregate(mine)
        shared = series["end_s"].iloc[-1]
        # from look to look at what arrived: within the time in which all of them sent
        assert 0 < shared <= row.elapsed_s - row.start_skew_s - row.end_skew_s + 0.1
        mean = np.average(series["throughput_mbps"], weights=series["end_s"] - series["start_s"])
        # each sink over the time that its own streams share, added up
        assert row.throughput_mbps == pytest.approx(mean, rel=0.1)


def passed(folder: Path, number: int, mtu: int) -> float:
    """Mbit/s of user data that the source's shaper let through in full frames, as tc shows it."""
    raw = nl.open(folder).archive.raw.read(number, 1)
    (shown,) = (e.completed for e in raw if (e.step, e.host) == ("before queues", "source"))
    cap = caps.shaper(queues.qdiscs(shown) or (), "source")
    assert cap
    return cap.bps / 1e6 * (mtu - 52) / (mtu + 14)


def test_mtu_aggregate_alone_and_capped(hosts, tmp_path):
    free, capped = tmp_path / "free", tmp_path / "capped"
    pairs = ("factors.streams_per_sink=[2]", *SHORT)
    limits = ("derive.link_bps=150e6",)
    alone = short_form("mtu-aggregate", free, hosts, *pairs, *windows(0, 1, 2))
    frame = short_form("mtu-aggregate-capped", capped, hosts, *pairs, *limits, *windows(0, 1))
    for runs, folder in ((alone, free), (frame, capped)):
        streams_ran_together(runs, nl.open(folder).intervals())
    table = aggregate.highest_averages(nl.open(capped).intervals(), WINDOW_S)
    assert len(table) == 4
    rates = table.set_index(["machine", "mtu"])["highest_average_mbps"]
    # what waits in the sockets (128 KiB each) has not been through yet, a send of as much counts
    # whole when it returns, and tbf's bucket is full at first
    ahead = (4 * 2 * 131072 + table["burst"].max()) * 8 / WINDOW_S / 1e6
    shaped = {
        (row.machine, row.mtu): passed(capped, row.run, row.mtu) for row in frame.itertuples()
    }
    for mtu in (1500, 8896):
        bound = goodput.bound(mtu, 150e6, timestamps=True).goodput_bps / 1e6
        for machine, most in (("n2-standard-80", bound), ("n2-standard-32", 75)):
            assert 0 < rates[machine, mtu] <= LATE * (most + ahead), "the link binds, or the cap"
            assert shaped[machine, mtu] == pytest.approx(most, rel=1e-6), "so much data passes tbf"
    assert (frame["local_qdisc_overlimits"] > 0).all(), "which held them back"
    assert (alone["local_qdisc_overlimits"] == 0).all(), "the same hosts without a limit"


def test_a_stream_that_fails_fails_its_run_and_the_others_are_kept(three, hosts, tmp_path):
    """Between two runs one of the sinks can no longer be reached."""
    out = tmp_path / "out"
    pairs = ("factors.streams_per_sink=[2]", "factors.mtu=[1500]", "repeat.replicates=2", *SHORT)
    words = ["run", EXPERIMENTS / "mtu-aggregate.yaml", "--out", out, *hosts, *sets(*pairs)]
    no_way = (
        *("ip", "-n", three.namespace("sender"), "route", "add", "prohibit"),
        f"{hosts_file.machines(three.hosts_file)['host3'].address}/32",
    )
    command = [sys.executable, "-m", "netlimits", *map(str, words)]
    lines = []
    with warm.Popen(command, stderr=subprocess.PIPE, text=True) as campaign:
        try:
            for line in campaign.stderr or ():
                lines.append(line)
                if line.startswith("1/2 done"):
                    campaign.send_signal(signal.SIGSTOP)
                    subprocess.run(no_way, check=True)
                    campaign.send_signal(signal.SIGCONT)
            assert campaign.wait(timeout=600) == 1, lines
        finally:
            subprocess.run([word.replace("add", "del") for word in no_way], check=True)
    first, second = nl.open(out).frame().to_dict("records")
    assert (first["status"], second["status"]) == ("ok", "failed"), second["reason"]
    assert second["reason"].startswith("stream 3 of 4, to sinks-2: netperf exited 255")
    raw = (out / "raw" / "000002-1.jsonl").read_text().splitlines()
    (client,) = [entry["stdout"] for entry in map(json.loads, raw) if entry["step"] == "client"]
    streams = client.split("=== netlimits stream")[1::2]
    assert ["\nTHROUGHPUT=" in stream for stream in streams] == [True, True, False, False]
    assert all("NETPERF_INTERIM_RESULT[1]=" in kept for kept in streams[:2])
