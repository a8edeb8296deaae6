"""CPU time and service demand of a run, over the seconds of its transfer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from netlimits.archive.raw import AFTER, BEFORE, SAMPLE, RawEntry, output
from netlimits.campaign.specifications import Specification
from netlimits.evidence import cpu
from netlimits.evidence.sample import transfer
from netlimits.model import Scalar, Work

Entries = Sequence[RawEntry]

DILUTED = 2.0
"""CPU use is left out if the client ran more than this many times as long as the transfer."""


def figures(
    specification: Specification, entries: Entries, work: Work | None, run: Mapping[str, Scalar]
) -> dict[str, Scalar]:
    """Return the columns of CPU use and service demand, over the seconds of the transfer.

    If an end's samples do not show the transfer, the columns cover the whole run of the client.
    They are left out if the client ran much longer than the transfer (DILUTED), because the CPUs
    would seem idle.
    """
    columns: dict[str, Scalar] = {}
    elapsed = float(run.get("elapsed_s") or 0)
    for end, roles in specification.ends.items():
        bounds = [_transfer(specification, entries, end, role, elapsed) for role in roles]
        known = [pair for pair in bounds if pair is not None]
        if len(known) == len(roles):
            used = cpu.pooled(
                [cpu.use(a.times, b.times, own_s=b.own_s - a.own_s) for a, b in known]
            )
            columns |= cpu.figures(end, used, _work(specification, run, used.seconds))
            columns[f"{end}_instrument_cpu_pct"] = used.own_pct
            continue
        both = [[cpu.times(output(entries, s, role)) for s in (BEFORE, AFTER)] for role in roles]
        used = cpu.pooled([cpu.use(before, after) for before, after in both])
        if elapsed and used.seconds > DILUTED * max(elapsed, specification.seconds):
            continue
        columns |= cpu.figures(end, used, work)
    return columns


def _transfer(
    specification: Specification, entries: Entries, end: str, role: str, elapsed: float
) -> tuple[transfer.Reading, transfer.Reading] | None:
    """Return a host's CPU readings at the start and end of the transfer, None if unknown."""
    samples = [entry for entry in entries if entry.step == SAMPLE and entry.host == role]
    if not samples:
        return None
    skip = float(specification.options.get("omit", 0))
    return transfer.window(
        samples[0].completed,
        streams=_flows(specification, end),
        seconds=elapsed and elapsed + skip,
        skip=skip,
    )


def _flows(specification: Specification, end: str) -> int:
    """Return the number of TCP connections that carry the transfer at each host of an end.

    Return 0 for UDP, and if there are bulk streams.
    """
    if specification.transfer.transport == "udp" or specification.around.bulk:
        return 0
    ways = 2 if specification.options.get("bidirectional") else 1
    ways *= len(specification.ends["remote"]) if end == "local" else 1
    return specification.around.streams * ways * int(specification.options.get("parallel", 1))


def _work(specification: Specification, run: Mapping[str, Scalar], seconds: float) -> Work | None:
    """Return the transactions or KiB of data that the run transfers in `seconds` at its rate.

    Return None if bulk streams share the CPUs with transactions.
    """
    if specification.around.bulk:
        return None
    if "transaction_rate_tps" in run:
        return Work(float(run["transaction_rate_tps"] or 0) * seconds, transactions=True)
    names = ["throughput_mbps"]
    if specification.transfer.transport == "udp":
        names = [f"{end}_send_throughput_mbps" for end in specification.ends]
    rates = [float(run[name] or 0) for name in names if name in run]
    return Work(sum(rates) * 1e6 / 8 / 1024 * seconds)
