"""The layers of the package, within packages too, and the rules for modules and names."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import pkgutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

import pytest

import netlimits
from netlimits import charts
from netlimits.cli import COMMANDS

PACKAGE = Path(netlimits.__file__).parent
SCRIPT = Path(__file__).parents[1] / "scripts" / "layers.py"
SPEC = importlib.util.spec_from_file_location("layers", SCRIPT)
assert SPEC
assert SPEC.loader
layers = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(layers)

UNITS, IMPORTS, MODULES = 28, 124, 20
"""The most packages and modules below `netlimits`, imports among them, and modules of a package."""

LAYERS = (
    ("__init__", "model", "units"),
    ("errors",),
    ("metrics",),
    ("hosts", "settings", "tools", "evidence", "lab"),
    ("analysis",),
    ("charts",),
    ("experiment",),
    ("archive",),
    ("restore",),
    ("checks",),
    ("campaign",),
    ("tables", "importers", "export", "limits"),
    ("reproduce", "report"),
    ("cli",),
    ("__main__",),
)
"""From the bottom up: a package imports lower layers only. `analysis` knows frames alone, and an
archive reads its packet traces with it. An experiment names charts, as it does settings and tools."""

WITHOUT_HOSTS = ("analysis", "charts", "tables", "limits", "export", "report", "reproduce")
DRIVING = ("hosts", "restore", "checks", "campaign", "lab")
"""Packages that act on hosts. What lies on disk, and all that is made of it, imports none of them."""

PURE = ("settings", "tools", "evidence", "experiment", "archive", *WITHOUT_HOSTS)


@cache
def graph() -> dict[str, set[str]]:
    return layers.graph()


def layer(unit: str) -> int:
    for number, members in enumerate(LAYERS):
        if unit in members:
            return number
    raise AssertionError(f"{unit}: give it a place in LAYERS")


def test_there_are_few_packages_and_each_has_few_modules():
    assert len(graph()) <= UNITS, sorted(graph())
    assert sum(map(len, graph().values())) <= IMPORTS
    counts = Counter(path.parent for path in PACKAGE.rglob("*.py") if path.name != "__init__.py")
    assert counts.pop(PACKAGE / "cli") == len(COMMANDS), "one file a command"
    assert not [f"{folder}: {count}" for folder, count in counts.items() if count > MODULES]


def test_every_import_runs_downward():
    wrong = [
        f"{unit} imports {below}"
        for unit, imported in graph().items()
        for below in imported
        if layer(below) >= layer(unit)
    ]
    assert not wrong, wrong
    assert {unit for members in LAYERS for unit in members} == graph().keys()


def test_the_script_prints_who_imports_whom():
    ran = subprocess.run([sys.executable, SCRIPT], capture_output=True, text=True, check=True)
    first, *lines = ran.stdout.splitlines()
    imports = sum(map(len, graph().values()))
    assert first == f"{len(graph())} packages and modules, {imports} imports"
    assert len(lines) == len(graph())
    assert next(line for line in lines if line.startswith("tables ")).split()[2:] == sorted(
        graph()["tables"]
    )


def test_an_import_counts_wherever_it_stands(tmp_path):
    file = tmp_path / "one.py"
    file.write_text(
        "import netlimits.units.tc\nfrom netlimits import tables, __version__\n"
        "if TYPE_CHECKING:\n    from netlimits.hosts.base import Host\n"
        "def late():\n    from netlimits import charts\n"
    )
    assert layers.imported(file) == {"units", "tables", "__init__", "hosts", "charts"}
    with pytest.raises(ValueError, match="an import cycle among a, b"):
        layers.order({"a": {"b"}, "b": {"a"}, "c": set()})


def test_what_lies_on_disk_and_what_is_made_of_it_sees_no_host():
    wrong = [(unit, graph()[unit] & {*DRIVING}) for unit in PURE if graph()[unit] & {*DRIVING}]
    assert not wrong, wrong


@cache
def modules() -> dict[str, Path]:
    named = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        named[".".join(part for part in parts if part != "__init__")] = path
    return named


@cache
def nodes(path: Path) -> tuple[ast.AST, ...]:
    """All of a file's syntax tree; the first is the module."""
    return tuple(ast.walk(ast.parse(path.read_text("utf-8"))))


def ours(nodes: Iterable[ast.AST]) -> Iterator[tuple[str, int]]:
    """The modules of ours that some code imports, wherever the import stands, with its line.

    `if TYPE_CHECKING:` counts in here too.
    """
    for node in nodes:
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"line {node.lineno}: imports are absolute"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        for name in names:
            if name.partition(".")[0] == "netlimits":
                full = name.removeprefix("netlimits").lstrip(".")
                yield full if full in modules() else full.rpartition(".")[0], node.lineno


@cache
def imports_of(path: Path) -> list[tuple[str, int]]:
    return list(ours(nodes(path)))


BY_NAME = {"", "analysis", "charts", "cli"}
"""Packages whose `__init__` imports modules by names in strings, on first use."""


