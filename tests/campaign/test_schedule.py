from __future__ import annotations

import errno
import hashlib
import os
import shutil
import threading
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from simulated import Fails, SimulatedMachine
from waiting import LONG

from netlimits.archive import parts, reader, records
from netlimits.archive.journal import Journal
from netlimits.archive.reader import Campaign
from netlimits.archive.records import unfinished
from netlimits.campaign import creation, measurement, schedule, specifications
from netlimits.campaign.caps import Cap
from netlimits.campaign.figures import interpret
from netlimits.campaign.figures.reparse import reparse
from netlimits.campaign.interrupt import Interrupted, Stop
from netlimits.campaign.session import Session
from netlimits.campaign.specifications import specified
from netlimits.checks.survey import survey
from netlimits.errors import (
    ArchiveError,
    ArchiveUnwritable,
    CheckError,
    ConnectError,
    HostError,
    NetlimitsError,
    RestoreError,
    ToolFailure,
)
from netlimits.experiment import load, plan, resolution
from netlimits.experiment.configurations import Configurations
from netlimits.restore.restoration import restore_from_journal, restore_from_notes

TEXT = """\
experiment: small
factors: {offloads: [on, off]}
settings:
  - roles: [sender, receiver]
    offload: {tso: "${offloads}", gro: "${offloads}"}
measure:
  netperf: {seconds: 1, send_size: 1024, mss: 1036}
repeat: {replicates: 2, order: blocked, seed: 1}
"""
ONCE = TEXT.replace("replicates: 2", "replicates: 1")


@pytest.fixture
def two():
    return {
        "sender": SimulatedMachine("sender", "192.0.2.1"),
        "receiver": SimulatedMachine("receiver", "192.0.2.2"),
    }


class Work:
    """One campaign on simulated machines."""

    def __init__(self, folder: Path, two, text: str = TEXT) -> None:
        self.two = two
        self.plan = plan.Plan(plan.seeded(load.parse(text, "small.yaml")))
        self.machines = {role: m.machine() for role, m in two.items()}
        self.survey = survey(self.plan, self.machines, self.hosts())
        self.campaign = creation.create(self.plan, self.survey, folder)

    def hosts(self):
        return {role: m.host() for role, m in self.two.items()}

    def run(self, hosts=None, on_progress=lambda _: None):
        archive = self.campaign.archive
        archive.lock()
        try:
            session = self.session(hosts or self.hosts())
            with session.open():
                return schedule.in_order(session, Stop(), on_progress)
        finally:
            archive.close()

    def session(self, hosts, connect=None):
        connect = connect or (lambda machine: self.two[machine.role].host())
        return Session(self.campaign.archive, self.plan, self.survey, hosts, connect)

    def restore(self):
        self.campaign.archive.lock()
        try:
            return restore_from_journal(self.campaign.archive, self.hosts())
        finally:
            self.campaign.archive.close()

    def as_found(self) -> bool:
        return all(m.state["features"] == m.original for m in self.two.values())


@pytest.fixture
def work(tmp_path, two):
    return Work(tmp_path / "results", two)


def test_every_run_is_recorded_and_the_hosts_are_as_found(work):
    seen = []
    end = work.run(on_progress=seen.append)
    records = work.campaign.records()
    assert [r.status for r in records] == ["ok"] * 4
    assert (end.done, end.failed, end.total) == (4, 0, 4)
    assert [p.done for p in seen] == [0, 1, 2, 3, 4]
    assert seen[-1].seconds_left == pytest.approx(0, abs=1e-6)
    assert work.as_found()
    assert not any(m.notes for m in work.two.values())
    assert unfinished(work.campaign.archive) == ()
    figures = records[0].figures
    # 100 busy ticks between two readings of one CPU, 800 Mbit/s for one second
    assert figures["local_cpu_pct"] == pytest.approx(50)
    assert figures["local_sd_us_per_kib"] == pytest.approx(1e6 / (800e6 / 8 / 1024))


