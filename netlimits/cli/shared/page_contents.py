"""The contents of a campaign's HTML page."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from markupsafe import Markup

from netlimits import __version__
from netlimits.analysis.comparisons.verdicts import THRESHOLD
from netlimits.analysis.packets.dropped import dropped
from netlimits.charts import KINDS
from netlimits.cli.shared import drawing, entries
from netlimits.cli.shared.both_sides import BothSides
from netlimits.cli.shared.entries import summary_of
from netlimits.cli.shared.output import quoted
from netlimits.cli.shared.results import Results
from netlimits.errors import DataError, NetlimitsError
from netlimits.limits import explained
from netlimits.metrics import metric
from netlimits.report import compared, contents
from netlimits.report.answers import answers, regimes_of
from netlimits.report.figures import alternative, exhibit, inline
from netlimits.report.flame import flame_graph
from netlimits.report.page import Answer, Exhibit, Page
from netlimits.report.profiles import profiles
from netlimits.tables import is_summary

if TYPE_CHECKING:
    import pandas as pd

    from netlimits.archive.reader import Campaign

TIMELINES = 6
"""Maximum number of configurations whose timelines the page has."""


def page(results: Results) -> Page:
    campaign = results.campaign
    assert campaign
    running = campaign.state()["running"] or {"run": None, "attempt": None}
    present = running["run"], running["attempt"]  # a running attempt is no failure
    attempts = campaign.frame(contents.ATTEMPT)
    attempts = attempts[(attempts["run"] != present[0]) | (attempts["attempt"] != present[1])]
    missing: list[str] = []
    summaries = list(_summaries(results, missing))
    failures, more = contents.failures(attempts)
    run, steps = contents.steps(campaign)
    lines, files = contents.repeat(campaign)
    return Page(
        title=campaign.experiment.name,
        question=campaign.experiment.question,
        source=campaign.experiment.source,
        summary=contents.summary(campaign, attempts),
        answers=answers(
            [table for _, table in summaries if is_summary(table)],
            _verdicts(campaign, missing),
            campaign.experiment.derived,
            quoted(results.path),
            _compared(results, missing),
            regimes_of(campaign.experiment.report, campaign.frame),
        ),
        tables=[exhibit(title, table) for title, table in [*summaries, *_dropped(results)]],
        figures=list(_figures(drawing.marked(results), missing)),
        timelines=list(_timelines(results, missing)),
        flames=list(_flames(campaign, missing)),
        missing=missing,
        failures=failures,
        more_failures=more,
        hosts=list(contents.hosts(campaign)),
        changes=list(contents.changes(campaign)),
        run=run,
        steps=steps,
        repeat=lines,
        files=files,
        made_by=f"netlimits {__version__}",
    )


@contextmanager
def _noting(missing: list[str], what: str) -> Iterator[None]:
    """Turn an error into a note on what is missing."""
    try:
        yield
    except NetlimitsError as error:
        missing.append(f"{what}: {error}.")


def _flames(campaign: Campaign, missing: list[str]) -> Iterator[Exhibit]:

    with _noting(missing, "Flame graphs are missing"):
        for each in profiles(campaign):
            # safe as markup: flame_graph escapes every name
            yield Exhibit(each.title, Markup(), Markup(flame_graph(each.profile)))  # noqa: S704


def _compared(results: Results, missing: list[str]) -> list[Answer]:
    """Return how the second side of `run --against` differs from the first; [] without one."""
    if results.campaign is None or not results.campaign.experiment.sides:
        return []
    both = BothSides(results)
    first, second = both.sides
    more = f"Within blocks; every ratio: netlimits compare {quoted(results.path.name)}"
    with _noting(missing, "The sides cannot be compared"):
        table = both.table((), THRESHOLD)
        return list(compared.answers(table, f"{second} against {first}: ", more))
    return []


def _verdicts(campaign: Campaign, missing: list[str]) -> pd.DataFrame | None:
    """Return each configuration's limit, or None if it is unknown.

    Errors are noted as missing, except that no run is ok: the page says so elsewhere.
    """
    with _noting(missing, "What limited it is unknown"), suppress(DataError):
        return explained.explain(campaign)
    return None


def _summaries(results: Results, missing: list[str]) -> Iterator[tuple[str, pd.DataFrame]]:
    with _noting(missing, "Tables are missing"):
        for entry in entries.tables(results.report, {}, results.frame):
            with _noting(missing, "A table is missing"):
                yield entry.get("title", ""), summary_of(results, entry)


def _dropped(results: Results) -> Iterator[tuple[str, pd.DataFrame]]:

    with suppress(DataError):  # no run is ok, which the page says anyway
        table = dropped(results.frame)
        if not table.empty:
            yield "Packets that the hosts dropped", table


def _figures(results: Results, missing: list[str]) -> Iterator[Exhibit]:
    chosen: list[entries.Entry] = []
    with _noting(missing, "Charts are missing"):
        chosen = entries.charts(results.report, {}, results.frame)
    numbers = itertools.count(1)
    for entry in chosen:
        failed: list[DataError] = []
        notes: list[str] = []
        for chart in drawing.drawings_of(results, entry, failed, notes.append):
            with _noting(missing, f"Chart {chart.kind} is missing"):
                yield _drawn(chart, f"chart-{next(numbers)}", notes, missing)
        missing += [f"A chart is missing: {error}." for error in failed]


def _timelines(results: Results, missing: list[str]) -> Iterator[Exhibit]:
    """Yield the timelines of the first configurations that have samples over time."""
    campaign = results.campaign
    if campaign is None or campaign.imported or not campaign.state()["ok"]:
        return
    with suppress(NetlimitsError):  # raw output was not published, or has no samples over time
        drawn = drawing.timelines(drawing.marked(results), TIMELINES)
        for number, chart in enumerate(drawn, 1):
            yield _drawn(chart, f"timeline-{number}", [], missing)


def _drawn(chart: drawing.Drawing, name: str, notes: list[str], missing: list[str]) -> Exhibit:
    """Return a chart with its title, table and notes."""
    of = None if KINDS[chart.kind].panels else chart.options.get("of")
    metrics = [metric(each).title for each in ([of] if isinstance(of, str) else of or ())]
    kind = chart.kind.replace("_", " ").capitalize()
    title = chart.options.get("title") or ": ".join(filter(None, (kind, ", ".join(metrics))))
    title = " – ".join(filter(None, (title, chart.data.attrs.get("run"))))
    svg = inline(chart.figure(), name, title)
    with _noting(missing, f"The table beside chart {chart.kind} is missing"):
        table = alternative(chart.kind, chart.data, chart.options)
        table.attrs["notes"] = (*notes, *table.attrs["notes"])
        return exhibit(title, table, svg)
    return Exhibit(title, Markup(), svg)
