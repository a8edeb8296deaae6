"""What the report tells of campaigns of every kind, without a browser."""

from __future__ import annotations

import re
import shutil
import xml.etree.ElementTree as ET
from pathlib import Path

import pandas as pd
import pytest
from click.testing import CliRunner
from folders import CODES, EXAMPLE, complete
from recorded import recorded, rewritten

import netlimits as nl
from netlimits import charts
from netlimits.archive.records import run_fields
from netlimits.cli.import_ import import_
from netlimits.cli.report import report
from netlimits.errors import InputError
from netlimits.experiment import load
from netlimits.report import contents, figures
from netlimits.report.answers import answers, limited, regimes_of

IMPORTS = Path(__file__).parents[1] / "captures" / "imports"
EXPERIMENTS = Path(__file__).parents[2] / "experiments"


def page(folder: Path, *words: object) -> str:
    outcome = CliRunner().invoke(report, [str(folder), *map(str, words)])
    if outcome.exception:
        raise outcome.exception
    file = Path(words[-1]) if words else folder / "report.html"
    assert outcome.output == f"{file}\n"
    return file.read_text()


def text_of(html: str) -> str:
    """What a reader reads."""
    body = re.sub(r"<(style|svg|nav).*?</\1>", " ", html, flags=re.DOTALL)
    return " ".join(re.sub(r"<[^>]+>", " ", body).split())


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a campaign with its page."""
    folder = tmp_path_factory.mktemp("example") / "results"
    shutil.copytree(EXAMPLE, folder)
    page(folder)
    return folder


@pytest.mark.long
def test_the_report_of_a_duet_begins_with_what_its_sides_differ_by(tmp_path: Path) -> None:
    change = (("measure.netperf.nodelay", "true"),)
    duet = complete(tmp_path / "duet", EXPERIMENTS / "quickstart.yaml", 10, change, loss=0.1)
    told = text_of(page(duet.path))
    (first,) = re.findall(r" Answer (new against old: Throughput \(.*?\) is worse: ×0\.\d+)", told)
    assert "netlimits compare duet" in told
    assert told.index(first) < told.index("What limited the runs: ")


@pytest.mark.long
def test_the_answer_comes_before_the_evidence(example: Path) -> None:
    told = text_of((example / "report.html").read_text())
    assert "netlimits compare" not in told, "which is for duets"
    order = [
        "What do stateless offloads save, against UDP at the same bytes per packet?",
        "Improvement of throughput, send size 8192 over 1024: ×5.47 [4.71, 6.36] (UDP)",
        "Improvement of send service demand, send size 8192 over 1024: ×6.76 [6.33, 7.21] (UDP)",
        "What limited the runs: undetermined in 6 of 6 configurations.",
        "Runs 18: 18 ok",
        "both roles ran on it",
        "Tables",
        "95 % confidence intervals",
        "Charts",
        "The same as a table",
        "What failed, and why No run failed.",
        "Hosts",
        "Linux 6.18",
        "What was changed, and restored",
        "yes, 2026-11-21",
        "The exact commands of one run",
        "sudo ethtool -K data0 tso off gso off",
        "netperf -P 0 -H 198.19.0.2,4",
        "How to repeat it",
        "netlimits run stateless-offloads.yaml --hosts hosts.yaml",
        "--set measure.netperf.seconds=1",
        "--set repeat.seed=2021",
        "receiver: {ssh: nl-example-receiver, interface: data0, address: 198.19.0.2}",
        "After: A Brief Look at Network Performance Limiters.",
    ]
    places = [told.find(words) for words in order]
    assert -1 not in places, order[places.index(-1)]
    assert places == sorted(places)


def offloads(runs: int = 6) -> pd.DataFrame:
    """UDP and TCP by offloads at two sizes; offloads double TCP's rate and halve its cost."""
    rows = []
    for block in range(runs):
        for transport, protocol, switched, gain in (
            ("UDP", "udp", "on", 1),
            ("TCP on", "tcp", "on", 4),
            ("TCP off", "tcp", "off", 2),
        ):
            for size in (1024, 8192):
                rate = gain * size * (1 + block / 100)
                rows.append(
                    {
                        "protocol": protocol, "send_size": size, "offloads": switched,
                        "mss": size + 12, "transport": transport, "block": block,
                        "config": f"{transport}-{size}", "run": len(rows), "status": "ok",
                        "throughput_mbps": rate, "local_sd_us_per_kib": 1e4 / rate,
                        "remote_sd_us_per_kib": 1e4 / rate, "local_send_calls": 7.0 * size,
                    }
                )  # fmt: skip
    frame = pd.DataFrame(rows)
    frame.attrs["columns"] = {"metrics": ["local_send_calls"]}
    return frame


