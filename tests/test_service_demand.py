"""`benchmarks/service_demand.py`: what it judges of pairs, and a short form of it on a real lab."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import benchmark
import pytest
from waiting import LONG

SCRIPT = Path(__file__).parents[1] / "benchmarks" / "service_demand.py"
demand = benchmark.module("service_demand")

SAME = demand.Pair(50.0, 4.0, 4.0, 4.0, lost=0.0, sampler=0.2, row=0.0)


def missed(pair: object, seconds: int = 2, count: int = 40) -> list[str]:
    """Return what so many pairs miss, which are alike but for a little of netperf's figure."""
    pairs = [replace(pair, netperf_sd=4.0 * (1 + (at % 5 - 2) / 1e4)) for at in range(count)]
    told: list[str] = demand.judged(pairs, seconds)[1]
    return told


def test_pairs_that_agree_miss_nothing():
    assert missed(SAME) == []
    assert missed(replace(SAME, sd=4.06, sd_ticks=3.94)) == [], "2 % in short runs"


@pytest.mark.parametrize(
    ("pair", "seconds", "count", "words"),
    [
        (replace(SAME, sd=4.1), 2, 40, "service demand 1.0250 of netperf's, bound 2 %"),
        (replace(SAME, sd=4.06), 10, 40, "service demand 1.0150 of netperf's, bound 1 %"),
        (replace(SAME, sd=4.4, sd_ticks=3.9, lost=1.0), 2, 40, "by ticks 0.9750"),
        (replace(SAME, row=0.006), 2, 40, "disagree by 0.60 %"),
        (SAME, 2, 39, "39 pairs, fewer than 40"),
    ],
)
def test_what_is_missed_is_named(pair, seconds, count, words):
    (miss,) = missed(pair, seconds, count)
    assert words in miss


def test_where_ticks_are_lost_those_that_are_left_are_compared():
    assert missed(replace(SAME, sd=4.4, lost=1.0)) == []


def test_streams_of_netperf_have_the_mean_of_their_utilizations_over_the_sum_of_their_rates():
    """Two streams of 1024 KiB/s each, by which one CPU of two is busy: 1 s over 2048 KiB."""
    rate = 1024 * 1024 * 8 / 1e6
    clients = [
        {"THROUGHPUT": rate, "LOCAL_CPU_UTIL": used, "LOCAL_CPU_COUNT": 2.0, "LOCAL_SD": 976.6}
        for used in (45.0, 55.0)
    ]
    assert demand.by_netperf(clients, "local") == (50.0, pytest.approx(1e6 / 2048))
    assert demand.by_netperf(clients[:1], "local") == (45.0, 976.6)


@pytest.mark.lab
def test_each_kind_of_traffic_has_a_line_for_each_end(tmp_path):
    ran = subprocess.run(
        [sys.executable, SCRIPT, tmp_path / "r", "--runs", "1", "--seconds", "1",
         "--place", "namespaces", "--kind", "udp", "streams"],
        capture_output=True, text=True, timeout=2 * LONG,
    )  # fmt: skip
    assert ran.returncode == 1, "a pair is too few"
    lines = [line.split() for line in ran.stdout.splitlines() if line.startswith("namespaces")]
    expected = [[k, "1", end, "1"] for k in ("udp", "streams") for end in ("local", "remote")]
    assert [line[1:5] for line in lines] == expected
    assert "namespaces streams 1 s remote: 1 pairs, fewer than 40" in ran.stderr
    assert "disagree" not in ran.stderr
