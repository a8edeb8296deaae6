"""Create, hold, renew and release the claims and guards of one campaign's hosts."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from netlimits.errors import (
    CommandFailed,
    ConnectionLost,
    HostError,
    InputError,
    RestoreError,
    one_line,
)
from netlimits.hosts.base import Host, must
from netlimits.hosts.threads import concurrently
from netlimits.model import Command, Completed
from netlimits.restore import notes
from netlimits.restore.guard import commands
from netlimits.restore.guard.claim import Holder, printable
from netlimits.restore.guard.claims import ClaimedLogin, Claims, NotOurs
from netlimits.restore.guard.script import render
from netlimits.restore.notes import NoteFile
from netlimits.restore.originals import Changed, Original
from netlimits.units import durations

PATIENCE = 300.0
"""Default patience: seconds that a guard waits for a renewal, in addition to the run's time."""

OVER = 0.1
"""Share of the patience that each renewal adds to the necessary time.

Runs that start within the added time need no renewal. With the default patience, one renewal in
30 s is enough.
"""

_TRIES = 3
"""Number of times to arm a guard again if its deadline passed before a change was made."""

NOTHING: Mapping[str, Completed] = {}

RESTORE_SECONDS = 60.0
"""Minimum seconds of a claim while the controller restores one setting.

A short time is enough: while the controller lives, it holds the claim, and the guard waits up to
LONGEST_HOLD longer. If the controller dies, the guard should fire soon.
"""


