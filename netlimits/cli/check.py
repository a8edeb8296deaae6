"""`netlimits check`: what would make a run fail or mislead, before anything is changed."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

import click

from netlimits.archive import registry
from netlimits.campaign import creation
from netlimits.campaign.interrupt import Stop, interruptible
from netlimits.checks import Finding
from netlimits.checks.disk import here
from netlimits.checks.survey import Survey, look
from netlimits.checks.survey.settings import SETTINGS_READ
from netlimits.cli.shared import logins
from netlimits.cli.shared.hosts import machines_of
from netlimits.cli.shared.options import EXPERIMENT, HOSTS, JSON, LOCAL, PATIENCE, SET
from netlimits.cli.shared.output import echo, echo_json, quoted
from netlimits.cli.shared.sides import Against, against_options, experiment_of
from netlimits.errors import HostError, RestoreError, escaped
from netlimits.experiment.plan import Plan, seeded
from netlimits.hosts.base import Host
from netlimits.hosts.patience import Patience
from netlimits.model import Experiment, Machine
from netlimits.restore.guard import claims

ORDER = ("error", "warning", "note")


@click.command()
@EXPERIMENT
@HOSTS
@LOCAL
@SET
@click.option(
    "--try",
    "write",
    is_flag=True,
    help="Write settings that a driver may ignore, read them back and restore them, as `run` does.",
)
@PATIENCE
@JSON
@against_options
def check(
    experiment_file: Path,
    hosts_file: Path | None,
    local: bool,
    overrides: Sequence[str],
    write: bool,
    patience: Patience,
    as_json: bool,
    against: Against,
) -> None:
    """Find what would make an experiment fail or mislead on these hosts, before it runs.

    `check` tests logins, sudo for each command of the plan, tools, ports, the link, packet sizes,
    settings, clocks, CPUs and disks. It tries each tool once, for at most a second. It changes no
    setting without --try. `netlimits run` does all of this first, including --try. With --against,
    `check` tests both sides of a duet. The exit status is 1 if something would make a run fail.

    \b
    Examples:
      netlimits check stateless-offloads --hosts hosts.yaml
      netlimits check quickstart --local
      netlimits check stateless-offloads --hosts hosts.yaml --try
      netlimits check tool-comparison --hosts hosts.yaml --json
      netlimits check before.yaml --against after.yaml --hosts hosts.yaml
    """
    loaded, machines = experiment_of(
        experiment_file, overrides, against, lambda roles: machines_of(roles, hosts_file, local)
    )
    experiment = seeded(loaded)
    Plan(experiment)
    started = time.monotonic()
    with interruptible():
        findings, skipped = _findings(experiment, machines, patience, write=write)
    findings.sort(key=lambda finding: ORDER.index(finding.severity))
    counts = {s: sum(finding.severity == s for finding in findings) for s in ORDER}
    seconds = round(time.monotonic() - started, 2)
    if as_json:
        document = {
            "experiment": experiment.name,
            "findings": [asdict(finding) for finding in findings],
            "skipped": dict(skipped),
            **{f"{severity}s": count for severity, count in counts.items()},
            "seconds": seconds,
        }
        echo_json(document)
    else:
        _print(findings)
        words = ", ".join(f"{n} {s}{'' if n == 1 else 's'}" for s, n in counts.items())
        echo(f"{words}, in {seconds:.1f} s")
    sys.exit(1 if counts["error"] else 0)


def _findings(
    experiment: Experiment, machines: Mapping[str, Machine], patience: Patience, *, write: bool
) -> tuple[list[Finding], Mapping[str, str]]:
    from netlimits.checks.survey.login import logged_in

    plan = Plan(experiment)
    with logged_in(machines, patience) as (hosts, findings):
        findings += (claims := list(_claims(hosts)))
        survey = look(plan, machines, hosts, try_tools=not claims)
        findings += survey.findings
        if write and not any(finding.severity == "error" for finding in findings):
            findings = _tried(plan, survey, hosts, findings)
        runs = len(plan) - plan.leaving_out(survey.skipped).skipped_runs().total()
    return [*findings, here(Path("results"), runs)], survey.skipped


def _tried(
    plan: Plan, survey: Survey, hosts: Mapping[str, Host], findings: list[Finding]
) -> list[Finding]:
    """Write, read back and restore the settings in `TRIED`; return all findings.

    The undo log belongs to a temporary campaign without runs.
    """
    import shutil
    import tempfile
    from dataclasses import replace

    from netlimits.campaign import rehearsal
    from netlimits.campaign.session import Session
    from netlimits.hosts.connect import connect

    folder = Path(tempfile.mkdtemp(prefix="netlimits-check-"))
    campaign = creation.create(plan, survey, folder, logins.registrar(survey.machines))
    try:
        with Stop() as stop, logins.locked(campaign):
            session = Session(campaign.archive, campaign.plan, survey, hosts, connect)
            with session.open():
                wrong = rehearsal.tried(session, stop)
    except RestoreError as error:
        raise RestoreError(f"{error}; then: netlimits restore {quoted(folder)}") from None
    registry.forget(campaign.archive.meta["id"])
    shutil.rmtree(folder)
    kept = [
        replace(f, problem=f.problem.partition("; not tried")[0] + "; tried")
        if f.check == SETTINGS_READ and "; not tried" in f.problem
        else f
        for f in findings
    ]
    return [*kept, *wrong]


def _claims(hosts: Mapping[str, Host]) -> Iterator[Finding]:
    for role, host in hosts.items():
        try:
            claims.refuse_claimed({role: host})
        except HostError as error:
            yield Finding(role, "claim", "error", str(error).removeprefix(f"{role}: "))


def _print(findings: Sequence[Finding]) -> None:
    if not sys.stdout.isatty():
        for finding in findings:
            head = f"{finding.severity:7}  {finding.host or 'here':10}  {finding.check:11}"
            echo(f"{head}  {finding.message}")
        return
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for title in ("", "host", "what", "finding", "what to do"):
        table.add_column(title, overflow="fold")
    styles = {"error": "bold red", "warning": "yellow", "note": "dim"}
    for finding in findings:
        cells = (
            finding.severity,
            finding.host or "here",
            finding.check,
            finding.problem,
            finding.advice,
        )
        table.add_row(*(Text(escaped(cell)) for cell in cells), style=styles[finding.severity])
    Console(highlight=False).print(table)
