import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netlimits.analysis.aggregate import (
    aggregate,
    highest_averages,
    highest_window,
    with_highest_averages,
)
from netlimits.analysis.summary import summary
from netlimits.errors import DataError

EPOCH = 1_700_000_000.0
lengths = st.lists(st.floats(0.2, 0.8), min_size=8, max_size=20)


def stream(name: object, start: float, steps: list[float], rates: list[float]) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "stream": name,
            "ending_s": EPOCH + start + np.cumsum(steps),
            "interval_s": steps,
            "throughput_mbps": rates,
        }
    )


def test_two_streams_that_do_not_coincide() -> None:
    frame = pd.concat(
        [stream("a", 0.0, [1.0] * 3, [10, 20, 30]), stream("b", 0.5, [1.0] * 3, [100, 200, 300])]
    )
    table = aggregate(frame)
    assert table["start_s"].tolist() == pytest.approx([0, 0.5, 1, 1.5, 2])
    assert table["throughput_mbps"].tolist() == pytest.approx([110, 120, 220, 230, 330])
    assert table.attrs["start_skew_s"] == pytest.approx(0.5)
    assert table.attrs["end_skew_s"] == pytest.approx(0.5)
    assert table.attrs["left_out"] == pytest.approx(1 - 505 / 660)
    by_second = aggregate(frame, step=1.0)
    assert by_second["throughput_mbps"].tolist() == pytest.approx([115, 225, 330])
    assert by_second["end_s"].tolist() == pytest.approx([1, 2, 2.5])


@pytest.mark.long
@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(st.floats(0, 1), lengths), min_size=1, max_size=5), st.floats(0.1, 3))
def test_no_data_is_made_or_lost_within_the_window(
    streams: list[tuple[float, list[float]]], step: float
) -> None:
    """At a constant rate the sum is that of the rates, however the intervals lie."""
    frame = pd.concat(
        [stream(i, start, steps, [100.0] * len(steps)) for i, (start, steps) in enumerate(streams)]
    )
    for table in (aggregate(frame), aggregate(frame, step=step)):
        assert table["throughput_mbps"].to_numpy() == pytest.approx(100 * len(streams), rel=1e-4)
        assert table["start_s"].iloc[0] == 0
        assert (table["end_s"].to_numpy()[:-1] == table["start_s"].to_numpy()[1:]).all()


def test_summing_final_throughputs_overstates_where_streams_ran_alone() -> None:
    """Two streams share 1000 Mbit/s, and each has it alone for its first or last second."""
    a = stream("a", 0.0, [1.0] * 4, [1000, 500, 500, 500])
    b = stream("b", 1.0, [1.0] * 4, [500, 500, 500, 1000])
    finals = a["throughput_mbps"].mean() + b["throughput_mbps"].mean()
    table = aggregate(pd.concat([a, b]))
    assert finals == 1250
    assert table["throughput_mbps"].to_numpy() == pytest.approx(1000)


def test_streams_of_clocks_that_differ_never_ran_together() -> None:
    frame = pd.concat(
        [stream("a", 0.0, [1.0] * 3, [1, 2, 3]), stream("b", 3600.0, [1.0] * 3, [10, 20, 30])]
    )
    with pytest.raises(DataError, match=r"never ran all together: one ended 3.6e\+03 s before"):
        aggregate(frame)


def test_a_drifting_interval_is_taken_but_a_gap_is_refused() -> None:
    frame = stream("a", 0.0, [0.5, 0.31, 0.6, 0.45], [10, 10, 10, 10])
    assert aggregate(frame)["throughput_mbps"].to_numpy() == pytest.approx(10)
    with pytest.raises(DataError, match=r"stream a: a gap of 0\.31 s after its interim result 1"):
        aggregate(frame.drop(index=1))
    with pytest.raises(DataError, match="stream a: an overlap"):
        aggregate(pd.concat([frame, frame.assign(ending_s=frame["ending_s"] + 0.1)]))


def test_the_highest_average_is_found_between_the_edges_too() -> None:
    frame = stream("a", 0.0, [1.0] * 6, [10, 20, 90, 80, 20, 10])
    series = aggregate(frame)
    two = highest_window(series, 2).iloc[0]
    assert (two["start_s"], two["throughput_mbps"]) == (pytest.approx(2), pytest.approx(85))
    assert highest_window(series, 6)["throughput_mbps"].item() == pytest.approx(230 / 6)
    with pytest.raises(DataError, match="no window of 7 s"):
        highest_window(series, 7)


@settings(max_examples=50, deadline=None)
@given(lengths, st.floats(0.1, 1.5), st.integers(0, 10_000))
def test_no_window_beats_the_highest(steps: list[float], length: float, seed: int) -> None:
    rates = np.random.default_rng(seed).uniform(1, 100, len(steps))
    series = aggregate(stream("a", 0.0, steps, list(rates)))
    best = highest_window(series, length).iloc[0]
    times = np.append(series["start_s"], series["end_s"].iloc[-1])
    data = np.append(0, np.cumsum(series["throughput_mbps"] * np.diff(times)))
    starts = np.linspace(0, times[-1] - length, 200)
    others = (np.interp(starts + length, times, data) - np.interp(starts, times, data)) / length
    assert best["throughput_mbps"] >= others.max() * (1 - 1e-9)
    assert best["end_s"] <= times[-1] + 1e-6


