"""Tests lie as the package does: a folder for each package, a file for each module or way through several.

`tests/PACKAGE/test_MODULE.py` tests a module of the package, at whatever depth, or the package as a whole
(`tests/charts/test_charts.py`); `_lab` at its end says that hosts are needed, `_fuzz` that inputs are
drawn. What tests a way through several modules, or no module at all, is listed here, with the reason.
"""

from __future__ import annotations

from pathlib import Path

import conftest
import pytest

import netlimits

PACKAGE = Path(netlimits.__file__).parent
TESTS = Path(__file__).parent

BESIDE = {
    "captures": "outputs and what is read of them, in pairs",
    "docs": "the manual, docs/",
    "faults": "what is broken while a campaign runs, whatever module it meets",
    "fuzz": "drawn inputs for every reader of what others wrote",
    "recipes": "the toys that CONTRIBUTING's recipes make",
    "standins": "programs that stand in for others",
}
"""Folders of tests that are no package's."""

WAYS = {
    "archive/test_foreign_folder": "somebody else's folder, through every command that opens one",
    "campaign/test_threads": "runs of a mesh side by side: what their threads share",
    "campaign/test_duet_lab": "a duet on hosts, from --against to compare",
    "campaign/test_search_lab": "a search on hosts, from its file to the answer",
    "cli/test_completion": "a shell's completion, of every command",
    "evidence/test_both_ways": "what a kept Perl prints of evidence, and what commands do",
    "evidence/test_others": "the CPU time of other processes, from the sampler to the column",
    "experiment/test_own_figures": "the tools' own figures in a report, as every stage reads them",
    "experiment/test_when": "settings under a condition, from the file to a run's steps",
    "hosts/test_hostile": "logins that never answer, through ssh, streams and patience",
    "hosts/test_run": "the contract of Host.run, of every kind of host",
    "hosts/test_serve": "the contract of Host.serve, of every kind of host",
    "lab/test_guests_faults": "machines that cannot be had, from `lab up` down",
    "limits/test_in_tables": "verdicts beside a report's tables",
    "limits/test_measured": "the verdicts of runs that were measured",
    "settings/test_bystanders": "interfaces beside and upon the data interface, through all settings",
    "report/test_browser": "a page as a browser shows it",
    "report/test_repeat": "the commands by which a page says how to repeat a campaign",
    "restore/test_claimed": "what a host runs only under a claim or beside a guard, in Perl and in shell",
    "restore/test_races": "two processes that restore one host",
    "settings/test_in_namespaces": "every setting on a real kernel",
    "settings/test_on_e1000e": "settings of real drivers",
    "settings/test_on_machines": "settings of real drivers",
    "settings/test_states": "what holds of every setting's state",
    "settings/test_undo_both_ways": "a guard's way back and `restore`'s are one",
    "tools/test_programs": "programs at paths of their own, of every tool",
    "test_api": "the names that `import netlimits` offers",
    "test_benchmarks": "scripts/benchmarks.py",
    "test_conditions": "experiments/ and what the reports print of theirs",
    "test_coverage": "benchmarks/coverage.py",
    "test_demo": "scripts/demo",
    "test_diagnose": "benchmarks/diagnose.py",
    "test_disturbance": "benchmarks/disturbance.py and sampler.py",
    "test_docstrings": "the public surface",
    "test_engines": "benchmarks/engines.py",
    "test_experiments_lab": "experiments/ on hosts",
    "test_experiments_lab_pacing": "experiments/ on hosts",
    "test_experiments_lab_streams": "experiments/ on hosts",
    "test_gallery": "experiments/README.md",
    "test_gallery_archives": "scripts/gallery.py",
    "test_layers": "the layers",
    "test_mirror": "this file",
    "test_notebooks": "notebooks/",
    "test_service_demand": "benchmarks/service_demand.py",
    "test_situations": "benchmarks/situations.py",
    "test_verdicts": "benchmarks/verdicts.py",
    "test_pairs": "the pairs in captures/",
    "test_readme": "README.md",
    "test_recipes": "CONTRIBUTING.md",
    "test_registries": "settings, tools, charts",
    "test_security": "SECURITY.md",
    "test_security_sudo": "SECURITY.md",
}
"""Files of tests that are no module's -> what they test. Those of BESIDE's folders are none either."""

FILES = [
    path.relative_to(TESTS).with_suffix("").as_posix()
    for path in sorted(TESTS.rglob("test_*.py"))
    if path.relative_to(TESTS).parts[0] not in BESIDE
]


def modules(package: str) -> set[str]:
    """What a test of this package may be called after: its modules, each also with its folder's name."""
    folder = PACKAGE / package
    names = {package.rpartition("/")[2]}
    for path in folder.rglob("*.py"):
        parts = [part.strip("_") for part in path.relative_to(folder).with_suffix("").parts]
        parts = [part for part in parts if part != "init"]
        names |= {"_".join(parts[start:]) for start in range(len(parts))}
    return names


def of_a_module(file: str) -> bool:
    package, _, name = file.rpartition("/")
    name = name.removeprefix("test_")
    if not package:
        return name in {path.stem for path in PACKAGE.iterdir()}
    return bool({name, name.removesuffix("_lab"), name.removesuffix("_fuzz")} & modules(package))


def test_every_folder_of_tests_has_its_package():
    folders = {path.name for path in TESTS.iterdir() if path.is_dir()} - {"__pycache__"}
    strange = [name for name in folders - BESIDE.keys() if not (PACKAGE / name).is_dir()]
    assert not strange, f"{strange}: no packages; move them, or say in BESIDE what they are"
    assert not BESIDE.keys() - folders, "BESIDE names what is not there"


@pytest.mark.long
@pytest.mark.parametrize("file", FILES)
def test_every_file_of_tests_has_its_module_or_says_what_it_tests(file):
    way = file in WAYS or file.removesuffix("_lab") in WAYS
    assert of_a_module(file) != way, (
        f"tests/{file}.py: call it after the module that it tests, or add it to WAYS; not both"
    )


def test_what_is_said_of_files_is_said_of_files_that_are_there():
    assert not WAYS.keys() - set(FILES)
    assert not [name for name in conftest._LONGEST if not (TESTS / name).is_file()]


def test_a_name_that_no_module_has_is_seen():
    assert of_a_module("settings/test_qdisc_shown")
    assert of_a_module("charts/test_acks")
    assert of_a_module("tools/test_commands")
    assert not of_a_module("settings/test_shown_qdisc")
    assert not of_a_module("test_analysis_all")
