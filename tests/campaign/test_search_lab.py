"""A search behind a cap finds it, and goes on with the same trials after Ctrl-C."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import warm
from waiting import LONG, wait

import netlimits as nl
from netlimits.analysis.statistics.search import searches

pytestmark = pytest.mark.lab

TEXT = """\
experiment: capped
search: {of: rate, from: 20M, to: 200M, width: 5, trials: 1}
measure: {iperf3: {protocol: udp, rate: "${rate}", send_size: 1400, seconds: 1}}
"""
CAP = 100e6 * 1400 / 1442
"""User data behind the fixture's tbf of 100 Mbit/s."""


def test_a_search_that_was_interrupted_finds_the_cap(lab, tmp_path: Path):
    (tmp_path / "capped.yaml").write_text(TEXT)
    out = tmp_path / "out"
    netlimits = (sys.executable, "-m", "netlimits")
    words = ("run", tmp_path / "capped.yaml", "--hosts", lab.hosts_file, "--out", out)
    running = subprocess.Popen([*netlimits, *map(str, words)], stderr=subprocess.DEVNULL)
    wait(lambda: (out / "journal.jsonl").exists()
          and (out / "journal.jsonl").read_text().count('"start"') >= 2)  # fmt: skip
    running.send_signal(signal.SIGINT)
    assert running.wait(LONG) == 130
    status = warm.run((*netlimits, "status", str(out), "--json"), capture_output=True, text=True)
    assert json.loads(status.stdout)["left"] == 1
    before = [record.run for record in nl.open(out).records()]
    done = warm.run((*netlimits, "resume", str(out)), capture_output=True, text=True, timeout=LONG)
    assert done.returncode == 0, done.stdout + done.stderr
    campaign = nl.open(out)
    assert campaign.state()["left"] == 0
    runs = [record.run for record in campaign.records()]
    assert runs[: len(before)] == before
    assert len({run.number for run in runs}) == len({run.values["rate"] for run in runs})
    (row,) = searches(campaign.frame()).to_dict("records")
    # a second's queue of 512 KB and a busy machine are within it
    assert 0.5 * CAP < row["rate held"] < 1.1 * CAP
    assert nl.charts.search(campaign.frame()).axes[0].get_ylabel() == "Rate"
