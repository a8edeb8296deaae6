"""The reports again: all that can be computed agrees, a wrong digit does not, nothing is left out."""

from __future__ import annotations

import json
import re
import shutil
from collections import Counter
from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from netlimits import reproduce
from netlimits.errors import DataError, InputError
from netlimits.reproduce import marks, published, turin_lab
from netlimits.reproduce.output import tally
from netlimits.reproduce.rounding import (
    ComputedFigure,
    Printed,
    exact,
    printed_figures,
    within_rounding,
)

SEEDS = Path(__file__).parents[3] / "shared" / "seeds"


@pytest.fixture(scope="module")
def rows() -> list[reproduce.Comparison]:
    return reproduce.comparisons()


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the published files that the test may change."""
    copy = tmp_path / "data"
    shutil.copytree(published.folder(), copy)
    monkeypatch.setattr(published, "folder", lambda: copy)
    return copy


def by_name(name: str) -> tuple[reproduce.Report, reproduce.Item]:
    return next((report, item) for report, item in reproduce.ITEMS if item.name == name)


def change(path: Path, old: str, new: str) -> None:
    text = path.read_text("utf-8")
    assert text.count(old) == 1, f"{old!r} is {text.count(old)} times in {path.name}"
    path.write_text(text.replace(old, new), "utf-8")


# --- agreement


@pytest.mark.long
def test_everything_that_can_be_computed_agrees_or_is_a_known_slip(
    rows: list[reproduce.Comparison],
) -> None:
    assert [row for row in rows if row.verdict == "differs"] == []
    assert {row.statement for row in rows if row.verdict == "slip"} == {
        "limiters-udp-1024-local-cpu-peak",
        "headers-payload-1500",
        "turin-jumbo-mss",
    }


def test_what_agrees_was_computed(rows: list[reproduce.Comparison]) -> None:
    by_id = {row.statement: row for row in rows if row.statement}
    expected = {
        "improvement: Throughput, UDP": 18314 / 4805,
        "improvement: Send service demand, TCP off": 2.40 / 0.42,
        "limiters-udp-1024-throughput": 5.328575,
        "limiters-udp-8192-throughput": 24.40463,
        "acks-drop-tso-off-8": 100 * (1 - 2.966 / 3.853),
        "acks-rise-tso-on-17": 100 * (2.092 / 0.971 - 1),
        "acks-burst-deferred-2": 7,
        "acks-burst-deferred-3": 8,
        "acks-burst-deferred-4": 9,
        "acks-burst-every-other-2": 6,
        "acks-burst-every-other-3": 9,
        "acks-ack-burst-every-other-3": 3,
        "headers-ratio-1500": 100 * 1448 / 1538,
        "headers-ratio-9000": 100 * 8948 / 9038,
        "headers-payload-1500": 1448,
        "turin-bound": 2.5 * 1460 / 1538,
        "turin-jumbo-bound": 2.5 * 8960 / 9038,
        "turin-jumbo-mss": 8960,
    }
    assert {key: by_id[key].value for key in expected} == pytest.approx(expected)


def test_every_statement_and_every_improvement_has_exactly_one_place(
    rows: list[reproduce.Comparison],
) -> None:
    places = Counter(row.statement for row in rows if row.statement)
    assert set(places) == set(reproduce.comparison.printed_figures())
    assert set(places.values()) == {1}
    assert len(places) == 126 + 9


def test_only_what_was_recomputed_agrees(rows: list[reproduce.Comparison]) -> None:
    allowed = {
        "recomputed": {"agrees", "differs", "slip", "hedged"},
        "transcribed": {"as printed", "differs"},
        "stated": {"beside", "no data", "condition"},
    }
    assert all(row.verdict in allowed[row.kind] for row in rows)
    kinds = {row.statement: row.kind for row in rows if row.statement}
    for statement in ("acks-control-port", "headers-gap-bytes", "turin-tcp-header", "acks-seconds"):
        assert kinds[statement] == "transcribed", "a constant of ours, or a table's own row"
    assert kinds["turin-bound"] == "recomputed"


def test_a_hedged_figure_stands_beside_what_was_computed(
    rows: list[reproduce.Comparison],
) -> None:
    by_id = {row.statement: row for row in rows if row.statement}
    low, high = (by_id[f"limiters-cbr-remote-sd-ratio-{end}"] for end in ("low", "high"))
    assert (low.printed, high.printed) == ("about 3", "about 4")
    assert low.came_out == high.came_out == "3.46 [3.45, 3.46]"
    assert low.verdict == high.verdict == "hedged"
    assert by_id["acks-drop-tso-off-8"].verdict == "agrees", "about 23, and it rounds to 23"


def test_what_was_measured_agrees_with_nothing_computed(
    rows: list[reproduce.Comparison],
) -> None:
    by_id = {row.statement: row for row in rows if row.statement}
    nearly = by_id["headers-throughput-32"]
    assert (nearly.kind, nearly.verdict) == ("stated", "beside")
    assert nearly.printed == "nearly 50 Gbit/s"
    assert nearly.came_out == "the link's bound is 94.15 Gbit/s", "not the cap, which is stated too"
    shortfall = by_id["headers-shortfall-80-low"]
    assert (shortfall.verdict, shortfall.printed) == ("beside", "about 1 %")
    assert "1.01 %" in shortfall.came_out


def test_the_anomaly_is_judged_by_its_own_row(rows: list[reproduce.Comparison]) -> None:
    (row,) = [row for row in rows if row.statement == "acks-anomaly-segments"]
    assert row.came_out == "740.94 against 940.62 Mbit/s"
    assert "12, 14, 15, 16, 18" in row.remark


def test_the_summary_and_the_runs_are_said_to_be_of_different_sets(
    rows: list[reproduce.Comparison],
) -> None:
    (row,) = [row for row in rows if row.what.startswith("Throughput, UDP, 8192 bytes: mean")]
    assert (row.kind, row.verdict) == ("stated", "beside")
    assert row.printed == "18314 Mbit/s"
    assert row.came_out.startswith("23,227 Mbit/s")


def test_words_about_packet_rates_stand_beside_the_calls(rows: list[reproduce.Comparison]) -> None:
    comparisons = {row.statement: row for row in rows if row.statement.startswith("limiters-pps")}
    assert {row.verdict for row in comparisons.values()} == {"hedged"}
    assert "2.3 % apart" in comparisons["limiters-pps-regime-largest"].came_out
    assert "7.6 % apart" in comparisons["limiters-pps-close-smallest"].came_out


def test_egress_cap_and_link_bind_as_the_report_tells(rows: list[reproduce.Comparison]) -> None:
    binds = {row.what: row.came_out for row in rows if row.what.startswith("What binds")}
    assert binds == {
        "What binds n2-standard-32 at MTU 1500": "egress cap",
        "What binds n2-standard-80 at MTU 1500": "link",
        "What binds n2-standard-80 at MTU 8896": "link",
    }


def test_what_has_no_data_names_the_experiment_that_measures_it(
    rows: list[reproduce.Comparison],
) -> None:
    lacking = {row.statement: row for row in rows if row.verdict == "no data"}
    assert "tool-comparison measures it" in lacking["turin-variance-nttcp"].remark
    assert "jumbo measures it" in lacking["turin-jumbo-cpu"].remark
    assert "cpu-stress measures it" in lacking["turin-stress-peak"].remark
    assert all(row.value is None for row in lacking.values())
    turin = {key: row.came_out for key, row in lacking.items() if row.report == "turin"}
    verdicts = ("holds", "does not hold", "undecided", "too few blocks", "cannot show it")
    words = {key: each.claim.words for key, each in turin_lab.judgements().items()}
    for key, came_out in turin.items():
        assert came_out.startswith(tuple(f"{words[key]}: {verdict}" for verdict in verdicts))


# --- a wrong digit

WRONG = [
    (
        "summary",
        "summary.csv",
        "1024,TCP on,tcp,on,10638",
        "1024,TCP on,tcp,on,10838",
        "improvement: Throughput, TCP on",
    ),
    (
        "summary",
        "summary-improvement.csv",
        "throughput_mbps,UDP,3.81",
        "throughput_mbps,UDP,3.82",
        "improvement: Throughput, UDP",
    ),
    (
        "ack-overhead-tso-off",
        "ack-overhead.csv",
        "17.04,,2.966",
        "17.04,,2.866",
        "acks-sd-tso-off-8",
    ),
    ("ack-overhead-tso-on", "ack-overhead.csv", "941.12,5.58,", "841.12,5.58,", ""),
    ("ack-overhead-win-divisor-1", "ack-overhead.csv", "9.59,,1.671", "9.59,,1.761", ""),
    ("udp-send-size", "udp-send-size.csv", ",1.570,", ",1.507,", ""),
    ("udp-send-size", "udp-send-size.csv", ",3784202,3784202,", ",3782402,3784202,", ""),
    ("constant-bitrate", "constant-bitrate.csv", ",24.49,2.006,", ",24.49,2.060,", ""),
    ("packets-per-second", "packets-per-second.csv", ",691.31,", ",961.31,", ""),
    (
        "ack-overhead-tso-on",
        "ack-overhead.csv",
        "740.94,10.74",
        "941.94,10.74",
        "acks-anomaly-segments",
    ),
    (
        "rr-trace-deferred-acks",
        "rr-trace-deferred-acks.txt",
        "16385:17845(1460) ack 257",
        "16385:16385(0) ack 257",
        "acks-burst-deferred-2",
    ),
    (
        "goodput-formula",
        "statements.csv",
        "greatest goodput at MSS 1460,2.37",
        "greatest goodput at MSS 1460,2.38",
        "turin-bound",
    ),
    (
        "goodput-formula",
        "statements.csv",
        "1.1: link rate,2.5,",
        "1.1: link rate,2.6,",
        "turin-bound",
    ),
    ("goodput-formula", "statements.csv", "1.1: MTU,1500,", "1.1: MTU,1400,", "turin-mss"),
    (
        "data-rate-formula",
        "statements.csv",
        "the default VPC MTU,1460",
        "the default VPC MTU,1450",
        "headers-mtu-cloud-default-less",
    ),
]


@pytest.mark.long
@pytest.mark.parametrize(("name", "file", "old", "new", "statement"), WRONG)
def test_a_changed_digit_differs(
    data: Path, name: str, file: str, old: str, new: str, statement: str
) -> None:
    change(data / file, old, new)
    rows = reproduce.compare(*by_name(name))
    assert statement in {row.statement for row in rows if row.verdict == "differs"}


SENTENCES = [
    ("summary", "summary.csv", "1024,UDP,udp,,4805", "1024,UDP,udp,,4405", "Without offloads"),
    ("summary", "summary.csv", ",2.80", ",7.80", "Improvement from 1024"),
    ("summary", "summary.csv", "tcp,off,19902", "tcp,off,30902", "TCP's mean throughput over"),
    ("udp-send-size", "udp-send-size.csv", ",94.26,", ",100.00,", "Receiver at 1024 bytes: its"),
    (
        "udp-send-size",
        "udp-send-size.csv",
        ",3.46,85.20",
        ",1.46,85.20",
        "Receiver at 1024 bytes: o",
    ),
    ("udp-send-size", "udp-send-size.csv", ",0.528", ",2.628", "Service demand of receiving at"),
    ("tcp-mss", "tcp-mss.csv", ",11475.16,", ",-90000.16,", "TCP with offloads at 1024"),
]


@pytest.mark.long
@pytest.mark.parametrize(("name", "file", "old", "new", "what"), SENTENCES)
def test_a_sentence_about_a_table_is_held_against_its_rows(
    data: Path, name: str, file: str, old: str, new: str, what: str
) -> None:
    def verdict() -> str:
        (row,) = [row for row in reproduce.compare(*by_name(name)) if row.what.startswith(what)]
        return row.verdict

    assert verdict() == "agrees"
    change(data / file, old, new)
    assert verdict() == "differs"


def test_words_of_degree_agree_with_nothing(rows: list[reproduce.Comparison]) -> None:
    words = {row.printed: row for row in rows if row.remark.startswith("words, which")}
    assert {"occasionally", "very roughly the same", "a considerable difference"} < set(words)
    assert {row.verdict for row in words.values()} == {"hedged"}
    assert words["occasionally"].came_out == "16 of 20"
    assert words["very roughly the same"].came_out == "0.92, 1.09"


def test_what_was_sent_says_how_much_less_arrived(rows: list[reproduce.Comparison]) -> None:
    (row,) = [row for row in rows if row.statement == "limiters-udp-8192-throughput"]
    assert row.remark == "of what was sent; in 4 of 10 runs less arrived, down to 21.0"


def test_a_link_of_a_gigabit_needs_no_guess_at_timestamps(rows: list[reproduce.Comparison]) -> None:
    (row,) = [row for row in rows if row.statement == "acks-link"]
    assert (row.low, row.high) == pytest.approx((0.99165, 0.99989), abs=2e-5)


@pytest.mark.long
@pytest.mark.parametrize("number", marks.FIGURES)
def test_every_figure_of_turin_has_the_lab_s_curves_and_what_is_printed(number: str) -> None:
    figure = marks.FIGURES[number]
    axes = marks.turin(number, "Figure").axes[0]
    curves = [line for line in axes.lines if len(line.get_xdata()) > 2]
    assert len(curves) >= 2
    dashed = [
        line for line in axes.lines if line.get_linestyle() == "--" and len(line.get_xdata()) == 2
    ]
    assert len(dashed) == len(figure.levels) + len(figure.places)
    told = " ".join(text.get_text().replace("\n", " ") for text in axes.texts)
    printed = {key: each.written for key, (_, each) in printed_figures().items()}
    for key, _ in (*figure.levels, *figure.places):
        assert printed[key] in told
    assert told.count("The text: ") == 1
    assert "curves: the lab's machines" in told


def test_levels_stand_in_proportion_to_the_lab_s_greatest_mean() -> None:
    axes = marks.turin("1a", "Figure").axes[0]
    heights = sorted(
        {
            line.get_ydata()[0]
            for line in axes.lines
            if line.get_linestyle() == "--"
            and len(line.get_xdata()) == 2
            and line.get_ydata()[0] > 1
        }
    )
    runs = turin_lab.runs("tool-comparison")
    greatest = runs.groupby(["tool", "send_size"])["throughput_mbps"].mean().max()
    assert heights == pytest.approx([greatest * gbps / 2.37 for gbps in (2.340, 2.353, 2.37)])


@pytest.mark.parametrize("number", ["1a", "7b", "8a", "8b"])
def test_the_label_of_a_length_covers_no_curve(number: str) -> None:
    chart = marks.turin(number, "Figure")
    axes = chart.axes[0]
    chart.canvas.draw()
    (words,) = [label for _, label in marks.FIGURES[number].places]
    (label,) = [text for text in axes.texts if text.get_text().startswith(words)]
    box = label.get_window_extent()
    for line in axes.lines:
        if len(line.get_xydata()) > 2:
            path = line.get_path().transformed(line.get_transform())
            assert not path.intersects_bbox(box, filled=False), line.get_label()


def test_a_note_under_a_chart_stands_clear_of_its_legend() -> None:
    chart, _ = plt.subplots(layout="constrained")
    chart.axes[0].plot([1], label="a")
    chart.legend(loc="outside lower center")
    marks.note(chart, "measured here")
    assert chart.legends[0].get_title().get_text() == "measured here"
    assert chart.get_supxlabel() == ""
    plt.close(chart)


def test_the_row_that_does_not_fit_is_named(data: Path) -> None:
    change(data / "tcp-mss.csv", ",31730.05,", ",31370.05,")
    wrong = [row for row in reproduce.compare(*by_name("tcp-mss")) if row.verdict == "differs"]
    assert any(row.came_out.startswith("19 of 20 rows within rounding; run 4: ") for row in wrong)


def test_a_slip_is_one_only_while_the_right_figure_comes_out() -> None:
    report = next(r for r in reproduce.REPORTS if r.name == "headers")
    item = report.items[0]
    figure = Printed(1432, 0, "bytes")

    def verdict(value: float) -> str:
        judged = reproduce.comparison.judged
        return judged(report, item, "headers-payload-1500", "", figure, exact(value)).verdict

    assert [verdict(v) for v in (1448, 1432, 1447)] == ["slip", "agrees", "differs"]


def test_missing_rows_are_an_error_that_names_the_table(data: Path) -> None:
    path = data / "ack-overhead.csv"
    lines = [line for line in path.read_text().splitlines() if not line.startswith("7,tcp,off,,8,")]
    path.write_text("\n".join(lines) + "\n")
    with pytest.raises(DataError, match="ack-overhead"):
        reproduce.compare(*by_name("ack-overhead-tso-off"))


# --- rounding


@pytest.mark.parametrize(
    ("qualifier", "agrees", "differs"),
    [
        ("exactly", (2.805, 2.795), (2.8051, 2.7949)),
        ("about", (2.805, 2.795), (2.8051, 2.7949)),
        ("more than", (2.8001,), (2.80,)),
    ],
)
def test_a_printed_figure_stands_for_what_its_digits_allow_and_a_hedge_for_no_more(
    qualifier: str, agrees: tuple[float, ...], differs: tuple[float, ...]
) -> None:
    figure = Printed(2.80, 2, "", qualifier)
    assert all(figure.agrees(exact(value)) for value in agrees)
    assert not any(figure.agrees(exact(value)) for value in differs)


def test_intervals_agree_when_they_meet() -> None:
    assert Printed(5.70, 2).agrees(ComputedFigure(5.714, 5.635, 5.795))
    assert not Printed(5.60, 2).agrees(ComputedFigure(5.714, 5.635, 5.795))


def ratio(frame: pd.DataFrame) -> dict[str, float]:
    udp = frame[frame["transport"] == "UDP"].set_index("send_size")["throughput_mbps"]
    return {"ratio": udp[8192] / udp[1024]}


@pytest.fixture(scope="module")
def improvement() -> ComputedFigure:
    return within_rounding("summary", ("throughput_mbps",), "send_size", ratio)["ratio"]


@given(above=st.floats(-0.5, 0.5), below=st.floats(-0.5, 0.5))
def test_any_means_that_round_to_the_printed_ones_lie_within_the_interval(
    improvement: ComputedFigure, above: float, below: float
) -> None:
    true = (18314 + above) / (4805 + below)
    assert improvement.low - 1e-12 <= true <= improvement.high + 1e-12


def test_the_interval_is_no_wider_than_rounding_allows(improvement: ComputedFigure) -> None:
    assert improvement.low == pytest.approx(18313.5 / 4805.5, abs=1e-12)
    assert improvement.high == pytest.approx(18314.5 / 4804.5, abs=1e-12)


def test_figures_are_written_as_printed() -> None:
    assert Printed(1432, 0, "bytes").written == "1432 bytes"
    assert Printed(5.3, 1, "Gbit/s", "about").written == "about 5.3 Gbit/s"
    assert Printed(3.90, 2, "ratio").written == "3.90"
    assert ComputedFigure(3.9302, 3.8736, 3.9882).written(2) == "3.9302 [3.8736, 3.9882]"
    assert exact(42).written(0) == "42"
    assert exact(94.148).written(0) == "94.15"


# --- the list


def listed() -> dict[str, list[str]]:
    return {report.name: [item.heading for item in report.items] for report in reproduce.REPORTS}


def seed(*starts: str) -> list[str]:
    """The texts of a report (there may be two of the same), Markdown's escapes taken out."""
    if not SEEDS.is_dir():
        pytest.skip("the reports' texts do not lie beside the project")
    texts = [path.read_text("utf-8") for path in sorted(SEEDS.iterdir())]
    return [re.sub(r"[\\*]", "", text) for text in texts if all(s in text for s in starts)]


