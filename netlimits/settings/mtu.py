"""The MTU of an interface, through `ip link`, and everything that changes with it.

The kernel lowers VLANs and macvlans on the interface with it, and what is stacked on those; all
stay small when it grows again. A bridge follows its ports until somebody sets its MTU, so that is
not done. IPv6 leaves the interface below 1280 (see `_ipv6`). All of that is read and restored.

Interfaces in other network namespaces are lowered as well: they are searched before (`_stacked`),
and an MTU that would lower one is refused.

Below some 90 bytes the kernel keeps a locked path MTU for each peer, which outlives the change by
ten minutes. No such entry can be deleted alone, so the cache is flushed.
"""

from __future__ import annotations

import graphlib
import ipaddress
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from netlimits.model import Command, Completed, decoding
from netlimits.settings import _ipv6, _routes
from netlimits.settings._base import Setting, State
from netlimits.settings._values import is_number

_SCRIPT = (
    f"{_routes.SHOW}"
    'ip -d -j link show dev "$1" || exit 1; ip -j link show; '
    "for path in /sys/class/net/*/bridge; do "
    '[ ! -d "$path" ] || { path=${path%/bridge}; echo "bridge ${path##*/}"; }; done; '
    'ip -4 -o route show cache 2>/dev/null | sed -n "s/ dev $1 .* mtu lock / lock /p" '
    '| sed "s/^/exception /"; '
    '[ "$2" -ge "$(cat "/sys/class/net/$1/mtu")" ] || sh -c "$3" "look into namespaces"; '
    f"{_ipv6.READ} true"
)
_NAMESPACES = r"""look=$(cat <<'END'
for each in awk find lsns nsenter xargs; do command -v "$each" || exit 1; done >/dev/null
own=$(stat -L -c %i /proc/self/ns/net)
spaces() {  # inode and path of each network namespace that a thread, a file or a mount keeps
    printf '%s\0' /run/netns/* /proc/[0-9]*/task/*/ns/net | xargs -0 stat -L -c '%i %n'
    find /proc/[0-9]*/fd -lname 'net:\[*' -exec stat -L -c '%i %n' {} +
    stat -L -c '%i %n' /proc/[0-9]*/ns/mnt | sort -u -k1,1 |
        sed 's|.* \(.*\)/ns/mnt$|\1/mountinfo|' |
        xargs grep -H ' net:\[' |
        sed -n 's|^\(/proc/[0-9]*\)/mountinfo:.* net:.\([0-9]*\). \([^ ]*\) .*|\2 \1/root\3|p'
}
spaces 2>/dev/null | sort -u -k1,1 |
while read -r inode path; do
    [ "$inode" = "$own" ] || { echo "in $path"; nsenter --net="$path" ip -d -o link show; }
done | awk '
    $1 == "in" { path = $2; next }
    $2 !~ /@if[0-9]+:$/ { next }
    {
        kind = how = ""
        for (i = 3; i < NF; i++) {
            word = $(i + 1)
            if ($i == "mtu") mtu = word
            if ($i == "link-netns" || $i == "link-netnsid") { how = $i; of = word }
            upon = word ~ /^(vlan|macvlan|macvtap|ipvlan|ipvtap|hsr|macsec)$/
            if ($i ~ /\\$/ && upon) kind = word
        }
        if (how == "" || kind == "") next
        split($2, names, "@if")
        print names[1], names[2] + 0, mtu, how, of, kind, path
    }' |
while read -r name below mtu how of kind path; do
    if [ "$how" = link-netnsid ]; then
        id=$(nsenter --net="$path" lsns -n -t net -o NS,NETNSID | sed -n "s/^ *$own  *//p")
        [ "${id:-$of}" = "$of" ] || continue
    else
        [ "$(stat -L -c %i "/run/netns/$of")" = "$own" ] || continue
    fi
    echo "away $name $below $mtu $kind $path"
done
unseen() {
    ip netns list-id | sed -n 's/^nsid \([0-9]*\) *$/\1/p' | while read -r id; do
        printf '%s\n' $found | grep -qx "$id" || echo "unseen $id"
    done
}
looks=0
for attempt in $(seq 50); do  # lsns prints nothing if a process ends while it reads it
    found=$(lsns -n -t net -o NETNSID)
    unseen=
    [ -z "$found" ] || { unseen=$(unseen) && looks=$((looks + 1)); }
    [ -z "$found" ] || [ -n "$unseen" ] || break
    [ "$looks" -lt 5 ] || break
    sleep 0.1
done
[ -n "$found" ] || unseen=$(unseen)
[ -z "$unseen" ] || echo "$unseen"
END
)
root=
if [ "$(id -u)" != 0 ]; then
    root="sudo -n --"
    sudo -n -l timeout 10 sh -c : >/dev/null || root=false
fi 2>/dev/null
$root timeout 10 sh -c "$look" 2>/dev/null || {
    grep ' 01005e000001$' /proc/net/dev_mcast | sed 's/^/members /'
}"""
"""Print the interfaces in other network namespaces that are stacked on one of this namespace.

Also print as `unseen` the number of each network namespace that this one knows, but that is not
found. Without root, or if that takes too long, none is found; then print how many have joined the
group of all hosts on each interface: the interface itself, and each that is up on it. A login
without root does not see one that is down.
"""
_FORGET = Command(("sysctl", "-w", "net.ipv4.route.flush=1"), sudo=True)
_FLUSH = r"""! ip -4 -o route show cache | grep -q -- " dev $1 .* mtu lock " || {
    root=
    [ "$(id -u)" = 0 ] || root="sudo -n --"
    $root sysctl -w net.ipv4.route.flush=1
}"""
"""Flush the cache if needed, for an unknown state."""


