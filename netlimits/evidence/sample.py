"""The one look in mid-run: the measurement's connections (`ss`), processes and threads (`ps`).

One command sleeps until the middle and looks once: 3 ms of one CPU for `ss`, and for `ps`, which
walks over every process, 10 ms with a hundred of them.
It is never a run's failure: what it does not find, or a host without `ss`, is left out.

The data connections are those with the other end that are not on the tool's own port; where
there is none, those on it (iperf3 uses one port for everything) that carried DATA_BYTES and 1 %
of the busiest's bytes: a control connection carries some hundred. `ss` omits what is zero, so a
field that a sending connection lacks is 0. Test hosts on one machine share its process numbers:
processes count that are in the sampled host's own network namespace.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from netlimits.model import Command, Completed, Scalar

DATA_BYTES = 10_000

_LOOK = """
sleep "$1"
program=$2
shift 2
echo "namespace $(readlink /proc/self/ns/net)"
ss -tuinmHO "$@"
ps -C "$program" -o netns=,pid=,ppid=,nlwp=,pcpu=,comm=
exit 0
"""

_PAIR = re.compile(r"(\w+):(\S+)")
_NUMBER = re.compile(r"[0-9]{1,18}(\.[0-9]{1,9})?")
_RATE = re.compile(r"\b(pacing_rate|delivery_rate) ([0-9]{1,18}(?:\.[0-9]{1,9})?)([KMG]?)bps")
_PROCESS = re.compile(r"([0-9]+|-)\s+[0-9]+\s+[0-9]+\s+([0-9]{1,9})\s+(?:([0-9.]{1,9})\s+)?\S.*")
"""netns pid ppid nlwp pcpu comm"""
_SCALE = {"": 1.0, "K": 1e3, "M": 1e6, "G": 1e9}


@dataclass(frozen=True, slots=True)
class Connection:
    """One TCP connection as `ss -i` tells it: its ends and its fields; rates in bit/s."""

    local: str
    peer: str
    fields: dict[str, float] = field(default_factory=dict)
    app_limited: bool = False

    @property
    def sent(self) -> float:
        """Bytes that it sent, or had acknowledged where `ss` does not know the former."""
        return self.value("bytes_sent") or self.value("bytes_acked")

    @property
    def carried(self) -> float:
        """Bytes in both directions."""
        return self.sent + self.value("bytes_received")

    def value(self, name: str) -> float:
        """A field; 0 where `ss` omits it."""
        return self.fields.get(name, 0.0)

    def on(self, port: int) -> bool:
        """Whether either end is `port`."""
        return str(port) in (self.local.rpartition(":")[2], self.peer.rpartition(":")[2])


def command(wait_s: float, program: str, peers: Iterable[str], port: int) -> Command:
    """Wait `wait_s` seconds, then look once for connections with `peers` and for `program`.

    `peers` are data addresses of the other end, `port` is where the tool's server listens:
    argument 0 of the script, for whoever reads the output.
    """
    filters: list[str] = []
    for peer in filter(None, peers):
        filters += ["or", "dst", f"[{peer}]" if ":" in peer else peer]
    argv = ("sh", "-c", _LOOK, str(port), f"{wait_s:g}", program, *filters[1:])
    return Command(argv, deadline=wait_s + 15)


def figures(samples: Sequence[Completed]) -> dict[str, Scalar]:
    """What the samples of one end's hosts say together; nothing that was not found.

    `processes` and `threads` of the tool, and `process_cpu_pct`, what they took of one CPU since
    they were started (a server's child: since the run began); `connections` with data. Of the
    sending ones: the rates `pacing_rate_mbps` and `delivery_rate_mbps` added up; `cwnd_segs`,
    `mss_bytes`, `rtt_us` and `min_rtt_us` as means; `rwnd_limited_pct` and `sndbuf_limited_pct` as
    shares of all their busy time, `busy_pct` of the time until the look (the mean; the connections
    are a little younger), `app_limited_pct` as the share of connections whose program had nothing
    to send just then. Of the receiving ones `sampled_segments_per_ack`: data_segs_in / segs_out,
    which counts segments as on the wire.
    """
    said: dict[str, Scalar] = {}
    rows = [row for sample in samples if _looked(sample) for row in _processes(sample.stdout)]
    if rows:
        said["processes"] = len(rows)
        said["threads"] = sum(int(row[2]) for row in rows)
        if any(row[3] for row in rows):
            said["process_cpu_pct"] = sum(_number(row[3]) for row in rows)
    found = [connection for sample in samples for connection in _data(sample)]
    if not found:
        return said
    said["connections"] = len(found)
    if sending := [c for c in found if c.sent > c.carried / 100]:
        wait_s = float(samples[0].command.argv[4])
        said |= _sending(sending, wait_s)
    receiving = [c for c in found if c.value("bytes_received") > c.carried / 100]
    if acks := sum(c.value("segs_out") for c in receiving):
        said["sampled_segments_per_ack"] = sum(c.value("data_segs_in") for c in receiving) / acks
    return said


def connections(stdout: str) -> list[Connection]:
    """The TCP connections of an `ss -tuinmHO`."""
    found = []
    for line in stdout.splitlines():
        words = line.split(maxsplit=6)
        if len(words) == 7 and words[:2] == ["tcp", "ESTAB"]:
            found.append(_connection(words[4], words[5], words[6]))
    return found


def _connection(local: str, peer: str, details: str) -> Connection:
    fields: dict[str, float] = {}
    for name, text in _PAIR.findall(details):
        if number := _NUMBER.match(text):  # `busy:1012ms`, `rtt:0.036/0.005`
            fields[name] = float(number[0])
    for name, number, scale in _RATE.findall(details):
        fields[name] = float(number) * _SCALE[scale]
    return Connection(local, peer, fields, "app_limited" in details.split())


def _data(sample: Completed) -> list[Connection]:
    """The connections that carry the measurement; none where both ends are in one sample."""
    if not _looked(sample):
        return []
    found = connections(sample.stdout)
    if {(c.local, c.peer) for c in found} & {(c.peer, c.local) for c in found}:
        return []
    port = int(sample.command.argv[3])
    if elsewhere := [c for c in found if not c.on(port)]:
        return elsewhere
    enough = max([DATA_BYTES, *(c.carried / 100 for c in found)])
    return [c for c in found if c.carried >= enough]


def _sending(sending: Sequence[Connection], wait_s: float) -> dict[str, Scalar]:
    def total(name: str) -> float:
        return sum(c.value(name) for c in sending)

    count, busy = len(sending), total("busy")
    said: dict[str, Scalar] = {
        "cwnd_segs": total("cwnd") / count,
        "mss_bytes": total("mss") / count,
        "rtt_us": total("rtt") / count * 1000,
        "min_rtt_us": total("minrtt") / count * 1000,
        "pacing_rate_mbps": total("pacing_rate") / 1e6,
        "delivery_rate_mbps": total("delivery_rate") / 1e6,
        "app_limited_pct": 100 * sum(c.app_limited for c in sending) / count,
    }
    if wait_s > 0:
        said["busy_pct"] = min(100.0, busy / count / (wait_s * 1000) * 100)
    if busy:
        said["rwnd_limited_pct"] = 100 * total("rwnd_limited") / busy
        said["sndbuf_limited_pct"] = 100 * total("sndbuf_limited") / busy
    # a rate, a window or a time of 0 is one that the kernel does not tell
    return {name: value for name, value in said.items() if value or name.endswith("_pct")}


def _looked(sample: Completed) -> bool:
    """Whether the sample came to its look before the run was over."""
    return sample.stdout.startswith("namespace ")


def _processes(stdout: str) -> list[re.Match[str]]:
    """The rows of the program's processes in this network namespace.

    Of another login's processes the namespace is not to be seen (`-`); where that is so of all,
    they are the ones (a server that ran before us as root).
    """
    first, *lines = stdout.splitlines()
    here = re.sub(r"\D", "", first)
    rows = [row for line in lines if (row := _PROCESS.fullmatch(line.strip()))]
    return [row for row in rows if row[1] == here] or [row for row in rows if row[1] == "-"]


def _number(text: str | None) -> float:
    try:
        return float(text or 0)
    except ValueError:  # more dots than a number has
        return 0.0
