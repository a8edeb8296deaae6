"""The command that samples a host during a run.

It takes up to five samples a second, or up to twenty if the samples are the measurement. It runs a
Perl process, which takes 0.5 ms of CPU for each sample (a process of `ss` takes 3 ms). Without Perl
it runs `ss`, and only twice in a run unless the samples are the measurement.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from importlib import resources

from netlimits.model import Command

SHORTEST = 0.2
"""Minimum seconds between two samples that only explain a measurement."""
SHORTEST_COUNTING = 0.05
"""Minimum seconds between two samples that are the measurement."""

SNAPSHOTS = 50
"""Maximum number of samples of a run."""
CONNECTIONS = 400
"""Maximum number of connections in all samples of a run together. With many connections there are
fewer samples, but at least 3."""

ASKED_FOR_OPTIONS = "ss -tuinmoHO "
"""Text of scripts whose `ss` prints TCP options. The scripts of earlier campaigns lack it."""

_BY_SS = r"""
echo "namespace $(readlink /proc/self/ns/net)"
sleep "$first"
[ -z "$counting" ] || cd "/sys/class/net/$interface/statistics"
n=0
while :; do
  n=$((n + 1))
  date "+look %s.%N"
  grep -E "^cpu[0-9]" /proc/stat
  cat /sys/class/net/"$interface"/statistics/[rt]x_bytes
  if [ -n "$counting" ]; then
    grep -HsE "^([0-9]|Udp: |Udp6InDatagrams)" rx_bytes rx_packets /proc/net/snmp /proc/net/snmp6
    date "+read %s.%N"
  fi
  ss -tuinmoHO "$@"
  [ "$n" != 2 ] || ps -C "$program" -o netns=,pid=,ppid=,nlwp=,pcpu=,comm=
  [ "$n" != "$count" ] || exit 0
  sleep "$every"
done
"""

_SCRIPT = rf"""
first=$1 every=$2 count=$3 program=$4 interface=$5 counting=$6 looks=$7 often=$8 perl=$9
shift 9
carrying=$1 tools=$2
shift 2
by_ss='{_BY_SS}'
export first every count program interface counting by_ss
! command -v perl >/dev/null ||
  exec setsid perl -e "$perl" "$often" "$looks" "$program" "$interface" "$counting" \
    "$carrying" "$tools" "$@"
eval "$by_ss"
"""

_PERL = r"""
my @words = @_;
my $looks = Kept::known($words[8]);
Kept::ran(sub {
    @ARGV = @words[7, 6, 3, 4, 5, 9 .. $#words];
    $looks->();
});
"""
"""The command for a host that keeps a Perl process, which compiles the sampler only once."""


def command(
    program: str,
    peers: Iterable[str],
    port: int,
    *,
    seconds: float,
    counting: float = 0.0,
    connections: int = 1,
    carrying: int = 1,
    interface: str = "",
    tools: Iterable[str] = (),
    deadline: float,
) -> Command:
    """Return the command that samples a run of `seconds`.

    Args:
        program: The tool's process at this end.
        peers: Addresses of the other end, to select connections.
        port: The tool's control port, by which `parse_snapshots` recognizes control connections.
        seconds: Length of the run.
        counting: Seconds between samples if they are the measurement, else 0.
        connections: Expected number of connections. With many there are fewer samples.
        carrying: Number of connections that will carry data.
        interface: The data interface.
        tools: Programs of the measurement, which do not count as other programs.
        deadline: Seconds after which the command is ended.
    """
    filters: list[str] = []
    for peer in filter(None, peers):
        filters += ["or", "dst", f"[{peer}]" if ":" in peer else peer]
    if counting:
        every = max(SHORTEST_COUNTING, counting)
        times, schedule = (0.0, max(SHORTEST, counting), 0), (0, every)
    else:
        # `ss` takes its two samples after 1/4 and 3/4 of the run
        times = seconds / 4, max(SHORTEST, seconds / 2), 2
        most = max(3, min(SNAPSHOTS, CONNECTIONS // max(1, connections)))
        often = max(SHORTEST, seconds / most)
        schedule = max(2, round(seconds / often)), often
    words = (*map(_number, times), program, interface, "1" if counting else "")
    names = "|".join(re.sub(r"[^A-Za-z0-9_.+-]", ".", name)[:15] for name in tools)
    words = (*words, *map(_number, schedule), _sampler_program(), _number(carrying), names)
    argv = ("sh", "-c", _SCRIPT, str(port), *words, *filters[1:])
    return Command(argv, deadline=deadline, perl=_PERL)


def _number(value: float) -> str:
    return f"{value:g}"


@cache
def _sampler_program() -> str:
    names = ("sampler.pl", "sampler_text.pl", "other_processes.pl")
    files = (resources.files(__package__).joinpath(name) for name in names)
    lines = (line.strip() for file in files for line in file.read_text("utf-8").splitlines())
    return "\n".join(line for line in lines if line and not line.startswith("#"))
