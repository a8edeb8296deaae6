"""The published files: complete, as described, consistent, and the seeds' own digits."""

import json
import math
import os
import re
import shutil
import subprocess
import sys
import zipfile
from decimal import Decimal
from pathlib import Path

import pytest

from netlimits.errors import DataError
from netlimits.metrics import METRICS
from netlimits.reproduce import published

ROOT = Path(__file__).parents[2]
SEEDS = ROOT.parent / "shared" / "seeds"

ROWS = {
    "udp-send-size": 20,
    "tcp-mss": 20,
    "packets-per-second": 14,
    "constant-bitrate": 20,
    "summary": 6,
    "summary-improvement": 9,
    "ack-overhead": 63,
    "turin-lengths": 33,
    "statements": 126,
}
LINES = {"rr-trace-deferred-acks": 68, "rr-trace-ack-every-other": 36}

SUMS = {
    "udp-send-size": {
        "send_size": "92160",
        "local_send_throughput_mbps": "300155.95",
        "remote_recv_throughput_mbps": "285556.22",
        "local_send_calls": "102718257",
        "remote_recv_calls": "100490451",
        "local_cpu_pct": "41.03",
        "local_cpu_peak_pct": "1809.80",
        "local_sd_us_per_kib": "18.596",
        "remote_cpu_pct": "67.93",
        "remote_cpu_peak_pct": "1742.93",
        "remote_sd_us_per_kib": "31.921",
    },
    "tcp-mss": {
        "transport_mss_bytes": "70656",
        "throughput_mbps": "359615.98",
        "local_cpu_pct": "37.99",
        "local_cpu_peak_pct": "1720.63",
        "local_sd_us_per_kib": "10.776",
        "remote_cpu_pct": "23.46",
        "remote_cpu_peak_pct": "784.16",
        "remote_sd_us_per_kib": "5.658",
    },
    "packets-per-second": {
        "send_size": "16378",
        "local_send_throughput_mbps": "49676.99",
        "remote_recv_throughput_mbps": "49404.46",
        "local_send_calls": "85578325",
        "remote_recv_calls": "82112008",
    },
    "constant-bitrate": {
        "send_size": "84992",
        "local_send_throughput_mbps": "20000.33",
        "remote_recv_throughput_mbps": "20000.33",
        "local_send_calls": "14801515",
        "remote_recv_calls": "14801515",
        "local_cpu_pct": "6.66",
        "local_cpu_peak_pct": "305.62",
        "local_sd_us_per_kib": "26.087",
        "remote_cpu_pct": "7.94",
        "remote_cpu_peak_pct": "255.53",
        "remote_sd_us_per_kib": "31.237",
    },
    "ack-overhead": {
        "segments_per_ack": "1056",
        "remote_rcvbuf_bytes": "8257536",
        "local_sndbuf_bytes": "16515072",
        "send_size": "2064384",
        "elapsed_s": "630.00",
        "throughput_mbps": "56861.36",
        "local_cpu_pct": "754.42",
        "local_sd_us_per_kib": "135.870",
    },
    "summary": {
        "throughput_mbps": "82909",
        "local_sd_us_per_kib": "6.05",
        "remote_sd_us_per_kib": "7.53",
    },
    "summary-improvement": {"improvement": "33.52"},
    "turin-lengths": {"send_size": "340048", "count": "89206000"},
}
"""Column sums, as exact decimals: a digit lost or two swapped in one column shows here."""

TABLES = sorted(ROWS)
NUMBER = re.compile(r"-?\d+(\.\d+)?")


@pytest.mark.parametrize("name", TABLES)
def test_rows_are_all_there(name):
    assert len(published.table(name)) == len(published.printed(name)) == ROWS[name]
    assert published.resource(name)["rows"] == ROWS[name]


@pytest.mark.parametrize("name", sorted(SUMS))
def test_column_sums(name):
    frame = published.printed(name)
    for column, total in SUMS[name].items():
        assert sum(Decimal(v) for v in frame[column] if v) == Decimal(total), column


