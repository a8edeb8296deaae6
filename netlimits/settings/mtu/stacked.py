"""Find the interfaces stacked on an interface, in this and in other network namespaces.

Other namespaces are searched before an MTU is lowered; the search needs root. A login without root
sees only two signs. One sign is that another network namespace exists. The other is an unknown
interface in the all-hosts multicast group of an interface of this namespace.
"""

from __future__ import annotations

import graphlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

LOOK = r"""look=$(cat <<'END'
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
"""Script that prints what other network namespaces have stacked on interfaces of this namespace.

A line `away NAME BELOW MTU KIND PATH` is such an interface; BELOW is the index of the interface in
this namespace. A line `unseen NUMBER` is a network namespace that exists but was not found.

Without root, or if the search takes over 10 s, the script prints lines `members` with the size of
each interface's all-hosts multicast group. The members of this group are the interface itself and
each interface on it that is up.
"""


class _Kind(msgspec.Struct, frozen=True):
    info_kind: str = ""


class StackedLink(msgspec.Struct):
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


_UPON = ("vlan", "macvlan", "macvtap", "ipvlan", "ipvtap", "hsr", "macsec")
"""Kinds of interfaces that are stacked on another one, and also join multicast groups on it."""
FOLLOW = ("ipvlan", "ipvtap")
"""Kinds whose MTU the kernel always keeps equal to the MTU of the interface below them."""


def order(links: Mapping[str, StackedLink], interface: str) -> list[str]:
    """Return an interface and all interfaces stacked on it, lower ones first."""
    below: dict[str, set[str]] = {interface: set()}
    names = [interface]
    for name in names:
        for upper in _upon(links, name, interface):
            if upper not in below:
                below[upper] = set()
                names.append(upper)
            below[upper].add(name)
    return [*graphlib.TopologicalSorter(below).static_order()]


def _upon(links: Mapping[str, StackedLink], name: str, interface: str) -> Iterator[str]:
    """Yield the interfaces directly on `name`, without the other end of a veth pair."""
    for other in links.values():
        if other.link == name and links[name].link != other.ifname:
            yield other.ifname
        if name == interface and other.master == name:
            yield other.ifname
    master = links[name].master
    if master and master in links and master != interface:
        yield master


def in_other_namespaces(lines: Iterable[str], indexes: set[int]) -> Iterator[dict[str, Any]]:
    """Yield the interfaces in lines `away` that are stacked on an interface in `indexes`."""
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


def hidden(
    lines: Iterable[str], links: Mapping[str, StackedLink], stack: list[str], own: StackedLink
) -> Iterator[str]:
    """Yield the interfaces whose all-hosts group has members that no visible interface explains."""
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


def unseen(lines: Iterable[str], links: Iterable[StackedLink]) -> list[int]:
    """Return the namespaces in lines `unseen`, except those where a link has its other end."""
    numbers = {int(line.split()[1]) for line in lines if line.startswith("unseen ")}
    return sorted(numbers - {link.link_netnsid for link in links})
