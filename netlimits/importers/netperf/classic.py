"""netperf's classic tables, as `-t TCP_STREAM`, `UDP_STREAM`, `TCP_RR`, … print them by default.

"Recv" and "Send" sizes are those of the receiving and the sending end, whichever is local.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

Row = tuple[str | None, ...]


@dataclass(frozen=True, slots=True)
class Form:
    rows: tuple[Row, ...]  # selectors; None for a value that is dropped
    units: Mapping[str, str]
    protocol: str = ""
    direction: str = ""


_UNIT = r"(?P<unit>10\^[369]bits|[KMG]Bytes) ?/s(?:ec)?"
_METHOD = r"%(?: [A-Z]{1,2})?"
_WORK = r"us/(?P<work>KB|Tr)"

_SENT = ("RSR_SIZE", "LSS_SIZE", "LOCAL_SEND_SIZE")
_FETCHED = ("LSR_SIZE", "RSS_SIZE", "REMOTE_SEND_SIZE")
_CPU = ("LOCAL_CPU_UTIL", "REMOTE_CPU_UTIL", "LOCAL_SD", "REMOTE_SD")
_RR = ("LSS_SIZE", "LSR_SIZE", "REQUEST_SIZE", "RESPONSE_SIZE", "ELAPSED_TIME", "THROUGHPUT")
_UDP = ("LSS_SIZE", "LOCAL_SEND_SIZE", "ELAPSED_TIME", "LOCAL_SEND_CALLS", None)
_UDP_REMOTE = ("RSR_SIZE", None, "REMOTE_RECV_CALLS", "REMOTE_RECV_THROUGHPUT")

_STREAM_HEADERS = (
    (
        4,
        "Recv Send Send Socket Socket Message Elapsed Size Size Size Time Throughput "
        f"bytes bytes bytes secs\\. {_UNIT}",
        (),
    ),
    (
        4,
        "Recv Send Send Utilization Service Demand Socket Socket Message Elapsed "
        "(?:Send Recv Send Recv|Recv Send Recv Send) Size Size Size Time Throughput "
        f"local remote local remote bytes bytes bytes secs\\. {_UNIT} {_METHOD} {_METHOD} "
        f"us/KB {_WORK}",
        _CPU,
    ),
)
_OTHER_HEADERS = (
    (
        3,
        "Socket Message Elapsed Messages Size Size Time Okay Errors Throughput "
        f"bytes bytes secs # # {_UNIT}",
        ((*_UDP, "LOCAL_SEND_THROUGHPUT"), _UDP_REMOTE),
        ("udp", "send"),
    ),
    (
        3,
        "Socket Message Elapsed Messages CPU Service Size Size Time Okay Errors Throughput Util "
        f"Demand bytes bytes secs # # {_UNIT} {_METHOD} {_WORK}",
        (
            (*_UDP, "LOCAL_SEND_THROUGHPUT", "LOCAL_CPU_UTIL", "LOCAL_SD"),
            (*_UDP_REMOTE, "REMOTE_CPU_UTIL", "REMOTE_SD"),
        ),
        ("udp", "send"),
    ),
    (
        4,
        "Local /Remote Socket Size Request Resp\\. Elapsed(?: Trans\\.)? Send Recv Size Size Time "
        f"(?:Rate|Throughput) bytes Bytes bytes bytes secs\\. (?:{_UNIT}|per sec)",
        (_RR, ("RSS_SIZE", "RSR_SIZE")),
        ("", "rr"),
    ),
    (
        4,
        "Local /Remote Socket Size Request Resp\\. Elapsed (?:Trans\\.|Tput) CPU CPU S\\.dem "
        "S\\.dem Send Recv Size Size Time (?:Rate|(?P<unit>10\\^[369]bits|[KMG]Bytes)) local "
        f"remote local remote bytes bytes bytes bytes secs\\. per sec {_METHOD} {_METHOD} us/.. "
        f"{_WORK}",
        ((*_RR, *_CPU), ("RSS_SIZE", "RSR_SIZE")),
        ("", "rr"),
    ),
)

EXTRAS: Mapping[str, int] = {"Alignment": 4, "Maximum": 4}
"""First word of a block that `-v 2` adds -> its number of lines, which are skipped."""

_NUMBER = re.compile(r"-?\d+(\.\d+)?")


def form(lines: Sequence[str], direction: str) -> tuple[Form, int] | None:
    """Return the table whose header these lines begin with, and the header's number of lines.

    If `direction` is "" (there was no banner), the sizes are left out: their end is unknown.
    """
    if lines[0].split()[0] not in ("Recv", "Socket", "Local") or sum(map(len, lines)) > 2_000:
        return None
    for count, pattern, cpu in _STREAM_HEADERS:
        if match := _matches(pattern, lines[:count]):
            sizes: Row = {"send": _SENT, "recv": _FETCHED}.get(direction, (None,) * 3)
            rows = ((*sizes, "ELAPSED_TIME", "THROUGHPUT", *cpu),)
            return Form(rows, _units(match), direction=direction), count
    for count, pattern, both, (protocol, way) in _OTHER_HEADERS:
        if match := _matches(pattern, lines[:count]):
            return Form(both, _units(match), protocol, way), count
    return None


def values(row: Row, line: str) -> dict[str, str] | None:
    """Return selector -> text of a row, None if the line does not match the row."""
    words = line.split()
    if len(words) != len(row) or not all(_NUMBER.fullmatch(word) for word in words):
        return None
    return {name: word for name, word in zip(row, words, strict=True) if name}


def _matches(pattern: str, lines: Sequence[str]) -> re.Match[str] | None:
    return re.fullmatch(pattern, " ".join(" ".join(lines).split()))


def _units(match: re.Match[str]) -> dict[str, str]:
    groups = match.groupdict()
    units = {"THROUGHPUT_UNITS": f"{groups['unit']}/s" if groups["unit"] else "Trans/s"}
    if work := groups.get("work"):
        units["SD_UNITS"] = {"KB": "usec/KB", "Tr": "usec/Tran"}[work]
    return units
