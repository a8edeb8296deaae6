from __future__ import annotations

import subprocess
from dataclasses import replace

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netlimits.analysis.aggregate import aggregate
from netlimits.campaign import parallel
from netlimits.errors import DataError, InputError, ToolFailure
from netlimits.hosts.local import local_host
from netlimits.model import Command, Completed, Flow, Measurement, Work


def run(*argvs: tuple[str, ...], deadline: float = 20) -> Completed:
    host = local_host("here")
    try:
        return host.run(parallel.together([Command(argv, deadline=deadline) for argv in argvs]))
    finally:
        host.close()


def test_one_command_stays_as_it_is():
    command = Command(("netperf", "-H", "x"))
    assert parallel.together([command]) is command


def test_every_stream_keeps_its_outputs_and_its_status():
    done = run(
        ("printf", "a\nb"),
        ("sh", "-c", "echo out; echo err >&2; exit 7"),
        ("sh", "-c", "kill -9 $$"),
        ("true",),
    )
    first, second, third, fourth = parallel.split(done, 4)
    assert (first.stdout, first.stderr, first.status) == ("a\nb", "", 0)
    assert (second.stdout, second.stderr, second.status) == ("out\n", "err\n", 7)
    assert third.status == 137
    assert (fourth.stdout, fourth.status) == ("", 0)


def test_streams_run_at_the_same_time(tmp_path):
    """Each ends only once all have begun."""
    meet = f"touch {tmp_path}/$$; until [ $(ls {tmp_path} | wc -l) = 8 ]; do sleep 0.05; done"
    done = run(*[("sh", "-c", meet)] * 8, deadline=300)
    assert [part.status for part in parallel.split(done, 8)] == [0] * 8


