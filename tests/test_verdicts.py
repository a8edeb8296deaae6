"""`benchmarks/verdicts.py`, in a short form: limits made on purpose, and the matrix of what is said of them."""

from __future__ import annotations

import re
import subprocess
import sys

import benchmark
import pytest
import yaml
from waiting import LONG

from netlimits.experiment.load import load
from netlimits.experiment.plan import Plan
from netlimits.limits.classes import CLASSES
from netlimits.limits.figures import RunFigures

confusion = benchmark.module("confusion")
making = benchmark.module("making")
situations = benchmark.module("situations")
verdicts = benchmark.module("verdicts")

CAPPED = {
    "throughput_mbps": 40.0,
    **{f"{end}_tx_bytes": 1e8 - 9e7 * (end == "remote") for end in ("local", "remote")},
    **{f"{end}_cpu_peak_pct": 30.0 for end in ("local", "remote")},
    "local_rtt_us": 4000.0,
    "local_min_rtt_us": 200.0,
}


def labelled(label: str, **figures: float):
    return confusion.Labelled(label, (label,), RunFigures(CAPPED | figures))


def test_a_share_has_wilson_s_interval():
    """The 2 of 10 and the 0 of 10 of textbooks: 5.7 to 51.0 %, 0 to 27.8 %."""
    assert confusion.wilson(2, 10) == pytest.approx((0.0567, 0.5098), abs=1e-4)
    assert confusion.wilson(0, 10) == pytest.approx((0.0, 0.2775), abs=1e-4)
    assert confusion.wilson(0, 0) == (0, 1)


def test_each_half_has_every_second_run_of_each_label():
    every = [labelled(name, number=n) for n in range(4) for name in ("loss", "link")]
    for half, numbers in zip(confusion.halves(every), ([0, 2], [1, 3]), strict=True):
        assert [run.run.figures["number"] for run in half if run.label == "loss"] == numbers
        assert len(half) == 4


def test_the_matrix_counts_and_marks_what_is_right():
    rows = confusion.judged(
        [labelled("path-cap"), labelled("loss"), labelled("loss", local_rtt_us=210.0)]
    )
    assert list(confusion.matrix(rows)) == [
        "| made as | path-cap | undetermined |",
        "|---|---|---|",
        "| path-cap | **1** |  |",
        "| loss | 1 | 1 |",
    ]
    right, undetermined = confusion.summary(rows)
    assert right.startswith("right, of the determined: 1 of 2, 50.0 %")
    assert undetermined.startswith("undetermined: 1 of 3, 33.3 %")


@pytest.mark.long
def test_a_threshold_that_is_too_high_is_seen():
    runs = [
        labelled("path-cap", local_rtt_us=200.0 * times, throughput_mbps=400.0)
        for times in (6, 7, 30)
    ]
    from netlimits.limits.classes.path import path_cap

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(path_cap, "RTT_INFLATION", 10.0)
        lines = list(confusion.choices(runs))
        (line,) = [line for line in lines if line.startswith("path_cap.RTT_INFLATION")]
        assert re.match(r"path_cap.RTT_INFLATION = 10: 0 from 5 to 6  <- not as it is", line)
        assert path_cap.RTT_INFLATION == 10.0


@pytest.mark.parametrize("trial", verdicts.every(), ids=lambda trial: trial.folder)
def test_each_label_is_an_experiment(trial, tmp_path):
    file = tmp_path / "label.yaml"
    file.write_text(f"experiment: {trial.name}\n{trial.label.experiment}")
    assert len(Plan(load(file)))


NOT_MADE = ("queue-collision",)
"""Classes that benchmarks make less often: the lab's NICs have two queues, and hash flows as they like."""


@pytest.mark.parametrize("limit", CLASSES, ids=lambda limit: limit.name)
def test_each_class_is_made_in_8_ways_or_in_unfamiliar_situations(limit, tmp_path):
    if not limit.labels:
        shown = [each for each in situations.every() if limit.name in each.right]
        assert (limit.name in NOT_MADE) == (len(shown) < 2)
        return
    ways = 0
    for label in limit.labels:
        (tmp_path / "label.yaml").write_text(f"experiment: ways\n{label.experiment}")
        ways += len(Plan(load(tmp_path / "label.yaml")))
    assert ways >= (4 if limit.name in NOT_MADE else 8)


def test_a_mixture_has_classes_that_are_right():
    names = {limit.name for limit in CLASSES}
    mixtures = yaml.safe_load(verdicts.MIXTURES.read_text("utf-8"))
    assert all(each["right"] and set(each["right"]) <= names for each in mixtures.values())


FAR = ("pacing", "local-shaper", "fragmentation")
"""Made far from every threshold, and told without the CPUs, which others on the machine share."""


@pytest.mark.lab
def test_what_was_made_on_purpose_is_told_apart(tmp_path):
    command = [sys.executable, benchmark.BENCHMARKS / "verdicts.py", tmp_path / "made", "--short"]
    ran = subprocess.run(
        [*command, "--on=--hosts 3", "--only", *FAR],
        capture_output=True, text=True, timeout=4 * LONG,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    head, *rows = re.findall(r"^\| ([a-z -]+) \| (.*) \|$", ran.stdout, re.MULTILINE)
    assert head[0] == "made as"
    cells = [
        (verdict, count.strip())
        for _, counts in rows
        for verdict, count in zip(head[1].split(" | "), counts.split(" | "), strict=False)
        if counts != head[1]
    ]
    wrong = [verdict for verdict, count in cells if count and "*" not in count]
    assert set(wrong) <= {"undetermined"}, ran.stdout
    assert sum("*" in count for _, count in cells) >= 2, ran.stdout + ran.stderr
