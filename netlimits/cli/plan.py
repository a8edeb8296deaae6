"""`netlimits plan | schema`: what an experiment would do, before any host is asked."""

from __future__ import annotations

import dataclasses
import io
import itertools
import json
import os
import shlex
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import click

from netlimits.cli import echo
from netlimits.cli.options import JSON, PATIENCE, SET
from netlimits.cli.sides import Against, against_options, experiment_of
from netlimits.errors import InputError, escaped, one_line
from netlimits.experiment.templates import written

if TYPE_CHECKING:
    from netlimits.checks import Finding
    from netlimits.experiment.plan import Plan
    from netlimits.hosts.patience import Patience
    from netlimits.model import Experiment, Machine, Run

ROWS = 10
LARGE = 10_000
"""Configurations from which on a plan is only counted and streamed."""


@click.command()
@click.argument("experiment_file", metavar="EXPERIMENT", type=click.Path(path_type=Path))
@SET
@click.option("--rows", type=click.IntRange(min=0), help=f"Runs to show; {ROWS} if left out.")
@click.option(
    "--commands",
    "with_commands",
    is_flag=True,
    help="Show each run's commands on each host instead; all runs, or the first --rows.",
)
@click.option(
    "--hosts",
    "hosts_file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="The hosts file whose interfaces and addresses --commands shows; its hosts are asked for "
    "tools that may be missing (if_missing: skip).",
)
@PATIENCE
@click.option("--csv", "csv_file", metavar="FILE", help="Write every run to FILE; - is stdout.")
@JSON
@against_options
def plan(
    experiment_file: Path,
    overrides: Sequence[str],
    rows: int | None,
    with_commands: bool,
    hosts_file: Path | None,
    patience: Patience,
    csv_file: str | None,
    as_json: bool,
    against: Against,
) -> None:
    """Show what an experiment would run, in which order, and for how long.

    No host is asked, but for tools that may be missing when --hosts is given: their runs are
    shown as skipped. What `check` would say and no host is needed for is said at the end.

    --commands shows what the runner has hosts do, to the letter. Settings are changed only where a
    host differs, so a change may turn out not to be needed; left out are claims, guards and notes,
    what is put back, and looks whether a server listens already.

    With --against it is the plan of both sides, interleaved as `run` would have them.

    \b
    Examples:
      netlimits plan experiments/stateless-offloads.yaml
      netlimits plan experiments/stateless-offloads.yaml --commands --rows 1
      netlimits plan experiments/stateless-offloads.yaml --set repeat.replicates=3 --csv plan.csv
      netlimits plan before.yaml --against after.yaml --commands --rows 4
    """
    from netlimits.experiment.plan import Plan, seeded

    loaded, bound = experiment_of(experiment_file, overrides, against, _binding(hosts_file))
    drawn = loaded.repeat.seed is None
    experiment_plan = Plan(seeded(loaded), _skipped(loaded, bound, patience))
    summary = _summary(experiment_plan, drawn)
    findings = _foreseen(experiment_plan, bound)
    if csv_file == "-":
        experiment_plan.write_csv(_Shown(sys.stdout) if sys.stdout.isatty() else sys.stdout)
        return
    if csv_file is not None:
        _write(experiment_plan, Path(csv_file))
    machines = bound or _placeholders(experiment_plan)
    runs = list(_first(experiment_plan, ROWS if rows is None and not with_commands else rows))
    if as_json:
        document = {
            **summary,
            "findings": [dataclasses.asdict(finding) for finding in findings],
            "first": [*_as_json(experiment_plan, runs, machines if with_commands else None)],
        }
        echo(json.dumps(document, indent=2))
    else:
        _print_summary(summary)
        if with_commands:
            _print_commands(experiment_plan, runs, machines)
        elif runs:
            _print_runs(experiment_plan, runs)
    if csv_file is not None:
        echo(csv_file, err=as_json)
    for finding in findings:
        echo(f"{finding.severity}: {finding}", err=True)
    if any(finding.severity == "error" for finding in findings):
        sys.exit(InputError.exit_status)


@click.command()
def schema() -> None:
    """Print the JSON Schema of experiment files, for editors and other checkers.

    \b
    Example, with a first line in the experiment that the YAML language server understands:
      netlimits schema > netlimits.schema.json
      # yaml-language-server: $schema=netlimits.schema.json
    """
    from netlimits.experiment.schema import document_schema

    echo(json.dumps(document_schema(), indent=2, ensure_ascii=False))


