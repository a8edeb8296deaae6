"""The command that samples a host during a run, about five times a second.

It is a Perl process, at 0.5 ms of CPU for each sample (a process of `ss` takes 3). A host without
Perl is sampled with `ss`, and only twice in a run unless the samples are the measurement.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from importlib import resources

from netlimits.model import Command

SHORTEST = 0.2
SHORTEST_COUNTING = 0.05
"""Minimum seconds between two samples; SHORTEST_COUNTING if the samples are the measurement."""

SNAPSHOTS = 50
"""Maximum number of samples of a run, and of connections in all of its samples."""
CONNECTIONS = 400

ASKED_FOR_OPTIONS = "ss -tuinmoHO "
"""The script's call of `ss` that asks for TCP's options; earlier campaigns did not."""

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
"""The version for a host that keeps a Perl: the script's program is loaded and compiled once."""


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

    `counting` is the seconds between samples if they are the measurement, `port` the tool's own,
    `carrying` the number of connections with data to wait for, `tools` programs that are no others.
    """
    filters: list[str] = []
    for peer in filter(None, peers):
        filters += ["or", "dst", f"[{peer}]" if ":" in peer else peer]
    if counting:
        every = max(SHORTEST_COUNTING, counting)
        times, schedule = (0.0, max(SHORTEST, counting), 0), (0, every)
    else:
        # the two samples of `ss` are a quarter of the run from either end
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
