"""CONTRIBUTING's recipes: an object of each kind is added by them alone, to a copy, and works.

A tool, a setting and a chart are real: qperf, the length of the transmit queue, and a chart of the
runs in order. Their files lie in `recipes/KIND/`, at their places in the repository. The other
objects are toys, one file of `recipes/` each, without tests. A recipe also inserts lines into files.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

import netlimits

TESTS = Path(__file__).parent
ROOT = TESTS.parent
RECIPES_FOLDER = TESTS / "recipes"
PACKAGE = Path(netlimits.__file__).parent
TEXT = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
SECTIONS = {
    match[1]: match[2]
    for match in re.finditer(r"^## Add an? (.+?)\n(.*?)(?=^## |\Z)", TEXT, re.MULTILINE | re.DOTALL)
}

CAMPAIGN = """\
experiment: toys
factors: {send_size: [64, 128]}
SETTINGS
measure:
  TOOL: {seconds: 1, send_size: "${send_size}"}
repeat: {replicates: 1, order: listed, seed: 1}
"""
RUNS = "send_size,throughput_mbps,toy_rate_hz\n64,100,5\n64,110,6\n128,200,7\n128,210,8\n"
REPORT = "report:\n  - {chart: run_order, of: throughput}\n"


def campaign(tool: str = "netperf", settings: str = "") -> str:
    return CAMPAIGN.replace("TOOL", tool).replace("SETTINGS", settings)


RUN = ("campaign.py", "toys.yaml", "results")
"""`recipes/campaign.py` rather than the command line."""

LABELS = ("../../benchmarks/verdicts.py", "--list")


@dataclass(frozen=True)
class Recipe:
    """A new object: its files, the lines to insert, and what shows that it works.

    Attributes:
        kind: Title of the recipe.
        new: The word in capitals that the recipe's files have -> the name of the new object.
        lines: (file, beginning of the line before, line); the last one registers the object.
        shown: Commands, and what each of them prints; the quickest is the first.
        files: Files for the commands.
    """

    kind: str
    new: Mapping[str, str]
    lines: Sequence[tuple[str, str, str]]
    shown: Sequence[tuple[tuple[str, ...], str]]
    files: Mapping[str, str]

    @property
    def tree(self) -> Path:
        """The folder with a real object's files, at their places in the repository."""
        return RECIPES_FOLDER / self.kind

    def new_files(self) -> dict[str, Path]:
        """Return new file, from the root of the repository -> its source."""
        if self.tree.is_dir():
            sources = (path for path in self.tree.rglob("*") if path.is_file())
            return {
                str(path.relative_to(self.tree)): path
                for path in sources
                if "__pycache__" not in path.parts
            }
        source = RECIPES_FOLDER / f"{self.kind.rpartition(' ')[2]}.py"
        package = [path for path in names(self) if path.startswith("netlimits/")]
        return dict.fromkeys((path for path in package if not (ROOT / path).exists()), source)


