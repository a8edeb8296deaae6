"""`netlimits run | resume | status | restore | parse`: campaigns, from first run to last."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from netlimits.cli import echo, quoted
from netlimits.cli.options import GUARD, HOSTS, JSON, RESULTS, SET, pairs
from netlimits.errors import ArchiveError, InputError, NetlimitsError, RestoreError

if TYPE_CHECKING:
    from netlimits.campaign import Campaign
    from netlimits.checks import Finding
    from netlimits.hosts.base import Host
    from netlimits.model import Machine
    from netlimits.stop import Stop
    from netlimits.survey import Survey


@click.command()
@click.argument("experiment_file", metavar="EXPERIMENT", type=click.Path(path_type=Path))
@HOSTS
@click.option("--local", is_flag=True, help="Every role is this machine, over loopback.")
@SET
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="The folder for results; results/NAME-DATE-TIME if left out.",
)
@GUARD
@JSON
def run(
    experiment_file: Path,
    hosts_file: Path | None,
    local: bool,
    overrides: Sequence[str],
    out: Path | None,
    guard: str,
    as_json: bool,
) -> None:
    """Run an experiment: every run of its plan, on hosts over SSH, or in the lab.

    Hosts are checked before anything is touched and put back as they were found at the end,
    after an error and after Ctrl-C, which also says how to go on. A guard on each host puts it
    back should this machine be lost. A host on which another campaign is at work is refused.

    \b
    Examples:
      netlimits run experiments/quickstart.yaml --local
      netlimits run experiments/stateless-offloads.yaml --hosts hosts.yaml
      netlimits run experiments/stateless-offloads.yaml \\
          --set measure.netperf.seconds=1 --set repeat.replicates=3
    """
    from netlimits import campaign as campaigns
    from netlimits import experiment as experiments
    from netlimits import guard as guards
    from netlimits import plan
    from netlimits.checks import disk
    from netlimits.stop import Stop
    from netlimits.survey import survey

    experiment = plan.seeded(experiments.load(experiment_file, pairs(overrides)))
    bound = machines_of(experiment.roles, hosts_file, local)
    folder = out or campaigns.default_path(experiment)
    _refuse_used(folder)
    patience = _patience(guard)
    with Stop() as stop, stop.interruptible(), every_one(bound) as hosts:
        guards.refuse_claimed(hosts)
        found = survey(experiment, bound, hosts)
        made = plan.Plan(experiment, found.skipped)
        room = disk.here(folder, len(made) - made.left_out().total())
        say_warnings([*found.findings, room])
        stop.defer()
        campaign = campaigns.create(experiment, found, folder)
        echo(f"results: {campaign.path}", err=as_json)
        for line in skipped_lines(campaign.state()):
            echo(line, err=as_json)
        with _locked(campaign):
            _carry_out(campaign, found, hosts, stop, patience, as_json)


@click.command()
@RESULTS
@click.option(
    "--accept-changed-hosts",
    is_flag=True,
    help="Go on although a host's kernel, CPU, NIC or boot is not what it was.",
)
@GUARD
@JSON
def resume(results: Path, accept_changed_hosts: bool, guard: str, as_json: bool) -> None:
    """Go on with a campaign that was interrupted: put back what it left, then do what is left.

    A run that has an outcome keeps it; a run that was interrupted gets a new attempt.

    \b
    Example:
      netlimits resume results/stateless-offloads-20260101-120000
    """
    from netlimits import campaign as campaigns
    from netlimits.restore import restore as put_back
    from netlimits.stop import Stop
    from netlimits.survey import survey

    campaign = campaigns.open(results)
    campaigns.check_plan(campaign)
    bound = campaign.archive.machines
    patience = _patience(guard)
    with Stop() as stop, _locked(campaign), stop.interruptible(), every_one(bound) as hosts:
        stop.defer()
        _say_put_back(put_back(campaign.archive, hosts))
        found = survey(campaign.experiment, bound, hosts, campaign.skipped)
        say_warnings(found.findings)
        changed = campaigns.changed_hosts(campaign, found)
        if changed and not accept_changed_hosts:
            raise ArchiveError(
                f"{results}: not the same hosts: {'; '.join(changed)}; "
                "--accept-changed-hosts goes on all the same"
            )
        _carry_out(campaign, found, hosts, stop, patience, as_json)


@click.command()
@click.argument("results", required=False, type=click.Path(path_type=Path))
@click.option(
    "--hosts",
    "hosts_file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Ask the hosts of this file who is at work on them, and for their guards.",
)
@click.option("--guards", is_flag=True, help="Ask the campaign's own hosts.")
@JSON
def status(results: Path | None, hosts_file: Path | None, guards: bool, as_json: bool) -> None:
    """Say how far a campaign is, why runs failed, and what it changed and did not put back.

    With --guards or --hosts also what hosts say: which campaign claims them since when, whether
    a guard waits there, when it would put them back, and by which commands.

    \b
    Examples:
      netlimits status results/stateless-offloads-20260101-120000
      netlimits status results/stateless-offloads-20260101-120000 --guards
      netlimits status --hosts hosts.yaml
    """
    from netlimits import campaign as campaigns
    from netlimits import machines
    from netlimits.cli.guards import lines, reports

    if results is None and (hosts_file is None or guards):
        raise InputError("name a results folder, or --hosts FILE")
    campaign = campaigns.open(results) if results is not None else None
    state = campaign.state() if campaign else {}
    asked: dict[str, Machine] = {}
    if campaign and guards:
        asked |= campaign.archive.machines
    if hosts_file is not None:
        asked |= machines.machines(hosts_file)
    said = reports(asked) if asked else {}
    if as_json:
        echo(json.dumps({**state, **({"hosts": said} if asked else {})}, indent=2))
        return
    for line in [*(_progress(state) if campaign else ()), *lines(said)]:
        echo(line)


def _progress(state: Mapping[str, Any]) -> Iterator[str]:
    """A campaign's state for people."""
    files = state["imported"]
    origin = f"from {len(files)} files" if files else f"seed {state['seed']}"
    yield f"{state['experiment']} ({origin}) in {state['path']}"
    yield _counts(state)
    yield from skipped_lines(state)
    for reason, count in state["reasons"].items():
        yield f"  {count} × {' '.join(reason.split())}"
    for role, count in state["reconnected"].items():
        yield f"{role}: its connection was lost and made again {count} ×"
    for place in state["not_put_back"]:
        yield "not put back: {role}: {interface}: {setting}".format(**place)
    if state["not_put_back"]:
        yield (
            f"put back with: netlimits restore {quoted(state['path'])} (which also finds out what "
            "`restore --hosts` did already)"
        )
    if state["left"]:
        yield f"go on with: netlimits resume {quoted(state['path'])}"


