"""Generate the reference pages while mkdocs builds the site of `docs/`.

    mkdocs build --strict        the site, in build/site
    mkdocs serve                 the same while you write

The reference is what `netlimits describe` and `--help` print, as tables; `docs/` has no files of
it. In a page `<!-- needs: … -->` before commands says what they need: readers see it, and the tests
(`tests/docs`) run every command that needs nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import click
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from netlimits.charts import KINDS
from netlimits.cli import COMMANDS, group
from netlimits.cli.shared import reference
from netlimits.experiment.around_schema import AROUND
from netlimits.settings import SETTINGS
from netlimits.tools import TOOLS

NEEDS = re.compile(r"^<!-- needs: (.+?) -->$", re.MULTILINE)

TOPICS: Mapping[str, tuple[str, str, Sequence[str]]] = {
    "experiment": (
        "An experiment",
        "Every key of an experiment file. `netlimits schema` prints the same as a JSON Schema, for "
        "editors.",
        [*AROUND],
    ),
    "hosts": ("Hosts", "The file that `--hosts` names. It binds roles to machines.", []),
    "settings": (
        "Settings",
        "What an experiment can set on hosts. Each setting is read before it is changed, read "
        "back, and restored.",
        [setting.name for setting in SETTINGS],
    ),
    "tools": (
        "Tools",
        "The tools that measure. Options with the same meaning have the same name in all of them.",
        [tool.name for tool in TOOLS],
    ),
    "metrics": (
        "Metrics and columns",
        "The figures of a run: the names that `select:`, `of:` and `--of` take, and the columns "
        "of `results.csv`.",
        [],
    ),
    "charts": (
        "Charts",
        "The charts that `report:` and `netlimits figures --chart` draw.",
        [*KINDS],
    ),
    "checks": ("Checks", "What `netlimits check` tests, and `run` before it starts.", []),
    "verdicts": (
        "Classes of limits",
        "The verdicts of `netlimits explain`, and the change that proves each.",
        [],
    ),
}
"""Topic to the title of its page, its first sentences, and the names that it describes below."""


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages of the reference."""
    pages = {topic: _page(topic) for topic in TOPICS} | {"commands": _commands()}
    for name, text in pages.items():
        files.append(File.generated(config, f"reference/{name}.md", content=text))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Make the `needs` comments of a page visible."""
    return NEEDS.sub(r"*Needs \1:*", markdown)


def _page(topic: str) -> str:
    title, about, names = TOPICS[topic]
    lines = [f"# {title}", "", about, ""]
    for section in reference.described(topic):
        lines += _section(section)
    for name in names:
        for section in reference.described(name):
            if section.head == reference.OPTION:
                lines += _section(section)
    return "\n".join(lines) + "\n"


def _section(section: reference.Section) -> Iterator[str]:
    yield from (f"## {_text(section.title)}", "")
    if section.about:
        yield from (_text(section.about), "")
    kept = [n for n in range(len(section.head)) if any(row[n] for row in section.rows)]
    yield _row([section.head[n] for n in kept])
    yield _row(["---"] * len(kept))
    for row in section.rows:
        first, *rest = [row[n] for n in kept]
        yield _row([f"`{first}`" if first else "", *map(_text, rest)])
    yield ""


def _row(cells: Sequence[str]) -> str:
    """Return a row of a Markdown table; a bar in a code span ends no cell and stays as it is."""
    parts = (re.split(r"(`[^`]*`)", cell) for cell in cells)
    escaped = (
        "".join(part if part.startswith("`") else part.replace("|", r"\|") for part in cell)
        for cell in parts
    )
    return f"| {' | '.join(escaped)} |"


def _text(text: str) -> str:
    """Escape the markup of a sentence, except in code spans."""
    parts = re.split(r"(`[^`]*`)", text)
    plain = (re.sub(r"([\\*_<>\[\]])", r"\\\1", part) for part in parts[::2])
    return "".join(a + b for a, b in zip(plain, [*parts[1::2], ""], strict=True))


def _commands() -> str:
    lines = ["# Commands", "", "What `netlimits COMMAND --help` prints.", ""]
    context = click.Context(group, info_name="netlimits", max_content_width=88, terminal_width=88)
    for name, command in _every(context, group, [*COMMANDS]):
        lines += [f"## {name}", "", "```text", _help(context, name, command).rstrip(), "```", ""]
    return "\n".join(lines)


def _every(
    context: click.Context, of: Any, names: Sequence[str], before: str = ""
) -> Iterator[tuple[str, click.Command]]:
    for name in names:
        command = of.get_command(context, name)
        yield f"{before}{name}", command
        if isinstance(command, click.Group):
            yield from _every(context, command, command.list_commands(context), f"{name} ")


def _help(context: click.Context, name: str, command: click.Command) -> str:
    settings = {"max_content_width": 88, "terminal_width": 88}
    return command.get_help(click.Context(command, info_name=name, parent=context, **settings))