RECIPES = (
    Recipe(
        "tool",
        {"TOOL": "qperf"},
        [
            ("netlimits/tools/__init__.py", "from netlimits.tools.nuttcp ", "from netlimits.tools.qperf import Qperf"),
            ("netlimits/tools/__init__.py", "    Irtt(),", "    Qperf(),"),
        ],
        [
            (("describe", "tools"), r"qperf.*qperf.*19765"),
            (("describe", "metrics"), r"begins with netperf_, .*qperf_"),
            (RUN, r"run 2: ok"),
            (("table", "results", "--of", "remote_recv_throughput"), r"64 +12399"),
        ],
        {"toys.yaml": campaign("qperf")},
    ),
    Recipe(
        "setting",
        {"SETTING": "txqueuelen"},
        [
            ("SECURITY.md", "    /usr/bin/tee ^/sys/class/net/[A-Za-z0-9_][A-Za-z0-9_.:-]{0,14}/(gro", "    /usr/bin/tee ^/sys/class/net/[A-Za-z0-9_][A-Za-z0-9_.:-]{0,14}/tx_queue_len$, \\"),
            ("docs/how-to/settings.md", "| `napi` ", "| `txqueuelen` | the length of the transmit queue | `txqueuelen: 500` |"),
            (
                "tests/setting_examples.py",
                "EXAMPLES: ",
                '    "txqueuelen": Example({"packets": 1000}, (({"packets": "1; x"}, "cannot be"),), veth=(500, 2000)),',
            ),
            ("netlimits/settings/__init__.py", "from netlimits.settings.tunnel ", "from netlimits.settings.txqueuelen import Txqueuelen"),
            ("netlimits/settings/__init__.py", "    Napi(),", "    Txqueuelen(),  # a new default qdisc takes its limit from it"),
        ],
        [
            (("describe", "txqueuelen"), r"Packets that the default qdiscs"),
            (("plan", "toys.yaml", "--commands", "--rows", "1"), r"tee \S+/tx_queue_len"),
            (RUN, r"run 2: ok\nwritten 500 1000"),
        ],
        {"toys.yaml": campaign(settings="settings: [{roles: [sender], txqueuelen: 500}]")},
    ),
    Recipe(
        "check",
        {"CHECK": "weather"},
        [
            ("netlimits/checks/__init__.py", "from netlimits.checks.trace ", "from netlimits.checks.weather import Weather"),
            ("netlimits/checks/__init__.py", "    Traces(),", "    Weather(),"),
        ],
        [
            (("describe", "checks"), r"weather +Whether a host's weather is fine"),
            (RUN, r"receiver: weather: there is a storm; wait for it to pass"),
        ],
        {"toys.yaml": campaign()},
    ),
    Recipe(
        "piece of evidence",
        {"EVIDENCE": "toys"},
        [
            ("netlimits/metrics/catalogue.py", "_OF_BOTH_ENDS: ", '    _metric("toys_broken", "", "Toys broken", "toys", "lower"),'),
            ("netlimits/evidence/counted/__init__.py", "from netlimits.evidence.counted.queues ", "from netlimits.evidence.counted.toys import Toys"),
            ("netlimits/evidence/counted/__init__.py", "    Nic(),", "    Toys(),"),
        ],
        [
            (("plan", "toys.yaml", "--commands", "--all"), r"cat /proc/toys"),
            (RUN, r"run 2: ok"),
            (("table", "results", "--of", "remote_toys_broken"), r"Toys broken, receiver(?s:.*)7"),
        ],
        {"toys.yaml": campaign()},
    ),
    Recipe(
        "metric",
        {},
        [("netlimits/metrics/catalogue.py", "METRICS: ", '    _metric("toy_rate", "hz", "Toys a second", "Hz", "higher"),')],
        [
            (("describe", "toy_rate"), r"toy_rate_hz(?s:.*)Hz(?s:.*)Toys a second"),
            (("table", "runs.csv", "--of", "toy_rate", "--rows", "send_size"), r"Toys a second \(Hz - Higher is Better\)"),
        ],
        {"runs.csv": RUNS},
    ),
    Recipe(
        "chart",
        {"CHART": "run_order", "EXPERIMENT": "quickstart"},
        [
            ("experiments/quickstart.yaml", "    title: Throughput over loopback", "  - {chart: run_order, of: throughput}"),
            (
                "netlimits/charts/__init__.py",
                '         table="charts.kinds.bursts.sizes"',
                '    ChartKind("run_order", "run_order", "runs", {"of": REQUIRED, "series": (), "title": None},'
                ' "charts.kinds.run_order.in_order", narrow=True),',
            ),
        ],
        [
            (("describe", "run_order"), r"chart run_order"),
            (("figures", "runs.csv", "--chart", "run_order", "--of", "throughput", "--format", "svg"), r"run_order-throughput\.svg"),
            (RUN, r"run 2: ok"),
            (("report", "results"), r"report\.html"),
        ],
        {"toys.yaml": campaign() + REPORT, "runs.csv": RUNS},
    ),
    Recipe(
        "command",
        {"COMMAND": "toy"},
        [("netlimits/cli/__init__.py", "COMMANDS: ", '    "toy": "Count toys.",')],
        [
            (("toy", "--help"), r"Count toys\.(?s:.*)netlimits toy --count 2"),
            (("--help",), r"toy +Count toys\."),
            (("toy",), r"there are 3 toys"),
        ],
        {},
    ),
    Recipe(
        "class of limits",
        {"CLASS": "tired_toy"},
        [
            ("netlimits/limits/changes.py", "CHANGES: ", '    "winding": streams,'),
            ("netlimits/limits/classes/__init__.py", "from netlimits.limits.classes.host.softirq_core ", "from netlimits.limits.classes.host.tired_toy import TiredToy"),
            ("netlimits/limits/classes/__init__.py", "CLASSES: ", "    TiredToy(),"),
        ],
        [
            (("explain", "runs.csv"), r"tired-toy(?s:.*)The toy is tired\."),
            (RUN, r"run 2: ok"),
            (("explain", "results", "--next", "next.yaml", "--suspect", "tired-toy"), r"next\.yaml"),
            (LABELS, r"tired-toy\.1 +lab up --machines"),
        ],
        {"runs.csv": RUNS, "toys.yaml": campaign()},
    ),
    Recipe(
        "format of export",
        {"FORMAT": "toywords"},
        [
            ("netlimits/export/__init__.py", "from netlimits.export.openmetrics ", "from netlimits.export.toywords import toywords"),
            ("netlimits/export/__init__.py", "FORMATS: ", '    "toywords": toywords,'),
        ],
        [(("export", "runs.csv", "--format", "toywords"), r"toy 64 110\ntoy 128 200\n")],
        {"runs.csv": RUNS},
    ),
)  # fmt: skip


