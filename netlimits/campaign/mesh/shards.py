"""Shards of a mesh: each has all pairs between two groups of hosts, and one process measures it.

In each block, the pairs within a group belong to the first shard that has this group. Shards are
ordered in rounds; in a round, no group is in two shards. Each shard has its own journal, in
`shards/NAME` of the campaign's folder, and claims its hosts with its own identity. Its journal is
copied into the campaign's journal.
"""

from __future__ import annotations

import itertools
import json
import random
import shutil
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from netlimits.archive import formats, records
from netlimits.archive.journal import Head
from netlimits.archive.store import Archive
from netlimits.errors import ArchiveError, HostError
from netlimits.experiment.mesh import rounds, workload
from netlimits.experiment.plan import Plan
from netlimits.hosts.base import Host
from netlimits.model import Machine, Mesh, Record, Run
from netlimits.restore.forget import forget_journal
from netlimits.restore.originals import Original
from netlimits.restore.restoration import restore_from_journal

FOLDER = "shards"
"""The folder of shards in a campaign's folder."""

STOP = "stop"
"""The file in the folder of shards that asks workers to end."""

COPIED = ("start", "end", "found", "put_back", "forgotten", "compared", "reconnected")
"""Events of a shard that are copied to the campaign's journal."""


@dataclass(frozen=True, slots=True)
class Shard:
    """The runs of one process, the groups of their hosts, and their minimum duration."""

    name: str
    groups: tuple[str, ...]
    runs: tuple[Run, ...]
    seconds: float

    @property
    def hosts(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(host for run in self.runs for host in ends(run)))

    def without(self, gone: Mapping[str, str]) -> Shard:
        return replace(self, runs=tuple(run for run in self.runs if not {*ends(run)} & {*gone}))


def ends(run: Run) -> tuple[str, str]:
    return str(run.values[Mesh.SENDER]), str(run.values[Mesh.RECEIVER])


def parted(machines: Mapping[str, Machine], at_once: int) -> list[list[str]]:
    """Divide the hosts into groups for `at_once` shards; hosts of one rack stay together."""
    racks: dict[str, list[str]] = defaultdict(list)
    for role, machine in machines.items():
        racks[f"group {machine.group}" if machine.group else role].append(role)
    count = min(2 * at_once, len(racks))
    groups: list[list[str]] = [[] for _ in range(count)]
    place = 0
    for taken, rack in enumerate(racks.values()):
        full = sum(map(len, groups)) >= (place + 1) * len(machines) / count
        if groups[place] and (full or len(racks) - taken < count - place):
            place = min(place + 1, count - 1)
        groups[place] += rack
    return [group for group in groups if group]


def shards(
    plan: Plan, pending: Iterable[Run], machines: Mapping[str, Machine], at_once: int, name: str
) -> Iterator[Shard]:
    """Yield the shards of the pending runs, in rounds that are shuffled with the plan's seed."""
    groups = parted(machines, at_once)
    of = {role: number for number, group in enumerate(groups) for role in group}
    chance = random.Random(plan.experiment.repeat.seed)  # noqa: S311  an order, not a secret
    racks = {role: machine.group for role, machine in machines.items()}
    count = itertools.count(1)
    for _, block in itertools.groupby(pending, lambda run: run.block):
        order = rounds.shuffled(map(tuple, rounds.circle(range(len(groups)))), chance.random)
        pairs = [*itertools.chain.from_iterable(order)] if len(groups) > 1 else [(0, 0)]
        first: dict[int, frozenset[int]] = {}
        for pair in pairs:
            for group in pair:
                first.setdefault(group, frozenset(pair))
        members: dict[frozenset[int], list[Run]] = {frozenset(pair): [] for pair in pairs}
        for run in block:
            both = frozenset(of[host] for host in ends(run))
            members[both if both in members else first[next(iter(both))]].append(run)
        for both, runs in members.items():
            if runs:
                seconds = workload.bound(plan.jobs(runs), racks)
                label = f"{name}-{next(count):05d}"
                yield Shard(label, tuple(map(str, sorted(both))), tuple(runs), seconds)