def test_words_are_quoted_and_no_temporary_file_is_left(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    nasty = "$(touch /tmp/no) ;'\" `id` * \\"
    done = run(("printf", "%s", nasty), ("printf", "%s", nasty))
    assert [part.stdout for part in parallel.split(done, 2)] == [nasty, nasty]
    assert list(tmp_path.iterdir()) == []


def test_a_deadline_ends_them_all_and_says_so(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    done = run(("sleep", "31.7"), ("sh", "-c", "echo kept"), deadline=4)
    assert "kept" in done.stdout
    with pytest.raises(ToolFailure, match="killed at their deadline") as caught:
        parallel.split(done, 2)
    assert caught.value.status == "timeout"
    processes = subprocess.run(["pgrep", "-fx", "sleep 31.7"], capture_output=True, text=True)
    assert processes.stdout == ""
    assert list(tmp_path.iterdir()) == []


def test_output_that_was_cut_is_a_failure():
    done = run(("true",), ("true",))
    cut = Completed(done.host, done.command, 0, done.stdout[:40], "no space", 0.1)
    with pytest.raises(ToolFailure, match="2 parallel streams were cut short: no space"):
        parallel.split(cut, 2)


def test_more_streams_than_one_argument_holds_are_refused():
    with pytest.raises(InputError, match="too many"):
        parallel.together([Command(("netperf", "x" * 400))] * 300)


def stream(start: float, rates: list[float], interval: float = 1.0) -> Measurement:
    rows = tuple(
        {"ending_s": start + (n + 1) * interval, "interval_s": interval, "throughput_mbps": rate}
        for n, rate in enumerate(rates)
    )
    elapsed = interval * len(rates)
    mean = sum(rates) / len(rates)
    figures = {
        "throughput_mbps": mean,
        "local_send_throughput_mbps": mean,
        "elapsed_s": elapsed,
        "local_send_calls": 10.0,
        "transport_mss_bytes": 1448,
    }
    return Measurement(figures, rows)


def test_only_the_time_that_all_streams_share_counts():
    measurement = parallel.merged([stream(100.0, [8, 4, 4, 4]), stream(101.0, [4, 4, 4, 8])])
    assert measurement.figures["window_s"] == 3
    assert measurement.figures["throughput_mbps"] == pytest.approx(8), "alone they had 8 each"
    assert measurement.figures["start_skew_s"] == pytest.approx(1)
    assert measurement.figures["end_skew_s"] == pytest.approx(1)
    assert measurement.figures["elapsed_s"] == pytest.approx(5)
    sent = measurement.figures["local_send_throughput_mbps"] * measurement.figures["elapsed_s"]
    assert sent == pytest.approx(40), "all that was sent, for service demand"
    assert measurement.figures["local_send_calls"] == 20
    assert measurement.figures["transport_mss_bytes"] == 1448
    assert {row["stream"] for row in measurement.interim} == {1, 2}


def test_streams_to_the_client_tell_what_the_others_tell():
    """Of several that receive neither rate nor calls came back, even where they were selected."""
    names = {"local_send_throughput_mbps": "remote_send_throughput_mbps",
             "local_send_calls": "remote_send_calls"}  # fmt: skip
    streams = []
    for each in (stream(100.0, [8, 4, 4, 4]), stream(101.0, [4, 4, 4, 8])):
        figures = {names.get(name, name): value for name, value in each.figures.items()}
        arrived = {"local_recv_throughput_mbps": 5.0, "local_recv_calls": 7}
        streams.append(replace(each, figures=figures | arrived))
    total = parallel.merged(streams).figures
    assert total["local_recv_throughput_mbps"] == total["throughput_mbps"] == pytest.approx(8)
    assert total["remote_send_throughput_mbps"] == pytest.approx(8), "40 Mbit in 5 s"
    assert (total["remote_send_calls"], total["local_recv_calls"]) == (20, 14)


def test_datagrams_that_were_lost_are_no_throughput_of_parallel_streams():
    """Interim results of datagrams are what was sent, whatever arrived of it."""
    sent = stream(100.0, [8, 8, 8, 8])
    rows = tuple({**row, "local_send_throughput_mbps": 8.0} for row in sent.interim)
    for row in rows:
        del row["throughput_mbps"]
    figures = {**sent.figures, "local_send_throughput_mbps": 8.0}
    # what it sent first was lost: the share that arrived is of all the time
    lossy = {**figures, "throughput_mbps": 2.0, "loss_pct": 75.0}
    whole = {**figures, "throughput_mbps": 8.0, "loss_pct": 0.0}
    total = parallel.merged([Measurement(lossy, rows), Measurement(whole, rows)]).figures
    assert total["throughput_mbps"] == pytest.approx(10)
    assert total["local_send_throughput_mbps"] == pytest.approx(16)
    assert total["loss_pct"] == pytest.approx(37.5)


def test_a_last_interim_result_that_is_missing_makes_no_run_shorter():
    """nuttcp prints none for the end of a run."""
    whole, cut = stream(100.0, [8, 8, 8, 8]), stream(100.0, [8, 8, 8, 8])
    cut = Measurement(cut.figures, cut.interim[:-1])
    total = parallel.merged([whole, cut]).figures
    assert total["elapsed_s"] == pytest.approx(4)
    assert total["end_skew_s"] == pytest.approx(0)
    assert total["local_send_throughput_mbps"] == pytest.approx(16)
    assert total["throughput_mbps"] == pytest.approx(16)


def test_streams_without_interim_results_cannot_be_added_up():
    bare = Measurement(stream(0, [1.0]).figures)
    with pytest.raises(ToolFailure, match="set interim_seconds"):
        parallel.merged([bare, bare])


def test_what_several_clients_receive_has_a_rate_to_hold_against_the_link():
    """Both ways through several clients the way back had no rate, which passed every bound."""
    flows = (Flow("local", 125e6, 125e6), Flow("remote", 250e6, 250e6))
    streams = [Measurement({}, work=Work(1.0, flows))] * 2
    figures = {"throughput_mbps": 900.0, "remote_recv_throughput_mbps": 300.0}
    assert dict(parallel.arrived(streams, figures, 2.0)) == {"local": 300.0, "remote": 2000.0}
    (single,) = parallel.arrived([Measurement({}, work=Work(1.0, flows[:1]))], figures, 2.0)
    assert single == ("local", 900.0)
    assert dict(parallel.arrived([*streams, Measurement({})], figures, 2.0)) == {}


def test_streams_that_never_ran_together_are_invalid():
    with pytest.raises(ToolFailure, match="never ran all together") as caught:
        parallel.merged([stream(0, [1.0, 1.0]), stream(5, [1.0, 1.0])])
    assert caught.value.status == "invalid"


@pytest.mark.long
@settings(deadline=None)
@given(
    st.lists(
        st.tuples(
            st.floats(0, 2),
            st.lists(st.floats(0, 1000), min_size=4, max_size=8),
            st.sampled_from([0.5, 1.0]),
        ),
        min_size=2,
        max_size=5,
    )
)
def test_the_rate_is_that_of_the_whole_curve_in_analysis(streams):
    measurements = [stream(1000 + start, rates, interval) for start, rates, interval in streams]
    rows = [{"stream": n, **row} for n, m in enumerate(measurements, 1) for row in m.interim]
    try:
        table = aggregate(pd.DataFrame(rows))
    except DataError:
        with pytest.raises(ToolFailure):
            parallel.merged(measurements)
        return
    lengths = table["end_s"] - table["start_s"]
    mean = (table["throughput_mbps"] * lengths).sum() / lengths.sum()
    total = parallel.merged(measurements).figures
    assert total["throughput_mbps"] == pytest.approx(mean, rel=1e-6, abs=1e-6)
    assert total["start_skew_s"] == pytest.approx(table.attrs["start_skew_s"], abs=1e-6)
