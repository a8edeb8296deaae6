"""Read tcpdump's text as TCP packets: the formats of 2005 and of today, with any of its clocks.

A line that is neither a packet nor a known message is an error: a missing packet would split a
burst.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from netlimits.analysis.packets import pcap
from netlimits.analysis.packets.pcap import Packet
from netlimits.errors import DataError

TIMES = (
    ("date", re.compile(r"\d{4}-\d\d-\d\d (\d\d):(\d\d):(\d\d\.\d+)\s+")),  # -tttt
    ("clock", re.compile(r"(\d\d):(\d\d):(\d\d\.\d+)\s+")),  # default; with a blank -ttt, -ttttt
    ("epoch", re.compile(r"(\d{9,}\.\d+)\s+")),  # -tt
    ("delta", re.compile(r"(?:(\d+)\. )?(\d{6})\s+(?!\d\d:)")),  # -ttt of 2005
)
WHERE = re.compile(r"(?:\S+ +(?:In|Out|B|M|P) +)?(?P<network>IP6? )?(?P<rest>.*)", re.DOTALL)
ENDS = re.compile(r"(?:^|\s)(?P<source>\S+) > (?P<destination>\S+): (?P<rest>.*)", re.DOTALL)
TODAY = re.compile(
    r"Flags \[(?P<flags>[A-Za-z.]*)\], (?:cksum [^,]*, )?"
    r"(?:seq (?P<start>\d+)(?::(?P<end>\d+))?, )?(?:ack (?P<ack>\d+), )?"
    r"win \d+, .*?length (?P<length>\d+)\b",
    re.DOTALL,
)
OLD = re.compile(
    r"(?P<flags>[FSRPWE]+|\.) (?:(?P<start>\d+):(?P<end>\d+)\((?P<length>\d+)\) ?)?"
    r"(?:ack (?P<ack>\d+) ?)?(?:win \d+ ?)?(?:urg \d+ ?)?(?:<.*> ?)?(?:\[.*\] ?)?(?:\(.*\))?$"
)
OTHER_FRAME = re.compile(
    r"(ARP|RARP|arp|LLDP|STP|802\.\d|MPLS|PPP|EAPOL|CDP|LACP|IPX|ethertype|loopback)\b"
)
OTHER_IP = re.compile(
    r"(\[[^]]*\] )?(UDP|udp|ICMP6?|icmp6?|IGMP|igmp|GRE|ESP|AH|SCTP|sctp|VRRP|OSPF|PIM|HBH|MLD|NTP|"
    r"BOOTP|DHCP|dhcp6|SNMP|RADIUS|syslog|SIP|QUIC|ip-proto|frag|tcp$|VXLAN|Geneve|L2TP|RIP|"
    r"NBT|IPIP|IP6? |\d+[-+*|$%]* (\[|\d+/\d+/\d+|[A-Z]\w*( \(Q\w\))?\?))"  # DNS
)
# lines that tcpdump prints about itself
STATUS = re.compile(
    r"tcpdump: |Warning: |reading from |listening on |dropped privs|"
    r"\d+ packets? (captured|received|dropped)"
)
OVERLONG = re.compile(r"(?<![0-9a-fA-F:])\d{16}")
HEX = re.compile(r"\s+0x[0-9a-f]{4}:")


def packets(text: str, name: str = "trace") -> Iterator[Packet]:
    """Yield the TCP packets of tcpdump's text, taken with `-n`; `seq` is -1 if not printed.

    `-ttt` (time since the previous packet) and `-ttttt` (since the first packet) print the same
    format. Times that never fall are taken as `-ttttt`.
    """
    lines: list[tuple[str, int, Packet | None]] = []
    for number, line in _lines(text):
        where = f"{name}:{number}"
        if OVERLONG.search(line):
            raise DataError(f"{where}: a number of 16 digits or more cannot be a packet's")
        clock, moment, rest = _moment(line, where)
        if clock == "clock" and (lines[0][0] == "elapsed" if lines else not moment):
            clock = "elapsed"
        lines.append((clock, moment, _packet(rest, where)))
    if len({clock for clock, _, _ in lines}) > 1:
        raise DataError(f"{name}: the lines have several clocks; trace with one option of tcpdump")
    times = _times([t for _, t, _ in lines], lines[0][0]) if lines else []
    for time_ns, (_, _, packet) in zip(times, lines, strict=True):
        if packet:
            yield packet._replace(time_ns=time_ns)


def _lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield each packet's line number and text; the two lines that -v prints are joined."""
    waiting: tuple[int, str] | None = None
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or HEX.match(line) or STATUS.match(line):
            continue
        if waiting and line[0] in " \t" and not any(p.match(line.lstrip()) for _, p in TIMES):
            waiting = (waiting[0], f"{waiting[1]} {line.strip()}")
            continue
        if waiting:
            yield waiting
        waiting = (number, line)
    if waiting:
        yield waiting


