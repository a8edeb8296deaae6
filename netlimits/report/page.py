"""The data of a page, and the function that renders the page with the template `page.html`.

The data of a results folder may come from somebody else. So the template escapes all texts, and
only HTML from this package is `Markup`. The page's content security policy allows no script and no
request.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import jinja2
from markupsafe import Markup

from netlimits.errors import escaped

Rows = Sequence[tuple[str, str]]
"""(name, value) for each row of a two-column table."""


@dataclass(frozen=True, slots=True)
class Answer:
    text: str
    evidence: str = ""


@dataclass(frozen=True, slots=True)
class Exhibit:
    """A table, with or without a figure, as escaped HTML."""

    title: str
    table: Markup
    figure: Markup | None = None


@dataclass(frozen=True, slots=True)
class Failure:
    status: str
    reason: str
    runs: str
    count: int


@dataclass(frozen=True, slots=True)
class HostFacts:
    role: str
    rows: Rows
    printed: Rows


@dataclass(frozen=True, slots=True)
class Change:
    """A setting that a campaign changed on an interface.

    All attributes are texts. `wanted` lists the requested values. `state` is the state before the
    change, as YAML. `back` says whether and when this state was restored.
    """

    role: str
    interface: str
    setting: str
    wanted: str
    state: str
    back: str


@dataclass(frozen=True, slots=True)
class TakenStep:
    host: str
    step: str
    command: str
    outcome: str


@dataclass(frozen=True, slots=True)
class Page:
    title: str
    question: str
    source: str
    summary: Rows
    answers: Sequence[Answer] = ()
    tables: Sequence[Exhibit] = ()
    figures: Sequence[Exhibit] = ()
    timelines: Sequence[Exhibit] = ()
    flames: Sequence[Exhibit] = ()
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
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("netlimits.report", "."),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    text = environment.get_template("page.html").render(page=page)
    return escaped(text.replace("\r", "\n"))