@pytest.mark.parametrize("name", TABLES)
def test_every_value_is_what_its_schema_says(name):
    schema = published.resource(name)["schema"]
    frame = published.printed(name)
    assert list(frame.columns) == [field["name"] for field in schema["fields"]]
    parse = {"integer": int, "number": float, "string": str}
    for field in schema["fields"]:
        values = frame[field["name"]]
        limits = field.get("constraints", {})
        for value in values[values != ""]:
            parse[field["type"]](value)
            assert value in limits.get("enum", [value])
        if limits.get("required"):
            assert (values != "").all(), field["name"]
        assert field["description"], field["name"]
    assert not frame.duplicated(schema["primaryKey"]).any()


@pytest.mark.parametrize("name", TABLES)
def test_units_are_those_of_the_metrics(name):
    units = {m.column: m.unit for m in METRICS}
    for field in published.resource(name)["schema"]["fields"]:
        assert field["unit"] == units.get(field["name"], field["unit"])


def test_the_package_describes_every_file_and_no_other():
    package = json.loads((published.folder() / "datapackage.json").read_text("utf-8"))
    described = {r["path"] for r in package["resources"]}
    files = {p.name for p in published.folder().iterdir() if p.suffix in {".csv", ".txt"}}
    assert described == files
    readme = (published.folder() / "README.md").read_text("utf-8")
    for resource in package["resources"]:
        assert re.fullmatch(r"[a-z0-9-]+", resource["name"])
        assert resource["sources"]
        assert resource["notStated"]
        assert f"`{resource['path']}`" in readme
    assert package["licenses"]
    assert {chart["report"] for chart in package["notShipped"]} == {"limiters", "headers", "turin"}


@pytest.mark.parametrize("name", ["udp-send-size", "packets-per-second", "constant-bitrate"])
def test_calls_times_size_over_throughput_is_ten_seconds(name):
    frame = published.table(name)
    for calls, rate in (
        ("local_send_calls", "local_send_throughput_mbps"),
        ("remote_recv_calls", "remote_recv_throughput_mbps"),
    ):
        megabits = frame[calls] * frame["send_size"] * 8 / 1e6
        shortest, longest = megabits / (frame[rate] + 0.005), megabits / (frame[rate] - 0.005)
        assert ((shortest <= 10.0012) & (longest >= 9.9999)).all()


@pytest.mark.parametrize(
    ("name", "cpus"),
    [("udp-send-size", 48), ("tcp-mss", 48), ("constant-bitrate", 48), ("ack-overhead", 2)],
)
def test_service_demand_is_cpu_over_bytes_sent(name, cpus):
    frame = published.table(name)
    sent = frame.get("local_send_throughput_mbps", frame["throughput_mbps"])
    kib_per_s = sent * 1e6 / 8 / 1024
    for side in ("local", "remote"):
        if frame[f"{side}_cpu_pct"].isna().all():
            assert name == "ack-overhead"
            continue
        computed = frame[f"{side}_cpu_pct"] * 10000 * cpus / kib_per_s
        rounding = 0.00502 * 10000 * cpus / kib_per_s + 0.0005
        assert (abs(computed - frame[f"{side}_sd_us_per_kib"]) <= rounding).all(), side


def test_improvements_follow_from_the_rounded_means():
    means = published.table("summary").set_index(["transport", "send_size"])
    for row in published.table("summary-improvement").itertuples():
        half = 0.5 if row.metric == "throughput_mbps" else 0.005
        large, small = (means.loc[(row.transport, size), row.metric] for size in (8192, 1024))
        top, bottom = (large, small) if row.metric == "throughput_mbps" else (small, large)
        least, most = (top - half) / (bottom + half), (top + half) / (bottom - half)
        assert least - 0.005 <= row.improvement <= most + 0.005


def test_ack_table_has_both_lists_and_the_single_row():
    frame = published.table("ack-overhead")
    for tso, divisor in (("off", None), ("on", 8)):
        rows = frame[(frame.tso == tso) & (frame.tcp_tso_win_divisor.fillna(0) == (divisor or 0))]
        assert list(rows.segments_per_ack) == list(range(2, 33))
    last = frame.iloc[-1]
    assert (last.tso, last.tcp_tso_win_divisor, last.segments_per_ack) == ("on", 1, 2)


