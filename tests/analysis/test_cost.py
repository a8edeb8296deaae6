import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netlimits.analysis.cost import HARMFUL, cost
from netlimits.errors import DataError
from netlimits.reproduce import published


def runs(sizes: list[int], packet_ns: float, kib_ns: float, noise: float = 0.0) -> pd.DataFrame:
    draw = np.random.default_rng(11)
    size = np.array(sizes)
    ns = (packet_ns + kib_ns * size / 1024) * (1 + noise * draw.standard_normal(len(size)))
    return pd.DataFrame({"send_size": size, "local_sd_us_per_kib": ns / 1e3 / (size / 1024)})


def test_what_a_packet_and_a_kib_cost_in_the_report_s_udp_runs() -> None:
    table = cost(published.table("udp-send-size"), ["local_sd", "remote_sd", "time_per_send"])
    costs = table.set_index("of")
    # two sizes: the line goes through the mean time of each
    frame = published.table("udp-send-size")
    mean = frame.groupby("send_size")["local_sd_us_per_kib"].mean() * [1e3, 8e3]
    assert costs.loc["local_sd", "kib_ns"] == pytest.approx((mean[8192] - mean[1024]) / 7)
    assert costs["packet_ns"].round(-1).to_dict() == {
        "local_sd": 1390,
        "remote_sd": 2500,
        "time_per_send": 1380,
    }
    assert costs["kib_ns"].round(-1).to_dict() == {
        "local_sd": 150,
        "remote_sd": 190,
        "time_per_send": 160,
    }
    assert (costs["packet_ns_low"] < costs["packet_ns"]).all()
    assert (costs["condition"] < 3).all()
    assert "4 of 20 runs lost packets" in table.attrs["notes"][-1]


def test_the_14_sizes_agree_on_one_line() -> None:
    row = cost(published.table("packets-per-second"), "time_per_send").iloc[0]
    assert (row["n"], row["sizes"]) == (14, 14)
    assert row["packet_ns"] == pytest.approx(1447, abs=2)
    assert row["kib_ns"] == pytest.approx(267, abs=2)
    assert row["r2"] > 0.99


@settings(max_examples=25, deadline=None)
@given(st.floats(100, 5000), st.floats(10, 1000))
def test_known_costs_come_back(packet: float, byte: float) -> None:
    row = cost(runs([64, 64, 1024, 1024, 8192, 8192], packet, byte), "local_sd").iloc[0]
    assert row["packet_ns"] == pytest.approx(packet, rel=1e-6)
    assert row["kib_ns"] == pytest.approx(byte, rel=1e-6)


def test_intervals_hold_the_truth_as_often_as_they_say() -> None:
    draw = np.random.default_rng(5)
    size = np.repeat([64, 512, 1024, 4096, 8192], 4)
    hits = 0
    for _ in range(200):
        ns = (1400 + 150 * size / 1024) * (1 + 0.03 * draw.standard_normal(len(size)))
        frame = pd.DataFrame({"send_size": size, "local_sd_us_per_kib": ns / 1e3 / (size / 1024)})
        row = cost(frame, "local_sd").iloc[0]
        hits += row["packet_ns_low"] <= 1400 <= row["packet_ns_high"]
    assert 0.90 <= hits / 200 <= 0.99


def test_each_series_is_fitted_by_itself() -> None:
    sizes = [64, 64, 1024, 1024]
    frame = pd.concat(
        [
            runs(sizes, 1000, 100).assign(transport="UDP"),
            runs(sizes, 2000, 50).assign(transport="TCP off"),
        ]
    )
    table = cost(frame, "local_sd", series="transport")
    assert table["transport"].tolist() == ["UDP", "TCP off"]
    assert table["packet_ns"].tolist() == pytest.approx([1000, 2000])


@pytest.mark.parametrize(
    ("sizes", "complaint"),
    [
        ([1024] * 8, "all packets have 1024 bytes.*at least two sizes"),
        ([1024, 8192], "2 runs are too few"),
        ([1024] * 5 + [8192], "one run alone has 8192 bytes and decides a cost; repeat it"),
        ([1024, 1024, 1080, 1080], f"too alike.*condition number .* above {HARMFUL:.0f}"),
    ],
)
def test_it_refuses_with_the_reason_what_the_data_cannot_separate(
    sizes: list[int], complaint: str
) -> None:
    with pytest.raises(DataError, match=complaint):
        cost(runs(sizes, 1400, 150, noise=0.01), "local_sd")


def test_a_tool_s_own_service_demand_stands_in_for_ours() -> None:
    frame = runs([64, 64, 1024, 1024], 1000, 100)
    imported = frame.rename(columns=lambda name: name.replace("local_sd", "netperf_local_sd"))
    assert cost(imported, "local_sd")["packet_ns"].item() == pytest.approx(1000)


def test_only_costs_per_kib_can_be_split() -> None:
    frame = published.table("udp-send-size")
    with pytest.raises(DataError, match="throughput is no service demand per KiB"):
        cost(frame, "throughput")
    with pytest.raises(DataError, match="no factor 'mss'"):
        cost(frame, size="mss")
    with pytest.raises(DataError, match="above zero"):
        cost(frame.assign(local_sd_us_per_kib=0.0), "local_sd")
