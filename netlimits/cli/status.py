"""`netlimits status`: a campaign's progress, and what its hosts report."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import click

from netlimits.archive import logbook
from netlimits.campaign.interrupt import interruptible
from netlimits.cli.shared import logins
from netlimits.cli.shared.lines import counts, skipped_lines
from netlimits.cli.shared.options import JSON, PATIENCE, hosts_option
from netlimits.cli.shared.output import echo, echo_json, quoted
from netlimits.errors import HostError, InputError, one_line
from netlimits.experiment.hosts_file import machines
from netlimits.hosts.base import Host
from netlimits.hosts.patience import Patience
from netlimits.hosts.threads import concurrently
from netlimits.model import Machine
from netlimits.restore.guard import claims
from netlimits.restore.guard.report import has_restored


@click.command()
@click.argument("results", required=False, type=click.Path(path_type=Path))
@hosts_option("Also ask the hosts of this file for their campaign and their guard.")
@click.option("--guards", is_flag=True, help="Also ask the campaign's own hosts.")
@PATIENCE
@JSON
def status(
    results: Path | None,
    hosts_file: Path | None,
    guards: bool,
    patience: Patience,
    as_json: bool,
) -> None:
    """Report a campaign's progress, why runs failed, and what it changed and did not restore yet.

    With --guards or --hosts, `status` also logs in to the hosts. It then prints for each host which
    campaign uses it and since when, whether a guard waits, when the guard would restore the host,
    and by which commands.

    \b
    Examples:
      netlimits status results/stateless-offloads-20260101-120000
      netlimits status results/stateless-offloads-20260101-120000 --guards
      netlimits status --hosts hosts.yaml
    """
    if results is None and (hosts_file is None or guards):
        raise InputError("name a results folder, or --hosts FILE")
    campaign = logbook.open(results) if results is not None else None
    state = campaign.state() if campaign else {}
    bound: dict[str, Machine] = {}
    if campaign and guards:
        bound |= logins.machines_of(campaign, hosts_file, "status")[0]
    if hosts_file is not None:
        bound |= machines(hosts_file)
    answers: dict[str, dict[str, Any]] = {}
    if bound:
        with interruptible():
            answers = _reports(bound, patience)
    if as_json:
        echo_json({**state, **({"hosts": answers} if bound else {})})
        return
    about_campaign = _progress(state, answers) if campaign else ()
    restoring = f"--hosts {quoted(hosts_file or 'FILE')}"
    if campaign and not hosts_file:  # if settings stay changed, `_left` has named the command
        restoring = "" if state["not_put_back"] else quoted(campaign.path)
    for line in [*about_campaign, *_host_lines(answers, restoring)]:
        echo(line)


def _progress(state: Mapping[str, Any], answers: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    files = state["imported"]
    origin = f"from {len(files)} files" if files else f"seed {state['seed']}"
    yield f"{state['experiment']} ({origin}) in {state['path']}"
    yield counts(state)
    if state["running"]:
        yield _running(state["running"])
    yield from skipped_lines(state["skipped"])
    for reason, count in state["reasons"].items():
        yield f"  {count} × {one_line(reason)}"
    for role, count in state["reconnected"].items():
        yield f"{role}: its connection was lost and made again {count} ×"
    if state["running"]:
        for place in state["not_put_back"]:
            yield "changed while it runs: {role}: {interface}: {setting}".format(**place)
        return
    yield from _left(state, answers)
    if state["left"]:
        yield f"continue with: netlimits resume {quoted(state['path'])}"


def _left(state: Mapping[str, Any], answers: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    campaign = quoted(state["path"])
    for place in state["not_put_back"]:
        answer = answers.get(place["role"], {})
        outcome = "changed, perhaps not restored"
        if "guard" in answer:
            noted = [{**note, **place} == note for note in answer["changed"]]
            outcome = "changed, not restored yet" if any(noted) else "restored (says its host)"
            outcome = "restored by its host's guard" if has_restored(answer) else outcome
        yield "{outcome}: {role}: {interface}: {setting}".format(outcome=outcome, **place)
    if state["not_put_back"]:
        if not answers:
            yield (
                "a guard, or `netlimits restore --hosts`, may have restored it since; ask the "
                f"hosts with: netlimits status {campaign} --guards"
            )
        yield f"restore and verify with: netlimits restore {campaign}"


def _running(at_work: Mapping[str, Any]) -> str:
    """Return a text such as "running: process 812 of rick, since 2026-01-01 12:00:00 UTC, …"."""
    since = at_work["since"]
    clock = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(since)) if since else ""
    attempt = at_work["attempt"] or 1
    run = f"at run {at_work['run']}" if at_work["run"] else "between two runs"
    if len(runs := at_work.get("runs", ())) > 1:
        run = f"at {len(runs)} runs: {', '.join(map(str, runs))}"
    parts = [
        f"running: {at_work['by']}",
        f"since {clock}" if clock else "",
        run + (f", attempt {attempt}" if attempt > 1 else ""),
    ]
    return ", ".join(part for part in parts if part)


def _reports(machines: Mapping[str, Machine], patience: Patience) -> dict[str, dict[str, Any]]:
    from netlimits.hosts.connect import logged_in

    with logged_in(machines, patience) as outcomes:
        answers = concurrently(lambda role: _report(role, outcomes[role]), outcomes)
        return dict(zip(outcomes, answers, strict=True))


def _host_lines(answers: Mapping[str, dict[str, Any]], restoring: str) -> list[str]:
    """Return the lines of the hosts' reports, and the command that restores them."""
    from netlimits.restore.guard import report

    shown = []
    for role, answer in answers.items():
        reached = "unreachable" not in answer
        shown += report.lines(role, answer) if reached else [f"{role}: {answer['unreachable']}"]
    if restoring and any(
        answer.get("guard") in ("fired", "dead") or answer.get("changed")
        for answer in answers.values()
    ):
        shown.append(f"once no campaign uses these hosts: netlimits restore {restoring}")
    return shown


def _report(role: str, outcome: Host | HostError) -> dict[str, Any]:
    from netlimits.restore.guard.report import report

    try:
        if isinstance(outcome, HostError):
            raise outcome
        return report(claims.snapshot(lambda _: outcome, role))
    except HostError as error:
        return {"unreachable": str(error)}
