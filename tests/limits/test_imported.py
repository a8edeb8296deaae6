"""What results say that nobody read evidence beside: the rate, its bound, packets, CPU."""

from __future__ import annotations

import numpy as np
import pytest

from netlimits.limits.evidence import run_figures
from netlimits.limits.figures import RunFigures
from netlimits.limits.imported import known
from netlimits.limits.verdicts import of_run

TCP = {"throughput_mbps": 9412.0, "transport_mss_bytes": 1448.0, "protocol": "tcp"}


def of(**figures) -> str:
    return known([RunFigures(figures)])


def test_a_rate_near_a_links_bound_names_the_link():
    assert of(**TCP) == (
        "Known: 9,412 Mbit/s arrived; that is 100.0 % of what an Ethernet of 10,000 Mbit/s leaves "
        "for data at an MSS of 1448 bytes; some 812,500 packets/s."
    )
    assert "Ethernet" not in of(**{**TCP, "throughput_mbps": 6000.0})
    assert "Ethernet" not in of(**{**TCP, "transport_mss_bytes": None})


def test_datagrams_have_their_own_size():
    text = of(throughput_mbps=819.2, send_size=1024, protocol="udp")
    assert text == "Known: 819.2 Mbit/s arrived; some 100,000 packets/s."


@pytest.mark.parametrize(
    ("column", "words"),
    [
        ("local_cpu_pct", "CPU 23 % of the client's machine"),
        ("remote_cpu_peak_pct", "the busiest CPU 23 % of the server's"),
        ("iperf3_remote_process_cpu_pct", "the server's process 23 % of one CPU"),
    ],
)
def test_cpu_is_said_where_it_was_printed(column, words):
    assert words in of(**TCP, **{column: 23.4})


@pytest.mark.parametrize("target", [20.0, np.int64(20)])
def test_a_rate_that_the_tool_was_told_is_known_of_imported_runs(target):
    run = run_figures({"throughput_mbps": 20.03, "target_mbps": target}, None)
    assert of_run(run).limit == "application"
    assert run_figures({"target_mbps": None}, None).goal_mbps is None


def test_nothing_is_said_of_nothing():
    assert of() == ""
    assert known([]) == ""


def test_losses_windows_and_round_trips_that_were_imported_are_known():
    tcp = {
        **TCP,
        "throughput_mbps": 94.0,
        "elapsed_s": 10.0,
        "local_transport_retrans": 812.0,
        "local_rtt_us": 40_000.0,
        "local_cwnd_bytes": 500_000.0,
    }
    text = of(**tcp)
    assert "812 segments sent again (0.99 %); round trip 40,000 µs;" in text
    assert "congestion window 500,000 bytes, which lets 100 Mbit/s through" in text
    assert "2.5 % of the datagrams lost" in of(throughput_mbps=9.0, loss_pct=2.5, protocol="udp")
    sentence = of_run(RunFigures(tcp, of_file=True)).sentence
    assert "Not decided: loss (812 segments sent again (0.99 %))." in sentence
    assert "loss" not in sentence.split("Not decided")[0]


@pytest.mark.parametrize(
    ("lost", "words"),
    [(100.0, "100 %"), (55.84, "56 %"), (0.583, "0.58 %"), (2e-6, "under 0.01 %")],
)
def test_shares_have_no_exponent(lost: float, words: str):
    assert f"; {words} of the datagrams lost" in of(
        throughput_mbps=9.0, loss_pct=lost, protocol="udp"
    )


def test_a_busy_process_is_not_called_unchecked():
    figures = {**TCP, "iperf3_local_process_cpu_pct": 99.2, "iperf3_remote_process_cpu_pct": 38.0}
    sentence = of_run(RunFigures(figures, of_file=True)).sentence
    assert "sender-cpu (its process 99 % of one CPU)" in sentence.split("Not decided")[1]
    assert "sender-cpu" not in sentence.split("Not decided")[0]
    assert "receiver-cpu" in sentence.split("Not decided")[0]
