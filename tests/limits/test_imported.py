"""What results say that nobody read evidence beside: the rate, its bound, packets, CPU."""

from __future__ import annotations

import pytest

from netlimits.limits.figures import RunFigures
from netlimits.limits.imported import known

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


def test_nothing_is_said_of_nothing():
    assert of() == ""
    assert known([]) == ""
