"""`netlimits plan`: what an experiment would run, without contacting its hosts."""

from __future__ import annotations

import dataclasses
import io
import itertools
import os
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TextIO

import click

from netlimits.campaign.interrupt import interruptible
from netlimits.checks.survey import foreseen, tools
from netlimits.checks.survey.prompt import PromptHost
from netlimits.cli.shared import planned_runs
from netlimits.cli.shared.hosts import say_note
from netlimits.cli.shared.options import (
    AT_ONCE,
    EXPERIMENT,
    JSON,
    PATIENCE,
    SET,
    Output,
    hosts_option,
    writing,
)
from netlimits.cli.shared.output import echo, echo_json
from netlimits.cli.shared.sides import (
    LARGE,
    Against,
    against_options,
    experiment_of,
    pairs_at_once,
)
from netlimits.errors import InputError, escaped
from netlimits.experiment import resolution
from netlimits.experiment.hosts_file import machines
from netlimits.experiment.plan import Plan, seeded
from netlimits.hosts.patience import Patience
from netlimits.model import Experiment, Machine

ROWS = 10


@click.command()
@EXPERIMENT
@SET
@click.option(
    "--rows", type=click.IntRange(min=0), help=f"Number of runs to show; default: {ROWS}."
)
@click.option(
    "--commands",
    "with_commands",
    is_flag=True,
    help="Print each configuration's settings and the tools' command lines instead, for all runs "
    "or for the first --rows.",
)
@click.option("--all", "every", is_flag=True, help="With --commands: print every command.")
@hosts_option(
    "The hosts file whose interfaces and addresses --commands shows. `plan` logs in to its hosts "
    "only to look for tools with `if_missing: skip`."
)
@PATIENCE
@AT_ONCE
@click.option(
    "--csv",
    "csv_file",
    type=Output(folder=False),
    metavar="FILE",
    help="Write every run to FILE; - is stdout.",
)
@JSON
@against_options
def plan(
    experiment_file: Path,
    overrides: Sequence[str],
    rows: int | None,
    with_commands: bool,
    every: bool,
    hosts_file: Path | None,
    patience: Patience,
    at_once: int | None,
    csv_file: Path | None,
    as_json: bool,
    against: Against,
) -> None:
    """Print what an experiment would run, in which order, and for how long.

    `plan` contacts no host, unless --hosts is given: then it looks for missing tools, and shows
    their runs as skipped. The plan is followed by those findings of `check` that need no host.

    --commands prints, for each configuration, the commands that set the hosts and the tools'
    command lines. --all adds every command that reads settings and evidence, and each script once;
    --json has them for each run. `run` skips a change if the host already has the value. Left out
    are claims, guards, notes, restores, and the tests that a server listens or the link is up.

    With --against the plan has both sides, in the order in which `run` would run them.

    \b
    Examples:
      netlimits plan stateless-offloads
      netlimits plan stateless-offloads --commands
      netlimits plan stateless-offloads --set repeat.replicates=3 --csv plan.csv
      netlimits plan before.yaml --against after.yaml --commands --rows 4
    """
    if every and not with_commands:
        raise InputError("--all needs --commands")
    bind = partial(machines, hosts_file, note=say_note) if hosts_file else None
    loaded, bound = experiment_of(experiment_file, overrides, against, bind)
    drawn = loaded.repeat.seed is None
    experiment_plan = Plan(seeded(loaded), _skipped(loaded, bound, patience))
    groups = {role: machine.group for role, machine in bound.items()}
    summary = planned_runs.summary_of(
        experiment_plan, drawn, groups, pairs_at_once(loaded, at_once)
    )
    small = len(experiment_plan.configurations) <= LARGE
    findings = foreseen(experiment_plan, bound or None) if small else ()
    if str(csv_file) == "-":
        experiment_plan.write_csv(_Shown(sys.stdout) if sys.stdout.isatty() else sys.stdout)
        return
    if csv_file is not None:
        with writing(csv_file):
            _write(experiment_plan, csv_file.resolve())
    ends = bound or _placeholders(experiment_plan)
    most = ROWS if rows is None and not with_commands else rows
    runs = list(itertools.islice(experiment_plan.runs(), most))
    if as_json:
        document = {
            **summary,
            "findings": [dataclasses.asdict(finding) for finding in findings],
            "first": [
                *planned_runs.as_json(experiment_plan, runs, ends if with_commands else None)
            ],
        }
        echo_json(document)
    else:
        planned_runs.print_summary(summary)
        if with_commands:
            planned_runs.print_commands(experiment_plan, runs, ends, every=every)
        elif runs:
            planned_runs.print_runs(experiment_plan, runs)
    if csv_file is not None:
        echo(csv_file, err=as_json)
    for finding in findings:
        echo(f"{finding.severity}: {finding}", err=True)
    if any(finding.severity == "error" for finding in findings):
        sys.exit(InputError.exit_status)


class _Shown(io.StringIO):
    """A stream that writes to the terminal and escapes control codes in values."""

    def __init__(self, stream: TextIO) -> None:
        super().__init__()
        self._stream = stream

    def write(self, text: str) -> int:
        return self._stream.write(escaped(text.replace("\r\n", "\n")))


def _skipped(
    experiment: Experiment, bound: Mapping[str, Machine], patience: Patience
) -> dict[str, str]:
    """Return tool -> reason, for each optional tool that its hosts lack."""
    may_be = [name for name in experiment.measure if resolution.may_be_missing(experiment, name)]
    if not bound or not may_be:
        return {}
    from netlimits.checks.survey.login import logged_in

    with interruptible(), logged_in(bound, patience) as (hosts, findings):
        for finding in findings:
            echo(f"warning: could not ask for its tools: {finding}", err=True)
        prompt = {role: PromptHost(host) for role, host in hosts.items()}
        return tools.inventory(experiment, prompt)[1]


def _placeholders(experiment_plan: Plan) -> dict[str, Machine]:
    roles = experiment_plan.experiment.roles
    return {
        role: Machine(
            role, interface=f"{role.upper()}_INTERFACE", address=f"{role.upper()}_ADDRESS"
        )
        for role in roles
    }


def _write(experiment_plan: Plan, target: Path) -> None:
    """Write the plan: a file is replaced once complete, a pipe or a device is written directly."""
    if target.exists() and not target.is_file():
        with target.open("w", encoding="utf-8", newline="") as file:
            experiment_plan.write_csv(file)
        return
    temporary = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        with temporary.open("x", encoding="utf-8", newline="") as file:
            experiment_plan.write_csv(file)
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)
