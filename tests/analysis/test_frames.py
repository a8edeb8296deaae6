from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import netlimits as nl
from netlimits.analysis import frames
from netlimits.analysis.attempts import last_attempts, to_last_attempts
from netlimits.errors import DataError, InputError


def attempts(*rows: tuple[int, int, str]) -> pd.DataFrame:
    frame = pd.DataFrame(rows, columns=["run", "attempt", "status"])
    return frame.assign(reason="", throughput_mbps=np.arange(len(rows), dtype=float))


def test_the_last_attempt_of_a_run_decides() -> None:
    frame = attempts((1, 1, "interrupted"), (1, 2, "ok"), (2, 1, "ok"), (2, 2, "failed"))
    kept = frames.usable(frame)
    assert kept["run"].tolist() == [1]
    assert kept["attempt"].tolist() == [2]


def test_an_attempt_that_came_to_nothing_takes_no_outcome_s_place() -> None:
    """`status` told "1 failed" of it and a table "1 left"."""
    frame = attempts((1, 1, "failed"), (1, 2, "interrupted"), (2, 1, "ok"), (3, 1, "interrupted"))
    assert last_attempts(frame)["status"].tolist() == ["failed", "ok", "interrupted"]


@pytest.mark.long
@given(
    st.lists(
        st.tuples(st.integers(1, 5), st.integers(1, 3), st.sampled_from(["ok", "interrupted"])),
        unique_by=lambda row: row[:2],
    ),
    st.booleans(),
)
def test_taking_the_last_attempts_out_of_a_frame_leaves_the_same(
    rows: list[tuple[int, int, str]], in_order: bool
) -> None:
    frame = attempts(*(sorted(rows) if in_order else rows)).astype({"status": "category"})
    frame.attrs["planned"] = [5, 5]
    last = last_attempts(frame)
    by_hand = {
        run: max(part, key=lambda row: (row[2] != "interrupted", row[1]))
        for run in {row[0] for row in rows}
        if (part := [row for row in rows if row[0] == run])
    }
    assert {*last[["run", "attempt", "status"]].itertuples(index=False, name=None)} == {
        *by_hand.values()
    }
    taken = to_last_attempts(frame.copy())
    pd.testing.assert_frame_equal(taken, last.reset_index(drop=True))
    assert taken.attrs == frame.attrs


def test_an_attempt_that_stands_there_twice_is_refused() -> None:
    for frame in (
        attempts((1, 1, "ok"), (2, 1, "failed"), (2, 2, "ok"), (2, 2, "ok")),
        attempts((2, 2, "ok"), (1, 1, "ok"), (2, 2, "ok")),
    ):
        with pytest.raises(DataError, match="an attempt occurs twice"):
            last_attempts(frame)


def test_a_published_table_without_status_counts_whole() -> None:
    frame = pd.DataFrame({"throughput_mbps": [1.0, 2.0]})
    assert frames.usable(frame) is frame


def test_no_usable_run_is_an_error_that_gives_the_reason() -> None:
    frame = attempts((1, 1, "failed")).assign(reason="no data arrived")
    with pytest.raises(DataError, match="none of the 1 runs is ok; the first says: no data arr"):
        frames.usable(frame)
    with pytest.raises(DataError, match="no runs"):
        frames.usable(frame.iloc[:0])


def test_a_metric_that_is_not_there_names_those_that_are() -> None:
    frame = attempts((1, 1, "ok")).assign(netperf_local_sd_us_per_kib=1.0, send_size=1024)
    with pytest.raises(DataError, match=r"metrics here: throughput, netperf_local_sd\Z"):
        frames.column(frame, "remote_sd")
    several = frame.assign(local_cpu_pct=5.0)  # clients, of whom netperf's own is not added up
    with pytest.raises(DataError, match="for 'local_cpu_util'; take local_cpu, which netlimits"):
        frames.column(several, "local_cpu_util")
    with pytest.raises(InputError, match="did you mean throughput"):
        frames.column(frame, "troughput")
    assert frames.column(frame, "netperf_local_sd").column == "netperf_local_sd_us_per_kib"
    with pytest.raises(DataError, match="no factor 'sendsize' here; factors: send_size"):
        frames.factors(frame, "sendsize")


def test_netperfs_own_service_demand_stands_in_where_there_is_no_other():
    imported = pd.DataFrame({"netperf_local_sd_us_per_kib": [1.5], "iperf3_local_cpu_pct": [40.0]})
    column = frames.column(imported, "local_sd")
    assert column.column == "netperf_local_sd_us_per_kib"
    assert column.title == "Send service demand by netperf"
    with pytest.raises(DataError):  # a process's CPU is not the machine's
        frames.column(imported, "local_cpu")
    both = imported.assign(local_sd_us_per_kib=[1.4])
    assert frames.column(both, "local_sd").column == "local_sd_us_per_kib"