def test_a_plan_is_expanded_once_and_the_journal_read_three_times(tmp_path, two, monkeypatch):
    counts = Counter()

    def counted(owner, name):
        function = getattr(owner, name)

        def call(*args, **kwargs):
            counts[name] += 1
            return function(*args, **kwargs)

        monkeypatch.setattr(owner, name, call)

    counted(load, "parse")
    counted(Configurations, "_expand")
    counted(resolution, "setup")
    counted(Journal, "lines")
    work = Work(tmp_path / "results", two)
    work.run()
    Campaign(work.campaign.archive, work.campaign.planned).write_results()
    assert work.campaign.state()["ok"] == 4
    # two configurations; the journal before the first run, for the tables, and for the state
    assert counts == {"parse": 1, "_expand": 1, "setup": 2, "lines": 3}


def test_a_setting_is_written_only_where_it_differs(work):
    hosts = work.hosts()
    work.run(hosts)
    writes = [line for line in hosts["sender"].lines if " -K " in line]
    configurations = [r.run.values["offloads"] for r in work.campaign.records()]
    changes = sum(a != b for a, b in zip(["on", *configurations], configurations, strict=False))
    # veth's capture has gro off, so that one is switched for the first `on` too; one puts back
    assert changes <= len(writes) <= changes + 2
    lines = hosts["sender"].lines
    for at, line in enumerate(lines):  # read back, if need be once the link is up again
        assert " -K " not in line or any(" -k " in after for after in lines[at + 1 : at + 3])


def test_what_was_found_is_in_the_journal_before_the_first_write(work):
    machine = work.two["sender"]
    order = []

    class Watch:
        def __init__(self, host):
            self.name, self._host = host.name, host

        def run(self, command):
            if " -K " in " ".join(command.argv):
                events = [e for e in work.campaign.archive.events() if e["event"] == "found"]
                mine = [event for event in events if event["role"] == "sender"]
                order.append((command.argv, len(mine), dict(machine.notes)))
            return self._host.run(command)

        def begin_in_turn(self, commands):
            return lambda: [self.run(command) for command in commands]

        def __getattr__(self, name):
            return getattr(self._host, name)

    work.run({role: Watch(host) for role, host in work.hosts().items()})
    assert order
    assert order[0][1] == 1
    assert all(count >= 1 for _, count, _ in order)


def test_what_was_begun_is_waited_for_on_every_host_whatever_one_of_them_does(work):
    """Of the second run on hosts begin their change at once: an answer left unread meets the next command."""
    unread, begun = [], []

    class Begins:
        def __init__(self, host):
            self.name, self._host = host.name, host

        def begin_in_turn(self, commands):
            if not any("-K" in command.argv for command in commands):
                return self._host.begin_in_turn(commands)
            begun.append(self.name)
            unread.append(self.name)

            def wait():
                unread.remove(self.name)
                if len(begun) > 2 and self.name == "sender":
                    raise RuntimeError("what it shows is beyond us")
                return self._host.begin_in_turn(commands)()

            return wait

        def __getattr__(self, name):
            return getattr(self._host, name)

    with pytest.raises(RuntimeError, match="beyond us"):
        work.run({role: Begins(host) for role, host in work.hosts().items()})
    assert begun[2:4] == ["sender", "receiver"], "both, before either is waited for"
    assert unread == []


def test_hosts_that_need_several_commands_come_to_their_settings_at_once_too(work):
    """As those whose login needs sudo: each change waits for the other host's."""
    meeting, met, seen = threading.Barrier(2, timeout=LONG), [], []

    class Meets:
        def __init__(self, host):
            self.name, self._host = host.name, host

        def begins(self, commands):
            return False

        def run(self, command):
            if "-K" in command.argv and seen[-1].done < seen[-1].total:
                meeting.wait()
                met.append(self.name)
            return self._host.run(command)

        def begin_in_turn(self, commands):
            return lambda: [self.run(command) for command in commands]

        def __getattr__(self, name):
            return getattr(self._host, name)

    work.run({role: Meets(host) for role, host in work.hosts().items()}, seen.append)
    assert [r.status for r in work.campaign.records()] == ["ok"] * 4
    assert met.count("sender") == met.count("receiver") >= 2


