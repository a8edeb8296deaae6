"""Print a plan: its summary, its runs or their commands, or all of it as JSON."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from netlimits.campaign.dry_run import DryRun, Remark
from netlimits.cli.shared.lines import aligned, counted, lasting
from netlimits.cli.shared.output import echo
from netlimits.errors import escaped, one_line
from netlimits.experiment import duet
from netlimits.experiment.plan import TRIALS, Plan
from netlimits.experiment.templates import written
from netlimits.model import Experiment, Machine, Run
from netlimits.tools import Features

LISTED = 8
"""Maximum number of runs of a configuration to list."""


def print_runs(experiment_plan: Plan, runs: Sequence[Run]) -> None:
    marked = any(run.profiled is not None for run in runs)
    last = ["skip"] if experiment_plan.skipped else []
    mark = ["profiled"] if marked else []
    head = ["run", "block", "config", *experiment_plan.configurations.columns, *mark, *last]
    table = [
        [
            *(str(run.number), str(run.block), run.config, *map(_cell, run.values.values())),
            *(_cell(run.profiled) for _ in mark),
            *(_cell(experiment_plan.skip_reason(run.values)) for _ in last),
        ]
        for run in runs
    ]
    left = len(experiment_plan) - len(runs)
    echo()
    for line in aligned([head, *table]):
        echo(line)
    if left > 0:
        echo(f"… and {left:,} more (--rows, --csv)")


def _cell(value: Any) -> str:
    return escaped(" ".join(written(value).split("\n")))


@dataclass(frozen=True)
class _Line:
    """A command of a run; `sets` describes the change that a setting's command makes."""

    role: str
    step: str
    argv: tuple[str, ...]
    shown: bool = True
    sets: str = ""

    @property
    def text(self) -> str:
        return " ".join(self.argv) if self.argv[0] == "#" else shlex.join(self.argv)

    @property
    def script(self) -> bool:
        return any("\n" in word for word in self.argv)

    def short(self, program: str) -> Iterator[str]:
        """Yield the lines to review; for a script, only the lines that start the tool."""
        if not self.script:
            yield self.text
        elif self.sets:
            yield f"# {self.sets} (by a script: --all)"
        else:
            started = [
                ln for word in self.argv for ln in word.splitlines() if ln.startswith(program)
            ]
            for line, count in Counter(ln.partition(" >")[0] for ln in started).items():
                yield line if count == 1 else f"{line}  # {count} times"


def _commands(
    experiment_plan: Plan, runs: Iterable[Run], machines: Mapping[str, Machine]
) -> Iterator[tuple[Run, list[_Line]]]:
    every = Features("", frozenset(("demo", "burst", "intervals", "pacing")))
    rehearsed = DryRun(machines, every)
    for run in runs:
        lines = []
        if not experiment_plan.skip_reason(run.values):
            ends = experiment_plan.experiment.ends_of(run.values)
            setup = experiment_plan.setup(run.values)
            for planned in rehearsed.commands(setup, ends, profiled=bool(run.profiled)):
                step = planned.step
                if isinstance(step, Remark):
                    argv: tuple[str, ...] = ("#", step.text)
                else:
                    sudo = ("sudo", "-n") if step.command.sudo else ()
                    argv = (*sudo, *step.command.argv)
                lines.append(_Line(step.role, step.name, argv, planned.shown, planned.sets))
        yield run, lines


def print_commands(
    experiment_plan: Plan, runs: Iterable[Run], machines: Mapping[str, Machine], *, every: bool
) -> None:
    """Print each configuration with its settings and the tool's command lines."""
    runs = list(runs)
    numbers: dict[str, list[int]] = {}
    for run in runs:
        numbers.setdefault(run.config, []).append(run.number)
    firsts = {numbers[run.config][0] for run in runs}
    planned = [
        (run, lines)
        for run, lines in _commands(experiment_plan, runs, machines)
        if run.number in firsts
    ]
    scripts = _scripts(line for _, lines in planned for line in lines) if every else {}
    for body, name in scripts.items():
        echo(f"\n{name}={shlex.quote(body)}")
    experiment = experiment_plan.experiment
    width = max(map(len, experiment.roles))
    for run, lines in planned:
        given = {k: v for k, v in run.values.items() if k not in experiment.derived}
        values = " ".join(f"{name}={_cell(value)}" for name, value in given.items())
        echo(f"\n{run.config}: {values}".rstrip(": "))
        echo(f"  {_listed(numbers[run.config])}")
        if why := experiment_plan.skip_reason(run.values):
            echo(f"  skipped: {one_line(why)}")
        program = experiment_plan.setup(run.values).tool
        for line in lines if every else _checked(lines):
            for text in [_with_names(line, scripts)] if every else line.short(program):
                echo(f"  {line.role.ljust(width)}  {text}")


def _checked(lines: Iterable[_Line]) -> Iterator[_Line]:
    """Yield the lines to review, but of each role's setting no script after its first line."""
    by_script: set[tuple[str, str]] = set()
    for line in lines:
        place = (line.role, line.sets)
        if line.shown and not (line.script and line.sets and place in by_script):
            by_script.add(place)
            yield line


def _scripts(lines: Iterable[_Line]) -> dict[str, str]:
    bodies = dict.fromkeys(word for line in lines for word in line.argv if "\n" in word)
    return {body: f"script_{number}" for number, body in enumerate(bodies, 1)}


