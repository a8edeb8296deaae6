"""A campaign's claims on its hosts. If several logins share a host, the first has the claim."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from threading import Lock
from typing import TypeVar

from netlimits.errors import CommandFailed, ConnectionLost, HostError, HostInUse
from netlimits.hosts.base import Host, Server, must
from netlimits.hosts.threads import concurrently
from netlimits.model import Command, Completed
from netlimits.restore.guard import commands
from netlimits.restore.guard.claim import Holder, parse, printable
from netlimits.restore.guard.commands import HostStatus, look, parsed
from netlimits.restore.guard.terms import RUN, Terms, must_be_dead, refusal
from netlimits.restore.originals import Original

PARTING = 5.0
"""Maximum seconds until a host notices that a connection was opened or closed."""

T = TypeVar("T")
_TRIES = 3


class NotOurs(HostError):
    """The claim is no longer ours, so nothing may be changed on the host."""


@dataclass(slots=True)
class ClaimedLogin:
    """A login on a host, which one or several roles use.

    Attributes:
        roles: The roles that use the login.
        claim: The path of the claim.
        leads: True if this login created the claim; False if another login on the host did.
        originals: The original states that the guard would restore.
        hold: The process that holds the claim, if `leads`.
        turn: The lock for arming the guard.
        seconds: Seconds that claim and guard last after a renewal.
        until: The time when claim and guard end, on this machine's clock; 0 if unknown.
        fired: True if `arm` found that the guard had fired, and no run has noticed it yet.
    """

    roles: list[str]
    claim: str
    leads: bool
    originals: dict[tuple[str, str, str], Original] = field(default_factory=dict)
    hold: Server | None = None
    turn: Lock = field(default_factory=Lock)
    seconds: float = 0.0
    until: float = 0.0
    fired: bool = False

    def kept(self) -> bool:
        return not self.leads or bool(self.hold and self.hold.alive())


class Claims:
    """The claims of one campaign on the hosts of its roles; new claims last for `seconds`.

    `_lock` protects the tables of claimed logins, and of the locks for claiming a host. Only the
    thread of a host's present run may use the ClaimedLogin of the host.
    """

    def __init__(
        self, host: Callable[[str], Host], roles: Iterable[str], holder: Holder, seconds: float
    ) -> None:
        self.holder = holder
        self._seconds = seconds
        self._host = host
        self._roles = tuple(roles)
        self._places: dict[tuple[str, str], ClaimedLogin] = {}
        self._by_role: dict[str, ClaimedLogin] = {}
        self._turns: dict[str, Lock] = {}
        self._lock = Lock()

    @property
    def places(self) -> list[ClaimedLogin]:
        with self._lock:
            return [*self._places.values()]

    def __contains__(self, role: str) -> bool:
        return role in self._by_role

    def at(self, role: str) -> ClaimedLogin:
        return self._by_role[role]

    def claim(self, terms: Terms = RUN) -> None:
        """Claim every host; if a host cannot be claimed, release all hosts and raise HostError.

        The first host is claimed before all others. So if two campaigns with the same first host
        start at the same time, one of them gets all hosts.
        """
        try:
            for role in self._roles[:1]:
                self._claim(role, terms)
            concurrently(lambda role: self._claim(role, terms), self._roles[1:])
        except BaseException:
            claimed = self.places
            with self._lock:
                self._places, self._by_role = {}, {}
            for place in reversed(claimed):
                self.release(place)
            raise

    def release(self, place: ClaimedLogin) -> None:
        self.must(place, commands.release(self.holder, place.claim, place.leads), hold=False)
        if place.hold:
            place.hold.stop()
        self._leave_out(place)

    def forget(self, role: str) -> None:
        """Forget the login of a role whose host has rebooted, and so lost its claim and guard."""
        if role in self._by_role:
            self._leave_out(self._by_role[role])

    def _leave_out(self, gone: ClaimedLogin) -> None:
        with self._lock:
            self._places = {key: place for key, place in self._places.items() if place is not gone}
            self._by_role = {
                kept: place for kept, place in self._by_role.items() if place is not gone
            }

    def place(self, role: str) -> ClaimedLogin:
        """Return the login of a role; claim its host and hold the claim first if necessary.

        Raises HostError.
        """
        if role not in self._by_role:  # a reboot removed the claim
            self._claim(role, RUN)
        place = self._by_role[role]
        self._held(place)
        return place

    def refuse_lost(self, place: ClaimedLogin, answer: Completed) -> bool:
        """Return True if the guard has fired. Raises NotOurs if the claim is no longer ours."""
        fired, other = commands.answered(answer)
        if other is None:
            return fired
        place.until = 0.0  # so that no further run begins
        claim = parse(other, 0)
        who = f"{claim} is using it" if claim else "somebody restored it"
        raise NotOurs(
            f"it is no longer claimed by this campaign: {who}; this campaign stops",
            host=place.roles[0],
        )

    def must(
        self, place: ClaimedLogin, command: Command, role: str = "", hold: bool = True
    ) -> Completed:
        """Run a command that must succeed; retry it once, with a new connection if necessary."""

        def act() -> Completed:
            if hold:
                self._held(place)
            return must(self._host(role or place.roles[0]).run(command))

        return _twice(act)

    def _claim(self, role: str, terms: Terms) -> None:
        if role in self._by_role:
            return
        problem = ""
        for _ in range(_TRIES):
            now = settled(self._host, role, self.holder, terms)
            login = (now.key, now.uid)
            with self._lock:
                turn = self._turns.setdefault(now.key, Lock())
            with turn:  # two roles may use the same host
                problem = self._claimed(role, login, now, terms)
                if problem:
                    continue  # another campaign was faster, or the connection broke
                with self._lock:
                    self._by_role[role] = place = self._places[login]
                _twice(partial(self._held, place))
            return
        raise HostError(
            f"it cannot be claimed for this campaign: {problem}; "
            "`netlimits status --hosts FILE` shows who uses it",
            host=role,
        )

    def _claimed(self, role: str, login: tuple[str, str], now: HostStatus, terms: Terms) -> str:
        """Claim the host of a role; return "", or the problem if a retry may help.

        Raises HostInUse.
        """
        with self._lock:
            places = {**self._places}
        same_host = next((place for (key, _), place in places.items() if key == now.key), None)
        if login in places:
            places[login].roles.append(role)
        elif same_host:  # another login of this campaign has claimed the host
            self._add(login, ClaimedLogin([role], same_host.claim, leads=False))
        else:
            if why := refusal(now, self.holder, terms):
                raise HostInUse(why, host=role)
            taken = self._take(role, now, terms)
            if isinstance(taken, str):
                return taken
            self._add(login, ClaimedLogin([role], taken.stdout.strip(), leads=True))
        return ""

    def _add(self, login: tuple[str, str], place: ClaimedLogin) -> None:
        place.seconds = self._seconds
        with self._lock:
            self._places[login] = place

    def _take(self, role: str, now: HostStatus, terms: Terms) -> Completed | str:
        """Run the command that claims a host; return its result, or the problem if it failed."""
        old = next(((path, text) for path, text, _ in now.claimed()), None)
        dead = must_be_dead(now, self.holder, terms)
        try:
            taken = self._host(role).run(commands.take(self.holder, self._seconds, old, dead))
        except ConnectionLost as error:
            return str(error)
        return _printed(taken) if taken.status else taken

    def _held(self, place: ClaimedLogin) -> None:
        """Make sure that a process of our connection holds the claim. Raises HostError."""
        if place.kept():
            return
        host = self._host(place.roles[0])
        place.hold = host.serve(commands.hold(self.holder, place.claim))
        try:
            answer = must(host.run(commands.await_hold(self.holder, place.claim)))
        except CommandFailed:
            printed = _printed(place.hold.stop())
            raise HostError(f"its claim cannot be held: {printed}", host=host.name) from None
        self.refuse_lost(place, answer)


def snapshot(host: Callable[[str], Host], role: str) -> HostStatus:
    return _twice(lambda: parsed(host(role).run(look())))


def settled(host: Callable[[str], Host], role: str, holder: Holder, terms: Terms) -> HostStatus:
    """Return the status of a host; if it forbids a claim, wait up to PARTING for a change.

    A connection may be about to close, or a new claim may not be held yet.
    """
    until = time.monotonic() + PARTING
    while True:
        now = snapshot(host, role)
        refused = not terms.living and refusal(now, holder, terms)
        # a new claim is locked only a moment after its file was created
        young = any(c and not c.stale and not c.held for *_, c in now.claimed())
        passing = now.held if terms.dead else young
        if not (refused and passing) or time.monotonic() > until:
            return now
        time.sleep(0.2)


def refuse_claimed(hosts: Mapping[str, Host]) -> None:
    """Raise HostError if a campaign is using a host; called before a new campaign is created."""
    nobody = Holder("", "", "", "", 0, 0)

    def refuse(role: str) -> None:
        if why := refusal(settled(hosts.__getitem__, role, nobody, RUN), nobody):
            raise HostError(why, host=role)

    concurrently(refuse, hosts)


def _printed(completed: Completed) -> str:
    text = printable(completed.complaint)
    return text or "another campaign is claiming it too"


def _twice(act: Callable[[], T]) -> T:
    """Return `act()`, retried once after a HostError other than NotOurs.

    If a command fails twice, the error has the name of the command's script instead of its text.
    """
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
