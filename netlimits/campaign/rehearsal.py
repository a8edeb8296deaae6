"""Rehearse the settings before the first run: write each setting and read it back.

This finds errors that only a write shows: some drivers ignore a value that they accept, and the
kernel refuses some values.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace

from netlimits.archive import records
from netlimits.campaign import attempt
from netlimits.campaign.interrupt import Stopping
from netlimits.campaign.session import Session
from netlimits.checks import Finding, error
from netlimits.checks.survey import refuse
from netlimits.errors import SettingError
from netlimits.model import Setup
from netlimits.settings import TRIED

MOST = 200
"""Maximum number of different settings to try; further settings differ little."""


def before_first_run(session: Session, stop: Stopping) -> None:
    """Try the settings of a campaign that are in `TRIED`, if no run has an outcome yet."""
    if not records.outcomes(session.archive).counts:
        refuse(tried(session, stop))


def tried(session: Session, stop: Stopping) -> tuple[Finding, ...]:
    """Set every setting of `TRIED` once on the hosts of an open session, and read it back.

    A mesh tries none. Return a finding for each setting that failed.
    """
    experiment = session.plan.experiment
    seen: set[tuple[str, str, str]] = set()
    if experiment.mesh:
        return ()
    wrong: dict[str, Finding] = {}
    for setup in session.plan.setups():
        fresh = {*_uses(setup)} - seen
        if not fresh or len(seen) >= MOST:
            continue
        seen |= fresh
        session.guards.keep(0.0)
        for turn in session.preparation.turns(_only(setup, TRIED), experiment.all_ends):
            try:
                attempt.apply_turn(session, stop, turn)
            except SettingError as problem:
                finding = _finding(problem, setup, experiment.path)
                wrong[str(finding)] = finding
    if seen and not wrong:  # after an error the session restores all settings
        for turn in session.preparation.turns(_only(setup, ()), experiment.all_ends):
            attempt.apply_turn(session, stop, turn)
    return tuple(wrong.values())


def _only(setup: Setup, names: Collection[str]) -> Setup:
    settings = tuple(use for use in setup.settings if use.name in names)
    return replace(setup, settings=settings, around=replace(setup.around, pace=None))


def _uses(setup: Setup) -> Iterator[tuple[str, str, str]]:
    for use in setup.settings:
        if use.name in TRIED:
            yield from ((role, use.name, repr(use.options)) for role in use.roles)


def _finding(problem: SettingError, setup: Setup, path: object) -> Finding:
    places = [use.place(path) for use in setup.settings if use.name == problem.setting]
    text = f"{places[0]}: {problem.problem}" if places else problem.problem
    return error(problem.host, problem.setting, text)
