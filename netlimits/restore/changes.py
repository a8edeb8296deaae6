"""Settings on real hosts: what was found is written down before anything is changed.

`Changes` is the only place that changes a host. It reads a setting before it writes it, has what
it found written down (`UndoLog`) before the first write, reads back after every write, and puts
everything back in reverse order. A state that is known from the journal of a killed campaign is
restored by the same code.

What was read back after one change is what the next one goes on from, in one round trip: if
somebody else has changed it meanwhile, the reading after it shows what is missing, and it is read
and changed again. What needs no change by that is read all the same.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from dataclasses import replace
from typing import Any

from netlimits.errors import (
    ArchiveError,
    ConnectionLost,
    NetlimitsError,
    RestoreError,
    SettingError,
)
from netlimits.hosts.base import Host
from netlimits.hosts.shell import called
from netlimits.model import Command
from netlimits.restore import notes, states
from netlimits.restore.originals import Original, typed, way_back
from netlimits.restore.undo_log import Changed, UndoLog
from netlimits.settings import MADE_ANEW, State, carrier, check_found
from netlimits.settings import setting as setting_of


class Changes:
    """The changes that we made on hosts, and how they are undone.

    `host` gives the host of a role, connected again if need be; `log` writes down what is changed.
    `originals` are those that were written down before: what they hold is held to what may be
    set. Where that was by somebody else, and they are not `ours`, nothing is made that settings
    make not, and only what they may set is set.

    What is kept of a place belongs to whoever has its host; `changed` and `put_back`, which go
    through all places, are for one thread when no run goes on.
    """

    def __init__(
        self,
        host: Callable[[str], Host],
        log: UndoLog,
        originals: tuple[Original, ...] = (),
        *,
        ours: bool = True,
    ) -> None:
        self._host = host
        self._log = log
        self._originals: dict[tuple[str, str, str], Original] = {f.place: f for f in originals}
        self._seen: dict[tuple[str, str, str], State] = {}
        self._handed = frozenset(self._originals)
        self._foreign = frozenset() if ours else self._handed
        self._durable: dict[tuple[str, str, str], frozenset[str]] = {}
        self._read_back: dict[tuple[str, str, str], tuple[Command, State]] = {}

    @property
    def changed(self) -> tuple[Original, ...]:
        """What is to be restored, in the order of the first changes."""
        return tuple(self._originals.values())

    def look(self, role: str, interface: str, name: str, wanted: Any) -> None:
        """Note a setting's present state as the original, before another setting changes it too."""
        place = (role, interface, name)
        if place not in self._originals and place not in self._seen:
            self._seen[place] = current(self._host(role), name, interface, wanted)

    def reach(self, role: str, interface: str, name: str, wanted: Any) -> State:
        """Bring a setting to `wanted` and return the state that was read back.

        Nothing is written when it is there already, by what was read last. Raises SettingError
        when the host refuses.
        """
        setting, place = setting_of(name), (role, interface, name)
        read = setting.read(interface, wanted)
        if known := self._known(place, wanted):
            return self._begin_known(place, wanted, known)()
        self._read_back.pop(place, None)
        state = current(self._host(role), name, interface, wanted)
        commands = _named(role, lambda: setting.change(interface, state, wanted))
        if commands:
            seen = self._seen.get(place, state)
            if place not in self._originals:  # else it is ours, or was ours
                _named(role, lambda: check_found(name, interface, seen))
            self._remember(Original(role, interface, name, seen))
            changed, state = self._begin_change(role, interface, name, commands, wanted)()
            if unmet := setting.unmet(state, wanted):
                printed = " ".join(c.complaint for c in changed.answers).strip()
                answers = f" ({printed[:200]})" if printed else ""
                problem = f"did not take: {'; '.join(unmet)}{answers}"
                raise SettingError(problem, setting=name, host=role)
        self._read_back[place] = read, state
        return state

    def begin(
        self, role: str, interface: str, name: str, wanted: Any
    ) -> Callable[[], State] | None:
        """Have a host begin what `reach` does, where what was read back tells the change.

        So that several hosts come to theirs at the same time. What is returned waits, as `reach`,
        and has to be called; None where nothing has begun: several commands, or one that needs
        sudo, are waited for one by one.
        """
        place = (role, interface, name)
        known = self._known(place, wanted)
        looks = self._looks(interface, name, wanted)
        if len(known) != 1 or not self._host(role).begins((*known, *looks)):
            return None
        return self._begin_known(place, wanted, known)

    def _known(self, place: tuple[str, str, str], wanted: Any) -> tuple[Command, ...]:
        """The change from what was read back last; none where that is not known, or is it."""
        _, interface, name = place
        setting = setting_of(name)
        of_last, state = self._read_back.get(place, (None, {}))
        if of_last != setting.read(interface, wanted):
            return ()
        if not self._durable.get(place, frozenset()) >= state.keys():
            return ()
        try:
            return setting.change(interface, state, wanted)
        except SettingError:  # which is told of what is read anew
            return ()

    def _begin_known(
        self, place: tuple[str, str, str], wanted: Any, known: tuple[Command, ...]
    ) -> Callable[[], State]:
        """Have a host begin a change that is known; what is returned waits, as `reach`."""
        setting = setting_of(place[2])
        read, _ = self._read_back.pop(place)
        changed = self._begin_change(*place, known, wanted)

        def reached() -> State:
            with suppress(SettingError):  # it is no more as it was read back
                _, state = changed()
                if not setting.unmet(state, wanted):
                    self._read_back[place] = read, state
                    return state
            return self.reach(*place, wanted)

        return reached

    def _begin_change(
        self,
        role: str,
        interface: str,
        name: str,
        commands: tuple[Command, ...],
        about: Any,
        linger: bool = True,
    ) -> Callable[[], tuple[Changed, State]]:
        """Have commands that change a setting begin.

        What is returned waits for what they print and the state after them, and has to be called.
        It raises SettingError when the link is to be up again after them and is not.
        """
        setting = setting_of(name)
        for other in MADE_ANEW.get(name, ()):
            self._read_back.pop((role, interface, other), None)
        looks = self._looks(interface, name, about, linger)
        wait = self._log.begin_change(role, commands, looks)

        def changed() -> tuple[Changed, State]:
            answers = wait()
            state = setting.state(answers.then[-1])
            if any(waited.status for waited in answers.then[:-1]):
                raise SettingError(
                    f"{interface} has had no carrier for {carrier.SECONDS:g} s since that change",
                    setting=name,
                    host=role,
                )
            return answers, state

        return changed

    def _looks(
        self, interface: str, name: str, about: Any, linger: bool = True
    ) -> tuple[Command, ...]:
        """What is asked right after a change: whether the link is up again, and the state."""
        waits = [carrier.wait(interface)] if linger and name in carrier.RESTARTS else []
        return (*waits, setting_of(name).read(interface, about))

    def as_found(self, place: tuple[str, str, str]) -> None:
        """Bring a setting to how it was found, for now; `put_back` still sees to it in the end.

        Nothing is done where it was never changed. Raises SettingError when the host refuses.
        """
        original = self._originals.get(place)
        self._read_back.pop(place, None)
        if original and (problem := self._put_one_back(original, linger=True)):
            raise SettingError(
                f"is left out of this run, but could not be restored: {problem}",
                setting=original.setting,
                host=original.role,
            )

    def _remember(self, original: Original) -> None:
        """Write down what was found, if that is new; of each part the first state found counts.

        What could be written down in part alone is to be restored too, which takes it away.
        """
        earlier = self._originals.get(original.place)
        if earlier:
            original = replace(original, state={**original.state, **earlier.state})
        if self._durable.get(original.place, frozenset()) != set(original.state):
            self._originals[original.place] = original
            self._log.keep(original)
            self._durable[original.place] = frozenset(original.state)

    def put_back(self) -> None:
        """Restore all that was changed, last change first, and verify it leaf by leaf.

        One that fails does not stop the others, and is tried once more after them: IPv6, and with
        it a route, is there again only once the MTU is. Raises RestoreError with what is left and
        the commands that mend it by hand; ArchiveError when all is as found and the journal could
        not take that in.
        """
        every = self.changed
        problems, unwritten = self._all_put_back(way_back(every))
        if problems and len(problems) < len(every):
            problems, again = self._all_put_back(way_back(self.changed))
            unwritten = unwritten or again
        self._settle(every, {original.role for original, _ in problems})
        left = [f"{f.role}: {f.interface}: {f.setting}: {why}" for f, why in problems]
        if left:
            raise RestoreError(
                "not restored:\n  "
                + "\n  ".join(left)
                + "\nrestore it by hand, then run `netlimits restore` again to verify it"
            )
        if unwritten:
            raise unwritten

    def _settle(self, changed: Iterable[Original], beyond: Collection[str]) -> None:
        """Wait until links are up again that the way back took down; not on the roles `beyond`."""
        links = {(o.role, o.interface) for o in changed if o.setting in carrier.RESTARTS}
        for role, interface in sorted(links):
            with suppress(NetlimitsError):
                if role not in beyond:
                    self._host(role).run(carrier.wait(interface))

    def _all_put_back(
        self, changed: tuple[Original, ...]
    ) -> tuple[list[tuple[Original, str]], ArchiveError | None]:
        """Return the originals that are not restored, with reasons, and the journal's error."""
        problems: list[tuple[Original, str]] = []
        unwritten: ArchiveError | None = None
        for original in changed:
            try:
                # once more if need be, over a new connection if the old one was lost
                problem = self._try_to_put_back(original) and self._try_to_put_back(original)
            except ArchiveError as error:  # a full disk under the journal does not stop the others
                problem, unwritten = "", error
            if problem:
                problems.append((original, problem))
        return problems, unwritten

    def _try_to_put_back(self, original: Original) -> str:
        """What keeps it from being as it was found; "" when it is, and that is written down.

        Raises ArchiveError when it is, and the journal could not take it in: `resume` will.
        """
        try:
            self._log.putting_back(original)
            problem = self._put_one_back(original)
        except ConnectionLost as error:
            commands = setting_of(original.setting).undo(original.interface, original.state, {})
            return _by_hand(str(error).removeprefix(f"{original.role}: "), commands)
        except NetlimitsError as error:
            return str(error)
        except (LookupError, TypeError, ValueError, AttributeError) as error:
            return f"what is written down of how it was found is damaged ({error!r})"
        if problem:
            return problem
        try:
            self._log.put_back(original)
        except ArchiveError:
            self._forget(original)
            raise
        except NetlimitsError as error:
            return str(error)
        self._forget(original)
        return ""

    def _forget(self, original: Original) -> None:
        del self._originals[original.place]
        self._durable.pop(original.place, None)

    def _put_one_back(self, original: Original, linger: bool = False) -> str:
        """What is still not as it was found, with the commands to mend it; "" when all is.

        `linger` until the link is up again, for what is measured next.
        """
        if original.place in self._handed and (
            fault := states.fault(original.setting, original.state)
        ):
            return fault
        setting, host = setting_of(original.setting), self._host(original.role)
        foreign = original.place in self._foreign
        if foreign and (why := states.ours_alone(original.setting)):
            return why
        target = states.settable(original.setting, original.state) if foreign else original.state
        commands: tuple[Any, ...] = ()
        state = current(host, original.setting, original.interface, original.state)
        for _ in range(2):  # a feature that another one blocked takes at the second attempt
            if foreign and (why := notes.beyond(original, state)):
                return why
            if not (commands := setting.undo(original.interface, target, state)):
                break
            _, state = self._begin_change(*original.place, commands, original.state, linger)()
        differences = setting.differences(original.state, state)
        if not differences:
            return ""
        if foreign and not setting.differences(target, state):
            return (
                f"{'; '.join(differences)}: that is not restored from somebody else's folder; "
                "`netlimits restore --hosts FILE` does it from the host's own notes"
            )
        commands = setting.undo(original.interface, target, state) or commands
        return _by_hand("; ".join(differences), commands)


def _by_hand(problem: str, commands: Iterable[Command]) -> str:
    """Return the problem with the commands that mend it by hand, if any can be typed."""
    by_hand = typed(commands)
    return f"{problem}; by hand: {by_hand}" if by_hand else problem


def current(host: Host, name: str, interface: str, about: Any) -> State:
    """A setting's state as the host shows it now; `about` as in `Setting.read`."""
    setting = setting_of(name)
    completed = host.run(setting.read(interface, about))
    if completed.timed_out:
        command = completed.command
        problem = f"{called(command.argv)} did not end within {command.deadline:g} s"
        raise SettingError(problem, setting=name, host=host.name)
    return setting.state(completed)


def _named(role: str, act: Callable[[], Any]) -> Any:
    """The result of `act`; a SettingError without a host gets this one."""
    try:
        return act()
    except SettingError as error:
        if error.host:
            raise
        raise SettingError(error.problem, setting=error.setting, host=role) from None
