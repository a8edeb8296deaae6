"""The sensitivity of throughput to a resource: its value, its interval, and what that says."""

from __future__ import annotations

import math

import pytest
from limits.test_proof import CLAMPED
from limits.test_sequel import FULL, campaign
from limits.test_verdicts import BY_CLASS

import netlimits as nl
from netlimits.errors import DataError
from netlimits.limits.ladder.sensitivity import judged

WINDOW = BY_CLASS["receive-window"][0]


def rows(frame) -> dict[str, dict]:
    return {row["resource"]: row for row in nl.sensitivities(frame).to_dict("records")}


def test_a_resource_that_throughput_follows_has_a_sensitivity_of_one_and_limits():
    doubled = {"throughput_mbps": 2 * WINDOW["throughput_mbps"], "local_snd_wnd_bytes": 1e7}
    row = rows(campaign(WINDOW, receive_window=doubled))["receive buffer"]
    assert row["sensitivity"] == pytest.approx(1.0, abs=0.05)
    assert row["low"] < 1 < row["high"] + 0.05
    assert (row["state"], row["factor"], row["blocks"]) == ("proven", 2, 6)


def test_half_of_a_resource_and_as_much_throughput_rules_it_out():
    row = rows(campaign(FULL, sender_cpu={"local_cpu_peak_pct": 100.0}))["sender CPU"]
    assert row["sensitivity"] == pytest.approx(0.0, abs=0.05)
    assert (row["state"], row["factor"]) == ("ruled out", 0.5)


def test_less_of_a_resource_that_costs_throughput_has_a_positive_sensitivity():
    busy = {"local_cpu_peak_pct": 100.0, "throughput_mbps": 0.64 * FULL["throughput_mbps"]}
    row = rows(campaign(FULL | {"local_cpu_peak_pct": 97.0}, sender_cpu=busy))["sender CPU"]
    assert row["sensitivity"] == pytest.approx(math.log(0.64) / math.log(0.5), abs=0.05)
    assert row["low"] <= row["sensitivity"] <= row["high"]
    assert row["state"] == "proven"


def test_half_of_a_cpu_that_had_time_left_proves_nothing():
    """A run that takes 85 % of a CPU to fill its link has less with half of the CPU."""
    busy = {"local_cpu_peak_pct": 100.0, "throughput_mbps": 0.64 * FULL["throughput_mbps"]}
    row = rows(campaign(FULL | {"local_cpu_peak_pct": 85.0}, sender_cpu=busy))["sender CPU"]
    assert row["state"] == "open"
    assert "without the load the sender's busiest CPU was 85 % busy" in row["why"]


def test_a_dose_that_did_not_change_its_resource_leaves_it_open():
    row = rows(campaign(CLAMPED, receive_window={}))["receive buffer"]
    assert row["state"] == "open"
    assert "the window stayed at" in row["why"]


def test_a_run_without_throughput_leaves_a_resource_open():
    row = rows(campaign(FULL, path_cap={"throughput_mbps": 0.0}))["streams"]
    assert (row["state"], row["blocks"]) == ("open", 0)
    assert "lacks its throughput" in row["why"]


@pytest.mark.parametrize(
    ("low", "high", "state"),
    [(0.4, 0.9, "proven"), (-0.1, 0.29, "ruled out"), (0.2, 0.5, "open"),
     (math.nan, math.nan, "open")],
)  # fmt: skip
def test_the_whole_interval_lies_above_the_least_or_below_it(low, high, state):
    assert judged(low, high, 0.3) == state


def test_a_campaign_without_changes_has_none():
    frame = campaign(FULL, path_cap={})
    with pytest.raises(DataError, match="no run was made with a change: `netlimits diagnose`"):
        nl.sensitivities(frame[["run", "block", "status", "size", "throughput_mbps"]])
