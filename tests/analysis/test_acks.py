import pytest

from netlimits import published
from netlimits.analysis.acks import acks
from netlimits.errors import DataError

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
    assert acks(published.table("ack-overhead"), tolerance=0.5)["anomaly"].sum() == 0


def test_one_row_is_its_own_base_and_less_than_with_the_default_divisor() -> None:
    table = acks(published.table("ack-overhead"), series=SERIES)
    lone = table[table["tcp_tso_win_divisor"] == 1]
    assert lone["local_sd_us_per_kib"].tolist() == [1.671]
    assert lone["change_pct"].tolist() == [0]


def test_a_base_that_a_series_lacks_is_named() -> None:
    with pytest.raises(DataError, match=r"TSO on, .*: no run has 8 segments per ACK"):
        acks(published.table("ack-overhead"), series=SERIES, base=8)
