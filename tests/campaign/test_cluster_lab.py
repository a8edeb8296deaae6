"""A mesh by Dask's workers: a real scheduler and four of them, killed and restarted in its midst."""

from __future__ import annotations

import os
import signal
import socket
from pathlib import Path

import duckdb
import pandas as pd
import pytest
from campaign.test_mesh_schedule_lab import pairs_overlapped
from dask_forked import Process, begin
from faults.ground import Ground
from faults.test_connection import no_sshd
from waiting import wait

import netlimits as nl

pytestmark = pytest.mark.lab

MESH = """\
experiment: mesh
roles: {hosts: 8, pairs: bipartite}
settings:
  - roles: [hosts]
    offload: {tso: off}
measure:
  netperf: {protocol: tcp, seconds: 2, send_size: 1024}
repeat: {replicates: 1, seed: 1}
"""
RUNS, WORKERS = 16, 4
SMALL, SMALL_RUNS = MESH.replace("hosts: 8", "hosts: 6").replace("seconds: 2", "seconds: 1"), 9


class Cluster:
    """A scheduler on a port of its own, and workers, each a process of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.address = f"tcp://127.0.0.1:{self.port}"
        self.scheduler: Process | None = None
        self.workers: list[Process] = []

    def begin(self, *argv: str) -> Process:
        return begin(self.folder / "dask.log", *argv, "--no-dashboard")

    def start(self) -> None:
        self.scheduler = self.begin("scheduler", "--host", "127.0.0.1", "--port", str(self.port))
        wait(self.answers, "the scheduler listens")
        self.workers = [
            self.begin("worker", self.address, "--nthreads", "1", "--no-nanny", "--host",
                       "127.0.0.1", "--local-directory", str(self.folder / "scratch"))
            for _ in range(WORKERS)
        ]  # fmt: skip

    def answers(self) -> bool:
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0

    def end(self) -> None:
        for process in [*self.workers, self.scheduler]:
            if process:
                process.kill()
                process.join()

    def at_work(self, out: Path) -> list[Process]:
        """The workers that have a shard's journal open in which a run goes on."""
        busy = []
        for worker in self.workers:
            for link in Path(f"/proc/{worker.pid}/fd").glob("*"):
                try:
                    file = link.readlink()
                    text = file.read_text() if file.is_relative_to(out / "shards") else ""
                except OSError:
                    continue
                if file.name == "journal.jsonl" and text.count('"start"') > text.count('"end"'):
                    busy.append(worker)
        return busy


@pytest.fixture
def ground(many, tmp_path):
    place = Ground(many, tmp_path)
    try:
        yield place
    finally:
        place.end()


@pytest.fixture
def cluster(tmp_path):
    place = Cluster(tmp_path)
    try:
        place.start()
        yield place
    finally:
        place.end()


def test_a_worker_killed_and_the_scheduler_restarted_lose_and_double_nothing(ground, cluster):
    out, shared = ground.folder / "out", ground.folder / "shared"
    process = ground.campaign(MESH, out, "--scheduler", cluster.address, "--share", shared)

    def midst() -> Process | None:
        assert process.poll() is None, process.communicate()
        for worker in cluster.at_work(out):
            os.kill(worker.pid, signal.SIGSTOP)
            if worker in cluster.at_work(out):
                return worker
            os.kill(worker.pid, signal.SIGCONT)
        return None

    wait(midst, "a worker is in the middle of a run").kill()
    before = len(ground.ends(out))
    wait(lambda: process.poll() is not None or len(ground.ends(out)) > before + 2, "others go on")
    wait(midst, "a worker is in the middle of a run")  # and stands still when its scheduler goes
    cluster.end()
    cluster.start()
    wait(lambda: process.poll() is not None or [*shared.glob("shard-*")], "runs are shared")

    def seen() -> list[pd.DataFrame]:
        try:
            return [nl.relation(str(shared)).frame()]
        except duckdb.IOException:  # a shard became part of the whole meanwhile
            return []

    (with_shards,) = wait(seen, "shards are read")
    assert process.poll() is None, process.communicate()
    assert set(with_shards["run"]) < set(range(1, RUNS + 1))
    ground.ended(process)
    assert not [*shared.glob("shard-*")]
    ground.all_is_recorded(out)
    ground.hosts_are_as_found()
    campaign = nl.open(out)
    frame = campaign.frame()
    done = frame[frame["status"] == "ok"]
    assert sorted(done["run"]) == list(range(1, RUNS + 1))
    assert set(frame["status"]) == {"ok", "interrupted"}, frame["reason"].tolist()
    assert pairs_overlapped(ground, out) > 1
    assert not (out / "shards").exists()
    copy, original = (
        relation.frame().sort_values(["run", "attempt"], ignore_index=True)
        for relation in (nl.relation(str(shared)), campaign.relation())
    )
    pd.testing.assert_frame_equal(copy, original)


def test_ctrl_c_ends_all_workers_runs_and_resume_goes_on_without_them(ground, cluster):
    out = ground.folder / "out"
    process = ground.campaign(SMALL, out, "--scheduler", cluster.address)
    wait(
        lambda: (out.exists() and len(ground.ends(out)) > 1) or process.poll(), "some runs are over"
    )
    process.send_signal(signal.SIGINT)
    assert "resume" in ground.ended(process, 130)
    ground.hosts_are_as_found()
    assert 0 < nl.open(out).state()["left"] < SMALL_RUNS
    with no_sshd(ground, "host3"):
        resumed = ground(
            "resume", out, "--scheduler", cluster.address, "--patience", "3s", status=1
        )
        assert "runs are left, on hosts that were lost: hosts-3: " in resumed.stderr
        ok = {e["run"] for e in ground.ends(out) if e["status"] == "ok"}
        left = [run for run in nl.open(out).runs.values() if run.number not in ok]
        assert left
        assert all("hosts-3" in run.values.values() for run in left)
    ground.settled(out)


def test_what_cannot_be_is_one_line(ground):
    mesh, pair = ground.experiment(MESH), ground.folder / "pair.yaml"
    pair.write_text("experiment: pair\nmeasure:\n  netperf: {seconds: 1}\n")
    nobody = "tcp://127.0.0.1:9"
    problem = ground("run", mesh, *ground.hosts, "--scheduler", nobody, status=2).stderr
    assert nobody in problem.splitlines()[-1]
    problem = ground("run", pair, *ground.hosts, "--scheduler", nobody, status=2).stderr
    assert "--scheduler is for a mesh" in problem
