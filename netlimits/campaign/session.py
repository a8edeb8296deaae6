"""The session of a campaign: it claims connected hosts, and restores them at the end."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from types import MappingProxyType

from netlimits.archive.store import Archive
from netlimits.campaign.preparation import Preparation
from netlimits.campaign.recorder import Recorder
from netlimits.campaign.specifications import Specification, Specifications
from netlimits.checks.survey import Survey
from netlimits.errors import ArchiveUnwritable, ConnectionLost, HostError
from netlimits.evidence import facts
from netlimits.experiment.plan import Plan
from netlimits.hosts import leftovers
from netlimits.hosts.base import Host
from netlimits.hosts.connect import within_budget
from netlimits.hosts.servers import Servers
from netlimits.hosts.threads import concurrently
from netlimits.model import Machine, Run
from netlimits.restore.changes import Changes
from netlimits.restore.comparison import StateComparison, sets_of
from netlimits.restore.guard.guards import PATIENCE
from netlimits.restore.restoration import CampaignLog, guards, restore_all


class Session:
    """The hosts that one process uses for a campaign, with their settings and claims.

    A host takes part in one attempt at a time; between attempts only the schedule's thread uses it.
    So only one thread at a time uses the state of a single host: `Recorder`, `Changes`, `Servers`,
    `Preparation`, and the seconds that it has to reconnect. Locks protect the state that all hosts
    share: the journal (`Archive`) and the claims (`Claims`).
    """

    def __init__(
        self,
        archive: Archive,
        plan: Plan,
        survey: Survey,
        hosts: Mapping[str, Host],
        connect: Callable[[Machine], Host],
        guard: float | None = PATIENCE,
    ) -> None:
        self.archive = archive
        self.plan = plan.leaving_out(survey.skipped)
        self.survey = survey
        self.hosts: Mapping[str, Recorder] = MappingProxyType(
            {role: Recorder(host) for role, host in hosts.items()}
        )
        self.guards = guards(archive, self.host, guard)
        self.changes = Changes(self.host, CampaignLog(archive, self.guards, survey.facts))
        self.states = StateComparison(archive, self.host, sets_of(plan.experiment, survey.machines))
        self.servers = Servers()
        self.preparation = Preparation(survey.machines)
        self.ways: dict[tuple[str, ...], str] = {}
        self._specifications = Specifications(self.plan, survey.machines, survey.facts)
        self._connect = connect
        self._budget = {role: host.patience.seconds for role, host in hosts.items()}
        self._failures: dict[str, tuple[float, str]] = {}

    @contextmanager
    def open(self) -> Iterator[None]:
        """Claim the hosts; at the end stop servers, restore settings and close connections."""
        with ExitStack() as last:  # undone in reverse order, even after errors
            for host in self.hosts.values():
                last.callback(host.close)
            last.push(self._synced)
            self.guards.claim()
            last.callback(restore_all, self.changes, self.guards, self.states)
            last.callback(self.servers.stop)
            self.states.take()
            yield

    @property
    def changed_by_others(self) -> list[str]:
        """The changes that others made to the hosts' network state, one line each."""
        return self.states.result.others

    def specification(self, run: Run) -> Specification:
        return self._specifications.for_run(run)

    def _synced(self, kind: type[BaseException] | None, *_: object) -> None:
        """Write the journal to disk. An error in writing does not replace an earlier error."""
        try:
            self.archive.sync()
        except ArchiveUnwritable:
            if kind is None:
                raise

    def host(self, role: str) -> Recorder:
        """Return the host of a role. Reconnect first if it is lost and no attempt uses it."""
        if self.hosts[role].lost and not self.hosts[role].is_recording:
            self.connect_again(role)
        return self.hosts[role]

    def lost(self, roles: Iterable[str]) -> list[str]:
        return [role for role in roles if self.hosts[role].lost]

    def renew(self, roles: Collection[str]) -> None:
        self.guards.for_roles(roles).renew(0.0)

    def cut_short(self, roles: Iterable[str]) -> None:
        concurrently(lambda role: self.hosts[role].cut_short(), roles)

    def connect_again(
        self, role: str, waiting: Callable[[], AbstractContextManager[None]] = nullcontext
    ) -> None:
        """Reconnect to a host, and end the processes that the lost connection left."""
        for last in (False, True):  # a new connection may be lost at once
            shells = self._logged_in(role, waiting)
            try:
                self._refuse_another_boot(role)
                leftovers.end(self.hosts[role], shells)
            except ConnectionLost:
                if last:
                    raise
            else:
                return

    def _logged_in(
        self, role: str, waiting: Callable[[], AbstractContextManager[None]]
    ) -> Sequence[int]:
        """Log in again and record it. Return the PIDs of the old connection's shells.

        The tries together take at most the seconds in the host's budget.

        Raises ConnectionLost if the login fails. After a failure, each call tries only one login,
        and only after the host's patience has passed since the last one. So a restore, which uses
        the host many times, does not wait each time.
        """
        host, began = self.hosts[role], time.monotonic()
        machine = self.survey.machines[role]
        failed, why = self._failures.get(role, (-math.inf, ""))
        if began < failed + host.patience.seconds:
            raise ConnectionLost(why)
        try:
            with waiting():
                new_host, tries = within_budget(lambda: self._connect(machine), self._budget[role])
        except HostError as error:
            self._budget[role] = 0
            why = f"could not reconnect: {error}"
            self._failures[role] = time.monotonic(), why
            raise ConnectionLost(why) from None
        why = host.lost
        shells = host.replace(new_host)
        seconds = round(time.monotonic() - began, 3)
        self.archive.append("reconnected", role=role, reason=why, tries=tries, seconds=seconds)
        return shells

    def _refuse_another_boot(self, role: str) -> None:
        answer = self.hosts[role].run(facts.BOOT_ID.command(""))
        before, now = facts.value(self.survey.facts[role], "boot_id"), answer.stdout.strip()
        if before and now and now != before:
            self.guards.forget(role)
            raise HostError(
                f"it rebooted during the campaign (boot {before} is now {now}): its settings are "
                "lost, and the campaign stops; `netlimits resume --accept-changed-hosts` continues",
                host=role,
            )