def test_runs_of_two_campaigns_are_told_apart_by_campaign():
    frame = pd.DataFrame(
        {"run": [1, 1, 2], "attempt": [1, 2, 1], "status": ["interrupted", "ok", "ok"]}
    )
    both = pd.concat([frame.assign(campaign="a"), frame.assign(campaign="b")])
    assert len(frames.usable(both)) == 4
    assert set(frames.usable(both)["attempt"]) == {1, 2}


def test_the_process_cpu_of_several_tools_is_one_metric() -> None:
    frame = pd.DataFrame(
        {
            "tool": ["iperf3", "nttcp", "turin"],
            "iperf3_local_process_cpu_pct": [50.0, np.nan, np.nan],
            "nttcp_local_process_cpu_pct": [np.nan, 60.0, np.nan],
        }
    )
    assert frames.column(frame, "local_process_cpu").column == "local_process_cpu_pct"
    both = frames.usable(frame.iloc[:2])
    assert both["local_process_cpu_pct"].tolist() == [50.0, 60.0]
    kept = frames.usable(frame.assign(local_process_cpu_pct=[np.nan, np.nan, 70.0]))
    assert kept["local_process_cpu_pct"].tolist() == [50.0, 60.0, 70.0]
    assert "local_process_cpu_pct" not in frame.columns
    with pytest.raises(DataError, match="remote_process_cpu_pct"):
        frames.column(frame, "remote_process_cpu")


def test_what_stands_beside_a_mean_of_runs_is_no_factor() -> None:
    columns = ("send_size", "throughput_mbps", "throughput_min_mbps", "throughput_max_mbps")
    frame = pd.DataFrame({name: [1] for name in (*columns, "aggregated_runs")})
    assert frames.varied(frame) == ["send_size"]


EXAMPLE = Path(__file__).parents[2] / "notebooks" / "example-campaign"


def test_a_campaigns_frame_knows_what_was_varied(tmp_path: Path) -> None:
    frame = nl.open(EXAMPLE).frame()
    varied = ["protocol", "send_size", "offloads", "mss", "transport"]
    assert frames.varied(frame) == varied
    assert frame.attrs["columns"]["derived"] == ["mss", "transport"]
    assert "netperf_protocol" in frame.attrs["columns"]["metrics"]
    pq.write_table(pa.Table.from_pandas(frame), tmp_path / "kept.parquet")
    assert frames.varied(pd.read_parquet(tmp_path / "kept.parquet")) == varied
    assert frames.varied(frame[frame["protocol"] == "tcp"].assign(site="A")) == [*varied, "site"]


def test_what_one_of_several_campaigns_measured_is_no_factor_of_all() -> None:
    frame = nl.open(EXAMPLE).frame()
    other = frame.drop(columns="netperf_protocol").assign(driver_version="1.2")
    other.attrs["columns"] = {
        "factors": ["protocol", "send_size"],
        "derived": [],
        "metrics": [*frame.attrs["columns"]["metrics"], "driver_version", "offloads"],
    }
    both = nl.joined({"a": frame, "b": other})
    assert frames.varied(both) == [*frames.varied(frame), "campaign"]
    assert both["campaign"].value_counts().to_dict() == {"a": len(frame), "b": len(other)}
    assert len(frames.usable(both)) == len(frames.usable(frame)) + len(frames.usable(other))
    assert "driver_version" not in frames.varied(other)
    plain = pd.DataFrame({"mtu": [1500]})
    assert frames.varied(nl.joined({"a": plain, "b": plain})) == ["mtu", "campaign"]


def test_what_cannot_be_joined_is_refused() -> None:
    with pytest.raises(DataError, match="one frame or more to join"):
        nl.joined({})
    both = nl.joined({"a": pd.DataFrame({"mtu": [1500]})})
    with pytest.raises(DataError, match="again: the frame has a column campaign already"):
        nl.joined({"again": both})


def test_campaigns_put_together_without_names_lose_no_run_silently() -> None:
    frame = attempts((1, 1, "interrupted"), (1, 2, "ok"), (2, 1, "ok"))
    with pytest.raises(
        DataError, match=r"several campaigns need a column campaign; join them with netlimits\.jo"
    ):
        frames.usable(pd.concat([frame, frame]))
    assert len(frames.usable(nl.joined({"a": frame, "b": frame}))) == 4


def test_what_a_tool_says_beside_a_metric_is_no_factor_without_a_campaigns_word_either():
    frame = pd.DataFrame(
        {"run": [1], "mtu": [1500], "throughput_mbps": [1.0], "netperf_local_cpu_pct": [2.0],
         "netperf_protocol": ["TCP"], "netperfs": ["two"]}
    )  # fmt: skip
    assert frames.varied(frame) == ["mtu", "netperfs"]


def test_a_word_in_place_of_a_tools_cpu_is_no_figure():
    frame = pd.DataFrame(
        {"run": [1, 2, 3], "status": ["ok", "failed", "ok"],
         "iperf3_local_process_cpu_pct": [10.0, "n/a", 20.0]}
    )  # fmt: skip
    own = frames.with_process_cpu(frame)["local_process_cpu_pct"]
    assert own[[0, 2]].tolist() == [10, 20]
    assert own.isna().tolist() == [False, True, False]
