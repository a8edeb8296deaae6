"""What `netlimits status` says about the guards and claims on hosts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from netlimits.model import Machine


def reports(machines: Mapping[str, Machine]) -> dict[str, dict[str, Any]]:
    """What each role's host says (netlimits.guard.report); {"unreachable": why} where it is."""
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(8) as pool:
        return dict(zip(machines, pool.map(_report, machines.values()), strict=True))


def lines(said: Mapping[str, dict[str, Any]]) -> list[str]:
    """The same for people, and what to do."""
    from netlimits.guard import report

    shown = []
    for role, one in said.items():
        reached = "unreachable" not in one
        shown += report.lines(role, one) if reached else [f"{role}: {one['unreachable']}"]
    if any(one.get("guard") in ("fired", "dead") or one.get("changed") for one in said.values()):
        shown.append("if no campaign is at work: netlimits restore --hosts FILE")
    return shown


def _report(machine: Machine) -> dict[str, Any]:
    from netlimits import guard
    from netlimits.errors import HostError
    from netlimits.guard.report import report
    from netlimits.hosts.connect import connect

    try:
        host = connect(machine)
        try:
            return report(guard.look_at(lambda _: host, machine.role))
        finally:
            host.close()
    except HostError as error:
        return {"unreachable": str(error)}
