"""Creation of a campaign's folder, and the check that its hosts are still the same."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from netlimits import __version__
from netlimits.archive.logbook import Logbook
from netlimits.archive.registry import Registration
from netlimits.archive.store import Archive, written
from netlimits.checks.survey import Survey
from netlimits.evidence import facts
from netlimits.experiment.plan import Plan
from netlimits.model import Experiment
from netlimits.model.folder import Folder


def create(
    plan: Plan,
    survey: Survey,
    path: Path,
    register: Callable[[Folder, Registration], None] | None = None,
) -> Logbook:
    """Create a new campaign's folder with its plan, and return its logbook."""
    experiment = plan.experiment
    meta = {
        "netlimits": __version__,
        "experiment": experiment.name,
        "file": str(experiment.path),
        "overrides": [list(pair) for pair in experiment.overrides],
        "seed": experiment.repeat.seed,
        "created": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
        "machines": {role: written(machine) for role, machine in survey.machines.items()},
        "features": {
            name: {"version": f.version, "features": sorted(f.names)}
            for name, f in survey.features.items()
        },
        "shared_kernel": survey.shared_kernel,
        "skipped": dict(survey.skipped),
        **_against(experiment),
        "clocks": {role: asdict(offset) for role, offset in survey.clocks.items()},
        "findings": [asdict(finding) for finding in survey.findings],
    }
    archive = Archive.create(
        path,
        meta,
        experiment.text,
        survey.facts,
        plan.leaving_out(survey.skipped).write_csv,
        register,
        against=_second_text(experiment),
    )
    return Logbook(archive, plan)


def default_path(experiment: Experiment) -> Path:
    """Return `results/NAME-DATE-TIME` in the current folder, numbered if it exists."""
    stem = f"{experiment.name}-{time.strftime('%Y%m%d-%H%M%S')}"
    path, number = Path("results") / stem, 2
    while path.exists():
        path, number = Path("results") / f"{stem}-{number}", number + 1
    return path


def changed_hosts(campaign: Logbook, survey: Survey) -> tuple[str, ...]:
    """Return a sentence for each difference between the hosts now and at the campaign's start."""
    return tuple(
        f"{role}: {mismatch}"
        for role in campaign.archive.machines
        for mismatch in facts.mismatches(campaign.archive.facts(role), survey.facts[role])
    )


def _against(experiment: Experiment) -> dict[str, Any]:
    """Return the entry of campaign.json for the second side of `run --against`; {} without one."""
    if not experiment.sides:
        return {}
    first, second = experiment.sides
    against = experiment.sides[second]
    return {
        "against": {
            "file": str(against.path),
            "overrides": [list(pair) for pair in against.overrides],
            "sides": [first, second],
            "roles": experiment.other_names,
        }
    }


def _second_text(experiment: Experiment) -> str:
    return [side.text for side in experiment.sides.values()][1] if experiment.sides else ""
