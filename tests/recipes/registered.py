"""Run the tests that go over registries: `registered.py FOLDER NAMES TEST…`.

These are the test functions in FOLDER/tests that use a registry, directly or through a table. Of a
parametrized test, only the cases of NAMES (comma-separated) are run. The given tests are run whole.
Without NAMES, only the given tests are run.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

TABLES = {"SETTINGS", "TOOLS", "CHARTS", "KINDS", "EXAMPLES", "READERS"}
"""The registries, and tables of other modules that are made from them."""


class OnlyNew:
    """A plugin that leaves out cases of other objects, and tests in the lab."""

    def __init__(self, names: set[str], whole: tuple[str, ...]) -> None:
        self.names, self.whole = names, whole

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items[:] = [item for item in items if self.counts(item)]

    def counts(self, item: pytest.Item) -> bool:
        if item.get_closest_marker("lab"):
            return False
        if item.nodeid.startswith(self.whole) or not hasattr(item, "callspec"):
            return True
        return bool(self.names & {*re.split("[- ]", item.callspec.id)})


def names(node: ast.AST) -> set[str]:
    """Return the names that a piece of code uses, and registries as attributes (charts.KINDS)."""
    nodes = [*ast.walk(node)]
    attributes = {n.attr for n in nodes if isinstance(n, ast.Attribute) and n.attr.isupper()}
    return {n.id for n in nodes if isinstance(n, ast.Name)} | attributes


def chosen(path: Path) -> Iterator[str]:
    """Yield the tests of a file that use a registry."""
    text = path.read_text("utf-8")
    if not any(table in text for table in TABLES):  # saves the time to parse it
        return
    tree, tables = ast.parse(text), set(TABLES)
    for node in tree.body:
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            own = {target.id for target in targets if isinstance(target, ast.Name)}
            tables = tables | own if names(node.value) & tables else tables - own
    for node in tree.body:
        is_test = isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
        if is_test and names(node) & tables:
            yield f"{path}::{node.name}"


def main(folder: str, new: str, *given: str) -> int:
    options = ["-q", "-p", "no:cacheprovider", "--rootdir", folder, "--assert=plain"]
    if not new:
        return pytest.main([*options, *given])
    files = sorted(Path("tests").rglob("test_*.py"))
    picked = [test for file in files if file.name != "test_recipes.py" for test in chosen(file)]
    plugin = OnlyNew({*new.split(",")}, given)
    return pytest.main([*options, *picked, *given], plugins=[plugin])


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
