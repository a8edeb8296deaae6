"""The steps of a measurement, as data: the runner executes them, and `plan --commands` prints them.

The steps are executed in this order:

1. the tool's servers
2. samplers and drop counters, early enough to have started before the client
3. traces
4. a first reading of each host
5. profiles
6. the client
7. the end of the profiles, and a second reading of each host
8. the folding of the profiles

Both readings have the evidence, the CPU times, and the state that others may change. The CPU times
are read closest to the client's run. The second reading also has the run's settings.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace

from netlimits.archive import raw
from netlimits.campaign import parallel, under_load
from netlimits.campaign.specifications import Specification
from netlimits.evidence import cpu, drops, profile, sample, trace, watch
from netlimits.evidence.counted import EVIDENCE
from netlimits.model import Command, ServerAddress
from netlimits.settings import setting
from netlimits.tools import Features, tool

SAMPLER_MARGIN = 15.0
"""Seconds by which samplers and drop counters may outlast a run."""

TRACE_MARGIN = 3.0
"""Seconds by which a trace may outlast its run."""

PROFILE_MARGIN = 30.0
"""Seconds by which a profile may outlast its run, if it is not ended after the client."""

COUNTED_FROM = 3.0
"""Minimum seconds of a run for drop counts: on slow hosts bpftrace takes a second to start."""

SERVER, SETTINGS = "server", "settings"

PROFILE_BEGIN, PROFILE_END = "profile begins", "profile ends"


@dataclass(frozen=True, slots=True)
class Step:
    """A command of a run on the host of a role; `name` is its step in the raw output."""

    role: str
    name: str
    command: Command


@dataclass(frozen=True, slots=True)
class Steps:
    """The steps of one measurement, in order; steps of one kind run on all hosts at once."""

    servers: tuple[Step, ...]
    samplers: tuple[Step, ...]
    drops: tuple[Step, ...]
    traces: tuple[Step, ...]
    before: tuple[Step, ...]
    profiles: tuple[Step, ...]
    client: Step
    after: tuple[Step, ...]
    folds: tuple[Step, ...]

    def __iter__(self) -> Iterator[Step]:
        for kind in fields(self):
            steps = getattr(self, kind.name)
            yield from (steps,) if isinstance(steps, Step) else steps


def measurement(
    specification: Specification,
    features: Features,
    servers: Mapping[str, ServerAddress] | None = None,
) -> Steps:
    """Return the steps of a specification; `servers` has the addresses of servers that listen."""
    (client, *_), remote = specification.ends["local"], specification.ends["remote"]
    roles = (client, *remote)
    machines = specification.machines
    addresses = {role: address(specification, role) for role in remote}
    addresses |= servers or {}
    server = tool(specification.tool).server

    def evidence(step: str) -> tuple[Step, ...]:
        return tuple(
            Step(role, f"{step} {kind.name}", kind.read(machines[role].interface or ""))
            for role in roles
            for kind in EVIDENCE
        )

    def watched(step: str, act: str) -> tuple[Step, ...]:
        return tuple(Step(role, step, _watch(specification, act, role)) for role in roles)

    def cpus(step: str) -> tuple[Step, ...]:
        return tuple(Step(role, step, cpu.READ) for role in roles)

    seconds = specification.seconds + SAMPLER_MARGIN
    counting = drops.command(seconds, separate=specification.one_kernel)
    begun, ended, folded = _profiles(specification)
    servers_beside = tuple(
        Step(role, SERVER, tool(of).server({}, bulk_server(specification, addresses[role])))
        for of in filter(None, (specification.other_server,))
        for role in remote
    )
    return Steps(
        tuple(Step(role, SERVER, server(specification.options, addresses[role])) for role in remote)
        + servers_beside,
        tuple(
            Step(role, raw.SAMPLE, _sampler(specification, role, addresses[remote[0]].port))
            for role in roles
        ),
        tuple(
            Step(role, raw.DROPS, counting)
            for role in roles
            if role in specification.drops and specification.seconds >= COUNTED_FROM
        ),
        tuple(_traces(specification)),
        watched(raw.WATCH_BEFORE, watch.BEGIN) + evidence(raw.BEFORE) + cpus(raw.BEFORE),
        begun,
        Step(client, raw.CLIENT, _client(specification, features, addresses)),
        ended
        + cpus(raw.AFTER)
        + evidence(raw.AFTER)
        + tuple(Step(role, raw.SETTING_AFTER, read) for role, read in settings(specification))
        + watched(raw.WATCH_AFTER, watch.END),
        folded,
    )


def _profiles(specification: Specification) -> tuple[tuple[Step, ...], ...]:
    """Return the steps that begin, end and fold profiles."""
    of = specification.profiling
    if of is None:
        return (), (), ()
    seconds = specification.seconds + PROFILE_MARGIN
    return (
        tuple(Step(r, PROFILE_BEGIN, profile.record(r, of.frequency, seconds)) for r in of.roles),
        tuple(Step(r, PROFILE_END, profile.end(r)) for r in of.roles),
        tuple(Step(r, raw.PROFILE, profile.fold(r, of.frequency)) for r in of.roles),
    )


def settings(specification: Specification) -> Iterator[tuple[str, Command]]:
    """Yield the role and the command to read each setting of a run, in the experiment's order.

    On measuring hosts, `evidence.watch` reads some settings fully; they are left out.
    """
    watched = {role for _, role in specification.roles()}
    for use in specification.setup.settings:
        for role in use.roles:
            of = setting(use.name)
            if of.traits.watched == "fully" and role in watched:
                continue
            interface = specification.machines[role].interface or ""
            yield role, of.read(interface, use.options)


def _watch(specification: Specification, act: str, role: str) -> Command:
    ends = specification.ends
    others = ends["remote"] if role in ends["local"] else ends["local"]
    family, machines = specification.around.family, specification.machines
    peers = [machines[other].over(family).address for other in others]
    return watch.command(act, machines[role].interface or "", filter(None, peers))


def address(specification: Specification, role: str) -> ServerAddress:
    """Return where the tool's server of a role listens; ADDRESS stands for an unknown address."""
    unknown = "::ADDRESS" if specification.around.family == "ipv6" else "ADDRESS"
    return ServerAddress(specification.address(role) or unknown, _port(specification))


