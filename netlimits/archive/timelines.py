"""Samples and drops from an attempt's raw output, on one clock of both hosts."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pandas as pd

from netlimits.analysis.sources.timeline import interim, timeline
from netlimits.archive import raw
from netlimits.archive.logbook import Logbook
from netlimits.errors import ArchiveError
from netlimits.evidence import drops, facts
from netlimits.evidence.clocks import Offset
from netlimits.evidence.sample.snapshots import parse_snapshots as snapshots
from netlimits.evidence.sample.timeline import Timeline, on_one_clock, throughput_changes
from netlimits.model import Completed, Record

DRIFT = 1e-4
"""Seconds per second by which two clocks without NTP may diverge: each crystal is within 50 ppm."""


def frame(campaign: Logbook, record: Record) -> pd.DataFrame:
    """Return an attempt's timeline. Raises ArchiveError if no samples have times."""
    of = _sampled(campaign, record)
    if of is None:
        why = "only runs made by netlimits on hosts with Perl have a timeline"
        if any(s.one_stack for _, _, each in _samples(campaign, record) for s in snapshots(each)):
            why = (
                "both of its ends are in one network stack (--local), which samples cannot separate"
            )
        raise ArchiveError(f"{campaign.path}: run {record.run.number} has no timeline; {why}")
    rows: list[dict[str, Any]] = [
        {"end": host.end, "role": host.role, **row} for host in of.hosts for row in host.rows
    ]
    client = of.hosts[0]
    far = next((host for host in of.hosts if host.end != client.end), client)
    ahead = of.offsets[far.role].offset_s
    for row in interim(record.interim, of.begin, _outstanding(campaign, record)):
        if "latency_us" in row:
            rows.append({"end": client.end, "role": client.role, **row})
        elif of.receiving() is None:  # UDP results have the receiver's times: convert them
            row["time_s"] -= ahead
            rows.append({"end": far.end, "role": far.role, **row})
    changes = throughput_changes(of, record.interim)
    return timeline(
        rows,
        [(change.at, change.before, change.after) for change in changes],
        begin_s=of.begin,
        clock_error_s=of.error_s,
    )


def _sampled(campaign: Logbook, record: Record) -> Timeline | None:
    """Return an attempt's samples; None if there are none, or if they have no times."""
    samples = _samples(campaign, record)
    roles = [role for _, role, _ in samples]
    one_kernel = len(roles) == 2 and facts.one_kernel(
        {role: campaign.archive.facts(role) for role in roles}
    )
    return on_one_clock(samples, _clocks(campaign, record), one_kernel=one_kernel)


def _samples(campaign: Logbook, record: Record) -> list[tuple[str, str, Completed]]:
    """Return (end, role, output of the sampler) of each host, the client first."""
    if campaign.imported:
        return []
    outputs = {
        entry.host: entry.completed
        for entry in campaign.archive.raw.read(record.run.number, record.attempt, record.raw)
        if entry.step == raw.SAMPLE
    }
    ends = campaign.experiment.ends_of(record.run.values)
    return [
        (end, role, outputs[role])
        for end in ("local", "remote")
        for role in ends[end]
        if role in outputs
    ]


def dropped(campaign: Logbook, record: Record) -> pd.DataFrame:
    """Return a row for each reason and place of drops. Raises ArchiveError if none were counted."""
    run = record.run.number
    entries = (
        [] if campaign.imported else campaign.archive.raw.read(run, record.attempt, record.raw)
    )
    counted = {
        entry.host: counts
        for entry in entries
        if entry.step == raw.DROPS and (counts := drops.read(entry.completed))
    }
    if not counted:
        raise ArchiveError(
            f"{campaign.path}: run {run} has no drops by reason; hosts count them for root, on "
            "Linux 5.17 or later with histogram triggers or bpftrace"
        )
    frame = pd.DataFrame(
        [
            (role, drop.reason, drop.place, drop.cause, drop.count)
            for role, counts in counted.items()
            for drop in counts.drops
        ],
        columns=["role", "reason", "place", "cause", "packets"],
    )
    frame.attrs["notes"] = tuple(
        f"{role}: drops of all {counts.spaces} network namespaces of its kernel, which cannot be "
        "separated without bpftrace"
        for role, counts in counted.items()
        if not counts.separated
    )
    return frame


def _outstanding(campaign: Logbook, record: Record) -> int:
    """Return the number of transactions that are in flight at once."""
    options = campaign.plan.setup(record.run.values).options
    return 1 + int(options.get("burst") or 0)


def _clocks(campaign: Logbook, record: Record) -> dict[str, Offset]:
    """Return the clock offset of each role, which was measured when the campaign began.

    The error bound grows by `DRIFT` with the time from the measurement to the attempt.
    """
    meta = campaign.archive.meta
    try:
        created = datetime.strptime(meta["created"], "%Y-%m-%dT%H:%M:%S%z").timestamp()
    except ValueError:
        return {}
    age = max(0.0, record.started - created)
    return {
        role: Offset(clock["offset_s"], clock["bound_s"] + DRIFT * age)
        for role, clock in meta.get("clocks", {}).items()
    }
