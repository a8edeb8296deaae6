"""A table and a chart of runs that nobody said anything about."""

import pandas as pd
import pytest

from netlimits.analysis import defaults
from netlimits.errors import DataError


def runs(**columns: object) -> pd.DataFrame:
    return pd.DataFrame({"throughput_mbps": [1.0, 2.0, 3.0, 4.0], **columns})


def test_the_factor_with_most_values_goes_down_and_the_others_across() -> None:
    frame = runs(protocol=["udp", "tcp"] * 2, send_size=[64, 64, 8192, 8192])
    assert defaults.table(frame) == {
        "table": "summary", "of": ["throughput"], "rows": "send_size", "columns": ["protocol"],
    }  # fmt: skip
    assert defaults.chart(frame) == {
        "chart": "percentiles", "of": ["throughput"], "series": ["send_size", "protocol"],
    }  # fmt: skip


def test_many_sizes_are_a_curve() -> None:
    frame = pd.DataFrame({"throughput_mbps": range(1, 7), "send_size": [2**n for n in range(6)]})
    assert defaults.chart(frame)["chart"] == "spread"


def test_transactions_and_both_directions_are_what_was_measured() -> None:
    rr = pd.DataFrame(
        {"transaction_rate_tps": [9.0], "latency_p50_us": [5.0], "local_sd_us_per_tran": [1.0]}
    )
    assert defaults.metrics(rr) == ["transaction_rate", "latency_p50", "local_sd_tran"]
    both = runs(
        local_send_throughput_mbps=1.0, remote_recv_throughput_mbps=1.0,
        remote_send_throughput_mbps=1.0, local_recv_throughput_mbps=1.0,
    )  # fmt: skip
    assert defaults.metrics(both) == [
        "throughput", "remote_recv_throughput", "local_recv_throughput",
    ]  # fmt: skip


def test_a_file_without_a_metric_says_so() -> None:
    with pytest.raises(DataError, match="no column is a metric; columns: mtu"):
        defaults.table(pd.DataFrame({"mtu": [1500]}))