def test_every_chart_of_the_limiters_report_is_listed() -> None:
    texts = seed("A Brief Look at Network Performance Limiters")
    assert len(texts) == 2
    for text in texts:
        headings = re.findall(r"^Single-Stream .*$", text, re.MULTILINE)
        assert len(headings) == 6
        expected = Counter(h for h in listed()["limiters"] if h.startswith("Single-Stream"))
        assert Counter(h.strip().replace("Package", "Packet") for h in headings) == expected


def test_every_table_and_script_of_the_limiters_report_is_listed() -> None:
    for text in seed("A Brief Look at Network Performance Limiters"):
        assert (
            text.count("MIGRATED UDP STREAM TEST from") == 3
        )  # the UDP, packets and bitrate tables
        assert len(re.findall(r"^(?:Transport)\b.*Throughput", text, re.MULTILINE)) == 1
        for heading in (
            "Summary",
            "Sometimes the Limit is Packets Per Second",
            "Script For Percentile Data",
        ):
            assert re.search(rf"^(?:#* *)?{heading}\s*$", text, re.MULTILINE)
            assert heading in listed()["limiters"]
        assert "What about at a constant bitrate?" in text
        assert len(re.findall(r"HDR=\"-P 1\"; for i in", text)) == 2  # footnotes 2 and 7
    kinds = Counter(item.kind for r, item in reproduce.ITEMS if r.name == "limiters")
    assert kinds == {"table": 5, "chart": 6, "script": 3}


