"""Carry out one attempt at a run, from its `start` event in the journal to its `end` event."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from netlimits.archive import raw
from netlimits.archive.raw import RawEntry
from netlimits.archive.records import end_fields, run_fields
from netlimits.campaign import measurement, steps
from netlimits.campaign.controller import Controller, controller_figures
from netlimits.campaign.figures import interpret
from netlimits.campaign.interrupt import Interrupted, Stopping
from netlimits.campaign.preparation import SettingStep, Turn
from netlimits.campaign.recorder import Recorder, recording
from netlimits.campaign.session import Session
from netlimits.campaign.specifications import Specification
from netlimits.errors import (
    ConnectionLost,
    HostError,
    NetlimitsError,
    SettingError,
    ToolFailure,
)
from netlimits.evidence import profile
from netlimits.experiment import pacing
from netlimits.hosts.threads import concurrently
from netlimits.model import Measurement, Record, Run, Status
from netlimits.restore.guard.guards import Guards
from netlimits.tools import Features

ATTEMPTS = 2
"""Maximum number of attempts at a run by one process. A lost connection leads to the second one."""


@dataclass(frozen=True, slots=True)
class PaceTurn:
    """A way to pace the sender: the turn that sets the qdisc, and the tool's options."""

    way: str
    turn: Turn
    options: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Context:
    """Everything that an attempt needs; it does not change during the attempt.

    `hosts` and `guards` belong to the attempt's roles. `turns` change the hosts' settings to those
    of the run. `paces` are ways to pace the traffic, which are tried until one is accepted.
    `longest` is the longest deadline of the client on any host, plus the time to fold profiles, in
    seconds.
    If a connection is lost, the run gets another attempt unless this one is the `last`.
    """

    session: Session
    stop: Stopping
    run: Run
    number: int
    last: bool
    specification: Specification
    features: Features
    hosts: Mapping[str, Recorder]
    guards: Guards
    turns: tuple[Turn, ...]
    paces: tuple[PaceTurn, ...]
    longest: float


def context(
    session: Session,
    stop: Stopping,
    roles: Collection[str],
    run: Run,
    number: int,
    last: bool,
) -> Context:
    """Return the context of the next attempt at a run, on the idle hosts of `roles`."""
    specification = session.specification(run)
    features = _features(session, specification)
    planned = steps.measurement(specification, features)
    hosts = {role: session.hosts[role] for role in roles}
    client = planned.client.command
    ways = _paces(session, specification, features)
    setup, ends = specification.setup, specification.ends
    pace = ways[0][1] if ways else None
    prepared = session.preparation
    return Context(
        session=session,
        stop=stop,
        run=run,
        number=number,
        last=last,
        specification=specification,
        features=features,
        hosts=hosts,
        guards=session.guards.for_roles(roles),
        turns=prepared.turns(setup, ends, pace, roles),
        paces=tuple(PaceTurn(way, prepared.paced(use), feature) for way, use, feature in ways),
        longest=max(host.patience.allow(client).deadline for host in hosts.values())
        + (profile.FOLD_SECONDS if planned.folds else 0),
    )


def carry_out(context: Context) -> Record:
    """Carry out one attempt, write its events to the journal, and return its record.

    An interrupted attempt is written to the journal too; then Interrupted is raised.
    """
    context.stop.check()
    lost = _keep_guards(context)
    run, archive = context.run, context.session.archive
    started, clock = time.time(), time.monotonic()
    archive.add("start", **run_fields(run), attempt=context.number, started=started)
    controller = Controller()
    specification = context.specification
    interrupted: Interrupted | None = None
    status: Status = "ok"
    reason = ""
    with recording(context.hosts.values()) as entries:
        try:
            if lost:
                raise lost
            specification = _prepare(context)
            archive.sync()
            _measure(context, specification)
        except (SettingError, HostError) as error:
            status, reason = _failed(context, error)
        except Interrupted as error:
            status, reason, interrupted = "interrupted", str(error), error
    cost = controller.cost()
    archive.sync()  # the attempt's `start` is on disk before its raw output
    digest = archive.raw.write(run.number, context.number, entries)
    measured: Measurement | None = None
    if status == "ok":
        try:
            measured = _read(specification, entries)
        except ToolFailure as error:
            status, reason = error.status, str(error)
    record = Record(
        run=run,
        attempt=context.number,
        status=status,
        reason=reason,
        started=started,
        duration_s=round(time.monotonic() - clock, 6),
        figures={**measured.figures, **controller_figures(cost)} if measured else {},
        interim=measured.interim if measured else (),
        raw=digest,
        cost=cost,
    )
    archive.add("end", **end_fields(record))  # synced to disk before the next measurement
    if interrupted:
        raise interrupted
    return record


