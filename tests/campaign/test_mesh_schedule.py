"""Several pairs at once: who runs when, what an end, a lost host and Ctrl-C do; without a host."""

from __future__ import annotations

import time
from collections import Counter
from threading import Barrier, Event, Lock
from types import SimpleNamespace

import pytest
from waiting import LONG

from netlimits.campaign import attempt
from netlimits.campaign.interrupt import Interrupted, Stop
from netlimits.campaign.mesh import schedule
from netlimits.campaign.progress import Tally
from netlimits.errors import ConnectionLost, HostError
from netlimits.experiment import load
from netlimits.experiment.mesh.dispatch import Dispatch
from netlimits.experiment.plan import Plan
from netlimits.model import Record

MESH = """\
experiment: mesh
roles: {hosts: 6, pairs: all}
measure:
  netperf: {test: omni, seconds: 1}
repeat: {replicates: 2, seed: 7}
"""


class Fake:
    """A session whose runs take a moment and are watched; `lost_at` loses a host at a run.

    None of its first runs, so many as are `together`, ends before all of them have begun.
    """

    def __init__(self, lost_at=0, comes_back=False, together=1):
        self.archive = SimpleNamespace(roll=bool, sync=bool)
        self.lost_at, self.comes_back = lost_at, comes_back
        self.busy: set[str] = set()
        self.records: list[Record] = []
        self.most = self.starts = 0
        self.together = Barrier(together)
        self.away: set[str] = set()
        self.turn, self.begun = Lock(), Event()
        self.cut: schedule.Cut | None = None
        self.guards = SimpleNamespace(patience=300.0)
        self.renewed: list[str] = []

    def renew(self, roles):
        self.renewed += roles

    def context(self, cut, roles, run, number, last):
        self.cut = cut
        return lambda: self.one_run(run, number)

    def one_run(self, run, attempt):
        ends = {run.values["sender"], run.values["receiver"]}
        with self.turn:
            assert not self.busy & ends
            self.busy |= ends
            self.most = max(self.most, len(self.busy) // 2)
            self.starts += 1
            first = self.starts <= self.together.parties
        if first:
            self.together.wait(LONG)
        time.sleep(0.01)
        with self.turn:
            self.busy -= ends
        self.begun.set()
        status = "ok"
        if self.cut.requested:
            status = "interrupted"
        elif run.number == self.lost_at and attempt == 1:
            self.away.add(run.values["receiver"])
            status = "interrupted"
        record = Record(run, attempt, status, "", time.time(), 0.01, {})
        with self.turn:
            self.records.append(record)
        if self.cut.requested:
            raise Interrupted(self.cut.requested)
        return record

    def lost(self, roles):
        return [role for role in roles if role in self.away]

    def connect_again(self, role):
        if not self.comes_back:
            raise ConnectionLost("could not reconnect", host=role)
        self.away.discard(role)

    def cut_short(self, roles):
        """Nothing runs."""


@pytest.fixture(autouse=True)
def _attempts_of_the_fake(monkeypatch):
    monkeypatch.setattr(attempt, "context", lambda session, *about: session.context(*about))
    monkeypatch.setattr(attempt, "carry_out", lambda context: context())


def work(session: Fake, stop: Stop, at_once: int = 0) -> tuple[schedule.Concurrency, list]:
    plan = Plan(load.parse(MESH, "mesh.yaml"))
    runs = list(plan.runs())
    jobs = [*plan.jobs(runs)]
    tally = Tally(Counter(), len(runs), 1.0)
    return schedule.Concurrency(session, stop, Dispatch(jobs, at_once=at_once), tally, {}), runs


@pytest.mark.parametrize(("at_once", "most"), [(0, 3), (2, 2), (1, 1)])
def test_every_run_is_made_once_and_no_host_is_in_two(at_once, most):
    with Stop() as stop:
        session = Fake(together=most)
        going, runs = work(session, stop, at_once)
        progress = going.carry_out(lambda _: None)
    assert sorted(r.run.number for r in session.records) == [run.number for run in runs]
    assert session.most == most
    assert (progress.done, progress.failed) == (30, 0)
    assert session.renewed == [], "none has waited for a fifth of the patience"


def test_hosts_that_wait_are_renewed_within_the_patience_however_short():
    with Stop() as stop:
        session = Fake()
        session.guards.patience = 0.05
        going, _ = work(session, stop, at_once=1)
        going.carry_out(lambda _: None)
    assert len({*session.renewed}) == 6, "one pair measures at a time, thirty times 10 ms"


def test_a_host_that_is_gone_takes_its_pairs_along_and_no_other():
    with Stop() as stop:
        session = Fake(lost_at=5)
        going, runs = work(session, stop)
        with pytest.raises(HostError, match=r"runs are left, on hosts that were lost: hosts-"):
            going.carry_out(lambda _: None)
    (gone,) = session.away
    done = {r.run.number for r in session.records if r.status == "ok"}
    missing = [run for run in runs if run.number not in done]
    assert missing
    assert all(gone in run.values.values() for run in missing)
    others = [run for run in runs if gone not in run.values.values()]
    assert {run.number for run in others} <= done


def test_a_host_that_comes_back_has_its_run_again():
    with Stop() as stop:
        session = Fake(lost_at=5, comes_back=True)
        going, runs = work(session, stop)
        assert going.carry_out(lambda _: None).done == len(runs)
    attempts = [(r.attempt, r.status) for r in session.records if r.run.number == 5]
    assert attempts == [(1, "interrupted"), (2, "ok")]


def test_ctrl_c_ends_what_goes_on_and_begins_nothing_more():
    with Stop() as stop:
        session = Fake()
        going, runs = work(session, stop)

        def after_five(progress) -> None:
            if progress.done == 5:
                stop.requested = "SIGINT"

        with pytest.raises(Interrupted, match="SIGINT"):
            going.carry_out(after_five)
    assert not session.busy
    assert 5 <= len(session.records) <= 5 + 3
    assert len(session.records) < len(runs)


def test_a_mistake_in_a_runs_thread_ends_the_campaign():
    class Broken(Fake):
        def one_run(self, run, attempt):
            raise ValueError("a mistake")

    with Stop() as stop:
        going, _ = work(Broken(), stop)
        with pytest.raises(ValueError, match="a mistake"):
            going.carry_out(lambda _: None)
