"""JSON anywhere in a text."""

from __future__ import annotations

import json
import time
from contextlib import suppress
from pathlib import Path

import pytest

from netlimits.errors import DataError
from netlimits.importers import documents, read
from netlimits.importers.base import Given

TEXT = (Path(__file__).parents[1] / "captures" / "imports" / "iperf3-tcp.txt").read_text()
DOCUMENT = json.loads(TEXT)


def figures(text: str):
    return [run.figures for run in read("x", text.encode())[1]]


ALONE = figures(TEXT)


@pytest.mark.parametrize(
    "text",
    [
        f"[{TEXT},{TEXT}]",
        json.dumps([[DOCUMENT], [DOCUMENT]]),
        f"starting {{client}} [1]\n{TEXT}\nINFO: next\n{TEXT}\ndone {{\n",
        json.dumps({"host": "a", "runs": {"1": DOCUMENT, "2": {"iperf3": DOCUMENT}}}),
        json.dumps({"stdout": TEXT, "stderr": "", "again": json.dumps(DOCUMENT)}),
        f"2026 INFO result={json.dumps(DOCUMENT)}\n2026 INFO result={json.dumps(DOCUMENT)} ok\n",
    ],
)
def test_documents_are_found_wherever_they_stand(text: str):
    assert figures(text) == 2 * ALONE


def test_a_document_that_breaks_off_is_no_log_line():
    for cut in (TEXT[:-3], f"{TEXT}{TEXT[: len(TEXT) // 2]}", json.dumps(DOCUMENT)[:-30]):
        with pytest.raises(DataError, match="is not a complete JSON document"):
            figures(cut)


def test_other_json_is_refused_with_what_it_is():
    with pytest.raises(DataError, match=r"x:2: is JSON, but not of a tool .*; its keys: a, b$"):
        figures('\n{"a": 1, "b": {"c": [2]}}\n')


@pytest.mark.parametrize("line", ['{"a":1,', '["', "[[[[", '[{"a"', "{}", '{"' * 50])
def test_what_only_resembles_json_takes_no_long_time(line: str):
    began = time.process_time()
    with suppress(documents.BrokenJson):
        documents.find(f"{line}\n" * 20_000)
    assert time.process_time() - began < 20


def test_arrays_of_texts_are_the_outputs_that_a_script_kept():
    run = "TCP STREAM TEST from 0.0.0.0 () port 0 AF_INET to b () port 1 AF_INET\nThroughput\n"
    kept = [[[f"{run}94.1\n", f"{run}47.2\n"], ["", ""], [0, 0]], 1508187614.9]
    given = Given(selectors={"THROUGHPUT_UNITS": "10^6bits/s"})
    runs = read("x", json.dumps(kept).encode(), given)[1]
    assert [run.figures["throughput_mbps"] for run in runs] == [94.1, 47.2]
    with pytest.raises(DataError, match="not output of a tool"):
        read("x", json.dumps([run, [[[[[run]]]]]])[:-1].encode())
