import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netlimits.analysis.percentiles import percentiles
from netlimits.errors import DataError
from netlimits.reproduce import published


def test_each_run_is_a_point_between_the_least_at_0_and_the_greatest_at_100() -> None:
    frame = published.table("udp-send-size")
    table = percentiles(frame, "remote_sd", "send_size")
    assert list(table.columns) == ["send_size", "percentile", "remote_sd_us_per_kib", "n"]
    assert table["send_size"].tolist() == [1024] * 10 + [8192] * 10
    first = table[table["send_size"] == 1024]
    assert first["percentile"].iloc[[0, -1]].tolist() == [0, 100]
    assert first["remote_sd_us_per_kib"].tolist() == sorted(first["remote_sd_us_per_kib"])


@settings(max_examples=50, deadline=None)
@given(st.lists(st.floats(0.1, 1e5), min_size=1, max_size=60), st.floats(0, 100))
def test_the_curve_read_at_p_is_the_quantile(values: list[float], p: float) -> None:
    frame = pd.DataFrame({"throughput_mbps": values})
    table = percentiles(frame, "throughput")
    read = np.interp(p, table["percentile"], table["throughput_mbps"])
    assert read == pytest.approx(frame["throughput_mbps"].quantile(p / 100))


def test_many_runs_become_a_grid_that_keeps_the_ends_and_the_rule() -> None:
    values = np.random.default_rng(3).lognormal(8, 1, 5000)
    frame = pd.DataFrame({"throughput_mbps": values})
    table = percentiles(frame, "throughput", points=101)
    assert len(table) == 101
    assert (table["n"] == 5000).all()
    assert table["throughput_mbps"].to_numpy() == pytest.approx(
        np.percentile(values, np.linspace(0, 100, 101))
    )


def test_a_lone_run_stands_in_the_middle_and_a_missing_value_is_an_error() -> None:
    assert percentiles(pd.DataFrame({"loss_pct": [3.0]}), "loss")["percentile"].tolist() == [50]
    with pytest.raises(DataError, match="loss_pct is missing in 1 of 2 runs"):
        percentiles(pd.DataFrame({"loss_pct": [3.0, np.nan]}), "loss")