def test_every_list_and_trace_of_the_mail_is_listed() -> None:
    (text,) = seed("Data demonstrating the CPU overhead of ACKs")
    text = " ".join(text.split())
    for heading in listed()["acks"]:
        assert heading in text, heading
    blocks = re.findall(r"(?:\d+ 131072 262144 32768 [\d. -]+? -1\.000 ?)+", text)
    traces = re.split(
        r"(?<!\d)0000\d\d (?=192\.168\.1\.213\.\d+ > [\d.]+\.32970: P 1:129|192\.168\.1\.213\.58596)",
        text,
    )
    assert len(blocks) == 3
    assert len(traces) > 2
    assert len(listed()["acks"]) == 3 + 2


def test_every_chart_of_the_headers_report_is_listed() -> None:
    (text,) = seed("Headers and Data and Bitrates!")
    charts = [h for h in re.findall(r"^# (.*)$", text, re.MULTILINE) if re.search(r"vs\.? MTU", h)]
    assert len(charts) == 2
    assert set(charts) <= set(listed()["headers"])
    assert "MaxDataTransferRate" in text
    assert len(listed()["headers"]) == 3


def test_every_figure_and_script_of_the_turin_report_is_listed() -> None:
    (text,) = seed("Politecnico")
    headings = listed()["turin"]
    captions = dict(re.findall(r"^Figure (\d): (.+)$", text, re.MULTILINE))
    assert sorted(captions) == [str(n) for n in range(1, 9)]
    parts = {*re.findall(r"[Ff]igure (\d[ab])", text)}
    for number, caption in captions.items():
        own = [h for h in headings if re.match(rf"Figure {number}[ab]?:", h)]
        assert own, number
        assert all(caption.lower() in h.lower() for h in own), caption
    assert parts <= {h.split(":")[0].removeprefix("Figure ") for h in headings}
    scripts = re.findall(r"^([AB] \w+ script)$", text, re.MULTILINE)
    assert len(scripts) == 2
    assert set(scripts) <= set(headings)