def test_a_runs_lines_are_on_disk_before_what_they_are_about(work, monkeypatch):
    """Its start before anything is measured or its raw output is there, its end before the next one's."""
    archive, order = work.campaign.archive, []
    sync, pending = os.fsync, lambda: archive.journal._pending

    def watched(owner, name, say):
        function = getattr(owner, name)

        def call(*args, **kwargs):
            order.append((say, pending()))
            return function(*args, **kwargs)

        monkeypatch.setattr(owner, name, call)

    watched(measurement, "measure", "measured")
    watched(archive.raw, "write", "raw output")
    watched(archive, "close", "over")
    synced = []
    monkeypatch.setattr(os, "fsync", lambda number: synced.append(number) or sync(number))
    work.run()
    assert order == [("measured", False), ("raw output", False)] * 4 + [("over", False)]
    assert synced


def test_lines_that_do_not_reach_the_disk_end_the_campaign_also_beside_an_error_of_a_host(
    work, monkeypatch
):
    """The kernel says so once, and that every later fsync was well."""
    sync, failed = Journal.sync, []

    def once(journal):
        real = os.fsync

        def fails(number):
            if not failed and len(done_runs) > 1:
                failed.append(number)
                raise OSError(errno.EIO, os.strerror(errno.EIO))
            real(number)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("netlimits.archive.journal.os.fsync", fails)
            sync(journal)

    done_runs = []

    class Refuses:
        def __init__(self, host):
            self.name, self._host = host.name, host

        def begin_in_turn(self, commands):
            if failed or not any("-K" in c.argv for c in commands) or len(done_runs) < 2:
                return self._host.begin_in_turn(commands)
            raise HostError("no", host=self.name)

        def __getattr__(self, name):
            return getattr(self._host, name)

    monkeypatch.setattr(Journal, "sync", once)
    hosts = {role: Refuses(host) for role, host in work.hosts().items()}
    with pytest.raises(ArchiveUnwritable, match="Input/output error"):
        work.run(hosts, on_progress=done_runs.append)
    assert failed
    assert work.as_found()


def commands_of_a_campaign(tmp_path, two) -> int:
    count = [0]
    work = Work(tmp_path / "counted", two, ONCE)
    work.run({r: Fails(h, count, -1, "") for r, h in work.hosts().items()})
    return count[0]


@pytest.mark.long
@pytest.mark.parametrize("how", ["lost before", "lost after", "refused"])
def test_hosts_are_put_back_when_each_single_command_fails_in_turn(tmp_path, two, how, monkeypatch):
    monkeypatch.setattr(os, "fsync", lambda number: None)  # of a hundred campaigns
    total = commands_of_a_campaign(tmp_path, two)
    assert total > 40
    for which in range(1, total + 1):
        machines = {role: SimulatedMachine(role, m.address) for role, m in two.items()}
        work = Work(tmp_path / f"{which}", machines, ONCE)
        count = [0]
        try:
            work.run({r: Fails(h, count, which, how) for r, h in work.hosts().items()})
        except RestoreError as error:
            assert unfinished(work.campaign.archive), error  # noqa: PT017 - or nothing is raised
        except NetlimitsError as error:
            pytest.fail(f"command {which}: {error!r}")
        work.restore()
        assert work.as_found(), f"command {which} of {total}"
        assert unfinished(work.campaign.archive) == ()
        records = work.campaign.records()
        assert sorted({r.run.number for r in records}) == [1, 2]
        assert sum(r.status != "ok" for r in records) <= 1
        cut_off = [r.run.number for r in records if r.status == "interrupted"]
        assert len(records) == 2 + len(cut_off), "a run that is cut off is made again"
        if how == "refused":
            assert not cut_off
        else:
            assert [r.status for r in records if r.status != "interrupted"] == ["ok", "ok"]


def test_a_failed_run_says_why_and_does_not_stop_the_campaign(tmp_path, two):
    work = Work(tmp_path / "results", two)
    two["sender"].netperf = "THROUGHPUT=0.00\n"
    end = work.run()
    assert (end.done, end.failed) == (4, 4)
    assert all(r.reason.startswith("netperf printed no") for r in work.campaign.records())
    assert work.as_found()


