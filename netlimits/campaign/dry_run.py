"""List the commands of runs in order, without contacting hosts, for `netlimits plan --commands`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from netlimits.archive import raw
from netlimits.campaign import steps
from netlimits.campaign.preparation import Preparation, SettingStep
from netlimits.campaign.specifications import specified
from netlimits.campaign.steps import Step
from netlimits.experiment import pacing
from netlimits.model import Ends, Machine, Setup
from netlimits.settings import setting
from netlimits.tools import Features


@dataclass(frozen=True, slots=True)
class Remark:
    """A step whose commands depend on the host, described in words."""

    role: str
    name: str
    text: str


@dataclass(frozen=True, slots=True)
class Planned:
    """A step of a run; `sets` describes the setting that it changes, if any."""

    step: Step | Remark
    sets: str = ""

    @property
    def shown(self) -> bool:
        """True for a step that a person reviews: a setting, the tool or a trace."""
        named = self.step.name in (steps.SERVER, raw.CLIENT, raw.TRACE)
        return named or bool(self.sets) or isinstance(self.step, Remark)


class DryRun:
    """Yields the steps of runs in order, given the settings that earlier runs have made."""

    def __init__(self, machines: Mapping[str, Machine], features: Features) -> None:
        self._features = features
        self._machines = {
            role: replace(machine, interface=machine.interface or "INTERFACE")
            for role, machine in machines.items()
        }
        self._preparation = Preparation(self._machines)

    def commands(self, setup: Setup, ends: Ends, *, profiled: bool = False) -> Iterator[Planned]:
        """Yield the steps of the next run, which has this configuration and these ends."""
        use, options = None, setup.options
        if setup.around.pace:
            best = pacing.ways(setup.tool, self._features)[0]
            use, options = pacing.paced(
                setup.tool, best, setup.around.pace, ends["local"], setup.options
            )
        turns = self._preparation.turns(setup, ends, use)
        for turn in (*turns, self._preparation.paced(use)) if use else turns:
            self._preparation.begins(turn)
            for step in turn:
                yield from _commands(step)
            self._preparation.ended(turn)
        if use:
            setup = replace(setup, settings=(*setup.settings, use), options=options)
        specification = specified(setup, ends, self._machines, profiled=profiled)
        yield from map(Planned, steps.measurement(specification, self._features))


def _commands(step: SettingStep) -> Iterator[Planned]:
    of = setting(step.name)
    read = Planned(Step(step.role, steps.SETTINGS, of.read(step.interface, step.options)))
    yield read
    if step.act == "restore":
        text = f"{step.name}: back to how it was found"
        yield Planned(Remark(step.role, steps.SETTINGS, text))
        yield read
    if step.act == "set":
        for command in of.change(step.interface, {}, step.options):
            words = json.dumps(step.options, ensure_ascii=False).replace('"', "").strip("{}")
            yield Planned(Step(step.role, steps.SETTINGS, command), f"{step.name}: {words}")
        yield read
