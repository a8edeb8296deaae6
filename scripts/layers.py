"""The packages below `netlimits` and who imports whom: `python scripts/layers.py` prints them.

A unit is a package directly below `netlimits`, or a module beside them. An import counts wherever
it stands in a file (for typing alone, or in a function too). `netlimits/__init__.py` imports its
names when they are used; those imports do not count.
"""

from __future__ import annotations

import argparse
import ast
import sys
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1] / "netlimits"


def imported(file: Path) -> set[str]:
    """Return the units that a file imports; `__init__` for the package's own names."""
    units = set()
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        for name in names:
            top, _, rest = name.partition(".")
            if top == PACKAGE.name:
                units.add(rest.partition(".")[0] or "__init__")
    known = {path.stem if path.suffix == ".py" else path.name for path in PACKAGE.iterdir()}
    return {unit if unit in known else "__init__" for unit in units}


def graph() -> dict[str, set[str]]:
    """Return each unit with the other units that it imports."""
    imports: dict[str, set[str]] = {}
    for file in sorted(PACKAGE.rglob("*.py")):
        unit = file.relative_to(PACKAGE).with_suffix("").parts[0]
        imports.setdefault(unit, set()).update(imported(file) - {unit})
    return imports


def order(imports: dict[str, set[str]]) -> list[str]:
    """Return the units, each after all that it imports. Raises ValueError for a cycle."""
    left, ordered = dict(imports), list[str]()
    while left:
        ready = sorted(unit for unit, below in left.items() if not below & left.keys())
        if not ready:
            raise ValueError(f"an import cycle among {', '.join(sorted(left))}")
        ordered += ready
        left = {unit: below for unit, below in left.items() if unit not in ready}
    return ordered


def main() -> int:
    """Print the units from the bottom up, each with what it imports."""
    argparse.ArgumentParser(description=__doc__.partition("\n")[0]).parse_args()
    imports = graph()
    try:
        sequence = order(imports)
    except ValueError as error:
        print(error)
        sequence = sorted(imports)
    width = max(map(len, imports))
    print(f"{len(imports)} packages and modules, {sum(map(len, imports.values()))} imports")
    for unit in sequence:
        names = " ".join(sorted(imports[unit]))
        print(f"{unit:{width}}  {len(imports[unit]):2}  {names}".rstrip())
    return 0


if __name__ == "__main__":
    sys.exit(main())
