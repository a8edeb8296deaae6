"""Every format that people have, on real output: each value under its name, or none at all."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pairs
import pytest

from netlimits.errors import DataError
from netlimits.importers import read
from netlimits.importers.base import Given, ImportedRun
from netlimits.importers.netperf.columns import (
    Unfit,
    column_header,
    csv_header,
    csv_row,
    spaced_row,
)
from netlimits.importers.netperf.headers import CSV_NAMES, HEADERS
from netlimits.importers.streams import Line, flow

CAPTURES = Path(__file__).parents[1] / "captures" / "imports"
NETPERF = Path(__file__).parents[1] / "captures" / "netperf"
REPORT = (
    "local_send_size,local_send_throughput,remote_recv_throughput,local_send_calls,"
    "remote_recv_calls,local_cpu_util,local_cpu_peak_util,local_sd,remote_cpu_util,"
    "remote_cpu_peak_util,remote_sd,sd_units"
)


def runs(name: str, given: Given | None = None) -> list[ImportedRun]:
    path = CAPTURES / name
    return read(name, path.read_bytes(), given)[1]


def text_runs(text: str, given: Given | None = None) -> list[ImportedRun]:
    return read("x.txt", text.encode(), given)[1]


def lines(name: str) -> list[str]:
    return (CAPTURES / name).read_text().splitlines()


@pytest.mark.parametrize("name", pairs.names("imports"))
def test_each_capture_gives_what_its_pair_expects(name: str):
    pairs.check("imports", name)


# -- the published percentile script --------------------------------------------------------


def test_the_published_scripts_file_comes_in_with_each_value_under_its_name():
    rows = [line for line in lines("percentile-script.csv") if line.startswith(("UDP", "TCP"))]
    imports = runs("percentile-script.csv")
    assert len(imports) == len(rows) == 13
    for run, row in zip(imports, rows, strict=True):
        fields = [field.strip() for field in row.split(",")]
        # the script's OUTPUT: the fields 5 and 7 are the selectors that netperf does not know
        assert run.status == "ok"
        assert run.repaired
        assert run.values["protocol"] == fields[0].lower()
        assert run.values["brand"] == fields[1].strip('"')
        assert run.values["send_size"] == int(fields[2])
        assert run.values.get("mss", -1) == int(fields[3])
        assert run.figures["local_send_throughput_mbps"] == float(fields[4])
        assert fields[5] == fields[7] == ""
        assert run.figures["local_send_calls"] == int(fields[6])
        assert run.figures["netperf_local_cpu_pct"] == float(fields[8])
        assert run.figures["netperf_local_cpu_peak_pct"] == float(fields[9])
        assert run.figures["netperf_local_sd_us_per_kib"] == float(fields[10])
        assert run.figures["netperf_remote_cpu_pct"] == float(fields[11])
        assert run.figures["netperf_remote_cpu_peak_pct"] == float(fields[12])
        assert run.figures["netperf_remote_sd_us_per_kib"] == float(fields[13])
        # what arrived was not measured, and what was sent is not called throughput
        assert "throughput_mbps" not in run.figures


def test_the_scripts_own_list_reads_its_rows_without_a_header():
    whole = runs("percentile-script.csv")
    output = (
        "protocol,result_brand,local_send_size,transport_mss,local_send_throughput,"
        "remote_rcv_throughput,local_send_calls,remote_rcv_calls,local_cpu_util,"
        "local_cpu_peak_util,local_sd,remote_cpu_util,remote_cpu_peak_util,remote_sd,sd_units"
    )
    rows = "\n".join(lines("percentile-script.csv")[2:]) + "\n"
    imports = text_runs(rows, Given(tuple(output.upper().split(","))))
    assert [run.figures for run in imports] == [run.figures for run in whole]
    assert not any(run.repaired for run in imports)


# -- -o -------------------------------------------------------------------------------------


def test_every_selectors_header_is_read_back():
    assert len(HEADERS) == 173
    header, row = lines("all.csv")[1:]
    names = csv_header(header)
    assert names is not None
    assert sorted(n for n in names if n) == sorted(
        n for n in HEADERS if "REMOTE_SECURITY" not in n or n.endswith("SPECIFIC")
    )
    assert [name for name, of in CSV_NAMES.items() if len(of) > 1] == [
        "Remote OS Security Type",
        "Remote OS Security Enabled",
    ]
    assert csv_row(names, row)[0]["THROUGHPUT"] == row.split(",")[4]


def test_repeated_headers_and_rows_alone_say_the_same():
    repeated = runs("repeated-headers.csv")
    assert [run.values["send_size"] for run in repeated] == [1024, 8192]
    assert {run.values["test"] for run in repeated} == {"UDP_STREAM"}
    alone = runs("no-header.csv", Given(tuple(REPORT.upper().split(","))))
    assert [run.values["send_size"] for run in alone] == [1024, 8192]
    fields = lines("no-header.csv")[0].split(",")
    assert alone[0].figures["remote_recv_throughput_mbps"] == float(fields[2])


def test_what_arrived_is_the_throughput_where_netperf_was_not_asked_for_it():
    for run in runs("repeated-headers.csv"):
        assert run.figures["throughput_mbps"] == run.figures["remote_recv_throughput_mbps"]


def test_rows_without_a_header_are_refused_with_what_to_do():
    with pytest.raises(DataError, match=r"^no-header.csv:1: a row without its header .*--columns"):
        runs("no-header.csv")


def test_unknown_selectors_leave_empty_fields_that_are_left_out():
    own, middle, end, script, empties = runs("shifted.csv")
    assert not own.repaired
    for run in (middle, end, script, empties):
        assert run.repaired
        assert run.status == "ok"
    assert 0.9 < middle.figures["elapsed_s"] < 1.2
    assert 0.9 < end.figures["elapsed_s"] < 1.2
    assert "brand" not in script.values  # an empty tag is no unknown selector
    assert script.values["send_size"] == 1024
    assert script.figures["netperf_local_cpu_pct"] == 100
    assert empties.values["protocol"] == "udp"
    assert empties.figures["command_line"].startswith("netperf -H")


@pytest.mark.parametrize(
    ("header", "row", "why"),
    [
        ("Throughput,Elapsed Time (sec)", "8627.61", "1 fields under a header of 2"),
        ("Throughput,Elapsed Time (sec)", "8627.61,1.00,3", "of which 0 empty"),
        ("Throughput,Elapsed Time (sec)", ",8627.61", "does not fit its header"),
        ("Throughput,Throughput Units", "8627.61,1.00", "THROUGHPUT_UNITS would be '1.00'"),
        ("Throughput,Protocol", "TCP,8627.61", "THROUGHPUT would be 'TCP'"),
        ("Result Tag,Throughput", "on,8627.61", "RESULT_BRAND would be 'on'"),
        ("Result Tag,Throughput", '"a"b",8627.61', "quote in the middle of a field"),
        # the file's name may be any text, so nothing says which of the two was unknown
        ("Local Fill File,Remote Fill File", ",x,", "more than one way"),
        ("Throughput,Throughput", "1.00,2.00", "occurs twice with different values"),
    ],
)
def test_a_row_that_does_not_surely_fit_is_refused(header: str, row: str, why: str):
    names = csv_header(header)
    assert names is not None
    with pytest.raises(Unfit, match=why):
        csv_row(names, row)


def test_two_headers_without_a_banner_between_are_refused():
    banner = "OMNI Send TEST from a to b\n"
    text = "Throughput\n1.00\nElapsed Time (sec)\n2.00\n"
    with pytest.raises(DataError, match=r":4: a second header without a banner"):
        text_runs(banner + text)
    with pytest.raises(DataError, match=r":3: a second header without a banner"):
        text_runs(text)


# -- -O -------------------------------------------------------------------------------------


def test_the_reports_columns_are_read_row_by_row():
    imports = runs("report-columns.txt")
    rows = [line.split() for line in lines("report-columns.txt")[5:]]
    assert [run.values["send_size"] for run in imports] == [1024, 8192, 1024]
    for run, row in zip(imports, rows, strict=True):
        assert run.figures["throughput_mbps"] == float(row[2])
        assert run.figures["netperf_remote_sd_us_per_kib"] == float(row[10])


def test_omnis_own_columns_and_unknown_selectors():
    send, rr, recv, script, bogus, units_first = runs("omni-columns.txt")
    assert send.values["send_size"] == 16384
    assert rr.figures["transaction_rate_tps"] > 0
    assert recv.values["direction"] == "recv"
    assert recv.values["send_size"] == 16384
    assert script.values["brand"] == "on"
    assert set(bogus.figures) == {"throughput_mbps", "elapsed_s"}
    assert units_first.figures["local_cork"] == 0


def test_several_tables_of_one_run_are_one_run():
    (run,) = runs("all-columns.txt")
    assert len(run.figures) > 90
    assert run.values["send_size"] == 16384
    assert run.figures["netperf_local_sd_us_per_kib"] > 0
    (two,) = runs("blocks-columns.txt")
    assert set(two.figures) == {"throughput_mbps", "elapsed_s"}


def test_rows_after_a_run_of_several_tables_are_refused():
    text = (CAPTURES / "blocks-columns.txt").read_text()
    with pytest.raises(DataError, match=r":13: a row without its header"):
        text_runs(text + "1.01    2086.35\n")  # the first table's or the second's?


def test_the_tables_of_one_run_must_not_contradict_each_other():
    text = (CAPTURES / "blocks-columns.txt").read_text()
    rate = lines("blocks-columns.txt")[5].strip()
    changed = text.replace(f"{rate}    \n\n", "1.00    \n\n")
    assert changed != text
    with pytest.raises(DataError, match=r":12: THROUGHPUT was '1.00' just before"):
        text_runs(changed)


def test_a_value_that_is_missing_in_columns_is_found_by_its_place_or_refused():
    header = ("Result Throughput", "Tag              ", "", "")
    columns = column_header(header)
    assert columns == (("RESULT_BRAND", "THROUGHPUT"), (0, 7))
    names, starts = columns
    assert spaced_row(names, "       98.5", starts)["THROUGHPUT"] == "98.5"
    assert spaced_row(names, "98.5") == {"RESULT_BRAND": "", "THROUGHPUT": "98.5"}
    with pytest.raises(Unfit, match="values under a header"):
        spaced_row(("THROUGHPUT", "ELAPSED_TIME"), "98.5")


def test_a_neper_run_that_measured_nothing_is_not_called_interrupted():
    neper = "total_run_time=10\nmaxevents=1000\nnum_flows=1\n"
    for text, reason in (
        ("client=1\nrequest_size=1\nthroughput=0\n", "no transaction was done"),
        ("client=1\nremote_throughput=0\n", "no data arrived"),
        ("client=0\nthroughput_Mbps=0.00\n", "no data arrived"),
    ):
        _, (run,) = read("neper.txt", (neper + text).encode())
        assert (run.status, run.reason.partition(";")[0]) == (
            "failed",
            f"throughput is 0: {reason}",
        )


def test_a_rate_of_zero_is_named_for_what_was_measured():
    benchmark = {"driver": "netperf", "throughput": 0, "tputMetric": "OP/s"}
    for profile, reason in (
        ("TCP_RR", "no transaction was done"),
        ("TCP_STREAM", "no data arrived"),
    ):
        _, (run,) = read("k8s.json", json.dumps({**benchmark, "profile": profile}).encode())
        assert run.reason.startswith(f"throughput is 0: {reason}")


def test_a_count_of_zero_is_a_count_unless_data_arrived():
    sent, got = Line("1", 0.0, 10.0, 0.0), Line("1", 0.0, 10.0, 1e6)
    assert flow("local", "remote", sent, None).sent == 0.0
    assert flow("local", "remote", sent, sent).sent == 0.0
    assert flow("remote", "local", sent, got).sent is None


# -- -k -------------------------------------------------------------------------------------


def test_pairs_of_several_runs_are_told_apart():
    tcp, udp, rr, interim = runs("several-k.txt")
    assert (tcp.values["protocol"], udp.values["protocol"]) == ("tcp", "udp")
    assert udp.values["brand"] == "tso off, gro on"
    assert udp.values["send_size"] == 65507
    assert rr.values["test"] == "TCP_RR"
    assert rr.figures["latency_mean_us"] > 0
    assert interim.figures["transaction_rate_tps"] > 0  # the banner of the run before holds
    assert all(
        set(row) == {"ending_s", "interval_s", "transaction_rate_tps"} for row in interim.interim
    )
    assert interim.started == pytest.approx(
        interim.interim[0]["ending_s"] - interim.interim[0]["interval_s"]
    )


def test_a_selector_asked_for_twice_makes_no_second_run():
    imports = runs("twice-k.txt")
    assert len(imports) == 3
    assert all(set(run.figures) >= {"throughput_mbps", "elapsed_s"} for run in imports)


def test_runs_that_measured_the_same_nothing_stay_two():
    text = (NETPERF / "netperf270-blackholed-rc0.txt").read_text()
    imports = text_runs(text + text)
    assert [run.status for run in imports] == ["failed", "failed"]
    assert "is the data path open" in imports[0].reason


def test_every_unit_becomes_mbit_per_second():
    imports = runs("units-k.txt")
    pairs = dict.fromkeys(range(6))
    printed = [
        line.split("=")[1] for line in lines("units-k.txt") if line.startswith("THROUGHPUT=")
    ]
    factors = [1e3, 1e-3, 8 * 2**30 / 1e6, 8 * 2**20 / 1e6, 8 * 2**10 / 1e6, 1]
    for number, run in zip(pairs, imports, strict=True):
        assert run.figures["throughput_mbps"] == pytest.approx(
            float(printed[number]) * factors[number]
        )
        assert run.figures["local_send_throughput_mbps"] == pytest.approx(
            run.figures["throughput_mbps"], rel=0.01
        )


def test_every_selector_of_k_comes_in():
    for name in ("netperf270-k-all-send.txt", "netperf270-k-all-rr.txt"):
        (run,) = read(name, (NETPERF / name).read_bytes())[1]
        assert run.status == "ok"
        assert len(run.figures) > 100


def test_an_unknown_unit_is_asked_for():
    with pytest.raises(DataError, match="--given THROUGHPUT_UNITS"):
        text_runs("THROUGHPUT=9.5\n")
    given = Given(selectors={"THROUGHPUT_UNITS": "10^9bits/s"})
    (run,) = text_runs("THROUGHPUT=9.5\n", given)
    assert run.figures["throughput_mbps"] == 9500


def test_cpu_that_was_not_asked_for_is_missing_and_no_failure():
    (run,) = text_runs(
        "THROUGHPUT=9.5\nTHROUGHPUT_UNITS=10^6bits/s\nLOCAL_SD=-1.000\nREMOTE_CPU_UTIL=-1.00\n"
    )
    assert run.status == "ok"
    assert set(run.figures) == {"throughput_mbps"}


def test_cpu_of_an_unknown_method_was_not_measured_whatever_stands_there():
    (run,) = text_runs(
        "THROUGHPUT=9.5\nTHROUGHPUT_UNITS=10^6bits/s\nLOCAL_CPU_UTIL=0.00\nLOCAL_CPU_METHOD=U\n"
        "LOCAL_CPU_PERCENT_USER=0.00\nREMOTE_CPU_UTIL=12.50\nREMOTE_CPU_METHOD=S\n"
    )
    assert run.figures["netperf_remote_cpu_pct"] == 12.5
    assert not [name for name in run.figures if re.match("netperf_local_cpu_.*pct", name)]


@pytest.mark.parametrize("figure", ["9" * 400, "9" * 30, "1e308", "nan", "-inf"])
def test_a_figure_that_cannot_be_fails_its_run(figure: str):
    (run,) = text_runs(f"ELAPSED_TIME=1.00\nTHROUGHPUT={figure}\nTHROUGHPUT_UNITS=10^9bits/s\n")
    assert run.status == "failed"
    assert "THROUGHPUT" in run.reason.split(figure[:8])[0]


def test_a_shell_variable_is_no_selector():
    with pytest.raises(DataError, match=r":2: HOSTNAME is not an output selector"):
        text_runs("THROUGHPUT=9.5\nHOSTNAME=x\n")


# -- classic tables -------------------------------------------------------------------------


def test_a_run_without_figures_is_a_failed_one():
    banner = lines("classic-tcp-stream.txt")[0]
    imports = text_runs(f"{banner}\n{banner}\n")
    assert [run.status for run in imports] == ["failed", "failed"]
    udp = "\n".join(lines("classic-udp-stream.txt")[:6]) + "\n"
    (half,) = text_runs(udp)
    assert half.status == "failed"


def test_a_last_line_without_its_end_is_complete_if_it_can_be_read():
    whole = (CAPTURES / "percentile-script.csv").read_bytes()
    assert read("x", whole[:-1])[1] == read("x", whole)[1]
    imports = read("x", whole[:-30])[1]
    assert [run.status for run in imports] == ["ok"] * 12 + ["invalid"]
    assert imports[-1].reason == "the last line is cut off"


@pytest.mark.parametrize(
    ("figure", "why"),
    [
        ("LOCAL_CPU_UTIL=-9659.12", "LOCAL_CPU_UTIL is -9659.12 %, less than 0"),
        ("REMOTE_CPU_PEAK_UTIL=101.20", "more than the whole machine's 100 %"),
        ("REMOTE_SD=-3111.004", "REMOTE_SD is -3111.004, less than 0"),
    ],
)
def test_cpu_that_cannot_be_makes_a_run_invalid(figure: str, why: str):
    (run,) = text_runs(f"THROUGHPUT=9.5\nTHROUGHPUT_UNITS=10^6bits/s\n{figure}\n")
    assert run.status == "invalid"
    assert why in run.reason


@pytest.mark.parametrize(
    "text",
    [
        "name: udp\nthroughput: 94.1\n",
        "bash: sockperf: command not found\n",
        "throughput,cpu\n94.1,5\n",
        "A: 1\n",
    ],
)
def test_what_no_tool_printed_is_refused_and_no_failed_run(text: str):
    with pytest.raises(DataError, match=r"x\.txt:1: is not output of a tool"):
        text_runs(text)


def test_an_error_alone_is_a_failed_run_of_the_tool_that_printed_it():
    (run,) = text_runs("iperf3: error - unable to connect to server: Connection refused\n")
    assert (run.status, run.values["tool"]) == ("failed", "iperf3")
    assert run.reason == "unable to connect to server: Connection refused"
    (run,) = text_runs("netperf: remote error 28\n")
    assert (run.status, run.values["tool"]) == ("failed", "netperf")


def test_a_transcript_is_read_between_its_prompts():
    table = (CAPTURES / "classic-tcp-stream.txt").read_text()
    banner = table.splitlines()[0]
    alone = text_runs(table)
    text = f"user@vm1:~$ netperf -H 198.19.200.2\n{table}user@vm1:~$ exit\nlogout\n"
    assert [run.figures for run in text_runs(text)] == [run.figures for run in alone]
    assert banner.startswith("MIGRATED")


@pytest.mark.parametrize(
    "text", ["{}", '{"a": 1}', "[1]", "{" * 5000, '{"start": NaN}', '{"a": ' + "9" * 6000 + "}"]
)
def test_other_json_is_refused(text: str):
    with pytest.raises(DataError):
        text_runs(text)


# -- what is no text ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "is empty"),
        (b" \n\n", "is empty"),
        (b"THROUGHPUT=1\nab\x00c\n", r":2: contains a control code \(0x00\)"),
        (b"\x1bTHROUGHPUT=1\n", r":1: contains a control code \(0x1b\)"),
        (b"a\n\xff\xfe\n", r":2: is not text"),
        (b"hello\n", r":1: is not output of a tool that netlimits reads"),
        (b"Throughput\n" + b"1," * 40000 + b"\n", "is longer than"),
    ],
)
def test_other_bytes_are_refused_by_line(data: bytes, why: str):
    with pytest.raises(DataError, match=why):
        read("x", data)


def test_a_file_beyond_the_limit_is_refused():
    with pytest.raises(DataError, match="is larger than"):
        read("x", b"THROUGHPUT=1.00\n", Given(limit=10))


def test_windows_text_is_text():
    text = (CAPTURES / "percentile-script.csv").read_text().replace("\n", "\r\n")
    imports = runs("percentile-script.csv")
    for encoding in ("utf-8-sig", "utf-16"):
        assert [r.figures for r in read("x", text.encode(encoding))[1]] == [
            r.figures for r in imports
        ]


# -- netperf before 2.5 ---------------------------------------------------------------------


def test_a_table_of_udp_is_one_whatever_its_banner_says():
    text = "\n".join(lines("classic-udp-unidirectional.txt")[:14]) + "\n"
    run, lost = text_runs(text.replace("UDP UNIDIRECTIONAL SEND", "SOME OTHER"))
    assert run.values["protocol"] == "udp"
    assert run.values["direction"] == "send"
    assert run.figures["throughput_mbps"] == 858.99
    assert lost.status == "failed"


def test_a_header_that_a_terminal_broke_is_joined():
    text = (CAPTURES / "percentile-script.csv").read_text()
    whole = read("x", text.encode())[1]
    header = next(line for line in text.split("\n") if line.count(",") > 3)
    words = header.split(" ")
    broken = text.replace(header, "\n".join((" ".join(words[:9]), " ".join(words[9:]))), 1)
    assert broken != text
    assert [r.figures for r in read("x", broken.encode())[1]] == [r.figures for r in whole]


def test_a_late_alarm_is_no_failed_run():
    text = (CAPTURES / "classic-tcp-stream.txt").read_text()
    banner, rest = text.split("\n", 1)
    late = f"{banner}\ncatcher: timer popped with times_up != 0\n{rest}"
    assert {run.status for run in read("x", late.encode())[1]} == {"ok"}
