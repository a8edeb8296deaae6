"""Rows of the Turin scripts: aggregates of several runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from netlimits.errors import DataError
from netlimits.importers import read
from netlimits.importers.base import ImportedRun

UDP = Path(__file__).parents[1] / "captures" / "imports" / "classic-udp-stream.txt"
ROW = UDP.read_text().splitlines()[16] + "\n"
IPERF3_TXT = "1 0.0061 0.0065 0.0071 98 98.7 99\n3 0.0201 0.0212 0.022 97 98 99\n"
NTTCP_TXT = (
    "1 14000000 10.5 11.25 12.0 99.0 99.0 99.0\n100000 30000 2340.1 2351.2 2353.0 8.0 9.5 11.0\n"
)


def text_runs(text: str) -> list[ImportedRun]:
    return read("x.txt", text.encode())[1]


def test_turins_rows_are_aggregates_and_say_so():
    first, second = text_runs(IPERF3_TXT)
    assert first.values == {"tool": "iperf3", "protocol": "tcp", "send_size": 1}
    assert first.figures["throughput_mbps"] == pytest.approx(6.5)
    assert first.figures["throughput_min_mbps"] == pytest.approx(6.1)
    assert first.figures["throughput_max_mbps"] == pytest.approx(7.1)
    assert first.figures["aggregated_runs"] == 10
    assert first.figures["local_process_cpu_max_pct"] == 99
    assert second.values["send_size"] == 3
    _, last = text_runs(NTTCP_TXT)
    assert last.values["count"] == 30000
    assert last.figures["throughput_mbps"] == 2351.2
    assert last.figures["aggregated_runs"] == 20


@pytest.mark.parametrize(
    "text",
    [
        IPERF3_TXT.replace("0.0065", "0.0165"),  # a mean above the greatest
        IPERF3_TXT.replace("\n3 ", "\n1 "),  # a length again
        IPERF3_TXT.splitlines()[0] + "\n",  # one line alone may be any table's row
        IPERF3_TXT + "5 1 2 3\n",
        ROW * 2,
    ],
)
def test_numbers_that_are_no_turin_file_are_not_taken_for_one(text: str):
    with pytest.raises(DataError, match="without its header"):
        text_runs(text)


def test_a_failed_run_within_an_aggregate_fails_it():
    first, _ = text_runs(IPERF3_TXT.replace("0.0061", "0.0"))
    assert first.status == "failed"
