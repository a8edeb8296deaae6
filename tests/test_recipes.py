"""CONTRIBUTING's recipes: a toy of each kind is added by them alone, to a copy, and works.

A recipe names its files: at most one new and two that are there, beside tests and README's table.
The new files lie in `recipes/`; what goes into the others is a line after a line.
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
PACKAGE = Path(netlimits.__file__).parent
TEXT = (TESTS.parent / "CONTRIBUTING.md").read_text("utf-8")
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
REPORT = "report:\n  - {chart: toybars, toy_level: 150}\n"


def campaign(tool: str = "netperf", settings: str = "") -> str:
    return CAMPAIGN.replace("TOOL", tool).replace("SETTINGS", settings)


RUN = ("campaign.py", "toys.yaml", "results")
"""`recipes/campaign.py` rather than the command line."""

LABELS = ("../../benchmarks/verdicts.py", "--list")


@dataclass(frozen=True)
class Recipe:
    """A toy: its new file, the lines after which lines come in, and what shows that it works.

    `lines` are (file, the line before or what it begins with, the line); the last registers it.
    `shown` are commands and what each prints; the first is the quickest.
    """

    kind: str
    new: Mapping[str, str]
    lines: Sequence[tuple[str, str, str]]
    shown: Sequence[tuple[tuple[str, ...], str]]
    files: Mapping[str, str]


RECIPES = (
    Recipe(
        "tool",
        {"netlimits/tools/TOOL.py": "toynet"},
        [
            ("tools/__init__.py", "from netlimits.tools.nuttcp ", "from netlimits.tools.toynet import Toynet"),
            ("tools/__init__.py", "    Nttcp(),", "    Toynet(),"),
        ],
        [
            (("describe", "tools"), r"toynet.*toyserver.*4242"),
            (("describe", "metrics"), r"begins with netperf_, .*toynet_, "),
            (RUN, r"run 2: ok"),
            (("table", "results", "--of", "toynet_local_process_cpu"), r"by toynet(?s:.*)25"),
        ],
        {"toys.yaml": campaign("toynet")},
    ),
    Recipe(
        "setting",
        {"netlimits/settings/SETTING.py": "toggle"},
        [
            ("settings/__init__.py", "from netlimits.settings.sysctl ", "from netlimits.settings.toggle import Toggle"),
            ("settings/__init__.py", "    Load(),", "    Toggle(),  # of nothing else"),
        ],
        [
            (("describe", "toggle"), r"A toy's switch\.(?s:.*)on \| off"),
            (("plan", "toys.yaml", "--commands", "--rows", "1"), r"toggle set \S+ on"),
            (RUN, r"run 2: ok\nswitched on off"),
        ],
        {"toys.yaml": campaign(settings="settings: [{roles: [sender], toggle: on}]")},
    ),
    Recipe(
        "check",
        {"netlimits/checks/CHECK.py": "weather"},
        [
            ("checks/__init__.py", "from netlimits.checks.trace ", "from netlimits.checks.weather import Weather"),
            ("checks/__init__.py", "    Traces(),", "    Weather(),"),
        ],
        [
            (("describe", "checks"), r"weather +Whether a host's weather is fine"),
            (RUN, r"receiver: weather: there is a storm; wait for it to pass"),
        ],
        {"toys.yaml": campaign()},
    ),
    Recipe(
        "piece of evidence",
        {"netlimits/evidence/counted/EVIDENCE.py": "toys"},
        [
            ("metrics/catalogue.py", "_OF_BOTH_ENDS: ", '    _metric("toys_broken", "", "Toys broken", "toys", "lower"),'),
            ("evidence/counted/__init__.py", "from netlimits.evidence.counted.queues ", "from netlimits.evidence.counted.toys import Toys"),
            ("evidence/counted/__init__.py", "    Nic(),", "    Toys(),"),
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
        [("metrics/catalogue.py", "METRICS: ", '    _metric("toy_rate", "hz", "Toys a second", "Hz", "higher"),')],
        [
            (("describe", "toy_rate"), r"toy_rate_hz(?s:.*)Hz(?s:.*)Toys a second"),
            (("table", "runs.csv", "--of", "toy_rate", "--rows", "send_size"), r"Toys a second \(Hz - Higher is Better\)"),
        ],
        {"runs.csv": RUNS},
    ),
    Recipe(
        "chart",
        {"netlimits/charts/kinds/CHART.py": "toybars"},
        [
            ("experiment/report_schema.py", "OPTIONS: ", '    "toy_level": {"description": "What a toy reaches.", "type": "number"},'),
            (
                "charts/__init__.py",
                "CHARTS: ",
                '    ChartKind("toybars", "toybars", "runs", {"of": "throughput", "toy_level": None, "title": None},'
                ' "charts.kinds.toybars.numbers", ("toy_level", "title")),',
            ),
        ],
        [
            (("describe", "toybars"), r"What a toy(?s:.*)reaches"),
            (("figures", "runs.csv", "--chart", "toybars", "--of", "throughput", "--format", "svg"), r"toybars-throughput\.svg"),
            (RUN, r"run 2: ok"),
            (("report", "results"), r"report\.html"),
        ],
        {"toys.yaml": campaign() + REPORT, "runs.csv": RUNS},
    ),
    Recipe(
        "command",
        {"netlimits/cli/COMMAND.py": "toy"},
        [("cli/__init__.py", "COMMANDS: ", '    "toy": "Count toys.",')],
        [
            (("toy", "--help"), r"Count toys\.(?s:.*)netlimits toy --count 2"),
            (("--help",), r"toy +Count toys\."),
            (("toy",), r"there are 3 toys"),
        ],
        {},
    ),
    Recipe(
        "class of limits",
        {"netlimits/limits/classes/host/CLASS.py": "tired_toy"},
        [
            ("limits/changes.py", "CHANGES: ", '    "winding": streams,'),
            ("limits/classes/__init__.py", "from netlimits.limits.classes.host.softirq_core ", "from netlimits.limits.classes.host.tired_toy import TiredToy"),
            ("limits/classes/__init__.py", "CLASSES: ", "    TiredToy(),"),
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
        {"netlimits/export/FORMAT.py": "toywords"},
        [
            ("export/__init__.py", "from netlimits.export.openmetrics ", "from netlimits.export.toywords import toywords"),
            ("export/__init__.py", "FORMATS: ", '    "toywords": toywords,'),
        ],
        [(("export", "runs.csv", "--format", "toywords"), r"toy 64 110\ntoy 128 200\n")],
        {"runs.csv": RUNS},
    ),
)  # fmt: skip


class House:
    """A copy of the package that recipes change, and a process that runs commands with it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        shutil.copytree(PACKAGE, folder / "netlimits")
        self.process = subprocess.Popen(
            [sys.executable, str(TESTS / "recipes" / "in_turn.py"), str(folder)],
            env={
                **os.environ,
                "PYTHONPATH": str(TESTS),
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
            words = [str(TESTS / "recipes" / command[0]), *command[1:]]
        assert self.process.stdin
        assert self.process.stdout
        print(json.dumps([str(folder), words]), file=self.process.stdin, flush=True)
        return "".join(iter(self.process.stdout.readline, "\0\n"))

    def add(self, recipe: Recipe) -> None:
        for path, name in recipe.new.items():
            source = TESTS / "recipes" / f"{recipe.kind.rpartition(' ')[2]}.py"
            shutil.copy(source, self.folder / path.replace(re.findall("[A-Z]+", path)[0], name))

    def insert(self, lines: Sequence[tuple[str, str, str]]) -> None:
        for path, before, line in lines:
            file = self.folder / "netlimits" / path
            text = file.read_text("utf-8").splitlines()
            (place,) = [number for number, present in enumerate(text) if present.startswith(before)]
            text.insert(place + 1, line)
            file.write_text("\n".join(text) + "\n", "utf-8")

    def mend(self, recipe: Recipe) -> None:
        """Undo what a recipe did."""
        for path, name in recipe.new.items():
            (self.folder / path.replace(re.findall("[A-Z]+", path)[0], name)).unlink()
        for path, _, _ in recipe.lines:
            shutil.copy2(PACKAGE / path, self.folder / "netlimits" / path)


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    house = House(tmp_path_factory.mktemp("house"))
    yield house
    house.process.communicate()


def files(section: str) -> list[str]:
    """The files of the package that a recipe says it touches."""
    (named,) = re.findall(r"^Files: (.*?)\.\n", section, re.MULTILINE | re.DOTALL)
    return re.findall(r"`(netlimits/[^`]+)`", named)


@pytest.mark.long
@pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: recipe.kind)
def test_a_recipe_is_all_that_it_takes(recipe: Recipe, house: House, tmp_path: Path) -> None:
    touched = [*recipe.new, *(f"netlimits/{path}" for path, _, _ in recipe.lines)]
    assert set(files(SECTIONS[recipe.kind])) == set(touched)
    for path, content in recipe.files.items():
        (tmp_path / path).write_text(content, "utf-8")
    *others, registration = recipe.lines
    first, pattern = recipe.shown[0]
    try:
        house.add(recipe)
        house.insert(others)
        printed = house.output(tmp_path, first)
        assert not re.search(pattern, printed), "it is known without its line in the registry"
        house.insert([registration])
        for command, pattern in recipe.shown:
            printed = house.output(tmp_path, command)
            assert re.search(pattern, printed), (command, printed)
    finally:
        house.mend(recipe)


@pytest.mark.parametrize("kind", [kind for kind in SECTIONS if "Files:" in SECTIONS[kind]])
def test_no_recipe_touches_more_than_one_new_file_and_two_that_are_there(kind: str) -> None:
    named = files(SECTIONS[kind])
    old = [path for path in named if (PACKAGE.parent / path).exists()]
    new = [path for path in named if re.search("[A-Z]", path)]
    assert sorted(old + new) == sorted(named), "a file that is there, or one that CAPITALS name"
    assert len(new) <= 1
    assert len(old) <= 2


def test_every_recipe_is_walked_but_that_of_tests_alone() -> None:
    walked = {recipe.kind for recipe in RECIPES}
    assert SECTIONS.keys() - walked == {"attack"}


def test_what_the_text_names_is_there() -> None:
    """Files, and tables of the code; words in capitals are the reader's where a file has them too."""
    root = PACKAGE.parent
    words = set(re.findall(r"`([^`\s]+)`", TEXT))
    paths = {word for word in words if "/" in word and re.fullmatch(r"[a-z_/.]+", word)}
    places = (root, PACKAGE, TESTS, TESTS / "captures")
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
