from __future__ import annotations

import io
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from netlimits.campaign.progress import Progress
from netlimits.cli.shared import progress
from netlimits.model import Experiment, Record, Run

CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
VALUES = {"protocol": "tcp", "send_size": 8192, "transport": "TCP with offloads on, at length"}


def record(number: int, status: str = "ok") -> Record:
    return Record(
        run=Run(number, 1, "c", VALUES),
        attempt=1,
        status=status,  # type: ignore[arg-type]
        reason="" if status == "ok" else "the data packets were dropped",
        started=1e9,
        duration_s=1.5,
        figures={"throughput_mbps": 4321.0, "local_sd_us_per_kib": 1.23456789},
    )


def progresses() -> list[Progress]:
    runs = [record(n, "failed" if n == 5 else "ok") for n in range(1, 9)]
    return [Progress(0, 0, 8, 16.0, None)] + [
        Progress(n, int(n > 4), 8, 16.0 - 2 * n, run, {"ok": n - (n > 4), "failed": int(n > 4)})
        for n, run in enumerate(runs, 1)
    ]


@pytest.mark.parametrize("width", [60, 80, 132])
@pytest.mark.parametrize("verbose", [False, True])
def test_the_bar_is_one_line_of_any_terminal(width: int, verbose: bool) -> None:
    out = io.StringIO()
    console = Console(file=out, width=width, height=24, force_terminal=True, color_system=None)
    with progress.live("an-experiment-of-a-very-long-name", console, verbose) as update:
        for state in progresses():
            update(state)
            console.file.flush()
    bars = [
        line
        for line in CONTROL.sub("", out.getvalue()).replace("\r", "\n").splitlines()
        if " done: " in line
    ]
    assert any(
        ("8/8 done: 7 ok, 1 failed, 0:00:00 left" if width >= 80 else "8/8 done") in b for b in bars
    )
    assert max(map(len, bars)) <= width
    assert not re.search(r"\x1b\[[2-9]A", out.getvalue()), "a bar of several lines goes up several"
    assert "run 5 failed" in CONTROL.sub("", out.getvalue()) or verbose


@pytest.fixture
def lines(capsys: pytest.CaptureFixture[str]) -> Callable[[str | None], list[str]]:
    """What is printed where it is piped."""

    def printed(verbosity: str | None) -> list[str]:
        with progress.display(Experiment("e", Path("e.yaml"), ""), verbosity) as update:
            for state in progresses():
                update(state)
        return capsys.readouterr().err.splitlines()

    return printed


def test_quiet_tells_of_failures_alone(lines) -> None:
    (line,) = lines("quiet")
    assert line.startswith("run 5 failed: the data packets were dropped (protocol=tcp")


def test_piped_every_run_is_a_line(lines) -> None:
    told = lines(None)
    assert len(told) == 9
    assert told[-1].startswith(
        "8/8 done: 7 ok, 1 failed, 0:00:00 left, last: 4321 Mbit/s (protocol=tcp"
    )


def test_verbose_tells_every_figure(lines) -> None:
    told = lines("verbose")
    assert len(told) == 9
    assert told[1].startswith("1/8, 0:00:14 left: run 1, attempt 1, 1.5 s: ok (protocol=tcp")
    assert told[1].endswith("throughput_mbps=4321 local_sd_us_per_kib=1.23457")
    assert "failed: the data packets were dropped" in told[5]


def test_a_run_beside_other_programs_says_so() -> None:
    state = next(s for s in progresses() if s.last and s.last.status == "ok")
    assert state.last
    busy = {"remote_other_cpu_pct": 98.2, "remote_other_cpu_of": "stress-ng"}
    record = replace(state.last, figures={**state.last.figures, "local_other_cpu_pct": 3.0, **busy})
    assert progress.line(replace(state, last=record)).endswith(
        "; other programs took 98 % of one CPU of the server's host, most of it stress-ng"
    )
    record = replace(record, figures={**record.figures, "remote_other_cpu_pct": 3.0})
    assert "other programs" not in progress.line(replace(state, last=record))


def test_a_run_whose_throughput_is_of_a_part_of_the_time_says_so_and_why() -> None:
    state = next(s for s in progresses() if s.last and s.last.status == "ok")
    assert state.last

    def told(**figures: float) -> str:
        record = replace(state.last, figures={**state.last.figures, **figures})
        return progress.line(replace(state, last=record))

    part = told(covered_pct=72.3, start_skew_s=0.61, end_skew_s=0.3)
    assert part.endswith(
        "; the throughput is of 72 % of the time: its streams began 0.61 s and ended 0.30 s apart"
    )
    assert told(covered_pct=80.0).endswith("in which data began and ended are left out")
    assert "the throughput is of" not in told(covered_pct=90.0)
