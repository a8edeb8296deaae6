"""Service demand by category: shares of profiled runs, service demand of the others."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from netlimits.analysis import attempts, frames, profile
from netlimits.analysis.comparisons import profiles
from netlimits.analysis.statistics.intervals import Interval
from netlimits.errors import DataError
from netlimits.model.cpu_categories import CATEGORIES


def runs(copies=((60, 62), (20, 21)), demands=((0.70, 0.72, 0.71), (0.30, 0.31, 0.29))):
    """Two configurations; `copies` are percentages of copying in each profiled run."""
    rows = []
    for tso, own_copies, own_demands in zip(("on", "off"), copies, demands, strict=True):
        common = {"tso": tso, "config": tso, "attempt": 1, "status": "ok", "block": 1}
        for demand in own_demands:
            figures = {"local_sd_us_per_kib": demand, "throughput_mbps": 1000.0}
            rows.append({**common, "profiled": False, **figures})
        for copy in own_copies:
            shares = dict.fromkeys(CATEGORIES, 0.0) | {"copy": copy, "tcpip": 100 - copy}
            rows.append(
                {
                    **common,
                    "profiled": True,
                    "local_sd_us_per_kib": 9.9,
                    "throughput_mbps": 900.0,
                    "local_profile_samples": 2000,
                    "local_profile_event": "cpu-clock",
                    **{f"local_profile_{name}_pct": share for name, share in shares.items()},
                }
            )
    frame = pd.DataFrame(rows)
    return frame.assign(run=np.arange(1, len(frame) + 1))


def of(table, tso, category):
    return table[(table["tso"] == tso) & (table["category"] == category)].iloc[0]


def test_no_statistic_counts_a_profiled_run():
    counted = frames.usable(runs())
    assert len(counted) == 6
    assert counted["throughput_mbps"].eq(1000).all()
    assert not [name for name in counted if "profile" in name]
    assert len(attempts.with_outcome(runs())) == 6


def test_a_category_costs_its_share_of_the_other_runs_service_demand():
    table = profile.profile(runs())
    row = of(table, "on", "copy")
    assert row["share_pct"] == pytest.approx(61)
    assert row["cost_us"] == pytest.approx(0.61 * 0.71)
    assert row["low"] < row["cost_us"] < row["high"]
    assert row["per"] == "KiB"
    assert (row["n"], row["profiled"]) == (3, 2)
    assert of(table, "on", "crypto")["low"] == of(table, "on", "crypto")["cost_us"] == 0
    total = table[table["tso"] == "on"]["cost_us"].sum()
    assert total == pytest.approx(0.71)


def test_what_profiling_costs_is_reported():
    table = profile.profile(runs())
    assert table.attrs["throughput"][0] == pytest.approx(0.9)
    assert "profiled runs reach 90" in table.attrs["notes"][0]


def test_runs_that_differ_widen_the_intervals():
    def width(copies):
        row = of(profile.profile(runs(copies=copies)), "on", "copy")
        return row["share_high"] - row["share_low"]

    assert width(((50, 70), (10, 30))) > 3 * width(((60, 60), (20, 20)))


def test_differences_name_the_categories_that_changed():
    table = profile.profile(runs())
    change = profile.differences(*(table[table["tso"] == tso] for tso in ("off", "on")))
    assert change.iloc[0]["category"] == "copy"
    assert change.iloc[0]["change_us"] == pytest.approx(0.61 * 0.71 - 0.205 * 0.30, abs=1e-3)
    assert change.iloc[0]["low"] > 0


@pytest.mark.long
def test_intervals_cover_what_was_drawn():
    draw, inside = np.random.default_rng(1), 0
    for _ in range(30):
        p = np.clip(draw.normal(0.3, 0.02, 3), 0, 1)  # shares differ between runs
        copies = [100 * draw.binomial(2000, each) / 2000 for each in p]
        demand = draw.normal(0.5, 0.02, 6)
        table = profile.profile(runs((copies, (20, 21)), (demand, (0.3, 0.31))))
        row = of(table, "on", "copy")
        inside += row["low"] <= 0.15 <= row["high"]
    assert inside > 0.85 * 30


def test_a_difference_of_the_same_holds_zero():
    same = Interval(1.0, 0.9, 1.1)
    change = profile.difference(same, same)
    assert change.low < 0 < change.high
    assert change.high == pytest.approx(0.1 * 2**0.5)


def test_without_a_profile_the_error_names_the_key():
    with pytest.raises(DataError, match="add `profile:`"):
        profile.profile(runs().drop(columns="profiled"))


def test_a_comparison_names_the_categories_that_its_difference_lies_in():
    first = profile.profile(runs(copies=((20, 21), (20, 21))))
    second = profile.profile(runs(copies=((60, 62), (20, 21))))
    (note,) = profiles.notes(first, second)
    assert note.startswith("the sender's CPU time at TSO on differs in ")
    assert "copying data +0.29 [" in note
    assert "TCP/IP -0.29 [" in note
    assert not [*profiles.notes(first, first)]
