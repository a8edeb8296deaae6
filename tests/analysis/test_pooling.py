"""What differs is never one figure unless it is meant."""

import pandas as pd
import pytest

from netlimits.analysis import pooling
from netlimits.analysis.percentiles import percentiles
from netlimits.analysis.spread import spread
from netlimits.analysis.summary import summary
from netlimits.errors import DataError


def campaign() -> pd.DataFrame:
    """Two protocols at two sizes, two runs each, as a campaign has them."""
    rows = [
        {"run": n, "config": f"{p}{s}", "status": "ok", "protocol": p, "send_size": s, "mss": s + 12,
         "throughput_mbps": 100.0 * n, "elapsed_measured": 1.0 + n / 10}
        for n, (p, s) in enumerate([(p, s) for p in ("udp", "tcp") for s in (64, 8192)] * 2)
    ]  # fmt: skip
    return pd.DataFrame(rows)


def test_what_is_left_out_is_named_with_its_values_and_no_more_than_needed() -> None:
    frame = campaign()
    assert pooling.left_out(frame, []) == {"protocol": ["udp", "tcp"], "send_size": [64, 8192]}
    assert pooling.left_out(frame, ["send_size"]) == {"protocol": ["udp", "tcp"]}
    assert pooling.left_out(frame, ["protocol", "mss"]) == {}


@pytest.mark.parametrize(
    "make",
    [
        lambda frame, **more: summary(frame, "throughput", "send_size", **more),
        lambda frame, **more: percentiles(frame, "throughput", "send_size", **more),
        lambda frame, **more: spread(frame, "throughput", "send_size", **more),
    ],
)
@pytest.mark.parametrize("columns", ["config", None])
def test_every_analysis_refuses_and_takes_it_where_it_is_meant(make, columns) -> None:
    frame = campaign() if columns else campaign().drop(columns=["config", "run"])
    with pytest.raises(DataError, match=r"differ in protocol \(udp, tcp\) would be one figure"):
        make(frame)
    assert len(make(frame, pool="protocol"))
    with pytest.raises(DataError, match="no factor 'nothing'"):
        make(frame, pool="nothing")


def test_what_is_told_apart_is_not_pooled() -> None:
    with pytest.raises(DataError, match="protocol is to be told apart and to be pooled"):
        summary(campaign(), "throughput", "protocol", pool=["protocol", "send_size"])


def test_a_figure_that_was_measured_is_no_factor() -> None:
    assert pooling.left_out(campaign(), ["protocol", "send_size"]) == {}
    own = pd.DataFrame({"mtu": [1500, 1500], "rtt": [0.11, 0.13], "throughput_mbps": [1.0, 2.0]})
    assert pooling.left_out(own, ["mtu"]) == {}
    dated = own.drop(columns="rtt").assign(at=["2026-01-01 10:00:00", "2026-01-01 10:01:00"])
    assert pooling.left_out(dated, ["mtu"]) == {}


def test_runs_that_failed_count_among_what_differs() -> None:
    frame = campaign()
    frame.loc[frame["protocol"] == "udp", "status"] = "failed"
    with pytest.raises(DataError, match="differ in protocol"):
        summary(frame, "throughput", "send_size")
