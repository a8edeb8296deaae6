"""Parse the samples of a host: its connections and its interface's counters."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from netlimits.evidence.sample.command import ASKED_FOR_OPTIONS
from netlimits.model import Completed

DATA_BYTES = 10_000
"""Minimum bytes of a data connection on the tool's port, which control connections use as well."""

ALGORITHMS = {"cubic", "reno", "bbr", "dctcp", "vegas", "westwood", "htcp", "bic", "illinois"}
"""Congestion controls to recognize in the output of `ss -i`. Of these only BBR sets its pace."""

_TIME = r"[0-9]{9,12}\.[0-9]{9}"
_PAIR = re.compile(r"(\w+):(\S+)")
_NUMBER = re.compile(r"[0-9]{1,18}(\.[0-9]{1,9})?")
_RATE = re.compile(r"\b(pacing_rate|delivery_rate) ([0-9]{1,18}(?:\.[0-9]{1,9})?)([KMG]?)bps")
_RETRANSMITTED = re.compile(r"\bretrans:[0-9]{1,18}/([0-9]{1,18})")
_MEMORY = re.compile(r"\bskmem:\(([a-z0-9,]{1,200})\)")
_SCALE = {"": 1.0, "K": 1e3, "M": 1e6, "G": 1e9}


@dataclass(frozen=True, slots=True)
class Connection:
    """A TCP connection as `ss -i` prints it.

    `fields` maps names that `ss` prints to values; rates are in bit/s. `timestamps` is None if `ss`
    was not asked for TCP options.
    """

    local: str
    peer: str
    fields: dict[str, float] = field(default_factory=dict)
    app_limited: bool = False
    timestamps: bool | None = None

    @property
    def ends(self) -> tuple[str, str]:
        return self.local, self.peer

    @property
    def sent(self) -> float:
        """Bytes sent, or bytes acknowledged if `ss` does not report bytes sent."""
        return self.value("bytes_sent") or self.value("bytes_acked")

    @property
    def carried(self) -> float:
        return self.sent + self.value("bytes_received")

    @property
    def sends(self) -> bool:
        """True if more than 1 % of the data was sent from here."""
        return self.sent > self.carried / 100

    @property
    def receives(self) -> bool:
        """True if more than 1 % of the data was received here."""
        return self.value("bytes_received") > self.carried / 100

    def value(self, name: str) -> float:
        return self.fields.get(name, 0.0)

    @property
    def reports_app_limited(self) -> bool:
        """True if the kernel reports `app_limited`; Linux 4.9 added it with the delivery rate."""
        return self.app_limited or "delivery_rate" in self.fields

    def on(self, port: int) -> bool:
        return str(port) in (self.local.rpartition(":")[2], self.peer.rpartition(":")[2])


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A sample of a host's data connections and counters.

    `at` and `read` are the host's clock before and after reading the counters. `one_stack` is true
    if the host has both ends of a connection.
    """

    at: float | None
    connections: tuple[Connection, ...]
    read: float | None = None
    counters: Mapping[str, int] = field(default_factory=dict)
    one_stack: bool = False

    @property
    def time(self) -> float | None:
        """The time of the counters: the middle between the two clock readings around them."""
        return self.at if self.at is None or self.read is None else (self.at + self.read) / 2


@lru_cache(maxsize=8)  # several figures of a run parse the same samples
def parse_snapshots(completed: Completed) -> tuple[Snapshot, ...]:
    """Parse the samples in a command's output. Samples of older campaigns have no time."""
    if not completed.stdout.startswith("namespace "):
        return ()
    pieces = re.split(r"^look (.*)$", completed.stdout, flags=re.MULTILINE)
    if len(pieces) == 1:
        return (_snapshot(completed, "", pieces[0]),)
    texts = zip(pieces[1::2], pieces[2::2], strict=True)
    return tuple(_snapshot(completed, at, text) for at, text in texts)


def _snapshot(completed: Completed, at: str, text: str) -> Snapshot:
    match = re.search(r"^read (.*)$", text, re.MULTILINE)
    read = _seconds(match[1] if match else "")
    every = _connections(text, options=ASKED_FOR_OPTIONS in completed.command.argv[2])
    both = bool({c.ends for c in every} & {(c.peer, c.local) for c in every})
    connections = tuple(_data(every, int(completed.command.argv[3])))
    return Snapshot(_seconds(at), connections, read, _counts(text), both)


def _seconds(text: str) -> float | None:
    return float(text) if re.fullmatch(_TIME, text, re.ASCII) else None


def _counts(text: str) -> dict[str, int]:
    """Return the interface's counters, and `udp_in`, the number of datagrams that programs read."""
    counts = {
        name: int(value)
        for name, value in re.findall(r"^(rx_bytes|rx_packets):([0-9]{1,20})$", text, re.MULTILINE)
    }
    number = "([0-9]{1,20})"
    datagrams = re.findall(rf"^/proc/net/snmp:Udp: {number} ", text, re.MULTILINE)
    datagrams += re.findall(rf"^/proc/net/snmp6:Udp6InDatagrams\s+{number}$", text, re.MULTILINE)
    if datagrams:
        counts["udp_in"] = sum(map(int, datagrams))
    return counts


def _connections(text: str, *, options: bool) -> list[Connection]:
    connections = []
    for line in text.splitlines():
        words = line.split(maxsplit=6)
        if len(words) == 7 and words[0] == "tcp" and words[1] in ("ESTAB", "CLOSE-WAIT"):
            connections.append(_connection(words[2], words[4], words[5], words[6], options))
    return connections


def _connection(waits: str, local: str, peer: str, details: str, options: bool) -> Connection:
    fields: dict[str, float] = {"recv_q": float(waits)} if _NUMBER.fullmatch(waits) else {}
    for name, text in _PAIR.findall(details):
        if number := _NUMBER.match(text):  # `busy:1012ms`, `rtt:0.036/0.005`
            fields[name] = float(number[0])
    for name, number, scale in _RATE.findall(details):
        fields[name] = float(number) * _SCALE[scale]
    if total := _RETRANSMITTED.search(details):
        fields["retransmitted"] = float(total[1])
    if memory := _MEMORY.search(details):
        fields |= _memory(dict(re.findall(r"([a-z]+)([0-9]{1,18})", memory[1])))
    words = details.split()
    if ALGORITHMS & {*words}:
        fields["sets_its_pace"] = float("bbr" in words)
    timestamps = "ts" in words if options or "ts" in words else None
    return Connection(local, peer, fields, "app_limited" in words, timestamps)


def _memory(parts: Mapping[str, str]) -> dict[str, float]:
    """Return the size and fill of a socket's buffers, and its drops, from `skmem` of `ss -m`."""
    fields = {"socket_drops": float(parts["d"])} if "d" in parts else {}
    for buffer, taken, most in (("rcvbuf", "r", "rb"), ("sndbuf", "w", "tb")):
        if taken in parts and float(parts.get(most, 0)):
            fields[f"{buffer}_used_pct"] = 100 * float(parts[taken]) / float(parts[most])
            fields[buffer] = float(parts[most])
    return fields


def _data(connections: list[Connection], port: int) -> list[Connection]:
    """Return the connections on other ports than the tool's; if there are none, the large ones."""
    if of_data := [c for c in connections if not c.on(port)]:
        return of_data
    enough = max([DATA_BYTES, *(c.carried / 100 for c in connections)])
    return [c for c in connections if c.carried >= enough]
