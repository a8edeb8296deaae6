"""Measure a direction of `netlimits diagnose` in stages, and return the answer as JSON."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from netlimits.cli.shared import diagnosis_lines, page
from netlimits.cli.shared.output import quoted
from netlimits.cli.shared.stages import A_RUN, Stages, say
from netlimits.errors import InputError, one_line
from netlimits.limits.ladder import workloads
from netlimits.tools import WORKLOADS

if TYPE_CHECKING:
    from netlimits.archive.reader import Campaign
    from netlimits.limits.ladder.diagnosis import Help

RUNGS = 3
"""Maximum number of helpful changes to keep, each in addition to the earlier changes."""
OBSERVED_BLOCKS = 6
"""Maximum number of blocks of a diagnosis without changes."""
NO_DOSE = "all doses: counters rule the resources out, or no setting changes them here"
Text = Callable[[Sequence[str], int, Sequence[Mapping[str, Any]]], str]
"""Function: workloads, number of blocks and kept settings -> text of an experiment with these."""


def answer(
    stages: Stages, wanted: Sequence[str], tool: str, no_changes: bool, profile: bool = False
) -> tuple[bool, dict[str, Any]]:
    """Measure a direction; return True if all its runs are ok, and the answer as JSON."""
    names = workloads.supported(tool, wanted)
    if not names:
        raise InputError(f"{tool} measures none of {', '.join(wanted)}")
    question = f"What limits the data rate: {stages.title.removeprefix('diagnose-')}?"

    def text(names: Sequence[str], blocks: int, kept: Sequence[Mapping[str, Any]]) -> str:
        return workloads.observation(
            *(names, stages.title, question),
            tool=tool,
            replicates=blocks,
            settings=kept,
            profiled=profile and not kept,
        )

    folder = stages.folder
    say(f"{len(names)} workload{'s' if len(names) > 1 else ''} as the hosts are")
    if no_changes:
        fit = int(stages.budget.left / (len(names) * A_RUN))
        observed = stages.observe(text(names, max(2, min(OBSERVED_BLOCKS, fit)), ()), folder)
        campaign = observed
        stages.left_out.append("--no-changes: nothing was changed, so nothing is proven")
    else:
        observed = stages.observe(text(names, 2, ()), sibling(folder, "observed"))
        say("a dose of each resource that the counters do not rule out")
        dosed = stages.dose(observed, folder)
        if dosed is None and not stages.left_out:
            stages.left_out.append(NO_DOSE)
        campaign = dosed or observed
    ladder = [] if no_changes else _ladder(stages, campaign, text)
    say(f"report: {quoted(page.write(campaign.path))}")
    state = campaign.state()
    answered = row(campaign, names, ladder, stages.left_out)
    answered["profile"] = list(_profiles(observed)) if profile else []
    return state["ok"] == state["planned"], answered


def _profiles(observed: Campaign) -> Iterator[str]:
    from netlimits.analysis import frames
    from netlimits.analysis.profile import sentences

    for name, rows in sentences.runs(observed.frame()).groupby(workloads.WORKLOAD, sort=False):
        spent = "; ".join(sentences.clauses(rows, frames.direction(rows)))
        yield f"{WORKLOADS.get(str(name), name)}: {spent}"


def row(
    campaign: Campaign,
    wanted: Sequence[str] = (),
    ladder: Sequence[Help] = (),
    left_out: Sequence[str] = (),
) -> dict[str, Any]:
    """Return the diagnosis of a campaign, in the format of `diagnose --json`."""
    from netlimits.limits.ladder import diagnosis

    state, rows = campaign.state(), diagnosis.workloads(campaign)
    silent = [name for name in wanted if name not in {each["workload"] for each in rows}]
    complete = state["ok"] == state["planned"]  # repeated runs count once
    reasons = [] if complete else list(state["reasons"].items())[:3]
    return {
        "path": diagnosis_lines.path(campaign, rows),
        "workloads": rows,
        "ladder": [
            diagnosis.as_json(rung, [*diagnosis_lines.commands(campaign.archive.machines, rung)])
            for rung in ladder
        ],
        "left_out": [
            *left_out,
            *(f"{name}: no run is ok" for name in silent),
            *(f"{count} of the runs: {one_line(why)}" for why, count in reasons),
        ],
        "restored": not state["not_put_back"],
        "results": str(campaign.path),
        "pending": state["left"],
    }


def stored_answer(campaign: Campaign) -> dict[str, Any]:
    from netlimits.limits.ladder import diagnosis

    return row(campaign, ladder=diagnosis.helping(campaign)[:1])


def _ladder(stages: Stages, campaign: Campaign, text: Text) -> list[Help]:
    """While the budget lasts, keep the change that helps most and find the next limit."""
    from netlimits.limits.ladder import diagnosis

    rungs: list[Help] = []
    kept: dict[tuple[str, str], dict[str, Any]] = {}
    while helps := diagnosis.helping(campaign):
        first = helps[0]
        rungs.append(first)
        for role, name, options in first.settings:
            kept.setdefault((role, name), {}).update(options)
        if len(rungs) == RUNGS or not stages.room(1):
            return rungs
        say(f"the next limit of {first.workload}, with {first.change} kept")
        name = f"rung-{len(rungs)}"
        observed = stages.observe(
            text(
                [first.workload],
                2,
                [{"roles": [role], setting: of} for (role, setting), of in kept.items()],
            ),
            sibling(stages.folder, f"{name}-observed"),
        )
        following = stages.dose(observed, sibling(stages.folder, name))
        rows = diagnosis.workloads(following or observed)
        rungs[-1] = replace(first, then=f"{rows[0]['limit']} ({rows[0]['state']})")
        if following is None:
            return rungs
        campaign = following
    return rungs


def sibling(folder: Path, what: str) -> Path:
    return folder.with_name(f"{folder.name}-{what}")
