"""Carry out or resume a shard of a campaign on a worker.

The worker may be on any machine that sees the campaign's folder under the same path and may log in
to the hosts. `carry_out` takes and returns plain values, which Dask transfers.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from netlimits import __version__
from netlimits.archive import logbook
from netlimits.archive.logbook import Logbook
from netlimits.archive.records import Outcomes
from netlimits.archive.store import Archive, written
from netlimits.campaign.interrupt import Interrupted
from netlimits.campaign.mesh import shards
from netlimits.campaign.mesh.schedule import PULSE, every_pair
from netlimits.campaign.session import Session
from netlimits.checks.survey import Survey
from netlimits.errors import (
    ArchiveError,
    ArchiveInUse,
    ArchiveUnwritable,
    ConnectionLost,
    HostError,
    HostInUse,
    NetlimitsError,
    one_line,
)
from netlimits.hosts import connect
from netlimits.hosts.base import Host
from netlimits.hosts.patience import Patience
from netlimits.hosts.threads import concurrently
from netlimits.model import Machine, Run
from netlimits.restore.guard.guards import PATIENCE, RESTORE_SECONDS
from netlimits.restore.restoration import restore_from_journal
from netlimits.tools import Features

if TYPE_CHECKING:
    from netlimits.archive.copies import RunsCopy

PAUSE = 2.0
"""Seconds between two attempts to lock a shard or claim a host that another process still holds. It
must be longer than an SSH command takes, and much shorter than a guard's patience (300 s)."""


@dataclass(frozen=True, slots=True)
class Order:
    """The work order of a worker: the campaign, its machines, and one of its shards.

    `attempts` has the number of the last attempt at each run that began earlier. `guard` and
    `patience` are in seconds, as for `run`. The shard's runs are copied to `share`, with `session`
    in their name.
    """

    version: str
    folder: str
    campaign: str
    machines: Mapping[str, Machine]
    features: Mapping[str, Features]
    shard: shards.Shard
    attempts: Mapping[int, int]
    guard: float | None
    patience: float
    at_once: int
    share: RunsCopy | None = None
    session: str = ""


@dataclass(frozen=True, slots=True)
class ShardOutcome:
    """The outcome of a shard: lost hosts with reasons, the error that stopped it, its exit status.

    `unshared` is the reason why the runs could not be copied to the shared place.
    """

    gone: Mapping[str, str] = field(default_factory=dict)
    problem: str = ""
    exit_status: int = 0
    unshared: str = ""


class StopFile:
    """A file in the campaign's folder that asks workers to stop."""

    def __init__(self, campaign: Archive) -> None:
        self._path = shards.folder(campaign) / shards.STOP

    def check(self) -> None:
        if self._path.exists():
            raise Interrupted("its campaign is being ended")

    @contextmanager
    def interruptible(self) -> Iterator[None]:
        """Check for a request to stop only before the `with` block, so that its result is kept."""
        self.check()
        yield


def carry_out(order: Order) -> ShardOutcome:
    """Carry out every run of a shard that has no outcome; hosts are restored in any case."""
    try:
        campaign = _campaign(order)
        stop = StopFile(campaign.archive)
        stop.check()
        path = shards.folder(campaign.archive) / order.shard.name
        if shards.is_done(path).exists():
            return ShardOutcome()
        archive = _archive(campaign, order, path)
        limit = time.monotonic() + (order.guard or PATIENCE) + RESTORE_SECONDS
        _until(limit, stop, archive.lock)
        try:
            outcome = _work(campaign, archive, order, stop, limit)
            return replace(outcome, unshared=_share(campaign, archive, order))
        finally:
            archive.close()
    except NetlimitsError as error:
        return ShardOutcome(problem=str(error), exit_status=error.exit_status)


def _share(campaign: Logbook, archive: Archive, order: Order) -> str:
    """Copy the shard's runs to `order.share`; return the error as text, or ""."""
    if not order.share:
        return ""
    try:
        order.share.add(f"{order.shard.name}-{order.session}", campaign, archive)
    except Exception as error:  # whatever failed, the journal has the runs
        return one_line(error) or repr(error)
    return ""


