"""A reading of a host's network state, parsed into leaves."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple, TypedDict

from netlimits.model import Completed, decoding, sysctl_tree


class Leaf(NamedTuple):
    """The identity of one value: its kind in words, its interface ("" if none) and its name."""

    kind: str
    interface: str
    name: str


@dataclass(frozen=True, slots=True)
class NetworkState:
    """A reading: section -> leaf -> value, for sections that were read completely.

    `boot` is the boot id, `interfaces` the number of interfaces.
    """

    boot: str = ""
    interfaces: int = 0
    sections: Mapping[str, Mapping[Leaf, str]] = field(default_factory=dict)

    @property
    def leaves(self) -> dict[Leaf, str]:
        return {leaf: v for leaves in self.sections.values() for leaf, v in leaves.items()}


class _Saved(TypedDict):
    boot: str
    interfaces: int
    sections: dict[str, list[tuple[str, str, str, str]]]


def saved(state: NetworkState) -> dict[str, Any]:
    return {
        "boot": state.boot,
        "interfaces": state.interfaces,
        "sections": {
            name: [[*leaf, value] for leaf, value in leaves.items()]
            for name, leaves in state.sections.items()
        },
    }


def loaded(data: bytes | str) -> NetworkState:
    """Parse a reading that `saved` wrote as JSON. Raises ValueError for any other text."""
    read = decoding.typed(data, _Saved)
    sections = {
        name: {Leaf(*place): value for *place, value in rows}
        for name, rows in read["sections"].items()
    }
    return NetworkState(read["boot"], read["interfaces"], sections)


INTERFACE = "interface"
"""Kind of the leaf that stands for a whole interface."""


def parsed(answers: Iterable[Completed], interface: str) -> NetworkState:
    """Parse the output of `script.read`; leave out sections that cannot be parsed."""
    boot, interfaces = "", 0
    sections: dict[str, dict[Leaf, str]] = {}
    sysctls, *others = (answer.stdout for answer in answers)
    for words, lines in _split(f"@sysctl {interface}\n{sysctls}" + "".join(others)):
        name, rest = words[0], words[1:]
        if name == "boot":
            boot = rest[0] if rest else ""
            continue
        try:
            if name == "links":
                interfaces = int(rest[0])
            leaves = dict(_PARSERS[name](lines, *rest))
        except (ValueError, KeyError, TypeError, IndexError, AttributeError):
            continue
        section = "tc" if name in ("class", "filter") else name
        sections.setdefault(section, {}).update(leaves)
    return NetworkState(boot, interfaces, sections)


def _split(printed: str) -> Iterator[tuple[list[str], list[str]]]:
    """Yield (heading, lines) of each section except the last one, which may be cut off."""
    words: list[str] = []
    lines: list[str] = []
    for line in printed.splitlines():
        if line.startswith("@"):
            if words:
                yield words, lines
            words, lines = line[1:].split(), []
        else:
            lines.append(line)


# -- links and addresses -------------------------------------------------------------------------


class _Link(TypedDict):
    ifname: str


_FLAGS = {"UP", "NOARP", "MULTICAST", "BROADCAST", "MASTER", "SLAVE"}
_PASSING_OF_LINKS = re.compile(
    r"ifindex|ifname|flags|addr_info|operstate|promiscuity|allmulti|qdisc|link_netnsid|link_index|"
    r"(.*\.)?(.*_timer|state|root_.*|designated_.*|topology_change.*|tcn.*|ad_.*|partner_.*|"
    r"mii_status|active_slave|link_failure_count|fdb_n_learned|config_pending|perm_hwaddr)"
)
"""Keys of `ip -d -j addr` that are not settings, or that change without a user's action."""

_PASSING_OF_ADDRESSES = {
    "family", "local", "prefixlen", "valid_life_time", "preferred_life_time", "tentative",
    "dadfailed", "optimistic", "stable-privacy", "label",
}  # fmt: skip
_FOREVER = 2**32 - 1


def _links(lines: Iterable[str], *_: str) -> Iterator[tuple[Leaf, str]]:
    (line,) = filter(None, lines)
    links = [link for link in decoding.parsed(line) if link]
    if not decoding.has(links, list[_Link]):
        raise ValueError("no interfaces")
    for link in links:
        name = link["ifname"]
        yield Leaf(INTERFACE, name, ""), ""
        yield Leaf("link", name, "flags"), " ".join(sorted({*link["flags"]} & _FLAGS))
        for key, value in _flat(link):
            if not _PASSING_OF_LINKS.fullmatch(key):
                yield Leaf("link", name, key), value
        for address in link.get("addr_info", ()):
            if address.get("dynamic") or address.get("valid_life_time", _FOREVER) != _FOREVER:
                continue
            rest = {k: v for k, v in address.items() if k not in _PASSING_OF_ADDRESSES}
            place = f"{address['local']}/{address['prefixlen']}"
            yield Leaf("address", name, place), " ".join(f"{k} {v}" for k, v in rest.items())


