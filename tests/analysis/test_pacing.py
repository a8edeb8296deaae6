import pandas as pd
import pytest

from netlimits.analysis import pacing
from netlimits.errors import DataError
from netlimits.reproduce import published


def test_the_report_s_rates_within_a_quarter_per_mille() -> None:
    table = pacing.pacing(published.table("constant-bitrate"), "1G").set_index("send_size")
    assert table["n"].to_dict() == {1024: 11, 8192: 9}
    assert table["achieved"].to_numpy() == pytest.approx(1, abs=5e-5)
    assert table["achieved_min"].min() == pytest.approx(0.99977, abs=1e-9)
    assert table["achieved_max"].max() == pytest.approx(1.00008, abs=1e-9)
    eight_times = table["packet_rate_pps"][1024] / table["packet_rate_pps"][8192]
    assert eight_times == pytest.approx(8, rel=1e-4)


@pytest.mark.parametrize("size", [1024, 8192])
def test_the_frame_level_rate_is_the_script_s(size: int) -> None:
    in_bytes = 125_000_000 * (size + 42) // size  # the script's integer arithmetic
    assert int(pacing.frame_rate("1G", size) / 8) == in_bytes


def test_the_service_demand_ratios() -> None:
    """Roughly 4 times when sending, about 3 to 4 times when receiving, says the text."""
    table = pacing.ratios(published.table("constant-bitrate")).set_index("metric")
    send, receive = table.loc["local_sd_us_per_kib"], table.loc["remote_sd_us_per_kib"]
    assert send["value"] == pytest.approx(3.897, abs=0.0005)
    assert 3 < receive["value"] < 4
    assert send["send_size"] == "8192 over 1024"
    assert receive["low"] < receive["value"] < receive["high"]


def test_wrong_questions() -> None:
    with pytest.raises(DataError, match="at least one byte"):
        pacing.frame_rate("1G", 0)
    with pytest.raises(DataError, match="not a bit rate"):
        pacing.pacing(published.table("constant-bitrate"), "fast")


def test_runs_that_were_paced_carry_their_rate() -> None:
    frame = published.table("constant-bitrate")
    halves = frame.assign(pace_mbps=1000.0), frame.assign(pace_mbps=100.0)
    halves[1]["local_send_throughput_mbps"] /= 10
    for half, rate in zip(halves, (1000, 100), strict=True):
        table = pacing.pacing(half)
        assert (table["requested_mbps"] == rate).all()
        assert table["achieved"].to_numpy() == pytest.approx(1, abs=5e-5)
    both = pd.concat(halves)
    assert pacing.pacing(both, "100M")["n"].sum() == len(frame)
    with pytest.raises(DataError, match="paced at 100, 1000 Mbit/s; give one"):
        pacing.pacing(both)
    with pytest.raises(DataError, match="paced at 1000 Mbit/s"):
        pacing.pacing(halves[0], "2G")


def test_over_ipv6_a_qdisc_counts_twenty_bytes_more_on_each_datagram():
    assert pacing.frame_rate("1G", 1000) == pytest.approx(1.042e9)
    assert pacing.frame_rate("1G", 1000, ipv6=True) == pytest.approx(1.062e9)
