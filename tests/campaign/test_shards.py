"""A mesh in shards: every run in one, no group in two at once; a shard's journal taken in, whatever was."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netlimits.archive.journal import Head
from netlimits.archive.store import Archive
from netlimits.campaign.mesh import shards
from netlimits.errors import HostError
from netlimits.experiment import load
from netlimits.experiment.mesh import pairs
from netlimits.experiment.mesh.dispatch import Dispatch
from netlimits.experiment.mesh.workload import Job
from netlimits.experiment.plan import Plan
from netlimits.model import Machine

META = {"machines": {}, "seed": 1, "created": "", "overrides": [], "experiment": "mesh"}


def plan_of(hosts: int, pairs: str = "all", blocks: int = 2) -> Plan:
    return Plan(
        load.parse(
            f"experiment: mesh\nroles: {{hosts: {hosts}, pairs: {pairs}}}\n"
            f"measure:\n  netperf: {{seconds: 1}}\nrepeat: {{replicates: {blocks}, seed: 7}}\n",
            "mesh.yaml",
        )
    )


def machines_of(hosts: int, racks: int = 0) -> dict[str, Machine]:
    return {
        role: Machine(role, group=f"rack{number % racks}" if racks else "")
        for number, role in enumerate(pairs.names(hosts))
    }


@pytest.mark.long
@given(
    hosts=st.integers(4, 15),
    at_once=st.integers(1, 6),
    racks=st.integers(0, 4),
    pairs=st.sampled_from(["all", "ring"]),
)
def test_every_run_is_in_one_shard_and_no_two_at_once_share_a_host_or_a_rack(
    hosts, at_once, racks, pairs
):
    plan, machines = plan_of(hosts, pairs), machines_of(hosts, racks)
    runs = list(plan.runs())
    parts = [*shards.shards(plan, runs, machines, at_once, "mesh")]
    assert sorted(run.number for part in parts for run in part.runs) == [r.number for r in runs]
    assert len({part.name for part in parts}) == len(parts)
    assert all(len({run.block for run in part.runs}) == 1 for part in parts)
    assert [part.runs[0].block for part in parts] == sorted(part.runs[0].block for part in parts)
    dispatch = Dispatch([Job(part.groups, part.seconds) for part in parts], at_once=at_once)
    now, done = 0.0, 0
    while going := dispatch.ready(now):
        assert len(going) <= at_once
        taken = [host for number in going for host in parts[number].hosts]
        assert len(taken) == len(set(taken))
        if racks:
            shared = [{machines[h].group for h in parts[n].hosts} for n in going]
            assert sum(map(len, shared)) == len(set().union(*shared))
        now, done = now + 1, done + len(going)
        for number in going:
            dispatch.over(number, now)
    assert done == len(parts)


def test_the_order_is_the_seeds():
    plan, machines = plan_of(8), machines_of(8)
    first, again = ([*shards.shards(plan, plan.runs(), machines, 2, "mesh")] for _ in range(2))
    assert first == again


def test_runs_of_hosts_that_are_gone_are_left_out():
    part = next(shards.shards(plan_of(4), plan_of(4).runs(), machines_of(4), 1, "mesh"))
    left = part.without({"hosts-2": "gone"})
    assert 0 < len(left.runs) < len(part.runs)
    assert "hosts-2" not in left.hosts


def shard_of(folder: Path, runs: int) -> Archive:
    """A shard whose journal tells of so many runs, and of what was changed for each."""
    shard = Archive.create(folder, META)
    shard.lock()
    place = {"role": "hosts-1", "interface": "data0", "setting": "offload"}
    for number, run in zip(range(runs), plan_of(6).runs(), strict=False):
        key = {"run": run.number, "attempt": 1}
        about = {"block": run.block, "config": run.config, "values": dict(run.values)}
        shard.append("found", **place, state={"tso": "on"})
        shard.append("start", **key, **about, started=1.0 + number)
        digest = shard.raw.write(run.number, 1, [])
        shard.append(
            "end", **key, **about, status="ok", reason="", figures={"throughput_mbps": 1.0},
            duration_s=1.0, raw=digest,
        )  # fmt: skip
        shard.append("put_back", **place)
    shard.close()
    return shard


def told(archive: Archive) -> list[str]:
    events = (dict(event) for event in archive.events())
    rest = [{k: v for k, v in e.items() if k not in ("n", "crc")} for e in events]
    return [json.dumps(e, sort_keys=True) for e in rest if e["event"] in shards.COPIED]


@pytest.mark.parametrize("cut", range(0, 13, 3))
def test_what_was_copied_before_an_end_at_any_event_is_not_copied_twice(tmp_path, cut):
    shard = shard_of(tmp_path / "main" / "shards" / "one", 3)
    whole = told(shard)
    campaign = Archive.create(tmp_path / "campaign", META)
    campaign.lock()
    copies, append = [], campaign.append

    class Killed(BaseException):
        pass

    def cut_off(**event) -> None:
        if len(copies) == cut:
            raise Killed
        copies.append(event)
        append(**event)

    campaign.append = cut_off
    try:
        shards.copy_new(campaign, shard, Head())
    except Killed:
        assert len(told(campaign)) == cut
    campaign.append = append
    shards.gather(campaign, shard)
    assert told(campaign) == whole
    assert {run for run, _ in campaign.raw.attempts()} == {1, 2, 3}
    campaign.close()
    assert not shard.path.exists()
    assert shards.is_done(shard.path).exists()


def test_a_journal_is_taken_in_as_it_grows(tmp_path):
    shard = shard_of(tmp_path / "one", 2)
    campaign = Archive.create(tmp_path / "campaign", META)
    campaign.lock()
    head, records = shards.copy_new(campaign, shard, Head())
    assert [(r.run.number, r.status) for r in records] == [(1, "ok"), (2, "ok")]
    again, records = shards.copy_new(campaign, shard, replace(head))
    assert (again, records) == (head, [])
    assert told(campaign) == told(shard)
    campaign.close()


def test_what_a_shard_left_on_a_host_that_cannot_be_reached_is_put_back_by_it_alone(tmp_path):
    campaign = Archive.create(tmp_path / "campaign", META)
    shard = Archive.create(shards.folder(campaign) / "one", META)
    shard.lock()
    place = {"role": "hosts-1", "interface": "data0", "setting": "offload"}
    shard.append("found", **place, state={"tso": "on"})
    shard.close()
    left = told(shard)
    with pytest.raises(HostError, match="hosts-1: cannot be reached, and one left it changed"):
        next(shards.put_back(campaign, {}, unreached=["hosts-1"]))
    assert told(shard) == left
    assert told(campaign) == []
