"""The lines that `netlimits diagnose` prints: path, table of limits with proofs, what helps."""

from __future__ import annotations

import shlex
import textwrap
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from netlimits.cli.shared.lines import aligned
from netlimits.cli.shared.output import echo, quoted
from netlimits.evidence import facts
from netlimits.limits.ladder.doses import RESOURCES, resource
from netlimits.limits.ladder.workloads import observation
from netlimits.limits.links import DataLinks
from netlimits.model import Machine
from netlimits.settings import setting
from netlimits.tools import MEASURING, WORKLOADS
from netlimits.units import cpus

if TYPE_CHECKING:
    from netlimits.archive.reader import Campaign
    from netlimits.limits.ladder.diagnosis import Help

_WIDTH = 96
_WHOLE = 100.0
"""Minimum round trip (µs) or rate that is printed without decimals."""


def path(campaign: Campaign, workloads: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Return both hosts' names and a description: driver, rate, MTU, RTT, CPUs, kernel."""
    machines = campaign.archive.machines
    read = {role: campaign.archive.facts(role) for role in machines}

    def value(role: str, fact: str, *keys: str) -> Any:
        known = facts.value(read[role], fact)
        for key in keys:
            known = known.get(key) if isinstance(known, dict) else None
        return known

    sender, receiver = machines
    number, *_ = campaign.runs
    rate = DataLinks(campaign, [number]).rate(number)  # None for a virtual link
    words = [value(sender, "driver", "driver"), rate and _bits(rate)]
    mtu, counts = value(sender, "link", "mtu"), [value(r, "cpu", "count") for r in machines]
    cpus = f"{counts[0]} + {counts[1]} CPUs"
    if campaign.archive.meta["shared_kernel"]:
        cpus = f"{counts[0]} CPUs that both ends share"
    words += [mtu and f"MTU {mtu}", all(counts) and cpus]
    words += [" ".join(str(value(sender, "kernel") or "").split()[:2])]
    words.append(value(sender, "sysctls", "net.ipv4.tcp_congestion_control"))
    trips = [us for row in workloads if (us := row["known"].get("min_rtt_us"))]
    trip = min(trips, default=0.0)
    words.insert(3, trip and f"RTT {trip / 1000:.2g} ms")
    return {
        "sender": machines[sender].ssh or sender,
        "receiver": machines[receiver].ssh or receiver,
        "link": ", ".join(str(word) for word in words if word),
    }


def _bits(rate: float) -> str:
    return f"{rate / 1e9:g} Gbit/s" if rate >= 1e9 else f"{rate / 1e6:g} Mbit/s"


def commands(machines: Mapping[str, Machine], rung: Help) -> Iterator[str]:
    """Yield the commands that apply a helpful change, each after the name of its host."""
    for role, name, options in rung.settings:
        machine = machines[role]
        where, interface = machine.ssh or role, machine.interface or ""
        if name == "sysctl":
            for key, value in options.items():
                yield f"{where}: sysctl -w {key}={shlex.quote(str(value))}"
        elif name == "rps":
            bits = cpus.mask(cpus.members(options["cpus"]))
            queues = f"/sys/class/net/{interface}/queues/rx-*/rps_cpus"
            yield f"{where}: for q in {queues}; do echo {bits} >$q; done"
        else:
            for command in setting(name).change(interface, {}, options):
                yield f"{where}: {shlex.join(command.argv)}"


def lines(answer: Mapping[str, Any]) -> Iterator[str]:
    of = answer["path"]
    yield f"{of['sender']} → {of['receiver']}   {of['link']}"
    yield ""
    transactions = {row["workload"] for row in answer["workloads"] if row["transaction_rate_tps"]}
    note = "*" if transactions else ""
    head = ("", "throughput", "limited by", "proof", f"CPU µs/KiB (send, receive){note}")
    yield from aligned([head, *map(_cells, answer["workloads"])])
    if transactions:
        yield "* µs per transaction"
    yield ""
    for row in answer["workloads"]:
        if row["state"] == "open":
            yield from _open(row)
    yield from _ladder(answer["ladder"], transactions)
    for line in answer.get("profile", ()):
        yield f"CPU time of {line}"
    for line in answer["left_out"]:
        yield f"Left out: {line}"
    folder = quoted(answer["results"])
    if answer["restored"]:
        yield f"Both hosts are as they were found.   {folder}"
    else:
        yield f"A host is not as it was found: netlimits restore {folder}"
    if any(row["state"] == "open" for row in answer["workloads"]):
        yield "To decide what is open, add blocks, then print the answer again:"
        if answer["pending"]:
            yield f"  netlimits resume {folder}"
        yield f"  netlimits extend {folder} --replicates 6"
        yield f"  netlimits diagnose --from {folder}"
    yield f"next: netlimits explain {folder}"


def _cells(row: Mapping[str, Any]) -> tuple[str, ...]:
    costs = [_short(row["cpu_us"][end]) for end in ("send", "receive")]
    limit = f"{row['limit']}{_detail(row)} ({row['state']})"
    if row["state"] == "open":
        limit = f"open: {row['limit']}?" if row["limit"] else "open"
    title = WORKLOADS.get(row["workload"], row["workload"])
    return (title, _rate(row), limit, row["proof"] or "–", "  ".join(costs))


def _detail(row: Mapping[str, Any]) -> str:
    share, trip = row["known"].get("of_bound_pct"), row["known"].get("rtt_us")
    if row["limit"] == "path-cap" and (rate := row["known"].get("wire_mbps")):
        scale, unit, digits = _unit(rate, transactions=False)
        return f", {rate / scale:,.{digits}f} {unit} of frames"
    if row["limit"] == "link" and share:
        return f", {share:.1f} % of it"
    if row["limit"] != "latency" or not trip:
        return ""
    return f", {trip:,.0f} µs" if trip >= _WHOLE else f", {trip:.1f} µs"


def _open(row: Mapping[str, Any]) -> Iterator[str]:
    each = [
        f"{of['resource']} {of['state']}"
        + ("" if of["low"] is None else f" [{of['low']:.2f}, {of['high']:.2f}]")
        for of in row["sensitivities"]
    ]
    parts = [*each, *(f"{name} ruled out ({why})" for name, why in row["ruled_out"].items())]
    yield from textwrap.wrap(
        f"{WORKLOADS.get(row['workload'], row['workload'])}, sensitivities: "
        f"{'; '.join(parts) or 'none measured'}.",
        _WIDTH,
        subsequent_indent="  ",
    )
    yield ""


def _rate(row: Mapping[str, Any]) -> str:
    transactions = row["transaction_rate_tps"] is not None
    value = row["transaction_rate_tps"] if transactions else row["throughput_mbps"]
    if value is None:
        return "–"
    scale, unit, digits = _unit(value, transactions=transactions)
    words = f"{value / scale:,.{digits}f} {unit}"
    if row["low"] is None:
        return words
    return f"{words} [{row['low'] / scale:,.{digits}f}, {row['high'] / scale:,.{digits}f}]"


def _unit(value: float, *, transactions: bool) -> tuple[float, str, int]:
    if transactions:
        return 1.0, "trans/s", 0
    scale, unit = (1e3, "Gbit/s") if value >= 1e3 else (1.0, "Mbit/s")
    return scale, unit, 2 if value / scale < _WHOLE else 0


def _short(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


def _ladder(rungs: Sequence[Mapping[str, Any]], transactions: Collection[str]) -> Iterator[str]:
    if not rungs:
        return
    yield "What would help (each measured within the same blocks, then undone):"
    for number, rung in enumerate(rungs, 1):
        workload, then = rung["workload"], rung["then"]
        scale, unit, digits = _unit(rung["throughput"], transactions=workload in transactions)
        dose = resource(rung["change"])
        change = f"{dose[0].name} ×{dose[1]:g}" if dose else rung["change"]
        yield (
            f"{number}. {WORKLOADS.get(workload, workload)}: {change} → ×{rung['ratio']:.2f} "
            f"[{rung['low']:.2f}, {rung['high']:.2f}], {rung['throughput'] / scale:,.{digits}f} "
            f"{unit}{f'; next limit: {then}' if then else ''}"
        )
        yield from (f"     {command}" for command in rung["commands"])
        costs = [
            f"{end} {_short(before)} → {_short(after)}"
            for end, (before, after) in rung["cost"].items()
        ]
        yield f"     CPU time per unit, µs: {', '.join(costs)}"
    yield ""


def say_plan(workloads: Sequence[str], no_changes: bool) -> None:
    echo("# First each workload as the hosts are:")
    first, *_ = MEASURING
    echo(observation(workloads, "diagnose", "What limits the data rate?", tool=first))
    if no_changes:
        return
    echo("# Then, in blocks shuffled with that, for a run at a time, what the counters leave open:")
    for each in RESOURCES:
        echo(f"#   {each.name}: {each.dose.change}")
