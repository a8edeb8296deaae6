"""Settings are written once before the first run: a driver that takes and ignores them is seen."""

from __future__ import annotations

import pytest
from campaign.test_schedule import Work
from simulated import SimulatedMachine

from netlimits.campaign import rehearsal, schedule
from netlimits.campaign.interrupt import Stop
from netlimits.errors import CheckError
from netlimits.hosts.scripted import answer


class Deaf(SimulatedMachine):
    """Its driver says that it has switched a feature, and has not."""

    def _switch(self, command):
        return answer(command, host=self.role)


def pair(sender=SimulatedMachine):
    return {"sender": sender("sender", "192.0.2.1"),
            "receiver": SimulatedMachine("receiver", "192.0.2.2")}  # fmt: skip


@pytest.fixture(autouse=True)
def tries_offloads(monkeypatch):
    """The simulated machines have no other setting that a driver may ignore."""
    monkeypatch.setattr(rehearsal, "TRIED", ("offload",))


def rehearsed(work: Work) -> None:
    work.campaign.archive.lock()
    try:
        session = work.session(work.hosts())
        with session.open():
            rehearsal.before_first_run(session, Stop())
            schedule.in_order(session, Stop(), lambda _: None)
    finally:
        work.campaign.archive.close()


def test_what_a_driver_ignores_is_seen_before_the_first_run_and_everything_is_restored(tmp_path):
    two = pair(Deaf)
    work = Work(tmp_path / "results", two)
    with pytest.raises(CheckError) as caught:
        rehearsed(work)
    findings = caught.value.findings
    assert {(finding.host, finding.check) for finding in findings} == {("sender", "offload")}
    assert "small.yaml:5: did not take: tso is not off" in str(caught.value)
    assert not work.campaign.records()
    assert work.as_found()


def test_what_takes_is_measured_and_tried_once(tmp_path):
    work = Work(tmp_path / "results", pair())
    rehearsed(work)
    assert [r.status for r in work.campaign.records()] == ["ok"] * 4
    assert work.as_found()
    session = work.session(work.hosts())
    rehearsal.before_first_run(session, Stop())  # it has outcomes: nothing is tried, nor claimed
