"""iperf 2's text and `-y C`: what was sent is not what arrived, and interim results are no totals."""

from __future__ import annotations

from pathlib import Path

import pytest

from netlimits.errors import DataError
from netlimits.importers import read
from netlimits.importers.base import Given

CAPTURES = Path(__file__).parents[1] / "captures" / "imports"


def runs(name: str, **given: str):
    data = (CAPTURES / f"iperf2-{name}.txt").read_bytes()
    return read(name, data, Given(factors=given))[1]


def test_a_client_over_tcp_only_says_what_was_sent():
    (client,), (server,) = runs("tcp"), runs("tcp-server")
    assert "throughput_mbps" not in client.figures
    assert client.figures["local_send_throughput_mbps"] == 281
    assert server.figures["throughput_mbps"] == server.figures["remote_recv_throughput_mbps"]
    assert len(client.interim) == len(server.interim) == 2


def test_a_server_report_says_what_arrived_of_datagrams():
    _, udp = runs("20")
    assert udp.figures["throughput_mbps"] == pytest.approx(1.04)
    assert udp.figures["local_send_throughput_mbps"] == pytest.approx(1.05)
    assert udp.figures["loss_pct"] == pytest.approx(100 * 9 / 893)


def test_enhanced_reports_have_windows_and_round_trips_of_each_stream():
    (client,) = runs("P2")
    streams = [row for row in client.interim if row.get("stream")]
    assert {row["stream"] for row in streams} == {1, 2}
    assert all({"local_rtt_us", "local_cwnd_bytes"} <= set(row) for row in streams)


def test_lines_of_both_ends_look_alike_in_csv():
    with pytest.raises(DataError, match="--given reported_by=client or reported_by=server"):
        runs("csv")
    (sent,) = runs("csv", reported_by="client")
    (arrived,) = runs("csv", reported_by="server")
    assert sent.figures["local_send_throughput_mbps"] == arrived.figures["throughput_mbps"]
    tcp, server, udp = runs("20-csv")  # 2.0 prints its own end first
    assert tcp.figures["local_send_throughput_mbps"] == pytest.approx(937.701376)
    assert server.figures["throughput_mbps"] == pytest.approx(936.901632)
    assert udp.figures["loss_pct"] == pytest.approx(100 * 2 / 1703)
    assert udp.values["streams"] == 1


@pytest.mark.parametrize(
    ("name", "sent", "back"), [("dual", 20.4, 20.0), ("dual-P2", 40.8, 40.0), ("full", 50.5, 50.0)]
)
def test_each_direction_of_a_test_of_both_has_its_rate(name: str, sent: float, back: float):
    (run,) = runs(name)
    assert run.values["direction"] == "bidir"
    assert run.values["streams"] == (2 if "P2" in name else 1)
    assert run.figures["local_send_throughput_mbps"] == pytest.approx(sent)
    assert run.figures["local_recv_throughput_mbps"] == pytest.approx(back)
    assert "throughput_mbps" not in run.figures  # what arrived of the first is unknown
    assert all(not {"stream", "throughput_mbps"} & set(row) for row in run.interim)


def test_a_server_that_sent_back_is_a_server_and_datagrams_have_a_throughput():
    (server,) = runs("dual-server")
    assert server.values["reported_by"] == "server"
    assert server.figures["remote_recv_throughput_mbps"] == pytest.approx(20.5)
    assert server.figures["remote_send_throughput_mbps"] == pytest.approx(20.0)
    (udp,) = runs("dual-udp")
    assert udp.figures["throughput_mbps"] == pytest.approx(40)


def test_one_direction_after_the_other_is_two_runs():
    first, back = runs("after")
    assert first.values["direction"] == "send"
    assert back.values["direction"] == "recv"
    assert back.figures["throughput_mbps"] == back.figures["local_recv_throughput_mbps"] == 20.0
    first, back = runs("after-server")
    assert back.values == first.values | {"direction": "recv"}
    assert back.figures["remote_send_throughput_mbps"] == pytest.approx(19.9)


CSV_DUAL = """\
20261126134347,10.0.0.1,43566,10.0.0.2,5001,4,0.0-2.1,5242940,20367981
20261126134347,10.0.0.1,5001,10.0.0.2,40200,5,0.0-2.1,5242880,19998235
"""


def test_ports_separate_both_directions_in_csv_or_the_run_fails():
    (run,) = read("x", CSV_DUAL.encode())[1]
    assert run.figures["local_send_throughput_mbps"] == pytest.approx(20.368, rel=1e-4)
    assert run.figures["local_recv_throughput_mbps"] == pytest.approx(19.998, rel=1e-4)
    swapped = CSV_DUAL.replace("10.0.0.1,5001,10.0.0.2,40200", "10.0.0.2,40200,10.0.0.1,5001")
    (run,) = read("x", swapped.encode(), Given(factors={"reported_by": "client"}))[1]
    assert run.status == "failed"
    assert "not which line is of which" in run.reason


def test_a_failed_connection_before_a_good_one_is_a_run():
    good = (CAPTURES / "iperf2-tcp.txt").read_text()
    banner = "Client connecting to 10.0.0.9, TCP port 5001\n"
    runs = read("x", f"{banner}connect failed: Connection refused\n{good}".encode())[1]
    assert [run.status for run in runs] == ["failed", "ok"]


def test_a_printed_rate_is_taken_though_the_amount_has_more_digits():
    """Seconds are rounded to 0.1: 118,095,872 bytes in 10.0 s would be 94.48 Mbit/s."""
    text = (
        "Client connecting to 192.0.2.1, TCP port 5001\n"
        "[  3] local 192.0.2.2 port 35115 connected with 192.0.2.1 port 5001\n"
        "[ ID] Interval       Transfer     Bandwidth\n"
        "^C[  3]  0.0-10.0 sec  118095872 Bytes  94285797 bits/sec\n"
    )
    (run,) = read("x", text.encode())[1]
    assert run.status == "ok"  # what a terminal prints for Ctrl-C does not hide the line
    assert run.figures["local_send_throughput_mbps"] == pytest.approx(94.285797)