class _Kind(msgspec.Struct, frozen=True):
    """The kind of an interface; a NIC has none."""

    info_kind: str = ""


class _Link(msgspec.Struct):
    """An interface in `ip -d -j`."""

    ifname: str
    mtu: int
    ifindex: int = 0
    min_mtu: int = 0
    max_mtu: int = 0
    flags: tuple[str, ...] = ()
    link: str | None = None
    link_netnsid: int | None = None
    master: str | None = None
    linkinfo: _Kind = _Kind()


_NEIGHBOUR = re.compile(
    r"[0-9a-fA-F:.]+( lladdr [0-9a-f:]+)?( (router|proxy|extern_learn|managed))*"
)
_UPON = ("vlan", "macvlan", "macvtap", "ipvlan", "ipvtap", "hsr", "macsec")
"""Kinds stacked on another interface: they join multicast groups there too, and count twice."""
_FOLLOW = ("ipvlan", "ipvtap")
"""Kinds whose MTU the kernel keeps equal to that of the interface below, both ways."""
_CONF = re.compile(r"(conf|neigh)/[A-Za-z0-9_]+")


class Mtu(Setting):
    """`mtu: 8896`."""

    name = "mtu"
    schema: Mapping[str, Any] = {
        "type": "integer",
        "title": "MTU of the data interface",
        "description": "Bytes. The driver has its maximum. Below 1280 Linux takes IPv6 off the "
        "interface until it is restored at the end of the campaign.",
        "minimum": 68,
        "maximum": 2**31 - 1,
    }

    def read(self, interface: str, about: Any) -> Command:
        """Return a script that looks into other namespaces if `about` is a smaller MTU."""
        wanted = 2**31 if isinstance(about, Mapping) else about  # a mapping is an original state
        return Command(("sh", "-c", _SCRIPT, "sh", interface, str(wanted), _NAMESPACES))

    def state(self, completed: Completed) -> State:
        """Return the MTU, and all that changes with it.

        "others" are stacked on this interface, lowest first; "away" are in other network
        namespaces; on the "hidden" ones the login may not see all; "unseen" are numbers of
        namespaces that may have some; "exceptions" are peers with a locked path MTU.
        """
        try:
            first, second, *lines = completed.stdout.splitlines()
            (link,) = decoding.typed(first, list[_Link])
            links = {other.ifname: other for other in decoding.typed(second, list[_Link])}
            stack = [links[name] for name in _stacked(links, link.ifname)]
            bridges = {line.split()[1] for line in lines if line.startswith("bridge ")}
            return {
                "mtu": link.mtu,
                "least": link.min_mtu,
                "most": link.max_mtu,
                "others": {other.ifname: other.mtu for other in stack[1:]},
                "bridges": [each.ifname for each in stack if each.ifname in bridges],
                "away": [*_away(lines, {each.ifindex for each in stack})],
                "hidden": [*_hidden(lines, links, [each.ifname for each in stack], link)],
                "unseen": _unseen(lines, links.values()),
                "exceptions": sorted(
                    line.split()[1] for line in lines if line.startswith("exception ")
                ),
                "ipv6": _ipv6.state(lines, link.ifname),
            }
        except (ValueError, LookupError, TypeError, AttributeError):
            raise self.unreadable(completed, "`ip link show` shows no MTU") from None

    def change(self, interface: str, state: State, wanted: Any) -> tuple[Command, ...]:
        if state and state["mtu"] == wanted:
            return ()
        if state:
            self._check(interface, state, wanted)
        return (_set(interface, wanted),)

    def _check(self, interface: str, state: State, wanted: int) -> None:
        least, most = state["least"], state["most"]
        if most and wanted > most:
            raise self.error(
                f"{interface} takes an MTU of at most {most}, not {wanted}; ask for {most} or less"
            )
        if wanted < least:
            raise self.error(
                f"{interface} takes an MTU of at least {least}, not {wanted}; ask for {least} or "
                "more"
            )
        if interface in state["bridges"]:
            raise self.error(
                f"{interface} is a bridge, which would never again follow the MTU of its ports "
                "once its own MTU was set; set the MTU of its ports, or leave `mtu` out"
            )
        if moving := _ipv6.cannot_move(state["ipv6"]):
            raise self.error(
                f"an MTU of {wanted} would move the mtu of {interface}'s IPv6 routes to "
                f"{', '.join(moving)}, which could not be restored; delete them or lock their mtu "
                "first, or leave `mtu` out"
            )
        if wanted < state["mtu"]:
            self._check_namespaces(interface, state, wanted)
        if wanted >= _ipv6.LEAST_MTU or state["mtu"] < _ipv6.LEAST_MTU:
            return
        lost = [*_ipv6.cannot_return(state["ipv6"])]
        lost += [f"IPv6 of {other}" for other in state["others"]] if state["ipv6"]["conf"] else []
        if lost:
            raise self.error(
                f"an MTU of {wanted}, below {_ipv6.LEAST_MTU}, takes IPv6 off {interface}, and "
                f"this could not be restored: {', '.join(lost)}; use {_ipv6.LEAST_MTU} or more, "
                "or remove IPv6 from it first"
            )

    def _check_namespaces(self, interface: str, state: State, wanted: int) -> None:
        """Raise SettingError if interfaces of other network namespaces would be lowered."""
        lowered = [
            f"{away['name']} in {away['where']}"
            for away in state["away"]
            if away["mtu"] > wanted
            and not (away["kind"] in _FOLLOW and away["mtu"] == state["mtu"])
        ]
        if lowered:
            raise self.error(
                f"an MTU of {wanted} would lower that of {', '.join(lowered)}, on {interface}, "
                "which could not be restored; remove it first, or do not lower the MTU"
            )
        if state["hidden"]:
            raise self.error(
                f"an interface that this login does not see, in another network namespace, lies on "
                f"{', '.join(state['hidden'])}, and an MTU of {wanted} could lower its own; log in "
                "as root, or remove it first"
            )

        if state["unseen"]:
            raise self.error(
                f"a network namespace that this login does not see (nsid "
                f"{', '.join(map(str, state['unseen']))} of `ip netns list-id`) may have an "
                f"interface on {interface}, and an MTU of {wanted} would lower its own; log in as "
                "root, or end that namespace first"
            )

    def unmet(self, state: State, wanted: Any) -> tuple[str, ...]:
        return () if state["mtu"] == wanted else (f"it is {state['mtu']}, not {wanted}",)

    def undo(self, interface: str, original: State, state: State) -> tuple[Command, ...]:
        commands = []
        if not state or state["mtu"] != original["mtu"]:
            commands.append(_set(interface, original["mtu"]))
        now = state["others"] if state else {}
        for other, mtu in original["others"].items():
            if other not in original["bridges"] and (not state or now.get(other, mtu) != mtu):
                commands.append(_set(other, mtu))
        if state and not commands:  # else they follow by themselves
            for bridge in original["bridges"]:
                mtu = original["others"].get(bridge, 0)
                if now.get(bridge, mtu) != mtu:
                    commands.append(_set(bridge, mtu))
        commands += _ipv6.undo(interface, original["ipv6"], state["ipv6"] if state else {})
        if not state:
            script = ("sh", "-c", _FLUSH, "forget path MTUs", interface)
            commands.append(Command(script, by_hand=(_FORGET,)))
        elif _new_exceptions(original, state):
            commands.append(_FORGET)
        return tuple(commands)

    def differences(self, original: State, state: State) -> tuple[str, ...]:
        numbers = [("MTU", original["mtu"], state["mtu"])]
        numbers += [
            (f"MTU of {other}", mtu, state["others"].get(other, mtu))
            for other, mtu in original["others"].items()
        ]
        wrong = [f"{what} is {now}, was {was}" for what, was, now in numbers if now != was]
        wrong += [
            f"the path to {peer} has a locked MTU, which it had not"
            for peer in _new_exceptions(original, state)
        ]
        return (*wrong, *_ipv6.differences(original["ipv6"], state["ipv6"]))

    def faults(self, state: State) -> Iterator[str]:
        for name, mtu in (("", state["mtu"]), *state["others"].items()):
            if name and not decoding.interface(name):
                yield f"{name!r} is no interface"
            if not is_number(mtu, 2**31):
                yield f"{mtu!r} is no MTU"
        held = state["ipv6"]
        for address in held["addresses"]:
            if ipaddress.ip_address(address["local"]).version != 6:
                yield f"{address['local']} is no IPv6 address"
            if not is_number(address["prefixlen"], 129) or not is_number(address.get("metric", 0)):
                yield f"{address['local']} has no prefix"
            if not re.fullmatch("[a-z0-9]+", address["scope"]):
                yield f"{address['scope']!r} is no scope"
        yield from _routes.faults(held)
        for proxy in held["proxies"]:
            address, _, rest = proxy.partition(" ")
            if ipaddress.ip_address(address).version != 6 or rest not in ("", "router"):
                yield f"{proxy[:80]!r} is no proxy neighbour"
        for neighbour in held["neighbours"]:
            if not _NEIGHBOUR.fullmatch(neighbour):
                yield f"{neighbour[:80]!r} is no neighbour"
        for name, value in held["conf"].items():
            if not _CONF.fullmatch(name) or not re.fullmatch(r"[\w.,:/ \t-]*", value, re.ASCII):
                yield f"{name[:80]!r} is no sysctl of an interface"


