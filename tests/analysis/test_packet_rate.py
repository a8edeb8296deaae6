import numpy as np
import pandas as pd
import pytest

from netlimits.analysis.packet_rate import packet_rate, regimes
from netlimits.errors import DataError
from netlimits.reproduce import published

SIZES = np.array([1, 16, 64, 256, 512, 1024, 2048, 4096, 8192])


def runs(packet_ns: float, byte_ns: float, noise: float = 0.0, seed: int = 1) -> pd.DataFrame:
    draw = np.random.default_rng(seed)
    ns = (packet_ns + byte_ns * SIZES) * (1 + noise * draw.standard_normal(len(SIZES)))
    return pd.DataFrame({"send_size": SIZES, "local_send_throughput_mbps": 8e3 * SIZES / ns})


def test_the_report_s_14_sizes() -> None:
    frame = published.table("packets-per-second")
    table = packet_rate(frame)
    assert len(table) == 14
    calls = frame["local_send_calls"] / 10  # the runs took 10 s
    assert table["packet_rate_pps"].to_numpy() == pytest.approx(calls.to_numpy(), rel=0.005)
    result = regimes(frame)
    # "for message sizes 1 through 64 … packet-per-second limited", 128 to 512 "somewhat close"
    assert [result.regime(size) for size in (1, 64, 256, 512, 1024, 8192)] == [
        *["packets"] * 3,
        *["both"] * 2,
        "bytes",
    ]
    assert 280 < result.packets_until < 305
    assert 5300 < result.bytes_from < 5800
    low, high = result.bytes_from_interval
    assert low < result.bytes_from < high
    assert result.ceiling_pps == pytest.approx(691_000, rel=0.005)
    assert result.frame()["size_bytes"].tolist() == [result.packets_until, result.bytes_from]


def test_the_two_sizes_mean_what_they_say() -> None:
    result = regimes(runs(1000, 0.25), share=0.1)
    assert result.bytes_from == pytest.approx(4000)
    at = 1000 + 0.25 * result.packets_until
    assert 1000 / at == pytest.approx(0.9)


@pytest.mark.long
def test_the_interval_holds_the_truth_as_often_as_it_says() -> None:
    intervals = [regimes(runs(1400, 0.26, 0.02, seed)).bytes_from_interval for seed in range(100)]
    hits = sum(low <= 1400 / 0.26 <= high for low, high in intervals)
    assert 0.90 <= hits / 100 <= 0.99


@pytest.mark.parametrize(
    ("frame", "complaint"),
    [
        (runs(1000, 0.25).iloc[:2], "2 runs of 2 sizes"),
        (runs(1000, 0.0), "does not grow with size|does not show beyond noise"),
        (runs(1000, 0.001, noise=0.05), "(does not grow|not above the noise)"),
        (runs(1000, 0.25).assign(local_send_throughput_mbps=0.0), "above zero"),
    ],
)
def test_what_the_runs_cannot_say_is_refused(frame: pd.DataFrame, complaint: str) -> None:
    with pytest.raises(DataError, match=complaint):
        regimes(frame)
