"""The house: what lies at the package's top, which room imports which, and what lies in a room."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import pkgutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

import netlimits

PACKAGE = Path(netlimits.__file__).parent
SCRIPT = Path(__file__).parents[1] / "scripts" / "rooms.py"
SPEC = importlib.util.spec_from_file_location("rooms", SCRIPT)
assert SPEC
assert SPEC.loader
rooms = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(rooms)

ENTRIES, ROOMS, ARROWS = 28, 28, 120
"""The most of each that there may be."""

ORDER = (
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
"""From the bottom up: a room imports from below, never from its own floor. `analysis` knows frames
alone, and an archive reads its packet traces with it. An experiment names charts, as it does
settings and tools."""

WITHOUT_HOSTS = ("analysis", "charts", "tables", "limits", "export", "report", "reproduce")
DRIVING = ("hosts", "restore", "checks", "campaign", "lab")
"""Rooms that act on hosts. What lies on disk, and all that is made of it, imports none of them."""

PURE = ("settings", "tools", "evidence", "experiment", "archive", *WITHOUT_HOSTS)


@cache
def graph() -> dict[str, set[str]]:
    return rooms.arrows()


def floor(room: str) -> int:
    for number, members in enumerate(ORDER):
        if room in members:
            return number
    raise AssertionError(f"{room}: give it a place in ORDER")


def test_the_house_is_small_enough_to_read():
    entries = [path.name for path in PACKAGE.iterdir() if path.name != "__pycache__"]
    assert len(entries) <= ENTRIES, sorted(entries)
    assert len(graph()) <= ROOMS, sorted(graph())
    assert sum(map(len, graph().values())) <= ARROWS


def test_every_import_runs_downward():
    wrong = [
        f"{room} imports {below}"
        for room, imported in graph().items()
        for below in imported
        if floor(below) >= floor(room)
    ]
    assert not wrong, wrong
    assert {room for members in ORDER for room in members} == graph().keys()


def test_the_script_prints_rooms_arrows_and_who_imports_whom():
    ran = subprocess.run([sys.executable, SCRIPT], capture_output=True, text=True, check=True)
    first, *lines = ran.stdout.splitlines()
    arrows = sum(map(len, graph().values()))
    assert first.endswith(f"{len(graph())} rooms, {arrows} arrows")
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
    assert rooms.imported(file) == {"units", "tables", "__init__", "hosts", "charts"}
    with pytest.raises(ValueError, match="a circle among a, b"):
        rooms.order({"a": {"b"}, "b": {"a"}, "c": set()})


def test_what_lies_on_disk_and_what_is_made_of_it_sees_no_host():
    wrong = [(room, graph()[room] & {*DRIVING}) for room in PURE if graph()[room] & {*DRIVING}]
    assert not wrong, wrong


@cache
def modules() -> dict[str, Path]:
    named = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        named[".".join(part for part in parts if part != "__init__")] = path
    return named


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


def imports(path: Path) -> set[str]:
    """The modules of the package that a file imports as it is imported itself."""
    names = set()
    for node in parsed(path).body:
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("netlimits"):
            base = (node.module or "").removeprefix("netlimits").lstrip(".")
            for alias in node.names:
                full = f"{base}.{alias.name}" if base else alias.name
                names.add(full if full in modules() else base)
    return names - {""}


def test_no_two_modules_import_each_other_in_a_circle():
    below = {name: imports(path) - {name} for name, path in modules().items()}
    # a folder's registry imports its members, and they what the folder keeps for them
    below = {
        name: {module for module in targets if not name.startswith(f"{module}.")}
        for name, targets in below.items()
    }
    assert rooms.order(below)


ACYCLIC = ("archive",)
"""Packages whose modules import one another downward only, wherever the import stands."""


def every_import(package: str) -> dict[str, set[str]]:
    """Module -> the other modules of its package that it imports anywhere in its file."""
    graph: dict[str, set[str]] = {}
    inside = {name: path for name, path in modules().items() if name.startswith(f"{package}.")}
    for name, path in inside.items():
        full = {
            f"{node.module}.{alias.name}".removeprefix("netlimits.")
            for node in ast.walk(parsed(path))
            if isinstance(node, ast.ImportFrom)
            for alias in node.names
        }
        graph[name] = {
            m for m in inside if m != name and any(f"{f}.".startswith(f"{m}.") for f in full)
        }
    return graph


@pytest.mark.parametrize("package", ACYCLIC)
def test_no_import_runs_in_a_circle_within_a_package(package):
    assert rooms.order(every_import(package))


@pytest.mark.parametrize("package", ACYCLIC)
def test_no_function_of_a_package_imports_a_module_of_ours(package):
    deferred = [
        f"{name}:{node.lineno}"
        for name, path in modules().items()
        if name.startswith(f"{package}.")
        for function in ast.walk(parsed(path))
        if isinstance(function, ast.FunctionDef)
        for node in ast.walk(function)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("netlimits")
    ]
    assert not deferred, deferred


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


@pytest.mark.parametrize("room", PEERS)
def test_a_folder_of_peers_holds_peers(room):
    package = importlib.import_module(f"netlimits.{room}")
    registered = getattr(package, PEERS[room])
    members = [entry[1] if isinstance(entry, tuple) else entry for entry in registered]
    public = {m.name for m in pkgutil.iter_modules(package.__path__) if m.name[0] != "_"}
    peers = set()
    for name in public:
        module = importlib.import_module(f"netlimits.{room}.{name}")
        own = [value for value in vars(module).values() if getattr(value, "__module__", "")]
        if any(value is member or value is type(member) for value in own for member in members):
            peers.add(name)
    missing = public - BESIDE.get(room, set()) - peers
    assert not missing, f"{room}: {missing} are no peers; give them an underscore, or a place below"


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
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name | ast.Attribute)
        and ast.unparse(node.func) in ("print", "sys.exit", "exit", "quit")
    ]
    assert not wrong, wrong


def test_one_class_name_exists_once():
    homes: dict[str, list[str]] = {}
    for name, path in modules().items():
        for node in parsed(path).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                homes.setdefault(node.name, []).append(name)
    twice = {name: where for name, where in homes.items() if len(where) > 1}
    assert not twice, twice


NO_NAMES = {"found", "said", "asked", "made", "one", "there", "came"}
"""They name nothing: a noun says what it is (the state, the answer, the specification)."""


def bound(tree: ast.AST) -> set[tuple[str, int]]:
    """The names that a file binds, with their lines."""
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add((node.id, node.lineno))
        elif isinstance(node, ast.arg):
            names.add((node.arg, node.lineno))
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add((node.name, node.lineno))
    return names


def renamed(tree: ast.AST) -> set[tuple[str, int]]:
    """The modules of the package that a file imports under another name, with their lines."""
    return {
        (f"{node.module}.{alias.name}", node.lineno)
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.level == 0
        for alias in node.names
        if alias.asname and f"{node.module}.{alias.name}".removeprefix("netlimits.") in modules()
    }


def test_what_names_nothing_and_what_renames_is_seen():
    tree = ast.parse(
        "from netlimits.evidence import facts as read, cpu\nfrom netlimits.metrics import metric as m\n"
        "def f(said): found = 1\n"
    )
    assert {name for name, _ in bound(tree)} & NO_NAMES == {"said", "found"}
    assert renamed(tree) == {("netlimits.evidence.facts", 1)}


def test_names_are_nouns_and_modules_keep_theirs():
    files = [*PACKAGE.rglob("*.py"), *Path(__file__).parent.rglob("*.py")]
    wrong = []
    for file in files:
        tree = ast.parse(file.read_text("utf-8"))
        wrong += [f"{file}:{line} {name}" for name, line in bound(tree) if name in NO_NAMES]
        wrong += [f"{file}:{line} {name} under another name" for name, line in renamed(tree)]
    assert not wrong, wrong
