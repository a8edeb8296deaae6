"""Runs on real hosts that measured something else, each fault made for real; and figures that the
path's shaper bounds.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pandas as pd
import pytest
import warm
from waiting import BRIEF, LONG, wait

import netlimits as nl
from netlimits.analysis import aggregate
from netlimits.archive.raw import AFTER, BEFORE
from netlimits.campaign import specifications
from netlimits.campaign.figures import interpret
from netlimits.evidence import cpu

pytestmark = pytest.mark.lab

OF_PACKET = 1448 / 1514
"""User data in a full frame as tbf counts it, with timestamps at an MTU of 1500."""

BURST = 16 * 1024

LIMIT = 206 * (1448 + 42) + 1400
"""A shaper's queue in bytes that full frames never fill: what is left lets connections be made."""


def netlimits(*words: object) -> subprocess.CompletedProcess[str]:
    return warm.run(
        (sys.executable, "-m", "netlimits", *map(str, words)),
        capture_output=True,
        text=True,
        timeout=300,
    )


def run(folder: Path, text: str, hosts: Path) -> subprocess.CompletedProcess[str]:
    (folder / "e.yaml").write_text(f"experiment: physics\n{text}")
    return netlimits("run", folder / "e.yaml", "--hosts", hosts, "--out", folder / "out")


def frame(folder: Path) -> pd.DataFrame:
    return nl.open(folder / "out").frame()


def ip(*words: str) -> str:
    done = subprocess.run(("ip", *words), check=True, capture_output=True, text=True)
    return done.stdout


