"""How a run's hosts come to its settings, as data: what the runner does and a dry run prints.

First what earlier runs set and this one leaves out; then a look at what `channels` will change
along with the queues; then the settings in the file's order; the pace last.
"""

from __future__ import annotations

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
        given = options_set(setup.settings)
        paced = ends["local"] if setup.around.pace else ()
        for (role, name), options in reversed(list(self._set.items())):
            if roles is not None and role not in roles:
                continue
            if options <= given.get((role, name), frozenset()):
                continue
            if name == "qdisc" and role in paced:  # which makes its own anew
                continue
            yield self._step("leave", role, name, self._options[role, name])
            del self._set[role, name]
        self._remember(setup.settings)
        yield from self._looks((*setup.settings, *([pace] if pace else [])))
        for use in setup.settings:
            yield from self._reaches(use)

    def paced(self, pace: SettingUse) -> Iterator[SettingStep]:
        """The steps to a pace."""
        self._remember((pace,))
        yield from self._reaches(pace)

    def _looks(self, settings: tuple[SettingUse, ...]) -> Iterator[SettingStep]:
        queues = {role for use in settings if use.name == "channels" for role in use.roles}
        for use in settings:
            for role in use.roles if use.name in MADE_ANEW["channels"] else ():
                if role in queues:
                    yield self._step("look", role, use.name, use.options)

    def _reaches(self, use: SettingUse) -> Iterator[SettingStep]:
        for role in use.roles:
            yield self._step("reach", role, use.name, use.options)

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