def test_without_a_stream_column_the_runs_are_the_streams() -> None:
    """As campaign.intervals() has them: programs that ran side by side, a run each."""
    frame = pd.concat(
        [stream("a", 0.0, [1.0] * 3, [10, 20, 30]), stream("b", 0.5, [1.0] * 3, [100, 200, 300])]
    )
    runs = frame.rename(columns={"stream": "run"})
    pd.testing.assert_frame_equal(aggregate(runs), aggregate(frame))
    with pytest.raises(DataError, match="no factor 'stream'"):
        aggregate(runs.drop(columns="run"))


def runs_of(*rates: float, seconds: int = 4, **factors: list[object]) -> pd.DataFrame:
    """As campaign.intervals() has runs of two parallel streams, the second a bit later."""
    parts = []
    for run, rate in enumerate(rates, 1):
        for number, skew in ((1, 0.0), (2, 0.25)):
            steps = [rate / 2 * (1 + (second == 2)) for second in range(seconds)]
            part = stream(number, 100.0 * run + skew, [1.0] * seconds, steps)
            mine = {name: values[run - 1] for name, values in factors.items()}
            parts.append(part.assign(run=run, attempt=1, status="ok", **mine))
    return pd.concat(parts, ignore_index=True)


def test_the_highest_average_of_each_run_keeps_its_factors() -> None:
    frame = runs_of(100.0, 300.0, mtu=[1500, 8896], note=["a", None])
    table = highest_averages(frame, 1)
    assert table[["run", "mtu", "streams"]].to_numpy().tolist() == [[1, 1500, 2], [2, 8896, 2]]
    # the third second of both, a quarter of a second apart: 0.75 s of twice the rate and the rest
    assert table["highest_average_mbps"].tolist() == pytest.approx([187.5, 562.5])
    assert table["start_skew_s"].tolist() == pytest.approx([0.25, 0.25])
    assert (table["end_s"] - table["start_s"]).tolist() == pytest.approx([1, 1])
    assert table["mtu"].dtype.kind == "i"
    whole = highest_averages(frame, 3.75)["highest_average_mbps"]
    assert whole.tolist() == pytest.approx([100 * 4.75 / 3.75, 300 * 4.75 / 3.75])


def test_a_run_that_is_too_short_or_not_ok_is_named_or_left_out() -> None:
    frame = runs_of(100.0, 300.0)
    with pytest.raises(DataError, match=r"run 1: no window of 60 s: all streams ran together for"):
        highest_averages(frame, 60)
    frame.loc[frame["run"] == 1, "status"] = "failed"
    assert highest_averages(frame, 1)["run"].tolist() == [2]
    frame["status"] = "failed"
    with pytest.raises(DataError, match="no run that is ok has interim results"):
        highest_averages(frame, 1)


def test_of_a_run_tried_again_the_last_attempt_counts() -> None:
    again = runs_of(500.0).assign(attempt=2)
    table = highest_averages(pd.concat([runs_of(100.0), again]), 1)
    assert table[["run", "attempt"]].to_numpy().tolist() == [[1, 2]]
    assert table["highest_average_mbps"].item() == pytest.approx(937.5)


def test_runs_get_their_highest_average_beside_their_other_figures() -> None:
    runs = pd.DataFrame(
        {"run": [1, 2, 3], "attempt": 1, "status": ["ok", "ok", "failed"], "local_cpu_pct": 5.0}
    )
    table = with_highest_averages(runs, runs_of(100.0, 300.0), 1)
    assert table["run"].tolist() == [1, 2, 3]
    assert table["highest_average_mbps"].tolist()[:2] == pytest.approx([187.5, 562.5])
    assert table["highest_average_mbps"].isna().tolist() == [False, False, True]


def test_a_run_without_interim_results_does_not_take_the_others_averages_along() -> None:
    """One such run of a campaign, and the metric was lost for all."""
    runs = pd.DataFrame(
        {"run": [1, 2, 3, 4], "attempt": 1, "status": "ok", "mtu": [1500] * 2 + [9000] * 2}
    )
    interims = runs_of(100.0, 300.0, 500.0)
    second = interims.index[(interims["run"] == 2) & (interims["stream"] == 1)][1]
    broken = interims.drop(second)
    table = with_highest_averages(runs, broken, 1)
    assert table["highest_average_mbps"].isna().tolist() == [False, True, False, True]
    means = summary(table, ["highest_average"], "mtu")
    assert means["n"].tolist() == [1, 1]
    assert means["runs"].tolist() == [2, 2]
    (note,) = (n for n in means.attrs["notes"] if n.startswith("Highest average throughput: 2 of"))
    assert "2 of 4 runs are left out, because they have none; run 2: stream 1: a gap of" in note
    without = with_highest_averages(runs, interims, 1).attrs["partial"]["highest_average_mbps"]
    assert "run 4 has no interim results" in without


def test_a_last_result_as_short_as_netperf_s_clock_is_no_overlap() -> None:
    """Seen of netperf 2.7.0: 2 ms at the end, told a millisecond too early."""
    frame = stream("a", 0.0, [0.25, 0.25, 0.002], [100, 100, 100])
    frame.loc[2, "ending_s"] -= 0.001
    assert aggregate(frame)["throughput_mbps"].iloc[0] == pytest.approx(100)
    frame = stream("a", 0.0, [0.25, 0.25, 0.02], [100, 100, 100])
    frame.loc[2, "ending_s"] -= 0.01
    with pytest.raises(DataError, match=r"stream a: an overlap of 0\.01 s"):
        aggregate(frame)
