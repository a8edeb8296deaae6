"""A dead man's switch on each host, and one campaign at a time there.

A campaign claims every host before its first run, so that a second one is refused. Before the
first change a guard is started on the host: a process that no connection carries and that puts
back what was found unless the controller is heard from in time. Both hold for a run's own time
and the patience asked for, are renewed as each run starts, and end when the put-back is
confirmed. The guard also mends what cuts off the controller itself, such as a wrong MTU.

Below this file: claim (who), script (the guard), commands (all that is sent to a host).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from netlimits.errors import CommandFailed, ConnectionLost, HostError, InputError, RestoreError
from netlimits.guard import commands
from netlimits.guard.claim import Claim, Holder, holder, parse, printable
from netlimits.guard.commands import Seen, look, seen
from netlimits.guard.script import render
from netlimits.hosts.base import Host, must
from netlimits.model import Command, Completed
from netlimits.settings.applied import Found

__all__ = ["PATIENCE", "Claim", "Guards", "Holder", "Seen", "clear", "hold", "holder", "look"]
__all__ += ["look_at", "patience", "refusal", "refuse_claimed", "seen"]

PATIENCE = 300.0
"""Seconds without word from the controller, beyond a run's own, after which hosts are put back."""

PUT_BACK = 60.0
"""Seconds that a guard waits, at least, while the controller puts one setting back."""

_UNITS = {"s": 1, "m": 60, "h": 3600}
_TRIES = 3


@dataclass(slots=True)
class _Place:
    """One login on one host, which one or several roles are; `claim` is the claim's path."""

    roles: list[str]
    claim: str
    leads: bool
    found: dict[tuple[str, str, str], Found] = field(default_factory=dict)


class Guards:
    """The claims and guards of one campaign's hosts.

    `host` gives the host of a role (reconnecting if need be). `patience` is in seconds, None for
    no guards; claims are made all the same, and last PATIENCE beyond a run then.
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

    def claim(self) -> None:
        """Claim every host, or none.

        A claim of this very campaign is taken over, and one whose time is over. Raises HostError
        that says who is at work there since when, or who left the host changed.
        """
        try:
            for role in self._roles:
                self._claim(role)
        except BaseException:
            self._places, claimed = {}, self._places
            self._of = {}
            for place in reversed(claimed.values()):
                self._release(place)
            raise

    def renew(self, seconds: float) -> tuple[str, ...]:
        """Hold on for another `seconds` and the patience; call it as each run starts.

        Returns the roles whose guard had put settings back since the last time: what is set has
        to be read again. Guards that are no longer there are started again. Raises HostError
        when the host is no longer ours.
        """
        self._seconds = seconds + (self._patience or PATIENCE)
        return self._roles_where(lambda place: self._renew(place, self._seconds))

    def fired(self) -> tuple[str, ...]:
        """The roles whose guard put settings back since `renew`; what was measured is invalid."""
        if self._patience is None:
            return ()
        return self._roles_where(
            lambda place: (
                bool(place.found) and "fired" in self._must(place, commands.fired()).stdout
            )
        )

    def _roles_where(self, true: Callable[[_Place], bool]) -> tuple[str, ...]:
        """The roles of the hosts of which it is true; all hosts are asked at the same time."""
        places = [*self._places.values()]
        if not places:
            return ()
        with ThreadPoolExecutor(len(places)) as pool:
            answers = [*pool.map(true, places)]
        return tuple(
            role for place, yes in zip(places, answers, strict=True) if yes for role in place.roles
        )

    def arm(self, found: Found) -> None:
        """See that a guard runs on the host which would put this back too.

        To be called before the change. Raises HostError when it cannot be had.
        """
        if self._patience is None:
            return
        place = self._of[found.role]
        everything = {**place.found, found.place: found}
        script = render(self._holder, [*everything.values()], round(self._patience))
        said = self._must(place, commands.arm(self._holder, place.claim, self._seconds, script))
        self._refuse_lost(place, said)
        place.found = everything

    def putting_back(self, found: Found) -> None:
        """Hold on while a setting is put back: the guard stays until that is confirmed.

        A host that cannot take that in, its disk being full, is put back all the same: should its
        guard fire meanwhile, it puts back the same. Raises HostError when the host is not ours.
        """
        if found.role not in self._of:
            return
        place, seconds = self._of[found.role], max(PUT_BACK, self._patience or 0)
        try:
            said = self._hold_on(place, seconds)
        except ConnectionLost:
            raise
        except HostError:
            return
        self._refuse_lost(place, said)

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
        self._of = {one: place for one, place in self._of.items() if place is not gone}

    def _claim(self, role: str) -> None:
        if role in self._of:
            return
        for _ in range(_TRIES):
            now = look_at(self._host, role)
            there = (now.key, now.uid)
            same_host = next((p for (key, _), p in self._places.items() if key == now.key), None)
            if there in self._places:
                self._places[there].roles.append(role)
            elif same_host:  # another login on it
                self._places[there] = _Place([role], same_host.claim, leads=False)
            else:
                if why := refusal(now, self._holder):
                    raise HostError(why, host=role)
                old = next(((path, text) for path, text, _ in now.claimed()), None)
                seconds = self._seconds
                taken = self._take(role, commands.take(self._holder, seconds, old))
                if isinstance(taken, str):
                    problem = taken
                    continue  # somebody else was at it at the same time, or a lost connection
                self._places[there] = _Place([role], taken.stdout.strip(), leads=True)
            self._of[role] = self._places[there]
            return
        raise HostError(
            f"it cannot be claimed for this campaign: {problem}; see "
            "`netlimits status --hosts FILE`",
            host=role,
        )

    def _take(self, role: str, command: Command) -> Completed | str:
        """What came of it, or why it did not."""
        try:
            taken = self._host(role).run(command)
        except ConnectionLost as error:
            return str(error)
        return _said(taken) if taken.status else taken

    def _renew(self, place: _Place, seconds: float) -> bool:
        return self._refuse_lost(place, self._hold_on(place, seconds))

    def _hold_on(self, place: _Place, seconds: float) -> Completed:
        if place.leads:
            return self._must(place, commands.renew(self._holder, place.claim, seconds))
        return self._must(place, commands.hold(seconds))

    def _refuse_lost(self, place: _Place, said: Completed) -> bool:
        """Whether the guard had fired. Raises HostError when the claim is not ours any more."""
        fired, other = commands.came(said)
        if other is None:
            return fired
        claim = parse(other, 0)
        who = f"{claim} is at work there" if claim else "somebody put it back"
        raise HostError(
            f"it is no longer claimed by this campaign: {who}; this campaign stops",
            host=place.roles[0],
        )

    def _release(self, place: _Place) -> None:
        self._must(place, commands.release(self._holder, place.claim))

    def _must(self, place: _Place, command: Command) -> Completed:
        """What came of a command that had to succeed; tried again once, over a new connection."""
        try:
            return must(self._host(place.roles[0]).run(command))
        except HostError:
            return _plain(lambda: must(self._host(place.roles[0]).run(command)))


def look_at(host: Callable[[str], Host], role: str) -> Seen:
    """Who claims the host of a role and what guards it. Raises HostError."""
    try:
        return seen(host(role).run(look()))
    except HostError:
        return seen(host(role).run(look()))


def refuse_claimed(hosts: Mapping[str, Host]) -> None:
    """Raise HostError where another campaign is at work; for a look before one is made."""
    nobody = Holder("", "", "", "", 0, 0)
    for role in hosts:
        if why := refusal(look_at(hosts.__getitem__, role), nobody):
            raise HostError(why, host=role)


def hold(host: Host, seconds: float = PUT_BACK) -> None:
    """Keep whoever's guard from firing for so long, and wait for one that fires just now."""
    _plain(lambda: must(host.run(commands.hold(seconds))))