def by_name(path: Path) -> set[str]:
    """The modules of ours that the strings in a file name.

    A string is the dotted name of a module or of something in it, with or without `netlimits.`. The
    fixed start of an f-string stands for all modules of that package.
    """
    named = set()
    for node in nodes(path):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            full = node.value.removeprefix("netlimits.")
            named |= {full, full.rpartition(".")[0]} & {*modules()} - {""}
        elif isinstance(node, ast.JoinedStr):
            first = node.values[0] if node.values else None
            start = first.value if isinstance(first, ast.Constant) else ""
            package = str(start).removeprefix("netlimits.")
            named |= {name for name in modules() if package and name.startswith(package)}
    return named


def calls(nodes: Iterable[ast.AST]) -> Iterator[tuple[str, int]]:
    """What some code calls, with its line."""
    for node in nodes:
        if isinstance(node, ast.Call):
            yield ast.unparse(node.func), node.lineno


def importing(called: str) -> bool:
    return called.rpartition(".")[2] in ("import_module", "__import__", "exec", "run_module")


def test_only_four_packages_import_by_a_name_in_a_string():
    wrong = [
        f"{name}:{line} {called}"
        for name, path in modules().items()
        if name not in BY_NAME
        for called, line in calls(nodes(path))
        if importing(called)
    ]
    assert not wrong, wrong
    for name in BY_NAME:
        assert any(importing(called) for called, _ in calls(nodes(modules()[name]))), name


def test_names_in_strings_lead_downward():
    """`netlimits/__init__.py` names modules of all layers: what users import."""
    for name in BY_NAME - {""}:
        units = {module.partition(".")[0] for module in by_name(modules()[name])} - {name}
        wrong = {unit for unit in units if layer(unit) >= layer(name)}
        assert not wrong, f"{name}: {wrong}"
    names = by_name(modules()["charts"])
    for kind in charts.CHARTS:
        assert f"charts.kinds.{kind.module}" in names
        assert kind.table is None or kind.table.rpartition(".")[0] in names
        assert not isinstance(kind.along, str) or kind.along.rpartition(".")[0] in names


def test_a_name_in_a_string_is_seen(tmp_path):
    file = tmp_path / "one.py"
    file.write_text(
        'A = "limits.ladder.sensitivity.sensitivities", "netlimits.tables", "a.b", "limit"\n'
        'B = f"charts.kinds.{A}", f"{A}.charts"\n'
    )
    every = {name for name in modules() if name.startswith("charts.kinds.")}
    assert by_name(file) == {"limits.ladder.sensitivity", "tables", "charts.kinds", *every}


def test_no_imports_form_a_cycle_between_modules():
    """Within packages as between them, imports for typing and by names in strings included.

    An import of a module runs the packages around it too, apart from those that contain the module
    which imports it. `netlimits/__init__.py` imports what users ask it for.
    """
    imports: dict[str, set[str]] = {"": set()}
    for name in modules().keys() - {""}:
        below = {module for module, _ in imports_of(modules()[name])}
        below |= by_name(modules()[name]) if name in BY_NAME else set()
        for module in [*below]:
            below |= {p for p in packages(module) if not f"{name}.".startswith(f"{p}.")}
        imports[name] = below - {name}
    assert layers.order(imports)


def packages(module: str) -> Iterator[str]:
    """The packages that contain a module, from the inside out."""
    while module := module.rpartition(".")[0]:
        yield module


def test_no_imports_form_a_cycle_between_a_package_and_the_modules_beside_it():
    """Of each package: its modules, and its sub-packages as a whole."""
    for package in {name.rpartition(".")[0] for name in modules()} - {""}:
        inside = {name for name in modules() if name.startswith(f"{package}.")}
        child = {name: name.removeprefix(f"{package}.").partition(".")[0] for name in inside}
        imports: dict[str, set[str]] = {unit: set() for unit in child.values()}
        for name in inside:
            below = {child[module] for module, _ in imports_of(modules()[name]) if module in inside}
            imports[child[name]] |= below - {child[name]}
        assert layers.order(imports), package


FUNCTIONS = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


def test_no_function_imports_a_module_of_ours_except_in_cli():
    """There it keeps `--help` quick; anywhere else it hides a cycle, or what a module needs."""
    deferred = [
        f"{name}:{line} {module}"
        for name, path in modules().items()
        if name.partition(".")[0] != "cli"
        for function in nodes(path)
        if isinstance(function, FUNCTIONS)
        for module, line in ours(ast.walk(function))
    ]
    assert not deferred, deferred


def test_no_command_imports_another():
    """What several of them use is in cli.shared."""
    commands = {f"cli.{name}{end}" for name in COMMANDS for end in ("", "_")}
    wrong = [
        f"{name}:{line} {module}"
        for name, path in modules().items()
        for module, line in imports_of(path)
        if name.partition(".")[0] == "cli"
        and any(f"{module}.".startswith(f"{each}.") for each in commands)
        and not any(
            f"{name}.".startswith(f"{each}.") for each in commands if module.startswith(each)
        )
    ]
    assert not wrong, wrong


