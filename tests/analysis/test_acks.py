import pandas as pd
import pytest

from netlimits.analysis.acks import acks
from netlimits.errors import DataError
from netlimits.reproduce import published

SERIES = ["tso", "tcp_tso_win_divisor"]


@pytest.mark.parametrize(
    ("tso", "segments", "less", "more"),
    [("off", 8, 23, 30), ("off", 16, 29, 42), ("on", 8, 36, 56), ("on", 17, 54, 115)],
)
def test_the_percentages_of_the_text(tso: str, segments: int, less: int, more: int) -> None:
    table = acks(published.table("ack-overhead"), series=SERIES)
    chosen = table[(table["tso"] == tso) & (table["segments_per_ack"] == segments)]
    row = chosen.iloc[0]
    assert round(-row["change_pct"]) == less
    assert round(row["reverse_pct"]) == more
    assert not row["anomaly"]


def test_the_throughput_anomalies_by_the_rule() -> None:
    table = acks(published.table("ack-overhead"), series=SERIES)
    odd = table[table["anomaly"]]
    assert set(odd["tso"]) == {"on"}
    assert odd["segments_per_ack"].min() == 12
    assert {12, 14, 15, 16, 18, 20}.issubset(odd["segments_per_ack"])
    assert not {13, 17, 19, 24, 28, 30, 32} & set(odd["segments_per_ack"])
    assert (odd["throughput_mbps"] < 0.99 * 941.37).all()
    assert acks(published.table("ack-overhead"), series=SERIES, tolerance=0.5)["anomaly"].sum() == 0


def test_one_row_is_its_own_base_and_less_than_with_the_default_divisor() -> None:
    table = acks(published.table("ack-overhead"), series=SERIES)
    lone = table[table["tcp_tso_win_divisor"] == 1]
    assert lone["local_sd_us_per_kib"].tolist() == [1.671]
    assert lone["change_pct"].tolist() == [0]


def test_a_base_that_a_series_lacks_is_named() -> None:
    with pytest.raises(DataError, match=r"TSO on, .*: no run has 8 segments per ACK"):
        acks(published.table("ack-overhead"), series=SERIES, base=8)


def measured(rates: list[float], ratios: list[float]) -> pd.DataFrame:
    """Runs of configurations a, b, c, … twice each, as a campaign has them."""
    return pd.DataFrame(
        {
            "config": [name for name in "abcdefgh"[: len(rates) // 2] for _ in range(2)],
            "segments_per_ack": ratios,
            "throughput_mbps": rates,
            "local_sd_us_per_kib": [4.0, 6.0] + [2.5] * (len(rates) - 2),
        }
    )


def test_measured_ratios_are_compared_with_all_runs_of_the_lowest_configuration() -> None:
    table = acks(measured([940.0] * 4, [1.1, 1.3, 30.0, 32.0]))
    assert table["config"].tolist() == ["a", "a", "b", "b"]
    assert table["change_pct"].tolist() == pytest.approx([-20, 20, -50, -50])


def test_where_no_link_limits_most_runs_none_is_an_anomaly() -> None:
    ratios = [1.1, 1.3, 2, 2, 30, 32]
    raced = acks(measured([900, 1000, 400, 500, 700, 800], ratios))
    assert not raced["anomaly"].any()
    assert raced.attrs["link_limited"] is False
    limited = acks(measured([940, 941, 940, 941, 700, 941], ratios))
    assert limited["anomaly"].tolist() == [False, False, False, False, True, False]
    assert limited.attrs.get("link_limited", True)
    told = acks(measured([900, 1000, 400, 500, 700, 800], ratios), link_mbps=950)
    assert told["anomaly"].sum() == 5, "whoever knows the link's rate is believed"


def test_each_series_has_its_own_link_rate() -> None:
    """Smaller segments carry more headers: their runs are no anomalies for it."""
    large, small = (measured([rate] * 4, [1.1, 1.2, 30, 31]) for rate in (957.0, 916.0))
    both = pd.concat([large.assign(mss=1460), small.assign(mss=730)])
    assert not acks(both, series="mss")["anomaly"].any()