def _with_names(line: _Line, scripts: Mapping[str, str]) -> str:
    if line.argv[0] == "#":
        return line.text
    words = (f'"${scripts[word]}"' if word in scripts else shlex.quote(word) for word in line.argv)
    return " ".join(words)


def _listed(numbers: Sequence[int]) -> str:
    """Return a text such as "runs 1, 9, 14 and 17 more"."""
    first = ", ".join(map(str, numbers[:LISTED]))
    more = f" and {len(numbers) - LISTED:,} more" if len(numbers) > LISTED else ""
    return f"run{'s' if len(numbers) > 1 else ''} {first}{more}"


def as_json(
    experiment_plan: Plan, shown: Iterable[Run], machines: Mapping[str, Machine] | None
) -> Iterator[dict[str, Any]]:
    no_commands: list[_Line] = []
    of_runs = (
        _commands(experiment_plan, shown, machines)
        if machines
        else ((run, no_commands) for run in shown)
    )
    for run, lines in of_runs:
        entry: dict[str, Any] = {
            "run": run.number,
            "block": run.block,
            "config": run.config,
            "values": dict(run.values),
            **({} if run.profiled is None else {"profiled": run.profiled}),
            **(
                {"skip": experiment_plan.skip_reason(run.values)} if experiment_plan.skipped else {}
            ),
        }
        if lines:
            entry["commands"] = [
                {"role": line.role, "step": line.step, "command": line.text} for line in lines
            ]
        yield entry


def summary_of(
    experiment_plan: Plan, drawn: bool, groups: Mapping[str, str] | None = None, at_once: int = 0
) -> dict[str, Any]:
    experiment = experiment_plan.experiment
    left_out = experiment_plan.skipped_runs()
    return {
        "experiment": experiment.name,
        "question": experiment.question,
        "combinations": experiment_plan.configurations.product,
        **_sides(experiment),
        "excluded": _excluded(experiment_plan),
        "included": sum(len(side.include) for side in experiment.sides.values() or [experiment]),
        "configurations": len(experiment_plan.configurations),
        **({"profiled": count} if (count := experiment_plan.profiled_runs()) else {}),
        "replicates": None if experiment.repeat.runs else experiment_plan.replicates[1],
        "replicates_least": None if experiment.repeat.runs else experiment_plan.replicates[0],
        "runs": len(experiment_plan),
        **({"searches": len(experiment_plan.searches())} if experiment.searched else {}),
        "order": experiment.repeat.order,
        "seed": experiment.repeat.seed,
        "seed_drawn": drawn,
        "seconds": round(experiment_plan.seconds(groups, at_once), 1),
        **_mesh(experiment_plan, at_once),
        "skipped": [
            {"tool": tool, "runs": left_out[tool], "reason": why}
            for tool, why in experiment_plan.skipped.items()
        ],
    }


def _mesh(experiment_plan: Plan, at_once: int) -> dict[str, Any]:
    of = experiment_plan.experiment.mesh
    if not of:
        return {}
    most = len(of.hosts) // 2
    return {
        "hosts": len(of.hosts),
        "pairs": len(of.pairs),
        "shape": of.shape,
        "rounds": experiment_plan.round_count(),
        "at_once": min(at_once or most, most),
    }


def _sides(experiment: Experiment) -> dict[str, Any]:
    if not experiment.sides:
        return {}
    on_both, each = duet.on_both_sides(experiment)
    return {"sides": dict(zip(experiment.sides, each, strict=True)), "on_both_sides": on_both}


def _excluded(experiment_plan: Plan) -> list[dict[str, Any]]:
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


def print_summary(summary: Mapping[str, Any]) -> None:
    title = f"{summary['experiment']}: {summary['question']}".removesuffix(": ")
    echo(one_line(title))
    count = counted(summary["configurations"], "configuration")
    echo(f"{count} of {counted(summary['combinations'], 'combination')}")
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
    if profiled := summary.get("profiled"):
        times += f" and {profiled:,} profiled"
    what = counted(summary["runs"], "run")
    if searches := summary.get("searches"):
        what = f"{searches:,} search{'' if searches == 1 else 'es'} of some {TRIALS} runs"
        times = ""
    echo(f"{what}{times}, order {summary['order']}")
    if "rounds" in summary:
        shape = "" if summary["shape"] == "list" else f" ({summary['shape']})"
        echo(
            f"mesh of {summary['hosts']} hosts, {counted(summary['pairs'], 'pair')}{shape}: "
            f"{counted(summary['rounds'], 'round')} in a block, up to "
            f"{counted(summary['at_once'], 'pair')} at once"
        )
    kept = f" (drawn now; --set repeat.seed={summary['seed']} keeps it)"
    echo(f"seed {summary['seed']}{kept if summary['seed_drawn'] else ''}")
    for skipped in summary["skipped"]:
        why = one_line(skipped["reason"])
        echo(f"{counted(skipped['runs'], 'run')} of them skipped, {skipped['tool']}: {why}")
    left = summary["runs"] + TRIALS * summary.get("searches", 0)
    left -= sum(skipped["runs"] for skipped in summary["skipped"])
    each = f"{summary['seconds'] / max(1, left):.3g} s a run"
    if "rounds" in summary and summary["replicates"]:
        each = f"{summary['seconds'] / summary['rounds'] / summary['replicates']:.3g} s a round"
    echo(f"about {lasting(summary['seconds'])}, {each}")
