"""A mesh in an experiment file: its pairs as factors, its roles, its errors."""

from __future__ import annotations

import itertools
from collections import Counter

import pytest

from netlimits.errors import DocumentError
from netlimits.experiment import hosts_file, load
from netlimits.experiment.mesh import pairs
from netlimits.experiment.mesh.rounds import numbered
from netlimits.experiment.plan import Plan

MESH = """\
experiment: mesh
roles: {hosts: 6, pairs: all}
factors:
  size: [1024, 16384]
settings:
  - {roles: [hosts], mtu: 1500}
  - {roles: [receiver], sysctl: {net.ipv4.tcp_sack: 1}}
measure:
  netperf: {test: omni, seconds: 2, send_size: "${size}"}
repeat: {replicates: 3, seed: 7}
"""


def plan(text: str = MESH, *overrides: tuple[str, str]) -> Plan:
    return Plan(load.parse(text, "mesh.yaml", overrides))


def pair(run) -> tuple[str, str]:
    return run.values["sender"], run.values["receiver"]


@pytest.mark.parametrize("order", ["blocked", "shuffled", "listed"])
def test_each_pair_is_run_once_in_each_configuration_and_replicate(order):
    runs = list(plan(MESH, ("repeat.order", order)).runs())
    counts = Counter((frozenset(pair(run)), run.values["size"]) for run in runs)
    assert len(counts) == 15 * 2
    assert set(counts.values()) == {3}


def test_blocks_hold_rounds_of_one_configuration():
    runs = list(plan().runs())
    for _, block in itertools.groupby(runs, lambda run: run.block):
        members = list(block)
        parted = itertools.groupby(
            zip(members, numbered(map(pair, members)), strict=True), lambda row: row[1]
        )
        sizes = [{run.values["size"] for run, _ in rows} for _, rows in parted]
        assert len(sizes) == 10
        assert all(len(of_round) == 1 for of_round in sizes)
        assert sizes != sorted(sizes, key=str)
    assert plan().round_count() == 10


def test_the_seed_decides_the_order():
    assert list(plan().runs()) == list(plan().runs())
    assert list(plan().runs()) != list(plan(MESH, ("repeat.seed", "8")).runs())


@pytest.mark.parametrize("count", [2, 3, 6, 9, 40])
def test_of_all_pairs_each_host_sends_about_as_often_as_it_receives(count):
    every = pairs.mesh({"hosts": count}).pairs
    assert len({frozenset(p) for p in every}) == len(every) == count * (count - 1) // 2
    sends = Counter(sender for sender, _ in every)
    assert max(sends.values()) - min(sends[name] for name in pairs.names(count)) <= 1


def test_shapes():
    assert pairs.mesh({"hosts": 3, "pairs": "ring"}).pairs == (
        ("hosts-1", "hosts-2"),
        ("hosts-2", "hosts-3"),
        ("hosts-3", "hosts-1"),
    )
    assert len(pairs.mesh({"hosts": 6, "pairs": "bipartite"}).pairs) == 9
    assert pairs.mesh({"hosts": 3, "pairs": [[3, 1], [1, 3]]}).pairs == (
        ("hosts-3", "hosts-1"),
        ("hosts-1", "hosts-3"),
    )


def test_settings_and_ends_are_the_pairs():
    of = plan()
    run = next(of.runs())
    sender, receiver = pair(run)
    assert of.experiment.ends_of(run.values) == {"local": (sender,), "remote": (receiver,)}
    roles = {use.name: use.roles for use in of.setup(run.values).settings}
    assert roles == {"mtu": (sender, receiver), "sysctl": (receiver,)}
    (every, _) = of.setups()
    assert {use.name for use in every.settings} == {"mtu", "sysctl"}
    assert all({*use.roles} == {*pairs.names(6)} for use in every.settings)


def test_any_host_of_a_mesh_may_be_an_end():
    experiment = plan(MESH).experiment
    chosen = experiment.mesh.pairs
    assert set(experiment.all_ends["local"]) == {sender for sender, _ in chosen}
    assert set(experiment.all_ends["remote"]) == {receiver for _, receiver in chosen}
    assert len(experiment.all_ends["local"]) > 1


def test_the_time_is_that_of_rounds():
    of = plan()
    assert of.seconds() == pytest.approx(30 * 2.1)
    assert of.seconds(at_once=1) == pytest.approx(90 * 2.1)
    racks = {name: "left" if n < 3 else "right" for n, name in enumerate(pairs.names(6))}
    assert of.seconds(racks) > of.seconds()


@pytest.mark.parametrize(
    ("roles", "problem"),
    [
        ("{hosts: 7, pairs: bipartite}", "2: roles.hosts: 7 hosts cannot be halved"),
        ("{hosts: 4, pairs: [[1, 2], [3, 3]]}", "roles.pairs.1: [3, 3]: host 3 would measure"),
        ("{hosts: 4, pairs: [[1, 5]]}", "roles.pairs.0: [1, 5]: there is no host 5: the mesh has"),
        ("{hosts: 4, pairs: [[1, 2], [1, 2]]}", "roles.pairs.1: [1, 2] is entry 1 already"),
        ("{hosts: 2, pairs: ring}", "roles.pairs: a ring needs at least three hosts"),
        ("{hosts: 4, pairs: rign}", 'roles.pairs: must be one of all, ring, bipartite, not "rign"'),
        ("{hosts: 1}", "roles.hosts: must be at least 2, not 1"),
        ("{pairs: all}", "roles: lacks `hosts`"),
    ],
)
def test_what_cannot_be_is_told_with_line_and_key(roles, problem):
    text = MESH.replace("{hosts: 6, pairs: all}", roles)
    with pytest.raises(DocumentError) as caught:
        load.parse(text, "mesh.yaml")
    assert problem in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (("factors", "{sender: [1, 2]}"), "sender is the name of another factor"),
        (("include", "[{size: 3}]"), "has no pair of hosts"),
        (("repeat", "{order: coin-flips, runs: 9}"), "has no rounds"),
        (("settings", "[{roles: [hosts-1], mtu: 1500}]"), "no role is called hosts-1"),
    ],
)
def test_what_does_not_go_with_a_mesh(change, problem):
    with pytest.raises(DocumentError, match=problem):
        load.parse(MESH, "mesh.yaml", [change])


def test_the_machines_of_a_mesh(tmp_path):
    file = tmp_path / "hosts.yaml"
    file.write_text("x: {local: true}\nhosts:\n - {ssh: a, group: r1}\n - {ssh: b}\n - {ssh: c}\n")
    machines = hosts_file.machines(file, pairs.names(2))
    assert [(m.role, m.ssh, m.group) for m in machines.values()] == [
        ("hosts-1", "a", "r1"),
        ("hosts-2", "b", ""),
    ]
    with pytest.raises(DocumentError, match=r"2: hosts: has 3 machines, but .* has 4 hosts"):
        hosts_file.machines(file, pairs.names(4))
    file.write_text("x: {ssh: a}\ny: {ssh: b}\n")
    assert [m.ssh for m in hosts_file.machines(file, pairs.names(2)).values()] == ["a", "b"]
    with pytest.raises(DocumentError, match="has 2 machines, but the experiment's mesh has 3"):
        hosts_file.machines(file, pairs.names(3))
