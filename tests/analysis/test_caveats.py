"""What stands beside every figure: each sentence where it is due, and nowhere else."""

import numpy as np
import pandas as pd
import pytest

from netlimits.analysis import caveats, comparison


def attempts(*rows: tuple[int, int, str]) -> pd.DataFrame:
    frame = pd.DataFrame(rows, columns=["run", "attempt", "status"])
    return frame.assign(reason="", throughput_mbps=np.arange(len(rows), dtype=float))


def test_runs_that_are_left_out_are_counted_by_their_last_attempt() -> None:
    frame = attempts((1, 1, "interrupted"), (1, 2, "ok"), (2, 1, "ok"), (2, 2, "failed"))
    assert caveats.notes(frame, []) == ("2 runs: 1 ok, 1 failed; figures are of those that are ok",)
    again = attempts((1, 1, "interrupted"), (1, 2, "ok"))
    both = pd.concat([again.assign(campaign="a"), again.assign(campaign="b")])
    assert caveats.notes(both, ["throughput_mbps"]) == ()


def test_a_published_table_without_status_has_no_caveat() -> None:
    frame = pd.DataFrame({"throughput_mbps": [1.0, 2.0]})
    assert caveats.notes(frame, ["local_sd_us_per_kib"]) == ()


def test_what_a_receivers_service_demand_is_of_is_told_where_packets_were_lost():
    frame = attempts((1, 1, "ok"), (2, 1, "ok")).assign(
        local_send_throughput_mbps=[100.0, 100.0], remote_recv_throughput_mbps=[99.95, 60.0]
    )
    note = "the receiver's service demand is per KiB sent, as netperf's: 1 of 2 runs lost packets"
    assert note in caveats.notes(frame, ["remote_sd_us_per_kib"])
    assert caveats.notes(frame, ["local_sd_us_per_kib", "throughput_mbps"]) == ()
    assert caveats.losses(frame.drop(columns="local_send_throughput_mbps")) == ""
    told = frame.assign(loss_pct=[0.0, 0.2])
    assert caveats.losses(told) == "1 of 2 runs lost packets", "whatever waited at the end"
    assert caveats.losses(frame.assign(loss_pct=0.0)) == ""
    assert caveats.losses(frame.assign(transport_mss_bytes=1448)) == "", "TCP sends it again"


def test_other_traffic_on_the_link_is_told_beside_every_table():
    frame = attempts((1, 1, "ok"), (2, 1, "ok"), (3, 1, "failed"))
    quiet = frame.assign(disturbed_pct=[0.0, 0.0, np.nan])
    assert caveats.disturbance(quiet) == caveats.disturbance(frame) == ""
    loud = frame.assign(disturbed_pct=[0.0, 9.57, 90.0])
    note = "1 of 2 runs had other traffic on their link, up to 9.6 % of their own (disturbed_pct)"
    assert note in caveats.notes(loud, ["throughput_mbps"])


def test_other_programs_on_a_host_s_cpus_are_told_beside_every_table():
    frame = attempts((1, 1, "ok"), (2, 1, "ok"), (3, 1, "failed"))
    quiet = frame.assign(local_other_cpu_pct=[0.0, 3.0, 99.0])
    assert caveats.other_programs(quiet) == caveats.other_programs(frame) == ""
    loud = quiet.assign(remote_other_cpu_pct=["98.4", np.nan, np.nan])
    note = (
        "in 1 of 2 runs other programs used CPU time on a host, up to 98 % of one CPU "
        "(local_other_cpu_pct, remote_other_cpu_pct)"
    )
    assert note in caveats.notes(loud, ["throughput_mbps"])


def test_a_throughput_of_a_part_of_the_time_is_told_beside_every_table():
    frame = attempts((1, 1, "ok"), (2, 1, "ok"), (3, 1, "failed"))
    whole = frame.assign(covered_pct=[91.0, 98.0, 12.0])
    assert caveats.covered(whole) == caveats.covered(frame) == ""
    note = (
        "in 1 of 2 runs the throughput covers only the part of the time in which data of all "
        "streams arrived, down to 72 % (covered_pct)"
    )
    parts = frame.assign(covered_pct=["72.3", np.nan, 12.0])
    assert note in caveats.notes(parts, ["throughput_mbps"])


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


