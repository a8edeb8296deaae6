"""Looks at a host while a run goes on: its connections (`ss`), its interface, the tool's processes.

One script sleeps between looks. Two of them tell what changed (a look at what the kernel has
counted since the connection was made holds the start-up); where the measure itself is what arrived
at a host (evidence.sample.arrivals), there is one for each interim result from before the
connection is made, with the data interface's counters. A look takes some 4 ms of one CPU, 6 with
the counters, and `ps`, which walks over every process, 10 ms with a hundred of them: so that is
once a run.

The data connections are those with the other end that are not on the tool's own port; where
there is none, those on it (iperf3 uses one port for everything) that carried DATA_BYTES and 1 %
of the busiest's bytes: a control connection carries some hundred.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from netlimits.model import Command, Completed

DATA_BYTES = 10_000
SHORTEST = 0.2
"""Seconds between two looks, at least."""

_SCRIPT = r"""
first=$1 every=$2 count=$3 program=$4 interface=$5
shift 5
echo "namespace $(readlink /proc/self/ns/net)"
sleep "$first"
[ -z "$interface" ] || cd "/sys/class/net/$interface/statistics"
n=0
while :; do
  n=$((n + 1))
  date "+look %s.%N"
  if [ -n "$interface" ]; then
    grep -HsE "^([0-9]|Udp: |Udp6InDatagrams)" rx_bytes rx_packets /proc/net/snmp /proc/net/snmp6
    date "+read %s.%N"
  fi
  ss -tuinmoHO "$@"
  [ "$n" != 2 ] || ps -C "$program" -o netns=,pid=,ppid=,nlwp=,pcpu=,comm=
  [ "$n" != "$count" ] || exit 0
  sleep "$every"
done
"""

_OPTIONS = "ss -tuinmoHO "
"""How the script asks for TCP's options; campaigns before did not."""

_TIME = r"[0-9]{9,12}\.[0-9]{9}"
_PAIR = re.compile(r"(\w+):(\S+)")
_NUMBER = re.compile(r"[0-9]{1,18}(\.[0-9]{1,9})?")
_RATE = re.compile(r"\b(pacing_rate|delivery_rate) ([0-9]{1,18}(?:\.[0-9]{1,9})?)([KMG]?)bps")
_SCALE = {"": 1.0, "K": 1e3, "M": 1e6, "G": 1e9}


@dataclass(frozen=True, slots=True)
class Connection:
    """One TCP connection as `ss -i` tells it: its ends and its fields; rates in bit/s.

    `timestamps` is whether its segments carry them, None where `ss` was not asked (`-o`).
    """

    local: str
    peer: str
    fields: dict[str, float] = field(default_factory=dict)
    app_limited: bool = False
    timestamps: bool | None = None

    @property
    def ends(self) -> tuple[str, str]:
        """Its two ends, which identify it."""
        return self.local, self.peer

    @property
    def sent(self) -> float:
        """Bytes that it sent, or had acknowledged where `ss` does not know the former."""
        return self.value("bytes_sent") or self.value("bytes_acked")

    @property
    def carried(self) -> float:
        """Bytes in both directions."""
        return self.sent + self.value("bytes_received")

    def value(self, name: str) -> float:
        """A field; 0 where `ss` omits it: what is 0, or what its kernel does not tell."""
        return self.fields.get(name, 0.0)

    @property
    def tells_app_limited(self) -> bool:
        """Whether its kernel says `app_limited`, which came with the delivery rate (Linux 4.9)."""
        return self.app_limited or "delivery_rate" in self.fields

    def on(self, port: int) -> bool:
        """Whether either end is `port`."""
        return str(port) in (self.local.rpartition(":")[2], self.peer.rpartition(":")[2])


@dataclass(frozen=True, slots=True)
class Look:
    """One look: the data connections, and the interface's counters with when they had been read.

    Times are epoch seconds of the host's clock; None where `date` knows no fractions. `one_stack`
    says that both ends of the connections are in it, which are not told apart.
    """

    at: float | None
    connections: tuple[Connection, ...]
    read: float | None = None
    counters: Mapping[str, int] = field(default_factory=dict)
    one_stack: bool = False

    @property
    def time(self) -> float | None:
        """When the counters were read: between the two looks at the clock around them."""
        return self.at if self.at is None or self.read is None else (self.at + self.read) / 2


def command(
    program: str,
    peers: Iterable[str],
    port: int,
    *,
    first: float,
    every: float,
    count: int = 0,
    interface: str = "",
    deadline: float,
) -> Command:
    """Look `count` times (0: until it is ended), `every` seconds, from `first` seconds on.

    Looks at connections with `peers`, the data addresses of the other end, at `program`, and at
    the counters of `interface` where one is given. `port` is where the tool's server listens:
    argument 0 of the script, for whoever reads the output.
    """
    filters: list[str] = []
    for peer in filter(None, peers):
        filters += ["or", "dst", f"[{peer}]" if ":" in peer else peer]
    times = (f"{first:g}", f"{max(SHORTEST, every):g}", str(count))
    argv = ("sh", "-c", _SCRIPT, str(port), *times, program, interface, *filters[1:])
    return Command(argv, deadline=deadline)


def looks(completed: Completed) -> list[Look]:
    """The looks in a command's output. Those of an older campaign have no time of their own."""
    if not completed.stdout.startswith("namespace "):
        return []
    pieces = re.split(r"^look (.*)$", completed.stdout, flags=re.MULTILINE)
    if len(pieces) == 1:
        return [_look(completed, "", pieces[0])]
    return [_look(completed, at, text) for at, text in zip(pieces[1::2], pieces[2::2], strict=True)]


def _look(completed: Completed, at: str, text: str) -> Look:
    match = re.search(r"^read (.*)$", text, re.MULTILINE)
    read = _seconds(match[1] if match else "")
    every = _connections(text, options=_OPTIONS in completed.command.argv[2])
    both = bool({c.ends for c in every} & {(c.peer, c.local) for c in every})
    connections = tuple(_data(every, int(completed.command.argv[3])))
    return Look(_seconds(at), connections, read, _counts(text), both)


def _seconds(text: str) -> float | None:
    return float(text) if re.fullmatch(_TIME, text, re.ASCII) else None


def _counts(text: str) -> dict[str, int]:
    """The interface's counters, and `udp_in`, the datagrams that programs have taken."""
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
    """The TCP connections of an `ss -tuinmHO`, or with `options` of an `ss -tuinmoHO`."""
    connections = []
    for line in text.splitlines():
        words = line.split(maxsplit=6)
        if len(words) == 7 and words[0] == "tcp" and words[1] in ("ESTAB", "CLOSE-WAIT"):
            connections.append(_connection(words[4], words[5], words[6], options))
    return connections


def _connection(local: str, peer: str, details: str, options: bool) -> Connection:
    fields: dict[str, float] = {}
    for name, text in _PAIR.findall(details):
        if number := _NUMBER.match(text):  # `busy:1012ms`, `rtt:0.036/0.005`
            fields[name] = float(number[0])
    for name, number, scale in _RATE.findall(details):
        fields[name] = float(number) * _SCALE[scale]
    words = details.split()
    timestamps = "ts" in words if options or "ts" in words else None
    return Connection(local, peer, fields, "app_limited" in words, timestamps)


def _data(connections: list[Connection], port: int) -> list[Connection]:
    """The connections that carry the measurement."""
    if elsewhere := [c for c in connections if not c.on(port)]:
        return elsewhere
    enough = max([DATA_BYTES, *(c.carried / 100 for c in connections)])
    return [c for c in connections if c.carried >= enough]
