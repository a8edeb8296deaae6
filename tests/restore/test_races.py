"""Two at one host: every interleaving ends with the host as found, or a note of what is left.

Campaign and put-back run as threads of which one moves at a time: so many commands of the first,
so many of the second, and so on, over simulated machines that know claims as real ones do
(`tests/faults` has the same on real ones). Every pair of moments is tried.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from campaign.test_schedule import ONCE, WithAddress, Work
from simulated import SimulatedMachine

from netlimits.archive.records import unfinished
from netlimits.archive.store import Archive
from netlimits.errors import NetlimitsError
from netlimits.hosts.base import Host
from netlimits.restore.restoration import restore_from_journal, restore_from_notes

pytestmark = pytest.mark.long


class Killed(BaseException):
    """What a thread dies of that is to be killed."""


class Turns:
    """One party, whose commands wait for their turn."""

    def __init__(self, act: Callable[[Turns], object]) -> None:
        self.error: BaseException | None = None
        self.commands = 0
        self._killed = False
        self.lock = threading.Lock()  # several hosts are asked at the same time
        self._may, self._stopped = threading.Semaphore(0), threading.Semaphore(0)
        self._thread = threading.Thread(target=self._run, args=(act,), daemon=True)
        self._thread.start()
        self._stopped.acquire()

    def _run(self, act: Callable[[Turns], object]) -> None:
        try:
            self.wait()
            act(self)
        except BaseException as error:  # looked at by who started it
            self.error = error
        finally:
            self._over = True
            self._stopped.release()

    _over = False

    def wait(self) -> None:
        """Called before each command: hand over, go on when told."""
        if not self._killed:
            self._stopped.release()
            self._may.acquire()
        if self._killed:
            raise Killed
        self.commands += 1

    def go(self, steps: int | None = None) -> None:
        """Let it run so many commands, or to its end."""
        while not self._over and (steps is None or steps > 0):
            self._may.release()
            self._stopped.acquire()
            steps = None if steps is None else steps - 1

    def kill(self) -> None:
        """Let it run no more."""
        if not self._over:
            self._killed = True
            self._may.release()
            self._stopped.acquire()


class InTurn:
    """A host that waits for its party's turn before every command."""

    def __init__(self, host: Host, turns: Turns) -> None:
        self.name, self._host, self._turns = host.name, host, turns
        self.patience = host.patience

    def run(self, command):
        with self._turns.lock:
            self._turns.wait()
            return self._host.run(command)

    def run_in_turn(self, commands):
        return [self.run(command) for command in commands]

    def begin_in_turn(self, commands):
        return lambda: self.run_in_turn(commands)

    def begins(self, commands):
        return True

    def serve(self, command):
        with self._turns.lock:
            self._turns.wait()
            return self._host.serve(command)

    def background(self, command):
        return self._host.background(command)

    def close(self):
        self._host.close()


ROLES = ("sender", "receiver")


class Scene:
    """A campaign on two machines, and others who are at them."""

    def __init__(self, folder: Path) -> None:
        self.two = {r: SimulatedMachine(r, f"192.0.2.{n}") for n, r in enumerate(ROLES, 1)}
        self.work = Work(folder, self.two, ONCE)
        self.by: dict[Turns, str] = {}

    def hosts(self, turns: Turns | None = None) -> Mapping[str, Host]:
        hosts = {role: WithAddress(machine) for role, machine in self.two.items()}
        return {r: InTurn(h, turns) for r, h in hosts.items()} if turns else hosts

    def campaign(self) -> Turns:
        def act(turns: Turns) -> None:
            hosts = {r: InTurn(m.host(), turns) for r, m in self.two.items()}
            self.work.run(hosts)

        return Turns(act)

    def from_notes(self, force: bool) -> Turns:
        return Turns(lambda turns: restore_from_notes(self.hosts(turns), force))

    def parted(self) -> None:
        """Who held the claims is dead, and so is his connection."""
        for machine in self.two.values():
            machine.held = False

    def holds(self) -> None:
        """The promise: as found, or a note that says what is left; and then all as found."""
        for machine in self.two.values():
            assert machine.state["features"] == machine.original or machine.notes
        self.parted()
        restore_from_notes(self.hosts())
        assert self.work.as_found()
        assert not any(m.notes or m.claim or m.guard for m in self.two.values())


