"""The runs of a plan for its reader: as a table, with their commands, or as JSON."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from netlimits.cli import echo
from netlimits.errors import escaped, one_line
from netlimits.experiment.templates import written

if TYPE_CHECKING:
    from netlimits.experiment.plan import Plan
    from netlimits.model import Machine, Run


def print_runs(experiment_plan: Plan, runs: Sequence[Run]) -> None:
    """The runs as a table: by rich on a terminal, in plain columns elsewhere."""
    last = ["skip"] if experiment_plan.skipped else []
    head = ["run", "block", "config", *experiment_plan.configurations.columns, *last]
    table = [
        [
            *(str(run.number), str(run.block), run.config, *map(_cell, run.values.values())),
            *(_cell(experiment_plan.skip(run.values)) for _ in last),
        ]
        for run in runs
    ]
    left = len(experiment_plan) - len(runs)
    more = f"… and {left:,} more (--rows, --csv)" if left else ""
    echo()
    if sys.stdout.isatty():
        from rich.box import SIMPLE_HEAD
        from rich.console import Console
        from rich.table import Table
        from rich.text import Text

        grid = Table(box=SIMPLE_HEAD, pad_edge=False)
        for name in head:
            grid.add_column(Text(escaped(name)))
        for row in table:
            grid.add_row(*map(Text, row))
        Console(highlight=False).print(grid)
    else:
        widths = [max(map(len, column)) for column in zip(head, *table, strict=True)]
        for row in (head, *table):
            cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
            echo("  ".join(cells).rstrip())
    if more:
        echo(more)


def _cell(value: Any) -> str:
    return escaped(" ".join(written(value).split("\n")))


def _commands(
    experiment_plan: Plan, runs: Iterable[Run], machines: Mapping[str, Machine]
) -> Iterator[tuple[Run, list[tuple[str, str, str]]]]:
    """Each run with (role, step, command as a shell would take it); none of one left out."""
    from netlimits.campaign.dry_run import DryRun, Remark
    from netlimits.tools import Features

    every = Features("", frozenset(("demo", "burst", "intervals", "pacing")))
    rehearsed = DryRun(machines, every)
    for run in runs:
        commands = []
        if not experiment_plan.skip(run.values):
            ends = experiment_plan.experiment.ends_of(run.values)
            for step in rehearsed.commands(experiment_plan.setup(run.values), ends):
                if isinstance(step, Remark):
                    commands.append((step.role, step.name, f"# {step.text}"))
                    continue
                sudo = ("sudo", "-n") if step.command.sudo else ()
                commands.append((step.role, step.name, shlex.join((*sudo, *step.command.argv))))
        yield run, commands


def print_commands(
    experiment_plan: Plan, runs: Iterable[Run], machines: Mapping[str, Machine]
) -> None:
    """Each run with the commands of each role, a line each; of one left out the reason."""
    width = max(map(len, experiment_plan.experiment.roles))
    for run, commands in _commands(experiment_plan, runs, machines):
        values = " ".join(f"{name}={_cell(value)}" for name, value in run.values.items())
        echo(f"\nrun {run.number}, block {run.block}, {run.config}: {values}".rstrip(": "))
        if why := experiment_plan.skip(run.values):
            echo(f"  skipped: {one_line(why)}")
        for role, _, command in commands:
            echo(f"  {role.ljust(width)}  {command}")


def as_json(
    experiment_plan: Plan, shown: Iterable[Run], machines: Mapping[str, Machine] | None
) -> Iterator[dict[str, Any]]:
    """Each run, with its commands where machines are given."""
    no_commands: list[tuple[str, str, str]] = []
    of_runs = (
        _commands(experiment_plan, shown, machines)
        if machines
        else ((run, no_commands) for run in shown)
    )
    for run, commands in of_runs:
        entry: dict[str, Any] = {
            "run": run.number,
            "block": run.block,
            "config": run.config,
            "values": dict(run.values),
            **({"skip": experiment_plan.skip(run.values)} if experiment_plan.skipped else {}),
        }
        if commands:
            entry["commands"] = [
                {"role": role, "step": step, "command": command} for role, step, command in commands
            ]
        yield entry