def test_a_readers_bug_costs_the_figures_of_one_run(work, monkeypatch):
    def broken(specification, entries):
        monkeypatch.undo()
        raise IndexError("list index out of range")

    monkeypatch.setattr(interpret, "read", broken)
    work.run()
    first, *others = work.campaign.records()
    assert first.status == "failed"
    assert "could not be read (IndexError" in first.reason
    assert {record.status for record in others} == {"ok"}
    assert work.as_found()
    assert work.campaign.archive.raw.read(first.run.number, 1), "what was printed is kept"


def test_an_interruption_ends_the_run_puts_back_and_resumes(work):
    class Interrupts:
        def __init__(self, host, at):
            self.name, self._host, self._left = host.name, host, at

        def run(self, command):
            if command.argv[:2] == ("netperf", "-P"):
                self._left -= 1
                if self._left == 0:
                    raise Interrupted("interrupted by SIGINT")
            return self._host.run(command)

        def __getattr__(self, name):
            return getattr(self._host, name)

    hosts = work.hosts()
    with pytest.raises(Interrupted):
        work.run({**hosts, "sender": Interrupts(hosts["sender"], 2)})
    assert work.as_found()
    assert [r.status for r in work.campaign.records()] == ["ok", "interrupted"]
    work.run()
    records = work.campaign.records()
    assert [(r.run.number, r.attempt, r.status) for r in records] == [
        (1, 1, "ok"), (2, 1, "interrupted"), (2, 2, "ok"), (3, 1, "ok"), (4, 1, "ok")]  # fmt: skip


def test_notes_on_the_hosts_put_them_back_without_the_controllers_files(work):
    class Killed(BaseException):
        pass

    class Dies:
        def __init__(self, host):
            self.name, self._host = host.name, host

        def run(self, command):
            if command.argv[:2] == ("netperf", "-P"):
                raise Killed
            return self._host.run(command)

        def __getattr__(self, name):
            return getattr(self._host, name)

    archive = work.campaign.archive
    archive.lock()
    hosts = {role: Dies(host) for role, host in work.hosts().items()}
    doomed = work.session(hosts)
    doomed.guards.claim()
    with pytest.raises(Killed):
        schedule.in_order(doomed, Stop(), lambda _: None)
    archive.close()
    assert not work.as_found()
    # as SimulatedMachine has no /sys, its notes carry the address that `cat` would print
    for machine in work.two.values():
        assert machine.notes
        machine.held = False  # as the connection of a process that is gone holds no claim
    hosts = {role: WithAddress(machine) for role, machine in work.two.items()}
    work.two["sender"].notes["broken.json"] = "\n"
    with pytest.raises(RestoreError, match="sender: a note in its netlimits folder is damaged"):
        restore_from_notes(hosts)
    assert work.as_found(), "a damaged note keeps no other from being restored"
    assert [*work.two["sender"].notes] == ["broken.json"]
    work.two["sender"].notes.clear()
    work.two["sender"].held = False
    restore_from_notes(hosts)
    assert not any(m.notes for m in work.two.values())


class WithAddress:
    def __init__(self, machine):
        self.name, self._machine, self._host = machine.role, machine, machine.host()
        self.patience = self._host.patience

    def run(self, command):
        if command.argv[0] == "cat" and command.argv[1].endswith("/address"):
            from netlimits.hosts.scripted import answer

            return answer(command, f"02:00:00:00:00:{len(self.name):02x}\n", host=self.name)
        return self._host.run(command)

    def run_in_turn(self, commands):
        return [self.run(command) for command in commands]

    def begin_in_turn(self, commands):
        return lambda: self.run_in_turn(commands)

    def serve(self, command):
        return self._host.serve(command)


def test_an_offload_that_cannot_be_switched_is_found_before_anything_runs(tmp_path, two):
    text = TEXT.replace('tso: "${offloads}"', 'lro: "${offloads}"')
    with pytest.raises(CheckError, match=r"small.yaml:5: lro is \[fixed\] off.*if_fixed: accept"):
        Work(tmp_path / "results", two, text)
    assert all(m.state["features"] == m.original for m in two.values())