def test_throughput_is_what_arrived():
    frame = published.table("udp-send-size")
    assert (frame.throughput_mbps == frame.remote_recv_throughput_mbps).all()
    assert "throughput_mbps" not in published.printed("udp-send-size")


def test_statements_say_where_they_stand():
    frame = published.statements()
    assert frame.index.is_unique
    assert (frame.index.str.split("-").str[0] == frame.report).all()
    assert frame["where"].str.len().min() > 5
    printed = published.printed("statements")
    for value, precision in zip(printed.value, printed.precision, strict=True):
        assert len(value.partition(".")[2]) == int(precision)
    assert frame.value["turin-variance-nttcp"] == 24.08
    assert math.isclose(frame.value["headers-ratio-1500"], 100 * 1448 / 1538, abs_tol=0.5)


def test_stated_percentages_come_out_of_the_table():
    frame = published.table("ack-overhead")
    demand = frame[frame.tcp_tso_win_divisor.fillna(8) == 8].set_index(["tso", "segments_per_ack"])
    demand = demand.local_sd_us_per_kib
    stated = published.statements().value
    for tso, segments in (("off", 8), ("off", 16), ("on", 8), ("on", 17)):
        few, many = demand[(tso, 2)], demand[(tso, segments)]
        assert stated[f"acks-drop-tso-{tso}-{segments}"] == round(100 * (few - many) / few)
        assert stated[f"acks-rise-tso-{tso}-{segments}"] == round(100 * (few - many) / many)


def test_unknown_names_are_refused_with_the_nearest():
    with pytest.raises(DataError, match="did you mean udp-send-size"):
        published.table("udp-send-sizes")
    with pytest.raises(DataError, match="is a trace"):
        published.table("rr-trace-deferred-acks")


@pytest.mark.parametrize("name", sorted(LINES))
def test_trace_lines(name):
    lines = published.path(name).read_text("utf-8").splitlines()
    assert len(lines) == LINES[name]
    assert all(re.match(r"\d{6} 192\.168\.1\.21[23]\.\d+ > .*\(DF\)$", line) for line in lines)


def seed(number: str) -> str:
    paths = sorted(SEEDS.glob(f"{number}_*.txt"))
    if not paths:
        pytest.skip("the reports' text does not lie beside the project")
    return paths[0].read_text("utf-8")


def tab_rows(text: str, after: str, cells: int) -> list[list[str]]:
    """The first unbroken table of `cells` cells whose first is a number, behind a phrase."""
    rows: list[list[str]] = []
    for line in text[text.index(after) :].splitlines():
        row = line.rstrip("\t").split("\t")
        if len(row) == cells and NUMBER.fullmatch(row[0]):
            rows.append([cell for cell in row if NUMBER.fullmatch(cell)])
        elif rows:
            break
    return rows


TABLES_IN_TEXT = [
    ("001", "udp-send-size", "Consider the following set", 12),
    ("000", "udp-send-size", "Consider the following set", 12),
    ("001", "tcp-mss", "The instances have stateless offloads", 9),
    ("000", "tcp-mss", "The instances have stateless offloads", 9),
    ("001", "packets-per-second", "Sometimes the Limit is", 5),
    ("001", "constant-bitrate", "at a constant bitrate", 12),
]


@pytest.mark.parametrize(("number", "name", "after", "cells"), TABLES_IN_TEXT)
def test_tables_are_the_seeds_own(number, name, after, cells):
    rows = tab_rows(seed(number), after, cells)
    frame = published.printed(name)[list(SUMS[name])]
    assert frame.to_numpy().tolist() == rows
    for column, total in zip(zip(*rows, strict=True), SUMS[name].values(), strict=True):
        assert sum(map(Decimal, column)) == Decimal(total)


def test_constant_bitrate_of_the_other_text_has_the_same_values():
    text = seed("000")
    text = text[text.index("AF_INET to large.c") : text.index("This makes the packetization")]
    words = [w for w in text.split("Units", 1)[1].split() if NUMBER.fullmatch(w)]
    frame = published.printed("constant-bitrate")[list(SUMS["constant-bitrate"])]
    assert sorted(words) == sorted(frame.to_numpy().ravel())