@contextmanager
def served(namespace: str, *words: str) -> Iterator[subprocess.Popen[bytes]]:
    """A program in a namespace, ended at the end."""
    process = subprocess.Popen(
        ("ip", "netns", "exec", namespace, *words),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait()


@contextmanager
def shaped(lab, rate: str) -> Iterator[None]:
    """The switch lets no more than that through to the receiver, and had to hold packets back."""
    where = ("-n", f"{lab.switch}", "qdisc")
    words = ("dev", "port2", "root", "tbf", "rate", rate, "burst", "16kb", "limit", str(LIMIT))
    subprocess.run(("tc", *where, "add", *words), check=True)
    try:
        yield
        shown = ("tc", "-s", "-j", *where, "show", "dev", "port2", "root")
        (qdisc,) = json.loads(subprocess.run(shown, check=True, capture_output=True).stdout)
        assert qdisc["overlimits"] > 0
    finally:
        subprocess.run(("tc", *where, "del", "dev", "port2", "root"), check=True)


PARALLEL = """
streams: {streams}
measure: {{{tool}}}
repeat: {{replicates: 1, order: listed, seed: 1}}
"""


@pytest.mark.parametrize(
    ("rate", "streams", "tool"),
    [
        (20, 4, "netperf: {test: TCP_STREAM, seconds: 3, interim_seconds: 0.5}"),
        (200, 8, "netperf: {test: TCP_STREAM, seconds: 5, interim_seconds: 0.5}"),
        (20, 4, "netperf: {test: UDP_STREAM, seconds: 3, interim_seconds: 0.5, send_size: 1448}"),
        (20, 1, "netperf: {test: UDP_STREAM, seconds: 3, interim_seconds: 3, send_size: 1448}"),
        (20, 1, "iperf3: {seconds: 3, omit: 1, parallel: 4, interim_seconds: 0.5}"),
        (200, 1, "iperf3: {seconds: 3, parallel: 8, interim_seconds: 0.5}"),
    ],
)
def test_streams_have_no_more_than_their_path_can_carry(switched, tmp_path, rate, streams, tool):
    """Senders' interim results summed gave 23 to 25 of the 19.1 Mbit/s that are possible."""
    with shaped(switched, f"{rate}mbit"):
        done = run(tmp_path, PARALLEL.format(streams=streams, tool=tool), switched.hosts_file)
    assert done.returncode == 0, done.stdout + done.stderr
    (row,) = frame(tmp_path).to_dict("records")
    udp = "UDP" in tool
    possible = rate * (1448 / (1448 + 42) if udp else OF_PACKET)
    window = 1.5
    most = possible + BURST * 8 / 1e6 / window
    assert least(tmp_path, row, possible, udp=udp) <= row["throughput_mbps"] <= most
    assert row["remote_recv_throughput_mbps"] <= most
    if "netperf" in tool:  # which tells the sender's alone
        assert 0 < row["window_s"] <= row["elapsed_s"] + 0.5
    intervals = nl.open(tmp_path / "out").intervals()
    best = aggregate.highest_averages(intervals, window)
    # on a busy machine bytes wait for the program that counts them, or a look for its counters
    assert best["highest_average_mbps"].max() <= 1.1 * most


def least(folder: Path, row: dict[str, float], possible: float, *, udp: bool) -> float:
    """Mbit/s that a run had at least, by what the receiver's interface counted in and around its window.

    All of that arrived in the window but for what the shaper may have let through beside it, what
    waited there when it ended, and what was sent twice.
    """
    headers = 42 if udp else 66
    counted = row["remote_rx_bytes"] - headers * row["remote_rx_packets"]
    raw = nl.open(folder / "out").archive.raw.read(row["run"], 1)
    read = {entry.step: entry.completed for entry in raw if entry.host == "receiver"}
    window = row.get("window_s") or row["elapsed_s"]  # iperf3 tells what arrived itself
    around = cpu.wall(*(cpu.times(read[step]) for step in (BEFORE, AFTER))) - window
    twice = 0 if udp else 1448 * row["local_tcp_retrans_segs"]
    bits = (counted - twice - BURST - LIMIT) * 8 / 1e6 - possible * around
    return bits / window


SOCKET = 6 * 2**20
"""Bytes that arrived and may not have been read when the tool's time was over (tcp_rmem's most)."""


def moved(folder: Path, number: int) -> tuple[float, float]:
    """Bytes of user data of a run: by the tool, and by the receiver's interface over all its time.

    The interface's count less 66 bytes of headers a packet.
    """
    campaign = nl.open(folder / "out")
    machines = campaign.archive.machines
    setup = campaign.plan.setup(campaign.runs[number].values)
    specification = specifications.specified(setup, campaign.experiment.ends, machines)
    measured = interpret.read(specification, campaign.archive.raw.read(number, 1))
    figures = measured.figures
    assert measured.work
    counted = float(figures["remote_rx_bytes"]) - 66 * float(figures["remote_rx_packets"])
    return measured.work.units * 1024, counted


@pytest.mark.parametrize(
    ("factor", "tool"),
    [
        ("omit: [0, 1, 2]", "iperf3: {seconds: 1, omit: '${omit}'}"),
        (
            "size: [8192, 16384]",
            "netperf: {seconds: 1, confidence: '99,900', iterations: '5,3', send_size: '${size}'}",
        ),
    ],
)
def test_service_demand_divides_by_the_work_of_its_whole_window(lab, tmp_path, factor, tool):
    """Three iterations of netperf, or two omitted seconds, took CPU and counted no bytes."""
    text = f"factors: {{{factor}}}\nmeasure: {{{tool}}}\n"
    text += "repeat: {replicates: 1, order: listed, seed: 1}\n"
    done = run(tmp_path, text, lab.hosts_file)
    assert done.returncode == 0, done.stdout + done.stderr
    for number in frame(tmp_path)["run"]:
        told, counted = moved(tmp_path, number)
        assert told == pytest.approx(counted, rel=0.05, abs=SOCKET)


RUNS = """
factors: {n: [1, 2, 3]}
derive: {size: 8000 + n}
measure: {netperf: {test: TCP_STREAM, seconds: 1, send_size: "${size}"}}
repeat: {replicates: 1, order: listed, seed: 1}
"""


def test_a_quiet_link_is_undisturbed(switched, tmp_path):
    with shaped(switched, "100mbit"):
        done = run(tmp_path, RUNS, switched.hosts_file)
    assert done.returncode == 0, done.stdout + done.stderr
    assert frame(tmp_path)["disturbed_pct"].eq(0).all()


def hosts(lab, folder: Path, receiver: str) -> Path:
    """A hosts file of the lab whose receiver is another one."""
    lines = lab.hosts_file.read_text().splitlines()
    kept = [line for line in lines if not line.startswith("receiver:")]
    (folder / "hosts.yaml").write_text("\n".join([*kept, f"receiver: {receiver}", ""]))
    return folder / "hosts.yaml"


def test_both_roles_on_one_machine_are_an_error_before_the_first_run(switched, tmp_path):
    login, address = switched.login("sender"), switched.data("sender")
    same = hosts(switched, tmp_path, f"{{ssh: {login}, interface: data0, address: {address}}}")
    done = run(tmp_path, RUNS, same)
    assert done.returncode == 2
    assert f"{address} is this machine's own: no packet to it passes data0" in done.stderr
    assert not (tmp_path / "out").exists()


def test_an_address_of_another_interface_is_an_error_before_the_first_run(switched, tmp_path):
    login, address = switched.login("receiver"), switched.management("receiver")
    other = hosts(switched, tmp_path, f"{{ssh: {login}, interface: data0, address: {address}}}")
    done = run(tmp_path, RUNS, other)
    assert done.returncode == 2
    assert f"{address} is on mgmt0, but settings and counters are of data0" in done.stderr
    assert not (tmp_path / "out").exists()


def stopped_after_a_run(
    folder: Path, text: str, hosts: Path, act: Callable[[], object]
) -> subprocess.CompletedProcess[str]:
    """A campaign that stands still while `act` is done, once its first run is over."""
    (folder / "e.yaml").write_text(f"experiment: physics\n{text}")
    words = ("run", folder / "e.yaml", "--hosts", hosts, "--out", folder / "out")
    argv = (sys.executable, "-m", "netlimits", *map(str, words))
    journal = folder / "out" / "journal.jsonl"

    def over() -> bool:
        return journal.exists() and '"end"' in journal.read_text()

    with warm.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            wait(lambda: over() or process.poll() is not None, "a run is over", longest=BRIEF)
            process.send_signal(signal.SIGSTOP)
            act()
            process.send_signal(signal.SIGCONT)
            printed = process.communicate(timeout=LONG)
        except BaseException:
            process.kill()
            raise
    return subprocess.CompletedProcess(argv, process.returncode, *printed)


def test_a_route_that_changes_in_mid_campaign_makes_the_runs_invalid(switched, tmp_path):
    """Its runs were `ok`, with no packet at either end."""
    sender, target = switched.namespace("sender"), switched.data("receiver")
    way = (f"{target}/32", "via", switched.management("receiver"), "dev", "mgmt0")
    try:
        done = stopped_after_a_run(
            tmp_path,
            RUNS,
            switched.hosts_file,
            lambda: ip("-n", sender, "route", "replace", *way),
        )
    finally:
        ip("-n", sender, "route", "flush", "exact", f"{target}/32")  # if it is there
    assert done.returncode == 1, done.stdout + done.stderr
    runs = frame(tmp_path)
    assert runs["status"].iloc[0] == "ok"
    assert runs["status"].iloc[2:].eq("invalid").all()
    assert runs["reason"].iloc[-1].startswith("sender: data0 sent ")
    assert "the data took another way" in runs["reason"].iloc[-1]


def test_another_host_with_the_address_makes_the_runs_invalid(switched, tmp_path):
    """46,879 packets were sent and none received: a bystander's CPU was measured."""
    twin, sender = switched.namespace("host3"), switched.namespace("sender")
    target = switched.data("receiver")
    link = ip("-n", twin, "-br", "link", "show", "dev", "data0").split()[2]
    ip("-n", twin, "address", "add", f"{target}/24", "dev", "data0")
    neighbour = ("neigh", "replace", target, "lladdr", link, "dev", "data0", "nud", "permanent")
    ip("-n", sender, *neighbour)
    try:
        with served(twin, "netserver", "-D", "-L", f"{target},4"):
            done = run(tmp_path, RUNS.replace("[1, 2, 3]", "[1]"), switched.hosts_file)
    finally:
        ip("-n", sender, "neigh", "del", target, "dev", "data0")
        ip("-n", twin, "address", "del", f"{target}/24", "dev", "data0")
    assert done.returncode == 1, done.stdout + done.stderr
    runs = frame(tmp_path)
    assert runs["status"].eq("invalid").all()
    assert runs["reason"].str.startswith("receiver: data0 received ").all()


def test_another_load_on_the_link_makes_the_runs_invalid(switched, tmp_path):
    """Twice the bytes of the measurement were received, and the runs were `ok`."""
    text = """
measure: {iperf3: {protocol: udp, rate: 50M, send_size: 1400, seconds: 2}}
repeat: {replicates: 2, order: listed, seed: 1}
"""
    receiver, other = switched.namespace("receiver"), switched.namespace("host3")
    port, address = "5999", switched.data("receiver")
    load = ("iperf3", "-c", address, "-p", port, "-u", "-b", "50M", "-l", "1400", "-t", "250")
    with served(receiver, "iperf3", "-s", "-p", port):
        listening = ("ip", "netns", "exec", receiver, "ss", "-Hltn", f"sport = :{port}")
        wait(lambda: subprocess.run(listening, capture_output=True, check=True).stdout)
        with served(other, *load) as loading:
            done = run(tmp_path, text, switched.hosts_file)
            assert loading.poll() is None, "the load lasted"
    assert done.returncode == 1, done.stdout + done.stderr
    runs = frame(tmp_path)
    assert runs["status"].eq("invalid").all()
    assert runs["reason"].str.startswith("receiver: data0 received ").all()
    assert runs["reason"].str.contains("something else used the link").all()


FLOOD = """
import socket, sys, time
to = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
until = time.monotonic() + 250
while time.monotonic() < until:
    for _ in range(400):
        to.sendto(bytes(16), (sys.argv[1], 5999))
    time.sleep(0.002)
"""


def test_a_flood_of_small_datagrams_beside_transactions_makes_the_runs_invalid(switched, tmp_path):
    """A million of them passed for headers of the run, which had a tenth of its rate."""
    text = """
measure: {netperf: {test: TCP_RR, seconds: 2}}
repeat: {replicates: 1, order: listed, seed: 1}
"""
    address = switched.data("receiver")
    load = (sys.executable, "-c", FLOOD, address)
    with served(switched.namespace("host3"), *load) as loading:
        done = run(tmp_path, text, switched.hosts_file)
        assert loading.poll() is None, "the load lasted"
    assert done.returncode == 1, done.stdout + done.stderr
    (row,) = frame(tmp_path).to_dict("records")
    assert row["status"] == "invalid"
    assert "something else used the link" in row["reason"]