def test_a_full_disk_under_the_journal_still_puts_every_host_back(work):
    archive = work.campaign.archive
    append = archive.append

    def full(event, **fields):
        if event in ("end", "put_back"):
            raise ArchiveError("journal.jsonl: No space left on device")
        append(event, **fields)

    archive.append = full
    with pytest.raises(ArchiveError, match="No space left"):
        work.run()
    assert work.as_found()
    archive.append = append
    work.restore()
    assert unfinished(archive) == ()


def test_a_connection_that_cannot_be_made_again_stops_the_campaign(work):
    hosts = work.hosts()
    count, tries = [0], []

    def gone(machine):
        tries.append(machine.role)
        raise ConnectError("no route to host", host=machine.role)

    failing = {r: Fails(h, count, 30, "lost before") for r, h in hosts.items()}
    archive = work.campaign.archive
    archive.lock()
    session = work.session(failing, gone)
    with pytest.raises(NetlimitsError), session.open():
        schedule.in_order(session, Stop(), lambda _: None)
    archive.close()
    assert len(tries) == 1, "what needs the host again and again does not wait for it each time"
    assert len(work.campaign.records()) < 4
    work.restore()
    assert work.as_found()


def test_raw_output_that_was_changed_is_not_read_again(work):
    work.run()
    archive = work.campaign.archive
    record = work.campaign.records()[0]
    path = archive.raw.path(record.run.number, record.attempt)
    assert record.raw == hashlib.sha256(path.read_bytes()).hexdigest()
    archive.lock()
    try:
        assert reparse(work.campaign) == (4, 0)
        path.write_bytes(path.read_bytes().replace(b"THROUGHPUT=800", b"THROUGHPUT=900"))
        with pytest.raises(ArchiveError, match="not what was written when the run ended"):
            reparse(work.campaign)
    finally:
        archive.close()


def test_a_cap_is_held_against_what_the_tool_says(work):
    work.run()
    record = work.campaign.records()[0]
    entries = work.campaign.archive.raw.read(record.run.number, 1)
    setup = work.plan.setup(record.run.values)
    machines = work.survey.machines
    specification = specified(setup, work.plan.experiment.ends, machines, work.survey.facts)
    assert interpret.read(specification, entries).figures["throughput_mbps"] == 800
    for caps, speeds in (
        ({"sender": Cap("htb of 500 Mbit/s", 500e6, 14)}, {}),
        ({}, {"receiver": 5e8}),
    ):
        slower = replace(specification, caps=caps, speeds=speeds)
        with pytest.raises(ToolFailure, match=r"800 Mbit/s is more than the 4[0-9.]+ that"):
            interpret.read(slower, entries)


def test_a_campaign_is_rolled_into_parts_as_it_goes(tmp_path, two, monkeypatch):
    """Interrupted and gone on with, it tells what its journal tells, and keeps nothing of it."""
    monkeypatch.setattr(parts, "ATTEMPTS", 4)
    work = Work(tmp_path / "results", two, TEXT.replace("replicates: 2", "replicates: 12"))
    written = []

    def stopping(progress):
        written.append(len(work.campaign.archive.parts()))
        if progress.done == 11:
            raise Interrupted("enough")

    with pytest.raises(Interrupted):
        work.run(on_progress=stopping)
    assert written[:11] == sorted(written[:11])
    assert written[-1] >= 2, "a part as soon as it is due"
    opened = reader.open(work.campaign.path)
    before = records.outcomes(opened.archive)
    assert (before.counts, before.attempts) == (Counter(ok=11), {})
    seen = []
    end = work.run(on_progress=seen.append)
    assert (seen[0].done, end.done, end.failed, end.total) == (11, 24, 0, 24)
    assert len(opened.archive.parts()) >= 5
    frame = opened.frame()
    assert list(frame["run"]) == [*range(1, 25)]
    shutil.rmtree(opened.path / "parts")
    pd.testing.assert_frame_equal(opened.frame(), frame)


def test_what_is_kept_of_configurations_is_bounded(tmp_path, two, monkeypatch):
    monkeypatch.setattr(specifications, "KEPT", 1)
    work = Work(tmp_path / "results", two)
    assert work.run().done == 4