class Guards:
    """The claims and guards of a campaign's hosts.

    `patience` is in seconds; if it is None, hosts are claimed but get no guards. `claims` are the
    claims of a Guards for more roles.
    """

    def __init__(
        self,
        host: Callable[[str], Host],
        roles: Iterable[str],
        holder: Holder,
        patience: float | None = PATIENCE,
        claims: Claims | None = None,
    ) -> None:
        self._host = host
        self._holder = holder
        self._patience = patience
        self._roles = tuple(roles)
        self._claims = claims or Claims(host, self._roles, holder, patience or PATIENCE)
        self.claim = self._claims.claim
        self.forget = self._claims.forget

    @property
    def patience(self) -> float:
        """Seconds that hosts stay claimed without renewal, in addition to the run's time."""
        return self._patience or PATIENCE

    def for_roles(self, roles: Collection[str]) -> Guards:
        """Return a Guards for the hosts of some roles, which shares its claims with this one."""
        return Guards(self._host, roles, self._holder, self._patience, self._claims)

    @property
    def _places(self) -> list[ClaimedLogin]:
        return [place for place in self._claims.places if {*self._roles} & {*place.roles}]

    def _role(self, place: ClaimedLogin) -> str:
        return next(role for role in place.roles if role in self._roles)

    def renew(self, seconds: float) -> tuple[str, ...]:
        """Extend claims and guards to `seconds` plus a little more than the patience from now.

        Missing guards are started again. Returns the roles whose guard has fired in the meantime,
        so that the settings of their hosts must be read again. Raises HostError.
        """
        return self._renewed(self._places, seconds)

    def keep(self, seconds: float) -> tuple[str, ...]:
        """Renew the hosts that need it, at the start of each run; return the same as `renew`.

        A deadline that is much too late is replaced by an earlier deadline. Otherwise, if the
        controller dies, the guard would fire too late.
        """
        needed = _now() + seconds + self.patience

        def enough(place: ClaimedLogin) -> bool:
            return place.kept() and needed <= place.until <= needed + OVER * self.patience

        return self._renewed([p for p in self._places if not enough(p)], seconds)

    def _renewed(self, places: Sequence[ClaimedLogin], seconds: float) -> tuple[str, ...]:
        claim = seconds + (1 + OVER) * self.patience
        for place in self._places:
            place.seconds = claim
        guard = None if self._patience is None else claim
        return _roles(places, concurrently(lambda place: self._renew(place, claim, guard), places))

    def fired(self, answers: Mapping[str, Completed] = NOTHING) -> tuple[str, ...]:
        """Return the roles whose guard has fired since `renew`, which makes their run invalid.

        `answers` has the results of `questions` by role. If a result is missing or incomplete, the
        command is run on the host.
        """

        def fired(place: ClaimedLogin) -> bool:
            answer, ask = answers.get(self._role(place)), commands.fired(self._holder, place.claim)
            if answer is None or answer.status or answer.timed_out:
                answer = self._claims.must(place, ask, self._role(place))
            fired = self._claims.refuse_lost(place, answer) or place.fired
            if fired or (place.originals and commands.dead(answer)):
                place.until = 0.0
            return fired

        places = self._places
        if all(self._role(place) in answers for place in places):
            return _roles(places, map(fired, places))
        return _roles(places, concurrently(fired, places))

    def questions(self) -> dict[str, Command]:
        """Return the command that `fired` needs for each role, to run with other commands."""
        return {
            self._role(place): commands.fired(self._holder, place.claim) for place in self._places
        }

    def run(self, role: str, command: Command) -> Completed:
        """Run a command that changes the host. Raises HostError if the claim is no longer ours."""
        return self.begin_change(role, [command], ())().answers[0]

    def begin_change(
        self,
        role: str,
        changes: Sequence[Command],
        then: Sequence[Command],
        guarded: bool = False,
    ) -> Callable[[], Changed]:
        """Start the commands `changes`, as in `run`, and then the readings `then`.

        If `guarded`, each change is made only while the host's guard would restore it. The returned
        function waits for the results; it must be called. Only the last change shares a round trip
        with the readings, since the deadline of a round trip is the sum of its commands' deadlines.
        """
        guarded = guarded and self._patience is not None
        *first, last = changes
        answers = [self._begin(role, command, (), guarded)()[0] for command in first]
        wait = self._begin(role, last, then, guarded)

        def changed() -> Changed:
            answer, *looked = wait()
            return Changed((*answers, answer), (*looked,))

        return changed

    def _begin(
        self, role: str, change: Command, then: Sequence[Command], guarded: bool
    ) -> Callable[[], Sequence[Completed]]:
        """Start a change and its readings; the returned function waits for the results.

        If the guard's deadline passed before the change, the function arms the guard and tries
        again.
        """
        place = self._claims.place(role)
        every = [commands.within(self._holder, place.claim, change, guarded), *then]
        wait = self._host(role).begin_in_turn(every)

        def changed() -> Sequence[Completed]:
            answers = wait()
            self._claims.refuse_lost(place, answers[0])
            for _ in range(_TRIES):
                if not commands.unguarded(answers[0]):
                    return answers
                with place.turn:
                    self._arm(place, [*place.originals.values()], role)
                answers = self._host(role).begin_in_turn(every)()
                self._claims.refuse_lost(place, answers[0])
            raise HostError(
                f"its guard fires before a change can be made: this host needs more time than "
                f"--guard {self.patience:g}s gives it",
                host=role,
            )

        return changed

    def arm(self, original: Original, note: NoteFile | None = None) -> None:
        """Write the `note`, and make sure that the guard, if any, would restore this setting."""
        if self._patience is None:
            if note:
                self._leave(original.role, note)
            return
        place = self._claims.place(original.role)
        with place.turn:
            everything = {**place.originals, original.place: original}
            self._arm(place, [*everything.values()], original.role, note)
            place.originals = everything

    def _arm(
        self,
        place: ClaimedLogin,
        originals: Sequence[Original],
        role: str,
        note: NoteFile | None = None,
    ) -> None:
        script = render(self._holder, originals, round(self.patience))
        seconds = max(place.seconds, place.until - _now())
        arm = commands.arm(self._holder, place.claim, seconds, script, note)
        if self._claims.refuse_lost(place, self._claims.must(place, arm, role)):
            place.fired = True

    def _leave(self, role: str, note: NoteFile) -> None:
        try:
            must(self.run(role, notes.write(note)))
        except CommandFailed as error:
            why = printable(error.completed.complaint) or one_line(error)
            raise HostError(
                f"a note of its original settings cannot be written there: {why}", host=role
            ) from None

    def begin_restore(self, original: Original) -> None:
        """Extend claim and guard for the restore of a setting.

        Raises HostError if the claim is no longer ours. If the host's disk is too full to store the
        new deadline, the host is restored anyway. A guard that fires in the meantime restores the
        same state.
        """
        if original.role not in self._claims:
            return
        place, seconds = self._claims.at(original.role), max(RESTORE_SECONDS, self._patience or 0)
        try:
            self._renew(place, seconds, self._patience)
        except (ConnectionLost, NotOurs):
            raise
        except HostError:
            return

    def release(self, left: Collection[str] = ()) -> None:
        """End guards and claims, except on hosts of the roles `left`. Raises RestoreError."""
        problems = []
        for place in reversed(self._places):
            if set(place.roles) & set(left):
                continue
            try:
                self._claims.release(place)
            except HostError as error:
                problems.append(str(error))
        if problems:
            raise RestoreError(
                "a guard could not be ended:\n  "
                + "\n  ".join(problems)
                + "\nthe host is restored; run `netlimits restore` again to remove the guard"
            )

    def _renew(self, place: ClaimedLogin, seconds: float, guard: float | None) -> bool:
        """Extend the claim to `seconds` and the guard to `guard`.

        Return True if the guard has fired.
        """
        if place.leads:
            command = commands.renew(self._holder, place.claim, seconds, guard)
        elif guard is not None:
            command = commands.postpone(self._holder, place.claim, guard)
        else:
            return False
        until = _now() + min(seconds, guard or seconds)
        answer = self._claims.must(place, command, self._role(place))
        fired = self._claims.refuse_lost(place, answer) or place.fired
        place.fired = False
        if self._patience and place.originals and commands.unarmed(answer):
            with place.turn:  # arm again: somebody removed the guard's script
                self._arm(place, [*place.originals.values()], self._role(place))
        place.until = until
        return fired


def _now() -> float:
    """Return seconds on a clock that also runs while this machine is suspended."""
    return (
        time.clock_gettime(time.CLOCK_BOOTTIME) if hasattr(time, "CLOCK_BOOTTIME") else time.time()
    )


def _roles(places: Iterable[ClaimedLogin], chosen: Iterable[bool]) -> tuple[str, ...]:
    return tuple(
        role for place, yes in zip(places, chosen, strict=True) if yes for role in place.roles
    )


def patience(text: str) -> float | None:
    """Parse `5m`, `90s` or `1h` to seconds, and `off` to None. Raises InputError."""
    if text == "off":
        return None
    try:
        return durations.seconds(text)
    except ValueError as error:
        raise InputError(f"--guard {text}: {error}, or off") from None
