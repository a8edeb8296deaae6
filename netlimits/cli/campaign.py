"""`netlimits run | resume | status | restore | parse`: campaigns, from first run to last."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from netlimits.cli import echo, logins, quoted
from netlimits.cli.options import (
    COUNTS,
    GUARD,
    HOSTS,
    JSON,
    PATIENCE,
    RESULTS,
    SET,
    YES,
    pairs,
    progress_options,
)
from netlimits.errors import (
    ArchiveError,
    ArchiveUnwritable,
    InputError,
    NetlimitsError,
    RestoreError,
)
from netlimits.model import of_all

if TYPE_CHECKING:
    from netlimits.archive.reader import Campaign
    from netlimits.campaign.interrupt import Stop
    from netlimits.checks import Finding
    from netlimits.checks.survey import Survey
    from netlimits.hosts.base import Host
    from netlimits.hosts.patience import Patience
    from netlimits.model import Machine


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
@PATIENCE
@JSON
@progress_options
def run(
    experiment_file: Path,
    hosts_file: Path | None,
    local: bool,
    overrides: Sequence[str],
    out: Path | None,
    guard: str,
    patience: Patience,
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
    from netlimits.campaign import creation
    from netlimits.campaign.interrupt import Stop
    from netlimits.checks import disk
    from netlimits.checks.survey import survey
    from netlimits.experiment import load, plan
    from netlimits.restore.guard.guards import refuse_claimed

    experiment = plan.seeded(load.load(experiment_file, pairs(overrides)))
    bound = machines_of(experiment.roles, hosts_file, local)
    folder = out or creation.default_path(experiment)
    _refuse_used(folder)
    guarding = _guard_seconds(guard)
    with Stop() as stop, stop.interruptible(), every_one(bound, patience) as hosts:
        refuse_claimed(hosts)
        found = survey(experiment, bound, hosts)
        made = plan.Plan(experiment, found.skipped)
        room = disk.here(folder, len(made) - made.left_out().total())
        say_warnings([*found.findings, room])
        stop.defer()
        campaign = creation.create(experiment, found, folder, logins.registrar(found.machines))
        echo(f"results: {campaign.path}", err=as_json)
        for line in skipped_lines(campaign.state()):
            echo(line, err=as_json)
        with logins.locked(campaign):
            _carry_out(campaign, found, hosts, stop, guarding, patience, as_json)


@click.command()
@RESULTS
@click.option(
    "--accept-changed-hosts",
    is_flag=True,
    help="Go on although a host's kernel, CPU, NIC or boot is not what it was.",
)
@COUNTS
@YES
@GUARD
@PATIENCE
@JSON
@progress_options
def resume(
    results: Path,
    accept_changed_hosts: bool,
    hosts_file: Path | None,
    yes: bool,
    guard: str,
    patience: Patience,
    as_json: bool,
) -> None:
    """Go on with a campaign that was interrupted: put back what it left, then do what is left.

    A run that has an outcome keeps it; a run that was interrupted gets a new attempt. A campaign
    that you did not begin on this machine logs in nowhere by itself: --hosts says which hosts
    count, and what would be put back there is shown first.

    \b
    Examples:
      netlimits resume results/stateless-offloads-20260101-120000
      netlimits resume results/from-elsewhere --hosts hosts.yaml
    """
    from netlimits.archive import reader
    from netlimits.campaign import creation
    from netlimits.campaign.interrupt import Stop
    from netlimits.checks.survey import survey
    from netlimits.restore.put_back import restore as put_back

    campaign = reader.open(results)
    reader.check_plan(campaign)
    bound, own = logins.machines_of(campaign, hosts_file, "resume")
    if not own:
        logins.show(campaign, bound, yes)
    guarding = _guard_seconds(guard)
    with (
        Stop() as stop,
        logins.locked(campaign),
        stop.interruptible(),
        every_one(bound, patience) as hosts,
    ):
        stop.defer()
        _say_put_back(put_back(campaign.archive, hosts))
        with stop.interruptible():
            found = survey(campaign.experiment, bound, hosts, campaign.skipped)
        say_warnings(found.findings)
        changed = creation.changed_hosts(campaign, found)
        if changed and not accept_changed_hosts:
            raise ArchiveError(
                f"{results}: not the same hosts: {'; '.join(changed)}; "
                "--accept-changed-hosts goes on all the same"
            )
        _carry_out(campaign, found, hosts, stop, guarding, patience, as_json)


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
@PATIENCE
@JSON
def status(
    results: Path | None,
    hosts_file: Path | None,
    guards: bool,
    patience: Patience,
    as_json: bool,
) -> None:
    """Say how far a campaign is, why runs failed, and what it changed and did not put back.

    With --guards or --hosts also what hosts say: which campaign claims them since when, whether
    a guard waits there, when it would put them back, and by which commands.

    \b
    Examples:
      netlimits status results/stateless-offloads-20260101-120000
      netlimits status results/stateless-offloads-20260101-120000 --guards
      netlimits status --hosts hosts.yaml
    """
    from netlimits.archive import reader
    from netlimits.campaign.interrupt import interruptible
    from netlimits.cli.guards import lines, reports
    from netlimits.experiment.hosts_file import machines

    if results is None and (hosts_file is None or guards):
        raise InputError("name a results folder, or --hosts FILE")
    campaign = reader.open(results) if results is not None else None
    state = campaign.state() if campaign else {}
    asked: dict[str, Machine] = {}
    if campaign and guards:
        asked |= logins.machines_of(campaign, hosts_file, "status")[0]
    if hosts_file is not None:
        asked |= machines(hosts_file)
    said: dict[str, dict[str, Any]] = {}
    if asked:
        with interruptible():
            said = reports(asked, patience)
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
    if state["running"]:
        yield _running(state["running"])
    yield from skipped_lines(state)
    for reason, count in state["reasons"].items():
        yield f"  {count} × {' '.join(reason.split())}"
    for role, count in state["reconnected"].items():
        yield f"{role}: its connection was lost and made again {count} ×"
    if state["running"]:
        for place in state["not_put_back"]:
            yield "changed while it runs: {role}: {interface}: {setting}".format(**place)
        return
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
@COUNTS
@click.option(
    "--force",
    is_flag=True,
    help="Take the hosts from a campaign that is at work there now, which then stops.",
)
@YES
@PATIENCE
def restore(
    results: Path | None, hosts_file: Path | None, force: bool, yes: bool, patience: Patience
) -> None:
    """Put hosts back as they were found, from a campaign's journal or from notes on the hosts.

    Guards and claims that a lost campaign left are removed too. A host on which a campaign is at
    work now, since its connection stands, is refused; with --force that campaign can change
    nothing there any more. A campaign that you did not begin on this machine logs in nowhere by
    itself: --hosts beside it says which hosts count, and what would be put back there is shown
    first. Harmless when there is nothing to put back. Exit status 3 when something could not be.

    \b
    Examples:
      netlimits restore results/stateless-offloads-20260101-120000
      netlimits restore results/from-elsewhere --hosts hosts.yaml
      netlimits restore --hosts hosts.yaml      (the controller's files are lost)
      netlimits restore --hosts hosts.yaml --force      (its campaign is to end)
    """
    from netlimits.archive import reader
    from netlimits.campaign.interrupt import interruptible
    from netlimits.experiment.hosts_file import machines
    from netlimits.restore.put_back import restore as from_journal
    from netlimits.restore.put_back import restore_from_notes

    if results is None and hosts_file is None:
        raise InputError("name a results folder, or --hosts FILE, or both")
    if results is not None:
        campaign = reader.open(results)
        bound, own = logins.machines_of(campaign, hosts_file, "restore")
        if not own:
            logins.show(campaign, bound, yes)
        with logins.locked(campaign), interruptible(), connected(bound, patience) as hosts:
            done = from_journal(campaign.archive, hosts, force)
    elif hosts_file is not None:
        with interruptible(), connected(machines(hosts_file), patience) as hosts:
            done = restore_from_notes(hosts, force)
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
    from netlimits.archive import reader
    from netlimits.campaign.reparse import reparse
    from netlimits.importers import folder

    campaign = reader.open(results)
    with logins.locked(campaign):
        if campaign.imported:
            read, changed = folder.reparse(campaign)
        else:
            read, changed = reparse(campaign)
    echo(f"{read} attempts read again, {changed} changed")
    for path in campaign.write_results():
        echo(str(path))


def machines_of(
    roles: Sequence[str], hosts_file: Path | None, local: bool
) -> Mapping[str, Machine]:
    """The machine of each role: of a hosts file, this machine's loopback, or the lab."""
    from netlimits.experiment.hosts_file import machines
    from netlimits.model import Machine

    if local and hosts_file:
        raise InputError("say either --hosts FILE or --local")
    if hosts_file:
        return machines(hosts_file, roles)
    if not local:
        return _in_lab(roles)
    return {role: Machine(role, interface="lo", address="127.0.0.1") for role in roles}


def _in_lab(roles: Sequence[str]) -> Mapping[str, Machine]:
    """The lab's hosts in their order, in the experiment's roles. Raises InputError if too few."""
    from netlimits.experiment.hosts_file import machines

    there = list(machines(lab_hosts_file()).values())
    if len(there) < len(roles):
        raise InputError(
            f"the experiment needs {len(roles)} hosts ({', '.join(roles)}) and the lab has "
            f"{len(there)}: `netlimits lab down` and `netlimits lab up --hosts {len(roles)}`"
        )
    return {role: replace(machine, role=role) for role, machine in zip(roles, there, strict=False)}


def lab_hosts_file() -> Path:
    """The lab's hosts file. Raises InputError when no lab is up."""
    from netlimits.lab import labs

    found: Path | None = labs.hosts_file()
    if found is None:
        raise InputError(
            "no hosts: name a hosts file with --hosts FILE, or build the lab with "
            "`netlimits lab up`"
        )
    return found


@contextmanager
def every_one(machines: Mapping[str, Machine], patience: Patience) -> Iterator[Mapping[str, Host]]:
    """Every machine, connected, until the end of `with`; CheckError names all that are not."""
    from netlimits.checks.survey import refuse
    from netlimits.checks.survey.login import logged_in

    with logged_in(machines, patience) as (hosts, findings):
        refuse(findings)
        yield hosts


def say_warnings(findings: Sequence[Finding]) -> None:
    """What the check before a campaign warns of, a line each."""
    for one in findings:
        if one.severity == "warning":
            echo(f"warning: {' '.join(str(one).split())}", err=True)


@contextmanager
def connected(machines: Mapping[str, Machine], patience: Patience) -> Iterator[Mapping[str, Host]]:
    """Every machine, connected, until the end of `with`."""
    from netlimits.hosts.connect import connect_all

    with connect_all(machines, patience) as hosts:
        yield hosts


def _carry_out(
    campaign: Campaign,
    found: Survey,
    hosts: Mapping[str, Host],
    stop: Stop,
    guard: float | None,
    patience: Patience,
    as_json: bool,
) -> None:
    """Run what is left, show progress, write the frames, and say what came of it."""
    from netlimits.campaign import runner
    from netlimits.campaign.interrupt import Interrupted
    from netlimits.cli.progress import shown
    from netlimits.hosts.connect import connect

    def again(machine: Machine) -> Host:
        return connect(machine, patience)

    work = runner.Runner(campaign.archive, campaign.experiment, found, hosts, stop, again, guard)
    campaign.archive.append("opened")
    try:
        with shown(campaign.experiment) as on_progress:
            work.carry_out(on_progress)
    except NetlimitsError as error:
        if isinstance(error, Interrupted | RestoreError):
            _write_frames(campaign)
        if isinstance(error, Interrupted | RestoreError | ArchiveUnwritable):
            with suppress(ArchiveError):  # its folder may be gone altogether
                echo(_counts(campaign.state()), err=True)
        if error.exit_status == 2:  # which says that nothing was touched
            error.exit_status = 1
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
        if state["ok"]:
            echo(f"next: netlimits table {quoted(campaign.path)}")
            echo(f"      netlimits figures {quoted(campaign.path)}")
            echo(f"      netlimits report {quoted(campaign.path)}")
    if state["ok"] < state["planned"]:
        sys.exit(1)


def _guard_seconds(guard: str) -> float | None:
    from netlimits.restore.guard.guards import patience

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
    except ArchiveError as error:
        echo(f"netlimits: {error}", err=True)


def _counts(state: Mapping[str, Any]) -> str:
    """ "18 runs: 17 ok, 1 failed"."""
    cut_off = state["interrupted"]
    plural = "" if cut_off == 1 else "s"
    again = f" ({cut_off} attempt{plural} interrupted)" if cut_off else ""
    return f"{of_all(state, state['left'])}{again}"


def _running(at_work: Mapping[str, Any]) -> str:
    """ "running: process 812 of rick, since 2026-01-01 12:00:00 UTC, at run 7"."""
    since = at_work["since"]
    clock = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(since)) if since else ""
    again = at_work["attempt"] or 1
    run = f"at run {at_work['run']}" if at_work["run"] else "between two runs"
    parts = [
        f"running: {at_work['by']}",
        f"since {clock}" if clock else "",
        run + (f", attempt {again}" if again > 1 else ""),
    ]
    return ", ".join(part for part in parts if part)


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
