"""Docstrings of the public surface have the sections of Google's convention.

The surface is what `import netlimits` offers, and the seams that contributors implement. Modules
are parsed, not imported, since importing pandas and matplotlib takes longer than all of this.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest

import netlimits
from netlimits import analysis, charts

PACKAGE = Path(netlimits.__file__).parent
OFFERED = netlimits._API.values()
ROOTS = {path for path, name in OFFERED if name is None} - {
    "netlimits.analysis",
    "netlimits.charts",
}
MODULES = (
    *sorted(ROOTS),
    *(f"netlimits.analysis.{name}" for name in analysis.MODULES),
    "netlimits.metrics",
)
SEAMS = ("*/_base.py", "*/*/_base.py", "*/base.py", "settings/_values.py")
"""Files with the classes that contributors derive from, and with the functions beside them."""

NOTHING = ("None", "NoReturn", "Iterator[None]")
NOT_CALLED = {"property", "cached_property", "overload"}

Definition = ast.FunctionDef | ast.ClassDef
Place = tuple[str, str]
"""Module and qualified name."""


@cache
def parsed(module: str) -> ast.Module:
    path = PACKAGE.joinpath(*module.split(".")[1:])
    path = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    return ast.parse(path.read_text(encoding="utf-8"))


def defined(module: str) -> dict[str, Definition]:
    return {node.name: node for node in parsed(module).body if isinstance(node, Definition)}


def resolve(module: str, name: str) -> Iterator[tuple[str, Definition]]:
    """Yield the module and the definition of a name, which may be imported; none for a constant."""
    if name in defined(module):
        yield module, defined(module)[name]
        return
    for node in ast.walk(parsed(module)):
        ours = isinstance(node, ast.ImportFrom) and str(node.module).startswith("netlimits.")
        if ours and name in (each.asname or each.name for each in node.names):
            yield from resolve(node.module, name)


def public(module: str) -> list[str]:
    """Return the names in `__all__`, or else those defined without a leading underscore."""
    listed = [
        word.value
        for node in parsed(module).body
        if isinstance(node, ast.Assign | ast.AugAssign)
        if "__all__"
        in map(ast.unparse, node.targets if isinstance(node, ast.Assign) else [node.target])
        for word in ast.walk(node.value)
        if isinstance(word, ast.Constant)
    ]
    return listed or [name for name in defined(module) if not name.startswith("_")]


def definitions() -> Iterator[tuple[str, Definition]]:
    for module, name in OFFERED:
        for place, node in resolve(module, name) if name else ():
            yield place, node
            if isinstance(node, ast.FunctionDef):  # `open` returns a Campaign
                yield from (
                    each
                    for each in resolve(place, returned(node))
                    if isinstance(each[1], ast.ClassDef)
                )
    seams = [path for pattern in SEAMS for path in PACKAGE.glob(pattern)]
    names = [".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts) for path in seams]
    for module in (*MODULES, *names, "netlimits.charts"):
        for name in public(module):
            yield from resolve(module, name)
    drawn = [(kind.module, kind.name) for kind in charts.CHARTS]
    for module, name in (*drawn, ("goodput", "goodput")):
        yield from resolve(f"netlimits.charts.kinds.{module}", name)


@cache
def surface() -> dict[Place, Definition]:
    """Return the public classes, functions and methods, without properties."""
    places: dict[Place, Definition] = {}
    for module, node in definitions():
        places[module, node.name] = node
        for part in node.body if isinstance(node, ast.ClassDef) else ():
            if isinstance(part, ast.FunctionDef) and not part.name.startswith("_"):
                places[module, f"{node.name}.{part.name}"] = part
    return {place: node for place, node in places.items() if not NOT_CALLED & decorators(node)}


def functions() -> Iterator[tuple[Place, ast.FunctionDef, str]]:
    """Yield the functions with their docstrings; `wraps` takes the docstring of another one."""
    for place, node in surface().items():
        if isinstance(node, ast.FunctionDef) and "wraps" not in decorators(node):
            yield place, node, ast.get_docstring(node) or ""


def decorators(node: Definition) -> set[str]:
    return {re.sub(r"\(.*", "", ast.unparse(each)) for each in node.decorator_list}


def returned(node: ast.FunctionDef) -> str:
    return ast.unparse(node.returns) if node.returns else "None"


def section(text: str, title: str) -> str:
    match = re.search(rf"^{title}:\n((?:    .*\n?|\n)+)", text, re.MULTILINE)
    return match[1] if match else ""


def entries(text: str, title: str) -> set[str]:
    heads = re.findall(r"^    \*{0,2}(\w+(?:, \w+)*):", section(text, title), re.MULTILINE)
    return {name for head in heads for name in head.split(", ")}


def undocumented_arguments(node: ast.FunctionDef, text: str) -> set[str]:
    given = node.args
    every = [*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg]
    names = {each.arg for each in every if each} - {"self", "cls"}
    return names - entries(text, "Args")


def undocumented_result(node: ast.FunctionDef, text: str) -> set[str]:
    described = section(text, "Returns") or section(text, "Yields")
    return set() if described or returned(node) in NOTHING else {returned(node)}


def undocumented_errors(node: ast.FunctionDef, text: str) -> set[str]:
    calls = (each.exc for each in ast.walk(node) if isinstance(each, ast.Raise))
    names = {
        each.func.id
        for each in calls
        if isinstance(each, ast.Call) and isinstance(each.func, ast.Name)
    }
    return names - entries(text, "Raises")


@pytest.mark.parametrize(
    "missing", [undocumented_arguments, undocumented_result, undocumented_errors]
)
def test_a_public_function_documents_its_arguments_result_and_errors(
    missing: Callable[[ast.FunctionDef, str], set[str]],
):
    lacking = {place: missing(node, text) for place, node, text in functions()}
    assert {place: names for place, names in lacking.items() if names} == {}


def test_every_public_class_and_function_has_a_docstring():
    assert [place for place, node in surface().items() if not ast.get_docstring(node)] == []


def test_the_surface_has_what_users_call_and_contributors_implement():
    assert {name for _, name in surface()} >= {
        *(kind.name for kind in charts.CHARTS),
        *(
            "Campaign.frame",
            "Relation.filter",
            "limited_by",
            "save",
            "summary_blocks",
            "regenerate",
        ),
        *("Tool.client", "Setting.unmet", "NamedValues.write", "Check.findings", "Host.begins"),
        *("LimitClass.sign", "Evidence.read", "SourceText.refuse", "Metric.towards"),
    }
