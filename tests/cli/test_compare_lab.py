"""The gate of a merge as the manual has it, on a path that became slower and on one that did not."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import narrow_path
import pytest
import warm
from waiting import LONG

from netlimits.lab.labs import Lab

pytestmark = pytest.mark.lab

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "gate.md"
EXPERIMENT = """\
experiment: gate
measure: {netperf: {seconds: 1, send_size: 1024}}
repeat: {replicates: 4, order: listed}
"""


def steps() -> list[str]:
    """Return the commands of the page's workflows: of a duet, then of a baseline."""
    lines = re.findall(r"- run: (netlimits .*)", PAGE.read_text("utf-8"))
    assert len(lines) == 4
    return [line.replace("netlimits", f"{sys.executable} -m netlimits", 1) for line in lines]


def bash(folder: Path, line: str) -> subprocess.CompletedProcess[str]:
    environment = {"GITHUB_STEP_SUMMARY": str(folder / "summary.md")}
    return subprocess.run(
        ["bash", "-c", line], cwd=folder, text=True, capture_output=True, timeout=LONG,
        env={**os.environ, **environment},
    )  # fmt: skip


def again(folder: Path, line: str) -> subprocess.CompletedProcess[str]:
    """The command of a line that bash has run already, begun by a fork."""
    words = shlex.split(line.partition(" >> ")[0])
    return warm.run(words, cwd=folder, text=True, capture_output=True, timeout=LONG)


def test_a_slower_path_fails_the_workflow_and_the_same_path_passes(lab: Lab, tmp_path: Path):
    gate = tmp_path / "gate"
    gate.mkdir()
    (gate / "experiment.yaml").write_text(EXPERIMENT)
    (gate / "hosts.yaml").write_text(lab.hosts_file.read_text())
    (gate / "gate.yaml").write_text("gate:\n  - {of: throughput, threshold: 5%}\n")
    *_, run, compare = steps()
    outcome = bash(tmp_path, run.replace("--out results", "--out gate/baseline"))
    assert outcome.returncode == 0, outcome.stderr

    assert again(tmp_path, run).returncode == 0
    told = bash(tmp_path, compare)
    assert told.returncode == 0, told.stderr
    assert "| Throughput (Mbit/s)" in (tmp_path / "summary.md").read_text()

    (tmp_path / "results").rename(tmp_path / "same")
    with narrow_path.slower(lab):
        assert again(tmp_path, run).returncode == 0
    told = again(tmp_path, compare)
    assert told.returncode == 4, told.stderr
    ratio = re.search(r"gate: throughput is worse: ×([0-9.]+)", told.stderr)
    assert ratio
    assert float(ratio[1]) == pytest.approx(0.5, abs=0.15)


SHAPED = """\
settings:
  - roles: [sender]
    qdisc: {kind: tbf, rate: 50mbit, burst: 64kb, latency: 20ms}
"""


def test_the_duets_workflow_fails_a_merge_that_is_slower_and_passes_one_that_is_not(
    lab: Lab, tmp_path: Path
):
    gate = tmp_path / "gate"
    gate.mkdir()
    text = EXPERIMENT.replace("order: listed", "order: blocked")
    (gate / "experiment.yaml").write_text(text)
    (gate / "hosts.yaml").write_text(lab.hosts_file.read_text())
    (gate / "gate.yaml").write_text("gate:\n  - {of: throughput, threshold: 5%}\n")
    run, compare, *_ = steps()

    (gate / "merge.yaml").write_text(text)
    outcome = bash(tmp_path, run)
    assert outcome.returncode == 0, outcome.stderr
    told = bash(tmp_path, compare)
    assert told.returncode == 0, told.stderr
    assert "interleaved in the same blocks" in (tmp_path / "summary.md").read_text()

    (tmp_path / "results").rename(tmp_path / "same")
    (gate / "merge.yaml").write_text(text + SHAPED)
    assert again(tmp_path, run).returncode == 0
    told = again(tmp_path, compare)
    assert told.returncode == 4, told.stderr
    ratio = re.search(r"gate: throughput is worse: ×([0-9.]+)", told.stderr)
    assert ratio
    assert float(ratio[1]) == pytest.approx(0.5, abs=0.15)
