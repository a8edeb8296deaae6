"""The command that looks at a host while a run goes on.

One process looks about five times a second from before the connection is made: differences tell
what changed (what the kernel has counted since a connection was made holds the start-up), and no
moment stands for the whole. That process is Perl's, which every distribution's own programs need:
it asks the kernel what `ss` asks (looks.pl), at some 0.5 ms of one CPU for each look, where a
process of `ss` takes 3. It has a session of its own, to come after all others in the kernel's
choice, looks a certain number of times and ends by itself.

A host without Perl, or without its modules, is looked at by `ss`, with a process each time: so
twice in a run, or, where the measure itself is what arrived there (evidence.sample.arrivals), as
often as by Perl, but for SHORTEST.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from importlib import resources

from netlimits.model import Command

SHORTEST = 0.2
SHORTEST_COUNTING = 0.05
"""Seconds between two looks, at least, and where the looks are the measure."""

LOOKS = 50
"""How often a run is looked at, at most, and how many connections all looks of it may show."""
CONNECTIONS = 400

ASKED_FOR_OPTIONS = "ss -tuinmoHO "
"""How the script asks `ss` for TCP's options; campaigns before did not."""

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
"""The same where the host keeps a Perl, by the words of the script: loaded and compiled once."""


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
    """Look at a run of so many `seconds`, or while it is `counting`, each so many, until ended.

    Looks at connections with `peers`, the data addresses of the other end, at `program`, at
    `interface`, and where it is counting at that one's counters. `port` is where the tool's server
    listens: argument 0 of the script, for whoever reads the output. The more `connections` there
    are, the fewer looks; so many as are `carrying` data are waited for. `tools` are the programs
    whose CPU time is not others'.
    """
    filters: list[str] = []
    for peer in filter(None, peers):
        filters += ["or", "dst", f"[{peer}]" if ":" in peer else peer]
    if counting:
        every = max(SHORTEST_COUNTING, counting)
        times, schedule = (0.0, max(SHORTEST, counting), 0), (0, every)
    else:
        # two looks of `ss` lie a quarter of the run from either end
        times = seconds / 4, max(SHORTEST, seconds / 2), 2
        most = max(3, min(LOOKS, CONNECTIONS // max(1, connections)))
        often = max(SHORTEST, seconds / most)
        schedule = max(2, round(seconds / often)), often
    words = (*map(_number, times), program, interface, "1" if counting else "")
    names = "|".join(re.sub(r"[^A-Za-z0-9_.+-]", ".", name)[:15] for name in tools)
    words = (*words, *map(_number, schedule), _looks(), _number(carrying), names)
    argv = ("sh", "-c", _SCRIPT, str(port), *words, *filters[1:])
    return Command(argv, deadline=deadline, perl=_PERL)


def _number(value: float) -> str:
    return f"{value:g}"


@cache
def _looks() -> str:
    """The program for Perl, less its comments and indents, which only we read."""
    names = ("looks.pl", "words.pl", "others.pl")
    files = (resources.files(__package__).joinpath(name) for name in names)
    lines = (line.strip() for file in files for line in file.read_text("utf-8").splitlines())
    return "\n".join(line for line in lines if line and not line.startswith("#"))
