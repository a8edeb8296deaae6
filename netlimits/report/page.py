"""The page's nouns, and the page: what stands on it is data, how it looks is the template's.

Whatever comes from a results folder may have been written by somebody else. Every text is escaped
by the template, only what this package made itself is `Markup`; the page carries a policy that
lets no script run and fetches nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import jinja2
from markupsafe import Markup

from netlimits.errors import escaped

Rows = Sequence[tuple[str, str]]
"""Names and values, under one another."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A sentence that answers the question, and its evidence."""

    text: str
    evidence: str = ""


@dataclass(frozen=True, slots=True)
class Exhibit:
    """A table, or a figure with its table: the title and both as HTML that is escaped already."""

    title: str
    table: Markup
    figure: Markup | None = None


@dataclass(frozen=True, slots=True)
class Failure:
    """One reason, with the runs that it cost."""

    status: str
    reason: str
    runs: str
    count: int


@dataclass(frozen=True, slots=True)
class HostFacts:
    """A host: what a reader looks for first, and everything as it was printed."""

    role: str
    rows: Rows
    printed: Rows


@dataclass(frozen=True, slots=True)
class Change:
    """One setting of one interface: what was asked for, what was there, whether it is back."""

    role: str
    interface: str
    setting: str
    wanted: str
    state: str
    back: str


@dataclass(frozen=True, slots=True)
class TakenStep:
    """One command of a run."""

    host: str
    step: str
    command: str
    outcome: str


@dataclass(frozen=True, slots=True)
class Page:
    """Everything that the template shows, in the order in which it does."""

    title: str
    question: str
    source: str
    summary: Rows
    answers: Sequence[Answer] = ()
    tables: Sequence[Exhibit] = ()
    figures: Sequence[Exhibit] = ()
    missing: Sequence[str] = ()
    failures: Sequence[Failure] = ()
    more_failures: int = 0
    hosts: Sequence[HostFacts] = ()
    changes: Sequence[Change] = ()
    run: str = ""
    steps: Sequence[TakenStep] = ()
    repeat: Sequence[str] = ()
    files: Rows = ()
    made_by: str = field(default="netlimits")


def render(page: Page) -> str:
    """The page as one HTML document that needs nothing beside it."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("netlimits.report", "."),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    text = environment.get_template("page.html").render(page=page)
    return escaped(text.replace("\r", "\n"))
