"""Change the settings of hosts, and restore them.

`Changes` is the only class that changes settings. It records the original state before the first
write, reads the state back after every write, and restores all settings in reverse order. To save a
round trip, each change starts from the state that was read back after the previous change. If
another user changed the setting in between, the next read-back shows this. Then `Changes` reads the
setting again and repeats the change.
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
from netlimits.hosts.shell import command_name
from netlimits.model import Command
from netlimits.restore import notes, states
from netlimits.restore.originals import Changed, Original, UndoLog, quoted_lines, restore_order
from netlimits.settings import RECREATES, SETTINGS, State, carrier
from netlimits.settings import setting as setting_of


class Changes:
    """The changes made on hosts, and how to undo them.

    An earlier process recorded `originals`. Not all of them are restored:

    - If `states.fault` finds a fault in an original, it is not restored.
    - If the originals are not `ours`, only the parts that an experiment may set are restored.
    - If they are not `ours`, or come from notes (`noted`), an original is not restored if
      `notes.impossible` reports a difference.

    Only the thread of a host's present run may use the state of the host's settings. `changed` and
    `restore` may be used only while no run is in progress.
    """

    def __init__(
        self,
        host: Callable[[str], Host],
        log: UndoLog,
        originals: tuple[Original, ...] = (),
        *,
        ours: bool = True,
        noted: bool = False,
    ) -> None:
        self._host = host
        self._log = log
        self._originals: dict[tuple[str, str, str], Original] = {f.place: f for f in originals}
        self._seen: dict[tuple[str, str, str], State] = {}
        self._handed = frozenset(self._originals)
        self._foreign = frozenset() if ours else self._handed
        self._noted = noted
        self._begun: set[tuple[str, str, str]] = set()
        self._durable: dict[tuple[str, str, str], frozenset[str]] = {}
        self._read_back: dict[tuple[str, str, str], tuple[Command, State]] = {}

    @property
    def changed(self) -> tuple[Original, ...]:
        """The originals to restore, in the order of the first changes."""
        return tuple(self._originals.values())

    def look(self, role: str, interface: str, name: str, wanted: Any) -> None:
        """Read and keep a setting's original state, before another setting changes it as well."""
        place = (role, interface, name)
        if place not in self._originals and place not in self._seen:
            self._seen[place] = current(self._host(role), name, interface, wanted)

    def reach(self, role: str, interface: str, name: str, wanted: Any) -> State:
        """Change a setting to `wanted`, and return the state read back. Raises SettingError."""
        setting, place = setting_of(name), (role, interface, name)
        read = setting.read(interface, wanted)
        if known := self._known(place, wanted):
            return self._begin_known(place, wanted, known)()
        self._read_back.pop(place, None)
        state = current(self._host(role), name, interface, wanted)
        commands = _named(role, lambda: setting.change(interface, state, wanted))
        if commands:
            seen = self._seen.get(place, state)
            if place not in self._originals:  # this campaign has not changed the setting yet
                _named(role, lambda: setting.check_found(interface, seen))
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
        """Start to change a setting, so that several hosts can be changed concurrently.

        Returns:
            A function that waits and returns the state read back. None if the change needs a new
            reading first, needs no command or several, or cannot be started without waiting.
        """
        place = (role, interface, name)
        known = self._known(place, wanted)
        reads = self._reads_after(interface, name, wanted)
        if len(known) != 1 or not self._host(role).begins((*known, *reads)):
            return None
        return self._begin_known(place, wanted, known)

    def _known(self, place: tuple[str, str, str], wanted: Any) -> tuple[Command, ...]:
        """Return the commands that change the last state read back to `wanted`.

        Return () if `reach` must read the state first, or if no command is needed.
        """
        _, interface, name = place
        setting = setting_of(name)
        of_last, state = self._read_back.get(place, (None, {}))
        if of_last != setting.read(interface, wanted):
            return ()
        if not self._durable.get(place, frozenset()) >= state.keys():
            return ()
        try:
            return setting.change(interface, state, wanted)
        except SettingError:  # `reach` reads again and raises the error again
            return ()

    def _begin_known(
        self, place: tuple[str, str, str], wanted: Any, known: tuple[Command, ...]
    ) -> Callable[[], State]:
        setting = setting_of(place[2])
        read, _ = self._read_back.pop(place)
        changed = self._begin_change(*place, known, wanted)

        def reached() -> State:
            with suppress(SettingError):  # `reach` tries again: another user changed it
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
        guarded: bool = True,
    ) -> Callable[[], tuple[Changed, State]]:
        """Start a change and the reading after it; return a function that waits for both.

        If `linger`, the function also waits until the link is up again.
        """
        setting = setting_of(name)
        for other in RECREATES.get(name, ()):
            self._read_back.pop((role, interface, other), None)
        reads = self._reads_after(interface, name, about, linger)
        wait = self._log.begin_change(role, commands, reads, guarded)

        def changed() -> tuple[Changed, State]:
            answers = wait()
            state = setting.state(answers.then[-1])
            if any(waited.status for waited in answers.then[:-1]):
                raise SettingError(
                    f"{interface} has had no carrier for {carrier.SECONDS:g} s since that change; "
                    "check what the other end of the link supports",
                    setting=name,
                    host=role,
                )
            return answers, state

        return changed

    def _reads_after(
        self, interface: str, name: str, about: Any, linger: bool = True
    ) -> tuple[Command, ...]:
        """Return the commands that follow a change: wait for the link if `linger`, then read."""
        setting = setting_of(name)
        waits = [carrier.wait(interface)] if linger and setting.traits.drops_carrier else []
        return (*waits, setting.read(interface, about))

    def restore_for_now(self, place: tuple[str, str, str]) -> None:
        """Restore a setting that the next run does not use, but keep its original recorded."""
        original = self._originals.get(place)
        self._read_back.pop(place, None)
        if original and (problem := self._restore_one(original, linger=True)):
            raise SettingError(
                f"is not part of this run, but could not be restored: {problem}",
                setting=original.setting,
                host=original.role,
            )

    def _remember(self, original: Original) -> None:
        """Record an original; parts that are recorded already keep their first state."""
        earlier = self._originals.get(original.place)
        if earlier:
            original = replace(original, state={**original.state, **earlier.state})
        if self._durable.get(original.place, frozenset()) != set(original.state):
            self._originals[original.place] = original
            self._log.keep(original)
            self._durable[original.place] = frozenset(original.state)

    def restore(self) -> None:
        """Restore and verify all changes, the last change first; then retry the failed restores.

        Raises RestoreError, with the commands to type, if a setting is not restored. Raises
        ArchiveError if all settings are restored, but the journal could not record it.
        """
        every = self.changed
        problems, unwritten = self._restore_each(restore_order(every))
        if problems and len(problems) < len(every):
            problems, second_unwritten = self._restore_each(restore_order(self.changed))
            unwritten = unwritten or second_unwritten
        self._await_links(every, {original.role for original, _ in problems})
        left = [f"{f.role}: {f.interface}: {f.setting}: {why}" for f, why in problems]
        if left:
            raise RestoreError(
                "not restored:\n  "
                + "\n  ".join(left)
                + "\nrestore it by hand, then run `netlimits restore` again to verify it"
            )
        if unwritten:
            raise unwritten

    def _await_links(self, changed: Iterable[Original], skipped: Collection[str]) -> None:
        """Wait for the links that a restore may have taken down, except on the roles `skipped`."""
        names = {s.name for s in SETTINGS if s.traits.drops_carrier}
        links = {(o.role, o.interface) for o in changed if o.setting in names}
        for role, interface in sorted(links):
            with suppress(NetlimitsError):
                if role not in skipped:
                    self._host(role).run(carrier.wait(interface))

    def _restore_each(
        self, changed: tuple[Original, ...]
    ) -> tuple[list[tuple[Original, str]], ArchiveError | None]:
        """Restore originals; return (failed originals with reasons, the journal's error)."""
        problems: list[tuple[Original, str]] = []
        unwritten: ArchiveError | None = None
        for original in changed:
            try:
                # try twice: the second try has a new connection if the first one was lost
                problem = self._try_to_restore(original) and self._try_to_restore(original)
            except ArchiveError as error:  # the journal's disk is full: restore the others anyway
                problem, unwritten = "", error
            if problem:
                problems.append((original, problem))
        return problems, unwritten

    def _try_to_restore(self, original: Original) -> str:
        """Restore an original; return the reason if it failed, else "". Raises ArchiveError."""
        try:
            self._log.begin_restore(original)
            problem = self._restore_one(original)
        except ConnectionLost as error:
            commands = setting_of(original.setting).undo(original.interface, original.state, {})
            return _by_hand(str(error).removeprefix(f"{original.role}: "), commands)
        except NetlimitsError as error:
            return str(error)
        except (LookupError, TypeError, ValueError, AttributeError) as error:
            return f"the record of its original state is damaged ({error!r})"
        if problem:
            return problem
        try:
            self._log.end_restore(original)
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

    def _restore_one(self, original: Original, linger: bool = False) -> str:
        """Restore an original; return the remaining differences with commands to type, or ""."""
        if original.place in self._handed and (
            fault := states.fault(original.setting, original.state)
        ):
            return fault
        setting, host = setting_of(original.setting), self._host(original.role)
        foreign = original.place in self._foreign
        if foreign and (why := states.owner_only(original.setting)):
            return why
        target = states.settable(original.setting, original.state) if foreign else original.state
        commands: tuple[Any, ...] = ()
        state = current(host, original.setting, original.interface, original.state)
        if (foreign or self._noted) and original.place not in self._begun:
            if why := notes.impossible(original, state):
                return why
            # check only the first try, which may reset IPv6 to values that no setting wrote
            self._begun.add(original.place)
        for _ in range(2):  # a second pass, for a feature that another feature blocked
            if not (commands := setting.undo(original.interface, target, state)):
                break
            restored = self._begin_change(*original.place, commands, original.state, linger, False)
            _, state = restored()
        differences = setting.differences(original.state, state)
        if not differences:
            return ""
        if foreign and not setting.differences(target, state):
            return (
                f"{'; '.join(differences)}: not restored from somebody else's folder; "
                "`netlimits restore --hosts FILE` restores it from the host's own notes"
            )
        commands = setting.undo(original.interface, target, state) or commands
        return _by_hand("; ".join(differences), commands)


def _by_hand(problem: str, commands: Iterable[Command]) -> str:
    by_hand = quoted_lines(commands)
    return f"{problem}; by hand: {by_hand}" if by_hand else problem


def current(host: Host, name: str, interface: str, about: Any) -> State:
    """Read a setting's present state on the host; `about` is passed to `Setting.read`."""
    setting = setting_of(name)
    completed = host.run(setting.read(interface, about))
    if completed.timed_out:
        command = completed.command
        problem = f"{command_name(command.argv)} did not end within {command.deadline:g} s"
        raise SettingError(problem, setting=name, host=host.name)
    return setting.state(completed)


def _named(role: str, act: Callable[[], Any]) -> Any:
    """Return `act()`; if it raises a SettingError without a host, add the role as its host."""
    try:
        return act()
    except SettingError as error:
        if error.host:
            raise
        raise SettingError(error.problem, setting=error.setting, host=role) from None
