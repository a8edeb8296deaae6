"""Facts about a configuration that hold whatever its verdict, such as RTT, losses and CPU use."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from statistics import median

from netlimits.limits import places
from netlimits.limits.figures import Figure, RunFigures, mbps, median_of
from netlimits.model.drop_reasons import cause

LEAST = 0.5
"""Minimum value of a figure to be printed, because sentences would round a lower value to 0. The
column `known_figures` has all values."""

Runs = Sequence[RunFigures]


def _of(end: str, column: str) -> Figure:
    return lambda run: run.figure(f"{getattr(run, end)}_{column}")


def _percent(share: float | None) -> float | None:
    return None if share is None else 100 * share


def _of_bound(run: RunFigures) -> float | None:
    rate, bound = run.throughput, run.bound_mbps
    return rate / bound if rate is not None and bound else None


KNOWN: Mapping[str, Figure] = {
    "throughput_mbps": lambda run: run.throughput,
    "wire_mbps": lambda run: run.wire_mbps,
    "transaction_rate_tps": lambda run: run.transactions,
    "of_bound_pct": lambda run: _percent(_of_bound(run)),
    "slowest_pct": lambda run: _percent(run.slowest),
    **{
        name: _of("sender", name)
        for name in (
            *("rtt_us", "min_rtt_us", "snd_wnd_bytes", "cwnd_segs", "sndbuf_bytes"),
            *("rwnd_limited_pct", "sndbuf_limited_pct", "app_limited_pct"),
            *("notsent_bytes", "qdisc_overlimits"),
        )
    },
    **{name: _of("receiver", name) for name in ("rcvbuf_bytes", "recv_q_bytes")},
    "retransmitted_pct": lambda run: _percent(run.retransmitted),
    "datagrams_lost_pct": lambda run: _percent(run.sent_datagrams_lost),
    **{
        f"{end}_{column}": _of(end, column)
        for end in ("sender", "receiver")
        for column in ("cpu_peak_pct", "process_cpu_pct", "cpu_wait_pct", "dropped")
    },
    "one_kernel_cpu_pct": lambda run: run.sent("cpu_pct") if run.one_machine else None,
    "others_cpu_pct": lambda run: run.sent("other_cpu_pct") if run.one_machine else None,
}
"""Name of a figure -> function that returns it for one run. A configuration gets the median over
its runs."""

CHANGE = ("throughput_change_s", "throughput_change_ratio")
"""Figures that a run has only if its throughput changed during the run."""


def figures(runs: Runs) -> dict[str, float]:
    """Return the median of each known figure, and of the losses at each place and by reason."""
    known = {
        name: value for name, of in KNOWN.items() if (value := median_of(runs, of)) is not None
    }
    changed = [run for run in runs if run.own("throughput_change_s") is not None]
    if changed:
        known["changed_runs"] = float(len(changed))
        for name in CHANGE:
            known[name] = median(run.own(name) or 0.0 for run in changed)
    for end in ("sender", "receiver"):
        for reason in _reasons(runs, end):
            counts = [_of(end, f"dropped_{reason}")(run) or 0.0 for run in runs]
            known[f"{end}_dropped_{reason}"] = median(counts)
    where = [places.losses(run) for run in runs]
    for place in dict.fromkeys(place for run in where for place in run):
        known[f"lost_{places.NAMES[place]}"] = median(run.get(place, 0.0) for run in where)
    return known


def _reasons(runs: Runs, end: str) -> list[str]:
    names: dict[str, None] = {}
    for run in runs:
        prefix = f"{getattr(run, end)}_dropped_"
        for name in run.figures:
            if name.startswith(prefix) and not name.endswith("_where"):
                names[name.removeprefix(prefix)] = None
    return list(names)


def sentence(known: Mapping[str, float], runs: int = 1) -> str:
    """Return one sentence with the known figures, the medians of `runs` runs; "" for none."""
    parts = [
        clause
        for clauses in (_rate, _round_trip, _windows, _losses, _queues)
        if (clause := ", ".join(clauses(known)))
    ]
    parts += [*_cpus(known), *_changed(known, runs)]
    of = f" (medians of {runs} runs)" if runs > 1 else ""
    return f"Known{of}: {'; '.join(parts)}." if parts else ""


def one_kernel(configurations: Iterable[Mapping[str, float]]) -> str:
    """Return a sentence on CPU use if both ends share one kernel; "" for two kernels.

    Args:
        configurations: The known figures of each configuration.
    """
    shared = [known for known in configurations if "one_kernel_cpu_pct" in known]
    if not shared:
        return ""
    others = [known["others_cpu_pct"] for known in shared if "others_cpu_pct" in known]
    others_text = f", other programs {_span(others)} % of one" if others else ""
    return (
        "Both ends run on one kernel: their CPU figures are of the same CPUs, which were "
        f"{_span([known['one_kernel_cpu_pct'] for known in shared])} % busy{others_text}."
    )


def _span(values: Collection[float]) -> str:
    """Return "12" for values that round to one number, otherwise "12 to 80"."""
    ends = dict.fromkeys(f"{value:.0f}" for value in (min(values), max(values)))
    return " to ".join(ends)


def _rate(known: Mapping[str, float]) -> Iterator[str]:
    if "throughput_mbps" in known:
        yield f"{mbps(known['throughput_mbps'])} arrived"
    if "transaction_rate_tps" in known:
        yield f"{known['transaction_rate_tps']:,.0f} transactions/s"
    if "of_bound_pct" in known:
        yield f"{known['of_bound_pct']:.1f} % of what the link leaves for data"
    if "slowest_pct" in known:
        yield f"the slowest run had {known['slowest_pct']:.0f} % of the fastest"


def _round_trip(known: Mapping[str, float]) -> Iterator[str]:
    if "rtt_us" in known:
        least = known.get("min_rtt_us")
        tail = "" if least is None else f", at least {least:,.0f} µs"
        yield f"round trip {known['rtt_us']:,.0f} µs{tail}"


def _windows(known: Mapping[str, float]) -> Iterator[str]:
    for name, words in (
        ("snd_wnd_bytes", "announced receive window {:,.0f} bytes"),
        ("cwnd_segs", "congestion window {:,.0f} segments"),
        ("rwnd_limited_pct", "limited by the receive window for {:.0f} % of the busy time"),
        ("sndbuf_limited_pct", "limited by the send buffer for {:.0f} % of the busy time"),
        ("app_limited_pct", "nothing to send in {:.0f} % of the samples"),
    ):
        if known.get(name, 0.0) >= LEAST:
            yield words.format(known[name])


def _losses(known: Mapping[str, float]) -> Iterator[str]:
    what = {"retransmitted_pct": "segments sent again", "datagrams_lost_pct": "datagrams lost"}
    for name, words in what.items():
        if name in known:
            yield f"{known[name]:.2g} % of the {words}"
    for place, name in places.NAMES.items():
        if (count := known.get(f"lost_{name}", 0.0)) >= 1:
            yield f"{count:,.0f} {place}"
    if known.get("lost_path", 0.0) >= 1 and known.get("sender_dropped") == 0 == known.get(
        "receiver_dropped"
    ):
        yield "neither kernel dropped a packet"
    for end in ("sender", "receiver"):
        for name, count in known.items():
            if name.startswith(f"{end}_dropped_") and count >= 1:
                reason = name.removeprefix(f"{end}_dropped_").upper()
                why = cause(reason)
                words = f"{why}, {reason}" if why else "no reason given"
                yield f"the {end}'s kernel dropped {count:,.0f} packets ({words})"


def _queues(known: Mapping[str, float]) -> Iterator[str]:
    for name, words in (
        ("notsent_bytes", "{:,.0f} bytes wait at the sender"),
        ("recv_q_bytes", "{:,.0f} bytes wait to be read"),
        ("qdisc_overlimits", "the sender's qdisc held back {:,.0f} times"),
    ):
        if known.get(name, 0.0) >= LEAST:
            yield words.format(known[name])


def _changed(known: Mapping[str, float], runs: int) -> Iterator[str]:
    if "changed_runs" in known:
        of = f"in {known['changed_runs']:.0f} of {runs} runs " if runs > 1 else ""
        ratio, at = known["throughput_change_ratio"], known["throughput_change_s"]
        yield f"{of}throughput was {ratio:.2g} times that before from second {at:.1f} on"


def _cpus(known: Mapping[str, float]) -> Iterator[str]:
    for end in ("sender", "receiver"):
        peak, tool = (known.get(f"{end}_{name}_pct") for name in ("cpu_peak", "process_cpu"))
        waited = known.get(f"{end}_cpu_wait_pct")
        parts = [f"busiest CPU {peak:.0f} %"] if peak is not None else []
        parts += [f"tool {tool:.0f} % of one"] if tool is not None else []
        if waited and waited >= LEAST:
            parts.append(f"and waited for one {waited:.0f} % of the time")
        if parts:
            yield f"{end}: {', '.join(parts)}"
