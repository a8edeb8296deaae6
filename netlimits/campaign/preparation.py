"""How a run's hosts come to its settings, as data: what the runner does and a dry run prints.

First what earlier runs set and this one leaves out; then a look at what `channels` will change
along with the queues; then the settings in the file's order; the pace last.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from netlimits.model import Ends, Machine, SettingUse, Setup
from netlimits.settings import MADE_ANEW


@dataclass(frozen=True, slots=True)
class SettingStep:
    """What is done with a setting of one host.

    `look`: its state is read, for another setting is about to change it too. `leave`: it is brought
    to how it was found. `reach`: it is brought to `options`.
    """

    act: Literal["look", "leave", "reach"]
    role: str
    interface: str
    name: str
    options: Any


class Preparation:
    """What the runs so far have set, and so what the next one has to do.

    A step that fails counts as not done: what it was to leave is left the next time.
    """

    def __init__(self, machines: Mapping[str, Machine]) -> None:
        self._machines = machines
        self._set: dict[tuple[str, str], frozenset[str]] = {}
        self._options: dict[tuple[str, str], Any] = {}

    def steps(
        self,
        setup: Setup,
        ends: Ends,
        pace: SettingUse | None = None,
        roles: Collection[str] | None = None,
    ) -> Iterator[SettingStep]:
        """The steps to a configuration. Its pace is looked at here alone; `paced` has its steps.

        With `roles` hosts of others, which may be measuring, are left as they are.
        """
        for turn in self.turns(setup, ends, pace, roles):
            yield from turn

    def turns(
        self,
        setup: Setup,
        ends: Ends,
        pace: SettingUse | None = None,
        roles: Collection[str] | None = None,
    ) -> Iterator[tuple[SettingStep, ...]]:
        """The same, one setting after the other: its hosts may come to it at the same time."""
        given = options_set(setup.settings)
        paced = ends["local"] if setup.around.pace else ()
        left = [
            (role, name)
            for (role, name), options in reversed(self._set.items())
            if (roles is None or role in roles)
            and not options <= given.get((role, name), frozenset())
            and not (name == "qdisc" and role in paced)  # which makes its own anew
        ]
        for name, places in itertools.groupby(left, key=lambda place: place[1]):
            here = [role for role, _ in places]
            yield tuple(self._step("leave", role, name, self._options[role, name]) for role in here)
            for role in here:
                del self._set[role, name]
        self._remember(setup.settings)
        for look in self._looks((*setup.settings, *([pace] if pace else []))):
            yield (look,)
        for use in setup.settings:
            yield self._reaches(use)

    def paced(self, pace: SettingUse) -> tuple[SettingStep, ...]:
        """The steps to a pace."""
        self._remember((pace,))
        return self._reaches(pace)

    def _looks(self, settings: tuple[SettingUse, ...]) -> Iterator[SettingStep]:
        queues = {role for use in settings if use.name == "channels" for role in use.roles}
        for use in settings:
            for role in use.roles if use.name in MADE_ANEW["channels"] else ():
                if role in queues:
                    yield self._step("look", role, use.name, use.options)

    def _reaches(self, use: SettingUse) -> tuple[SettingStep, ...]:
        return tuple(self._step("reach", role, use.name, use.options) for role in use.roles)

    def _step(
        self, act: Literal["look", "leave", "reach"], role: str, name: str, options: Any
    ) -> SettingStep:
        return SettingStep(act, role, self._machines[role].interface or "", name, options)

    def _remember(self, settings: Iterable[SettingUse]) -> None:
        for place, options in options_set(settings).items():
            self._set[place] = self._set.get(place, frozenset()) | options
        for use in settings:
            self._options |= dict.fromkeys(((role, use.name) for role in use.roles), use.options)


def options_set(settings: Iterable[SettingUse]) -> dict[tuple[str, str], frozenset[str]]:
    """(Role, setting) -> the options that a configuration gives it, those within others dotted."""
    options: dict[tuple[str, str], frozenset[str]] = {}
    for use in settings:
        for role in use.roles:
            place = (role, use.name)
            options[place] = options.get(place, frozenset()) | frozenset(_named(use.options))
    return options


def _named(options: Any, before: str = "") -> Iterator[str]:
    yield before
    if isinstance(options, Mapping):
        for name, inner in options.items():
            yield from _named(inner, f"{before}.{name}")
