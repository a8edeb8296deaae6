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


def test_a_run_of_both_directions_in_one_table_is_refused_by_name():
    text = (CAPTURES / "iperf2-tcp.txt").read_text().replace("(icwnd", "(full-duplex) (icwnd")
    (both,) = read("x", text.encode())[1]
    assert both.status == "failed"
    assert "print both directions in one table" in both.reason
