"""The claims and guards of one campaign's hosts: made, held, renewed and released."""

from __future__ import annotations

import copy
import time
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from threading import Lock
from typing import TypeVar

from netlimits.errors import (
    CommandFailed,
    ConnectionLost,
    HostError,
    HostInUse,
    InputError,
    RestoreError,
)
from netlimits.hosts.base import Host, Server, must
from netlimits.hosts.threads import at_once
from netlimits.model import Command, Completed
from netlimits.restore import notes
from netlimits.restore.guard import commands
from netlimits.restore.guard.claim import Holder, parse, printable
from netlimits.restore.guard.commands import Seen, look, seen
from netlimits.restore.guard.script import render
from netlimits.restore.guard.terms import (
    RUN,
    Terms,
    must_be_dead,
    refusal,
)
from netlimits.restore.notes import NoteFile
from netlimits.restore.originals import Original
from netlimits.restore.undo_log import Changed
from netlimits.units import durations

PATIENCE = 300.0
"""Seconds without word from the controller, beyond a run's own, after which hosts are put back."""

NOTHING: Mapping[str, Completed] = {}

PUT_BACK = 60.0
"""Seconds that a claim holds, at least, while the controller puts one setting back.

As long as it is held no guard fires; a controller that dies holds it no more.
"""

AT_ONCE = 40
"""Hosts that are claimed at the same time."""

PARTING = 5.0
"""Seconds that a connection may take to be seen as gone on its host."""

T = TypeVar("T")
_TRIES = 3


@dataclass(slots=True)
class _Place:
    """One login on one host, which one or several roles are; `claim` is the claim's path.

    One of them `leads`: its `hold` keeps the claim alive. Who arms the guard has its `turn`.
    """

    roles: list[str]
    claim: str
    leads: bool
    originals: dict[tuple[str, str, str], Original] = field(default_factory=dict)
    hold: Server | None = None
    turn: Lock = field(default_factory=Lock)