@pytest.mark.parametrize("number", ["000", "001"])
def test_summary_is_the_seeds_own(number):
    rows = [r.split("\t")[:4] for r in seed(number).splitlines() if r.count("\t") >= 3]
    rows = [r for r in rows if r[0] in {"1024", "8192", "Improvement"} and len(r[3]) < 6][:9]
    means, gains = published.printed("summary"), published.printed("summary-improvement")
    for block, metric in enumerate(
        ("throughput_mbps", "local_sd_us_per_kib", "remote_sd_us_per_kib")
    ):
        for row in rows[3 * block : 3 * block + 3]:
            if row[0] == "Improvement":
                values = gains[gains.metric == metric].improvement
            else:
                values = means[means.send_size == row[0]][metric]
            assert list(values) == row[1:]


def test_mail_is_the_seeds_own():
    text = " ".join(seed("002").split())
    frame = published.printed("ack-overhead")
    columns = [*list(SUMS["ack-overhead"])[:7], "remote_cpu_pct"]
    columns += ["local_sd_us_per_kib", "remote_sd_us_per_kib"]
    rows = frame[columns].assign(remote_cpu_pct="-1.00", remote_sd_us_per_kib="-1.000")
    place = 0
    for row in rows.itertuples(index=False):
        place = text.index(f" {' '.join(row)} ", place) + 1
    assert text.count("131072 262144 32768") == len(rows)
    place = 0
    for name in LINES:
        for line in published.path(name).read_text("utf-8").splitlines():
            place = text.index(line, place) + 1
    assert text.count("(DF)") == sum(LINES.values())


def test_turin_lengths_are_the_scripts_own():
    text = seed("004")
    frame = published.table("turin-lengths")
    for tool in ("iperf3", "nttcp"):
        assert str(frame[frame.tool == tool].send_size.tolist())[1:-1] in text
    counts = re.search(r"buffers = \[(.*?)\]", text, re.DOTALL)[1]
    assert frame["count"].dropna().tolist() == [int(n) for n in re.findall(r"\d+", counts)]


@pytest.mark.parametrize("number", ["001", "002", "003", "004"])
def test_stated_figures_are_in_the_text(number):
    report = {"001": "limiters", "002": "acks", "003": "headers", "004": "turin"}[number]
    text = seed(number).replace("2,478", "2.478")
    words = {"two minute": "120", "two load": "2", "thirteen": "13", "percent or three": "1 3"}
    words |= {"twoACK": "2", "three ACK": "3", "almost double": "2", "GbE": "1", "eight": "8"}
    text += " ".join(["", *(figure for phrase, figure in words.items() if phrase in text)])
    frame = published.printed("statements")
    for row in frame[frame.report == report].itertuples():
        match = re.search(rf"(?<![\d.]){re.escape(row.value)}(?!\d|\.\d)", text)
        assert match, row.id


@pytest.mark.long
def test_an_installed_package_finds_its_data(tmp_path):
    """A wheel carries the files: `netlimits/data` is a link that the build follows."""
    tree = tmp_path / "tree"
    tree.mkdir()
    for name in ("netlimits", "data"):
        skip = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / name, tree / name, symlinks=True, ignore=skip)
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        source = ROOT / name
        (tree / name).write_bytes(source.read_bytes() if source.is_file() else b"")
    wheel = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", tmp_path, tree]
    built = subprocess.run(wheel, capture_output=True, text=True, check=False)
    if "No matching distribution found for setuptools" in built.stderr:
        pytest.skip("no package registry to take the build tools from")
    assert built.returncode == 0, built.stderr
    (archive,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(archive) as files:
        files.extractall(tmp_path / "site")
    code = (
        "from netlimits import published as p; print(p.folder()); "
        "print(sum(len(p.table(t)) for t in p.tables())); "
        "print(all(p.path(t).exists() for t in p.traces()))"
    )
    environment = {**os.environ, "PYTHONPATH": str(tmp_path / "site")}
    printed = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    assert printed == [str(tmp_path / "site/netlimits/data"), str(sum(ROWS.values())), "True"]