def test_sessions_are_told_by_the_time_between_runs():
    begun = pd.Timestamp("2026-11-01T12:00:00Z")
    seconds = [0, 10, 20, 3 * 3600, 3 * 3600 + 10]
    frame = pd.DataFrame(
        {"run": range(1, 6), "status": "ok", "throughput_mbps": 1.0, "duration_s": 9.0,
         "started": [begun + pd.Timedelta(seconds=s) for s in seconds]}
    )  # fmt: skip
    note = (
        "means include drift between sessions: the runs were made in 2 sessions, with up to 3 h "
        "between them"
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
    close = frame.assign(started=[begun + pd.Timedelta(seconds=s) for s in range(0, 3000, 600)])
    assert caveats.sessions(close) == ""
    ended_before = close.assign(duration_s=[9.0, -60.0, 9.0, 9.0, 9.0])
    assert caveats.sessions(ended_before).startswith(
        "means include drift between sessions: the runs were made in 2"
    )
    assert caveats.sessions(frame.drop(columns="started")) == ""
    assert caveats.sessions(frame.assign(started=pd.NaT)) == ""


def test_sent_and_received_of_different_times_are_told():
    """Of parallel netperf they were, without a word."""
    rates = {"throughput_mbps": 90.0, "local_send_throughput_mbps": 95.0}
    frame = attempts((1, 1, "ok"), (2, 1, "ok"), (3, 1, "ok")).assign(
        **rates, elapsed_s=4.0, window_s=[3.2, 3.6, 4.0]
    )
    (note,) = caveats.notes(frame, rates)
    assert note.startswith("the difference between sent and received rates is not loss: in 2 of 3 ")
    assert "received data over the 80 to 90 % of it" in note
    assert caveats.notes(frame, ["throughput_mbps"]) == ()
    assert caveats.notes(frame.assign(window_s=3.99), rates) == ()
    assert caveats.notes(frame.drop(columns="window_s"), rates) == ()


def test_runs_that_never_began_are_left_too() -> None:
    """While a campaign ran, a table counted those alone that were in its journal."""
    frame = attempts((1, 1, "ok"), (2, 1, "ok"), (3, 1, "interrupted"))
    frame.attrs["planned"] = [12, 3]
    assert caveats.notes(frame, [])[0].startswith("12 runs: 2 ok, 10 left;")
    assert caveats.notes(frame[frame["run"] != 3], []) == (), "of a part nobody knows"
    frame["status"] = "ok"
    assert caveats.notes(frame, [])[0].startswith("12 runs: 3 ok, 9 left;")


def test_an_attempt_that_came_to_nothing_is_not_counted_as_left() -> None:
    frame = attempts((1, 1, "failed"), (1, 2, "interrupted"), (2, 1, "ok"), (3, 1, "interrupted"))
    assert caveats.notes(frame, [])[0].startswith("3 runs: 1 ok, 1 failed, 1 left;")


def test_a_comparison_says_of_each_side_what_a_table_would() -> None:
    plain = pd.DataFrame({"throughput_mbps": [1.0], "remote_sd_us_per_kib": [1.0]})
    shared = plain.assign(shared_kernel=True, loss_pct=50.0, disturbed_pct=4.0)
    columns = ["remote_sd_us_per_kib"]
    notes = caveats.of_sides([("before", plain), ("after", shared)], columns)
    assert [note.partition(": ")[0] for note in notes] == ["after"] * 3
    assert f"after: {caveats.SHARED_KERNEL}" in notes
    both = caveats.of_sides([("before", shared), ("after", shared)], columns)
    assert caveats.SHARED_KERNEL in both
    assert len(both) == 3, "what is so on both sides is said once"
    assert caveats.SHARED_KERNEL not in caveats.of_sides([("before", shared)], ["throughput_mbps"])


def test_two_roles_on_one_kernel_are_told_beside_ratios_of_their_cpu() -> None:
    run = {"local_sd_us_per_kib": 1.0, "throughput_mbps": 1.0, "size": 1, "shared_kernel": True}
    frame = pd.DataFrame([run] * 3)
    for metric, told in (("local_sd", True), ("throughput", False)):
        table = comparison.compare(frame, frame, metric, among=["size"])
        assert (caveats.SHARED_KERNEL in table.attrs["notes"]) is told