def _stacked(links: Mapping[str, _Link], interface: str) -> list[str]:
    """Return an interface and all that are stacked on it, the lower ones first."""
    below: dict[str, set[str]] = {interface: set()}
    names = [interface]
    for name in names:
        for upper in _upon(links, name, interface):
            if upper not in below:
                below[upper] = set()
                names.append(upper)
            below[upper].add(name)
    return [*graphlib.TopologicalSorter(below).static_order()]


def _upon(links: Mapping[str, _Link], name: str, interface: str) -> Iterator[str]:
    """Yield the interfaces directly on one; the other end of a veth pair is not."""
    for other in links.values():
        if other.link == name and links[name].link != other.ifname:
            yield other.ifname
        if name == interface and other.master == name:
            yield other.ifname
    master = links[name].master
    if master and master in links and master != interface:
        yield master


def _away(lines: Iterable[str], indexes: set[int]) -> Iterator[dict[str, Any]]:
    for line in lines:
        if not line.startswith("away "):
            continue
        _, name, below, mtu, kind, path = line.split()
        if int(below) in indexes:
            space = path.split("/")
            of_process = space[1] == "proc" and space[3] != "root"
            where = f"of process {space[2]}" if of_process else space[-1]
            where = f"the network namespace {where}"
            yield {"name": name, "mtu": int(mtu), "kind": kind, "where": where}