def bulk_server(specification: Specification, server: ServerAddress) -> ServerAddress:
    """Return the address of the bulk streams' server, which may be the test's own server."""
    other = specification.other_server
    return replace(server, port=tool(other).port) if other else server


def _port(specification: Specification) -> int:
    """Return the server's port as configured; `Servers` may choose another one."""
    return int(specification.options.get("port", tool(specification.tool).port))


def _traces(specification: Specification) -> Iterator[Step]:
    """Yield a packet trace of the data for each data link that the experiment names."""
    if not specification.around.trace:
        return
    seconds = specification.seconds + TRACE_MARGIN
    control = _port(specification) if tool(specification.tool).separate_control else None
    for role in specification.around.trace.roles:
        interface = specification.machines[role].interface or ""
        command = trace.command(interface, specification.around.trace, seconds, control)
        yield Step(role, raw.TRACE, command)


def _sampler(specification: Specification, role: str, port: int) -> Command:
    here = "local" if role in specification.ends["local"] else "remote"
    of = tool(specification.tool)
    client, server = of.processes(specification.options)
    program = client if here == "local" else server
    others = specification.ends["remote" if here == "local" else "local"]
    peers = tuple(specification.address(other) or "" for other in others)
    length, counting = specification.seconds, 0.0
    udp = specification.transfer.transport == "udp"
    carrying = len(specification.bulk_options())
    if not udp:
        ways = 2 if specification.options.get("bidirectional") else 1
        flows = int(specification.options.get("parallel", 1)) * ways
        carrying += specification.connections * flows
    measured = float(specification.options.get("seconds", length))
    if here in specification.counting:
        # the first and last interval with data are incomplete: short intervals waste less
        often = min(1.0, length / 5, max(measured / 25, specification.connections / 50))
        if bulk := specification.around.bulk:
            often = min(often, bulk.lead / 4)
        interval = abs(float(specification.options.get("interim_seconds", often)))
        counting = min(interval, often)
    # sample only the first repetition: the next one has new connections
    once = float(specification.options.get("omit", 0)) + measured
    other = specification.other_server
    extra_tools = tool(other).processes({}) if other else ()
    uses = specification.setup.settings
    if any(use.name == "load" and role in use.roles for use in uses):
        extra_tools = (*extra_tools, "stress-ng")
    return sample.command(
        *(program, peers, port),
        seconds=once,
        counting=counting,
        connections=specification.connections,
        carrying=carrying,
        interface=specification.machines[role].interface or "",
        tools=(client, server, *extra_tools),
        deadline=length + SAMPLER_MARGIN,
    )


def _client(
    specification: Specification, features: Features, addresses: Mapping[str, ServerAddress]
) -> Command:
    """Return the client's command, or one that runs several clients and bulk streams at once."""
    make = tool(specification.tool).client
    if bulk := specification.around.bulk:
        (server,) = (addresses[role] for role in specification.ends["remote"])
        of_streams, at = tool(specification.stream_tool).client, bulk_server(specification, server)
        streams = [of_streams(o, features, at) for o in specification.bulk_options()]
        return under_load.with_transactions(
            streams, make(specification.options, features, server), bulk
        )
    return parallel.together(
        [
            make(specification.options, features, addresses[role])
            for role in specification.ends["remote"]
            for _ in range(specification.around.streams)
        ]
    )