class Guards:
    """The claims and guards of one campaign's hosts.

    `host` gives the host of a role (reconnecting if need be). `patience` is in seconds, None for
    no guards of our own; claims are made all the same, and last PATIENCE beyond a run then.
    """

    def __init__(
        self,
        host: Callable[[str], Host],
        roles: Iterable[str],
        holder: Holder,
        patience: float | None = PATIENCE,
    ) -> None:
        self._host = host
        self._roles = tuple(roles)
        self._holder = holder
        self._patience = patience
        self._places: dict[tuple[str, str], _Place] = {}
        self._of: dict[str, _Place] = {}
        self._seconds = patience or PATIENCE
        self._turns: defaultdict[str, Lock] = defaultdict(Lock)

    def of(self, roles: Collection[str]) -> Guards:
        """The claims and guards of some roles' hosts alone: to renew, and to ask what fired.

        What is claimed, armed or released is so of all of them.
        """
        part = copy.copy(self)
        part._places = {k: p for k, p in self._places.items() if not {*p.roles}.isdisjoint(roles)}
        return part

    def claim(self, terms: Terms = RUN) -> None:
        """Claim every host, or none.

        The first by itself: of two who want the same hosts one gets all. Raises HostError that
        says who is at work there since when, or who left the host changed.
        """
        try:
            for role in self._roles[:1]:
                self._claim(role, terms)
            at_once(lambda role: self._claim(role, terms), self._roles[1:], AT_ONCE)
        except BaseException:
            self._places, claimed = {}, self._places
            self._of = {}
            for place in reversed(claimed.values()):
                self._release(place)
            raise

    def renew(self, seconds: float) -> tuple[str, ...]:
        """Hold on for another `seconds` and the patience; call it as each run starts.

        Returns the roles whose guard had put settings back since the last time: what is set has to
        be read again. Guards that are no longer there are started again. Raises HostError when the
        host is no longer ours, and when it cannot store the time.
        """
        self._seconds = seconds + (self._patience or PATIENCE)
        guard = None if self._patience is None else self._seconds
        places = [*self._places.values()]
        return self._roles_where(lambda place: self._renew(place, self._seconds, guard), places)

    def fired(self, answers: Mapping[str, Completed] = NOTHING) -> tuple[str, ...]:
        """The roles whose guard put settings back since `renew`; what was measured is invalid.

        `answers` are those to `questions`, by role; hosts without a whole one are asked. Raises
        HostError when the host is no longer ours, and what was measured as little worth.
        """

        def fired(place: _Place) -> bool:
            answer = answers.get(place.roles[0])
            if answer is None or answer.status or answer.timed_out:
                answer = self._must(place, commands.fired(self._holder, place.claim))
            return self._refuse_lost(place, answer)

        places = [*self._places.values()]
        if all(place.roles[0] in answers for place in places):
            return _roles(places, map(fired, places))
        return self._roles_where(fired, places)

    def questions(self) -> dict[str, Command]:
        """What `fired` asks, by role, for whoever has the hosts do something else just then."""
        return {
            place.roles[0]: commands.fired(self._holder, place.claim)
            for place in self._places.values()
        }

    def _roles_where(
        self, true: Callable[[_Place], bool], places: Sequence[_Place]
    ) -> tuple[str, ...]:
        """The roles of the hosts of which it is true; all hosts are asked at the same time."""
        return _roles(places, at_once(true, places))

    def run(self, role: str, command: Command) -> Completed:
        """Run a command that changes the host, if the host is still ours when it starts.

        Raises HostError when it is not, and the command was not run.
        """
        place = self._place(role)
        completed = self._host(role).run(commands.within(self._holder, place.claim, command))
        self._refuse_lost(place, completed)
        return completed

    def change(self, role: str, changes: Sequence[Command], read: Command) -> Changed:
        """Run commands that change the host, as `run`, and one that reads it right after.

        The last one and the reading share a round trip: more would add up more deadlines.
        """
        *first, last = changes
        answers = [self.run(role, command) for command in first]
        place = self._place(role)
        last = commands.within(self._holder, place.claim, last)
        answer, reading = self._host(role).run_in_turn([last, read])
        self._refuse_lost(place, answer)
        return Changed((*answers, answer), reading)

    def arm(self, original: Original, note: NoteFile | None = None) -> None:
        """Make sure that a guard on the host would put this setting back as well.

        A `note` is left there first. Call it before the change. Raises HostError when no guard can
        be started there.
        """
        if self._patience is None:
            if note:
                must(self.run(original.role, notes.write(note)))
            return
        place = self._place(original.role)
        with place.turn:
            everything = {**place.originals, original.place: original}
            script = render(self._holder, [*everything.values()], round(self._patience))
            arm = commands.arm(self._holder, place.claim, self._seconds, script, note)
            self._refuse_lost(place, self._must(place, arm))
            place.originals = everything

    def putting_back(self, original: Original) -> None:
        """Prolong claim and guard while a setting is put back; the guard stays until that is done.

        A host that cannot store the new time, its disk being full, is put back all the same: if its
        guard fires meanwhile, it puts back the same. Raises HostError when the host is not ours.
        """
        if original.role not in self._of:
            return
        place, seconds = self._of[original.role], max(PUT_BACK, self._patience or 0)
        try:
            self._renew(place, seconds, self._patience)
        except (ConnectionLost, NotOurs):
            raise
        except HostError:
            return

    def release(self, left: Collection[str] = ()) -> None:
        """End the guards and the claims, but for the hosts of the roles where something is left.

        Raises RestoreError when a guard cannot be ended: it would put back again later.
        """
        problems = []
        for key, place in reversed([*self._places.items()]):
            if set(place.roles) & set(left):
                continue
            try:
                self._release(place)
            except HostError as error:
                problems.append(str(error))
                continue
            del self._places[key]
            self._of = {role: p for role, p in self._of.items() if p is not place}
        if problems:
            raise RestoreError(
                "a guard could not be ended:\n  "
                + "\n  ".join(problems)
                + "\nits host is as found; `netlimits restore` again clears it away"
            )

    def forget(self, role: str) -> None:
        """Leave the host of a role out: it was booted, which took claim and guard away."""
        gone = self._of.get(role)
        self._places = {key: place for key, place in self._places.items() if place is not gone}
        self._of = {kept: place for kept, place in self._of.items() if place is not gone}

    def _place(self, role: str) -> _Place:
        """The place of a role, claimed and held."""
        if role not in self._of:  # it was booted, which took the claim away
            self._claim(role, RUN)
        place = self._of[role]
        self._held(place)
        return place

    def _claim(self, role: str, terms: Terms) -> None:
        if role in self._of:
            return
        problem = ""
        for _ in range(_TRIES):
            now = self._look(role, terms)
            login = (now.key, now.uid)
            with self._turns[now.key]:  # two roles may be one host
                problem = self._claimed(role, login, now, terms)
                if problem:
                    continue  # somebody else was at it at the same time, or a lost connection
                self._of[role] = place = self._places[login]
                _twice(partial(self._held, place))
            return
        raise HostError(
            f"it cannot be claimed for this campaign: {problem}; see "
            "`netlimits status --hosts FILE`",
            host=role,
        )

    def _claimed(self, role: str, login: tuple[str, str], now: Seen, terms: Terms) -> str:
        """Claim the host of a role for it; why that failed, or ""."""
        places = [*self._places.items()]
        same_host = next((place for (key, _), place in places if key == now.key), None)
        if login in self._places:
            self._places[login].roles.append(role)
        elif same_host:  # another login on it
            self._places[login] = _Place([role], same_host.claim, leads=False)
        else:
            if why := refusal(now, self._holder, terms):
                raise HostInUse(why, host=role)
            taken = self._take(role, now, terms)
            if isinstance(taken, str):
                return taken
            place = _Place([role], taken.stdout.strip(), leads=True)
            self._places[login] = place
        return ""

    def _look(self, role: str, terms: Terms) -> Seen:
        """The host as it is now; waits a little for a connection that is just ending."""
        until = time.monotonic() + PARTING
        while True:
            now = snapshot(self._host, role)
            patient = terms.dead and not terms.living and refusal(now, self._holder, terms)
            if not (patient and now.held) or time.monotonic() > until:
                return now
            time.sleep(0.2)

    def _take(self, role: str, now: Seen, terms: Terms) -> Completed | str:
        """The command that claimed the host, completed; or why it could not be claimed."""
        old = next(((path, text) for path, text, _ in now.claimed()), None)
        dead = must_be_dead(now, self._holder, terms)
        try:
            taken = self._host(role).run(commands.take(self._holder, self._seconds, old, dead))
        except ConnectionLost as error:
            return str(error)
        return _printed(taken) if taken.status else taken

    def _held(self, place: _Place) -> None:
        """Make sure that a process of our connection holds the claim. Raises HostError."""
        if not self._let_go(place):
            return
        host = self._host(place.roles[0])
        place.hold = host.serve(commands.hold(self._holder, place.claim))
        try:
            answer = must(host.run(commands.await_hold(self._holder, place.claim)))
        except CommandFailed:
            printed = _printed(place.hold.stop())
            raise HostError(f"its claim cannot be held: {printed}", host=host.name) from None
        self._refuse_lost(place, answer)

    def _renew(self, place: _Place, seconds: float, guard: float | None) -> bool:
        """Whether the guard had fired; it gets its time too, unless that is None."""
        if place.leads:
            command = commands.renew(self._holder, place.claim, seconds, guard)
        elif guard is not None:
            command = commands.postpone(self._holder, place.claim, guard)
        else:
            return False
        return self._refuse_lost(place, self._must(place, command))

    def _let_go(self, place: _Place) -> bool:
        """Whether the process is gone that is to hold the claim."""
        return place.leads and not (place.hold and place.hold.alive())

    def _refuse_lost(self, place: _Place, answer: Completed) -> bool:
        """Whether the guard had fired. Raises NotOurs when the claim is not ours any more."""
        fired, other = commands.answered(answer)
        if other is None:
            return fired
        claim = parse(other, 0)
        who = f"{claim} is at work there" if claim else "somebody put it back"
        raise NotOurs(
            f"it is no longer claimed by this campaign: {who}; this campaign stops",
            host=place.roles[0],
        )

    def _release(self, place: _Place) -> None:
        self._must(place, commands.release(self._holder, place.claim, place.leads), hold=False)
        if place.hold:
            place.hold.stop()

    def _must(self, place: _Place, command: Command, hold: bool = True) -> Completed:
        """The result of a command that has to succeed, tried once more over a new connection."""

        def act() -> Completed:
            if hold:
                self._held(place)
            return must(self._host(place.roles[0]).run(command))

        return _twice(act)


