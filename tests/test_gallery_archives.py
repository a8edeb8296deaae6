"""scripts/gallery.py: what it keeps of a campaign is small and opens; each figure is drawn and told."""

from __future__ import annotations

import functools
import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType

import pandas as pd
import pytest
from click.testing import CliRunner

import netlimits as nl
from netlimits.cli.figures import figures
from netlimits.experiment import load
from netlimits.reproduce import marks

TOP = Path(__file__).parents[1]
KEPT = TOP / "experiments" / "gallery"
ARCHIVES = sorted(path.name for path in KEPT.iterdir() if path.is_dir())
TEXT = (TOP / "experiments" / "README.md").read_text()
OF_A_MACHINE = re.compile(r"(?<![\w.])/(?:tmp|root|home|work|opt|mnt|srv|Users)/|\b[A-Z]:\\")
KIB = 1024


@pytest.fixture(scope="module")
def gallery() -> ModuleType:
    spec = importlib.util.spec_from_file_location("gallery", TOP / "scripts" / "gallery.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules["gallery"] = module  # dataclasses look their module up
    sys.path.insert(0, str(TOP / "scripts"))  # as for a script that is run
    spec.loader.exec_module(module)
    module.claims.table = functools.cache(module.claims.table)  # it takes seconds
    return module


def test_what_is_kept_says_all_that_the_campaign_said(gallery: ModuleType, tmp_path: Path):
    whole = TOP / "notebooks" / "example-campaign"
    gallery.keep(whole, tmp_path / "kept")
    kept = {path.name for path in (tmp_path / "kept").iterdir()}
    assert kept == {"campaign.json", "experiment.yaml", "plan.csv", "hosts", "journal.jsonl"}
    before, after = (nl.open(path).frame() for path in (whole, tmp_path / "kept"))
    pd.testing.assert_frame_equal(before, after)
    (tmp_path / "kept" / "old").touch()
    gallery.keep(whole, tmp_path / "kept", traces=True)
    assert (tmp_path / "kept" / "raw").is_dir()
    assert not (tmp_path / "kept" / "old").exists()


def test_every_experiment_has_its_form(gallery: ModuleType):
    experiments = {p.stem for p in (TOP / "experiments").glob("*.yaml")}
    assert set(gallery.FORMS) == experiments - {"highest-rate", "rrul"}, "these are of no report"


@pytest.mark.parametrize("short", [False, True])
def test_every_form_is_an_experiment_that_can_be_planned(gallery: ModuleType, short: bool):
    for name, form in gallery.FORMS.items():
        words = form.words(short=short)
        assert words[::2] == ["--set"] * (len(words) // 2)
        pairs = [tuple(word.split("=", 1)) for word in words[1::2]]
        load.load(TOP / "experiments" / f"{name}.yaml", pairs)


@pytest.mark.long
@pytest.mark.parametrize("name", ARCHIVES)
def test_an_archive_is_small_and_of_nobodys_machine(name: str):
    files = [path for path in (KEPT / name).rglob("*") if path.is_file()]
    most = 4608 if (KEPT / name / "raw").is_dir() else 1536  # packets of every run
    assert sum(path.stat().st_size for path in files) < most * KIB
    for path in files:
        assert not OF_A_MACHINE.search(path.read_text("utf-8")), path
    state = nl.open(KEPT / name).state()
    assert (state["left"], state["not_put_back"]) == (0, [])


@pytest.mark.long
def test_readme_tells_where_it_was_measured_and_what_came_out(gallery: ModuleType):
    assert gallery.told(TEXT) == TEXT, "scripts/gallery.py --draw writes it"
    assert gallery.provenance() in TEXT
    example = nl.open(TOP / "notebooks" / "example-campaign")
    assert gallery._place(example) == "the lab's namespaces, one kernel"


@pytest.mark.long
def test_claims_on_offloads_are_judged_by_both_campaigns(gallery: ModuleType):
    rows = [ln for ln in TEXT.splitlines() if ln.startswith("| TCP with offloads on against off")]
    words = [row.split(" | ")[:2] for row in rows]
    both = {claim: {name for other, name in words if other == claim} for claim, _ in words}
    assert len(both) == 6
    assert {frozenset(names) for names in both.values()} == {
        frozenset({"stateless-offloads", "stateless-offloads-gro-hw"})
    }
    assert gallery.claims.unsupported(TEXT, KEPT) == []


@pytest.mark.long
def test_claims_fail_where_the_data_do_not_support_a_row(gallery: ModuleType):
    claims = gallery.claims
    assert claims.unsupported(TEXT, KEPT) == []
    (line,) = [ln for ln in TEXT.splitlines() if ln.startswith("| nttcp takes significantly more")]
    assert line.endswith("| does not hold |")
    bolder = line.replace("does not hold", "holds")
    assert claims.unsupported(TEXT.replace(line, bolder), KEPT) == [
        f"the data do not support: {bolder}",
        f"is missing: {line}",
    ]
    assert claims.unsupported(TEXT.replace(f"{line}\n", ""), KEPT) == [f"is missing: {line}"]
    below = "| tso saves half | tso | 1 run, 1 block | 0.50 | holds |"
    for place in (
        "\nThe lab's machines share",
        "\n## The figures that",
    ):  # of its section, of another
        page = TEXT.replace(place, f"\n{below}\n{place}")
        assert claims.unsupported(page, KEPT) == [f"the data do not support: {below}"]
    assert claims.unsupported(f"{TEXT}\n{below}", KEPT) == [f"the data do not support: {below}"]
    rows = [
        ln.split(" | ")
        for ln in TEXT.splitlines()
        if re.search(r"\| (holds|does not hold|undecided|too few blocks) \|$", ln)
    ]
    assert len(rows) > 20
    for _, experiment, basis, interval, _ in rows:
        assert experiment in gallery.FORMS
        assert re.fullmatch(r"\d+ runs, (\d+|no) blocks?", basis)
        assert re.fullmatch(r"\d+\.\d\d( \[\d+\.\d\d, \d+\.\d\d\])?", interval)


@pytest.mark.long
def test_every_figure_is_drawn_from_what_is_kept_and_told(gallery: ModuleType):
    names = [f"turin-{number}" for number in marks.FIGURES]
    for name in (*names, "headers-aggregate"):
        assert (TOP / "experiments" / "figures" / f"{name}.png").stat().st_size > 1000
        (told,) = re.findall(
            rf"^\| !\[[^\]]+\]\(figures/{name}\.png\) \| (.+) \|$", TEXT, re.MULTILINE
        )
        assert re.search(r"Same: .+\. Not the same: .+\.", told), name


@pytest.mark.long
@pytest.mark.parametrize("name", ["mtu-aggregate-capped", "latency-under-load"])
def test_charts_have_room(name: str, tmp_path: Path):
    """A layout that does not fit is a warning of matplotlib's, and so an error here."""
    ran = CliRunner().invoke(figures, [str(KEPT / name), "--out", str(tmp_path)])
    # 1: short runs have no window of two minutes, and a look in mid-run may miss a process
    assert isinstance(ran.exception, SystemExit | None), ran.exception
    assert ran.exit_code in (0, 1), ran.output
    assert [*tmp_path.glob("*.svg")]