class _Shown(io.StringIO):
    """Standard output where it is a terminal: no control code of a value reaches it."""

    def __init__(self, stream: TextIO) -> None:
        super().__init__()
        self._stream = stream

    def write(self, text: str) -> int:
        """Write the text as it may be shown."""
        return self._stream.write(escaped(text.replace("\r\n", "\n")))


def _binding(hosts_file: Path | None) -> Callable[[Sequence[str]], Mapping[str, Machine]] | None:
    """What binds roles to the machines of a hosts file, where there is one."""
    if hosts_file is None:
        return None

    def bind(roles: Sequence[str]) -> Mapping[str, Machine]:
        from netlimits.experiment.hosts_file import machines

        return machines(hosts_file, roles)

    return bind


def _skipped(
    experiment: Experiment, bound: Mapping[str, Machine], patience: Patience
) -> dict[str, str]:
    """The reason for each tool that its hosts do not have and that may be missing.

    Hosts are asked only where the answer matters; one that does not answer is no error here.
    """
    from netlimits.experiment import resolution

    may_be = [name for name in experiment.measure if resolution.may_be_missing(experiment, name)]
    if not bound or not may_be:
        return {}
    from netlimits.campaign.interrupt import interruptible
    from netlimits.checks.survey import tools
    from netlimits.checks.survey.login import logged_in

    with interruptible(), logged_in(bound, patience) as (hosts, findings):
        for finding in findings:
            echo(f"warning: not asked for its tools: {finding}", err=True)
        return tools.inventory(experiment, hosts)[1]


def _foreseen(experiment_plan: Plan, bound: Mapping[str, Machine]) -> tuple[Finding, ...]:
    """What `check` would say without a host; nothing of a plan that is too large for it."""
    from netlimits.checks.survey import foreseen

    if len(experiment_plan.configurations) > LARGE:
        return ()
    return foreseen(experiment_plan, bound or None)


def _summary(experiment_plan: Plan, drawn: bool) -> dict[str, Any]:
    """What there is to say about the plan as a whole."""
    experiment = experiment_plan.experiment
    left_out = experiment_plan.left_out()
    return {
        "experiment": experiment.name,
        "question": experiment.question,
        "combinations": experiment_plan.configurations.product,
        **_sides(experiment),
        "excluded": _excluded(experiment_plan),
        "included": sum(len(side.include) for side in experiment.sides.values() or [experiment]),
        "configurations": len(experiment_plan.configurations),
        "replicates": None if experiment.repeat.runs else experiment_plan.replicates[1],
        "replicates_least": None if experiment.repeat.runs else experiment_plan.replicates[0],
        "runs": len(experiment_plan),
        "order": experiment.repeat.order,
        "seed": experiment.repeat.seed,
        "seed_drawn": drawn,
        "seconds": round(experiment_plan.seconds(), 1),
        "skipped": [
            {"tool": tool, "runs": left_out[tool], "reason": why}
            for tool, why in experiment_plan.skipped.items()
        ],
    }


def _sides(experiment: Experiment) -> dict[str, Any]:
    """How many configurations each side of a duet has, and how many are on both."""
    from netlimits.experiment import duet

    if not experiment.sides:
        return {}
    on_both, each = duet.on_both_sides(experiment)
    return {"sides": dict(zip(experiment.sides, each, strict=True)), "on_both_sides": on_both}


def _excluded(experiment_plan: Plan) -> list[dict[str, Any]]:
    """Each `exclude` with its line and what it removed; of a duet those of both sides."""
    experiment, removed = experiment_plan.experiment, iter(experiment_plan.configurations.removed)
    return [
        {
            "exclude": text,
            "line": side.lines.get(("exclude", number)),
            "removed": next(removed),
            **({"side": name} if name else {}),
        }
        for name, side in (experiment.sides or {"": experiment}).items()
        for number, text in enumerate(side.exclude)
    ]


