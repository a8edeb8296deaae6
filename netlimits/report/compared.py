"""Build the page of a comparison: verdicts, ratios, failures, hosts, and commands to repeat it."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd

from netlimits.analysis import wording
from netlimits.analysis.comparisons import sides, survivors, verdicts
from netlimits.archive.reader import Campaign
from netlimits.charts.ratios import ratios
from netlimits.metrics import metric
from netlimits.report import contents
from netlimits.report.figures import exhibit, inline
from netlimits.report.page import Answer, Exhibit, Page, Rows

ANSWERS = 3
"""Maximum number of verdicts of a comparison that get a sentence; its table has all verdicts."""


@dataclass(frozen=True)
class Compared:
    """A comparison to show on a page.

    `table` is the full result of the comparison, and `shown` is the table that the page displays.
    `hosts` has sentences on differences between the hosts of the sides. `campaigns` maps names to
    campaigns; a single campaign has the name "". `interleaved` is true if one campaign ran both
    sides. `several` is true if the sides together have more than two sessions.
    """

    title: str
    table: pd.DataFrame
    shown: pd.DataFrame
    threshold: float
    hosts: Sequence[str]
    campaigns: Mapping[str, Campaign]
    interleaved: bool = False
    several: bool = False


def page(parts: Sequence[Compared], gate: Sequence[str], made_by: str) -> Page:
    campaigns = {name: campaign for part in parts for name, campaign in part.campaigns.items()}
    named = {name: f"{name}: " if name else "" for name in campaigns}
    attempts = {name: campaign.frame(contents.ATTEMPT) for name, campaign in campaigns.items()}
    first = next(iter(campaigns.values()), None)
    failures = [
        replace(failure, reason=f"{named[name]}{failure.reason}")
        for name, of_campaign in attempts.items()
        for failure in contents.failures(of_campaign)[0]
    ]
    last = list(campaigns)[-1:]
    run, steps = next((contents.steps(campaigns[name]) for name in last), ("", []))
    repeats = {name: contents.repeat(campaign) for name, campaign in campaigns.items()}
    return Page(
        title="; ".join(part.title for part in parts),
        question=first.experiment.question if first else "",
        source=first.experiment.source if first else "",
        summary=_summary(parts, campaigns, named, attempts),
        answers=[
            *(Answer(f"The gate fails: {line}.") for line in gate),
            *(
                answer
                for part in parts
                for answer in answers(part.table, f"{part.title}: " if len(parts) > 1 else "")
            ),
        ],
        tables=[exhibit(part.title, part.shown) for part in parts],
        figures=[figure for number, part in enumerate(parts) for figure in _figures(part, number)],
        failures=failures,
        more_failures=sum(contents.failures(of_campaign)[1] for of_campaign in attempts.values()),
        hosts=[
            replace(host, role=f"{named[name]}{host.role}")
            for name, campaign in campaigns.items()
            for host in contents.hosts(campaign)
        ],
        changes=[
            replace(change, role=f"{named[name]}{change.role}")
            for name, campaign in campaigns.items()
            for change in contents.changes(campaign)
        ],
        run=f"{named[last[0]]}{run}" if last and run else run,
        steps=steps,
        repeat=[
            line
            for name, (lines, _) in repeats.items()
            for line in ([f"# {name}"] if name else []) + lines
        ],
        files=[
            (f"{named[name]}{file}", text)
            for name, (_, files) in repeats.items()
            for file, text in files
        ],
        made_by=made_by,
    )


def _summary(
    parts: Sequence[Compared],
    campaigns: Mapping[str, Campaign],
    named: Mapping[str, str],
    attempts: Mapping[str, pd.DataFrame],
) -> Rows:
    several = any(part.several for part in parts)
    sessions = "several sessions" if several else "two sessions"
    how = "interleaved in the same blocks" if parts[0].interleaved else sessions
    rows = [("Sides", how)]
    for part in parts:
        counts = part.table["verdict"].value_counts()
        verdicts = ", ".join(f"{counts[verdict]} {verdict}" for verdict in counts.index)
        rows.append((part.title if len(parts) > 1 else "Verdicts", verdicts))
        rows += [("Hosts differ", line) for line in part.hosts]
    for name, campaign in campaigns.items():
        prefix = named[name]
        rows += [
            (f"{prefix}{key}", value) for key, value in contents.summary(campaign, attempts[name])
        ]
    return rows


def answers(table: pd.DataFrame, prefix: str = "", evidence: str = "") -> Iterator[Answer]:
    """Yield up to ANSWERS sentences on verdicts, then a sentence that counts the other rows.

    Worse results come first, then sessions that differ, then improvements.
    """
    rows = table.to_dict("records")
    order = (
        *(*verdicts.BAD, verdicts.DIFFER),
        *(verdicts.BETTER, survivors.MORE, sides.RECOVERED),
    )
    differing = [row for verdict in order for row in rows if row["verdict"] == verdict]
    sentences = [_sentence(row, table.attrs["factors"]) for row in differing[:ANSWERS]]
    counts = {
        verdict: sum(row["verdict"] == verdict for row in rows)
        for verdict in (verdicts.SAME, verdicts.UNCLEAR)
    }
    rest = [f"{count} {verdict}" for verdict, count in counts.items() if count]
    if more := len(differing) - ANSWERS:
        rest = [f"{more} more that differ", *rest] if more > 0 else rest
    if rest:
        sentences.append(f"{', '.join(rest)}, of {len(rows)} ratios.")
    for sentence in sentences:
        yield Answer(f"{prefix}{sentence}", evidence if sentence is sentences[-1] else "")


def _sentence(row: Mapping[Hashable, Any], factors: Sequence[str]) -> str:
    where = ", ".join(wording.phrases([row[name] for name in factors], factors))
    subject = f"{metric(row['metric']).title}{f' ({where})' if where else ''}"
    if row["verdict"] in (survivors.FEWER, survivors.MORE):
        return (
            f"{subject}: {row['verdict']} runs ended ok: {row['ok_after']} of {row['of_after']} "
            f"after, {row['ok_before']} of {row['of_before']} before."
        )
    text = f"{subject} is {row['verdict']}"
    if row["verdict"] == sides.FAILED:
        return f"{text}: 0 of {row['of_after']} runs are ok after."
    if row["verdict"] == verdicts.DIFFER:
        text = f"{subject} differs between these two sessions"
    if math.isnan(row["ratio"]):
        return f"{text}."
    interval = "" if math.isnan(row["low"]) else f" [{row['low']:.3f}, {row['high']:.3f}]"
    return f"{text}: ×{row['ratio']:.3f}{interval}."


def _figures(part: Compared, number: int) -> Iterator[Exhibit]:
    for place, name in enumerate(part.table["metric"].unique()):
        title = f"{metric(name).title}: {part.title}"
        figure = ratios(part.table, name, part.threshold, metric(name).title)
        if figure is None:
            continue
        rows = part.shown[(part.table["metric"] == name).to_numpy()].copy()
        rows.attrs["notes"] = ()
        yield exhibit(title, rows, inline(figure, f"ratios-{number}-{place}", title))
