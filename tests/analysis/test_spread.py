import numpy as np
import pandas as pd
import pytest

from netlimits.analysis.spread import expected_range, repeatability, spread
from netlimits.errors import DataError
from netlimits.reproduce import published


def samples(tool: str, n: int, sd: float, seed: int = 1, points: int = 40) -> pd.DataFrame:
    draw = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "tool": tool,
            "send_size": np.repeat(np.arange(1, points + 1), n),
            "throughput_mbps": 1000 + sd * draw.standard_normal(n * points),
        }
    )


def test_least_mean_and_greatest_of_each_point() -> None:
    frame = published.table("udp-send-size")
    table = spread(frame, "remote_sd", "send_size").set_index("send_size")
    part = frame.loc[frame["send_size"] == 1024, "remote_sd_us_per_kib"]
    row = table.loc[1024]
    assert (row["n"], row["min"], row["max"]) == (10, 2.536, 2.883)
    assert row["range"] == pytest.approx(2.883 - 2.536)
    assert row["sd"] == pytest.approx(part.std())
    assert row["cv_pct"] == pytest.approx(100 * part.std() / part.mean())


def test_the_turin_variance_is_the_sum_of_ranges_over_the_number_of_points() -> None:
    points = pd.DataFrame(
        {"n": 10, "min": [1.0, 2.0], "mean": [2.0, 4.0], "max": [4.0, 8.0], "length": [1, 2]}
    )
    row = repeatability(points).iloc[0]
    assert row["turin_variance"] == 4.5
    assert row["sd_from_ranges"] == pytest.approx(4.5 / expected_range(10))
    assert np.isnan(row["pooled_sd"])


def test_more_samples_make_a_larger_range_but_not_a_larger_standard_deviation() -> None:
    """Why 24.08 Mb/s over 20 samples and 7.62 over 10 may not be compared as they stand."""
    frame = pd.concat([samples("a", 10, 5.0), samples("b", 20, 5.0)])
    table = repeatability(spread(frame, series="tool"), "tool").set_index("tool")
    assert table["turin_variance"]["b"] > 1.1 * table["turin_variance"]["a"]
    assert table["pooled_sd"].to_numpy() == pytest.approx(5, rel=0.1)
    assert table["sd_from_ranges"].to_numpy() == pytest.approx(5, rel=0.1)
    assert table["pooled_cv_pct"].to_numpy() == pytest.approx(0.5, rel=0.1)


@pytest.mark.parametrize(
    ("n", "d2"), [(2, 1.128), (5, 2.326), (10, 3.078), (20, 3.735), (25, 3.931)]
)
def test_the_expected_range_is_the_control_charts_d2(n: int, d2: float) -> None:
    assert expected_range(n) == pytest.approx(d2, abs=5e-4)


def test_lone_runs_say_nothing_about_spread() -> None:
    with pytest.raises(DataError, match="no point has more than one run"):
        repeatability(spread(samples("a", 1, 5.0)))
    with pytest.raises(DataError, match="no column 'n'"):
        repeatability(pd.DataFrame({"min": [1]}))
    with pytest.raises(DataError, match="two samples"):
        expected_range(1)


def published_points() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "tool": ["iperf3", "iperf3", "nttcp"],
            "send_size": [1, 2, 1],
            "throughput_mbps": [10.0, 20.0, 30.0],
            "throughput_min_mbps": [9.0, 18.0, 25.0],
            "throughput_max_mbps": [12.0, 21.0, 31.0],
            "aggregated_runs": [10, 10, 20],
        }
    )


def test_a_row_that_is_the_mean_of_runs_brings_its_own_least_and_greatest() -> None:
    table = spread(published_points(), series="tool")
    assert table["n"].tolist() == [10, 10, 20]
    assert table["min"].tolist() == [9, 18, 25]
    assert table["mean"].tolist() == [10, 20, 30]
    assert table["max"].tolist() == [12, 21, 31]
    assert table["sd"].isna().all()
    rows = repeatability(table, "tool").set_index("tool")
    assert rows["turin_variance"].to_dict() == {"iperf3": 3.0, "nttcp": 6.0}
    assert rows["runs"].to_dict() == {"iperf3": 20, "nttcp": 20}
    assert rows["pooled_sd"].isna().all()


def test_runs_and_a_mean_of_runs_at_one_point_are_weighted_by_their_number() -> None:
    frame = pd.concat([published_points().iloc[:1], samples("iperf3", 1, 0.0, points=1)])
    row = spread(frame).iloc[0]
    assert (row["n"], row["min"], row["max"]) == (11, 9, 1000)
    assert row["mean"] == pytest.approx((10 * 10 + 1000) / 11)
    assert np.isnan(row["sd"])


def test_a_mean_of_runs_without_its_least_and_greatest_has_no_range() -> None:
    with pytest.raises(DataError, match="throughput_min_mbps is missing in 3 rows"):
        spread(published_points().drop(columns="throughput_min_mbps"), series="tool")
    with pytest.raises(DataError, match="whole number"):
        spread(published_points().assign(aggregated_runs=0), series="tool")