def test_the_answer_is_five_sentences_the_asked_contrast_first() -> None:
    frame = offloads()
    contrasts = {"offloads": "on over off", "send_size": "8192 over 1024"}
    table = nl.summary(
        *(frame, ["throughput", "local_sd", "remote_sd"], "send_size", "transport"),
        improvement=contrasts,
    )
    explained = nl.explain(frame)
    told = [each.text for each in answers([table], explained, ["mss", "transport"], "results/x")]
    gain = "offloads on over off: ×2.00 [2.00, 2.00] (1024 bytes), ×2.00 [2.00, 2.00] (8192 bytes)."
    assert told[:3] == [
        f"Improvement of throughput, {gain}",
        f"Improvement of send service demand, {gain}",
        f"Improvement of receive service demand, {gain}",
    ]
    assert told[3].startswith("What limited the runs: ")
    assert told[4].startswith(
        "Send service demand (mean, lower is better): from 0.30 µs CPU/KiB [0.29, 0.30] (8192 bytes, TCP on) to"
    )
    assert len(told) == 5
    assert all(len(re.findall(r"[.?!](?= |$)", text)) == 1 for text in told), "a sentence each"


def test_other_contrasts_fill_the_room_that_the_first_leaves() -> None:
    contrasts = {"offloads": "on over off", "send_size": "8192 over 1024"}
    table = nl.summary(offloads(), "throughput", "send_size", "transport", improvement=contrasts)
    told = [each.text for each in answers([table], nl.explain(offloads()), ["mss", "transport"])]
    assert told[0].startswith("Improvement of throughput, offloads on over off: ×2.00")
    assert told[1].startswith("Improvement of throughput, send size 8192 over 1024: ×8.00")
    assert told[2].startswith("What limited the runs: ")
    assert len(told) == 3


def test_the_answer_gives_the_sizes_that_packets_per_second_limit() -> None:
    sizes = [16, 64, 256, 1024, 4096]
    noise = [1.01, 0.99, 1]
    frame = pd.DataFrame({"send_size": sizes * 3, "block": [b for b in range(3) for _ in sizes]})
    times = (1000 + frame["send_size"]) * frame["block"].map(dict(enumerate(noise)))
    frame = frame.assign(
        config=frame["send_size"].astype(str), run=range(15), status="ok",
        local_send_throughput_mbps=8e3 * frame["send_size"] / times,
    )  # fmt: skip
    report = [{"table": "summary"}, {"chart": "packet_rate"}]
    (told,) = regimes_of(report, lambda: frame)
    assert told.text == (
        "Packets per second limit the throughput of sends up to 53 bytes [53, 53]; "
        "bytes limit the throughput of sends from 1000 bytes [1000, 1000] on."
    )
    assert answers([], sizes=[told]) == [told]
    (measured,) = regimes_of(report, lambda: frame.query("64 <= send_size"))
    assert measured.text.startswith("Bytes limit"), "no size is named that is smaller than all runs"
    assert not regimes_of(report, lambda: frame.query("send_size < 256")), (
        "two sizes determine none"
    )
    assert not regimes_of(report[:1], lambda: frame)


def test_it_is_its_owners_alone_and_needs_a_folder(example: Path) -> None:
    assert (example / "report.html").stat().st_mode & 0o077 == 0
    with pytest.raises(InputError, match="a report needs a campaign's folder"):
        page(example / "results.csv")
    with pytest.raises(InputError, match=r"there is no folder"):
        page(example, "--out", example / "nowhere" / "r.html")


def test_a_campaign_of_which_nothing_is_ok_says_what_failed(tmp_path: Path) -> None:
    told = text_of(page(recorded(tmp_path / "results", failed=[1, 2, 3, 4]).path))
    assert "No figure answers it: see what failed." in told
    assert "failed 4 it failed 1, 2, 3, 4" in told


def test_a_run_that_was_cut_off_ends_the_campaign_when_it_started(tmp_path: Path) -> None:
    campaign = recorded(tmp_path / "results")
    first = next(iter(campaign.runs.values()))
    campaign.archive.lock()
    campaign.archive.append("start", **run_fields(first), attempt=2, started=1e9 + 3600)
    campaign.archive.close()
    told = text_of(page(campaign.path))
    assert "Measured 2001-09-09 01:46:40 UTC to 2001-09-09 02:46:40 UTC" in told


