import json
import os
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import netlimits as nl
from netlimits.analysis import caveats, frames
from netlimits.errors import DataError, InputError


def attempts(*rows: tuple[int, int, str]) -> pd.DataFrame:
    frame = pd.DataFrame(rows, columns=["run", "attempt", "status"])
    return frame.assign(reason="", throughput_mbps=np.arange(len(rows), dtype=float))


def test_the_last_attempt_of_a_run_decides() -> None:
    frame = attempts((1, 1, "interrupted"), (1, 2, "ok"), (2, 1, "ok"), (2, 2, "failed"))
    kept = frames.usable(frame)
    assert kept["run"].tolist() == [1]
    assert kept["attempt"].tolist() == [2]
    assert caveats.notes(frame, []) == ("2 runs: 1 ok, 1 failed; figures are of those that are ok",)


def test_an_attempt_that_came_to_nothing_takes_no_outcome_s_place() -> None:
    """`status` told "1 failed" of it and a table "1 left"."""
    frame = attempts((1, 1, "failed"), (1, 2, "interrupted"), (2, 1, "ok"), (3, 1, "interrupted"))
    assert frames.last_attempts(frame)["status"].tolist() == ["failed", "ok", "interrupted"]
    notes = caveats.notes(frame, [])
    assert notes[0].startswith("3 runs: 1 ok, 1 failed, 1 left;")


def test_runs_that_never_began_are_left_too() -> None:
    """While a campaign ran, a table counted those alone that were in its journal."""
    frame = attempts((1, 1, "ok"), (2, 1, "ok"), (3, 1, "interrupted"))
    frame.attrs["planned"] = [12, 3]
    assert caveats.notes(frame, [])[0].startswith("12 runs: 2 ok, 10 left;")
    assert caveats.notes(frame[frame["run"] != 3], []) == (), "of a part nobody knows"
    frame["status"] = "ok"
    assert caveats.notes(frame, [])[0].startswith("12 runs: 3 ok, 9 left;")


def test_a_published_table_without_status_counts_whole() -> None:
    frame = pd.DataFrame({"throughput_mbps": [1.0, 2.0]})
    assert frames.usable(frame) is frame
    assert caveats.notes(frame, ["local_sd_us_per_kib"]) == ()


def test_no_usable_run_is_an_error_that_gives_the_reason() -> None:
    frame = attempts((1, 1, "failed")).assign(reason="no data arrived")
    with pytest.raises(DataError, match="none of the 1 runs is ok; the first says: no data arr"):
        frames.usable(frame)
    with pytest.raises(DataError, match="no runs"):
        frames.usable(frame.iloc[:0])


def test_what_a_receivers_service_demand_is_of_is_told_where_packets_were_lost():
    frame = attempts((1, 1, "ok"), (2, 1, "ok")).assign(
        local_send_throughput_mbps=[100.0, 100.0], remote_recv_throughput_mbps=[99.95, 60.0]
    )
    note = (
        "1 of 2 runs lost packets: the receiver's service demand is per KiB sent, as netperf's is"
    )
    assert note in caveats.notes(frame, ["remote_sd_us_per_kib"])
    assert caveats.notes(frame, ["local_sd_us_per_kib", "throughput_mbps"]) == ()
    assert caveats.losses(frame.drop(columns="local_send_throughput_mbps")) == ""
    told = frame.assign(loss_pct=[0.0, 0.2])
    assert caveats.losses(told) == "1 of 2 runs lost packets", "whatever waited at the end"
    assert caveats.losses(frame.assign(loss_pct=0.0)) == ""
    assert caveats.losses(frame.assign(transport_mss_bytes=1448)) == "", "TCP sends it again"


def test_sent_and_received_of_different_times_are_told():
    """Of parallel netperf they were, without a word."""
    rates = {"throughput_mbps": 90.0, "local_send_throughput_mbps": 95.0}
    frame = attempts((1, 1, "ok"), (2, 1, "ok"), (3, 1, "ok")).assign(
        **rates, elapsed_s=4.0, window_s=[3.2, 3.6, 4.0]
    )
    (note,) = caveats.notes(frame, rates)
    assert note.startswith("in 2 of 3 runs what was sent is counted over the whole time")
    assert "what arrived over the 80 to 90 % of it" in note
    assert caveats.notes(frame, ["throughput_mbps"]) == ()
    assert caveats.notes(frame.assign(window_s=3.99), rates) == ()
    assert caveats.notes(frame.drop(columns="window_s"), rates) == ()


def test_other_traffic_on_the_link_is_told_beside_every_table():
    frame = attempts((1, 1, "ok"), (2, 1, "ok"), (3, 1, "failed"))
    quiet = frame.assign(disturbed_pct=[0.0, 0.0, np.nan])
    assert caveats.disturbance(quiet) == caveats.disturbance(frame) == ""
    loud = frame.assign(disturbed_pct=[0.0, 9.57, 90.0])
    note = "1 of 2 runs had other traffic on their link, up to 9.6 % of their own (disturbed_pct)"
    assert note in caveats.notes(loud, ["throughput_mbps"])


@pytest.mark.parametrize(
    ("shared", "columns", "noted"),
    [
        ([True, True], ["local_sd_us_per_kib"], True),
        ([False, True], ["remote_cpu_pct"], True),
        ([True, True], ["throughput_mbps"], False),
        ([False, False], ["local_sd_us_per_kib"], False),
        ([None, None], ["local_sd_us_per_kib"], False),
    ],
)
def test_cpu_figures_of_one_kernel_are_marked(
    shared: list[object], columns: list[str], noted: bool
) -> None:
    frame = attempts((1, 1, "ok"), (2, 1, "ok")).assign(shared_kernel=shared)
    assert (caveats.SHARED_KERNEL in caveats.notes(frame, columns)) is noted


