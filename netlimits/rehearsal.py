"""What a run would have hosts do, in order, without a host: for `netlimits plan --commands`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from netlimits import pace
from netlimits.evidence import EVIDENCE, cpu, trace
from netlimits.measuring import TRACE_MARGIN, address, client_command
from netlimits.model import Command, Experiment, Machine, Run
from netlimits.outcome import asked as resolved
from netlimits.settings import setting
from netlimits.tools import tool
from netlimits.tools.base import Features


def commands(
    experiment: Experiment, run: Run, machines: Mapping[str, Machine], features: Features
) -> Iterator[tuple[str, Command]]:
    """(role, command) in the order of one run; a change is sent only where the host differs."""
    settings, asked = resolved(experiment, run, machines)
    if asked.around.pace:
        best = pace.ways(asked.tool, features)[0]
        use, options = pace.paced(best, asked.around.pace, asked.ends["local"], asked.options)
        settings, asked = (*settings, use), replace(asked, options=options)
    for use in settings:
        for role in use.roles:
            interface = machines[role].interface or "INTERFACE"
            yield role, setting(use.name).read(interface, use.options)
            for command in setting(use.name).change(interface, {}, use.options):
                yield role, command
                yield role, setting(use.name).read(interface, use.options)

    (local,), remote = asked.ends["local"], asked.ends["remote"]
    for role in remote:
        yield role, tool(asked.tool).server(asked.options, address(machines, asked, role))
    read = [
        (role, evidence.read(machines[role].interface or "INTERFACE"))
        for role in (local, *remote)
        for evidence in EVIDENCE
    ]
    cpus = [(role, cpu.READ) for role in (local, *remote)]
    yield from (*read, *cpus)
    if asked.around.trace:
        seconds = tool(asked.tool).seconds(asked.options) + TRACE_MARGIN
        for role in asked.around.trace.roles:
            interface = machines[role].interface or "INTERFACE"
            yield role, trace.command(interface, asked.around.trace, seconds, None)
    yield local, client_command(asked, features, machines)
    yield from (*cpus, *read)