def clear(host: Host) -> None:
    """End whoever's guard, and remove it and the claim. Raises HostError."""
    said = _plain(lambda: must(host.run(commands.remove())))
    if kept := [line for line in said.stdout.splitlines() if line.startswith("kept ")]:
        raise HostError(
            f"this login may not remove {printable(kept[0][5:])}; do it as root", host=host.name
        )


def refusal(now: Seen, holder: Holder) -> str:
    """Why a campaign may not start on a host; "" when it may."""
    for path, _, claim in now.claimed():
        if claim is None:
            return f"{path} is no claim of netlimits; remove it"
        ours = claim.holder.id == holder.id and claim.holder.controller == holder.controller
        if not (ours or claim.stale):
            return (
                f"{claim} is at work there; wait for it, or, if it is dead, put back what it "
                "left with `netlimits restore --hosts FILE`"
            )
    for note in now.notes:
        try:
            said = json.loads(note)
            if said["link_address"] in now.links and said.get("id") != holder.id:
                campaign = printable(str(said["campaign"]))[:200]
                return (
                    f"campaign {campaign} changed it and did not confirm that it was put back; "
                    "do that first: `netlimits restore --hosts FILE`"
                )
        except (ValueError, KeyError, TypeError):
            return "a note in its netlimits folder is damaged; `netlimits restore --hosts FILE`"
    return ""


def patience(text: str) -> float | None:
    """Seconds of `5m`, `90s`, `1h`; None for `off`. Raises InputError."""
    if text == "off":
        return None
    number, unit = (text[:-1], text[-1]) if text[-1:] in _UNITS else (text, "m")
    try:
        seconds = float(number) * _UNITS[unit]
    except ValueError:
        seconds = 0
    if not 1 <= seconds <= 7 * 86400:
        raise InputError(f"--guard {text}: write a time from 1s to 168h, as in 5m, or off")
    return seconds


def _said(completed: Completed) -> str:
    said = printable(" ".join((completed.stderr or completed.stdout).split()))[:200]
    return said or "another campaign is at it too"


def _plain(act: Callable[[], Completed]) -> Completed:
    """What `act` gives; a CommandFailed without the script in its message."""
    try:
        return act()
    except CommandFailed as error:
        name = error.completed.command.argv[3]
        raise HostError(
            f"its guard's `{name}` failed: {_said(error.completed)}", host=error.host
        ) from None
