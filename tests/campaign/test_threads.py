"""What threads of several runs share, while Python switches between them as often as it can."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Barrier, Thread

import pytest
from simulated import Fails, SimulatedMachine
from waiting import LONG

from netlimits.archive import reader
from netlimits.campaign import creation, specifications
from netlimits.campaign.interrupt import Stop
from netlimits.campaign.mesh.schedule import every_pair
from netlimits.campaign.preparation import Preparation
from netlimits.campaign.session import Session
from netlimits.campaign.specifications import Specifications
from netlimits.checks.survey import survey
from netlimits.experiment import load
from netlimits.experiment.plan import Plan
from netlimits.model import Around, Machine, SettingUse, Setup

MESH = """\
experiment: mesh
roles: {hosts: 8, pairs: all}
factors: {offloads: [on, off, left], send_size: [64, 128]}
settings:
  - roles: [sender, receiver]
    when: offloads != "left"
    offload: {tso: "${offloads}", gro: "${offloads}"}
measure:
  netperf: {seconds: 1, send_size: "${send_size}", mss: 1036}
repeat: {replicates: 1, seed: 7}
"""


@pytest.fixture(autouse=True)
def _switching() -> Iterator[None]:
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(usual)


def at_the_same_time(*acts: Callable[[], object]) -> None:
    """Call each in a thread of its own, begun together; raises the first error of any."""
    begin, errors = Barrier(len(acts)), list[BaseException]()

    def call(act: Callable[[], object]) -> None:
        begin.wait(LONG)
        try:
            act()
        except BaseException as error:
            errors.append(error)

    threads = [Thread(target=call, args=(act,)) for act in acts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


@pytest.mark.long
def test_a_mesh_is_measured_and_restored_and_no_run_has_the_output_of_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(specifications, "KEPT", 3)
    machines = {f"hosts-{n}": SimulatedMachine(f"hosts-{n}", f"192.0.2.{n}") for n in range(1, 9)}
    hosts = {role: machine.host() for role, machine in machines.items()}
    plan = Plan(load.parse(MESH, "mesh.yaml"))
    seen = survey(plan, {role: m.machine() for role, m in machines.items()}, hosts)
    campaign = creation.create(plan, seen, tmp_path / "mesh")
    archive = campaign.archive
    archive.lock()
    flaky = {
        r: Fails(host, [0], 40 * n, "lost after") for n, (r, host) in enumerate(hosts.items(), 1)
    }
    session = Session(archive, plan, seen, flaky, lambda m: machines[m.role].host())
    with Stop() as stop, session.open():
        every_pair(session, stop, lambda _: None)
    archive.close()

    records = reader.open(tmp_path / "mesh").records()
    over = [record for record in records if record.status != "interrupted"]
    assert sorted(record.run.number for record in over) == [*range(1, 169)]
    twice = [record.reason for record in over if record.status != "ok"]
    assert all(reason.startswith("the connection was lost in every attempt") for reason in twice)
    assert 3 <= len(records) - len(over) + len(twice) <= 8, "each connection was lost once"
    for record in records:
        ends = {record.run.values["sender"], record.run.values["receiver"]}
        entries = archive.raw.read(record.run.number, record.attempt, record.raw)
        assert {entry.host for entry in entries} <= ends
    assert not [role for role, m in machines.items() if m.state["features"] != m.original]
    assert not any(m.notes or m.claim for m in machines.values())


def test_runs_of_several_hosts_prepare_at_the_same_time() -> None:
    roles = [f"hosts-{n}" for n in range(8)]
    preparation = Preparation({role: Machine(role, role, "data0") for role in roles})
    names = ("mtu", "offload", "ring", "sysctl")

    def prepare(role: str) -> None:
        ends = {"local": (role,), "remote": ()}
        for number in range(200):
            uses = [SettingUse(name, (role,), {name: 1}, 1) for name in names[number % 4 :]]
            turns = preparation.turns(
                Setup("netperf", {}, Around(), tuple(uses)), ends, roles=(role,)
            )
            for turn in turns:
                preparation.begins(turn)
                preparation.ended(turn)
            assert {step.role for turn in turns for step in turn} <= {role}

    at_the_same_time(*(lambda role=role: prepare(role) for role in roles))


def test_more_configurations_than_are_kept_are_specified_by_several_threads(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(specifications, "KEPT", 2)
    plan = Plan(load.parse(MESH, "mesh.yaml"))
    machines = {
        f"hosts-{n}": Machine(f"hosts-{n}", "x", "data0", f"192.0.2.{n}") for n in range(1, 9)
    }
    kept = Specifications(plan, machines, {})
    runs = [*itertools.islice(plan.runs(), 24)]

    def specify(begin: int) -> None:
        for run in 40 * (runs[begin:] + runs[:begin]):
            assert kept.for_run(run).options["send_size"] == run.values["send_size"]

    at_the_same_time(*(lambda begin=begin: specify(begin) for begin in range(0, 24, 4)))
