"""A sample of every family of attacks; thousands with `benchmarks/attacks.py`."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from faults import attacks
from faults.attacks.base import Family, Held, Needs

pytestmark = pytest.mark.long

SAMPLE = 120
"""How many the run of the tests makes, shared out among the families."""

ALONE = [family for family in attacks.FAMILIES if family.needs is Needs.NOTHING]
"""Those that need no hosts; test_attacks_on_hosts.py has the others."""


@pytest.mark.parametrize("family", ALONE, ids=lambda f: f.name)
def test_none_of_a_sample_passes(family: Family):
    (count,) = [count for each, count in attacks.shares(SAMPLE, ALONE) if each is family]
    outcomes = [attacks.attempt(family, number) for number in range(count)]
    assert all(outcome.what for outcome in outcomes), "each says what it does"
    assert not any(outcome.through for outcome in outcomes), attacks.table(outcomes)


@pytest.mark.parametrize(
    ("name", "number", "seed"),
    [("figures", 257, 0), ("figures", 22, 3), ("figures", 594, 77), ("archives", 1886, 77)],
)
def test_what_once_got_through_is_held(name: str, number: int, seed: int):
    (family,) = [each for each in attacks.FAMILIES if each.name == name]
    assert not attacks.attempt(family, number, seed).through


def test_an_attack_that_passes_is_found_and_can_be_made_again():
    def passes(held: Held) -> str:
        held.says(held.chance.random())
        return "it got through"

    def breaks(held: Held) -> None:
        held.says("x")
        raise KeyError("x")

    family = Family("open door", passes)
    first, again = attacks.attempt(family, 7), attacks.attempt(family, 7)
    assert first == again
    assert first.through == "it got through"
    assert first != attacks.attempt(family, 7, seed=1)
    assert "KeyError" in attacks.attempt(Family("broken", breaks), 1).through
    table = attacks.table([first])
    assert table.splitlines()[1].split() == ["open", "door", "1", "1"]
    assert "open door 7 --seed 0: " in table


def test_attacks_leave_nothing_behind(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    attacks.base.whole()
    for family in ALONE:
        attacks.attempt(family, 1)
    assert not list(tmp_path.glob("attack-*"))
    shutil.rmtree(tmp_path)


BENCHMARK = Path(__file__).parents[2] / "benchmarks" / "attacks.py"


def test_the_benchmark_makes_those_asked_for_and_prints_the_table():
    words = ("--family", "hosts files", "--family", "planted", "--count", "6", "--seed", "4")
    first = subprocess.run([sys.executable, BENCHMARK, *words], capture_output=True, text=True)
    assert first.returncode == 0, first.stdout + first.stderr
    rows = [line.split() for line in first.stdout.splitlines()]
    assert rows[:4] == [
        ["family", "made", "passed"],
        ["planted", "4", "0"],
        ["hosts", "files", "2", "0"],
        ["all", "6", "0"],
    ]


def test_the_benchmark_shares_its_time_and_turns():
    spec = importlib.util.spec_from_file_location("benchmark_of_attacks", BENCHMARK)
    benchmark = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(benchmark)
    some = [f for f in attacks.FAMILIES if f.name in ("kills", "races", "machines")]
    given = type("Given", (), {"count": 34, "number": None, "seed": 7, "times": 1})
    jobs = [*benchmark._jobs(some, Needs.NAMESPACES, given, float("inf"))]
    assert {(f.name, n) for f, n, _ in jobs} == {
        *(("kills", n) for n in range(20)), *(("races", n) for n in range(10)),
    }  # fmt: skip
    assert {f.name for f, *_ in jobs[:3]} == {"kills", "races"}, "by turns"
    assert [n for f, n, _ in jobs if f.name == "kills"] == [*range(20)]
    assert not [*benchmark._jobs(some, Needs.NAMESPACES, given, 0.0)]
    given.times = 5
    again = [*benchmark._jobs(some, Needs.NAMESPACES, given, float("inf"))]
    assert len(again) == 5 * len(jobs)
    assert {seed for *_, seed in again} == {*range(7, 12)}
    with pytest.raises(SystemExit, match="no family nosuch; there are archives, "):
        benchmark._chosen(["nosuch"])
    on_machines = benchmark._chosen(["kills", "races", "machines"], "machines")
    assert {family.needs for family in on_machines} == {Needs.MACHINES}
