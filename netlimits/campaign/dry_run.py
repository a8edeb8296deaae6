"""What a run would have hosts do, in order, without a host: for `netlimits plan --commands`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from netlimits.campaign import steps
from netlimits.campaign.specifications import specified
from netlimits.campaign.steps import Step
from netlimits.experiment import pacing
from netlimits.model import Ends, Machine, Setup
from netlimits.restore.originals import OF_QUEUES
from netlimits.settings import setting
from netlimits.tools import Features


def commands(
    setup: Setup, ends: Ends, machines: Mapping[str, Machine], features: Features
) -> Iterator[Step]:
    """The steps of a run of one configuration; a change is sent only where the host differs.

    Left out is what no experiment says: claims, guards and notes, and looks whether a server or
    tcpdump listens already. INTERFACE and ADDRESS stand for what only a host tells.
    """
    machines = {
        role: replace(machine, interface=machine.interface or "INTERFACE")
        for role, machine in machines.items()
    }
    if setup.around.pace:
        best = pacing.ways(setup.tool, features)[0]
        use, options = pacing.paced(
            setup.tool, best, setup.around.pace, ends["local"], setup.options
        )
        setup = replace(setup, settings=(*setup.settings, use), options=options)
    settings = setup.settings
    queues = {role for use in settings if use.name == "channels" for role in use.roles}
    for use in settings:
        for role in use.roles if use.name in OF_QUEUES else ():
            if role in queues:  # `channels` changes them too: what was found is read before
                interface = machines[role].interface or ""
                read = setting(use.name).read(interface, use.options)
                yield Step(role, steps.SETTINGS, read)
    for use in settings:
        for role in use.roles:
            interface = machines[role].interface or ""
            read = setting(use.name).read(interface, use.options)
            yield Step(role, steps.SETTINGS, read)
            for command in setting(use.name).change(interface, {}, use.options):
                yield Step(role, steps.SETTINGS, command)
            yield Step(role, steps.SETTINGS, read)
    yield from steps.measurement(specified(setup, ends, machines), features, machines)