def folder(campaign: Archive) -> Path:
    return campaign.path / FOLDER


def present(campaign: Archive) -> list[Archive]:
    paths = sorted(folder(campaign).glob("*/campaign.json"))
    return [Archive.open(path.parent) for path in paths]


def copy_new(campaign: Archive, shard: Archive, begin: Head) -> tuple[Head, list[Record]]:
    """Copy a shard's events after `begin`. Return the new position and the attempts that ended."""
    head, ended = replace(begin), []
    for _, line in shard.journal.lines(begin):
        head.add(line)
        event = formats.event(line)
        if event and event["event"] in COPIED:
            _copy(campaign, shard, event)
            if event["event"] == "end":
                ended.append(records.record(event))
    return head, ended


def _copy(campaign: Archive, shard: Archive, event: Mapping[str, Any]) -> None:
    """Copy a shard's event with its time. Copy an attempt's raw output before its `end` event."""
    if event["event"] == "end" and event.get("raw"):
        key = (event["run"], event["attempt"])
        written = campaign.raw.write(*key, shard.raw.read(*key, event["raw"]))
        if written != event["raw"]:
            raise ArchiveError(f"{shard.raw.path(*key)}: differs from the copy in {campaign.path}")
    campaign.append(**{key: value for key, value in event.items() if key not in ("n", "crc")})


def gather(campaign: Archive, shard: Archive) -> None:
    """Copy the events of a locked shard that the campaign lacks, and remove the shard.

    If the process is killed in between, nothing is lost or copied twice: a repeated call skips the
    events that the campaign's journal already has.
    """
    left = Counter(_words(event) for event in shard.events() if event["event"] in COPIED)
    for event in campaign.events():
        if event["event"] in COPIED and left[words := _words(event)]:
            left[words] -= 1
    for event in shard.events():
        if event["event"] in COPIED and left[words := _words(event)]:
            left[words] -= 1
            _copy(campaign, shard, event)
    remove(shard)


def _words(event: Mapping[str, Any]) -> str:
    """Return an event as text, without its line number and checksum."""
    rest = {key: value for key, value in event.items() if key not in ("n", "crc")}
    return json.dumps(rest, sort_keys=True)


def is_done(shard: Path) -> Path:
    """Return the path of the file that marks a shard as done."""
    return shard.with_name(f"{shard.name}.done")


def remove(shard: Archive) -> None:
    """Mark a completely copied shard as done, and remove its folder."""
    is_done(shard.path).touch()
    (shard.path / "campaign.json").unlink()
    shutil.rmtree(shard.path)


def put_back(
    campaign: Archive,
    hosts: Mapping[str, Host],
    force: bool = False,
    *,
    ours: bool = True,
    unreached: Collection[str] = (),
    tell: Callable[[str], object] = lambda _: None,
) -> Iterator[Original]:
    """Restore settings that lost workers' shards left changed, and copy the shards' events."""
    for shard in present(campaign):
        for event in records.unfinished(shard):
            if event["role"] in unreached:
                left = f"{shard.path.name} left it changed, which has to be restored first"
                raise HostError(f"cannot be reached, and {left}", host=event["role"])
    for shard in present(campaign):
        shard.lock()
        try:
            shard.bind({role: machine for role, machine in shard.machines.items() if role in hosts})
            yield from restore_from_journal(shard, hosts, force, ours=ours, tell=tell)
            gather(campaign, shard)
        finally:
            shard.close()
    shutil.rmtree(folder(campaign), ignore_errors=True)


def forget(
    campaign: Archive, hosts: Mapping[str, Host], force: bool, tell: Callable[[str], object]
) -> None:
    """Forget the changes that lost workers' shards left, and copy the shards' events."""
    for shard in present(campaign):
        shard.lock()
        try:
            reached = {role: host for role, host in hosts.items() if role in shard.machines}
            forget_journal(shard, reached, force, tell)
            gather(campaign, shard)
        finally:
            shard.close()
    shutil.rmtree(folder(campaign), ignore_errors=True)
