"""Imports run downward only, and the command line's help imports nothing heavy."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import netlimits

PACKAGE = Path(netlimits.__file__).parent

LAYERS = (
    ("errors",),
    ("metrics", "model"),
    ("shapes", "files"),
    ("document", "expressions", "hosts.base"),
    ("machines", "settings", "tools", "evidence", "templates", "overrides", "hosts", "lab"),
    ("schema", "violations", "reading"),
    ("experiment",),
    ("configurations", "plan", "archive", "published"),
    ("pace", "outcome", "notes", "guard", "stop", "restore"),
    ("results", "witness", "servers", "analysis.traces", "analysis.tcpdump", "analysis.pcap"),
    ("measuring",),
    ("clocks", "checks"),
    ("survey",),
    ("session", "campaign", "rehearsal"),
    ("analysis",),
    ("charts", "tables"),
    ("report", "imports", "reproduce"),
    ("cli", "__main__"),
)
"""From the bottom up: a module may import from its own layer (without a circle) and from below."""

NEVER_A_HOST = (
    "hosts",
    "settings",
    "tools",
    "evidence",
    "session",
    "survey",
    "checks",
    "lab",
    "restore",
)


def modules() -> dict[str, Path]:
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        name = ".".join(p for p in parts if p != "__init__")
        if name:
            found[name] = path
    return found


def imports(path: Path, *, top_only: bool = False) -> set[str]:
    """The modules of the package that a file imports, TYPE_CHECKING blocks left out."""
    tree = ast.parse(path.read_text())
    typing_only = {
        id(node)
        for block in ast.walk(tree)
        if isinstance(block, ast.If) and "TYPE_CHECKING" in ast.dump(block.test)
        for node in ast.walk(block)
    }
    nodes = tree.body if top_only else list(ast.walk(tree))
    names = set()
    for node in nodes:
        if id(node) in typing_only:
            continue
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("netlimits"):
            base = (node.module or "").removeprefix("netlimits").lstrip(".")
            known = modules()
            for alias in node.names:
                full = f"{base}.{alias.name}" if base else alias.name
                names.add(full if full in known else base)
        elif isinstance(node, ast.Import):
            names |= {
                a.name.removeprefix("netlimits.")
                for a in node.names
                if a.name.startswith("netlimits.")
            }
    return names - {""}


def layer(name: str) -> int:
    for number, members in reversed(list(enumerate(LAYERS))):
        if name in members:
            return number
    for number, members in enumerate(LAYERS):
        if any(name.startswith(member + ".") for member in members):
            return number
    raise AssertionError(f"{name}: give it a place in LAYERS")


def test_every_import_runs_downward():
    wrong = [
        f"{name} imports {target}"
        for name, path in modules().items()
        for target in imports(path)
        if layer(target) > layer(name)
    ]
    assert not wrong, wrong


def test_no_two_modules_import_each_other_in_a_circle():
    graph = {name: imports(path, top_only=True) for name, path in modules().items()}
    done: set[str] = set()

    def visit(name: str, trail: tuple[str, ...]) -> None:
        assert name not in trail, " -> ".join((*trail, name))
        if name in done or name not in graph:
            return
        for target in graph[name]:
            if target != name:
                visit(target, (*trail, name))
        done.add(name)

    for name in graph:
        visit(name, ())


def test_analysis_and_charts_never_see_a_host():
    wrong = [
        f"{name} imports {target}"
        for name, path in modules().items()
        if name.split(".")[0] in ("analysis", "charts", "tables")
        for target in imports(path)
        if target.split(".")[0] in NEVER_A_HOST
    ]
    assert not wrong, wrong


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
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call)
        and ast.unparse(node.func) in ("print", "sys.exit", "exit", "quit")
    ]
    assert not wrong, wrong