def commands(scene: Scene, party: Turns) -> int:
    party.go()
    assert party.error is None
    return party.commands


@pytest.fixture(autouse=True)
def _at_once(monkeypatch) -> None:
    """Nobody waits for a connection to be seen as gone: here it is at once."""
    monkeypatch.setattr("netlimits.restore.guard.claims.PARTING", -1.0)


@pytest.fixture(scope="module")
def long(tmp_path_factory) -> tuple[int, int]:
    """How many commands a campaign has, and a forced put-back of all that it changed."""
    scene = Scene(tmp_path_factory.mktemp("long") / "a")
    campaign = commands(scene, scene.campaign())
    scene = Scene(tmp_path_factory.mktemp("long") / "b")
    party = scene.campaign()
    party.go(campaign // 2)
    forced = commands(scene, scene.from_notes(force=True))
    party.kill()
    assert campaign > 60
    assert forced > 20
    return campaign, forced


def test_forced_at_every_moment_of_a_living_campaign_and_paused_at_every_moment(long, tmp_path):
    """The campaign to its i-th command, the put-back to its j-th, the campaign on, both out."""
    campaign, forced = long
    pairs = [(i, forced + 1) for i in range(campaign + 1)]
    pairs += [(i, j) for i in range(0, campaign, 9) for j in range(i % 5, forced, 5)]
    taken = 0
    for i, j in pairs:
        scene = Scene(tmp_path / f"{i}-{j}")
        first = scene.campaign()
        first.go(i)
        second = scene.from_notes(force=True)
        second.go(j)
        first.go()
        second.go()
        assert not isinstance(second.error, AssertionError), second.error
        if first.error:
            taken += 1
            assert isinstance(first.error, NetlimitsError), first.error
            complaint = str(first.error)
            assert "no longer claimed" in complaint or "is using it" in complaint
        scene.holds()
    assert taken > campaign


def test_refused_at_every_moment_of_a_living_campaign(long, tmp_path):
    campaign, _ = long
    for i in range(8, campaign - 8, 4):
        scene = Scene(tmp_path / f"{i}")
        first = scene.campaign()
        first.go(i)
        second = scene.from_notes(force=False)
        second.go()
        assert "is using it (its connection is up)" in str(second.error), i
        first.go()
        assert first.error is None
        assert scene.work.as_found()
        scene.holds()


def test_killed_at_every_moment_and_put_back_by_two_at_once(long, tmp_path):
    campaign, forced = long
    refused = 0
    for i in range(0, campaign + 1, 5):
        scene = Scene(tmp_path / f"{i}")
        first = scene.campaign()
        first.go(i)
        first.kill()
        scene.parted()
        a, b = scene.from_notes(force=False), scene.from_notes(force=False)
        a.go(i * 7 % forced)
        b.go(i * 11 % forced)
        a.go()
        b.go()
        refused += bool(a.error) + bool(b.error)
        assert not (a.error and b.error), (a.error, b.error)
        scene.holds()
    assert refused


def test_a_put_back_that_is_killed_at_every_moment_leaves_its_note(long, tmp_path):
    campaign, forced = long
    for j in range(forced + 1):
        scene = Scene(tmp_path / f"{j}")
        first = scene.campaign()
        first.go(campaign // 2)
        second = scene.from_notes(force=True)
        second.go(j)
        second.kill()
        first.go()
        scene.holds()


def test_resume_and_a_second_campaign_during_a_put_back_are_refused(long, tmp_path):
    campaign, forced = long
    for j in range(4, forced - 2, 3):
        scene = Scene(tmp_path / f"{j}")
        first = scene.campaign()
        first.go(campaign // 2)
        first.kill()
        scene.parted()
        second = scene.from_notes(force=False)
        second.go(j)
        archive: Archive = scene.work.campaign.archive
        archive.lock()
        with pytest.raises(NetlimitsError, match=r"`netlimits restore` of .* is using it"):
            restore_from_journal(archive, scene.hosts())
        archive.close()
        with pytest.raises(NetlimitsError, match="is using it"):
            Work(tmp_path / f"{j}-other", scene.two, ONCE).run()
        second.go()
        assert second.error is None
        assert scene.work.as_found()
        archive.lock()
        restore_from_journal(archive, scene.hosts())
        archive.close()
        assert unfinished(archive) == ()
        scene.holds()
