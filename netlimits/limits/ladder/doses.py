"""Resources that may limit a workload, each with its dose: a change that tests the resource."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from netlimits.limits.base import Intervention
from netlimits.limits.classes import CLASSES
from netlimits.limits.figures import Figure, RunFigures
from netlimits.limits.premises import cpus
from netlimits.limits.verdicts import Verdict

Runs = Sequence[RunFigures]


@dataclass(frozen=True, slots=True)
class Resource:
    """A resource that may limit a workload, and the dose that tests it.

    The resource is the limit if the whole interval of its sensitivity is `least` or more. `limits`
    are the classes of limits that the resource stands for. `factor` converts `dose.times` to the
    factor by which the dose changes the resource.
    """

    name: str
    dose: Intervention
    limits: tuple[str, ...]
    least: float = 0.3
    factor: Callable[[float], float] = float


def _shared(times: float) -> float:
    """Return the share of a CPU that a program gets if `times` busy processes run on it too."""
    return 1 / (1 + times)


RESOURCES: tuple[Resource, ...] = (
    Resource(
        "sender CPU",
        Intervention("half of the sender's CPUs (a load on each)", "sender_load", 1),
        ("sender-cpu", "small-sends"),
        0.4,  # throughput ×0.76 with half a CPU: the program needs 2/3 (premises.cpus.LOADED)
        _shared,
    ),
    Resource(
        "receiver CPU",
        Intervention("half of the receiver's CPUs (a load on each)", "receiver_load", 1),
        ("receiver-cpu",),
        0.4,
        _shared,
    ),
    Resource(
        "softirq CPUs",
        Intervention("received packets on all CPUs (RPS)", "rps"),
        ("softirq-core", "queue-collision"),
        0.14,  # throughput ×1.1 with twice the CPUs
        lambda _: 2.0,
    ),
    Resource(
        "receive buffer",
        Intervention("twice the receive buffer", "receive_buffer", 2),
        ("receive-window", "udp-receive-buffer"),
    ),
    Resource(
        "send buffer",
        Intervention("four times the send buffer", "send_buffer", 4),
        ("send-buffer",),
        0.2,  # throughput ×1.3 with four times the buffer
    ),
    Resource(
        "round trip",
        Intervention("twice the round trip (netem)", "delay", 2),
        ("latency",),
        0.4,
        lambda times: 1 / times,
    ),
    Resource(
        "bytes a packet",
        Intervention("packets of half the size", "packet_size", 0.5),
        ("packet-rate",),
    ),
    Resource("bytes a call", Intervention("four times the send size", "send_size", 4),
             ("small-sends",)),
    Resource("streams", Intervention("twice the streams", "streams", 2), ("per-flow-cap",)),
    Resource("length", Intervention("a run twice as long", "seconds", 2), ("too-short",), 0.2),
    Resource("qdisc rate", Intervention("20 % more of it", "shaper", 1.2), ("local-shaper",), 0.5),
    Resource("asked rate", Intervention("twice the rate", "rate", 2), ("application",), 0.37),
    Resource("pace", Intervention("10 % more", "pace", 1.1), ("pacing",), 0.5),
)  # fmt: skip
"""All resources. `candidates` tests those that are equally likely to limit in this order."""

NO_SIGN = "nothing points to it"
"""Why a resource gets no dose if no evidence suggests it. This applies to the run's length, the
size of calls, a shaper, a target rate and a pace."""
IDLE_PCT = 40.0
"""Maximum % of a CPU that a program uses or waits for if its CPU is ruled out as the limit. Half a
CPU, which a load leaves to the program, is then enough."""
WAITED_PCT = 5.0
"""Minimum % of the time spent waiting for a window or a buffer for it to be a possible limit."""
SOFTIRQ_PCT = 50.0
"""Minimum softirq % of one CPU for softirq to be a possible limit."""
ROOM_PCT = 60.0
"""Maximum use of the busiest CPU, in percent, if CPUs are ruled out as the limit."""
CAPS = {"path-cap", "per-flow-cap", "policer"}
LOST = 0.01
"""Minimum share of the datagrams dropped by a full receive buffer for it to be a possible limit."""


def resource(level: str) -> tuple[Resource, float] | None:
    """Return the resource that a change such as `receive-buffer-x2` tests, and by which factor.

    Return None if no resource has such a dose.
    """
    what, _, times = level.rpartition("-x")
    for each in RESOURCES:
        if each.dose.what.replace("_", "-") == what:
            return each, each.factor(float(times))
    return None


def candidates(verdict: Verdict, runs: Runs, *, deciding: bool = False) -> list[Intervention]:
    """Return the changes to make, in order of priority.

    The interventions of the leading classes come first. The doses of resources that counters do not
    rule out follow. Loads on CPUs come before more streams, because a full CPU keeps the total
    throughput of streams constant just like a full path. `deciding` omits doses that prove nothing
    by themselves.
    """
    transactions = any(run.transactions for run in runs)
    leading = [
        limit.intervention
        for name in verdict.leading
        for limit in CLASSES
        if limit.name == name and limit.intervention.what
    ]
    likely = {each.name: -place for place, each in enumerate(RESOURCES)}
    open_ = [each for each in RESOURCES if not ruled_out(each, verdict, runs)]
    if deciding:
        open_ = [each for each in open_ if not _is_inconclusive(each, verdict, transactions)]
    open_.sort(
        key=lambda each: (
            not _tests_packet_cap(each, verdict),
            _is_inconclusive(each, verdict, transactions),
            -_wait(each, runs),
            -likely[each.name],
        )
    )
    loads = [each.dose for each in open_ if each.dose.what.endswith("_load")]
    streams = [change for change in leading if change.what == "streams"]
    by_level: dict[str, Intervention] = {}
    for change in (
        *(change for change in leading if change not in streams),
        *(loads if streams else ()),  # the streams may share a full CPU, so test CPUs first
        *streams,
        *(each.dose for each in open_),
    ):
        by_level.setdefault(change.level, change)
    return list(by_level.values())


def _is_inconclusive(of: Resource, verdict: Verdict, transactions: bool) -> bool:
    """Return True if the dose of a resource proves no limit by itself (see `diagnosis.judged`)."""
    what = of.dose.what
    if what == "delay":
        return not transactions
    return what == "streams" or (what == "packet_size" and not _tests_packet_cap(of, verdict))


def ruled_out(of: Resource, verdict: Verdict, runs: Runs) -> str:
    """Return why counters rule out a resource as the limit; "" if they do not."""
    return next(_reasons(of, verdict, runs), "")


def _reasons(of: Resource, verdict: Verdict, runs: Runs) -> Iterator[str]:
    if {*of.limits} & {*verdict.leading} or _tests_packet_cap(of, verdict):
        return
    what, transactions = of.dose.what, any(run.transactions for run in runs)
    if what in ("send_size", "seconds", "shaper", "rate", "pace"):
        yield NO_SIGN
    elif transactions and (what in ("streams", "packet_size") or what.endswith("_buffer")):
        yield "a transaction waits for the one before it"
    elif what == "packet_size":
        busy = _most(runs, lambda run: run.busiest)
        if busy is not None and busy < ROOM_PCT and not any(run.udp for run in runs):
            yield f"no CPU was more than {busy:.0f} % busy"
    elif what == "delay" and not transactions:
        waited = [_wait(each, runs) for each in RESOURCES if each.dose.what.endswith("_buffer")]
        if max(waited) * 100 < WAITED_PCT:
            yield "nothing waited for a round trip"
    elif what.endswith("_load"):
        end = what.removesuffix("_load")
        used, peak = _used(runs, what), _most(runs, lambda run: _peak(run, getattr(run, end)))
        if used is not None and peak is not None and used < IDLE_PCT and peak < ROOM_PCT:
            yield (
                f"the program used and waited for {used:.0f} % of a CPU, and the busiest CPU was "
                f"{peak:.0f} % busy"
            )
    elif what == "rps":
        share = _most(runs, lambda run: run.received("cpu_peak_softirq_pct"))
        if share is None or share < SOFTIRQ_PCT:
            yield f"softirq took {share or 0:.0f} % of a CPU at most"
    elif what.endswith("_buffer"):
        share = 100 * _wait(of, runs)
        if share < WAITED_PCT:
            yield f"it held the run back for {share:.0f} % of the time"


def _tests_packet_cap(of: Resource, verdict: Verdict) -> bool:
    """Return True for the dose of smaller packets if the path may have a cap on packets/s."""
    return of.dose.what == "packet_size" and bool(CAPS & {*verdict.leading})


def _wait(of: Resource, runs: Runs) -> float:
    """Return the share of the time in which runs use or await a resource; a guess if unknown."""
    what = of.dose.what
    if what.endswith("_load"):
        used = _used(runs, what)
        return 0.5 if used is None else used / 100
    if what == "rps":
        return (_most(runs, lambda run: run.received("cpu_peak_softirq_pct")) or 0.0) / 100
    if what == "delay":
        return 1.0 if any(run.transactions for run in runs) else 0.4
    column = {"receive_buffer": "rwnd_limited_pct", "send_buffer": "sndbuf_limited_pct"}.get(what)
    if column is None:
        return {"streams": 0.5, "packet_size": 0.3}.get(what, 0.0)
    if any(run.udp for run in runs):
        return _overflowed(runs) if what == "receive_buffer" else 0.0
    share = _most(runs, lambda run: run.sent(column))
    return 0.5 if share is None else share / 100


def _overflowed(runs: Runs) -> float:
    """Return 1 if a run lost more than LOST of its datagrams to a full receive buffer, else 0."""
    for run in runs:
        errors, sent = run.received("udp_rcvbuf_errors"), run.sent("udp_out_datagrams")
        if errors and sent and errors / sent > LOST:
            return 1.0
    return 0.0


def _used(runs: Runs, what: str) -> float | None:
    """Return the highest `wanted_pct` of the runs, at the end that the dose `what` loads."""
    return _most(runs, lambda run: run.wanted_pct(getattr(run, what.removesuffix("_load"))))


def _peak(run: RunFigures, end: str) -> float | None:
    """Return the use of an end's busiest CPU in %; on a shared machine, only by the run itself."""
    if not run.one_machine:
        return run.figure(f"{end}_cpu_peak_pct")
    known = all(run.process_pct(end) is not None for end in (run.sender, run.receiver))
    return cpus.its_own_pct(run) if known else None


def _most(runs: Runs, figure: Figure) -> float | None:
    values = [value for run in runs if (value := figure(run)) is not None]
    return max(values, default=None)
