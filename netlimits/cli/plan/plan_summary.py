"""A plan as a whole for its reader: configurations, what was excluded, runs, and how long."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from netlimits.cli import echo
from netlimits.cli.shared.lines import lasting
from netlimits.errors import one_line
from netlimits.experiment import duet
from netlimits.experiment.plan import TRIALS, Plan
from netlimits.model import Experiment


def summary_of(
    experiment_plan: Plan, drawn: bool, groups: Mapping[str, str] | None = None, at_once: int = 0
) -> dict[str, Any]:
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
    if profiled := summary.get("profiled"):
        times += f" and {profiled:,} profiled"
    what = _count(summary["runs"], "run")
    if searches := summary.get("searches"):
        what = f"{searches:,} search{'' if searches == 1 else 'es'} of some {TRIALS} runs"
        times = ""
    echo(f"{what}{times}, order {summary['order']}")
    if "rounds" in summary:
        shape = "" if summary["shape"] == "list" else f" ({summary['shape']})"
        echo(
            f"mesh of {summary['hosts']} hosts, {_count(summary['pairs'], 'pair')}{shape}: "
            f"{_count(summary['rounds'], 'round')} in a block, up to "
            f"{_count(summary['at_once'], 'pair')} at once"
        )
    kept = f" (drawn now; --set repeat.seed={summary['seed']} keeps it)"
    echo(f"seed {summary['seed']}{kept if summary['seed_drawn'] else ''}")
    for skipped in summary["skipped"]:
        why = one_line(skipped["reason"])
        echo(f"{_count(skipped['runs'], 'run')} of them skipped, {skipped['tool']}: {why}")
    left = summary["runs"] + TRIALS * summary.get("searches", 0)
    left -= sum(skipped["runs"] for skipped in summary["skipped"])
    each = f"{summary['seconds'] / max(1, left):.3g} s a run"
    if "rounds" in summary and summary["replicates"]:
        each = f"{summary['seconds'] / summary['rounds'] / summary['replicates']:.3g} s a round"
    echo(f"about {lasting(summary['seconds'])}, {each}")


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
