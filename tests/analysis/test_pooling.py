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
         "throughput_mbps": 100.0 * n, "elapsed_measured": 1.0 + n * n / 70}
        for n, (p, s) in enumerate([(p, s) for p in ("udp", "tcp") for s in (64, 8192)] * 2)
    ]  # fmt: skip
    return pd.DataFrame(rows)


def test_what_is_left_out_is_named_with_its_values_and_no_more_than_needed() -> None:
    frame = campaign()
    assert pooling.differing_factors(frame, []) == {
        "protocol": ["udp", "tcp"],
        "send_size": [64, 8192],
    }
    assert pooling.differing_factors(frame, ["send_size"]) == {"protocol": ["udp", "tcp"]}
    assert pooling.differing_factors(frame, ["protocol", "mss"]) == {}


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
    with pytest.raises(DataError, match="protocol is in pool and also in rows, columns or series"):
        summary(campaign(), "throughput", "protocol", pool=["protocol", "send_size"])


def test_a_figure_that_was_measured_is_no_factor() -> None:
    assert pooling.differing_factors(campaign(), ["protocol", "send_size"]) == {}
    own = pd.DataFrame({"mtu": [1500, 1500], "rtt": [0.11, 0.13], "throughput_mbps": [1.0, 2.0]})
    assert pooling.differing_factors(own, ["mtu"]) == {}
    dated = own.drop(columns="rtt").assign(at=["2026-01-01 10:00:00", "2026-01-01 10:01:00"])
    assert pooling.differing_factors(dated, ["mtu"]) == {}


def test_runs_that_failed_count_among_what_differs() -> None:
    frame = campaign()
    frame.loc[frame["protocol"] == "udp", "status"] = "failed"
    with pytest.raises(DataError, match="differ in protocol"):
        summary(frame, "throughput", "send_size")


@pytest.mark.parametrize(
    "values", [[0.5, 1.5, 2.5], [0.5, 1.0, 7.5], [0.1, 0.2, 0.3], [0.125, 0.25, 0.5, 1.0], [0.5, 1]]
)
def test_a_table_of_ones_own_may_vary_halves_and_even_steps(values) -> None:
    """A factor of half integers, a row each, was one mean without a word."""
    frame = pd.DataFrame({"ratio": values, "throughput_mbps": range(1, len(values) + 1)})
    assert list(pooling.differing_factors(frame, [])) == ["ratio"]
    with pytest.raises(DataError, match="differ in ratio"):
        summary(frame, "throughput")
    assert not pooling.remarks(frame, ["ratio"])


def test_what_may_have_been_varied_and_is_taken_as_measured_is_told() -> None:
    frame = pd.DataFrame({"rtt": [0.11, 0.13, 0.18], "throughput_mbps": [1.0, 2.0, 3.0]})
    (note,) = (n for n in summary(frame, "throughput").attrs["notes"] if "rtt" in n)
    assert note.startswith("rtt counts as measured, because all values differ")
    assert not pooling.remarks(frame, ["rtt"])


def test_a_pool_that_pools_nothing_is_told() -> None:
    frame = campaign().assign(mtu=1500)
    notes = summary(frame, "throughput", "send_size", pool=["protocol", "mtu"]).attrs["notes"]
    told = [note for note in notes if note.startswith("pool ")]
    assert told == ["pool mtu has no effect: no figure has runs that differ in it"]
    within = summary(frame, "throughput", "send_size", "protocol", pool="mss").attrs["notes"]
    assert any(note.startswith("pool mss has no effect") for note in within)
