"""What netperf's KEY=value output says: the figures of a run, or why it is none."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from netlimits.errors import OutputError, ToolFailure, one_line
from netlimits.model import Completed, Flow, Measurement, Scalar, Work
from netlimits.tools import _refusals
from netlimits.tools.netperf.columns import ONE_VERSION, column, number, value
from netlimits.tools.netperf.options import is_rr, sends
from netlimits.units.sizes import netperf_bytes

SENT = "local_send_throughput_mbps"


def measurement(
    completed: Completed,
    options: Mapping[str, Any],
    selectors: Sequence[str],
    *,
    length: float,
    longest: float,
) -> Measurement:
    """The figures of the selectors asked for, under their columns.

    `length` is the seconds of one iteration, `longest` those of all that may be. Raises
    ToolFailure for a run that must not count.
    """
    _refuse_failure(completed, longest)
    keys = _keys_of(completed.stdout, selectors)
    elapsed = float(number("ELAPSED_TIME", keys["ELAPSED_TIME"]))
    _refuse_stepped_clock(completed, elapsed, length)
    refuse_no_data(keys, sends(options))
    figures: dict[str, Scalar] = {}
    for key in selectors:
        if key.endswith("_UNITS"):
            continue
        name = column(key, keys["THROUGHPUT_UNITS"], keys["SD_UNITS"])
        figures[name] = value(key, keys[key])
    _refuse_other_version(keys)
    _refusals.short_run(elapsed, length)
    _refuse_ignored(options, keys)
    figures |= _loss(options, keys)
    return Measurement(figures, tuple(_interim(keys, options)), _work(options, keys))


def _keys_of(stdout: str, selectors: Sequence[str]) -> dict[str, str]:
    """The values of KEY=value lines; other lines are banners.

    Raises OutputError where a selector has no value or two, and for a last line without its end.
    """
    keys: dict[str, str] = {}
    for key, sep, text in (line.partition("=") for line in stdout.splitlines()):
        if not sep or not re.fullmatch(r"[A-Z0-9_\[\]]+", key):
            continue
        if keys.setdefault(key, text) != text:
            raise OutputError(f"netperf printed {key} twice: {keys[key][:60]} and {text[:60]}")
    missing = [key for key in selectors if key not in keys]
    if missing and len(missing) == len(selectors):
        printed = one_line(stdout)[:200]
        output = f"no figures but: {printed}" if printed else "nothing"
        raise OutputError(f"netperf printed {output}")
    if missing:
        raise OutputError(f"netperf printed no {', '.join(missing)}")
    if not stdout.endswith("\n"):
        cut = stdout.splitlines()[-1][:80]
        raise OutputError(f"netperf's output ends in the middle of a line: {cut}")
    return keys


def _interim(keys: Mapping[str, str], options: Mapping[str, Any]) -> Iterator[Mapping[str, float]]:
    """Interim results in order: each is a rate over [ending − interval, ending].

    netperf counts what it gave to or took from its own kernel: where it sends, that is not what
    arrived, and their column says it.
    """
    columns = {"10^6bits/s": "throughput_mbps", "Trans/s": "transaction_rate_tps"}
    if sends(options):
        columns["10^6bits/s"] = SENT
    for place in range(sum(key.startswith("NETPERF_INTERIM_RESULT[") for key in keys)):
        try:
            names = [
                f"NETPERF_{name}[{place}]" for name in ("ENDING", "INTERVAL", "INTERIM_RESULT")
            ]
            ending, interval, rate = (float(number(name, keys[name])) for name in names)
            rate_column = columns[keys[f"NETPERF_UNITS[{place}]"]]
            yield {"ending_s": ending, "interval_s": interval, rate_column: rate}
        except KeyError as error:
            raise OutputError(f"netperf printed no whole interim result {place}: {error}") from None


def _work(options: Mapping[str, Any], keys: Mapping[str, str]) -> Work:
    """All that was moved: netperf's rates and times are the mean of its iterations."""
    seconds = float(keys["ELAPSED_TIME"]) * max(1, int(keys.get("CONFIDENCE_ITERATION", 1)))
    rate = float(keys["THROUGHPUT"]) * seconds
    if is_rr(options):
        sizes = {
            end: netperf_bytes(options.get(name, 1))
            for end, name in (("local", "request_size"), ("remote", "response_size"))
        }
        least = 0.0 if options.get("burst") else rate  # a packet may hold several of a burst
        flows = tuple(Flow(end, rate * size, rate * size, least) for end, size in sizes.items())
        return Work(rate, flows, transactions=True)
    sender = "local" if sends(options) else "remote"
    arrived = rate * 1e6 / 8
    sent = max(arrived, float(keys[f"{sender.upper()}_SEND_THROUGHPUT"]) * seconds * 1e6 / 8)
    counted = sent if keys["PROTOCOL"].upper() == "UDP" else arrived
    return Work(counted / 1024, (Flow(sender, sent, arrived),))


def _loss(options: Mapping[str, Any], keys: Mapping[str, str]) -> dict[str, Scalar]:
    """`loss_pct`: the share of what was sent that did not arrive."""
    if keys["PROTOCOL"].upper() != "UDP" or is_rr(options) or options.get("direction") == "recv":
        return {}
    sent, arrived = float(keys["LOCAL_SEND_THROUGHPUT"]), float(keys["THROUGHPUT"])
    return {"loss_pct": max(0.0, 100 * (1 - arrived / sent))}


_SIGNALS = {
    139: "it crashed; netperf 2.7.0 does without /etc/protocols (Debian: package netbase)",
    141: "its connection to netserver broke (SIGPIPE): the server's child died",
}
"""What an exit status by a signal means, where netperf prints nothing."""