def _flat(value: Any, before: str = "") -> Iterator[tuple[str, str]]:
    """Yield (path of keys, value) for each leaf of nested JSON; a list is one leaf."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _flat(inner, f"{before}.{key}" if before else str(key))
    elif isinstance(value, list):
        yield before, " ".join(map(str, value))
    else:
        yield before, str(value)


# -- ethtool, sysctls and queues -------------------------------------------------------------------


_HEADING = re.compile(r"(?:(Features)|(\w+) parameters) for (\S+):")
_RSS = re.compile(r"RX flow hash indirection table for (\S+) with")


def _ethtool(lines: Iterable[str]) -> Iterator[tuple[Leaf, str]]:
    kind, interface, part = "", "", ""
    rss: list[str] = []
    for line in lines:
        if heading := _HEADING.fullmatch(line.strip()):
            kind, interface, part = (heading[1] or heading[2]).lower(), heading[3], ""
        elif heading := _RSS.match(line):
            kind, interface = "", heading[1]
            rss = [interface]
        elif rss:
            rss.append(line)
        elif line.endswith(":") and kind != "features":
            part = "maximum " if "maximum" in line else ""
        elif kind and ":" in line:
            name, _, value = line.strip().partition(":")
            value = re.sub(r" \[(fixed|not requested)\]", "", value.strip())
            yield Leaf(kind, interface, part + name), " ".join(value.split())
    if len(rss) > 1:
        yield Leaf("RSS table and key", rss[0], ""), _digest("\n".join(rss))


_SECRET = re.compile(r"\.(tcp_fastopen_key|stable_secret)$")
_OF_INTERFACE = re.compile(r"net\.\w+\.(?:conf|neigh)\.(?P<interface>.+)\.\w+")


def _sysctl(lines: list[str], interface: str) -> Iterator[tuple[Leaf, str]]:
    place = f"/sys/class/net/{interface}/"
    for line in lines:
        if line.startswith(place):
            path, _, value = line.removeprefix(place).partition(":")
            yield Leaf("queue setting", interface, path), value
    for name, value in sysctl_tree.values("\n".join(lines)).items():
        if sysctl_tree.PASSING.match(name):
            continue
        match = _OF_INTERFACE.fullmatch(name)
        device = match["interface"].replace("/", ".") if match else ""
        if device in ("all", "default"):
            device = ""
        yield Leaf("sysctl", device, name), _digest(value) if _SECRET.search(name) else value


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


# -- tc ------------------------------------------------------------------------------------------


_PASSING_OF_TC = re.compile(
    r" (refcnt|direct_packets_stat|seed) \S+| (not_)?in_hw( in_hw_count \d+)?\b"
)


_FROM_INTERFACE = re.compile(r" (limit|quantum|initial_quantum) \S+")
"""Parameters of a default qdisc (handle 0:) that the kernel derives from the interface.

Nobody can change them. A new default qdisc gets them from the present MTU and queue length.
"""


def _tc(lines: Iterable[str]) -> Iterator[tuple[Leaf, str]]:
    entries: list[str] = []
    for line in lines:
        if line.startswith("qdisc "):
            entries.append(line)
        elif entries:  # a size table, which belongs to the qdisc above
            entries[-1] += f" {line.strip()}"
    for line in entries:
        words = line.split()
        text = _without(_PASSING_OF_TC, line)
        if words[2] == "0:":
            text = _without(_FROM_INTERFACE, text)
        yield Leaf("qdisc", words[words.index("dev") + 1], text[len("qdisc ") :]), ""


def _of_tc(
    kind: str, lines: Iterable[str], interface: str, *place: str
) -> Iterator[tuple[Leaf, str]]:
    entry = ""
    for line in lines:
        if not line.startswith((" ", "\t")) and entry:
            yield Leaf(kind, interface, f"{' '.join(place)} {entry}"), ""
            entry = ""
        entry = f"{entry} {_without(_PASSING_OF_TC, line)}".strip()
    if entry:
        yield Leaf(kind, interface, f"{' '.join(place)} {entry}"), ""


# -- routes, rules, neighbours -------------------------------------------------------------------


_PASSING_OF_ROUTES = re.compile(r" (linkdown|dead|offload|offload_failed|trap|rt_trap)\b")
_FADING = re.compile(r" (expires \d+sec|proto (ra|redirect))\b")
_OF_ADDRESSES = {"local", "broadcast", "anycast"}
"""Types of routes that the kernel adds for an address, some after duplicate address detection."""

_TYPES = re.compile(
    r"(unicast|local|broadcast|multicast|anycast|throw|unreachable|prohibit|blackhole|nat|xresolve)"
)


def _ip(family: str, lines: Iterable[str]) -> Iterator[tuple[Leaf, str]]:
    for line in lines:
        first, _, rest = line.strip().partition(" ")
        text = _without(_PASSING_OF_ROUTES, line)
        device = re.search(r" dev (\S+)", line)
        interface = device[1] if device else ""
        if not first or _FADING.search(line):
            continue
        if line.startswith("token "):
            if not line.startswith("token :: "):
                yield Leaf("token", interface, ""), rest.split()[0]
        elif re.match(r"\d+:", line):
            yield Leaf(f"{family} rule", "", text), ""
        elif first == "id":
            yield Leaf(f"{family} nexthop", interface, text), ""
        elif first in _OF_ADDRESSES and " proto kernel " in text:
            continue
        elif _TYPES.fullmatch(first):
            yield Leaf(f"{family} route", interface, text.removeprefix("unicast ")), ""
        else:
            yield Leaf(f"{family} neighbour", interface, text), ""


def _without(passing: re.Pattern[str], line: str) -> str:
    """Remove the parts of a line that match, and separate the other words by single spaces."""
    return " ".join(passing.sub("", line).replace("\\", " ").split())


_PARSERS: Mapping[str, Any] = {
    "links": _links,
    "ethtool": _ethtool,
    "tc": _tc,
    "class": partial(_of_tc, "class"),
    "filter": partial(_of_tc, "filter"),
    "sysctl": _sysctl,
    "ipv4": partial(_ip, "IPv4"),
    "ipv4-data": partial(_ip, "IPv4"),
    "ipv6": partial(_ip, "IPv6"),
    "ipv6-data": partial(_ip, "IPv6"),
}
