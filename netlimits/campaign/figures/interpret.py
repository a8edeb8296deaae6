"""Interpretation of an attempt's raw output, shared by live runs and `netlimits parse`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Literal

from netlimits.archive.raw import (
    AFTER,
    BEFORE,
    CLIENT,
    DROPS,
    GUARD,
    PROFILE,
    SAMPLE,
    RawEntry,
    output,
)
from netlimits.campaign import parallel, under_load
from netlimits.campaign.caps import ON_A_LINK, Cap, shaper
from netlimits.campaign.figures import ack_ratio, cpu_time, physics, rates, unchanged
from netlimits.campaign.specifications import LOOPBACK, Specification
from netlimits.errors import ToolFailure
from netlimits.evidence import drops, sample
from netlimits.evidence.counted import EVIDENCE, queues
from netlimits.evidence.profiles import stacks
from netlimits.evidence.sample import arrivals, timeline
from netlimits.evidence.sample.snapshots import parse_snapshots
from netlimits.experiment import search
from netlimits.model import (
    Completed,
    Measurement,
    Scalar,
    Work,
)
from netlimits.tools import tool

Entries = Sequence[RawEntry]


def read(specification: Specification, entries: Entries) -> Measurement:
    """Return a run's figures: the tool's own, arrived data, CPU use, service demand and evidence.

    Raises ToolFailure if the run must not count.
    """
    _refuse_fired(entries)
    unchanged.refuse(specification, entries)
    client = output(entries, CLIENT, specification.ends["local"][0])
    if specification.around.bulk:
        streams, measured = _under_load(specification, client, entries)
    else:
        streams = list(_streams(specification, client))
        measured = parallel.merged(streams)
    figures: dict[str, Scalar] = dict(measured.figures)
    if arrived := _arrived(specification, entries):
        if specification.connections > 1 or measured.interim:
            measured = replace(measured, interim=arrived.rows)
        # a tool that counts all data until the end knows the rate of one TCP stream: keep it
        udp = specification.transfer.transport == "udp"
        if specification.connections > 1 or udp or not tool(specification.tool).counts_all:
            figures["throughput_mbps"] = arrived.rate_mbps
            figures["window_s"] = arrived.seconds
            if elapsed := figures.get("elapsed_s"):
                figures["covered_pct"] = min(100.0, 100 * arrived.seconds / float(elapsed))
            figures[f"{specification.receiver}_recv_throughput_mbps"] = arrived.rate_mbps
    figures |= cpu_time.figures(specification, entries, measured.work, figures)
    counts = {role: _counted(entries, role) for _, role in specification.roles()}
    for end, roles in specification.ends.items():
        total = _added([counts[role] for role in roles])
        figures |= {f"{end}_{name}": value for name, value in total.items()}
        figures |= _sampled(entries, end, roles, figures)
        figures |= _profiled(specification, entries, end)
        figures |= _dropped(specification, entries, end, roles)
    if not specification.one_stack:
        figures |= ack_ratio.figures(figures)
        if "throughput_mbps" in figures:
            figures |= _changed(specification, entries, arrived)
    figures |= _check_physics(specification, entries, client.seconds, streams, figures, counts)
    rates.refuse_excess(
        specification.tool, specification.options, specification.connections, figures
    )
    if specification.around.pace:
        way = rates.way(specification.tool, entries, specification.ends["local"][0])
        figures |= rates.pace_figures(specification.around.pace, way, figures)
    if of_search := specification.around.search:
        figures |= search.judged(of_search, specification.asked_mbps, figures)
    return replace(measured, figures=figures)


def _refuse_fired(entries: Entries) -> None:
    for entry in entries:
        if entry.step == GUARD and "fired" in entry.stdout.split():
            raise ToolFailure(
                f"{entry.host}: its guard restored settings during the run, having waited too long",
                status="invalid",
            )


def _streams(specification: Specification, client: Completed) -> Iterator[Measurement]:
    """Yield each stream's measurement. Raises ToolFailure that names the failed stream."""
    streams = parallel.split(client, specification.connections)
    for number, stream in enumerate(streams):
        try:
            yield tool(specification.tool).read(stream, specification.options)
        except ToolFailure as error:
            if len(streams) == 1:
                raise
            sink = specification.ends["remote"][number // specification.around.streams]
            raise ToolFailure(
                f"stream {number + 1} of {len(streams)}, to {sink}: {error}", status=error.status
            ) from None


def _under_load(
    specification: Specification, client: Completed, entries: Entries
) -> tuple[list[Measurement], Measurement]:
    """Return the measurements (transactions, then bulk streams), and the combined measurement."""
    bulk, options = specification.around.bulk, specification.bulk_options()
    assert bulk
    own, *others = parallel.split(client, 1 + len(options))
    when = under_load.times(client, bulk, len(options))
    of = tool(specification.tool)
    transactions = of.read(own, specification.options)
    streams, of_streams = [], tool(specification.stream_tool)
    for number, (stream, each) in enumerate(zip(others, options, strict=True), 1):
        try:
            streams.append(of_streams.read(stream, each))
        except ToolFailure as error:
            which = f"bulk stream {number} of {len(options)}"
            raise ToolFailure(f"{which}: {error}", status=error.status) from None
    at_ends = {
        end: [
            look
            for entry in entries
            if entry.step == SAMPLE and entry.host == specification.ends[end][0]
            for look in parse_snapshots(entry.completed)
        ]
        for end in specification.ends
    }
    rates_beside = under_load.figures(bulk, at_ends, when, transactions, ipv6=specification.ipv6)
    figures = {**transactions.figures, **rates_beside}
    return [transactions, *streams], replace(transactions, figures=figures, work=None)


def has_client(entries: Entries) -> bool:
    """Return True if the tool's client ran, so that its output can be parsed again."""
    return any(entry.step == CLIENT for entry in entries)


def _arrived(specification: Specification, entries: Entries) -> arrivals.Arrivals | None:
    """Return the data that arrived while all streams ran, or None if samples did not count it."""
    if (end := specification.receiver) is None:
        return None
    transfer = specification.transfer
    ways = len(specification.ends["remote"]) if end == "local" else 1
    streams = specification.around.streams * ways * int(specification.options.get("parallel", 1))
    parts = []
    for role in specification.ends[end]:
        samples = [e for e in entries if e.step == SAMPLE and e.host == role]
        seen = parse_snapshots(samples[0].completed) if samples else ()
        if transfer.transport == "udp":
            size, ipv6 = transfer.datagram, specification.ipv6
            parts.append(arrivals.udp(seen, size, ipv6=ipv6) if size else None)
        else:
            omit = float(specification.options.get("omit", 0))
            parts.append(arrivals.tcp(seen, streams, ipv6=specification.ipv6, skip=omit))
    return arrivals.together(parts)


def _counted(entries: Entries, role: str) -> dict[str, float]:
    """Return the changes of a host's counters over the run."""
    counts: dict[str, float] = {}
    read = {entry.step for entry in entries}
    for evidence in EVIDENCE:
        if not {f"{BEFORE} {evidence.name}", f"{AFTER} {evidence.name}"} & read:
            continue
        both = (output(entries, f"{step} {evidence.name}", role) for step in (BEFORE, AFTER))
        figures = evidence.figures(*both)
        counts |= {name: float(value) for name, value in figures.items() if value is not None}
    return counts


def _added(counts: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Return the sum of several hosts' counts; a count that one host lacks is left out."""
    first, *others = counts
    names = [name for name in first if all(name in host_counts for host_counts in others)]
    return {name: sum(host_counts[name] for host_counts in counts) for name in names}


def _sampled(
    entries: Entries, end: str, roles: Sequence[str], figures: Mapping[str, Scalar]
) -> dict[str, Scalar]:
    """Return the figures of an end's samples, without those that `figures` already has."""
    samples = [e for e in entries if e.step == SAMPLE and e.host in roles]
    values = sample.figures([entry.completed for entry in samples])
    named = {f"{end}_{name}": value for name, value in values.items()}
    return {name: value for name, value in named.items() if name not in figures}


def _profiled(specification: Specification, entries: Entries, end: str) -> dict[str, Scalar]:
    """Return the figures of an end's CPU profile, if any. Raises ToolFailure if it is empty."""
    programs = tool(specification.tool).processes(specification.options)
    texts = [e.stdout for e in entries if e.step == PROFILE and e.host in specification.ends[end]]
    if not texts:
        return {}
    profile = stacks.together([stacks.parse(text, programs) for text in texts])
    return {f"{end}_profile_{name}": value for name, value in profile.figures().items()}


def _dropped(
    specification: Specification, entries: Entries, end: str, roles: Sequence[str]
) -> dict[str, Scalar]:
    """Return the packets that an end's kernels dropped, by reason.

    Return {} if a kernel could not count, or if both ends share a kernel that mixes their drops.
    """
    counted = [drops.read(e.completed) for e in entries if e.step == DROPS and e.host in roles]
    known = [each for each in counted if each is not None]
    if len(known) < len(roles):
        return {}
    if specification.one_kernel and not all(each.separated for each in known):
        return {}
    figures = drops.figures(drops.together(known))
    return {f"{end}_{name}": value for name, value in figures.items()}


def _changed(
    specification: Specification, entries: Entries, arrived: arrivals.Arrivals | None
) -> dict[str, Scalar]:
    """Return the largest change of throughput within the run, if it exceeds noise."""
    samples = {e.host: e.completed for e in entries if e.step == SAMPLE}
    over_time = timeline.on_one_clock(
        ((end, role, samples[role]) for end, role in specification.roles() if role in samples), {}
    )
    return timeline.figures(over_time, arrived.rows if arrived else ()) if over_time else {}


def _check_physics(
    specification: Specification,
    entries: Entries,
    seconds: float,
    streams: Sequence[Measurement],
    figures: Mapping[str, Scalar],
    counts: Mapping[str, Mapping[str, float]],
) -> dict[str, Scalar]:
    """Return `disturbed_pct`. Raises ToolFailure if counters or link speeds contradict the run."""
    interfaces = list(_interfaces(specification, entries, streams, counts))
    transport = _transport(specification)
    names = ("transport_mss_bytes", "local_mss_bytes", "remote_mss_bytes")
    sizes = [float(size) for name in names if (size := figures.get(name))]
    mss = sizes[0] if sizes and transport == "tcp" else 0.0
    share = physics.disturbance(
        interfaces, transport, mss, seconds, specification.ipv6, specification.gained
    )
    disturbance: dict[str, Scalar] = {} if share is None else {"disturbed_pct": share}
    window = figures.get("window_s")
    elapsed = float(window or figures.get("elapsed_s") or seconds)
    omitted = not window and float(specification.options.get("omit", 0)) > 0
    bulk = under_load.arrived(specification.around.bulk, figures)
    for sender, rate in (*parallel.arrived(streams, figures, seconds), *bulk):
        packet = _packet(specification, entries, sender, figures)
        for cap in _caps(specification, entries, sender):
            waits = transport == "udp" and not window
            early = physics.WAITING if omitted else 0.0
            physics.refuse_above(rate, cap, packet, elapsed, waits=waits, early=early)
    return disturbance


def _transport(specification: Specification) -> Literal["tcp", "udp"]:
    """Return the transport of most data: TCP if there are bulk streams, else that of the test."""
    return "tcp" if specification.around.bulk else specification.transfer.transport


def _interfaces(
    specification: Specification,
    entries: Entries,
    streams: Sequence[Measurement],
    counts: Mapping[str, Mapping[str, float]],
) -> Iterator[physics.Interface]:
    """Yield each host's data interface, with the data that the streams report for it.

    Leave out loopback, and hosts whose streams report no data.
    """
    share = specification.around.streams
    for end, role in specification.roles():
        name = specification.machines[role].interface or ""
        at = specification.ends[end].index(role)
        several = end == "remote" and len(specification.ends[end]) > 1
        own = streams[at * share : (at + 1) * share] if several else streams
        work = parallel.summed([stream.work for stream in own])
        if work is None or name == LOOPBACK:
            continue
        ours = sum(len(entry.stdout) for entry in entries if entry.host == role)
        out, into = (_way(work, end, mine=mine) for mine in (True, False))
        yield physics.Interface(role, name, counts[role], out, into, float(ours), end)


def _way(work: Work, end: str, *, mine: bool) -> physics.Way:
    selected = [flow for flow in work.flows if (flow.sender == end) is mine]
    return physics.Way(
        *(sum(getattr(f, n) for f in selected) for n in ("arrived", "sent", "packets"))
    )


def _packet(
    specification: Specification, entries: Entries, sender: str, figures: Mapping[str, Scalar]
) -> physics.Framing:
    """Return the sizes and headers of the packets that an end sends, as far as they are known."""
    roles = [role for of_end in specification.ends.values() for role in of_end]
    mtus = [mtu for role in roles if (mtu := specification.mtus.get(role))]
    udp = _transport(specification) == "udp"
    names = ("transport_mss_bytes", f"{sender}_mss_bytes")
    mss = max((float(size) for name in names if (size := figures.get(name))), default=0.0)
    seen = [c for e in entries if e.step == SAMPLE for look in parse_snapshots(e.completed)
            for c in look.connections]  # fmt: skip
    return physics.Framing(
        float(specification.transfer.datagram if udp else mss),
        "udp" if udp else "tcp",
        specification.ipv6,
        bool(seen) and all(connection.timestamps for connection in seen),
        min(mtus, default=0) if len(mtus) == len(roles) else 0,
        specification.gained,
    )


def _caps(specification: Specification, entries: Entries, sender: str) -> Iterator[Cap]:
    """Yield the caps on an end's rate: its shaper, and the known links of both ends.

    An end of several hosts has no caps.
    """
    ends = [roles for roles in specification.ends.values() if len(roles) == 1]
    for (role,) in ends:
        if role in specification.speeds:
            what = f"{role}'s link of {specification.speeds[role] / 1e6:g} Mbit/s"
            yield Cap(what, specification.speeds[role], ON_A_LINK)
        if (
            role in specification.ends[sender]
            and specification.machines[role].interface != LOOPBACK
        ):
            step = f"{BEFORE} {queues.Queues.name}"
            read = [e for e in entries if e.step == step and e.host == role]
            listed = queues.qdiscs(read[0].completed) if read else None
            if cap := shaper(listed or (), role) or specification.caps.get(role):
                yield cap