def _print_summary(summary: Mapping[str, Any]) -> None:
    title = f"{summary['experiment']}: {summary['question']}".removesuffix(": ")
    echo(one_line(title))
    count = _count(summary["configurations"], "configuration")
    echo(f"{count} of {_count(summary['combinations'], 'combination')}")
    if "sides" in summary:
        each = ", ".join(f"{number:,} {name}" for name, number in summary["sides"].items())
        echo(f"  {each}; {summary['on_both_sides']:,} on both sides")
    for entry in summary["excluded"]:
        where = f"line {entry['line']}" if entry["line"] else "--set"
        where = f"{entry['side']}, {where}" if "side" in entry else where
        text = f"{entry['exclude']} ({where})"
        echo(f"  {entry['removed']:,} excluded by {text}")
    if summary["included"]:
        echo(f"  {summary['included']:,} included")
    times = ""
    if summary["replicates"]:
        least, most = summary["replicates_least"], summary["replicates"]
        times = f" = {count} × {most:,}" if least == most else f", {least:,} to {most:,} of each"
    echo(f"{_count(summary['runs'], 'run')}{times}, order {summary['order']}")
    kept = f" (drawn now; --set repeat.seed={summary['seed']} keeps it)"
    echo(f"seed {summary['seed']}{kept if summary['seed_drawn'] else ''}")
    for skipped in summary["skipped"]:
        why = " ".join(skipped["reason"].split())
        echo(f"{_count(skipped['runs'], 'run')} of them skipped, {skipped['tool']}: {why}")
    left = summary["runs"] - sum(skipped["runs"] for skipped in summary["skipped"])
    seconds = summary["seconds"] / max(1, left)
    echo(f"about {_duration(summary['seconds'])}, {seconds:.3g} s a run")


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _duration(seconds: float) -> str:
    """Two units at most: `20 min 12 s`."""
    units = (("d", 86400), ("h", 3600), ("min", 60), ("s", 1))
    left = max(1, round(seconds))
    parts: list[str] = []
    for name, size in units:
        number, left = divmod(left, size)
        if number or parts:
            parts.append(f"{number} {name}")
    return " ".join(parts[:2])


def _first(experiment_plan: Plan, rows: int | None) -> Iterator[Run]:
    return itertools.islice(experiment_plan.runs(), rows)


def _print_runs(experiment_plan: Plan, runs: Sequence[Run]) -> None:
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


def _placeholders(experiment_plan: Plan) -> dict[str, Machine]:
    """Machines that have placeholders for names."""
    from netlimits.model import Machine

    roles = experiment_plan.experiment.roles
    return {
        role: Machine(
            role, interface=f"{role.upper()}_INTERFACE", address=f"{role.upper()}_ADDRESS"
        )
        for role in roles
    }


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
            ends = experiment_plan.experiment.of(run.values).ends
            for step in rehearsed.commands(experiment_plan.setup(run.values), ends):
                if isinstance(step, Remark):
                    commands.append((step.role, step.name, f"# {step.text}"))
                    continue
                sudo = ("sudo", "-n") if step.command.sudo else ()
                commands.append((step.role, step.name, shlex.join((*sudo, *step.command.argv))))
        yield run, commands


def _print_commands(
    experiment_plan: Plan, runs: Iterable[Run], machines: Mapping[str, Machine]
) -> None:
    width = max(map(len, experiment_plan.experiment.roles))
    for run, commands in _commands(experiment_plan, runs, machines):
        values = " ".join(f"{name}={_cell(value)}" for name, value in run.values.items())
        echo(f"\nrun {run.number}, block {run.block}, {run.config}: {values}".rstrip(": "))
        if why := experiment_plan.skip(run.values):
            echo(f"  skipped: {' '.join(why.split())}")
        for role, _, command in commands:
            echo(f"  {role.ljust(width)}  {command}")


def _as_json(
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


def _write(experiment_plan: Plan, path: Path) -> None:
    """Write the plan so that the file is whole or not there; pipes and devices are written to."""
    try:
        target = path.resolve()
        if target.exists() and not target.is_file():
            with target.open("w", encoding="utf-8", newline="") as file:
                experiment_plan.write_csv(file)
            return
        beside = target.with_name(f".{target.name}.{os.getpid()}")
        try:
            with beside.open("x", encoding="utf-8", newline="") as file:
                experiment_plan.write_csv(file)
            beside.replace(target)
        finally:
            beside.unlink(missing_ok=True)
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {error.strerror}") from None
