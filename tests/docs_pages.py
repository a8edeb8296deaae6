"""Parse the commands and files that the pages in docs/ show."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

TOP = Path(__file__).parents[1]
DOCS = TOP / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
NAMES = [str(page.relative_to(DOCS)) for page in PAGES]

_BLOCK = re.compile(
    r"(?:^<!-- needs: (?P<needs>.+?) -->\n)?^```(?P<language>\w*)\n(?P<text>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
_RUN = re.compile(r"^ *- run: (netlimits .*)$", re.MULTILINE)


@dataclass(frozen=True)
class Command:
    """A command of a page as words; `needs` is the requirement that the page states, or ""."""

    page: str
    words: tuple[str, ...]
    needs: str = ""

    def __str__(self) -> str:
        return f"{self.page}: {shlex.join(self.words)}"


def commands(name: str) -> Iterator[Command]:
    """Yield the commands of a page in order."""
    for block in _BLOCK.finditer((DOCS / name).read_text("utf-8")):
        text, needs = block["text"].replace("\\\n", " "), block["needs"] or ""
        if block["language"] == "sh":
            lines = text.splitlines()
        else:
            lines, needs = _RUN.findall(text), "hosts"
        for line in lines:
            words = shlex.split(line.partition(" >> ")[0], comments=True)
            if words:
                yield Command(name, tuple(words), needs)


def files(name: str) -> dict[str, str]:
    """Return name -> text of the files that a page shows: their first line is `# NAME`."""
    shown = {}
    for block in _BLOCK.finditer((DOCS / name).read_text("utf-8")):
        head = block["text"].partition("\n")[0]
        if match := re.fullmatch(r"# ([\w./-]+)", head):
            shown[match[1]] = block["text"]
    return shown
