"""iperf3's JSON: documents, streams of events, and the server's own."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from netlimits.errors import DataError
from netlimits.importers import read
from netlimits.importers.base import ImportedRun

CAPTURES = Path(__file__).parents[1] / "captures" / "imports"


def runs(name: str) -> list[ImportedRun]:
    return read(name, (CAPTURES / name).read_bytes())[1]


def text_runs(text: str) -> list[ImportedRun]:
    return read("x.txt", text.encode())[1]


def lines(name: str) -> list[str]:
    return (CAPTURES / name).read_text().splitlines()


def test_a_client_says_what_arrived_and_its_process_cpu():
    document = json.loads((CAPTURES / "iperf3-udpP2.txt").read_text())
    (run,) = runs("iperf3-udpP2.txt")
    received = document["end"]["sum_received"]
    assert run.figures["throughput_mbps"] == pytest.approx(received["bits_per_second"] / 1e6)
    assert run.figures["loss_pct"] == pytest.approx(received["lost_percent"])
    cpu = document["end"]["cpu_utilization_percent"]
    assert run.figures["iperf3_local_process_cpu_pct"] == cpu["host_total"]
    assert not any(name in run.figures for name in ("local_cpu_pct", "iperf3_local_cpu_pct"))
    assert run.values["streams"] == 2
    assert run.values["send_size"] == 1200


def test_omitted_seconds_and_the_mss_in_use():
    (run,) = runs("iperf3-omit.txt")
    assert run.values["mss"] == 900  # asked for
    assert run.figures["transport_mss_bytes"] == 888  # timestamps take 12
    assert run.values["congestion_control"] == "cubic"
    document = json.loads((CAPTURES / "iperf3-omit.txt").read_text())
    kept = [interval for interval in document["intervals"] if not interval["sum"]["omitted"]]
    assert len(run.interim) == len(kept) < len(document["intervals"])


def test_a_server_knows_its_own_side_only():
    imports = runs("iperf3-server.txt")
    assert len(imports) == 8  # the last document says that the server was stopped
    text, at, documents = (CAPTURES / "iperf3-server.txt").read_text(), 0, []
    while text[at:].strip():
        at += len(text[at:]) - len(text[at:].lstrip())
        document, at = json.JSONDecoder().raw_decode(text, at)
        documents.append(document)
    clients = [documents[n]["end"]["cpu_utilization_percent"] for n in (0, 1)]
    tcp = json.loads((CAPTURES / "iperf3-tcp.txt").read_text())
    # what the second document calls its client's CPU is that of the client before
    assert clients[1]["remote_total"] == tcp["end"]["cpu_utilization_percent"]["host_total"]
    for run, document in zip(imports, documents, strict=False):
        assert run.values["reported_by"] == "server"
        assert "iperf3_local_process_cpu_pct" not in run.figures
        assert (
            run.figures["iperf3_remote_process_cpu_pct"]
            == (document["end"]["cpu_utilization_percent"]["host_total"])
        )
        sent_only = run.values["direction"] != "send"
        assert ("throughput_mbps" in run.figures) != sent_only


@pytest.mark.parametrize("path", sorted(CAPTURES.glob("error-*.txt")), ids=lambda p: p.name)
def test_an_error_is_a_failed_run_with_its_reason(path: Path):
    (run,) = read(path.name, path.read_bytes())[1]
    assert run.status == "failed"
    assert run.reason == json.loads(path.read_text())["error"]


def test_documents_one_after_another_count_their_lines():
    text = (CAPTURES / "iperf3-tcp.txt").read_text()
    imports = text_runs(text + text)
    assert [run.line for run in imports] == [1, text.count("\n") + 1]
    with pytest.raises(
        DataError, match=rf"^x.txt:{2 * text.count(chr(10)) - 1}: is not a complete JSON"
    ):
        text_runs(text + text[:-3])


def test_iperf3_s_stream_is_read_as_its_document_is():
    (run,) = runs("iperf3-stream-full.txt")
    text = (CAPTURES / "iperf3-stream-full.txt").read_text()
    events = "".join(line for line in text.splitlines(keepends=True) if line.startswith('{"event"'))
    assert text_runs(events)[0].figures == run.figures
    assert text_runs(text.removeprefix(events))[0].figures == run.figures
    assert run.figures["throughput_mbps"] == pytest.approx(15114.286581)
    assert len(run.interim) == 2


def test_iperf3_s_streams_that_failed_or_broke_off():
    (refused,) = runs("iperf3-stream-refused.txt")
    assert refused.status == "failed"
    assert "Connection refused" in refused.reason
    first = lines("iperf3-stream-tcp.txt")[:2]
    broken, whole = text_runs("\n".join([*first, *lines("iperf3-stream-udp.txt")]) + "\n")
    assert "the run was interrupted" in broken.reason
    assert (broken.status, whole.status) == ("failed", "ok")
    served = runs("iperf3-stream-server.txt")
    assert [run.status for run in served] == ["ok"] * 5 + ["failed"], "one whose client gave up"
    assert {run.values["reported_by"] for run in served} == {"server"}


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ('{"event": "start", "data": 1}', "the event start has no data"),
        ('{"event": "other", "data": {}}', "not an event of iperf3"),
        ('{"event": ["start"], "data": {}}', "not an event of iperf3"),
        ('{"event": "error", "data": {}}', "the event error has no data"),
    ],
)
def test_what_is_no_stream_of_iperf3_s_is_refused_with_its_line(line, why):
    with pytest.raises(DataError, match=rf"x\.txt:2: .*{why}"):
        text_runs("\n" + line + "\n")
