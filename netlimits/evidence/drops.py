"""Packets that the kernel dropped during a run, by reason and place: the event skb:kfree_skb.

A histogram trigger of tracefs, in an instance of its own, counts the drops of all network
namespaces together. bpftrace can separate namespaces, but takes half a second of CPU to start.
Reasons exist since Linux 5.17. Only packets of IPv4 and IPv6 count, because sockets of other
families cause the same event when they free a message.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from netlimits.model import Command, Completed, Scalar
from netlimits.model.drop_reasons import ALL_NAMESPACES, NO_LOSS, cause

FACT = "drop_reasons"
"""Name of the fact that lists a host's ways to count drops by reason; absent if it has none."""

BEGUN = "counting drops"
"""Text that the command prints to standard error once it counts every drop."""

_AS_ROOT = """script=$1
shift
[ "$(id -u)" = 0 ] || exec sh -c "$script" sh "$@"
exec unshare -m sh -c "$script" sh "$@"
"""
"""Run the script in argument 1. As root, it runs in its own mount namespace, since it may mount."""

_FIND = r"""
separate=$1
root="sudo -n --"
[ "$(id -u)" != 0 ] || root=
t=/sys/kernel/tracing
e=events/skb/kfree_skb
[ -n "$root" ] || [ -r $t/$e/format ] || mount -t tracefs tracefs $t 2>/dev/null
format=$($root cat $t/$e/format) || exit 3
case $format in *"skb_drop_reason reason"*) ;; *) echo "no reasons" >&2; exit 3 ;; esac
ways=
! $root cat $t/$e/hist >/dev/null 2>&1 || ways=histogram
[ -n "$root" ] || ! command -v bpftrace >/dev/null || ways="$ways bpftrace"
spaces=0
[ -n "$root" ] || spaces=$(readlink /proc/[0-9]*/ns/net | sort -u | grep -c .)
case $separate$ways in
*histogram) by=histogram ;;
histogram*) by=histogram ;;
*bpftrace) by=bpftrace ;;
*) echo "no histogram triggers, and no bpftrace" >&2; exit 4 ;;
esac
"""
"""Find out how drops can be counted.

Set `ways` (all ways that the host has), `by` (the way to use) and `spaces` (the number of network
namespaces; 0 if unknown). Argument 1 is not empty if the drops of namespaces are to be separated.
"""

_BY_BPFTRACE = """BEGIN { printf("begun\\n"); }
tracepoint:skb:kfree_skb /args->protocol == 0x0800 || args->protocol == 0x86dd/ {
  $s = (struct sk_buff *)args->skbaddr;
  $n = $s->dev->nd_net.net->ns.inum;
  if ($n == 0) { $n = $s->sk->__sk_common.skc_net.net->ns.inum; }
  RX_SK
  @[args->reason, ksym(args->location), $n] = count();
}"""

_OF_RX_SK = "if ($n == 0) { $n = ((struct sock *)args->rx_sk)->__sk_common.skc_net.net->ns.inum; }"
"""Replaces RX_SK on Linux 6.11 and later, where the event has the packet's receiving socket."""

_SCRIPT = rf"""{_FIND}
show() {{
  kill -INT $w 2>/dev/null
  wait $w
  $root cat $1
}}
# print this now: the end of the script has to be quick
printf '%s\n' "$format" | grep -o '{{ [0-9]*, "[A-Z0-9_]*" }}'
echo "spaces $spaces"
echo "here $(readlink /proc/self/ns/net | sed 's/[^0-9]//g')"
echo "by $by"
if [ $by = bpftrace ]; then
  d=/sys/kernel/debug
  [ -e $d/tracing/events ] || mount -t debugfs debugfs $d 2>/dev/null
  program=$(printf %s "$3" | sed "s/RX_SK/$(case $format in *rx_sk*) printf %s "$4" ;; esac)/")
  mount -t tmpfs tmpfs /tmp || exit 5
  trap 'show /tmp/drops; exit 0' TERM INT HUP
  timeout -s INT "$2" bpftrace -e "$program" >/tmp/drops & w=$!
  while kill -0 $w 2>/dev/null && ! grep -q begun /tmp/drops; do sleep 0.05; done
  echo "{BEGUN}" >&2
  wait $w
  show /tmp/drops
  exit 0
fi
i=$t/instances/netlimits-$$
$root mkdir $i || exit 5
trap 'show $i/$e/hist; $root rmdir $i; exit 0' TERM INT HUP
echo 'hist:keys=reason,location.sym:size=1024 if protocol == 0x800 || protocol == 0x86dd' |
  $root tee $i/$e/trigger >/dev/null || {{ $root rmdir $i; exit 6; }}
echo "{BEGUN}" >&2
sleep "$2" & w=$!
wait $w
show $i/$e/hist
$root rmdir $i
"""

