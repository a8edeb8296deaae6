"""A mesh on real hosts, over SSH: whole, with a host killed in it, and interrupted."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable
from itertools import combinations
from pathlib import Path

import pytest
import yaml
from faults.ground import Ground
from faults.test_connection import no_sshd
from waiting import LONG, wait

import netlimits as nl

pytestmark = pytest.mark.lab
EXPERIMENTS = Path(__file__).parents[2] / "experiments"

MESH = """\
experiment: mesh
roles: {hosts: 4, pairs: all}
settings:
  - roles: [hosts]
    offload: {tso: off}
measure:
  iperf3: {protocol: tcp, seconds: 1, rate: 100000, send_size: 1024}
repeat: {replicates: 1, seed: 1}
"""
CLIENT = "iperf3 -c"


@pytest.fixture
def ground(many, tmp_path):
    place = Ground(many, tmp_path)
    try:
        yield place
    finally:
        place.end()


def pairs_overlapped(ground: Ground, out: Path, place: Callable[[str], str] = str) -> int:
    """How many runs went on at the same time at most; no host was in two of them, no `place`."""
    begun = {(e["run"], e["attempt"]): e for e in ground.events(out, "start")}
    spans = [
        (begun[e["run"], e["attempt"]]["started"], e["at"], {*map(place, pair(e))})
        for e in ground.ends(out)
    ]
    for (begin, end, hosts), (other, last, others) in combinations(spans, 2):
        apart = end <= other or last <= begin
        assert apart or not hosts & others, (hosts, others)
    return max(sum(begin <= at < end for begin, end, _ in spans) for at, _, _ in spans)


def pair(event: dict) -> tuple[str, str]:
    return event["values"]["sender"], event["values"]["receiver"]


def test_a_mesh_from_yaml_to_table_and_charts(ground):
    out = ground.folder / "out"
    mesh = EXPERIMENTS / "mesh.yaml"
    seconds = ("--set", "measure.netperf.seconds=1", "--set", "repeat.replicates=1")
    ground("run", mesh, *ground.hosts, "--out", out, *seconds)
    ground.all_is_recorded(out)
    ground.hosts_are_as_found()
    frame = nl.open(out).frame()
    assert set(frame["status"]) == {"ok"}, frame["reason"].tolist()
    assert len({frozenset(p) for p in zip(frame["sender"], frame["receiver"], strict=True)}) == 28
    assert (frame["throughput_mbps"] > 0).all()
    assert pairs_overlapped(ground, out) > 1
    assert "hosts-8" in ground("table", out).stdout
    drawn = ground("figures", out, "--format", "svg").stdout
    assert "mesh_links" in drawn
    assert "mesh_hosts" in drawn


def test_no_two_runs_go_through_one_group_at_once(ground):
    file = ground.folder / "racks.yaml"
    written = yaml.safe_load(ground.lab.hosts_file.read_text())
    every = [dict(written[host], group=f"rack{n % 4}") for n, host in enumerate(ground.lab.hosts)]
    file.write_text(yaml.safe_dump({"ssh_config": written["ssh_config"], "hosts": every}))
    rack = {f"hosts-{n}": host["group"] for n, host in enumerate(every, 1)}
    mesh = ground.experiment(MESH.replace("hosts: 4, pairs: all", "hosts: 8, pairs: ring"))
    out = ground.folder / "out"
    ground("run", mesh, "--hosts", file, "--out", out)
    assert len(ground.ends(out)) == 8
    assert pairs_overlapped(ground, out, lambda host: rack[host]) == 2


def test_a_host_killed_takes_its_own_pairs_along_and_resume_does_them(ground):
    out, lost = ground.folder / "out", "host3"  # hosts-3 of the mesh
    process = ground.campaign(MESH, out, "--patience", "3s")
    ground.at_work(process, out, CLIENT, lost)
    with no_sshd(ground, lost):
        problem = ground.ended(process, None)
        assert process.returncode in (1, 3), problem
        assert "hosts-3" in problem
        campaign = nl.open(out)
        ended = {e["run"] for e in ground.ends(out) if e["status"] != "interrupted"}
        missing = [run for run in campaign.runs.values() if run.number not in ended]
        assert missing
        assert all("hosts-3" in run.values.values() for run in missing)
        assert ground.events(out, "put_back"), "the others are put back at once"
        changed = {e["role"] for e in campaign.state()["not_put_back"]}
        assert changed <= {"hosts-3"}
    assert f"{len(missing)} left" in ground("status", out, status=None).stdout
    ground("resume", out)
    rows = ground.settled(out)
    assert len({run for run, *_ in rows}) == 6
    assert {status for *_, status, _ in rows} <= {"ok", "interrupted"}


def test_a_host_that_is_still_gone_leaves_its_own_runs_to_another_resume(ground):
    out, lost = ground.folder / "out", "sender"  # hosts-1, of the first pair
    process = ground.campaign(MESH, out)
    wait(lambda: out.exists() and ground.ends(out), "a run is over")
    ground.at_work(process, out, CLIENT, lost)
    process.kill()
    process.wait(LONG)
    with no_sshd(ground, lost):
        resumed = ground("resume", out, "--patience", "3s", status=1)
        assert "warning: hosts-1: " in resumed.stderr
        assert "runs are left, on hosts that were lost: hosts-1: " in resumed.stderr
        assert (
            "hosts are restored, but for hosts-1; continue with: netlimits resume" in resumed.stderr
        )
        campaign = nl.open(out)
        ended = {e["run"] for e in ground.ends(out) if e["status"] == "ok"}
        left = [run for run in campaign.runs.values() if run.number not in ended]
        assert left
        assert all("hosts-1" in run.values.values() for run in left)
        assert {e["role"] for e in campaign.state()["not_put_back"]} == {"hosts-1"}
    ground("resume", out)
    rows = ground.settled(out)
    assert len({run for run, *_ in rows}) == 6


def test_ctrl_c_ends_all_pairs_puts_hosts_back_and_resume_goes_on(ground):
    out = ground.folder / "out"
    process = ground.campaign(MESH, out)
    wait(lambda: out.exists() and ground.ends(out), "a run is over")
    ground.at_work(process, out, CLIENT, "sender")
    process.send_signal(signal.SIGINT)
    assert "resume" in ground.ended(process, 130)
    ground.hosts_are_as_found()
    state = json.loads(ground("status", out, "--json", status=None).stdout)
    assert 0 < state["left"] < 6
    ground.settled(out)
    assert pairs_overlapped(ground, out) == 2
