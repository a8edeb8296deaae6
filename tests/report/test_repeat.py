"""What the page says of repeating a duet makes the same plan again."""

from __future__ import annotations

import shlex
from pathlib import Path
from types import SimpleNamespace

import pytest
from click.testing import CliRunner
from folders import complete

from netlimits.archive import reader
from netlimits.campaign import creation
from netlimits.cli import group
from netlimits.errors import DataError
from netlimits.experiment import duet, load
from netlimits.experiment.plan import Plan
from netlimits.limits import sequel
from netlimits.model import Experiment, Machine
from netlimits.report import contents

TEXT = """\
experiment: repeated
factors: {send_size: [64, 1024]}
measure: {netperf: {seconds: 1, send_size: "${send_size}"}}
repeat: {replicates: 3}
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "x.yaml"
    path.write_text(TEXT)
    return path


def planned_again(campaign: reader.Campaign, folder: Path) -> str:
    """The plan that the files and the command of `repeat` make."""
    lines, files = contents.repeat(campaign)
    for name, text in files:
        (folder / name).write_text(text)
    words = shlex.split(lines[-1])
    assert words[:2] == ["netlimits", "run"]
    out = folder / "again.csv"
    done = CliRunner().invoke(group, ["plan", *words[2:], "--csv", str(out)])
    assert done.exit_code == 0, done
    return out.read_text()


@pytest.mark.parametrize("replicates", [None, 2])
def test_a_duet_is_planned_again_to_the_letter(file, tmp_path, monkeypatch, replicates):
    change = (("measure.netperf.nodelay", "true"), ("measure.netperf.seconds", "2"))
    campaign = complete(tmp_path / "out", file, replicates, change)
    again = tmp_path / "again"
    again.mkdir()
    monkeypatch.chdir(again)
    assert planned_again(campaign, again) == (campaign.path / "plan.csv").read_text()


def test_one_of_the_same_is_a_duet_again(file, tmp_path, monkeypatch):
    campaign = complete(tmp_path / "out", file, None, (("question", "q"),))
    monkeypatch.chdir(tmp_path)
    assert "question=q" in contents.repeat(campaign)[0][-1]
    assert planned_again(campaign, tmp_path) == (campaign.path / "plan.csv").read_text()


def on_other_machines(file: Path) -> Experiment:
    before, after = load.sides(file, (("repeat.seed", "3"),), None, ())
    here = {role: Machine(role, f"vm-{role}") for role in before.roles}
    elsewhere = {**here, "receiver": Machine("receiver", "vm9")}
    return duet.duet(before, after, roles=duet.other_roles(before, here, elsewhere, "after"))


def test_other_machines_have_a_hosts_file_of_their_own(file):
    experiment = on_other_machines(file)

    machines = {role: Machine(role, f"vm-{role}") for role in experiment.roles}
    archive = SimpleNamespace(meta={"seed": 3}, machines=machines, extensions=list)
    folder = SimpleNamespace(imported=None, archive=archive, experiment=experiment)
    lines, files = contents.repeat(folder)  # type: ignore[arg-type]
    assert lines[-1].endswith("--against-hosts hosts-against.yaml")
    here = dict(files)["hosts.yaml"]
    assert here == "sender: {ssh: vm-sender}\nreceiver: {ssh: vm-receiver}\n"
    assert "receiver: {ssh: vm-after-receiver}" in dict(files)["hosts-against.yaml"]
    assert creation._against(experiment)["against"]["roles"] == {"receiver": "after-receiver"}
    assert len(Plan(experiment)) == 12


def test_no_sequel_is_made_of_a_duet(file, tmp_path):
    campaign = complete(tmp_path / "out", file, None, (("question", "q"),))
    with pytest.raises(DataError, match="is a duet"):
        sequel.sequel(campaign)


def test_runs_that_were_added_are_added_again(file: Path, tmp_path: Path):
    campaign = complete(tmp_path / "out", file)
    first, _ = contents.repeat(campaign)
    campaign.archive.lock()
    longer = campaign.extend(2, 77)
    campaign.archive.close()
    lines, _ = contents.repeat(longer)
    assert lines == [*first, "netlimits extend RESULTS --replicates 2 --seed 77"]
    words = shlex.split(lines[-1])
    extended = campaign.plan.as_begun().extended(int(words[4]), int(words[6]))
    assert [*extended.runs()] == [*longer.plan.runs()]
