"""What an attempt's raw output says: the same reading for a live run and for `netlimits parse`.

Raw entries are what `archive.raw_entry` keeps. The steps that count here: `before` and `after`
(/proc/stat of each host) around `client` (the tool), `before NAME` and `after NAME` (evidence),
`sample` (the one look during the run), `guard` (whether a host's guard put settings back
meanwhile). Everything else is kept, not read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from netlimits import experiment as experiments
from netlimits import pace
from netlimits.archive import completed
from netlimits.errors import ToolFailure
from netlimits.evidence import EVIDENCE, acks, cpu, sample
from netlimits.model import (
    Around,
    Completed,
    Ends,
    Experiment,
    Machine,
    Measurement,
    Run,
    Scalar,
    SettingUse,
)
from netlimits.tools import parallel, tool

BEFORE, CLIENT, AFTER, SAMPLE, TRACE = "before", "client", "after", "sample", "trace"
GUARD = "guard"

Entries = Sequence[Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Measured:
    """What a run was to measure: with which tool, around what, between whom.

    `one_stack` says that both ends are one network stack (`run --local`), whose counters count
    every packet at both ends at once.
    """

    tool: str
    options: Mapping[str, Any]
    around: Around
    ends: Ends
    one_stack: bool = False

    @property
    def connections(self) -> int:
        """How many clients run at the same time."""
        return self.around.streams * len(self.ends["remote"])


def asked(
    experiment: Experiment, run: Run, machines: Mapping[str, Machine]
) -> tuple[tuple[SettingUse, ...], Measured]:
    """The settings of a run's configuration, and what it measures."""
    settings, (name, options) = experiments.resolved(experiment, run.values)
    around = experiments.around(experiment, run.values)
    stacks = {machines[role].address for roles in experiment.ends.values() for role in roles}
    return settings, Measured(name, options, around, experiment.ends, one_stack=len(stacks) == 1)


def read(asked: Measured, entries: Entries) -> Measurement:
    """The tool's figures; CPU and service demand by netperf's formula; what the evidence says.

    Raises ToolFailure for an attempt that must not count.
    """
    _refuse_fired(entries)
    client = _one(entries, CLIENT, asked.ends["local"][0])
    measured = parallel.merged(list(_streams(asked, client)))
    figures: dict[str, Scalar] = dict(measured.figures)
    for end, roles in asked.ends.items():
        uses = [cpu.use(*(cpu.times(_one(entries, s, r)) for s in (BEFORE, AFTER))) for r in roles]
        figures |= cpu.figures(end, cpu.pooled(uses), measured.figures)
        figures |= {f"{end}_{name}": value for name, value in _counted(entries, roles).items()}
        figures |= _sampled(entries, end, roles, figures)
    if not asked.one_stack:
        figures |= acks.figures(figures)
    if asked.around.pace:
        way = pace.way(entries, asked.ends["local"][0])
        figures |= pace.hold(asked.around.pace, way, figures)
    return replace(measured, figures=figures)


def _refuse_fired(entries: Entries) -> None:
    for entry in entries:
        if entry["step"] == GUARD and "fired" in entry["stdout"].split():
            raise ToolFailure(
                f"{entry['host']}: its guard put settings back in mid-run, having waited too long",
                status="invalid",
            )


def _streams(asked: Measured, client: Completed) -> Iterator[Measurement]:
    """Each stream's measurement. Raises ToolFailure that says which one failed."""
    streams = parallel.split(client, asked.connections)
    for number, stream in enumerate(streams):
        try:
            yield tool(asked.tool).read(stream, asked.options)
        except ToolFailure as error:
            if len(streams) == 1:
                raise
            sink = asked.ends["remote"][number // asked.around.streams]
            raise ToolFailure(
                f"stream {number + 1} of {len(streams)}, to {sink}: {error}", status=error.status
            ) from None


def has_client(entries: Entries) -> bool:
    """Whether the tool ran at all, so that there is something to read again."""
    return any(entry["step"] == CLIENT for entry in entries)


def _counted(entries: Entries, roles: Sequence[str]) -> dict[str, float]:
    """The evidence before and after, differenced; several hosts' counts are added up.

    Evidence that no step is of was not read by the netlimits that made the campaign.
    """
    total: dict[str, float] = {}
    read = {entry["step"] for entry in entries}
    for role in roles:
        for evidence in EVIDENCE:
            if not {f"{BEFORE} {evidence.name}", f"{AFTER} {evidence.name}"} & read:
                continue
            both = (_one(entries, f"{step} {evidence.name}", role) for step in (BEFORE, AFTER))
            for name, value in evidence.figures(*both).items():
                total[name] = total.get(name, 0) + float(value or 0)
    return total


def _sampled(
    entries: Entries, end: str, roles: Sequence[str], figures: Mapping[str, Scalar]
) -> dict[str, Scalar]:
    """What the sample in mid-run says of an end; a tool's own figure of the same name stays."""
    found = [e for e in entries if e["step"] == SAMPLE and e["host"] in roles]
    said = sample.figures([completed(entry) for entry in found])
    named = {f"{end}_{name}": value for name, value in said.items()}
    return {name: value for name, value in named.items() if name not in figures}


def _one(entries: Entries, step: str, role: str) -> Completed:
    for entry in entries:
        if entry["step"] == step and entry["host"] == role:
            return completed(entry)
    raise ToolFailure(f"the raw output holds no {step!r} of {role}")