def _moment(line: str, where: str) -> tuple[str, int, str]:
    """Return a line's clock, its time in ns, and the rest."""
    for clock, pattern in TIMES:
        stamp = pattern.match(line.lstrip())
        if not stamp:
            continue
        if clock == "delta":
            moment = int(stamp[1] or 0) * 10**9 + int(stamp[2]) * 1000
        elif clock == "epoch":
            moment = _fixed(stamp[1])
        else:
            moment = (int(stamp[1]) * 60 + int(stamp[2])) * 60 * 10**9 + _fixed(stamp[3])
        blank = clock == "clock" and line[0] == " "
        return "elapsed" if blank else clock, moment, line.lstrip()[stamp.end() :]
    start = line.strip()[:60]
    raise DataError(f"{where}: no time at the start of {start!r}; trace with tcpdump -ttt -n")


def _fixed(seconds: str) -> int:
    integer, _, part = seconds.partition(".")
    return int(integer) * 10**9 + int(part.ljust(9, "0")[:9])


def _times(printed: Sequence[int], clock: str) -> list[int]:
    """Return times on one scale: deltas are summed, and clocks continue after midnight."""
    falls = any(b < a for a, b in pairwise(printed))
    if clock == "delta" or (clock == "elapsed" and falls):
        total, times = 0, []
        for delta in printed:
            total += delta
            times.append(total)
        return times
    days, times = 0, []
    for index, moment in enumerate(printed):
        if clock == "clock" and index and printed[index - 1] - moment > 12 * 3600 * 10**9:
            days += 1
        times.append(moment + days * 86400 * 10**9)
    return times


def _packet(line: str, where: str) -> Packet | None:
    """Return the TCP packet of a line (without its time), or None for another protocol."""
    place = WHERE.match(line)
    assert place is not None  # it matches any text
    if not place["network"] and OTHER_FRAME.match(place["rest"]):
        return None
    ends = ENDS.search(place["rest"])
    if not ends:
        if place["network"] and OTHER_IP.search(place["rest"]):
            return None
        raise DataError(f"{where}: not a packet: {line.strip()[:80]!r}")
    description = ends["rest"].strip()
    fields = TODAY.match(description) or OLD.match(description)
    if not fields:
        if OTHER_IP.match(description):
            return None
        raise DataError(
            f"{where}: neither TCP nor another known protocol: {description[:80]!r}; "
            "capture with tcpdump … tcp"
        )
    start, end, length = (int(fields[k]) if fields[k] else None for k in ("start", "end", "length"))
    if start is not None and end is not None and (end - start) % 2**32 != length:
        raise DataError(
            f"{where}: seq {start}:{end} does not span the {length} bytes of its length"
        )
    ack = int(fields["ack"]) if fields["ack"] else None
    if max(start or 0, end or 0, ack or 0) >= 2**33 or (length or 0) >= 2**24:
        raise DataError(f"{where}: numbers beyond TCP's: {description[:80]!r}")
    letters = set(fields["flags"]) - set("none") | ({"."} if ack is not None else set())
    flags = "".join(letter for _, letter in pcap.FLAGS if letter in letters)
    return Packet(
        0,
        *_end(ends["source"], where),
        *_end(ends["destination"], where),
        flags,
        -1 if start is None else start,
        ack,
        length or 0,
    )


def _end(text: str, where: str) -> tuple[str, int]:
    address, dot, port = text.rpartition(".")
    if not dot or not port.isdigit():
        raise DataError(f"{where}: {text!r} is not an address with a port; trace with tcpdump -n")
    return address, int(port)
