"""The captures were made between two network namespaces, with irtt 0.9.0."""

from __future__ import annotations

from pathlib import Path

import pairs
import pytest

from netlimits.errors import InputError, OutputError, ToolFailure
from netlimits.model import Command, Completed, ServerAddress
from netlimits.tools import Features
from netlimits.tools.irtt import Irtt, _interim, _RoundTrip

CAPTURES = Path(__file__).parents[1] / "captures" / "irtt"
irtt = Irtt()
BUILD = Features("0.9.0")


@pytest.mark.parametrize("name", sorted(path.stem for path in CAPTURES.glob("*.txt")))
def test_a_capture_gives_its_figures(name: str):
    pairs.check("irtt", name)


def test_the_dscp_is_the_upper_six_bits_of_the_byte_that_irtt_takes():
    client = irtt.client({"dscp": 46, "seconds": 3}, BUILD, ServerAddress("2001:db8::2", 2112))
    assert "--dscp=184" in client.argv
    assert client.argv[-1] == "[2001:db8::2]:2112"
    assert client.argv[client.argv.index("-i") + 1] == "10000000ns"


def test_lost_packets_have_no_latency_but_count():
    good = pairs.completed("irtt", "good")
    lost = good.stdout.replace('"rtt": ', '"lost": ', 1).replace(
        '"packet_loss_percent": 0', '"packet_loss_percent": 5'
    )
    figures = irtt.read(
        Completed("sender", good.command, 0, lost, "", 1.0), {"seconds": 0.2, "dscp": 46}
    ).figures
    assert figures["loss_pct"] == 5


def test_packets_that_were_not_sent_are_no_measurement():
    good = pairs.completed("irtt", "good")
    few = good.stdout.replace('"packets_sent": 20', '"packets_sent": 10')
    with pytest.raises(ToolFailure, match="irtt sent 10 packets where an interval"):
        irtt.read(Completed("a", good.command, 0, few, "", 1.0), {"seconds": 0.2, "dscp": 46})


@pytest.mark.long
def test_what_cannot_be_measured_is_refused():
    with pytest.raises(InputError, match=r"irtt\.interval: makes 100,000 packets"):
        irtt.check({"seconds": 1, "interval": 0.00001}, BUILD)
    with pytest.raises(OutputError, match="no whole JSON"):
        irtt.read(Completed("a", Command(("irtt",)), 0, "{", "", 1.0), {})
    missing = Completed("a", Command(("irtt",)), 127, "", "irtt: not found", 0.1)
    with pytest.raises(ToolFailure, match="install it"):
        irtt.features((missing,))


def test_an_interval_without_an_answer_has_its_loss():
    sent = [(0.01 * n, None if 5 <= n < 10 else 300.0) for n in range(20)]
    trips = [_RoundTrip(at, rtt, None, None) for at, rtt in sent]
    rows = list(_interim(trips, 0.05, 0.01))
    assert [row["loss_pct"] for row in rows] == [0, 100, 0, 0]
    assert [row.get("latency_p50_us") for row in rows] == [300, None, 300, 300]