_NAME = re.compile(r'\{ ([0-9]{1,5}), "([A-Z0-9_]{1,60})" \}')
_HIST = re.compile(
    r"^\{ reason:\s+([0-9]{1,10}), location: \[[0-9a-f]+\] (\S{1,200})[^}]{0,100}\} "
    r"hitcount:\s+([0-9]{1,18})$",
    re.MULTILINE,
)
_BPFTRACE = re.compile(
    r"^@\[([0-9]{1,10}), (\S{1,200}), ([0-9]{1,10})\]: ([0-9]{1,18})$", re.MULTILINE
)
_LOST = re.compile(r"^\s*Dropped: ([0-9]{1,18})$", re.MULTILINE)

IMPLIED = {
    ("NOT_SPECIFIED", "udp_recvmsg"): "UDP_CSUM",
    ("NOT_SPECIFIED", "udpv6_recvmsg"): "UDP_CSUM",
    ("NOT_SPECIFIED", "__first_packet_length"): "UDP_CSUM",
}
"""(Reason, function) -> the actual reason. Older kernels report no reason in these functions, which
drop packets for only one reason."""

PLACES = 3
"""Maximum number of drops that `dropped_where` lists."""


@dataclass(frozen=True, slots=True)
class Drop:
    """Packets dropped for one reason in one function, `place`.

    `namespace` is the inode of the network namespace; None if unknown.
    """

    reason: str
    place: str
    count: int
    namespace: int | None = None

    @property
    def cause(self) -> str:
        return cause(self.reason)


@dataclass(frozen=True, slots=True)
class CountedDrops:
    """The drops of a host, most frequent first.

    `spaces` is the number of network namespaces of the host. `separated` is true if `drops` has
    only drops in the login's namespace. `elsewhere` then counts the drops in other namespaces.
    """

    drops: tuple[Drop, ...]
    spaces: int
    separated: bool
    elsewhere: int = 0


def command(seconds: float, *, separate: bool = False) -> Command:
    """Return the command that counts drops until it is stopped, for at most `seconds`."""
    words = ("1" if separate else "", f"{seconds:g}", _BY_BPFTRACE, _OF_RX_SK)
    argv = ("sh", "-c", _AS_ROOT, "sh", _SCRIPT, *words)
    return Command(argv, deadline=seconds + 10)


def probe() -> tuple[str, ...]:
    """Return the arguments of a command that prints how a host can count drops, or fails."""
    return ("sh", "-c", _AS_ROOT, "sh", f"{_FIND}echo $ways spaces=$spaces", "")


def begun(stderr: str) -> bool:
    """Return True once the command has printed that it counts every drop."""
    return BEGUN in stderr


def read(completed: Completed) -> CountedDrops | None:
    """Parse the output of `command`; None if it counted nothing."""
    text = completed.stdout
    about = dict(re.findall(r"^(spaces|here|by) (\S{1,20})$", text, re.MULTILINE))
    names = {int(number): name for number, name in _NAME.findall(text)}
    if "by" not in about:
        return None
    spaces, here = int(about.get("spaces", 1)), int(about.get("here", 0))

    def drop(reason: str, place: str, count: str, namespace: int | None = None) -> Drop:
        place = place.partition("+")[0]
        name = names.get(int(reason), f"REASON_{reason}")
        return Drop(IMPLIED.get((name, place), name), place, int(count), namespace)

    if about["by"] == "histogram":
        if "# event histogram" not in text:
            return None
        counts = [drop(r, place, count) for r, place, count in _HIST.findall(text)]
        return CountedDrops(_added(counts), spaces, separated=spaces == 1)
    counts = [drop(reason, place, count, int(space) or None)
             for reason, place, space, count in _BPFTRACE.findall(text)]  # fmt: skip
    own = [each for each in counts if each.namespace == here]
    others = sum(each.count for each in counts if each.namespace != here)
    return CountedDrops(_added(own), spaces, separated=True, elsewhere=others)


def together(hosts: Sequence[CountedDrops]) -> CountedDrops:
    counts = [drop for host in hosts for drop in host.drops]
    return CountedDrops(
        _added(counts),
        max(host.spaces for host in hosts),
        all(host.separated for host in hosts),
        sum(host.elsewhere for host in hosts),
    )


def figures(counted: CountedDrops) -> dict[str, Scalar]:
    """Return the columns of an end. Drops for a reason in NO_LOSS do not count."""
    lost = [drop for drop in counted.drops if drop.reason not in NO_LOSS]
    values: dict[str, Scalar] = {"dropped": sum(drop.count for drop in lost)}
    for drop in lost:
        name = f"dropped_{drop.reason.lower()}"
        values[name] = int(values.get(name) or 0) + drop.count
    if lost:
        where = "; ".join(f"{drop.reason} at {drop.place}: {drop.count}" for drop in lost[:PLACES])
        values["dropped_where"] = where if counted.separated else f"{where} ({ALL_NAMESPACES})"
    return values


def _added(counts: list[Drop]) -> tuple[Drop, ...]:
    """Add up drops with the same reason, place and namespace; sort the most frequent first."""
    sums: dict[tuple[str, str, int | None], int] = {}
    for each in counts:
        key = each.reason, each.place, each.namespace
        sums[key] = sums.get(key, 0) + each.count
    drops = [Drop(reason, place, count, space) for (reason, place, space), count in sums.items()]
    return tuple(sorted(drops, key=lambda each: -each.count))
