import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from netlimits.analysis.summary import summary
from netlimits.errors import DataError
from netlimits.reproduce import published

METRICS = ["throughput", "local_sd", "remote_sd"]


def improvements(table: pd.DataFrame) -> dict[tuple[str, str], float]:
    chosen = table[table["statistic"] == "improvement"]
    return {(r.metric, r.transport): r.value for r in chosen.itertuples()}


def test_the_printed_improvements_come_out_within_the_rounding_of_the_printed_means() -> None:
    rounded = published.table("summary")
    table = summary(rounded, METRICS, "send_size", "transport", "8192 over 1024")
    ratios = improvements(table)
    printed = published.table("summary-improvement")
    assert len(ratios) == len(printed) == 9
    half = {"throughput_mbps": 0.5, "local_sd_us_per_kib": 0.005, "remote_sd_us_per_kib": 0.005}
    for row in printed.itertuples():
        cells = rounded[rounded["transport"] == row.transport].set_index("send_size")[row.metric]
        top, bottom = (8192, 1024) if row.metric == "throughput_mbps" else (1024, 8192)
        off = half[row.metric]
        low = (cells[top] - off) / (cells[bottom] + off) - 0.005
        high = (cells[top] + off) / (cells[bottom] - off) + 0.005
        assert ratios[row.metric, row.transport] == cells[top] / cells[bottom]
        assert low <= row.improvement <= high
    for transport, printed_ratio in (("UDP", 3.81), ("TCP on", 2.33), ("TCP off", 4.49)):
        assert round(ratios["throughput_mbps", transport], 2) == printed_ratio


def test_one_run_a_cell_has_no_interval_and_only_that() -> None:
    table = summary(published.table("summary"), METRICS, "send_size", "transport", "8192 over 1024")
    assert table[["low", "high"]].isna().all(axis=None)
    assert table["value"].notna().all()
    more = summary(published.table("udp-send-size"), METRICS, "send_size", (), "8192 over 1024")
    assert more[["low", "high"]].notna().all(axis=None)
    assert (more["low"] <= more["value"]).all()
    assert (more["value"] <= more["high"]).all()


def test_a_mean_and_its_interval_are_student_t_over_the_runs() -> None:
    frame = published.table("udp-send-size")
    row = summary(frame, "local_sd", "send_size", confidence=0.9).iloc[0]
    sample = frame.loc[frame["send_size"] == 1024, "local_sd_us_per_kib"]
    low, high = stats.t.interval(0.9, len(sample) - 1, sample.mean(), stats.sem(sample))
    assert (row["n"], row["value"]) == (10, pytest.approx(sample.mean()))
    assert (row["low"], row["high"]) == (pytest.approx(low), pytest.approx(high))


def test_the_ratio_s_interval_covers_the_truth_as_often_as_it_says() -> None:
    draw = np.random.default_rng(7)
    trials = 400
    parts = [
        pd.DataFrame(
            {
                "size": size,
                "trial": np.repeat(np.arange(trials), n),
                "throughput_mbps": mean * draw.lognormal(0, s, n * trials),
            }
        )
        for size, mean, s, n in ((1, 100.0, 0.05, 8), (8, 400.0, 0.2, 12))
    ]
    truth = 4.0  # of medians, and of geometric means
    table = summary(pd.concat(parts), "throughput", "size", "trial", improvement="8 over 1")
    ratios = table[table["statistic"] == "improvement"]
    assert len(ratios) == trials
    hits = ((ratios["low"] <= truth) & (truth <= ratios["high"])).sum()
    assert 0.93 <= hits / trials <= 0.97


def test_better_is_above_one_whichever_way_the_metric_goes() -> None:
    frame = pd.DataFrame(
        {"mtu": [1500, 9000], "throughput_mbps": [10.0, 20.0], "local_sd_us_per_kib": [3.0, 1.0]}
    )
    table = summary(frame, ["throughput", "local_sd"], "mtu", improvement="9000 over 1500")
    assert table.loc[table["statistic"] == "improvement", "value"].tolist() == [2.0, 3.0]
    assert table["metric"].drop_duplicates().tolist() == ["throughput_mbps", "local_sd_us_per_kib"]