def test_an_item_has_data_or_the_experiment_that_measures_it() -> None:
    names = [item.name for _, item in reproduce.ITEMS]
    assert len(names) == len(set(names))
    for _, item in reproduce.ITEMS:
        assert re.fullmatch(r"[a-z][a-z-]+", item.experiment), item.name
        for name in item.data:
            published.resource(name)
    used = {name for _, item in reproduce.ITEMS for name in item.data}
    assert used == {*published.tables(), *published.traces()} - {"statements"}


# --- the files


@pytest.fixture(scope="module")
def again(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[reproduce.Regenerated]]:
    folder = tmp_path_factory.mktemp("again")
    return folder, list(reproduce.regenerate(folder))


@pytest.mark.long
def test_every_table_and_chart_is_written(again: tuple[Path, list[reproduce.Regenerated]]) -> None:
    folder, parts = again
    files = {path.relative_to(folder).as_posix() for part in parts for path in part.files}
    assert files == {p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file()}
    assert all((folder / name).stat().st_size > 0 for name in files)
    stems = {name.rpartition(".")[0] for name in files}
    assert {
        f"{s}.{x}"
        for s in stems
        for x in (("csv", "md") if s.startswith("tables") else ("png", "svg"))
    } == files
    for part in parts:
        if part.item and part.item.kind in ("table", "trace"):
            assert f"tables/{part.item.name}.csv" in files
        if part.item and part.item.kind == "chart" and part.item.data:
            assert f"charts/{part.item.name}.svg" in files
    drawn = {
        part.item.name for part in parts if part.item and part.item.kind == "chart" and part.files
    }
    charts = {item.name for _, item in reproduce.ITEMS if item.kind == "chart"}
    assert charts == drawn
    assert (folder / "charts/udp-throughput-percentiles.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.long
def test_a_table_keeps_every_digit_that_was_printed(
    again: tuple[Path, list[reproduce.Regenerated]],
) -> None:
    folder, _ = again
    for name in ("udp-send-size", "tcp-mss", "packets-per-second", "constant-bitrate"):
        assert (folder / "tables" / f"{name}.csv").read_text() == published.path(name).read_text()
    markdown = (folder / "tables/constant-bitrate.md").read_text()
    assert "| 1000.00 | 1000.00 | 1220722 | 1220722 | 0.50 |" in markdown


@pytest.mark.long
@pytest.mark.parametrize("name", ["data-over-headers", "udp-send-size"])
def test_the_same_data_give_the_same_bytes(
    again: tuple[Path, list[reproduce.Regenerated]], tmp_path: Path, name: str
) -> None:
    (tmp_path / "tables").mkdir()
    (tmp_path / "charts").mkdir()
    second = reproduce.write_item(*by_name(name), tmp_path)
    assert {path.suffix for path in second} == {".csv", ".md", ".png", ".svg"}
    for path in second:
        assert path.read_bytes() == (again[0] / path.relative_to(tmp_path)).read_bytes()


def test_comparisons_are_written_for_people_and_programs(
    rows: list[reproduce.Comparison], tmp_path: Path
) -> None:
    odd = reproduce.Comparison(
        "acks", "x", "", "a | b <script>", "*1*", "[2]", "recomputed", "differs", "`no`"
    )
    paths = reproduce.write_comparison([*rows, odd], tmp_path)
    assert [path.name for path in paths] == ["comparison.csv", "comparison.md", "comparison.json"]
    table = pd.read_csv(paths[0], keep_default_na=False)
    assert len(table) == len(rows) + 1
    assert table["printed"].iloc[0] == "3.81"
    text = paths[1].read_text()
    assert r"a \| b &lt;script>" in text
    assert r"\*1\*" in text
    assert "67 agree, 1 differ, 3 slips" in text
    assert "18,314 Mbit/s in the Summary and 23,227" in text
    assert all(f"### {report.title}" in text for report in reproduce.REPORTS)
    assert json.loads(paths[2].read_text())[-1]["verdict"] == "differs"


def test_counting_names_every_verdict(rows: list[reproduce.Comparison]) -> None:
    lines = [[int(n) for n in re.findall(r"\d+", line)] for line in tally(rows).splitlines()]
    assert len(rows) == sum(total for total, *_ in lines)
    assert all(total == sum(parts) for total, *parts in lines)


def test_a_folder_that_cannot_be_made_is_named(
    rows: list[reproduce.Comparison], tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="file/again: cannot be written"):
        next(reproduce.regenerate(tmp_path / "file" / "again"))
    with pytest.raises(InputError, match="cannot be written"):
        reproduce.write_comparison(rows[:1], tmp_path / "none")