def test_an_experiment_without_a_report_is_summarized_by_its_factors(tmp_path: Path) -> None:
    told = text_of(page(recorded(tmp_path / "results", failed=[2]).path))
    assert "Throughput (Mbit/s - Higher is Better) MTU (bytes)" in told
    assert "failed 1 it failed 2" in told
    assert "4 runs: 3 ok, 1 failed; figures are of those that are ok" in told
    assert "Chart percentiles" not in told


def test_what_is_not_put_back_is_said(tmp_path: Path) -> None:
    folder = tmp_path / "results"
    shutil.copytree(EXAMPLE, folder)
    rewritten(folder, lambda body: b"" if b"put_back" in body and b"sender" in body else body)
    back = {each.role: each.back for each in contents.changes(nl.open(folder))}
    assert back["sender"] == "NO"
    assert back["receiver"].startswith("yes, 2026")


def test_imported_files_are_a_page_too(tmp_path: Path) -> None:
    file = IMPORTS / "iperf3-tcp.txt"
    folder = tmp_path / "results"
    outcome = CliRunner().invoke(import_, [str(file), "--out", str(folder)])
    assert outcome.exit_code == 0, outcome.output
    told = text_of(page(folder))
    assert f"netlimits import {file.name}" in told or file.name in told


def test_every_kind_of_chart_is_of_a_shipped_experiment() -> None:
    """That they and their tables are in their pages is seen in the browser."""
    shipped = [load.load(file).report for file in EXPERIMENTS.glob("*.yaml")]
    drawn = {entry["chart"] for report in shipped for entry in report if "chart" in entry}
    others = {"sensitivities", "history", "profile"}  # diagnosis, several campaigns, --profile
    assert set(charts.KINDS) - others == drawn


def test_what_limited_a_configuration_is_told_with_its_evidence() -> None:
    frame = pd.DataFrame(
        {
            "config": [*"aabb"], "send_size": [64, 64, 8192, 8192], "status": "ok", "run": range(4),
            "throughput_mbps": [100.0, 101, 900, 901], "local_cpu_peak_pct": [100.0, 100, 40, 40],
            "local_process_cpu_pct": 38.0,
        }
    )  # fmt: skip
    explained = nl.explain(frame)
    decided = explained[explained["class"] != "undetermined"]
    assert len(decided) == 1
    (told,) = limited(explained.assign(mss=[76, 8204]), ["mss"], "results/x")
    assert told.text == (
        f"What limited the runs: {decided.iloc[0]['class']} at 64 bytes (suggested by counters); "
        "undetermined at 8192 bytes."
    )
    assert told.evidence.startswith("(netlimits explain results/x has the evidence")
    (many,) = limited(pd.concat([decided] * 10), [], "results/x")
    assert "in 10 of 10 configurations (suggested by counters)." in many.text
    (refuted,) = limited(explained.assign(state="refuted"), [], "results/x")
    assert refuted.text == "What limited the runs: undetermined in 2 of 2 configurations."


def test_a_chart_s_title_stands_once_and_the_chart_is_as_wide_as_the_page(example: Path) -> None:
    html = (example / "report.html").read_text()
    drawn = html[html.index('id="charts"') : html.index('id="failures"')]
    titles = re.findall(r"<figcaption>(.*?)</figcaption>", drawn)
    assert len(titles) == len(set(titles)) == drawn.count("<svg")
    frame = nl.open(EXAMPLE).frame()
    figure = nl.charts.percentiles(frame, "throughput", ["transport", "send_size"], title="Once")
    figures.inline(figure, "chart-1", "Once")
    assert not any(axes.get_title(loc="left") for axes in figure.axes)
    assert "svg { display: block; width: 100%;" in html


def test_a_text_that_xml_or_mathematics_would_not_take_is_drawn(tmp_path: Path) -> None:
    frame = pd.DataFrame({"who": [CODES, "$\\frac$"] * 3, "throughput_mbps": range(6)})
    figure = nl.charts.percentiles(frame, of="throughput", series="who", title=f"{CODES} $x")
    file = tmp_path / "chart.svg"
    with pytest.warns(UserWarning, match="Glyph|constrained_layout"):
        charts.save(figure, file)
    assert ET.parse(file).getroot().tag.endswith("svg")
