"""What a run cost here, against the kernel's own words for this process."""

from __future__ import annotations

import json
import os
import re
import shutil
import time
from dataclasses import asdict, replace
from pathlib import Path

import pytest

import netlimits
from netlimits.archive import formats
from netlimits.archive.records import end_fields
from netlimits.campaign.controller import Controller, controller_figures
from netlimits.campaign.figures.reparse import reparse
from netlimits.model import ControllerCost, Record, Run

TICK = 1 / os.sysconf("SC_CLK_TCK")
COST = ControllerCost(2.0, 0.5, 3.0, 2, 64 * 2**20)
KEPT = Path(__file__).parents[2] / "experiments" / "gallery" / "rr-bursts"


def test_cpu_and_memory_are_those_of_this_process() -> None:
    earlier = time.process_time()
    watched = Controller()
    before = time.process_time()
    while time.process_time() < before + 0.3:
        pass
    used = time.process_time() - before
    cost = watched.cost()
    at_most = time.process_time() - earlier
    assert used - 3 * TICK <= cost.cpu_s <= at_most + 3 * TICK
    resident = re.search(r"VmRSS:\s+(\d+) kB", Path("/proc/self/status").read_text())
    assert cost.memory_bytes == pytest.approx(int(resident[1]) * 1024, rel=0.2)
    busy = float(controller_figures(cost)["controller_busy_pct"]) / 100 * cost.seconds * cost.cpus
    # idle time is counted in ticks of each CPU, which a busy machine may count late
    assert busy >= used / 2, "the machine was about as busy as we were, or more"


def test_the_figures_are_shares_of_the_time() -> None:
    assert controller_figures(COST) == {
        "controller_cpu_pct": 25.0,
        "controller_memory_mib": 64.0,
        "controller_busy_pct": 25.0,
    }


@pytest.mark.parametrize("change", [{"seconds": 0.0}, {"cpus": 0}, {"idle_s": float("nan")}])
def test_a_cost_that_cannot_be_has_no_figures(change: dict[str, float]) -> None:
    assert controller_figures(replace(COST, **change)) == {}
    assert controller_figures(None) == {}


def test_the_journal_holds_it_as_what_it_is() -> None:
    record = Record(Run(1, 1, "c", {}), 1, "failed", "no data", 1e9, 2.0, {}, cost=COST)
    event = {"event": "end", **end_fields(record)}
    assert event["controller"] == asdict(COST)
    assert formats.event(json.dumps(event).encode()) == event
    event["controller"] = {**event["controller"], "cpus": "two"}
    assert formats.event(json.dumps(event).encode()) is None


def test_its_figures_are_kept_when_a_campaign_is_parsed_again(tmp_path: Path) -> None:
    shutil.copytree(KEPT, tmp_path / "kept")
    campaign = netlimits.open(tmp_path / "kept")
    before = campaign.frame()
    assert (before["controller_cpu_pct"] > 0).all()
    campaign.archive.lock()
    try:
        reparse(campaign)
    finally:
        campaign.archive.close()
    again = netlimits.open(tmp_path / "kept").frame()
    for name in ("controller_cpu_pct", "controller_memory_mib", "controller_busy_pct"):
        assert again[name].tolist() == before[name].tolist()
