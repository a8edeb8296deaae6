"""Latency under load over a path of 100 Mbit/s with a queue: both figures, and what idle is."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path

import pytest
import warm
from waiting import LONG

import netlimits as nl

pytestmark = pytest.mark.lab

TEXT = """\
experiment: under-load
factors: {streams: [0, 2]}
bulk: {streams: "${streams}", direction: both, lead: 3, tail: 8}
measure:
  netperf: {test: TCP_RR, seconds: 1}
repeat: {replicates: 1, order: listed, seed: 1}
"""


def test_streams_fill_the_path_while_the_transactions_wait_in_its_queue(lab, tmp_path: Path):
    (tmp_path / "load.yaml").write_text(TEXT)
    words = (tmp_path / "load.yaml", "--hosts", lab.hosts_file, "--out", tmp_path / "out")
    done = warm.run(
        (sys.executable, "-m", "netlimits", "run", *map(str, words)),
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    campaign = nl.open(tmp_path / "out")
    printed = warm.run(
        (sys.executable, "-m", "netlimits", "plan", *map(str, words[:3]), "--commands", "--json"),
        capture_output=True, text=True, timeout=LONG, check=True,
    )  # fmt: skip
    for run in json.loads(printed.stdout)["first"]:
        raw = {
            (entry.host, entry.step, shlex.join(entry.argv))
            for entry in campaign.archive.raw.read(run["run"], 1)
        }
        planned = [(c["role"], c["step"], c["command"]) for c in run["commands"]]
        during = {line for line in planned if line[1] in ("client", "sample")}
        assert len(during) == 3
        assert during <= raw, "what `plan --commands` prints is what hosts do"
    frame = campaign.frame().set_index("streams")
    idle, loaded = frame.loc[0], frame.loc[2]
    # most of them may fall into moments in which the queue is empty, thousands in a few ms
    assert loaded["latency_max_us"] > 20_000, f"a queue of 512 KB holds 41 ms: {loaded.to_json()}"
    assert loaded["latency_mean_us"] > idle["latency_mean_us"]
    for way in ("send", "recv"):
        assert 0 < loaded[f"bulk_{way}_throughput_mbps"] <= 100
        assert frame[f"bulk_{way}_throughput_mbps"].isna().tolist() == [True, False]
    sd = frame["local_sd_us_per_tran"]
    assert sd.notna().tolist() == [True, False], "the streams' CPU time is no transaction's"