def _work(
    campaign: Logbook, archive: Archive, order: Order, stop: StopFile, limit: float
) -> ShardOutcome:
    patience = Patience(order.patience)

    def reconnect(machine: Machine) -> Host:
        return connect.connect(machine, patience)

    hosts, gone = _reached(archive.machines, reconnect, patience)
    reached = order.shard.without(gone)
    machines = {role: m for role, m in archive.machines.items() if role in hosts}
    archive.bind(machines)
    lost: Mapping[str, str] = {}
    try:
        if any(event["event"] == "opened" for event in archive.events()):
            _until(limit, stop, lambda: restore_from_journal(archive, _Reached(hosts)))
        session = Session(
            archive,
            campaign.plan,
            _survey(campaign, machines, order),
            hosts,
            reconnect,
            order.guard,
        )
        pending = partial(_pending, reached.runs, order.attempts)
        archive.append("opened")
        try:
            with session.open():
                every_pair(
                    session, stop, lambda _: None,
                    at_once=order.at_once, pending=pending, look_every=PULSE,
                )  # fmt: skip
        finally:
            lost = {role: host.lost for role, host in session.hosts.items() if host.lost}
        archive.append("closed")
    except NetlimitsError as error:
        if isinstance(error, Interrupted | ArchiveUnwritable) or not (gone or lost):
            raise
        return ShardOutcome({**gone, **lost}, str(error), error.exit_status)
    finally:
        for host in hosts.values():
            with suppress(HostError):
                host.close()
    return ShardOutcome(gone)


def _pending(runs: Iterable[Run], attempts: Mapping[int, int], before: Outcomes) -> Iterator[Run]:
    """Yield a shard's runs that have no outcome.

    `attempts` has the number of each run's last attempt in the campaign's journal. It replaces the
    number in `before`, from the shard's journal, if that is lower.
    """
    for run in runs:
        if run.number not in before:
            first = attempts.get(run.number, 0)
            before.attempts[run.number] = max(before.attempts.get(run.number, 0), first)
            yield run


def _campaign(order: Order) -> Logbook:
    """Return the campaign's folder. Raises ArchiveError if this worker does not see it."""
    if order.version != __version__:
        raise ArchiveError(
            f"a worker has netlimits {__version__}, and the campaign {order.version}"
        )
    with suppress(ArchiveError):
        campaign = logbook.open(order.folder)
        if campaign.archive.identity == order.campaign:
            return campaign
    raise ArchiveError(
        f"{order.folder}: a worker does not see the campaign there; its folder must be shared, "
        "under one path, with all workers"
    )


def _archive(campaign: Logbook, order: Order, path: Path) -> Archive:
    """Return the shard's folder; if it is missing, create it atomically."""
    if not (path / "campaign.json").exists():
        roles = order.shard.hosts
        machines = {role: order.machines[role] for role in roles}
        made_at = path.with_name(f".{order.shard.name}-{secrets.token_hex(4)}")
        about = {
            "netlimits": __version__,
            "experiment": campaign.experiment.name,
            "seed": campaign.experiment.repeat.seed,
            "created": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
            "lease": secrets.token_hex(8),
            "shared_kernel": campaign.archive.meta["shared_kernel"],
            "machines": {role: written(machine) for role, machine in machines.items()},
        }
        Archive.create(made_at, about, hosts={r: campaign.archive.facts(r) for r in roles})
        with suppress(OSError):  # another worker was quicker
            made_at.rename(path)
    return Archive.open(path)


def _reached(
    machines: Mapping[str, Machine], reconnect: Callable[[Machine], Host], patience: Patience
) -> tuple[dict[str, Host], dict[str, str]]:
    """Log in to the hosts. Return those that answer within `patience`, and the others' errors."""
    first = connect.logins(machines, patience)
    hosts = {role: host for role, host in first.items() if not isinstance(host, HostError)}
    gone: dict[str, str] = {}

    def call(role: str) -> None:
        try:
            host, _ = connect.within_budget(lambda: reconnect(machines[role]), patience.seconds)
            hosts[role] = host
        except HostError as error:
            gone[role] = str(error).removeprefix(f"{role}: ")

    concurrently(call, [role for role in machines if role not in hosts])
    return hosts, gone


def _survey(campaign: Logbook, machines: Mapping[str, Machine], order: Order) -> Survey:
    facts = {role: campaign.archive.facts(role) for role in machines}
    return Survey(machines, facts, order.features, campaign.skipped)


class _Reached(dict[str, Host]):
    """The reached hosts by role; any other role raises ConnectionLost."""

    def __missing__(self, role: str) -> Host:
        raise ConnectionLost("it cannot be reached", host=role)


def _until(limit: float, stop: StopFile, act: Callable[[], object]) -> None:
    """Call `act` until it succeeds or `limit` passes, since lost workers keep locks for a while."""
    while True:
        stop.check()
        try:
            act()
        except (ArchiveInUse, HostInUse):
            if time.monotonic() > limit:
                raise
        else:
            return
        time.sleep(PAUSE)