def _roles(places: Iterable[_Place], chosen: Iterable[bool]) -> tuple[str, ...]:
    return tuple(
        role for place, yes in zip(places, chosen, strict=True) if yes for role in place.roles
    )


class NotOurs(HostError):
    """Somebody else has claimed the host: nothing of ours is written there any more."""


def snapshot(host: Callable[[str], Host], role: str) -> Seen:
    """Who claims the host of a role and what guards it. Raises HostError."""
    try:
        return seen(host(role).run(look()))
    except HostError:
        return seen(host(role).run(look()))


def refuse_claimed(hosts: Mapping[str, Host]) -> None:
    """Raise HostError where another campaign is at work; called before a campaign is created."""
    nobody = Holder("", "", "", "", 0, 0)

    def refuse(role: str) -> None:
        if why := refusal(snapshot(hosts.__getitem__, role), nobody):
            raise HostError(why, host=role)

    at_once(refuse, hosts, AT_ONCE)


def patience(text: str) -> float | None:
    """Seconds of `5m`, `90s`, `1h`; None for `off`. Raises InputError."""
    if text == "off":
        return None
    try:
        return durations.seconds(text)
    except ValueError as error:
        raise InputError(f"--guard {text}: {error}, or off") from None


def _printed(completed: Completed) -> str:
    text = printable(completed.complaint)
    return text or "another campaign is at it too"


def _twice(act: Callable[[], T]) -> T:
    """The result of `act`, at the second attempt if need be; errors name no script."""
    try:
        return act()
    except NotOurs:
        raise
    except HostError:
        pass
    try:
        return act()
    except CommandFailed as error:
        name = error.completed.command.argv[3]
        raise HostError(
            f"its guard's `{name}` failed: {_printed(error.completed)}", host=error.host
        ) from None
