"""What a run would have hosts do, in order, without a host: for `netlimits plan --commands`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from netlimits.campaign.measurement import TRACE_MARGIN, address, client_command
from netlimits.campaign.specifications import specified
from netlimits.evidence import EVIDENCE, cpu, trace
from netlimits.experiment import pacing
from netlimits.model import Command, Experiment, Machine, Run
from netlimits.settings import setting
from netlimits.tools import Features, tool


def commands(
    experiment: Experiment, run: Run, machines: Mapping[str, Machine], features: Features
) -> Iterator[tuple[str, Command]]:
    """(role, command) in the order of one run; a change is sent only where the host differs."""
    settings, specification = specified(experiment, run, machines)
    if specification.around.pace:
        best = pacing.ways(specification.tool, features)[0]
        use, options = pacing.paced(
            best, specification.around.pace, specification.ends["local"], specification.options
        )
        settings, specification = (*settings, use), replace(specification, options=options)
    for use in settings:
        for role in use.roles:
            interface = machines[role].interface or "INTERFACE"
            yield role, setting(use.name).read(interface, use.options)
            for command in setting(use.name).change(interface, {}, use.options):
                yield role, command
                yield role, setting(use.name).read(interface, use.options)

    (local,), remote = specification.ends["local"], specification.ends["remote"]
    for role in remote:
        yield (
            role,
            tool(specification.tool).server(
                specification.options, address(machines, specification, role)
            ),
        )
    read = [
        (role, evidence.read(machines[role].interface or "INTERFACE"))
        for role in (local, *remote)
        for evidence in EVIDENCE
    ]
    cpus = [(role, cpu.READ) for role in (local, *remote)]
    yield from (*read, *cpus)
    if specification.around.trace:
        seconds = tool(specification.tool).seconds(specification.options) + TRACE_MARGIN
        for role in specification.around.trace.roles:
            interface = machines[role].interface or "INTERFACE"
            yield role, trace.command(interface, specification.around.trace, seconds, None)
    yield local, client_command(specification, features, machines)
    yield from (*cpus, *read)