def _refuse_failure(completed: Completed, seconds: float) -> None:
    """Raise when netperf did not end by itself with exit status 0."""
    output = one_line(completed.stderr.strip() or completed.stdout)[:300]
    if completed.timed_out:
        raise ToolFailure(
            f"netperf of {seconds:g} s had not ended after {completed.command.deadline:g} s and "
            "was killed: is the data link down?",
            status="timeout",
        )
    if completed.truncated:
        raise ToolFailure("netperf printed too much output to keep")
    if completed.status != 0:
        why = output or _SIGNALS.get(completed.status, "it printed nothing")
        raise ToolFailure(f"netperf exited {completed.status}: {why}")


def refuse_no_data(keys: Mapping[str, str], sending: bool) -> None:
    """Raise for a rate that is given as zero; where the test sends, for such a count of calls."""
    rates = ("THROUGHPUT", "LOCAL_SEND_THROUGHPUT") if sending else ("THROUGHPUT",)
    rate = next((key for key in rates if key in keys), None)
    if rate and number(rate, keys[rate]) <= 0:
        what = "nothing arrived"
        if "LOCAL_SEND_THROUGHPUT" in keys:
            sent = number("LOCAL_SEND_THROUGHPUT", keys["LOCAL_SEND_THROUGHPUT"])
            what = f"nothing of {sent:g} Mbit/s sent arrived" if sent > 0 else "no data was sent"
        raise ToolFailure(f"{rate} is {keys[rate]}: {what}; is the data path open?")
    if sending:
        for key in ("LOCAL_SEND_CALLS", "REMOTE_RECV_CALLS"):
            if key in keys and number(key, keys[key]) == 0:
                raise ToolFailure(f"{key} is 0: no data went through")


def _refuse_stepped_clock(completed: Completed, elapsed: float, seconds: float) -> None:
    """Raise when netperf's own time cannot be: it reads the clock of day, which may be set.

    We measured how long it ran by a clock that is not. Where that is not known (what was read
    from a file has no time of its own) it ran until its deadline at most.
    """
    timed = completed.seconds >= seconds
    longest = completed.seconds * 1.01 + 0.05 if timed else completed.command.deadline
    if not 0 < elapsed <= longest:
        raise ToolFailure(
            f"netperf says that its {seconds:g} s took {elapsed:g} s, which it did not run: was "
            "the host's clock set meanwhile?",
            status="invalid",
        )


def _refuse_other_version(keys: Mapping[str, str]) -> None:
    """Raise OutputError where netserver's answer cannot be what netperf took it for."""
    if (count := _whole(keys, "REMOTE_CPU_COUNT") if "REMOTE_CPU_COUNT" in keys else 1) < 1:
        raise OutputError(f"netperf printed REMOTE_CPU_COUNT={count}; {ONE_VERSION}")
    names = ("REMOTE_CPU_UTIL", "REMOTE_CPU_PEAK_UTIL")
    average, peak = (keys.get(name, "0") for name in names)
    if names[1] in keys and number(names[1], peak) < number(names[0], average) - 1:
        raise OutputError(
            f"netperf printed {peak} % of netserver's busiest CPU and {average} % of all its CPUs; "
            f"{ONE_VERSION}"
        )


def _refuse_ignored(options: Mapping[str, Any], keys: Mapping[str, str]) -> None:
    """Raise for options that netperf took and did not act on."""
    if "mss" in options and keys["PROTOCOL"].upper() == "TCP":
        mss, used = int(options["mss"]), _whole(keys, "TRANSPORT_MSS")
        if used not in (mss, mss - 12):  # TCP timestamps take 12 bytes of each segment
            raise ToolFailure(
                f"an MSS of {mss} was asked for and {used} was used: is the MTU large enough?",
                status="invalid",
            )
    if "cpu_bind" in options:
        cpus = str(options["cpu_bind"]).split(",")
        ends = zip(("LOCAL", "REMOTE"), cpus * (2 if len(cpus) == 1 else 1), strict=False)
        for end, cpu in ends:
            # netperf 2.7.0 echoes a CPU that does not exist, so the count has to say it
            count = _whole(keys, f"{end}_CPU_COUNT")
            if cpu and (keys[f"{end}_CPU_BIND"] != cpu or int(cpu) >= count):
                raise ToolFailure(
                    f"binding to CPU {cpu} did not take: {end.lower()} has {count} CPUs "
                    f"({end}_CPU_BIND is {keys[f'{end}_CPU_BIND']})",
                    status="invalid",
                )
    if "congestion_control" in options:
        for end in ("LOCAL", "REMOTE"):
            got_name = keys[f"{end}_CONG_CONTROL"]
            if got_name != options["congestion_control"]:
                raise ToolFailure(
                    f"congestion control {options['congestion_control']} did not take "
                    f"({end}_CONG_CONTROL is {got_name})",
                    status="invalid",
                )
    if "burst" in options and _whole(keys, "BURST_SIZE") != int(options["burst"]):
        raise ToolFailure(
            f"a burst of {options['burst']} did not take (BURST_SIZE is {keys['BURST_SIZE']})",
            status="invalid",
        )
    if "confidence" in options:
        width = float(str(options["confidence"]).split(",")[1])
        reached = float(keys["THROUGHPUT_CONFID"])
        if reached > width:
            raise ToolFailure(
                f"the confidence interval came out {reached:g} % wide, not {width:g} %",
                status="invalid",
            )


def _whole(keys: Mapping[str, str], name: str) -> int:
    """A whole number of the output. Raises OutputError where it is none."""
    if not re.fullmatch("-?[0-9]{1,18}", keys[name]):
        raise OutputError(f"netperf printed {name}={keys[name][:60]}, which is not a whole number")
    return int(keys[name])
