"""`benchmarks/diagnose.py`: what counts as right; and its short form, one situation on hosts."""

from __future__ import annotations

import json
import sys
from dataclasses import replace

import benchmark
import jsonschema
import pytest
import warm
from waiting import LONG

import netlimits as nl
from netlimits.limits import CLASSES
from netlimits.limits.ladder.diagnosis import undecided
from netlimits.limits.ladder.diagnosis_schema import SCHEMA
from netlimits.tools import WORKLOADS

making = benchmark.module("making")
benchmark.module("confusion")
benchmark.module("situations")
diagnose = benchmark.module("diagnose")
EVERY = {case.name: case for case in diagnose.every()}
WINDOW = EVERY["small-window-far"]
SECONDS = 45


def answer(limit: str, state: str, rows=(), ruled_out=(), seconds=60.0, restored=True):
    own = {"limit": limit, "state": state, "ruled_out": dict.fromkeys(ruled_out, "so"),
           "sensitivities": [{"resource": name, "state": of} for name, of in rows]}  # fmt: skip
    kept = {"answer": {"workloads": [own]}, "seconds": seconds, "load": 1.0, "restored": restored}
    return diagnose.judged(WINDOW, kept)


def test_there_are_24_situations_and_more_of_workloads_and_classes_that_are():
    assert len(EVERY) >= 24
    assert {case.workload for case in EVERY.values()} == {*WORKLOADS}
    right = {name for case in EVERY.values() for name in case.situation.right}
    assert right <= {each.name for each in CLASSES}
    assert sum({"sender-cpu", "receiver-cpu"} <= {*c.situation.right} for c in EVERY.values()) >= 4


def test_what_is_proven_must_be_right_and_no_labelled_cause_ruled_out():
    good = answer("receive-window", "proven", [("receive buffer", "proven")])
    assert list(diagnose.missed([good])) == []
    wrong = answer("sender-cpu", "proven")
    assert list(diagnose.missed([wrong])) == ["fewer than 95 % of the proven verdicts are right"]
    ruled_out = answer("sender-cpu", "suggested", [("receive buffer", "ruled out")])
    assert list(diagnose.missed([ruled_out])) == ["a labelled cause was ruled out"]
    assert answer("", "open", ruled_out=["receive buffer"]).wrongly_ruled_out == ["receive buffer"]


def test_time_open_verdicts_and_hosts_that_stay_changed_miss_goals():
    good = answer("receive-window", "proven")
    late = [answer("receive-window", "proven", seconds=100.0)]
    assert list(diagnose.missed(late)) == ["the median time is above 90 s"]
    assert list(diagnose.missed([good, answer("", "open")])) == ["more than 10 % are open"]
    changed = [answer("receive-window", "proven", restored=False)]
    assert list(diagnose.missed(changed)) == ["a host was not restored"]


def test_a_likely_class_is_right_until_something_is_proven():
    flow = replace(WINDOW, situation=replace(WINDOW.situation, likely=("path-cap",)))
    for state, is_right in (("suggested", True), ("proven", False)):
        assert diagnose.Row(flow, "path-cap", state, (), 1.0, True).is_right is is_right


@pytest.mark.lab
def test_a_small_window_is_answered_in_time_by_a_campaign_that_leaves_no_trace(tmp_path):
    case = EVERY["window-of-a-sysctl"]
    diagnose.make(case, tmp_path, f"{SECONDS}s")
    kept = json.loads((tmp_path / case.name / "kept.json").read_text())
    assert kept["restored"]
    assert kept["seconds"] < 1.2 * SECONDS + 5  # a busy machine starts Python slowly
    jsonschema.validate(kept["answer"], dict(SCHEMA))
    row = diagnose.judged(case, kept)
    assert row.is_right or row.state == "open", row
    assert not row.wrongly_ruled_out
    out = tmp_path / case.name / "answer"
    (workload,) = kept["answer"]["workloads"]
    assert bool(undecided(nl.open(out))) <= (workload["state"] != "proven")
    assert [each["resource"] for each in workload["sensitivities"]] == list(
        nl.sensitivities(nl.open(out))["resource"]
    )
    assert (out / "report.html").exists()
    for words in (("table", out), ("figures", out), ("plan", out / "experiment.yaml")):
        ran = warm.run([sys.executable, "-m", "netlimits", *map(str, words)], timeout=LONG,
                       capture_output=True, text=True)  # fmt: skip
        assert ran.returncode == 0, ran.stdout + ran.stderr
