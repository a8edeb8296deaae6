"""Qdiscs within a qdisc: the child of a shaper, htb's classes, and filters that select a class.

Our qdiscs have fixed handles: the root is `6e6c:`, and its descendants have the next numbers. An
htb without `classes` has a single class, which gets all packets. If `classes` are given, they are
children of this class.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from netlimits.model import Command
from netlimits.settings._schema import integer, options
from netlimits.settings.qdisc.kinds import KINDS, SHAPES, SHOWN
from netlimits.units import tc

ROOT = 0x6E6C
"""The handle of our root qdisc, "nl" in ASCII. The undo log alone decides if a qdisc is ours."""

OURS = f"{ROOT:x}:"

WITH_CHILD = ("tbf", "netem", "htb")

_ROOTS = ("mq", "noqueue", "htb")

KIND: Mapping[str, Any] = {"enum": list(KINDS), "description": "The qdisc."}
_FIRST_CLASS = 0x10

_FLOW = re.compile(r" \*?flowid (\S+)")
"""The class in a filter as tc prints it; an asterisk means that the kernel has bound it."""

QUANTUM = ("quantum", "60000")
"""htb's bytes per turn when classes share spare rate; a fixed value avoids a kernel warning."""

_MATCH: Mapping[str, Any] = options(
    {
        "port": integer(1, 65535, "Destination port."),
        "dscp": integer(0, 63, "DSCP; 46 is EF."),
    },
    description="Which packets belong to this class; a class without `match` gets all others.",
)


def _child(depth: int) -> dict[str, Any]:
    """Return the schema of a child, with children nested up to that depth."""
    deeper = {"child": _child(depth - 1)} if depth > 1 else {}
    return options(
        {
            "kind": KIND,
            **SHAPES,
            **deeper,
        },
        required=("kind",),
        description="The child qdisc of tbf, netem or an htb class, in which its packets wait.",
    )


CHILD = _child(2)
CLASSES: Mapping[str, Any] = {
    "type": "array",
    "description": "Classes of htb, which share its rate. A packet belongs to the first class "
    "that matches.",
    "minItems": 1,
    "maxItems": 16,
    "items": options(
        {
            **{name: SHAPES[name] for name in ("rate", "ceil", "burst", "cburst")},
            "prio": integer(0, 7, "Priority; classes with a lower number borrow first."),
            "match": _MATCH,
            "child": _child(1),
        },
        required=("rate", "burst"),
    ),
}
_OWN = ("kind", "child", "classes")
_OF_CLASS = ("prio", "match", "child")


@dataclass(frozen=True, slots=True)
class Node:
    """A qdisc that we set: its handle, parent, kind, and parameters in bytes, bit/s and µs."""

    handle: str
    parent: str
    kind: str
    values: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class HtbClass:
    """A class of htb: its number, its parent's number, its parameters, and what packets it gets."""

    number: str
    parent: str
    values: Mapping[str, Any]
    prio: int | None = None
    match: Mapping[str, int] = field(default_factory=dict)


@dataclass(slots=True)
class Tree:
    """The qdiscs and classes that an experiment sets, each after its parent."""

    nodes: list[Node] = field(default_factory=list)
    classes: list[HtbClass] = field(default_factory=list)

    @property
    def default(self) -> str:
        """The number of the class for packets without a match: the last one without `match`."""
        return [c.number for c in self.classes if not c.match][-1]


def tree(wanted: Mapping[str, Any]) -> Tree:
    target = Tree()
    _grow(target, wanted, "root")
    return target


def _grow(target: Tree, wanted: Mapping[str, Any], parent: str) -> None:
    kind = wanted["kind"]
    if parent != "root" and kind in _ROOTS:
        raise ValueError(f"{kind}: cannot be within another qdisc; make it the root")
    handle = f"{ROOT + len(target.nodes):x}:"
    given = {name: value for name, value in wanted.items() if name not in _OWN}
    target.nodes.append(Node(handle, parent, kind, _wish(kind, given)))
    if "classes" in wanted and kind != "htb":
        raise ValueError(f"{kind}: has no classes; htb has")
    if "child" in wanted and (kind not in WITH_CHILD or "classes" in wanted):
        holders = ", ".join(WITH_CHILD)
        within = "htb with classes" if kind in WITH_CHILD else kind
        raise ValueError(f"{within}: has no child; {holders} have, and each class of htb")
    if kind == "htb":
        _classes(target, wanted, handle)
    elif "child" in wanted:
        _grow(target, wanted["child"], f"{handle}1")


def _classes(target: Tree, wanted: Mapping[str, Any], handle: str) -> None:
    first = HtbClass(f"{handle}1", handle, target.nodes[0].values)
    target.classes.append(first)
    if "child" in wanted:
        _grow(target, wanted["child"], first.number)
    for number, part in enumerate(wanted.get("classes", ()), _FIRST_CLASS):
        name = f"{handle}{number:x}"
        given = {option: value for option, value in part.items() if option not in _OF_CLASS}
        values, match = _wish("htb", given), part.get("match", {})
        target.classes.append(HtbClass(name, first.number, values, part.get("prio"), match))
        if "child" in part:
            _grow(target, part["child"], name)
    if "classes" in wanted and all(part.get("match") for part in wanted["classes"]):
        raise ValueError("htb: give one class no `match`: it takes the packets of no other")


