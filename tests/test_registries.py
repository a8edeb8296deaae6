"""Registries are the only lists of settings, tools and charts: no other module repeats names."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

import pytest

import netlimits
from netlimits.charts import CHARTS
from netlimits.settings import SETTINGS
from netlimits.tools import TOOLS

PACKAGE = Path(netlimits.__file__).parent
NAMES: Mapping[str, Collection[str]] = {
    "settings": {setting.name for setting in SETTINGS},
    "tools": {tool.name for tool in TOOLS},
    "charts": {chart.name for chart in CHARTS},
}

ALLOWED: Mapping[str, str] = {
    "__init__.py": "functions that `import netlimits` offers; two have the name of a chart",
    "analysis/__init__.py": "modules of analysis; some have the name of their chart",
    "analysis/wording.py": "words of labels that are written in capitals",
    "evidence/facts.py": "keys of facts, as `ip` and `tc` print them",
    "evidence/watch/__init__.py": "what the kernel shows of an interface",
    "limits/ladder/diagnosis.py": "the settings of its own tests of resources",
    "report/contents.py": "keys of facts, as `ip` and `tc` print them",
    "reproduce/marks.py": "the two tools of a published report",
    "reproduce/turin.py": "the two tools of a published report",
    "reproduce/turin_lab.py": "the two tools of a published report",
    "restore/side_effects.py": "kinds of leaf of a network state",
    "restore/undo_commands.py": "kinds of leaf of a network state",
}
"""Module -> what its strings are that equal registered names."""


def is_own(path: Path) -> bool:
    """Return True for a file of one registered object, which may name others that it depends on."""
    package, *below = path.parts
    if package == "charts":
        return below[0] == "kinds" or path == Path("charts/__init__.py")
    if package not in ("settings", "tools"):
        return False
    return below[0][0] != "_" and below[0] != "carrier.py"


def words(node: ast.AST | None) -> Iterator[str]:
    """Yield the strings in a collection: its elements, or the keys of a mapping."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    elif isinstance(node, ast.Starred):
        yield from words(node.value)
    elif isinstance(node, ast.List | ast.Tuple | ast.Set | ast.Dict):
        for element in node.keys if isinstance(node, ast.Dict) else node.elts:
            yield from words(element)


def lists(source: str) -> Iterator[tuple[int, str]]:
    """Yield the line and the kind of each list of registered names in a module.

    A list has two names of one kind, or it is a constant that consists of names. A collection with
    one name and other strings has another subject: `link` and `mtu` are also words of `ip`.
    """
    tree = ast.parse(source)
    constants = [
        node.value
        for node in tree.body
        if isinstance(node, ast.AnnAssign)
        or (isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name))
    ]
    for node in ast.walk(tree):
        if isinstance(node, ast.List | ast.Tuple | ast.Set | ast.Dict):
            strings = {*words(node)}
            for kind, names in NAMES.items():
                if len(strings & names) > 1 or (node in constants and strings and strings <= names):
                    yield node.lineno, kind


def test_no_other_module_lists_settings_tools_or_charts():
    paths = [path.relative_to(PACKAGE) for path in PACKAGE.rglob("*.py")]
    repeated = {
        str(path): [f"{path}:{line}: a list of {kind}" for line, kind in hits]
        for path in paths
        if not is_own(path) and (hits := [*lists((PACKAGE / path).read_text("utf-8"))])
    }
    wrong = [line for path, lines in repeated.items() if path not in ALLOWED for line in lines]
    assert not wrong, f"let the registered objects say it, as an attribute: {wrong}"
    assert repeated.keys() == ALLOWED.keys(), "ALLOWED has a module without such strings"


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ('OF_HOSTS = (*("sysctl", "load"), "switch")', "settings"),
        ('KINDS = {"offload": ("features",), "rss": ("x",), "pause": ("x",)}', "settings"),
        ('TRIED = frozenset({"ring", "other", "channels"})', "settings"),
        ('RUN_COMMANDS = ("switch",)', "settings"),
        ('def known(): return name in ("mtu", "offload")', "settings"),
        ('COLOURS = {"netperf": 1, "iperf3": 2, "udp": 3}', "tools"),
        ('NARROW = ["boxes", "bars"]', "charts"),
        ('ARGV = ("ip", "link", "set")', None),
        ('def of(): return {"mtu": 1}', None),
    ],
)
def test_a_list_is_found(source, expected):
    assert {kind for _, kind in lists(source)} == ({expected} if expected else set())