@click.command()
@click.argument("results", required=False, type=click.Path(path_type=Path))
@HOSTS
def restore(results: Path | None, hosts_file: Path | None) -> None:
    """Put hosts back as they were found, from a campaign's journal or from notes on the hosts.

    Guards and claims that a lost campaign left are removed too. With --hosts it is you who says
    that the campaign is dead: one that is still at work there stops. Harmless when there is
    nothing to put back. Exit status 3 when something could not be.

    \b
    Examples:
      netlimits restore results/stateless-offloads-20260101-120000
      netlimits restore --hosts hosts.yaml      (the controller's files are lost)
    """
    from netlimits import campaign as campaigns
    from netlimits import machines
    from netlimits.restore import restore as from_journal
    from netlimits.restore import restore_from_notes

    if (results is None) == (hosts_file is None):
        raise InputError("name either a results folder or --hosts FILE")
    if results is not None:
        campaign = campaigns.open(results)
        with _locked(campaign), connected(campaign.archive.machines) as hosts:
            done = from_journal(campaign.archive, hosts)
    elif hosts_file is not None:
        with connected(machines.machines(hosts_file)) as hosts:
            done = restore_from_notes(hosts)
    _say_put_back(done)
    if not done:
        echo("nothing to put back")


@click.command()
@RESULTS
def parse(results: Path) -> None:
    """Read the raw output of every run again, and make results.csv and results.parquet anew.

    What the parser says now is added to the journal; what it said before stays there.

    \b
    Example:
      netlimits parse results/stateless-offloads-20260101-120000
    """
    from netlimits import campaign as campaigns

    campaign = campaigns.open(results)
    with _locked(campaign):
        if campaign.imported:
            from netlimits.imports import folder

            read, changed = folder.reparse(campaign)
        else:
            read, changed = campaigns.reparse(campaign)
    echo(f"{read} attempts read again, {changed} changed")
    for path in campaign.write_results():
        echo(str(path))


def machines_of(
    roles: Sequence[str], hosts_file: Path | None, local: bool
) -> Mapping[str, Machine]:
    """The machine of each role: of a hosts file, this machine's loopback, or the lab."""
    from netlimits import machines
    from netlimits.model import Machine

    if local and hosts_file:
        raise InputError("say either --hosts FILE or --local")
    if hosts_file:
        return machines.machines(hosts_file, roles)
    if not local:
        return _in_lab(roles)
    return {role: Machine(role, interface="lo", address="127.0.0.1") for role in roles}


def _in_lab(roles: Sequence[str]) -> Mapping[str, Machine]:
    """The lab's hosts in their order, in the experiment's roles. Raises InputError if too few."""
    from netlimits import machines

    there = list(machines.machines(lab_hosts_file()).values())
    if len(there) < len(roles):
        raise InputError(
            f"the experiment needs {len(roles)} hosts ({', '.join(roles)}) and the lab has "
            f"{len(there)}: `netlimits lab down` and `netlimits lab up --hosts {len(roles)}`"
        )
    return {role: replace(machine, role=role) for role, machine in zip(roles, there, strict=False)}


