"""Parse netperf's KEY=value output into the figures of a run, or the reason for its failure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

from netlimits.errors import OutputError, ToolFailure, one_line
from netlimits.metrics import selectors
from netlimits.model import Completed, Flow, Measurement, Scalar, Work
from netlimits.tools import _output
from netlimits.tools.netperf.options import is_rr, sends
from netlimits.units.sizes import netperf_bytes

_UNIT_OF_THROUGHPUT = {
    "10^6bits/s": "throughput_mbps",
    "Trans/s": "transaction_rate_tps",
}
_NUMBER = re.compile(r"[+-]?[0-9]{1,40}(\.[0-9]*)?([eE][+-]?[0-9]{1,2})?")
_COMMA = re.compile(r"[+-]?[0-9]+,[0-9]+")
_UNIT_OF_SERVICE_DEMAND = {"usec/KB": "us_per_kib", "usec/Tran": "us_per_tran"}

ALWAYS_MEASURED = re.compile(r"(LOCAL|REMOTE)_(CPU_UTIL|CPU_PEAK_UTIL|SD)|THROUGHPUT|ELAPSED_TIME")
"""Selectors for which -1 means that the measurement failed, and not that it does not apply."""

ONE_VERSION = "install one version of netperf on both ends: 2.6 and 2.7 misread each other's CPUs"
"""Advice if the CPU figures of the other end are impossible."""


@lru_cache(maxsize=1024)
def column(selector: str, throughput_units: str, sd_units: str) -> str:
    """Return the column for a selector, given the values of THROUGHPUT_UNITS and SD_UNITS."""
    if selector == "THROUGHPUT":
        return _unit(_UNIT_OF_THROUGHPUT, throughput_units, selector)
    if selector in ("LOCAL_SD", "REMOTE_SD"):
        end = selector.removesuffix("_SD").lower()
        return f"netperf_{end}_sd_{_unit(_UNIT_OF_SERVICE_DEMAND, sd_units, selector)}"
    return selectors.column(selector)


def value(selector: str, text: str) -> Scalar:
    """Parse the value of a selector: a number, a word, or None if it does not apply (-1).

    Raises:
        ToolFailure: A selector of ALWAYS_MEASURED is -1, or a number cannot be parsed.
    """
    if selector == "RESULT_BRAND":
        return text.removeprefix('"').removesuffix('"')  # netperf adds the quotes
    if selectors.is_text(selector):
        return None if text in ("Deprecated", "") else text
    measured = number(selector, text)
    if measured == -1:
        if ALWAYS_MEASURED.fullmatch(selector):
            raise ToolFailure(f"netperf did not measure {selector} (it says -1)")
        return None
    return measured


def number(selector: str, text: str) -> int | float:
    match = _NUMBER.fullmatch(text)
    if not match:
        fault = "which has a decimal comma" if _COMMA.fullmatch(text) else "which is not a number"
        advice = f"; {ONE_VERSION}" if selector.startswith("REMOTE_") and "nan" in text else ""
        raise OutputError(f"netperf printed {selector}={text[:60]}, {fault}{advice}")
    return float(text) if match[1] or match[2] else int(text)


def _unit(table: dict[str, str], unit: str, selector: str) -> str:
    if unit not in table:
        raise OutputError(
            f"netperf printed {selector} in {unit[:60]!r}; known units: {', '.join(table)}"
        )
    return table[unit]


SENT = "local_send_throughput_mbps"


def measurement(
    completed: Completed,
    options: Mapping[str, Any],
    selectors: Sequence[str],
    *,
    length: float,
    longest: float,
) -> Measurement:
    """Parse the selectors' values of a run.

    `length` is the time of one iteration in seconds. `longest` is the longest time of all
    iterations together.
    """
    _output.check_ended(completed, "netperf", longest)
    reason = one_line(completed.stderr.strip() or completed.stdout)[:300]
    _output.check_status(completed, "netperf", reason or _SIGNALS.get(completed.status, ""))
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
    _output.check_length(elapsed, length)
    _refuse_ignored(options, keys)
    figures |= _loss(options, keys)
    return Measurement(figures, tuple(_interim(keys, options)), _work(options, keys))


def _keys_of(stdout: str, selectors: Sequence[str]) -> dict[str, str]:
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
    """Yield the interim results; if netperf sends, they count the data that was sent."""
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
    seconds = float(keys["ELAPSED_TIME"]) * max(1, int(keys.get("CONFIDENCE_ITERATION", 1)))
    rate = float(keys["THROUGHPUT"]) * seconds
    if is_rr(options):
        request, response = (
            netperf_bytes(options.get(name, 1)) for name in ("request_size", "response_size")
        )
        # with a burst, a packet may hold several transactions
        packets = 0.0 if options.get("burst") else rate
        return _output.transaction_work(rate, request, response, packets=packets)
    sender = "local" if sends(options) else "remote"
    arrived = rate * 1e6 / 8
    sent = max(arrived, float(keys[f"{sender.upper()}_SEND_THROUGHPUT"]) * seconds * 1e6 / 8)
    udp = keys["PROTOCOL"].upper() == "UDP"
    return _output.stream_work([Flow(sender, sent, arrived)], datagrams=udp)


def _loss(options: Mapping[str, Any], keys: Mapping[str, str]) -> dict[str, Scalar]:
    if keys["PROTOCOL"].upper() != "UDP" or is_rr(options) or options.get("direction") == "recv":
        return {}
    sent, arrived = float(keys["LOCAL_SEND_THROUGHPUT"]), float(keys["THROUGHPUT"])
    return {"loss_pct": max(0.0, 100 * (1 - arrived / sent))}


_SIGNALS = {
    139: "it crashed; netperf 2.7.0 does without /etc/protocols (Debian: package netbase)",
    141: "its connection to netserver broke (SIGPIPE): the server's child died",
}
"""Exit status -> reason, if a signal killed netperf and it printed nothing."""


def refuse_no_data(keys: Mapping[str, str], sending: bool) -> None:
    """Raise ToolFailure if a rate is 0, or if a test that sends counted 0 calls."""
    rates = ("THROUGHPUT", "LOCAL_SEND_THROUGHPUT") if sending else ("THROUGHPUT",)
    rate = next((key for key in rates if key in keys), None)
    if rate and number(rate, keys[rate]) <= 0:
        problem = "nothing arrived"
        if "LOCAL_SEND_THROUGHPUT" in keys:
            sent = number("LOCAL_SEND_THROUGHPUT", keys["LOCAL_SEND_THROUGHPUT"])
            problem = f"nothing of {sent:g} Mbit/s sent arrived" if sent > 0 else "no data was sent"
        raise _output.no_data(problem, f"{rate} is {keys[rate]}")
    if sending:
        for key in ("LOCAL_SEND_CALLS", "REMOTE_RECV_CALLS"):
            if key in keys and number(key, keys[key]) == 0:
                raise ToolFailure(f"{key} is 0: no data went through")


def _refuse_stepped_clock(completed: Completed, elapsed: float, seconds: float) -> None:
    """Raise ToolFailure if the elapsed time is impossible, because the host's clock was set."""
    timed = completed.seconds >= seconds
    longest = completed.seconds * 1.01 + 0.05 if timed else completed.command.deadline
    if not 0 < elapsed <= longest:
        raise _output.invalid(
            f"netperf reports {elapsed:g} s for a run of {seconds:g} s, which is impossible: was "
            "the host's clock set during the run?"
        )


