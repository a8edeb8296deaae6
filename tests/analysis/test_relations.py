"""Analyses of a relation say what they say of the frame: figures, notes and errors."""

from __future__ import annotations

from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from netlimits.analysis import caveats
from netlimits.analysis.comparison import compare, duet
from netlimits.analysis.percentiles import percentiles
from netlimits.analysis.sources import relations, sketches
from netlimits.analysis.sources.relations import Relation
from netlimits.analysis.spread import spread
from netlimits.analysis.summary import summary
from netlimits.errors import DataError

FACTORS = {"factors": ["send_size", "offloads"], "derived": ["transport"]}
METRICS = [
    *("throughput_mbps", "local_send_throughput_mbps", "remote_recv_throughput_mbps"),
    *("remote_sd_us_per_kib", "disturbed_pct", "local_other_cpu_pct", "window_s", "elapsed_s"),
]
LAID = {"rows": "send_size", "columns": "transport"}


def runs(count: int = 600, seed: int = 1) -> pd.DataFrame:
    """A campaign's frame: three transports, one without offloads; attempts, failures, sessions."""
    chance = np.random.default_rng(seed)
    number = np.arange(count)
    kind = number % 6
    failed = chance.random(count) < 0.1
    figure = (1000.0 + 400 * kind) * chance.normal(1, 0.05, count)
    started = 1e9 + 2.0 * number + np.where(number > count // 2, 9000.0, 0)
    frame = pd.DataFrame(
        {
            "run": number + 1,
            "block": number // 6 + 1,
            "config": [f"c{k}" for k in kind],
            "attempt": 1,
            "status": np.where(failed, "failed", "ok"),
            "reason": np.where(failed, "no response", None),
            "started": pd.to_datetime(started, unit="s", utc=True),
            "duration_s": 1.5,
            "shared_kernel": True,
            "send_size": np.where(kind % 2, 8192, 1024),
            "offloads": np.array([None, "on", "off"], dtype=object)[kind // 2],
            "transport": np.array(["UDP", "TCP on", "TCP off"])[kind // 2],
            "throughput_mbps": figure,
            "local_send_throughput_mbps": figure * 1.01,
            "remote_recv_throughput_mbps": figure,
            "remote_sd_us_per_kib": 1e6 / figure,
            "disturbed_pct": np.where(chance.random(count) < 0.05, 3.0, np.nan),
            "local_other_cpu_pct": np.where(chance.random(count) < 0.1, 50.0, 1.0),
            "window_s": 9.0,
            "elapsed_s": np.where(chance.random(count) < 0.1, 10.0, 9.0),
        }
    )
    frame.loc[failed, METRICS] = np.nan
    cut = frame.iloc[[7, 20, 41]].assign(status="interrupted", reason="cut off")
    cut[METRICS] = np.nan
    again = frame.iloc[[7, 20]].assign(attempt=2)
    frame = pd.concat([frame.drop(index=[7, 20, 41]), cut, again], ignore_index=True)
    frame.attrs["columns"] = {**FACTORS, "metrics": METRICS}
    frame.attrs["planned"] = [count + 6, count]
    return frame


def of(frame: pd.DataFrame) -> Relation:
    """The same in DuckDB."""
    opened = duckdb.connect()
    rows = opened.from_arrow(pa.Table.from_pandas(frame, preserve_index=False))
    return Relation(rows, opened, dict(frame.attrs))


def same(whole: pd.DataFrame, streamed: pd.DataFrame) -> None:
    pd.testing.assert_frame_equal(whole, streamed, rtol=1e-12, check_dtype=False)
    assert whole.attrs == streamed.attrs


@pytest.fixture(params=[200, 0], ids=["named", "joined"])
def few(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Superseded attempts named one by one, and in a table of their own."""
    monkeypatch.setattr(relations, "FEW", request.param)


@pytest.mark.long
@pytest.mark.usefixtures("few")
def test_a_summary() -> None:
    frame, names = runs(), ["throughput", "remote_sd", "local_send_throughput"]
    whole = summary(frame, names, **LAID, improvement="8192 over 1024")
    same(whole, summary(of(frame), names, **LAID, improvement="8192 over 1024"))
    notes = " ".join(whole.attrs["notes"])
    for sentence in ("sessions", "other traffic", "lost packets", "7 left", "not loss"):
        assert sentence in notes, sentence


@pytest.mark.long
def test_percentiles_and_spread() -> None:
    frame = runs()
    keys = ["transport", "send_size"]
    same(percentiles(frame, "throughput", keys), percentiles(of(frame), "throughput", keys))
    few_points = percentiles(of(frame), "throughput", keys, points=11)
    same(percentiles(frame, "throughput", keys, points=11), few_points)
    whole = spread(frame, "throughput", "send_size", "transport")
    same(whole, spread(of(frame), "throughput", "send_size", "transport"))
    pooled = {"pool": ["transport", "offloads"]}
    whole = spread(frame, "throughput", "send_size", **pooled)
    same(whole, spread(of(frame), "throughput", "send_size", **pooled))


@pytest.mark.long
@pytest.mark.parametrize("names", [(), ("throughput",)])
def test_a_comparison(names: tuple[str, ...]) -> None:
    before, after = runs(), runs(480, seed=2)
    after.loc[after["config"] == "c3", ["status", "reason"]] = ["timeout", "no answer"]
    after.loc[after["config"] == "c3", METRICS] = np.nan
    before = before[before["config"] != "c5"]
    whole = compare(before, after, names)
    assert {"failed", "worse", "unclear", "same", "better"} & {*whole["verdict"]} >= {"failed"}
    same(whole, compare(of(before), of(after), names))
    same(whole, compare(before, of(after), names))


def test_a_duet() -> None:
    frame = runs()
    frame["side"] = np.where(frame["send_size"] == 1024, "before", "after")
    frame = frame.drop(columns="send_size")
    frame.attrs["columns"] = {**FACTORS, "factors": ["side", "offloads"], "metrics": METRICS}
    whole = duet(frame, "throughput")
    assert (whole["blocks"] > 6).all()
    same(whole, duet(of(frame), "throughput"))


@pytest.mark.long
@pytest.mark.parametrize(
    "ask",
    [
        lambda runs: summary(runs, "latency_p50", "send_size"),
        lambda runs: summary(runs, "throughput", "send_size"),
        lambda runs: summary(runs, "throughput", "colour"),
        lambda runs: percentiles(runs, "throughput", "send_size"),
        lambda runs: percentiles(runs, "disturbed", ["send_size", "transport"]),
        lambda runs: spread(runs, "throughput", "transport"),
        lambda runs: summary(runs, "disturbed", "send_size", "transport"),
    ],
)
def test_what_cannot_be_had_is_told_alike(ask: Any) -> None:
    frame = runs()
    with pytest.raises(DataError) as told:
        ask(frame)
    with pytest.raises(DataError) as streamed:
        ask(of(frame))
    assert str(streamed.value) == str(told.value)


def test_an_infinite_figure_is_refused() -> None:
    frame = runs()
    frame.loc[frame["run"] == 2, ["status", "throughput_mbps"]] = ["ok", np.inf]
    for ask in (
        lambda runs: percentiles(runs, "throughput", ["send_size", "transport"]),
        lambda runs: summary(runs, "throughput", "send_size", "transport"),
        lambda runs: compare(runs, runs, "throughput"),
    ):
        with pytest.raises(DataError, match="is infinite in"):
            ask(of(frame))


def test_only_the_columns_that_are_asked_for_are_read() -> None:
    relation = of(runs()).without("remote_sd_us_per_kib", "disturbed_pct")
    assert "disturbed_pct" not in relation.columns
    table = summary(relation, "throughput", **LAID)
    assert not any("other traffic" in note for note in table.attrs["notes"])


def test_part_of_a_campaign_lacks_no_runs_that_were_planned() -> None:
    frame, relation = runs(), of(runs())
    assert sketches.without_outcome(relation) == 7
    assert sketches.without_outcome(relation.filter("run <= 30")) == 0
    assert len(relation.frame()) == len(frame)


@pytest.mark.parametrize("seed", range(5))
def test_sessions_are_those_of_the_runs_in_their_order(seed: int) -> None:
    chance = np.random.default_rng(seed)
    frame = runs()
    gaps = np.where(chance.random(len(frame)) < 0.05, chance.uniform(300, 2000, len(frame)), 2.0)
    started = 1e9 + np.cumsum(gaps + 1.5)
    frame["started"] = pd.to_datetime(started[chance.permutation(len(frame))], unit="s", utc=True)
    assert caveats.sessions(frame)
    whole = caveats.sessions(
        frame.sort_values(["run", "attempt"]).drop_duplicates("run", keep="last")
    )
    assert caveats.sessions(of(frame.sort_values(["run", "attempt"]))) == whole


@pytest.mark.parametrize("columns", ["transport", ()])
def test_runs_that_depend_on_one_another(columns: Any) -> None:
    frame = runs()
    chance = np.random.default_rng(8)
    slow = np.repeat(chance.random(50) < 0.3, 2)[(frame["block"] - 1).to_numpy()]
    frame.loc[slow, METRICS[:3]] *= 0.8
    lost = (slow & (frame["status"] == "ok") & (chance.random(len(frame)) < 0.4)).to_numpy()
    frame.loc[lost, "status"] = "failed"
    frame.loc[lost, METRICS] = np.nan
    pool = [] if columns else ["transport", "offloads"]
    whole = summary(frame, "throughput", "send_size", columns, pool=pool)
    notes = " ".join(whole.attrs["notes"])
    assert "because consecutive runs are alike" in notes
    assert "slow runs fail" in notes
    same(whole, summary(of(frame), "throughput", "send_size", columns, pool=pool))