def test_a_process_at_work_loads_neither_pandas_nor_pyarrow():
    code = (
        "import sys\nfrom netlimits.archive import logbook\nfrom netlimits.campaign.mesh import cluster\n"
        "print(*{'pandas', 'numpy', 'pyarrow', 'duckdb'} & {*sys.modules})\n"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == ""


PEERS = {
    "settings": "SETTINGS",
    "tools": "TOOLS",
    "evidence.counted": "EVIDENCE",
    "checks": "CHECKS",
}
BESIDE = {
    "checks": {"path_mtu", "survey"},  # AFTERWARDS, and what runs them all
    "settings": {"carrier"},  # what several of them wait for
}


@pytest.mark.parametrize("name", PEERS)
def test_a_package_of_peers_holds_peers(name):
    package = importlib.import_module(f"netlimits.{name}")
    registered = getattr(package, PEERS[name])
    members = [entry[1] if isinstance(entry, tuple) else entry for entry in registered]
    public = {m.name for m in pkgutil.iter_modules(package.__path__) if m.name[0] != "_"}
    peers = set()
    for member in public:
        module = importlib.import_module(f"netlimits.{name}.{member}")
        own = [value for value in vars(module).values() if getattr(value, "__module__", "")]
        if any(value is each or value is type(each) for value in own for each in members):
            peers.add(member)
    missing = public - BESIDE.get(name, set()) - peers
    assert not missing, f"{name}: {missing} are no peers; give them an underscore, or a place below"


def test_help_imports_nothing_heavy():
    code = (
        "import sys\nfrom netlimits.cli import main\n"
        "try: main(['--help'])\nexcept SystemExit: pass\n"
        "heavy = {'paramiko', 'pandas', 'numpy', 'matplotlib', 'rich', 'yaml', 'scipy', 'jsonschema'}\n"
        "print(sorted(heavy & set(sys.modules)), file=sys.stderr)\n"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stderr.strip() == "[]"
    assert "resume" in ran.stdout


def test_only_the_command_line_prints_or_exits():
    wrong = [
        f"{name}:{node.lineno}"
        for name, path in modules().items()
        if not name.startswith("cli")
        for node in nodes(path)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name | ast.Attribute)
        and ast.unparse(node.func) in ("print", "sys.exit", "exit", "quit")
    ]
    assert not wrong, wrong


def test_one_class_name_exists_once():
    homes: dict[str, list[str]] = {}
    for name, path in modules().items():
        for node in nodes(path)[0].body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                homes.setdefault(node.name, []).append(name)
    twice = {name: where for name, where in homes.items() if len(where) > 1}
    assert not twice, twice


NO_NAMES = {"found", "said", "asked", "made", "one", "there", "came"}
"""They name nothing: a noun says what it is (the state, the answer, the specification)."""


IN_THE_PACKAGE = {"told", "apart", "alone", "beside", "whole", "again", "looks", "away", "anew"}
"""Participles and adverbs that name nothing either; tests may use them."""


def bound(nodes: Iterable[ast.AST]) -> set[tuple[str, int]]:
    """The names that a file binds, with their lines."""
    names = set()
    for node in nodes:
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add((node.id, node.lineno))
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            names.add((node.attr, node.lineno))
        elif isinstance(node, ast.arg):
            names.add((node.arg, node.lineno))
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add((node.name, node.lineno))
    return names


def renamed(nodes: Iterable[ast.AST]) -> set[tuple[str, int]]:
    """The modules of the package that a file imports under another name, with their lines."""
    return {
        (f"{node.module}.{alias.name}", node.lineno)
        for node in nodes
        if isinstance(node, ast.ImportFrom) and node.level == 0
        for alias in node.names
        if alias.asname and f"{node.module}.{alias.name}".removeprefix("netlimits.") in modules()
    }


def test_what_names_nothing_and_what_renames_is_seen():
    tree = ast.parse(
        "from netlimits.evidence import facts as read, cpu\nfrom netlimits.metrics import metric as m\n"
        "def f(said): found = 1\n"
    )
    assert {name for name, _ in bound(ast.walk(tree))} & NO_NAMES == {"said", "found"}
    assert renamed(ast.walk(tree)) == {("netlimits.evidence.facts", 1)}


def test_names_are_nouns_and_modules_keep_theirs():
    wrong = []
    for file in [*PACKAGE.rglob("*.py"), *Path(__file__).parent.rglob("*.py")]:
        tree = nodes(file)
        banned = NO_NAMES | (IN_THE_PACKAGE if file.is_relative_to(PACKAGE) else set())
        wrong += [
            f"{file}:{line} {name}" for name, line in bound(tree) if name.strip("_") in banned
        ]
        wrong += [f"{file}:{line} {name} under another name" for name, line in renamed(tree)]
    assert not wrong, wrong


def test_no_function_is_called_of():
    wrong = [
        f"{name}:{node.lineno}"
        for name, path in modules().items()
        for node in nodes(path)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name == "of"
    ]
    assert not wrong, wrong
