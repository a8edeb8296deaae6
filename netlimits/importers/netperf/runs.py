"""Turn the values of netperf's selectors into a run: units, factors and plausibility."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from netlimits.errors import ToolFailure
from netlimits.importers.base import LARGEST, Given, ImportedRun, SourceText, clean
from netlimits.model import Scalar, Status
from netlimits.tools.netperf.results import column, refuse_no_data, value


@dataclass(frozen=True, slots=True)
class Test:
    """The test that a banner names; "" is unknown.

    `width` is the whole width of the confidence interval that `-I` requested, in percent.
    """

    name: str = ""
    protocol: str = ""
    direction: str = ""
    width: float | None = None


class Interim(NamedTuple):
    """An interim result (`-D`): the rate over the interval that ends at `ending_s` since 1970."""

    unit: str
    rate: float
    interval_s: float
    ending_s: float


UNIT = r"(10\^[369]bits/s|[KMG]Bytes/s|Trans/s)"
RATE = r"(\d{1,18}\.\d{1,9})"

_BANNER = re.compile(
    r"(?:MIGRATED )?([A-Za-z][A-Za-z/| _]*?) TEST(?P<ends> (?:from \S.* )?to \S.*?| from \S.*?|)"
    r"(?:: \+/-(\d+(?:\.\d+)?)% @ \d+% conf\..*)?"
)
_REST = re.compile(r"(?:to )?\S+ \(\S*\) port \d+ AF_\w+.*|port \d+ AF_\w+ to \S.*")
_TESTS = {
    "OMNI Send": Test("omni", direction="send"),
    "OMNI Receive": Test("omni", direction="recv"),
    "OMNI Send|Recv": Test("omni", direction="rr"),
    "TCP STREAM": Test("TCP_STREAM", "tcp", "send"),
    "TCP SENDFILE": Test("TCP_SENDFILE", "tcp", "send"),
    "TCP MAERTS": Test("TCP_MAERTS", "tcp", "recv"),
    "TCP REQUEST/RESPONSE": Test("TCP_RR", "tcp", "rr"),
    "TCP Connect/Request/Response": Test("TCP_CRR", "tcp", "rr"),
    "TCP Connect/Close": Test("TCP_CC", "tcp", "rr"),
    "UDP STREAM": Test("UDP_STREAM", "udp", "send"),
    "UDP UNIDIRECTIONAL SEND": Test("UDP_STREAM", "udp", "send"),  # before 2.5
    "UDP REQUEST/RESPONSE": Test("UDP_RR", "udp", "rr"),
    "SCTP STREAM": Test("SCTP_STREAM", "sctp", "send"),
    "SCTP REQUEST/RESPONSE": Test("SCTP_RR", "sctp", "rr"),
}
_DIRECTIONS = {"Send": "send", "Receive": "recv", "Send|Recv": "rr"}

MBPS = {  # netlib.c: capitals are 1024ⁿ bytes, lower case 1000ⁿ bits
    "10^3bits/s": 1e-3,
    "10^6bits/s": 1.0,
    "10^9bits/s": 1e3,
    "KBytes/s": 8 * 2**10 / 1e6,
    "MBytes/s": 8 * 2**20 / 1e6,
    "GBytes/s": 8 * 2**30 / 1e6,
}
_SCALED = re.compile(r"THROUGHPUT|(LOCAL|REMOTE)_(SEND|RECV)_THROUGHPUT")
_IF_ASKED = re.compile(r"(LOCAL|REMOTE)_(CPU_(UTIL|PEAK_UTIL|PERCENT_\w+)|SD)")
_NOT_ASKED = re.compile(r"-1(\.0*)?|-?nan")
_NUMBER = re.compile(r"[+-]?\d+(\.\d*)?([eE][+-]?\d{1,3})?")
_PERCENT = re.compile(r"(LOCAL|REMOTE)_CPU_(UTIL|PEAK_UTIL|PERCENT_\w+)")
_WORK = re.compile(r"(LOCAL|REMOTE)_SD")
_FULL = 100.5  # CPU percent, with rounding; a TCP_CRR of 2.7.0 with -C wrongly prints 500


def test(line: str) -> Test | None:
    """Return the test that a banner names, None for another line."""
    match = _BANNER.fullmatch(" ".join(line.split())) if len(line) < 1_000 else None
    if not match or (match[1] not in _TESTS and " to " not in match["ends"]):
        return None
    kind = _TESTS.get(match[1], Test(clean(match[1])))
    width = 2 * float(match[3]) if match[3] else None
    return Test(kind.name, kind.protocol, kind.direction, width)


def is_rest(line: str) -> bool:
    """Return True if a line can be the end of a banner that a mail or a terminal wrapped."""
    return len(line) < 1_000 and _REST.fullmatch(line) is not None


def run(
    source: SourceText,
    line: int,
    keys: Mapping[str, str],
    banner: Test,
    given: Given,
    interim: Sequence[Interim] = (),
) -> ImportedRun:
    keys = {**given.selectors, **{k: text.strip('"') for k, text in keys.items()}}
    way = _DIRECTIONS.get(keys.get("DIRECTION", ""), banner.direction)
    arrived = {"send": "REMOTE_RECV_THROUGHPUT", "recv": "LOCAL_RECV_THROUGHPUT"}.get(way, "")
    if arrived in keys:  # what netperf itself calls THROUGHPUT
        keys = {"THROUGHPUT": keys[arrived], **keys}
    interim_unit = interim[0].unit if interim else ""
    values = factors(keys, banner, way)
    try:
        refuse_no_data({k: t for k, t in keys.items() if _NUMBER.fullmatch(t)}, way == "send")
        rate_unit, work_unit = _units(source, line, keys, way, interim_unit)
        figures = _figures(keys, rate_unit, work_unit)
        _refuse_wide(keys, banner)
    except ToolFailure as error:
        status: Status = "invalid" if error.status == "invalid" else "failed"
        return ImportedRun(line, status, clean(str(error)), values)
    rows = tuple(_row(result) for result in interim)
    began = min((result.ending_s - result.interval_s for result in interim), default=None)
    return ImportedRun(line, "ok", "", values, figures, rows, began)


def factors(keys: Mapping[str, str], banner: Test, way: str) -> dict[str, Scalar]:
    sent = "REMOTE_SEND_SIZE" if way == "recv" else "LOCAL_SEND_SIZE"
    sizes = {"mss": "TRANSPORT_MSS"}
    sizes |= (
        {"request_size": "REQUEST_SIZE", "response_size": "RESPONSE_SIZE"}
        if way == "rr"
        else {"send_size": sent}
    )
    words = {
        "test": banner.name,
        "protocol": keys.get("PROTOCOL", banner.protocol).lower(),
        "direction": way,
        "brand": keys.get("RESULT_BRAND", ""),
    }
    values: dict[str, Scalar] = {"tool": "netperf"}
    values |= {name: clean(word) for name, word in words.items() if word}
    for name, selector in sizes.items():
        if re.fullmatch(r"\d{1,18}", keys.get(selector, "")):
            values[name] = int(keys[selector])
    return values


def _units(
    source: SourceText, line: int, keys: Mapping[str, str], way: str, interim_unit: str
) -> tuple[str, str]:
    """Return the units of THROUGHPUT and service demand: as stated, or as the test implies."""
    rate = keys.get("THROUGHPUT_UNITS") or interim_unit
    work = keys.get("SD_UNITS", "")
    if not rate and (work or way):  # netperf's defaults, without -f
        transactions = work == "usec/Tran" if work else way == "rr"
        rate = "Trans/s" if transactions else "10^6bits/s"
    if not work and rate:
        work = "usec/Tran" if rate == "Trans/s" else "usec/KB"
    if not rate and {"THROUGHPUT", "LOCAL_SD", "REMOTE_SD"} & set(keys):
        source.refuse(
            line,
            "the unit may be 10^6bits/s or Trans/s (no banner, no THROUGHPUT_UNITS); "
            "state it with --given THROUGHPUT_UNITS=10^6bits/s",
        )
    return rate, work


def _figures(keys: Mapping[str, str], rate_unit: str, work_unit: str) -> dict[str, Scalar]:
    figures: dict[str, Scalar] = {}
    as_known = "10^6bits/s" if rate_unit in MBPS else rate_unit
    for key, text in keys.items():
        if key.endswith("_UNITS") or (_IF_ASKED.fullmatch(key) and _not_asked(keys, key)):
            continue
        name, figure = column(key, as_known, work_unit), value(key, text)
        if isinstance(figure, str):
            figure = clean(figure)
        elif figure is not None:
            if not -LARGEST < figure < LARGEST:
                raise ToolFailure(f"{key} is {clean(text)}, which is out of range")
            if _PERCENT.fullmatch(key) and not 0 <= figure <= _FULL:
                than = "more than the whole machine's 100 %" if figure > 0 else "less than 0"
                raise ToolFailure(f"{key} is {text} %, {than}", status="invalid")
            if _WORK.fullmatch(key) and figure < 0:
                raise ToolFailure(f"{key} is {text}, less than 0", status="invalid")
            if _SCALED.fullmatch(key):
                figure = float(figure) * MBPS.get(rate_unit, 1.0)
        if figure is not None:
            figures[name] = figure
    if not any(isinstance(figure, int | float) for figure in figures.values()):
        raise ToolFailure("netperf printed no figure")
    return figures


def _not_asked(keys: Mapping[str, str], key: str) -> bool:
    """Return True if netperf printed a CPU figure without measuring it (no -c or -C)."""
    end = key.partition("_")[0]
    return keys.get(f"{end}_CPU_METHOD") == "U" or _NOT_ASKED.fullmatch(keys[key]) is not None


def _row(result: Interim) -> Mapping[str, float]:
    row = {"ending_s": result.ending_s, "interval_s": result.interval_s}
    if result.unit in MBPS:
        return {**row, "throughput_mbps": result.rate * MBPS[result.unit]}
    return {**row, "transaction_rate_tps": result.rate}


def _refuse_wide(keys: Mapping[str, str], banner: Test) -> None:
    """Raise ToolFailure if the run's confidence interval is wider than requested (`-I`)."""
    requested = float(keys.get("CONFIDENCE_INTERVAL", "-1"))
    width = requested if requested > 0 else banner.width
    reached = float(keys.get("THROUGHPUT_CONFID", "-1"))
    if width is not None and reached > width:
        raise ToolFailure(
            f"the confidence interval is {reached:g} % wide, more than the requested {width:g} %",
            status="invalid",
        )
