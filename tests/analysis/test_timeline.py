"""The frame of a timeline: order, panels, medians over runs, what limited an interval."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

from netlimits.analysis.sources import timeline
from netlimits.charts import PANELS
from netlimits.errors import DataError


def rows(end: str, role: str, **figures: float) -> list[dict[str, Any]]:
    common = {"end": end, "role": role, "interval_s": 0.2, "connections": 1.0}
    return [{**common, "time_s": 0.2 * (n + 1), **figures} for n in range(10)]


def frame(run: int = 1, rate: float = 50.0, **of_sender: float) -> pd.DataFrame:
    """A run of two ends at one rate."""
    samples = rows("remote", "receiver", throughput_mbps=rate)
    samples += rows("local", "sender", cwnd_segs=10.0, rtt_us=1500.0, **of_sender)
    table = timeline.timeline(samples, clock_error_s=0.003)
    table.insert(0, "run", run)
    return table


def test_a_timeline_has_both_ends_in_order_and_states_its_error():
    table = frame()
    assert table["time_s"].is_monotonic_increasing
    assert [*table.columns[:5]] == ["run", "time_s", "end", "role", "interval_s"]
    assert table.groupby("end").size().to_dict() == {"local": 10, "remote": 10}
    assert table.attrs["clock_error_s"] == 0.003
    assert timeline.clock_note(table) == "times of both ends within 3 ms"
    assert table.attrs["changes"] == []


def test_what_limited_an_interval_is_the_first_of_its_evidence():
    table = frame(rwnd_limited_pct=80.0, cpu_peak_pct=99.0)
    assert set(table[table["end"] == "local"]["limited_by"]) == {"receive window"}
    assert set(table[table["end"] == "remote"]["limited_by"]) == {""}
    busy = frame(rwnd_limited_pct=8.0, cpu_peak_pct=99.0)
    assert set(busy[busy["end"] == "local"]["limited_by"]) == {"CPU"}


def test_interim_results_of_transactions_are_their_latency():
    results = [{"ending_s": 1_795_300_001.0, "interval_s": 0.5, "transaction_rate_tps": 4000.0}]
    (row,) = timeline.interim(results, 1_795_300_000.0, outstanding=2)
    assert (row["time_s"], row["latency_us"]) == (1.0, 500.0)


def test_interim_results_of_streams_are_their_sum():
    each = {"ending_s": 3.0, "interval_s": 0.5, "throughput_mbps": 4.0}
    (row,) = timeline.interim([each, each], 1.0, outstanding=1)
    assert row == {"time_s": 2.0, "interval_s": 0.5, "throughput_mbps": 8.0}


def test_the_median_of_runs_is_at_each_time():
    table = pd.concat([frame(1, 10.0), frame(2, 30.0), frame(3, 20.0)], ignore_index=True)
    middle = timeline.medians(table[table["end"] == "remote"], "throughput_mbps", "throughput")
    assert set(middle["throughput_mbps"]) == {20.0}
    assert middle["time_s"].is_monotonic_increasing


def test_panels_are_those_with_data_or_an_error_that_names_them():
    table = frame(retrans_segs=0.0)
    assert timeline.panels(table, None) == ["throughput", "rtt", "cwnd"]
    assert timeline.panels(table, ["cwnd", "retransmits"]) == ["cwnd", "retransmits"]
    with pytest.raises(DataError, match="no panel is called 'window'"):
        timeline.panels(table, "window")
    with pytest.raises(DataError, match="have no queue"):
        timeline.panels(table, "queue")


def test_the_registry_names_every_panel():
    assert (*timeline.PANELS,) == PANELS


def test_the_table_has_a_row_for_each_second_and_end():
    table = timeline.table(frame(), ["throughput", "rtt"])
    assert {*table["second"]} == {0, 1, 2}
    far = table[table["end"] == "remote"]
    assert set(far["throughput_mbps (Mbit/s)"]) == {50.0}
    assert "within 3 ms" in table.attrs["notes"][0]


def test_the_interim_results_of_irtt_are_the_latency_over_time() -> None:
    rows = timeline.interim(
        [{"ending_s": 12.5, "interval_s": 0.5, "latency_p50_us": 400.0, "loss_pct": 0.0}], 10.0, 1
    )
    assert rows == [{"time_s": 2.5, "interval_s": 0.5, "latency_us": 400.0}]