def test_a_metric_that_is_not_there_names_those_that_are() -> None:
    frame = attempts((1, 1, "ok")).assign(netperf_local_sd_us_per_kib=1.0, send_size=1024)
    with pytest.raises(DataError, match=r"metrics here: throughput, netperf_local_sd\Z"):
        frames.column(frame, "remote_sd")
    with pytest.raises(InputError, match="did you mean throughput"):
        frames.column(frame, "troughput")
    assert frames.column(frame, "netperf_local_sd").column == "netperf_local_sd_us_per_kib"
    with pytest.raises(DataError, match="no factor 'sendsize' here; factors: send_size"):
        frames.factors(frame, "sendsize")


def test_an_empty_field_alone_is_missing(tmp_path) -> None:  # type: ignore[no-untyped-def]
    path = tmp_path / "runs.csv"
    path.write_text("qdisc,offloads\nNone,on\nNA,\n")
    frame = frames.load(path)
    assert frame["qdisc"].tolist() == ["None", "NA"]
    assert frame["offloads"].isna().tolist() == [False, True]
    for name, content in (("a.parquet", "no"), ("b.csv", ""), ("c.dat", "x")):
        bad = tmp_path / name
        bad.write_text(content)
        with pytest.raises(DataError, match=name):
            frames.load(bad)


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
    assert caveats.notes(both, ["throughput_mbps"]) == ()


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


@pytest.mark.parametrize("target", ["/dev/zero", "/dev/full", "/proc/kmsg", "pipe", "."])
@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_what_is_no_file_of_runs_is_not_waited_for(tmp_path, target, suffix):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / f"runs.{suffix}").symlink_to(target)
    with pytest.raises(
        DataError, match=r"runs\.\w+: not readable as a table: is (a folder|no|empty)"
    ):
        frames.load(tmp_path / f"runs.{suffix}")


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_a_file_of_runs_beyond_the_limit_is_not_read(tmp_path, suffix):
    path = tmp_path / f"runs.{suffix}"
    with path.open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(DataError, match="is larger than 2 GiB"):
        frames.load(path)


@pytest.mark.parametrize(
    ("name", "cell", "problem"),
    [
        ("attempt", "abc", "'abc'"),
        ("run", "1;2", "'1;2'"),
        ("block", "x" * 100, f"'{'x' * 40}'"),
        ("duration_s", "long", "'long'"),
        ("attempt", "9" * 400, "a number that is too large"),
    ],
)
def test_what_counts_runs_is_a_number(tmp_path, name, cell, problem):
    path = tmp_path / "runs.csv"
    path.write_text(f"{name},status,x_mbps\n1,ok,5\n{cell},ok,6\n")
    with pytest.raises(DataError, match=f"column {name}: is to be a number, and holds {problem}"):
        frames.load(path)


def test_a_parquet_file_that_lies_of_itself_is_refused_in_one_line(tmp_path):
    path = tmp_path / "runs.parquet"
    table = pa.table({"x_mbps": [1.0]})
    lie = {"columns": [{"name": "x_mbps"}], "index_columns": [], "column_indexes": []}
    pq.write_table(table.replace_schema_metadata({"pandas": json.dumps(lie)}), path)
    with pytest.raises(
        DataError, match=r"not readable as a table: .*field_name|pandas_type"
    ) as error:
        frames.load(path)
    assert "\n" not in str(error.value)


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
    assert frames.varied(frames.joined([frame, other])) == frames.varied(frame)
    assert "driver_version" not in frames.varied(other)
    plain = pd.DataFrame({"mtu": [1500]})
    assert frames.varied(frames.joined([plain, plain])) == ["mtu"]


def test_sessions_are_told_by_the_time_between_runs():
    begun = pd.Timestamp("2026-11-01T12:00:00Z")
    seconds = [0, 10, 20, 3 * 3600, 3 * 3600 + 10]
    frame = pd.DataFrame(
        {"run": range(1, 6), "status": "ok", "throughput_mbps": 1.0, "duration_s": 9.0,
         "started": [begun + pd.Timedelta(seconds=s) for s in seconds]}
    )  # fmt: skip
    note = (
        "runs were made in 2 sessions, with up to 3 h between them: means hold what drifted "
        "meanwhile"
    )
    assert caveats.sessions(frame) == note
    assert note in caveats.notes(frame, ["throughput_mbps"])
    assert caveats.sessions(frame[:3]) == ""
    assert caveats.sessions(frame.sample(frac=1, random_state=1)) == note, "in whatever order"
    two = frame.assign(campaign=["a", "a", "a", "b", "b"])
    assert caveats.sessions(two) == "", "each campaign is one session, and says so elsewhere"
    cut_off = pd.DataFrame(
        {"run": 4, "status": "interrupted", "started": begun + pd.Timedelta(hours=2.95)}, [9]
    )
    resumed = caveats.sessions(pd.concat([frame, cut_off]))
    assert resumed == note.replace("3 h", "2.9 h"), "a run that was cut off began a session"
    assert caveats.sessions(frame.drop(columns="started")) == ""
    assert caveats.sessions(frame.assign(started=pd.NaT)) == ""


def test_what_a_tool_says_beside_a_metric_is_no_factor_without_a_campaigns_word_either():
    frame = pd.DataFrame(
        {"run": [1], "mtu": [1500], "throughput_mbps": [1.0], "netperf_local_cpu_pct": [2.0],
         "netperf_protocol": ["TCP"], "netperfs": ["two"]}
    )  # fmt: skip
    assert frames.varied(frame) == ["mtu", "netperfs"]
