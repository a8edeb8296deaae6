"""iperf3's text: what stands in it, under every option."""

from __future__ import annotations

from pathlib import Path

import pytest

from netlimits.importers import read
from netlimits.importers.base import ImportedRun

CAPTURES = Path(__file__).parents[1] / "captures" / "imports"


def run(name: str) -> ImportedRun:
    (only,) = read(name, (CAPTURES / f"iperf3-text-{name}.txt").read_bytes())[1]
    assert only.status == "ok"
    return only


def last(name: str, ending: str) -> list[str]:
    """Return the words of the last line that ends so."""
    lines = (CAPTURES / f"iperf3-text-{name}.txt").read_text().splitlines()
    return [line for line in lines if line.rstrip().endswith(ending)][-1].split()


@pytest.mark.parametrize("name", ["tcp", "P2", "rev", "udp"])
def test_each_end_has_its_own_rate(name: str):
    of = run(name)
    sender, receiver = ("remote", "local") if name == "rev" else ("local", "remote")
    rates = {}
    for end in ("sender", "receiver"):
        words = last(name, end)
        rates[end] = float(words[words.index("Mbits/sec") - 1])
    assert of.figures["throughput_mbps"] == pytest.approx(rates["receiver"])
    assert of.figures[f"{receiver}_recv_throughput_mbps"] == pytest.approx(rates["receiver"])
    assert of.figures[f"{sender}_send_throughput_mbps"] == pytest.approx(rates["sender"])


def test_parallel_streams_have_interim_results_of_their_own():
    of = run("P2")
    assert of.values["streams"] == 2
    numbers = [row.get("stream", 0) for row in of.interim]
    assert sorted(set(numbers)) == [0, 1, 2]
    first = [row for row in of.interim if row["ending_s"] == of.interim[0]["ending_s"]]
    total, *streams = (row["local_send_throughput_mbps"] for row in first)
    assert sum(streams) == pytest.approx(total, rel=0.01)


def test_both_ways_add_up():
    of = run("bidir")
    rates = [of.figures[f"{end}_recv_throughput_mbps"] for end in ("local", "remote")]
    assert of.figures["throughput_mbps"] == pytest.approx(sum(map(float, rates)))
    assert "throughput_mbps" not in run("bidir-server").figures  # it knows what arrived there


def test_verbose_output_has_facts_besides():
    of = run("verbose")
    assert of.values["send_size"] == 131072
    assert of.values["congestion_control"] == "cubic"
    assert of.started is not None
    assert float(of.figures["iperf3_remote_process_cpu_pct"]) > 0


def test_a_run_that_broke_off_is_a_failed_one():
    text = (CAPTURES / "iperf3-text-tcp.txt").read_text().partition("- - -")[0]
    (cut,) = read("x", text.encode())[1]
    assert (cut.status, cut.figures) == ("failed", {})
    assert "the run was interrupted" in cut.reason
    (error,) = read("x", (text + "iperf3: error - control socket has closed\n").encode())[1]
    assert error.reason == "control socket has closed"


def test_a_rate_of_few_digits_is_made_up_for_by_the_amount():
    text = (CAPTURES / "iperf3-text-tcp.txt").read_text()
    lines = [
        line.replace("  283 Mbits/sec", " 0.28 Gbits/sec") if "receiver" in line else line
        for line in text.splitlines()
    ]
    (of,) = read("x", "\n".join(lines).encode())[1]
    assert float(of.figures["throughput_mbps"]) == pytest.approx(283, rel=0.01)


def test_a_client_that_ctrl_c_ended_is_one_failed_run():
    text = (CAPTURES / "iperf3-text-tcp.txt").read_text().replace("iperf Done.", "")
    ended = text + "iperf3: interrupt - the client has terminated\n"
    (cut,) = read("x", ended.replace("- - - -", "^C- - - -", 1).encode())[1]
    assert (cut.status, cut.reason) == ("failed", "the client has terminated")
