"""The rooms of the package and who imports whom: `python scripts/rooms.py` prints the figures.

A room is a folder of the package or a module beside them. An arrow leads from a room to another
that it imports, wherever in its files the import stands (for typing alone, or in a function too).
`netlimits/__init__.py` imports what it names when it is asked for; those are no arrows.
"""

from __future__ import annotations

import argparse
import ast
import sys
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1] / "netlimits"


def room_of(module: str) -> str:
    """The room of a module named from the package down: `hosts` of `hosts.ssh`."""
    return module.partition(".")[0]


def imported(file: Path) -> set[str]:
    """The rooms that a file imports; `__init__` for the package's own names."""
    rooms = set()
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        for name in names:
            top, _, rest = name.partition(".")
            if top == PACKAGE.name:
                rooms.add(room_of(rest) if rest else "__init__")
    known = {path.stem if path.suffix == ".py" else path.name for path in PACKAGE.iterdir()}
    return {room if room in known else "__init__" for room in rooms}


def arrows() -> dict[str, set[str]]:
    """Room -> the other rooms that it imports."""
    graph: dict[str, set[str]] = {}
    for file in sorted(PACKAGE.rglob("*.py")):
        room = file.relative_to(PACKAGE).with_suffix("").parts[0]
        graph.setdefault(room, set()).update(imported(file) - {room})
    return graph


def order(graph: dict[str, set[str]]) -> list[str]:
    """The rooms from the bottom up, each above all that it imports. Raises ValueError."""
    left, sorted_rooms = dict(graph), list[str]()
    while left:
        ready = sorted(room for room, below in left.items() if not below & left.keys())
        if not ready:
            raise ValueError(f"a circle among {', '.join(sorted(left))}")
        sorted_rooms += ready
        left = {room: below for room, below in left.items() if room not in ready}
    return sorted_rooms


def main() -> int:
    """Print it."""
    argparse.ArgumentParser(description=__doc__.partition("\n")[0]).parse_args()
    graph = arrows()
    try:
        sequence = order(graph)
    except ValueError as error:
        print(error)
        sequence = sorted(graph)
    entries = [path for path in PACKAGE.iterdir() if path.name != "__pycache__"]
    total = sum(map(len, graph.values()))
    width = max(map(len, graph))
    lines = [f"{len(entries)} entries, {len(graph)} rooms, {total} arrows"]
    for room in sequence:
        lines.append(
            f"{room:{width}}  {len(graph[room]):2}  {' '.join(sorted(graph[room]))}".rstrip()
        )
    print("\n".join(lines))
    return 0


if __name__ == "__main__":
    sys.exit(main())
