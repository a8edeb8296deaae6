"""qperf 0.4.11, on outputs of real runs over loopback."""

from __future__ import annotations

import pairs
import pytest

from netlimits.errors import ToolFailure
from netlimits.model import Command, Completed, ServerAddress
from netlimits.tools import Features, tool

QPERF = tool("qperf")


@pytest.mark.parametrize("name", pairs.names("qperf"))
def test_each_capture_gives_what_its_pair_expects(name):
    pairs.check("qperf", name)


def test_the_version():
    (probe,) = QPERF.probes()
    printed = pairs.text("qperf/builds", "version-0411")
    assert QPERF.features((Completed("sender", probe, 0, printed, "", 0.1),)) == Features("0.4.11")
    with pytest.raises(ToolFailure, match="install the package qperf"):
        QPERF.features((Completed("sender", probe, 127, "", "not found", 0.1),))


def test_the_commands():
    ends = ServerAddress("192.0.2.2", 19765)
    client = QPERF.client({"seconds": 2, "send_size": 1024}, Features("0.4.11"), ends)
    words = "qperf -vv -uu -lp 19765 -t 2 -m 1024 192.0.2.2 tcp_bw"
    assert client == Command(tuple(words.split()), deadline=17)
    assert QPERF.server({}, ends).argv == ("qperf", "-lp", "19765")