def _wish(kind: str, given: Mapping[str, Any]) -> dict[str, Any]:
    if strange := sorted(given.keys() - KINDS[kind].units.keys()):
        takes = ", ".join(KINDS[kind].units) or "no parameters"
        raise ValueError(f"{kind} has no {', '.join(strange)}; it takes {takes}")
    try:
        return KINDS[kind].wish(given)
    except ValueError as error:
        raise ValueError(f"{kind}: {error}") from None


def add(interface: str, target: Tree) -> tuple[Command, ...]:
    return tuple(
        Command(("tc", *words[:2], "dev", interface, *words[2:]), sudo=True)
        for words in _added(target)
    )


def _added(target: Tree) -> Iterator[tuple[str, ...]]:
    root, *others = target.nodes
    named = root.kind in SHOWN or root.kind == "htb" or others
    handle = ("handle", root.handle) if named else ()
    if root.kind == "htb":
        minor = target.default.partition(":")[2]
        yield ("qdisc", "add", "root", *handle, "htb", "default", minor)
    else:
        yield ("qdisc", "add", "root", *handle, root.kind, *KINDS[root.kind].words(root.values))
    for each in target.classes:
        prio = () if each.prio is None else ("prio", str(each.prio))
        words = (*KINDS["htb"].words(each.values), *prio, *QUANTUM)
        yield ("class", "add", "parent", each.parent, "classid", each.number, "htb", *words)
    for node in others:
        place = ("parent", node.parent, "handle", node.handle)
        yield ("qdisc", "add", *place, node.kind, *KINDS[node.kind].words(node.values))
    for priority, (flow, (protocol, keys, _)) in enumerate(_filters(target), 1):
        yield ("filter", "add", "parent", root.handle, "protocol", protocol, "prio", str(priority),
               "u32", *keys, "flowid", flow)  # fmt: skip


def unmet(state: Mapping[str, Any], target: Tree) -> Iterator[str]:
    present = dict(zip(state["inner"], state["within"], strict=True))
    ours = {name: options for name, options in present.items() if not name.endswith(" 0:")}
    wanted = {f"{node.kind} {node.handle}": node for node in target.nodes[1:]}
    yield from (f"there is a qdisc {name} within it" for name in ours.keys() - wanted.keys())
    for name, node in wanted.items():
        if name not in ours:
            yield f"there is no {node.kind} within it"
            continue
        has = KINDS[node.kind].values(ours[name])
        yield from differing(node.kind, has, node.values)
    filters = Counter((flow, shown) for flow, (_, _, shown) in _filters(target))
    shown = Counter(_shown_filters(state["filters"]))
    if shown != filters:
        yield f"{shown.total()} filters are there, not the {filters.total()} wanted"


def differing(kind: str, has: Mapping[str, Any], values: Mapping[str, Any]) -> Iterator[str]:
    """Yield a message for each parameter that differs by more than rounding."""
    for name, value in values.items():
        if not KINDS[kind].same(name, has, values):
            yield f"{name} of {kind} is {has.get(name, 'not set')}, not {value}"


def hidden(target: Tree) -> bool:
    """Return True if an inner qdisc has a parameter that tc does not show (netem's jitter)."""
    return any(node.kind == "netem" and node.values.get("jitter") for node in target.nodes[1:])


def _filters(target: Tree) -> Iterator[tuple[str, tuple[str, tuple[str, ...], str]]]:
    """Yield two filters, for IPv4 and for IPv6, for each class with `match`.

    A filter is (number of the class, (protocol, words of the u32 command, keys as tc shows them)).
    """
    for each in target.classes:
        if not each.match:
            continue
        for protocol, header, field_name, shift, length in (
            ("ip", "ip", "dsfield", 16, 20),
            ("ipv6", "ip6", "priority", 20, 40),
        ):
            keys: list[str] = []
            shown: list[str] = []
            if "port" in each.match:
                port = each.match["port"]
                keys += ["match", header, "dport", str(port), "0xffff"]
                shown.append(f"match {port:08x}/0000ffff at {length}")
            if "dscp" in each.match:
                value = each.match["dscp"] << 2
                keys += ["match", header, field_name, f"0x{value:02x}", "0xfc"]
                shown.append(f"match {value << shift:08x}/{0xFC << shift:08x} at 0")
            yield each.number, (protocol, tuple(keys), " ".join(sorted(shown)))


def _shown_filters(lines: list[str]) -> Iterator[tuple[str, str]]:
    for line in lines:
        if flow := _FLOW.search(line):
            keys = [f"match {part.strip()}" for part in line.split(" match ")[1:]]
            yield flow[1], " ".join(sorted(" ".join(key.split()[:4]) for key in keys))


def class_values(match: Mapping[str, str]) -> dict[str, Any]:
    """Return the rates in bit/s and bursts in bytes of a class that tc shows.

    Return {} if one of them cannot be parsed.
    """
    try:
        return {
            "rate": tc.rate(match["rate"]),
            "ceil": tc.rate(match["ceil"]),
            "burst": tc.size(match["burst"]),
            "cburst": tc.size(match["cburst"]),
        }
    except ValueError:
        return {}