def _keep_guards(context: Context) -> ConnectionLost | None:
    """Renew claims and guards for the length of the run. Return the error of a lost connection."""
    try:
        context.guards.keep(context.longest)
    except ConnectionLost as error:
        return error
    return None


def _failed(context: Context, error: Exception) -> tuple[Status, str]:
    """Return the status and reason of an attempt that ended with this error."""
    lost = [host for host in context.hosts.values() if host.is_lost()]
    if not lost:
        return "failed", str(error)
    why = "; ".join(host.lost for host in lost)
    if not context.last:
        return "interrupted", why
    return "failed", f"the connection was lost in every attempt: {why}"


def _prepare(context: Context) -> Specification:
    """Apply a run's settings and pace. Return the specification with the pace that was applied."""
    specification, session = context.specification, context.session
    _label(context, steps.SETTINGS)
    for turn in context.turns:
        apply_turn(context.session, context.stop, turn)
    refused = []
    for pace in context.paces:
        try:
            apply_turn(context.session, context.stop, pace.turn)
        except SettingError as error:
            refused.append(f"{pace.way}: {error.problem}")
            continue
        session.ways[specification.ends["local"]] = pace.way
        return replace(specification, setup=replace(specification.setup, options=pace.options))
    if refused:
        raise SettingError(f"the sender cannot be paced: {'; '.join(refused)}", setting="pace")
    return specification


def apply_turn(session: Session, stop: Stopping, turn: Turn) -> None:
    """Execute a turn: the steps of one machine in order, different machines in parallel."""
    stop.check()
    session.preparation.begins(turn)
    machines: defaultdict[str | None, list[SettingStep]] = defaultdict(list)
    for step in turn:
        machines[session.survey.machines[step.role].ssh].append(step)

    def execute_each(steps: Sequence[SettingStep]) -> None:
        for step in steps:
            _execute(session, step)

    left, waits = [], []
    errors: list[Exception] = []
    for own in machines.values():
        try:
            wait = _begin(session, own)
        except Exception as error:
            errors.append(error)
        else:
            waits += [wait] if wait else []
            left += [] if wait else [own]
    for act in (session.archive.sync, lambda: concurrently(execute_each, left), *waits):
        try:  # after an error, still read the answers of the other hosts
            act()
        except Exception as error:
            errors.append(error)
    if errors:  # an error that ends the campaign precedes one that fails the run
        raise min(errors, key=lambda error: isinstance(error, SettingError | HostError))
    session.preparation.ended(turn)


def _begin(session: Session, steps: Sequence[SettingStep]) -> Callable[[], object] | None:
    """Begin a machine's step, and return a function that waits for its end.

    Return None if a thread must execute the steps instead: there are several, or the only one
    cannot begin at once (a restore, or a setting that must be read first).
    """
    if len(steps) > 1 or steps[0].act != "set":
        return None
    (step,) = steps
    return session.changes.begin(step.role, step.interface, step.name, step.options)


def _execute(session: Session, step: SettingStep) -> None:
    place = (step.role, step.interface, step.name)
    if step.act == "read":
        session.changes.look(*place, step.options)
    elif step.act == "restore":
        session.changes.restore_for_now(place)
    else:
        session.changes.reach(*place, step.options)


def _measure(context: Context, specification: Specification) -> None:
    hosts, session = context.hosts, context.session
    answers = measurement.measure(
        hosts, session.servers, context.stop, specification, context.features,
        context.guards.questions(),
    )  # fmt: skip
    _label(context, raw.GUARD)
    context.guards.fired(answers)


def _read(specification: Specification, entries: Sequence[RawEntry]) -> Measurement:
    """Parse the run's raw output. A bug in a parser fails only this run, with ToolFailure."""
    try:
        return interpret.read(specification, entries)
    except NetlimitsError:
        raise
    except Exception as error:
        raise ToolFailure(
            f"the tool's output could not be read ({error!r}); it is kept: please report this, "
            "and read it again with `netlimits parse`"
        ) from error


def _paces(
    session: Session, specification: Specification, features: Features
) -> list[tuple[str, Any, Mapping[str, Any]]]:
    """Return the ways to pace the sender, best first; [] if the run is not paced.

    If one way worked before, return only that way.
    """
    pace, local = specification.around.pace, specification.ends["local"]
    if pace is None:
        return []
    known = session.ways.get(local)
    ways = [known] if known else pacing.ways(specification.tool, features)
    return [
        (way, *pacing.paced(specification.tool, way, pace, local, specification.options))
        for way in ways
    ]


def _features(session: Session, specification: Specification) -> Features:
    features = session.survey.features
    program = specification.options.get("program", specification.tool)
    return features.get(program, features[specification.tool])


def _label(context: Context, step: str) -> None:
    """Set the name of the step that the hosts record with their next commands."""
    for host in context.hosts.values():
        host.step = step
