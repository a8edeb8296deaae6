"""`netlimits compare`, on campaigns that are kept, and its gate."""

from __future__ import annotations

import io
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

import pandas as pd
import pytest
import xmlschema
from folders import complete

from netlimits.cli import group, main
from netlimits.errors import ArchiveError, DataError

GALLERY = Path(__file__).parents[2] / "experiments" / "gallery"
BEFORE = GALLERY / "stateless-offloads"
SCHEMA = xmlschema.XMLSchema(Path(__file__).parent / "junit-10.xsd")
"""Of Jenkins' xunit plugin (MIT License)."""
QUICK = Path(__file__).parents[2] / "experiments" / "quickstart.yaml"


class Told(NamedTuple):
    """What the command ended with, and what it printed."""

    exit_code: int
    output: str
    errors: str


@pytest.fixture
def compare(capsys: pytest.CaptureFixture[str]) -> Callable[..., Told]:
    """`netlimits compare WORDS`."""

    def run(*words: object) -> Told:
        with pytest.raises(SystemExit) as ended:
            main(["compare", *map(str, words)])
        return Told(int(ended.value.code or 0), *capsys.readouterr())

    return run


@pytest.fixture(scope="module")
def slower(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same runs as a file, each with a tenth of its throughput: beyond any spread of them."""
    import netlimits as nl

    frame = nl.open(BEFORE).frame()
    frame["throughput_mbps"] /= 10
    path = tmp_path_factory.mktemp("slower") / "slower.csv"
    frame.to_csv(path, index=False)
    return path


def test_a_campaign_against_itself_is_no_worse(compare):
    told = compare(BEFORE, BEFORE, "--of", "throughput")
    assert told.exit_code == 0, told.output
    assert "1.000 [" in told.output
    assert "worse" not in told.output.splitlines()[0]
    assert "from one session a side" in told.output


@pytest.mark.long
def test_a_metric_of_interim_results_is_one_to_compare(compare):
    """`table` knew it, and neither `compare` nor the charts of runs."""
    done = compare(GALLERY / "mtu-aggregate", GALLERY / "mtu-aggregate", "--of", "highest_average")
    assert done.exit_code == 0
    assert done.output.count("Highest average throughput (Mbit/s)") == 8


BOUND = ("--sessions-differ-by", "10%")
OF = ("--of", "throughput")


@pytest.mark.long
def test_two_sessions_that_differ_for_the_worse_end_with_5(compare, slower: Path, tmp_path: Path):
    told = compare(BEFORE, slower, "--of", "throughput")
    assert told.exit_code == 5
    assert told.output.startswith(f"{slower} against {BEFORE}: 6 differ")
    assert "0.100 [" in told.output
    assert told.output.count("these two sessions differ") == 6
    assert "nothing is called better or worse from one session a side" in told.output
    gate = tmp_path / "gate.yaml"
    gate.write_text("gate: [{of: throughput}]\n")
    told = compare(BEFORE, slower, *OF, "--gate", gate)
    assert told.exit_code == 5
    assert "gate: throughput differs for the worse at" in told.errors
    told = compare(slower, BEFORE, *OF, "--gate", gate)
    assert (told.exit_code, told.errors) == (0, ""), "what differs for the better stops no merge"
    assert compare(slower, BEFORE, *OF, "--gate", gate, "--strict").exit_code == 5
    assert compare(BEFORE, slower, *OF, "--gate", gate, *BOUND).exit_code == 4


@pytest.mark.long
def test_sessions_of_the_baseline_tell_how_much_sessions_differ(compare, tmp_path: Path):
    sizes = tmp_path / "quickstart.yaml"
    sizes.write_text(QUICK.read_text())
    folders = [complete(tmp_path / f"day-{n}", sizes, 3).path for n in range(5)]
    first, second, third, *later = folders
    of = ("--of", "throughput", "--json")
    told = compare(first, later[0], "--history", second, "--history", third, *of)
    (part,) = json.loads(told.output)
    assert part["sides"][0] == f"{first} and {second} and {third}"
    assert any(
        "3 " in note and "each session counts as one value" in note for note in part["notes"]
    )
    assert {row["n_before"] for row in part["rows"]} == {9}
    told = compare(first, *later, "--history", second, "--together", *of)
    (part,) = json.loads(told.output)
    assert {row["n_after"] for row in part["rows"]} == {6}
    for words in ((first, second, "--history", third, *BOUND), (first, second, *BOUND[:1], "2")):
        assert compare(*words).exit_code == 2


def test_what_is_worse_ends_with_4(compare, slower: Path):
    told = compare(BEFORE, slower, "--of", "throughput", *BOUND)
    assert told.exit_code == 4
    assert told.output.startswith(f"{slower} against {BEFORE}: 6 worse")
    told = compare(BEFORE, slower, "--of", "throughput", *BOUND, "--json")
    rows = json.loads(told.output)[0]["rows"]
    assert [row["ratio"] for row in rows] == pytest.approx([0.1] * 6)
    table = compare(BEFORE, slower, "--of", "throughput", "--format", "csv", *BOUND).output
    assert pd.read_csv(io.StringIO(table))["verdict"].eq("worse").all()


def test_strict_ends_with_5_where_something_is_unclear(compare):
    assert compare(BEFORE, BEFORE, *OF, "--threshold", "0.1%").exit_code == 0
    assert compare(BEFORE, BEFORE, *OF, "--threshold", "0.1%", "--strict").exit_code == 5


@pytest.mark.long
def test_strict_of_a_gate_is_about_the_gates_own_conditions(compare, tmp_path: Path):
    """What a gate does not name, or is narrow enough for its threshold, is none of its business."""
    many = GALLERY / "cpu-stress"  # many runs, so its intervals are narrow
    of = ("--of", "throughput")
    gate = tmp_path / "gate.yaml"
    gate.write_text("gate: [{of: throughput, threshold: 90%}]\n")
    outcome = compare(many, many, *of, "--threshold", "0.1%", "--strict", "--gate", gate)
    assert "unclear" in outcome.output.splitlines()[0]
    assert outcome.exit_code == 0
    gate.write_text("gate: [{of: throughput, threshold: 0.1%}]\n")
    outcome = compare(many, many, *of, "--threshold", "90%", "--strict", "--gate", gate)
    assert "unclear" not in outcome.output.splitlines()[0]
    assert outcome.exit_code == 5


def test_of_list_prints_the_metrics_that_there_are(compare):
    told = compare(BEFORE, BEFORE, "--of", "list")
    assert told.exit_code == 0
    assert told.output.startswith("metrics here")
    assert "throughput_mbps" in told.output


def test_several_are_each_held_against_the_first(compare, slower: Path):
    told = compare(BEFORE, BEFORE, slower, "--of", "throughput", *BOUND)
    assert told.exit_code == 4
    assert told.output.count(f" against {BEFORE}: ") == 2


GATE = """\
gate:
  - {of: throughput, threshold: 5%, where: {send_size: 8192}}
  - {of: local_sd, threshold: 10%}
"""


@pytest.mark.long
def test_a_gate_fails_by_name(compare, slower: Path, tmp_path: Path):
    gate = tmp_path / "gate.yaml"
    gate.write_text(GATE)
    told = compare(BEFORE, slower, *OF, "--gate", gate, *BOUND)
    assert told.exit_code == 4
    lines = [line for line in told.errors.splitlines() if line.startswith("gate: ")]
    assert len(lines) == 3
    assert all("throughput is worse at" in line and "send_size 8192" in line for line in lines)
    gate.write_text("gate: [{of: local_sd}]\n")
    assert compare(BEFORE, slower, *OF, "--gate", gate).exit_code == 0, "only what the gate names"


def test_all_that_is_wrong_with_a_gate_is_told(compare, tmp_path: Path):
    gate = tmp_path / "gate.yaml"
    gate.write_text(
        "gate:\n  - {of: throughputt, treshold: 3%}\n  - {of: [], threshold: much, of: 1}\n  - no\n"
    )
    errors = compare(BEFORE, BEFORE, "--gate", gate).errors
    places = ("2: gate.0.treshold", "2: gate.0.of", "3: gate.1.of", "3: gate.1.threshold", "4: ")
    for place in places:
        assert f"gate.yaml:{place}" in errors
    assert "3: gate.1.of: is there twice" in errors


@pytest.mark.long
@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("gate: [{off: throughput}]", "gate.yaml:1: gate.0.off"),
        ("gate:\n  - {of: throughput, threshold: much}", "gate.yaml:2: gate.0.threshold"),
        ("{}", "gate.yaml"),
        ("gate: [{of: throughput, where: {colour: red}}]", "gate.0.where.colour: is no factor"),
        (
            "gate: [{of: throughput, where: {send_size: 77}}]",
            "gate.0.where.send_size: no configuration of both sides has 77; there are 1024, 8192\n",
        ),
    ],
)
def test_a_gate_that_cannot_be_is_told(compare, text: str, line: str, tmp_path: Path):
    gate = tmp_path / "gate.yaml"
    gate.write_text(text)
    told = compare(BEFORE, BEFORE, *OF, "--gate", gate)
    assert told.exit_code == 2
    assert line in told.errors


@pytest.mark.parametrize("words", [("--of", "nonsense"), ("--threshold", "much")])
def test_wrong_words_are_told(compare, words: tuple[str, str]):
    assert compare(BEFORE, BEFORE, *words).exit_code == 2


def test_fewer_runs_that_end_are_worse_and_a_gate_names_them(compare, tmp_path: Path):
    import netlimits as nl

    frame = nl.open(BEFORE).frame()
    lost = (frame["send_size"] == 8192) & (frame["block"] > 1)
    frame.loc[lost, "status"] = "timeout"
    runs, gate = tmp_path / "runs.csv", tmp_path / "gate.yaml"
    frame.to_csv(runs, index=False)
    gate.write_text("gate: [{of: throughput, where: {send_size: 8192}}]\n")
    told = compare(BEFORE, runs, "--gate", gate, "--of", "throughput")
    assert told.exit_code == 4
    assert "gate: throughput: fewer runs ended at" in told.errors
    assert "1 of 6 runs ok after, 6 of 6 before" in told.errors
    assert told.output.count("fewer runs: 1 of 6 runs ok after") == 3
    assert compare(runs, BEFORE, "--of", "throughput").exit_code == 0


@pytest.fixture
def broken(tmp_path: Path) -> Path:
    """The same runs as a file; those of the greatest send size came to nothing."""
    import netlimits as nl

    frame = nl.open(BEFORE).frame()
    lost = frame["send_size"] == frame["send_size"].max()
    frame.loc[lost, list(frame.attrs["columns"]["metrics"])] = None
    frame.loc[lost, "status"] = "timeout"
    frame.loc[lost, "reason"] = "no answer"
    path = tmp_path / "broken.csv"
    frame.to_csv(path, index=False)
    return path


@pytest.mark.long
def test_what_failed_ends_with_4_and_a_gate_that_covers_it_fails(compare, broken, tmp_path):
    told = compare(BEFORE, broken, "--of", "throughput")
    assert told.exit_code == 4
    assert "only before" not in told.output
    assert "3 failed" in told.output.splitlines()[0]
    assert "failed: 0 of 6 runs ok after" in told.output
    assert "6 and 0 of 6" in told.output
    assert "6 timeout; the first says: no answer" in told.output
    assert compare(broken, BEFORE, "--of", "throughput").exit_code == 0
    gate = tmp_path / "gate.yaml"
    gate.write_text("gate: [{of: throughput, where: {send_size: 8192}}]\n")
    told = compare(BEFORE, broken, *OF, "--gate", gate)
    assert told.exit_code == 4
    lines = [line for line in told.errors.splitlines() if line.startswith("gate: ")]
    assert len(lines) == 3
    assert all("send_size 8192" in line and "0 of 6 runs ok after" in line for line in lines)
    gate.write_text("gate: [{of: throughput, where: {send_size: 1024}}]\n")
    assert compare(BEFORE, broken, *OF, "--gate", gate).exit_code == 0


def test_a_gate_and_a_table_take_a_factor_called_statistic(compare, tmp_path):
    runs = tmp_path / "runs.csv"
    rows = [{"statistic": s, "throughput_mbps": 900 + n} for s in ("a", "b") for n in range(7)]
    pd.DataFrame(rows).to_csv(runs, index=False)
    assert "Statistic" in compare(runs, runs).output
    gate = tmp_path / "gate.yaml"
    gate.write_text("gate: [{of: throughput, where: {statistic: a}}]\n")
    assert compare(runs, runs, "--gate", gate).exit_code == 0


# -- duets ----------------------------------------------------------------------------------

NODELAY = (("measure.netperf.nodelay", "true"),)


@pytest.fixture(scope="module")
def whole_duet(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A duet whose new side carries 10 % less, on a machine that grows slower by 45 %."""
    return complete(tmp_path_factory.mktemp("whole") / "duet", QUICK, 10, NODELAY, loss=0.1).path


@pytest.fixture
def duet(tmp_path: Path, whole_duet: Path) -> Path:
    return shutil.copytree(whole_duet, tmp_path / "duet")


def test_the_sides_of_a_duet_are_compared_within_blocks(compare, duet: Path):
    told = compare(duet, "--of", "throughput")
    assert told.exit_code == 4
    assert told.output.startswith(f"{duet}: new against old: 4 worse")
    assert "interleaved in the same blocks" in told.output
    assert "two sessions" not in told.output
    (part,) = json.loads(compare(duet, "--of", "throughput", "--json").output)
    assert part["interleaved"]
    assert part["sides"] == ["old", "new"]
    assert [row["blocks"] for row in part["rows"]] == [10] * 4
    assert [row["ratio"] for row in part["rows"]] == pytest.approx([0.9] * 4, abs=0.03)


def test_a_gate_holds_a_duet(compare, duet: Path, tmp_path: Path):
    gate = tmp_path / "gate.yaml"
    gate.write_text("gate:\n  - {of: throughput, threshold: 5%, where: {protocol: tcp}}\n")
    told = compare(duet, "--of", "throughput", "--gate", gate, "--format", "markdown")
    assert told.exit_code == 4
    assert "| Throughput (Mbit/s) |" in told.output
    assert told.errors.count("gate: throughput is worse at protocol tcp") == 2
    gate.write_text("gate:\n  - {of: throughput, threshold: 20%}\n")
    assert compare(duet, "--of", "throughput", "--gate", gate).exit_code == 0


def test_one_campaign_that_is_no_duet_has_nothing_to_compare_with(duet: Path):
    for alone in (BEFORE, duet / "results.csv"):
        with pytest.raises(DataError, match=r"is not a duet|there is no such"):
            group.main(["compare", str(alone)], standalone_mode=False)


def test_a_duet_against_a_campaign_without_sides_matches_nothing(duet: Path, tmp_path: Path):
    alone = complete(tmp_path / "alone", QUICK, 2).path
    with pytest.raises(DataError, match="side is a factor on one side only"):
        group.main(["compare", str(duet), str(alone)], standalone_mode=False)


def test_a_duet_that_is_not_finished_says_what_is_left(compare, duet: Path):
    journal = duet / "journal.jsonl"
    lines = journal.read_bytes().splitlines(keepends=True)
    ends = [number for number, line in enumerate(lines) if b'"end"' in line]
    (duet / "results.json").unlink(missing_ok=True)
    journal.write_bytes(b"".join(lines[: ends[-8] + 1]))
    told = compare(duet, "--of", "throughput")
    assert "7 of 80 runs are pending" in told.output
    assert f"netlimits resume {duet}" in told.output


def test_the_second_sides_file_is_held_to_what_it_was(duet: Path):
    path = duet / "against.yaml"
    path.write_text(path.read_text().replace("seconds: 1", "seconds: 2"))
    with pytest.raises(ArchiveError, match=r"against.yaml: was changed since the campaign started"):
        group.main(["compare", str(duet)], standalone_mode=False)


# -- the page -------------------------------------------------------------------------------


@pytest.mark.long
def test_a_page_of_a_duet_and_of_two_campaigns(compare, duet: Path, slower: Path, tmp_path: Path):
    told = compare(duet, "--of", "throughput", "--report")
    assert told.output.splitlines()[-1] == str(duet / "comparison.html")
    page = (duet / "comparison.html").read_text()
    assert "Throughput (tcp, 1024 bytes) is worse: ×0." in page
    assert "interleaved in the same blocks" in page
    assert "--against measure.netperf.nodelay=true --sides old,new" in page

    out = tmp_path / "two.html"
    told = compare(BEFORE, slower, "--of", "throughput", "--json", "--report", out, *BOUND)
    json.loads(told.output)
    assert str(out) in told.errors
    page = out.read_text()
    assert page.count("is worse: ×0.100") == 3  # the table has all six
    assert "two sessions" in page


@pytest.mark.long
def test_a_gate_as_junit_has_a_case_for_each_condition_and_row(
    compare, slower: Path, tmp_path: Path
):
    gate = tmp_path / "gate.yaml"
    gate.write_text(GATE)
    words = (*OF, "--gate", gate, "--format", "junit")
    told = compare(BEFORE, slower, *words, *BOUND)
    assert told.exit_code == 4
    root = ElementTree.fromstring(told.output)
    (suite,) = root
    assert suite.get("name") == f"{slower} against {BEFORE}"
    cases = suite.findall("testcase")
    assert suite.get("tests") == root.get("tests") == str(len(cases))
    failed = [case for case in cases if case.find("failure") is not None]
    assert suite.get("failures") == str(len(failed)) == "3"
    assert {case.get("classname") for case in failed} == {"netlimits.gate.throughput"}
    assert failed[0].find("failure").get("message").startswith("throughput is worse at ")
    assert SCHEMA.is_valid(told.output), [*SCHEMA.iter_errors(told.output)]
    strict = ElementTree.fromstring(compare(BEFORE, BEFORE, *words, "--strict").output)
    loose = ElementTree.fromstring(compare(BEFORE, BEFORE, *words).output)
    assert int(loose[0].get("skipped")) == int(strict.get("failures")) - int(loose.get("failures"))


def test_junit_without_a_gate_is_refused(compare):
    told = compare(BEFORE, BEFORE, "--format", "junit")
    assert told.exit_code == 2
    assert "add --gate FILE" in told.errors


@pytest.mark.parametrize("option", [["--together"], ["--history", BEFORE]])
def test_options_about_other_campaigns_need_one(compare, option):
    told = compare(BEFORE, *option)
    assert told.exit_code == 2
    assert f"{option[0]} needs another campaign" in told.errors