def _hidden(
    lines: Iterable[str], links: Mapping[str, _Link], stack: list[str], own: _Link
) -> Iterator[str]:
    """Yield the interfaces whose group of all hosts has more members than are visible."""
    for line in lines:
        if not line.startswith("members "):
            continue
        name, count = line.split()[2:4]
        if name not in stack:
            continue
        link = links[name]
        known = 1 + (link.master is not None)
        known += sum(other.master == name for other in links.values())
        known += link.link is not None if name != own.ifname else own.linkinfo.info_kind in _UPON
        known += sum(other.link == name and "UP" in other.flags for other in links.values())
        if int(count) > known:
            yield name


def _unseen(lines: Iterable[str], links: Iterable[_Link]) -> list[int]:
    """Return the namespaces that were not looked into, except those of the links' other ends."""
    numbers = {int(line.split()[1]) for line in lines if line.startswith("unseen ")}
    return sorted(numbers - {link.link_netnsid for link in links})


def _new_exceptions(original: State, state: State) -> list[str]:
    own = original.get("exceptions", ())
    return [peer for peer in state.get("exceptions", ()) if peer not in own]


def _set(interface: str, mtu: int) -> Command:
    return Command(("ip", "link", "set", "dev", interface, "mtu", str(mtu)), sudo=True)
