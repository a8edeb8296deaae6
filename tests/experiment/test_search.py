"""A search finds a limit, in few trials, from its trials alone."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netlimits.errors import ArchiveError, DocumentError
from netlimits.experiment import load, search
from netlimits.experiment.plan import Plan
from netlimits.experiment.search import controller
from netlimits.model import Search
from netlimits.model.searches import MISSED, WHY, Bounds, SearchTrial

FILE = """
experiment: highest
factors: {send_size: [512, 1024]}
derive: {rate: packets * send_size * 8}
search: {of: packets, from: 1K, to: 1M, loss: 0.1, latency_p99: 5ms}
measure: {iperf3: {protocol: udp, rate: "${rate}", send_size: "${send_size}", seconds: 2}}
repeat: {replicates: 2, seed: 1}
"""


def experiment(text: str = FILE):
    return load.parse(text, Path("highest.yaml"))


def sought(**options) -> Search:
    return Search("rate", 0, 1_000_000, 10**10, **options)


def result(sought_for: Search, holds) -> tuple[Bounds, int]:
    trials: list[SearchTrial] = []
    while not isinstance(step := controller.advance(sought_for, trials), Bounds):
        trials.append(SearchTrial(step, holds(step)))
    return step, len(trials)


@pytest.mark.long
@settings(max_examples=10, deadline=None)
@given(cap=st.floats(2e6, 9e9), decides=st.sampled_from([1, 3]))
def test_a_limit_is_found_in_fewer_trials_than_bisection(cap, decides):
    bounds, count = result(sought(trials=decides), lambda rate: max(0.0, 1 - cap / rate))
    assert bounds.held
    assert bounds.missed
    assert 0.98 * cap < bounds.held <= cap < bounds.missed <= 1.02 * bounds.held
    assert count <= 4 + 2 * decides  # 20 halvings of 10^4 to 1 %, each decided twice


def test_a_limit_that_only_latency_shows_is_found():
    bounds, _ = result(sought(), lambda rate: 0.5 * (rate > 3e8))
    assert bounds.held
    assert 0.98 * 3e8 < bounds.held <= 3e8


def test_a_trial_lost_by_chance_decides_nothing():
    seen: list[float] = []

    def once_lost(rate: float) -> float:
        seen.append(rate)
        return 0.01 if rate > 1e8 or seen.count(rate) == 1 else 0.0

    bounds, _ = result(sought(), once_lost)
    assert bounds.held
    assert bounds.held > 0.98e8


def test_a_search_ends_at_the_ends_of_its_range():
    assert result(sought(), lambda rate: 0.0)[0] == Bounds(1e10, None)
    bounds, _ = result(sought(), lambda rate: 1.0)
    assert (bounds.held, bounds.missed) == (None, 1e6)


def test_trials_of_another_search_are_refused():
    with pytest.raises(ArchiveError, match="another version measured it"):
        controller.advance(sought(), [SearchTrial(12345, 0.0)])


def test_what_a_trial_missed_most_is_why_it_did_not_hold():
    limits = Search("rate", 10**8, 10**7, 10**9, 0.1, {"latency_p99_us": 5000.0})
    fine = {"loss_pct": 0.1, "latency_p99_us": 4000.0, "throughput_mbps": 99.5, "elapsed_s": 2.0}
    assert search.judged(limits, 100.0, fine)[MISSED] == 0

    def why(**other):
        return search.judged(limits, 100.0, fine | other)[WHY]

    assert why(loss_pct=2.0) == "loss 2 %"
    assert why(latency_p99_us=10000.0) == "99th-percentile latency 10 ms"
    assert why(throughput_mbps=50.0, loss_pct=1.0) == "50 of 100 Mbit/s arrived in time"
    assert why(loss_pct=2.0, iperf3_loss_pct=0.0) == ""  # on their way when the receiver stopped
    assert search.lacking(limits, {"loss_pct": 0.0}) == ["latency_p99"]


def test_a_search_is_planned_for_each_configuration_and_block():
    plan = Plan(experiment())
    each = sorted((run.block, run.values["send_size"]) for run in plan.searches())
    assert each == [(1, 512), (1, 1024), (2, 512), (2, 1024)]
    assert {run.values["packets"] for run in plan.searches()} == {10**6}
    assert len(plan) == 0
    trial = plan.trial(plan.searches()[2], 5000, 7)
    assert (trial.number, trial.block) == (7, 2)
    size = plan.searches()[2].values["send_size"]
    assert trial.values == {"send_size": size, "packets": 5000, "rate": 5000 * size * 8}
    setup = plan.setup(trial.values)
    assert setup.options["rate"] == 5000 * size * 8
    assert setup.around.search == Search(
        "packets", 5000, 1000, 10**6, 0.1, {"latency_p99_us": 5000.0}
    )
    assert [run.number for run in plan.with_trials([trial]).runs()] == [7]


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("to: 1M", "to: 1K", "search.to: must be more than `from`"),
        ("of: packets", "of: send_size", "is the name of another factor already"),
        ("packets * send_size", "1000 * send_size", "search.of: nothing uses it"),
        ("seed: 1", "seed: 1, order: shuffled", "use blocked or listed"),
        ("from: 1K", 'from: "${send_size}"', "search.from: must be"),
        ("latency_p99: 5ms", "latency_p99: 5 minutes", "search.latency_p99"),
        ("latency_p99", "latency_p98", "did you mean latency_p99"),
    ],
)
def test_what_is_wrong_with_a_search_is_said_at_its_key(tmp_path, old, new, problem):
    file = tmp_path / "wrong.yaml"
    file.write_text(FILE.replace(old, new))
    with pytest.raises(DocumentError) as error:
        load.load(file)
    assert problem in str(error.value).replace("\n", " ")