class Copy:
    """A copy of the repository that recipes change, and a process that runs commands with it."""

    COPIED = ("netlimits", "tests", "docs", "SECURITY.md")
    """What recipes change. Everything else is a link to the original."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for path in ROOT.iterdir():
            if path.is_dir() and path.name in self.COPIED:
                ignored = shutil.ignore_patterns("recipes")  # with bytecode, to save time
                shutil.copytree(path, folder / path.name, symlinks=True, ignore=ignored)
            elif path.name in self.COPIED:
                shutil.copy2(path, folder)
            elif path.name == "experiments":
                (folder / path.name).mkdir()
                for inside in path.iterdir():
                    if inside.is_dir():
                        (folder / path.name / inside.name).symlink_to(inside)
                    else:
                        shutil.copy2(inside, folder / path.name)
            else:
                (folder / path.name).symlink_to(path)
        self.process = subprocess.Popen(
            [sys.executable, str(RECIPES_FOLDER / "in_turn.py"), str(folder)],
            env={
                **os.environ,
                "PYTHONPATH": str(folder / "tests"),
                "PYTHONDONTWRITEBYTECODE": "",  # the next command need not compile it again
                "COLUMNS": "200",
            },
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def output(self, folder: Path, command: tuple[str, ...]) -> str:
        words = ["netlimits", *command]
        if command[0].endswith(".py"):
            words = [str(RECIPES_FOLDER / command[0]), *command[1:]]
        assert self.process.stdin
        assert self.process.stdout
        print(json.dumps([str(folder), words]), file=self.process.stdin, flush=True)
        return "".join(iter(self.process.stdout.readline, "\0\n"))

    def add(self, recipe: Recipe) -> None:
        """Write the new files of a recipe."""
        for path, source in recipe.new_files().items():
            (self.folder / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, self.folder / path)

    def insert(self, lines: Sequence[tuple[str, str, str]]) -> None:
        for path, before, line in lines:
            file = self.folder / path
            text = file.read_text("utf-8").splitlines()
            (place,) = [number for number, present in enumerate(text) if present.startswith(before)]
            text.insert(place + 1, line)
            file.write_text("\n".join(text) + "\n", "utf-8")

    def undo(self, recipe: Recipe) -> None:
        for path in recipe.new_files():
            (self.folder / path).unlink()
        for path, _, _ in recipe.lines:
            shutil.copy2(ROOT / path, self.folder / path)


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Copy]:
    copy = Copy(tmp_path_factory.mktemp("copy"))
    yield copy
    copy.process.communicate()


def files(section: str) -> list[str]:
    """Return the files that a recipe names; a folder ends with a slash."""
    (named,) = re.findall(r"^Files: (.*?)\.\n", section, re.MULTILINE | re.DOTALL)
    return re.findall(r"`([^`]+/[^`]*|[A-Z]+\.md)`", named)


def names(recipe: Recipe) -> list[str]:
    """Return the files that a recipe names, for its new object."""
    named = files(SECTIONS[recipe.kind])
    for word, name in recipe.new.items():
        named = [path.replace(word, name) for path in named]
    return named


@pytest.mark.long
@pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: recipe.kind)
def test_a_recipe_is_all_that_it_takes(recipe: Recipe, copy: Copy, tmp_path: Path) -> None:
    touched = {*recipe.new_files(), *(path for path, _, _ in recipe.lines)}
    named = names(recipe)
    covered = {name: {path for path in touched if path.startswith(name)} for name in named}
    needed = [name for name in named if recipe in REAL or name.startswith("netlimits/")]
    assert all(covered[name] for name in needed), "a file that the recipe names and does not need"
    assert set().union(*covered.values()) == touched, "a file that the recipe does not name"
    for path, content in recipe.files.items():
        (tmp_path / path).write_text(content, "utf-8")
    *others, registration = recipe.lines
    first, pattern = recipe.shown[0]
    try:
        copy.add(recipe)
        copy.insert(others)
        printed = copy.output(tmp_path, first)
        assert not re.search(pattern, printed), "it is known without its line in the registry"
        copy.insert([registration])
        for command, pattern in recipe.shown:
            printed = copy.output(tmp_path, command)
            assert re.search(pattern, printed), (command, printed)
    finally:
        copy.undo(recipe)


REAL = [recipe for recipe in RECIPES if recipe.tree.is_dir()]
"""Recipes whose object is real and whole, with its captures and tests."""


def test_a_setting_a_tool_and_a_chart_are_real():
    assert [recipe.kind for recipe in REAL] == ["tool", "setting", "chart"]


def test_no_test_over_a_registry_needs_to_know_a_new_object(copy: Copy, tmp_path: Path) -> None:
    """Every such test passes with the new tool, setting and chart, and so do their own tests."""
    try:
        for recipe in REAL:
            copy.add(recipe)
            copy.insert(recipe.lines)
        own = [path for recipe in REAL for path in recipe.new_files() if "/test_" in path]
        new = [next(iter(recipe.new.values())) for recipe in REAL]
        command = ("registered.py", str(copy.folder), ",".join(new), *own)
        printed = copy.output(copy.folder, command)
        (passed,) = re.findall(r"(\d+) passed", printed) or [0]
        assert int(passed) > 30, printed
        assert not re.search(r"\d+ (failed|error)", printed), printed
    finally:
        for recipe in REAL:
            copy.undo(recipe)


@pytest.mark.lab
def test_a_new_setting_is_restored_on_a_veth(copy: Copy, tmp_path: Path) -> None:
    (recipe,) = [recipe for recipe in REAL if recipe.kind == "setting"]
    try:
        copy.add(recipe)
        copy.insert(recipe.lines)
        (own,) = [path for path in recipe.new_files() if "/test_" in path]
        command = ("registered.py", str(copy.folder), "", own, "-m", "lab")
        printed = copy.output(copy.folder, command)
        assert "1 passed" in printed, printed
    finally:
        copy.undo(recipe)


@pytest.mark.parametrize("kind", [kind for kind in SECTIONS if "Files:" in SECTIONS[kind]])
def test_no_recipe_touches_more_than_one_new_file_and_two_that_are_there(kind: str) -> None:
    """In the package. Its tests, captures and texts come in addition."""
    named = files(SECTIONS[kind])
    new = [path for path in named if re.search("[A-Z]{2,}(?!.*\\.md)", path)]
    old = [path for path in named if (ROOT / path).exists()]
    assert sorted(old + new) == sorted(named), "a file that is there, or one that CAPITALS name"
    assert len([path for path in new if path.startswith("netlimits/")]) <= 1
    assert len([path for path in old if path.startswith("netlimits/")]) <= 2


def test_every_recipe_is_walked_but_that_of_tests_alone() -> None:
    walked = {recipe.kind for recipe in RECIPES}
    assert SECTIONS.keys() - walked == {"attack"}


def test_what_the_text_names_is_there() -> None:
    """Files, and tables of the code; words in capitals are the reader's where a file has them too."""
    words = set(re.findall(r"`([^`\s]+)`", TEXT))
    paths = {word for word in words if "/" in word and re.fullmatch(r"[a-z_/.]+", word)}
    places = (ROOT, PACKAGE, TESTS, TESTS / "captures")
    lost = [path for path in paths if not any((place / path).exists() for place in places)]
    assert not lost
    chosen = {name for word in words if "/" in word for name in re.findall("[A-Z]{2,}", word)}
    tables = {word for word in words if re.fullmatch("_?[A-Z_]{4,}", word)} - chosen
    sources = [
        path.read_text("utf-8") for folder in (PACKAGE, TESTS) for path in folder.rglob("*.py")
    ]
    assert {"SETTINGS", "_OF_BOTH_ENDS", "FAMILIES"} <= tables
    assert not [
        name
        for name in tables
        if not any(re.search(rf"^{name}\b.*=", text, re.MULTILINE) for text in sources)
    ]
