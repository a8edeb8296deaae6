"""A measurement: the tool's client between two readings of the evidence on every host."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager

from netlimits.archive import raw
from netlimits.campaign import steps
from netlimits.campaign.interrupt import Stopping
from netlimits.campaign.recorder import Recorder
from netlimits.campaign.specifications import Specification
from netlimits.campaign.steps import Step
from netlimits.errors import HostError
from netlimits.evidence import drops, profile, trace
from netlimits.hosts.base import Server
from netlimits.hosts.servers import Servers
from netlimits.hosts.threads import concurrently
from netlimits.model import Command, Completed
from netlimits.tools import Features, tool

BEGIN = 20.0
"""Maximum seconds to wait until drops are counted: bpftrace compiles its program first."""


def measure(
    hosts: Mapping[str, Recorder],
    servers: Servers,
    stop: Stopping,
    specification: Specification,
    features: Features,
    last: Mapping[str, Command],
) -> dict[str, Completed]:
    """Run the client between two readings of the evidence on every host.

    `last` has a command for each role, which is executed after the second reading. Return its
    answers by role.
    """
    listening = {}
    for role in specification.ends["remote"]:
        hosts[role].step = steps.SERVER
        at = steps.address(specification, role)
        listening[role] = servers.serve(
            tool(specification.tool), specification.options, hosts[role], at, stop.check
        )
        if other := specification.other_server:
            servers.serve(
                tool(other),
                {},
                hosts[role],
                steps.bulk_server(specification, at),
                stop.check,
            )
    planned = steps.measurement(specification, features, listening)
    try:
        with ExitStack() as background:
            for step in planned.samplers:
                background.enter_context(_sampled(step, hosts[step.role]))
            counting = [
                background.enter_context(_sampled(step, hosts[step.role])) for step in planned.drops
            ]
            for step in planned.traces:
                background.enter_context(
                    _begun(step, hosts, trace.listens, "tcpdump does not listen")
                )
            _take(planned.before, hosts)
            _wait_until_counted(counting)
            for step in planned.profiles:
                background.enter_context(
                    _begun(step, hosts, profile.records, "perf does not record")
                )
            client = hosts[planned.client.role]
            client.step = planned.client.name
            with stop.interruptible():
                client.run(planned.client.command)
            questions = (Step(role, raw.GUARD, command) for role, command in last.items())
            after = [step for step in planned.after if step.role in hosts]
            answers = _take((*after, *questions), hosts)
            with stop.interruptible():
                concurrently(lambda step: _fold(step, hosts[step.role]), planned.folds)
    finally:
        for role in listening:
            if completed := servers.end_run(tool(specification.tool), hosts[role]):
                hosts[role].keep(completed, steps.SERVER)
    return {role: answers[role][-1] for role in last}


def _take(planned: Sequence[Step], hosts: Mapping[str, Recorder]) -> dict[str, list[Completed]]:
    """Execute steps, on several hosts in parallel, and return each role's answers in order."""
    by_role: dict[str, list[Step]] = {}
    for step in planned:
        by_role.setdefault(step.role, []).append(step)

    begun, answers = {}, {}
    errors: list[HostError] = []
    for role, own in by_role.items():
        try:
            begun[role] = hosts[role].begin_in_turn([s.command for s in own], [s.name for s in own])
        except HostError as error:
            errors.append(error)
    for role, wait in begun.items():  # after an error, still read the answers of the other hosts
        try:
            answers[role] = wait()
        except HostError as error:
            errors.append(error)
    if errors:
        raise errors[0]
    return answers


@contextmanager
def _sampled(step: Step, host: Recorder) -> Iterator[Server]:
    """Run a background command during the `with` block, and record its output."""
    look = host.background(step.command)
    try:
        yield look
    finally:
        host.keep_background(look, step.name)


def _wait_until_counted(counting: Sequence[Server]) -> None:
    """Wait until drops are being counted; a host that cannot count them does not delay the run."""
    deadline = time.monotonic() + BEGIN
    for each in counting:
        while each.alive() and not drops.begun(each.stderr) and time.monotonic() < deadline:
            time.sleep(0.01)


def _fold(step: Step, host: Recorder) -> None:
    """Fold the profile that a host recorded. Raises HostError if that fails."""
    host.step = step.name
    completed = host.run(step.command)
    if completed.status != 0 or completed.timed_out:
        why = completed.complaint or "no reason"
        if completed.timed_out:
            why = f"it took longer than {profile.FOLD_SECONDS:g} s; lower its frequency"
        raise HostError(f"the profile cannot be read: {why}", host=host.name)


@contextmanager
def _begun(
    step: Step, hosts: Mapping[str, Recorder], begun: Callable[[str], bool], problem: str
) -> Iterator[None]:
    """Run a program during the `with` block.

    The block begins when `begun` returns True for the program's messages. Raises HostError with
    `problem` if the program ends before, or takes too long.
    """
    host = hosts[step.role]
    server = host.serve(step.command)
    deadline = time.monotonic() + host.patience.seconds
    while not begun(server.stderr):
        if not server.alive() or time.monotonic() > deadline:
            printed = server.stop().complaint
            host.run(Command(("true",)))  # raises ConnectionLost if the connection is lost
            raise HostError(f"{problem}: {printed or 'no reason'}", host=host.name)
        time.sleep(0.02)
    try:
        yield
    finally:
        host.keep(server.stop(), step.name)
