"""A sample of many runs is judged: evenly spread, and the same share of them."""

from __future__ import annotations

import numpy as np
import pandas as pd

import netlimits as nl
from netlimits.limits.evidence import JUDGED, sample


def many(count: int, few: int = 10) -> pd.DataFrame:
    """Runs of two configurations; the sender's CPU is full in two of three runs of the first."""
    runs = np.arange(1, count + 1)
    full = pd.DataFrame({
        "run": runs, "config": "a", "send_size": 64, "status": "ok", "throughput_mbps": 100.0,
        "local_cpu_peak_pct": np.where(runs % 3, 100.0, 30.0), "local_process_cpu_pct": 99.0,
    })  # fmt: skip
    rest = full.iloc[:few].assign(run=runs[:few] + count, config="b", send_size=8192)
    return pd.concat([full, rest], ignore_index=True)


def test_a_sample_is_spread_evenly_and_small_configurations_are_complete() -> None:
    frame = many(10 * JUDGED)
    chosen = sample(frame, run=5)
    assert chosen.attrs["runs"] == {"a": 10 * JUDGED}
    counts = chosen["config"].value_counts()
    assert (counts["a"], counts["b"]) == (JUDGED + 1, 10)
    places = chosen.loc[(chosen["config"] == "a") & (chosen["run"] != 5), "run"].to_numpy()
    assert set(np.diff(places)) == {10}
    assert 5 in set(chosen["run"])


def test_a_configuration_of_few_runs_is_not_sampled() -> None:
    frame = many(JUDGED)
    assert sample(frame) is frame


def test_explain_counts_all_runs_and_says_how_many_it_judged() -> None:
    frame = many(9 * JUDGED + 7)
    verdicts = nl.explain(frame).set_index("send_size")
    assert tuple(verdicts.loc[64, ["runs", "judged"]]) == (9 * JUDGED + 7, JUDGED)
    assert tuple(verdicts.loc[8192, ["runs", "judged"]]) == (10, 10)
    assert abs(verdicts.loc[64, "confidence"] - 2 / 3) < 0.1
    limited = nl.limited_by(frame)
    assert len(limited) == len(frame), "also of runs that were not judged"
