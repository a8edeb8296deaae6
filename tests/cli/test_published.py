import json
import re
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from netlimits import reproduce
from netlimits.cli.published import published
from netlimits.reproduce.published import folder

pytestmark = pytest.mark.long


def call(*words: object) -> Result:
    outcome = CliRunner().invoke(published, [str(w) for w in words])
    if outcome.exception and not isinstance(outcome.exception, SystemExit):
        raise outcome.exception
    return outcome


@pytest.fixture
def without_charts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Charts take seconds, and test_reproduce draws them: here their place is enough."""
    monkeypatch.setattr(reproduce.output.charts, "save", lambda figure, path: path)


def test_the_list_names_every_item_its_data_and_its_experiment() -> None:
    printed = call().output
    for report in reproduce.REPORTS:
        assert f"{report.name}: {report.title}" in printed
    for _, item in reproduce.ITEMS:
        assert item.heading in printed
    assert "data: data/ack-overhead.csv; measured by: " in printed
    lines = printed.splitlines()
    at = lines.index("  chart   Figure 2: Sample variance - TSO off")
    assert lines[at + 1].startswith("          data: none; measured by: ")
    assert "the report gives no data of this curve" in lines[at + 2]


def test_an_experiment_is_a_path_only_where_the_file_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import netlimits

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(netlimits, "__file__", str(tmp_path / "netlimits" / "__init__.py"))
    assert "measured by: mtu-aggregate (not shipped yet)\n" in call().output
    (tmp_path / "experiments").mkdir()
    (tmp_path / "experiments" / "mtu-aggregate.yaml").touch()
    assert "measured by: experiments/mtu-aggregate.yaml\n" in call().output
    files = {item["item"]: item["experiment_file"] for item in json.loads(call("--json").output)}
    assert files["aggregate-throughput"] == "experiments/mtu-aggregate.yaml"
    assert files["summary"] is None


def test_every_experiment_named_is_there_or_said_not_to_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    checkout = Path(__file__).parents[2]
    named = re.findall(r"measured by: (.+)", call().output)
    items = json.loads(call("--json").output)
    assert len(named) == len(items)
    for label, item in zip(named, items, strict=True):
        path = f"experiments/{item['experiment']}.yaml"
        shipped = (checkout / path).is_file()
        assert label == (path if shipped else f"{item['experiment']} (not shipped yet)")
        assert item["experiment_file"] == (path if shipped else None)


def test_all_agree_and_the_exit_status_says_so(tmp_path: Path, without_charts: None) -> None:
    outcome = call("--out", tmp_path / "again")
    assert outcome.exit_code == 0
    lines = outcome.output.splitlines()
    assert (
        "    agrees     improvement: Throughput, UDP: printed 3.81, came out 3.8114 [3.8109, 3.8119]"
        in lines
    )
    assert any(
        line.startswith("    slip       plain Ethernet, MTU 1500: payload") for line in lines
    )
    assert any("no data" in line and "tool-comparison measures it" in line for line in lines)
    assert any("the report gives no data of this curve" in line for line in lines)
    assert ", 0 differ, 3 slips" in lines[-6]
    assert lines[-6].startswith("82 recomputed from other printed numbers: 67 agree")
    assert [Path(line).name for line in lines[-3:]] == [
        "comparison.csv",
        "comparison.md",
        "comparison.json",
    ]
    assert all(Path(line).stat().st_size for line in lines[-3:])


def test_a_changed_digit_exits_with_1(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, without_charts: None
) -> None:
    copy = tmp_path / "data"
    shutil.copytree(folder(), copy)
    monkeypatch.setattr("netlimits.reproduce.published.folder", lambda: copy)
    path = copy / "ack-overhead.csv"
    path.write_text(path.read_text().replace("17.04,,2.966", "17.04,,2.866"))
    outcome = call("--out", tmp_path / "again")
    assert outcome.exit_code == 1
    assert (
        "    hedged     TSO off: service demand at 8, less than at 2 by: printed about 23 %"
        in outcome.output
    )
    assert "run 7: 2.9" in outcome.output
    assert "differs" in (tmp_path / "again" / "comparison.csv").read_text()


def test_a_program_reads_json(tmp_path: Path, without_charts: None) -> None:
    outcome = call("--out", tmp_path / "again", "--json")
    report = json.loads(outcome.output)
    assert outcome.exit_code == 0
    assert len(report["items"]) == len(reproduce.ITEMS)
    assert {row["verdict"] for row in report["comparisons"]} == {
        "agrees",
        "as printed",
        "beside",
        "condition",
        "hedged",
        "no data",
        "slip",
    }
    assert {row["kind"] for row in report["comparisons"]} == {"recomputed", "transcribed", "stated"}
    assert any(
        file.endswith("charts/ack-overhead.svg")
        for item in report["items"]
        for file in item["files"]
    )
    assert len(report["files"]) == 3
