"""A campaign in this process, with something else between its runs: two things measured in turn."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from netlimits.archive.store import Archive
from netlimits.campaign import creation
from netlimits.campaign.interrupt import Stop
from netlimits.campaign.schedule import in_order
from netlimits.campaign.session import Session
from netlimits.checks.survey import survey
from netlimits.experiment import hosts_file, load
from netlimits.experiment.plan import Plan
from netlimits.hosts.connect import connect, connect_all
from netlimits.lab.labs import Lab


def carried_out(
    text: str,
    lab: Lab,
    folder: Path,
    between: Callable[[int, Archive], None],
    hosts_of: Path | None = None,
) -> Archive:
    """Carry an experiment out on a lab's hosts, and return its archive, closed.

    `between` is called before the first run and after each, with how many are done and the archive.
    `hosts_of` is a hosts file in place of the lab's.
    """
    experiment = folder / "experiment.yaml"
    experiment.write_text(text)
    plan = Plan(load.load(experiment))
    bound = hosts_file.machines(hosts_of or lab.hosts_file, plan.experiment.roles)
    with Stop() as stop, connect_all(bound) as hosts:
        surveyed = survey(plan, bound, hosts)
        made = creation.create(plan, surveyed, folder / "results")
        made.archive.lock()
        session = Session(made.archive, made.plan, surveyed, hosts, connect)
        with session.open():
            in_order(session, stop, lambda progress: between(progress.done, made.archive))
        made.archive.close()
    return made.archive