def test_only_the_last_ok_attempts_count_and_the_reader_is_told() -> None:
    frame = pd.DataFrame(
        {
            "run": [1, 1, 2, 3],
            "attempt": [1, 2, 1, 1],
            "status": ["interrupted", "ok", "ok", "failed"],
            "shared_kernel": True,
            "mtu": 1500,
            "local_sd_us_per_kib": [9.0, 1.0, 3.0, np.nan],
        }
    )
    table = summary(frame, "local_sd", "mtu")
    assert (table["value"].item(), table["n"].item()) == (2.0, 2)
    counted, kernel, few = table.attrs["notes"]
    assert counted == "3 runs: 2 ok, 1 failed; figures are of those that are ok"
    assert "one kernel" in kernel
    assert "fewer than 6 a figure" in few


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"of": "latency_p99"}, "latency_p99_us.*metrics here: throughput"),
        ({"rows": "size"}, "no factor 'size' here; factors: send_size"),
        (
            {"improvement": "8192 over 2048"},
            "send_size has no value '2048'; its values are 1024, 8192",
        ),
        ({"improvement": "8192 / 1024"}, "write 'A over B'"),
        ({"improvement": "1024 over 1024"}, "is compared with itself"),
        ({"confidence": 95}, "between 0 and 1"),
        ({"of": []}, "no metric to summarize"),
    ],
)
def test_a_question_that_cannot_be_answered_says_why(
    change: dict[str, object], complaint: str
) -> None:
    question: dict[str, object] = {"of": "throughput", "rows": "send_size", "columns": "transport"}
    with pytest.raises(DataError, match=complaint):
        summary(published.table("summary"), **question | change)  # type: ignore[arg-type]


def test_a_metric_missing_in_a_part_of_a_cell_is_an_error_not_a_mean_of_the_rest() -> None:
    frame = pd.DataFrame({"mtu": [1500, 1500, 9000], "throughput_mbps": [1.0, np.nan, 2.0]})
    with pytest.raises(DataError, match="missing in 1 of the 2 runs of mtu 1500"):
        summary(frame, "throughput", "mtu")
    elsewhere = frame.assign(throughput_mbps=[np.nan, np.nan, 2.0])
    told = summary(elsewhere, "throughput", "mtu")
    assert told["mtu"].tolist() == [1500, 9000], "it has its row, without a figure"
    assert told["n"].tolist() == [0, 1]
    assert np.isnan(told["value"][0])
    assert "Throughput: not measured by the runs of 1500" in told.attrs["notes"]


def test_the_ratio_s_degrees_of_freedom_are_welch_s() -> None:
    """Two cells of the same relative spread and n: ν = 2 (n − 1), as if pooled."""
    sample = np.array([9.0, 10.0, 10.5, 11.0])
    cells = [
        pd.DataFrame({"size": s, "throughput_mbps": s * sample / sample.mean()}) for s in (1, 8)
    ]
    row = summary(pd.concat(cells), "throughput", "size", improvement="8 over 1").iloc[-1]
    relative = np.log(sample).std(ddof=1) / np.sqrt(len(sample))
    half = stats.t.ppf(0.975, 2 * (len(sample) - 1)) * relative * np.sqrt(2)
    assert row["value"] == pytest.approx(8)
    assert (row["low"], row["high"]) == (
        pytest.approx(8 * math.exp(-half)),
        pytest.approx(8 * math.exp(half)),
    )


def test_rows_that_are_means_of_runs_count_these_and_have_no_interval() -> None:
    frame = pd.DataFrame(
        {
            "size": [1, 1, 2, 2, 2],
            "throughput_mbps": [10.0, 40.0, 5.0, 6.0, 7.0],
            "aggregated_runs": [10, 20, np.nan, np.nan, np.nan],
        }
    )
    table = summary(frame, "throughput", "size", improvement="1 over 2")
    means = table[table["statistic"] == "mean"].set_index("size")
    assert means["n"].tolist() == [30, 3]
    assert means["value"].tolist() == [30.0, 6.0]
    assert np.isnan(means.loc[1, "low"])
    assert means.loc[2, "low"] == pytest.approx(6 - 4.302653 / np.sqrt(3), abs=1e-5)
    ratio = table[table["statistic"] == "improvement"].iloc[0]
    assert ratio["value"] == 5
    assert np.isnan(ratio["low"])
    assert any("mean of 10 to 20 runs" in note for note in table.attrs["notes"])