def _refuse_other_version(keys: Mapping[str, str]) -> None:
    """Raise OutputError if CPU figures show that netserver has another version than netperf."""
    if (count := _integer(keys, "REMOTE_CPU_COUNT") if "REMOTE_CPU_COUNT" in keys else 1) < 1:
        raise OutputError(f"netperf printed REMOTE_CPU_COUNT={count}; {ONE_VERSION}")
    names = ("REMOTE_CPU_UTIL", "REMOTE_CPU_PEAK_UTIL")
    average, peak = (keys.get(name, "0") for name in names)
    # with `confidence`, netperf prints the mean utilization of all iterations, but the busiest CPU
    # of the last iteration only
    alike = int(keys.get("CONFIDENCE_ITERATION", 1)) <= 1
    if alike and names[1] in keys and number(names[1], peak) < number(names[0], average) - 1:
        raise OutputError(
            f"netperf printed {peak} % of netserver's busiest CPU and {average} % of all its CPUs; "
            f"{ONE_VERSION}"
        )


def _refuse_ignored(options: Mapping[str, Any], keys: Mapping[str, str]) -> None:
    if "mss" in options and keys["PROTOCOL"].upper() == "TCP":
        _output.check_mss(int(options["mss"]), _integer(keys, "TRANSPORT_MSS"))
    if "cpu_bind" in options:
        cpus = str(options["cpu_bind"]).split(",")
        ends = zip(("LOCAL", "REMOTE"), cpus * (2 if len(cpus) == 1 else 1), strict=False)
        for end, cpu in ends:
            # netperf 2.7.0 echoes even a CPU that does not exist, so check the number of CPUs
            count = _integer(keys, f"{end}_CPU_COUNT")
            if cpu and (keys[f"{end}_CPU_BIND"] != cpu or int(cpu) >= count):
                raise _output.invalid(
                    f"binding to CPU {cpu} did not take: {end.lower()} has {count} CPUs "
                    f"({end}_CPU_BIND is {keys[f'{end}_CPU_BIND']})"
                )
    if "dscp" in options:
        for end in ("LOCAL", "REMOTE"):
            tos = keys[f"{end}_SOCKET_TOS"]
            if _dscp(tos) != options["dscp"]:
                raise _output.invalid(
                    f"DSCP {options['dscp']} did not take ({end}_SOCKET_TOS is {tos})"
                )
    if "congestion_control" in options:
        for end in ("LOCAL", "REMOTE"):
            got_name = keys[f"{end}_CONG_CONTROL"]
            if got_name != options["congestion_control"]:
                raise _output.invalid(
                    f"congestion control {options['congestion_control']} did not take "
                    f"({end}_CONG_CONTROL is {got_name})"
                )
    if "burst" in options and _integer(keys, "BURST_SIZE") != int(options["burst"]):
        raise _output.invalid(
            f"a burst of {options['burst']} did not take (BURST_SIZE is {keys['BURST_SIZE']})"
        )
    if "confidence" in options:
        width = float(str(options["confidence"]).split(",")[1])
        reached = float(keys["THROUGHPUT_CONFID"])
        if reached > width:
            raise _output.invalid(
                f"the confidence interval came out {reached:g} % wide, not {width:g} %"
            )


def _integer(keys: Mapping[str, str], name: str) -> int:
    if not re.fullmatch("-?[0-9]{1,18}", keys[name]):
        raise OutputError(f"netperf printed {name}={keys[name][:60]}, which is not a whole number")
    return int(keys[name])


def _dscp(tos: str) -> int | None:
    try:
        return int(tos, 0) >> 2
    except ValueError:
        return None
