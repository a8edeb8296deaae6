"""What `netlimits status` says about the guards and claims on hosts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from netlimits.errors import HostError
    from netlimits.hosts.base import Host
    from netlimits.hosts.patience import Patience
    from netlimits.model import Machine


def reports(machines: Mapping[str, Machine], patience: Patience) -> dict[str, dict[str, Any]]:
    """What each role's host says (restore.guard.report); {"unreachable": why} where it is."""
    from netlimits.hosts.connect import logged_in
    from netlimits.hosts.threads import at_once

    with logged_in(machines, patience) as outcomes:
        answers = at_once(lambda role: _report(role, outcomes[role]), outcomes)
        return dict(zip(outcomes, answers, strict=True))


def lines(answers: Mapping[str, dict[str, Any]], restoring: str) -> list[str]:
    """Return the reports as lines for people, and what to do.

    `restoring` is what `netlimits restore` is told of these hosts; "" says nothing of it.
    """
    from netlimits.restore.guard import report

    shown = []
    for role, answer in answers.items():
        reached = "unreachable" not in answer
        shown += report.lines(role, answer) if reached else [f"{role}: {answer['unreachable']}"]
    if restoring and any(
        answer.get("guard") in ("fired", "dead") or answer.get("changed")
        for answer in answers.values()
    ):
        shown.append(f"when no campaign uses these hosts any more: netlimits restore {restoring}")
    return shown


def _report(role: str, outcome: Host | HostError) -> dict[str, Any]:
    from netlimits.errors import HostError
    from netlimits.restore.guard import claims
    from netlimits.restore.guard.report import report

    try:
        if isinstance(outcome, HostError):
            raise outcome
        return report(claims.snapshot(lambda _: outcome, role))
    except HostError as error:
        return {"unreachable": str(error)}
