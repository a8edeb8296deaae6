"""How far a campaign is: what `netlimits status` tells.

Of a campaign with parts it is added up from what each of them counted, and from the lines after
the last one. Where a run was told of again (`netlimits parse`), the columns of outcomes are read.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from netlimits.archive import lock
from netlimits.archive.parts import Part, apart
from netlimits.archive.records import History
from netlimits.model import STATUSES

if TYPE_CHECKING:
    from netlimits.archive.reader import Campaign

Attempt = tuple[tuple[int, int], tuple[str, str, bool]]
"""(run, attempt), and its status, reason and whether it was disturbed."""


@dataclass(frozen=True, slots=True)
class Standing:
    """What came of the attempts: counts of outcomes by run, and of attempts by the others."""

    outcomes: Counter[str]
    disturbed: int
    interrupted: int
    reasons: Counter[str]
    present: Sequence[tuple[int, int]]
    """The attempts that are running now, where a process is at work; of a mesh there are several.
    """
    unfinished: Sequence[dict[str, Any]]
    opened: float | None
    reconnected: Counter[str]


def of(campaign: Campaign, history: History | None = None) -> dict[str, Any]:
    """The state of a campaign, as `status --json` prints it."""
    at_work = lock.holder(campaign.path)  # before the journal: what ends meanwhile has ended
    parts = () if history or campaign.imported else campaign.archive.parts()
    if parts:
        progress = _of_parts(campaign, parts, bool(at_work))
    else:
        progress = _of_history(history or campaign.history(), bool(at_work))
    skipped = campaign.skipped_runs()
    planned = len(campaign.runs) if campaign.imported else campaign.planned_runs()
    return {
        "path": str(campaign.path),
        "experiment": campaign.experiment.name,
        "seed": campaign.experiment.repeat.seed,
        "imported": campaign.imported and [file["file"] for file in campaign.imported["files"]],
        "planned": planned,
        "skipped": skipped,
        **{s: progress.outcomes.get(s, 0) for s in STATUSES if s != "interrupted"},
        "left": planned - progress.outcomes.total(),
        "disturbed": progress.disturbed,
        "interrupted": progress.interrupted,
        "not_put_back": [
            {k: e[k] for k in ("role", "interface", "setting")} for e in progress.unfinished
        ],
        "running": at_work
        and {
            "by": str(at_work),
            "pid": at_work.pid or None,
            "since": progress.opened,
            "run": progress.present[0][0] if progress.present else None,
            "attempt": progress.present[0][1] if progress.present else None,
            "runs": [run for run, _ in progress.present],
        },
        "reconnected": dict(progress.reconnected),
        "reasons": dict(progress.reasons.most_common()),
    }


def _of_history(history: History, at_work: bool) -> Standing:
    attempts = [
        (
            (r.run.number, r.attempt),
            (r.status, r.reason, r.status == "ok" and bool(r.figures.get("disturbed_pct"))),
        )
        for r in history.records
    ]
    present = _present(history) if at_work else ()
    attempts = [attempt for attempt in attempts if attempt[0] not in present]
    told = (history.unfinished, history.opened, Counter(history.reconnected))
    return _progress(attempts, present, *told)


def _of_parts(campaign: Campaign, parts: Sequence[Part], at_work: bool) -> Standing:
    """The parts' counts and the tail's, added up."""
    tail = campaign.archive.tally(parts)
    present = [*tail.going] if at_work else []
    attempts = [attempt for attempt in tail.attempts.items() if attempt[0] not in present]
    abouts = [part.about for part in parts]
    opened = next(filter(None, (tail.opened, *(a["opened"] for a in reversed(abouts)))), None)
    reconnected = Counter(tail.reconnected)
    for about in abouts:
        reconnected.update(about["reconnected"])
    told = (tail.changes.unfinished, opened, reconnected)
    if not apart(parts, tail):
        return _progress(_columns(campaign, parts, present), present, *told)
    progress = _progress(attempts, present, *told)
    reasons = Counter[str]()
    for about in abouts:
        progress.outcomes.update(about["outcomes"])
        reasons.update(about["reasons"])
    return Standing(
        progress.outcomes,
        progress.disturbed + sum(about["disturbed"] for about in abouts),
        progress.interrupted + sum(about["interrupted"] for about in abouts),
        reasons + progress.reasons,
        present,
        *told,
    )


def _progress(
    attempts: Iterable[Attempt], present: Sequence[tuple[int, int]], *told: Any
) -> Standing:
    outcomes: dict[int, str] = {}
    disturbed = interrupted = 0
    reasons = Counter[str]()
    for (run, _), (status, reason, beside) in attempts:
        if status == "interrupted":
            interrupted += 1
        else:
            outcomes[run] = status
        disturbed += beside
        if reason:
            reasons[reason] += 1
    return Standing(Counter(outcomes.values()), disturbed, interrupted, reasons, present, *told)


def _present(history: History) -> list[tuple[int, int]]:
    """The attempts that are running now: those without an end that this process began.

    One that was interrupted has its reason in its end.
    """
    last = {record.run.number: record for record in history.records}
    return [
        (record.run.number, record.attempt)
        for record in last.values()
        if record.status == "interrupted"
        and math.isnan(record.duration_s)
        and not record.started < (history.opened or 0.0)
    ]


def _columns(
    campaign: Campaign, parts: Sequence[Part], present: Collection[tuple[int, int]]
) -> Iterable[Attempt]:
    """Every attempt but the present ones, out of the parts' columns."""
    frame = campaign.frame(("status", "reason", "disturbed_pct"))
    disturbed = frame.get("disturbed_pct")
    shares = [0] * len(frame) if disturbed is None else disturbed.fillna(0)
    for run, attempt, status, reason, share in zip(
        frame["run"], frame["attempt"], frame["status"], frame["reason"], shares, strict=True
    ):
        if (run, attempt) not in present:
            text = reason if isinstance(reason, str) else ""
            yield (run, attempt), (status, text, status == "ok" and bool(share))