def lab_hosts_file() -> Path:
    """The lab's hosts file. Raises InputError when no lab is up."""
    from netlimits import lab

    found: Path | None = lab.hosts_file()
    if found is None:
        raise InputError(
            "no hosts: name a hosts file with --hosts FILE, or build the lab with "
            "`netlimits lab up`"
        )
    return found


@contextmanager
def every_one(machines: Mapping[str, Machine]) -> Iterator[Mapping[str, Host]]:
    """Every machine, connected, until the end of `with`; CheckError names all that are not."""
    from netlimits.checks.login import logged_in
    from netlimits.survey import refuse

    with logged_in(machines) as (hosts, findings):
        refuse(findings)
        yield hosts


def say_warnings(findings: Sequence[Finding]) -> None:
    """What the check before a campaign warns of, a line each."""
    for one in findings:
        if one.severity == "warning":
            echo(f"warning: {' '.join(str(one).split())}", err=True)


@contextmanager
def connected(machines: Mapping[str, Machine]) -> Iterator[Mapping[str, Host]]:
    """Every machine, connected, until the end of `with`."""
    from netlimits.hosts.connect import connect_all

    with connect_all(machines) as hosts:
        yield hosts


def _carry_out(
    campaign: Campaign,
    found: Survey,
    hosts: Mapping[str, Host],
    stop: Stop,
    patience: float | None,
    as_json: bool,
) -> None:
    """Run what is left, show progress, write the frames, and say what came of it."""
    from netlimits import session
    from netlimits.cli.progress import shown
    from netlimits.hosts.connect import connect
    from netlimits.stop import Interrupted

    work = session.Campaign(
        campaign.archive, campaign.experiment, found, hosts, stop, connect, patience
    )
    campaign.archive.append("opened")
    try:
        with shown(campaign.experiment) as on_progress:
            work.carry_out(on_progress)
    except NetlimitsError as error:
        if isinstance(error, Interrupted | RestoreError):
            _write_frames(campaign)
            echo(_counts(campaign.state()), err=True)
        done = "" if isinstance(error, RestoreError) else "; hosts are put back"
        error.args = (f"{error}{done}; go on with: netlimits resume {quoted(campaign.path)}",)
        raise
    campaign.archive.append("closed")
    written = campaign.write_results()
    _report(campaign, written, as_json)


def _report(campaign: Campaign, written: Sequence[Path], as_json: bool) -> None:
    state = campaign.state()
    if as_json:
        files = [str(path) for path in written]
        echo(json.dumps({**state, "files": files}, indent=2))
    else:
        echo(_counts(state))
        for reason, count in list(state["reasons"].items())[:5]:
            echo(f"  {count} × {' '.join(reason.split())}")
        for path in written:
            echo(str(path))
        echo(f"next: netlimits table {quoted(campaign.path)}")
        echo(f"      netlimits figures {quoted(campaign.path)}")
    if state["ok"] < state["planned"]:
        sys.exit(1)


def _patience(guard: str) -> float | None:
    from netlimits.guard import patience

    seconds = patience(guard)
    if seconds is None:
        echo(
            "netlimits: --guard off: hosts stay changed when this machine is lost, until "
            "`netlimits restore`",
            err=True,
        )
    return seconds


def _write_frames(campaign: Campaign) -> None:
    try:
        campaign.write_results()
    except OSError as error:
        echo(f"netlimits: results.csv could not be written: {error}", err=True)


def _counts(state: Mapping[str, Any]) -> str:
    """ "18 runs: 17 ok, 1 failed"."""
    parts = [f"{state[k]} {k}" for k in ("ok", "failed", "timeout", "invalid", "left") if state[k]]
    again = f" ({state['interrupted']} attempts interrupted)" if state["interrupted"] else ""
    return f"{state['planned']} runs: {', '.join(parts)}{again}"


def skipped_lines(state: Mapping[str, Any]) -> Iterator[str]:
    """How many runs are left out, and why."""
    for one in state["skipped"]:
        yield f"  {one['runs']} more are skipped, {one['tool']}: {' '.join(one['reason'].split())}"


def _say_put_back(found: Sequence[Any]) -> None:
    for one in found:
        echo(f"put back: {one.role}: {one.interface}: {one.setting}")


def _refuse_used(folder: Path) -> None:
    """Say before any host is asked that results cannot go there."""
    try:
        used = folder.is_dir() and any(folder.iterdir())
    except OSError as error:
        raise ArchiveError(f"{folder}: {error.strerror}; choose a folder with --out") from None
    if used:
        raise ArchiveError(f"{folder}: is not empty; name another folder with --out")


@contextmanager
def _locked(campaign: Campaign) -> Iterator[None]:
    campaign.archive.lock()
    try:
        yield
    finally:
        campaign.archive.close()
