"""`netlimits diagnose`: find what limits the traffic between two hosts, and prove it."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from netlimits.campaign.interrupt import Stop
from netlimits.checks.survey import data_path
from netlimits.cli.shared import diagnosis_lines, direction
from netlimits.cli.shared.conduct import Conduct
from netlimits.cli.shared.hosts import all_logged_in, machines_of
from netlimits.cli.shared.options import GUARD, JSON, PATIENCE, QUIET, VERBOSE, Output, separated
from netlimits.cli.shared.output import echo, echo_json
from netlimits.cli.shared.stages import Budget, Stages, refuse_short, say
from netlimits.errors import HostError, InputError, did_you_mean
from netlimits.hosts.base import Host
from netlimits.hosts.patience import Patience
from netlimits.model import Command, Machine
from netlimits.tools import MEASURING, WORKLOADS, tool
from netlimits.units import durations

ROLES = ("sender", "receiver")


def _seconds(_: click.Context, __: click.Parameter, text: str) -> float:
    try:
        return durations.seconds(text)
    except ValueError as error:
        raise InputError(f"--time {text}: {error}") from None


@click.command()
@click.argument("names", nargs=-1, metavar="[A B]")
@click.option("--hosts", "hosts_file", type=click.Path(path_type=Path), metavar="FILE",
              help="Hosts file to use in place of A and B.")  # fmt: skip
@click.option("--lab", "lab", metavar="NAME", help="Use the first two hosts of this lab.")
@click.option("--local", is_flag=True, help="Use this machine alone, over loopback.")
@click.option("--workload", "chosen", multiple=True, metavar="NAMES", callback=separated,
              help="Workloads: tcp, tcp-4, udp, rr. Default: all.")  # fmt: skip
@click.option("--reverse", is_flag=True, help="Measure from B to A.")
@click.option("--both", is_flag=True, help="Measure from A to B, then from B to A.")
@click.option("--time", "seconds", default="3m", show_default=True, metavar="TIME",
              callback=_seconds, help="Time budget for all stages (90s, 5m).")  # fmt: skip
@click.option("--no-changes", is_flag=True, help="Only observe; without changes nothing is proven.")
@click.option("--profile", is_flag=True, help="Profile both ends' CPUs in a run of each workload.")
@click.option(
    "--plan", "plan_only", is_flag=True, help="Print what would be run and changed, and exit."
)
@click.option("--from", "kept", type=click.Path(path_type=Path), metavar="RESULTS",
              help="Print the answer of RESULTS again, after `extend` or `resume`.")  # fmt: skip
@click.option("--interface", default="", metavar="NAME", help="The data interface of A.")
@click.option("--address", default="", metavar="ADDRESS", help="The data address of B.")
@click.option("--out", type=Output(folder=True, fresh=True), metavar="DIR",
              help="The folder for results; default: results/diagnose-A-B-TIME.")  # fmt: skip
@GUARD
@PATIENCE
@JSON
@VERBOSE
@QUIET
def diagnose(
    names: tuple[str, ...],
    hosts_file: Path | None,
    lab: str | None,
    local: bool,
    chosen: tuple[str, ...],
    reverse: bool,
    both: bool,
    seconds: float,
    no_changes: bool,
    profile: bool,
    plan_only: bool,
    kept: Path | None,
    interface: str,
    address: str,
    out: Path | None,
    guard: str,
    patience: Patience,
    as_json: bool,
    verbosity: str | None,
) -> None:
    """Find what limits the traffic from host A to host B, and prove it by small changes.

    A and B are names for ssh. The data interface and address follow from the routes between them.
    First each workload runs without changes. Then `diagnose` changes one resource at a time, in
    blocks shuffled with the baseline: it halves a program's CPU time, doubles a buffer, or doubles
    the round trip. Resources that the counters rule out are left out. The resource that throughput
    follows is the limit. Every change is restored, also after Ctrl-C; a guard on each host restores
    it if this machine is lost.

    If a change of settings helps, `diagnose` keeps it while it looks for the next limit. It keeps
    three changes at most, prints their settings as commands, with their CPU cost at both ends, and
    restores them. The results are an ordinary campaign: `table`, `report` and `resume` work on it,
    and you can edit its experiment.yaml and run it again.

    \b
    Examples:
      netlimits diagnose vm1 vm2
      netlimits diagnose vm1 vm2 --workload tcp,udp --time 90s
      netlimits diagnose vm1 vm2 --both --json
      netlimits diagnose --hosts hosts.yaml --no-changes
      netlimits diagnose --lab lab --plan
      netlimits diagnose --from results/diagnose-vm1-vm2-20260101-120000
    """
    if kept is not None:
        from netlimits.archive import reader

        _print([direction.stored_answer(reader.open(kept))], as_json)
        return
    known = [*WORKLOADS]
    for name in chosen:
        if name not in known:
            raise InputError(
                f"--workload {name}: there is no such workload{did_you_mean(name, known)}"
            )
    wanted = tuple(name for name in known if name in (chosen or known))
    if reverse and both:
        raise InputError("--reverse and --both exclude each other; keep one")
    machines = _machines(names, hosts_file, lab, local)
    if address:
        machines["receiver"] = replace(machines["receiver"], address=address, interface=None)
    if interface:
        machines["sender"] = replace(machines["sender"], interface=interface, address=None)
    if plan_only and as_json:
        raise InputError("--plan prints an experiment as YAML; drop --json")
    if plan_only:
        diagnosis_lines.say_plan(wanted, no_changes)
        return
    directions = 1 + both
    if not no_changes:
        refuse_short(seconds / directions, len(wanted))
    conduct = Conduct(guard, patience, None, None, None, as_json, verbosity)
    failed = False
    rows: list[dict[str, Any]] = []
    with Stop() as stop:
        with stop.interruptible(), all_logged_in(machines, patience) as hosts:
            placed, tool, lacking = path_of(machines, hosts, interface)
        for number in range(directions):
            back = reverse or number
            ends = _swapped(placed) if back else placed
            title = f"diagnose-{_name(ends['sender'])}-{_name(ends['receiver'])}"[:60]
            folder = _folder(out, title, number)
            stages = Stages(ends, conduct, stop, Budget(seconds / directions), folder, title)
            stages.left_out += lacking
            able, row = direction.answer(stages, wanted, tool, no_changes, profile)
            failed, rows = failed or not able, [*rows, row]
            if not as_json:
                _print([row], as_json)
    if as_json:
        _print(rows, as_json)
    if failed:
        sys.exit(1)


def _print(rows: Sequence[Mapping[str, Any]], as_json: bool) -> None:
    if as_json:
        echo_json(rows[0] if len(rows) == 1 else rows)
        return
    for row in rows:
        echo("\n".join(diagnosis_lines.lines(row)))


def _machines(
    names: Sequence[str], hosts_file: Path | None, lab: str | None, local: bool
) -> dict[str, Machine]:
    ways = [bool(names), hosts_file is not None, lab is not None, local]
    if sum(ways) > 1:
        raise InputError("name two hosts, or say one of --hosts, --lab and --local")
    if lab is not None:
        from netlimits.lab import labs

        hosts_file = labs.hosts_file(lab)
        if hosts_file is None:
            raise InputError(f"no lab is called {lab}; `netlimits lab up --name {lab}` builds it")
    if not names:
        return dict(machines_of(ROLES, hosts_file, local))
    if len(names) != len(ROLES):
        raise InputError(f"name two hosts, A and B, not {len(names)}: netlimits diagnose A B")
    if names[0] == names[1]:
        raise InputError(f"{names[0]} is named twice; name two hosts, or say --local")
    return {role: Machine(role, ssh=name) for role, name in zip(ROLES, names, strict=True)}


def path_of(
    machines: Mapping[str, Machine], hosts: Mapping[str, Host], interface: str
) -> tuple[Mapping[str, Machine], str, list[str]]:
    """Return the machines with interface and address, the tool, and notes on missing tools."""
    placed: Mapping[str, Machine] = machines
    if any(not (each.interface and each.address) for each in machines.values()):
        placed = data_path.placed(machines, hosts, interface)
    first, *_ = MEASURING
    missing: dict[str, list[str]] = {}
    for name in MEASURING:
        for role, host in hosts.items():
            for program in dict.fromkeys((name, tool(name).server_program)):
                answer = host.run(Command(("sh", "-c", 'command -v "$1"', "sh", program)))
                if answer.status:
                    missing.setdefault(name, []).append(f"{machines[role].ssh or role}: {program}")
        if name not in missing:
            break
    else:
        lacking = ", ".join(program for each in missing.values() for program in each)
        raise HostError(f"no tool is on both hosts; install {first} (missing: {lacking})")
    lines = [f"{each} is missing ({', '.join(programs)})" for each, programs in missing.items()]
    for line in lines:
        say(f"note: {line}; {name} measures what it can")
    return placed, name, lines


def _swapped(machines: Mapping[str, Machine]) -> dict[str, Machine]:
    return {
        role: replace(machines[other], role=role)
        for role, other in zip(ROLES, reversed(ROLES), strict=True)
    }


def _name(machine: Machine) -> str:
    name = machine.ssh or machine.role
    return "".join(c if c.isalnum() or c in "._-" else "-" for c in name)


def _folder(out: Path | None, title: str, number: int) -> Path:
    if out is not None:
        return out.with_name(f"{out.name}-back") if number else out
    return Path("results") / f"{title}-{time.strftime('%Y%m%d-%H%M%S')}"
