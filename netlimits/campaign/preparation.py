"""The steps that apply a run's settings to hosts, as data for the runner and the dry run."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal

from netlimits.model import Ends, Machine, SettingUse, Setup
from netlimits.settings import RECREATES, options_of


@dataclass(frozen=True, slots=True)
class SettingStep:
    """An action on a setting of one host.

    `act` is what to do: `read` reads the setting's state, which another setting is about to change
    too; `restore` restores the original state; `set` sets the setting to `options`.
    """

    act: Literal["read", "restore", "set"]
    role: str
    interface: str
    name: str
    options: Any


Turn = tuple[SettingStep, ...]
"""Steps of one setting, which different machines may execute in parallel."""


@dataclass(slots=True)
class _Set:
    """A setting that runs have changed on a host: when it was first changed, and its options."""

    order: int
    names: frozenset[str]
    options: Any


class Preparation:
    """Tracks the settings that runs have changed, and returns the steps that the next run needs."""

    def __init__(self, machines: Mapping[str, Machine]) -> None:
        self._machines = machines
        self._set: Mapping[str, dict[str, _Set]] = MappingProxyType({r: {} for r in machines})
        self._order = itertools.count()

    def turns(
        self,
        setup: Setup,
        ends: Ends,
        pace: SettingUse | None = None,
        roles: Collection[str] | None = None,
    ) -> tuple[Turn, ...]:
        """Return the turns that apply a configuration to hosts, one setting after the other.

        The first turns restore settings that are not in the configuration, on all hosts or on those
        of `roles`.
        """
        given = options_set(setup.settings, self._machines)
        paced = ends["local"] if setup.around.pace else ()
        here = self._set if roles is None else roles
        left = [
            (known.order, role, name)
            for role in here
            for name, known in self._set[role].items()
            if not known.names <= given.get((role, name), frozenset())
            and not (name == "qdisc" and role in paced)  # pacing replaces the qdisc
        ]
        left.sort(reverse=True)
        turns = [
            tuple(
                self._step("restore", role, name, self._set[role][name].options)
                for _, role, _ in places
            )
            for name, places in itertools.groupby(left, key=lambda place: place[2])
        ]
        reads = self._read_steps((*setup.settings, *([pace] if pace else [])))
        return (*turns, *((step,) for step in reads), *map(self._set_turn, setup.settings))

    def paced(self, pace: SettingUse) -> Turn:
        return self._set_turn(pace)

    def begins(self, turn: Turn) -> None:
        """Record the settings that a turn is about to change, and that must be restored later."""
        for step in turn:
            if step.act != "set":
                continue
            here, names = self._set[step.role], frozenset(_named(step.options))
            known = here.get(step.name)
            if known:
                here[step.name] = _Set(known.order, known.names | names, step.options)
            else:
                here[step.name] = _Set(next(self._order), names, step.options)

    def ended(self, turn: Turn) -> None:
        for step in turn:
            if step.act == "restore":
                del self._set[step.role][step.name]

    def _read_steps(self, settings: tuple[SettingUse, ...]) -> Iterator[SettingStep]:
        queues = {role for use in settings if use.name == "channels" for role in use.roles}
        for use in settings:
            for role in use.roles if use.name in RECREATES["channels"] else ():
                if role in queues:
                    yield self._step("read", role, use.name, use.options)

    def _set_turn(self, use: SettingUse) -> Turn:
        return tuple(
            self._step("set", role, use.name, options_of(use, role, self._machines))
            for role in use.roles
        )

    def _step(
        self, act: Literal["read", "restore", "set"], role: str, name: str, options: Any
    ) -> SettingStep:
        return SettingStep(act, role, self._machines[role].interface or "", name, options)


def options_set(
    settings: Iterable[SettingUse], machines: Mapping[str, Machine]
) -> dict[tuple[str, str], frozenset[str]]:
    """Return the names of the options that a configuration sets, by (role, setting)."""
    options: dict[tuple[str, str], frozenset[str]] = {}
    for use in settings:
        for role in use.roles:
            place = (role, use.name)
            options[place] = options.get(place, frozenset()) | frozenset(
                _named(options_of(use, role, machines))
            )
    return options


def _named(options: Any, before: str = "") -> Iterator[str]:
    """Yield the dotted names of options, such as `.tso`, and "" for the setting itself."""
    yield before
    if isinstance(options, Mapping):
        for name, inner in options.items():
            yield from _named(inner, f"{before}.{name}")
