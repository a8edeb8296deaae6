"""Whether a state that was written down may be put back: by the rules of what may be set.

A journal may come from somebody else, and a note from a host that is not ours alone. So what they
hold is not only of the right shape: its names and values are held to the setting's own schema, to
the grammar of what `ip`, `tc` and `ethtool` are told, and to what `settings:` refuses to set.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from netlimits.model import decoding
from netlimits.settings import SETTINGS, State, link, route, sysctl
from netlimits.settings.qdisc.kinds import parameters, returns
from netlimits.units.cpus import CPU_LIST

MOST = 2**32
_FEATURE = re.compile(r"(on|off)( \[fixed\])?( \[requested (on|off)\])?")
_HANDLE = re.compile(r"[0-9a-f]{1,8}:")
_WORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9:./_-]*|-?[0-9]+")
_TARGET = re.compile(
    r"(?:(?:unicast|unreachable|prohibit|blackhole|throw) )?(?:default|[0-9a-fA-F:.]+(?:/[0-9]+)?)"
)
_ELSEWHERE = {"dev", "oif", "nexthop", "encap", "nhid"}
"""Words that would lead a route over another interface, or somewhere that is not read."""
_NEIGHBOUR = re.compile(
    r"[0-9a-fA-F:.]+( lladdr [0-9a-f:]+)?( (router|proxy|extern_learn|managed))*"
)
_CONF = re.compile(r"(conf|neigh)/[A-Za-z0-9_]+")


def fault(name: str, state: State, *, ours: bool = True) -> str:
    """Why a state of a setting is not put back, in words; "" when it may be.

    `ours` says that a netlimits of this user wrote it down: then what a change of the MTU resets
    in the kernel (an interface's own forwarding, say) may be put back, which nobody may ask for.
    """
    try:
        reason = next(iter(_FAULTS[name](state)), "")
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError):
        return f"what is written down is no state of {name}"
    if not reason and name == "mtu" and not ours:
        moving = [n for n in state["ipv6"]["conf"] if sysctl.MOVES_MORE.search(f".{_leaf(n)}")]
        strange = [n for n in moving if _leaf(n) != "mtu"]
        reason = f"net/ipv6/{strange[0]} changes more than itself" if strange else ""
    return f"what is written down may not be set: {reason}" if reason else ""


def _leaf(name: str) -> str:
    return name.rpartition("/")[2]


def _sysctl(state: State) -> Iterator[str]:
    pattern = re.compile(_schema("sysctl")["additionalProperties"]["anyOf"][1]["pattern"])
    for name, value in state.items():
        if not sysctl.NAME.match(name):
            yield f"{name!r} is no sysctl under net."
        elif sysctl.MOVES_MORE.search(name):
            yield f"{name} changes more than itself"
        elif value != "" and not pattern.search(value):
            yield f"{name} cannot be {value[:80]!r}"


def _mtu(state: State) -> Iterator[str]:
    for name, mtu in (("", state["mtu"]), *state["others"].items()):
        if name and not decoding.interface(name):
            yield f"{name!r} is no interface"
        if not _is_number(mtu, 2**31):
            yield f"an MTU cannot be {mtu!r}"
    held = state["ipv6"]
    for address in held["addresses"]:
        if ipaddress.ip_address(address["local"]).version != 6:
            yield f"{address['local']} is no IPv6 address"
        if not _is_number(address["prefixlen"], 129) or not _is_number(address.get("metric", 0)):
            yield f"{address['local']} has no prefix"
        if not re.fullmatch("[a-z0-9]+", address["scope"]):
            yield f"{address['scope']!r} is no scope"
    yield from filter(None, map(_of_route, held["routes"]))
    for neighbour in held["neighbours"]:
        if not _NEIGHBOUR.fullmatch(neighbour):
            yield f"{neighbour[:80]!r} is no neighbour"
    for name, value in held["conf"].items():
        if not _CONF.fullmatch(name) or not re.fullmatch(r"[\w.,:/ \t-]*", value, re.ASCII):
            yield f"{name[:80]!r} is no sysctl of an interface"


def _of_route(words: str) -> str:
    """What is wrong with a route's own words."""
    plain = words.removeprefix("inet6 ")
    target = _TARGET.match(plain)
    rest = plain[target.end() :].split() if target else []
    strange = [w for w in rest if not _WORD.fullmatch(w) or w in _ELSEWHERE]
    if not target or strange or plain[target.end() :][:1].strip():
        return f"{words[:80]!r} is no route of the interface"
    return ""


def _route(state: State) -> Iterator[str]:
    for words, metrics in state["routes"].items():
        if "?" in metrics:  # one that is never touched
            continue
        yield from filter(None, [_of_route(words)])
        for name, value in metrics.items():
            if name not in route.METRICS or not re.fullmatch(
                r"(lock )?[A-Za-z0-9][A-Za-z0-9._-]*", value
            ):
                yield f"{name[:40]} {value[:40]!r} is no metric of a route"


def _offload(state: State) -> Iterator[str]:
    pattern = re.compile(_schema("offload")["propertyNames"]["pattern"])
    for name, value in state["features"].items():
        if not pattern.search(name) or not _FEATURE.fullmatch(value):
            yield f"{name[:40]!r}: {value[:40]!r} is no feature"
    if not decoding.has(list(state["groups"].values()), list[list[str]]):
        yield "its groups are none"


def _coalesce(state: State) -> Iterator[str]:
    known = _schema("coalesce")["properties"]
    for name, value in state.items():
        switch = "enum" in known.get(name, {})
        if name not in known or not (value in ("on", "off") if switch else _is_number(value)):
            yield f"{name[:40]} cannot be {str(value)[:40]!r}"


def _numbers(name: str) -> Callable[[State], Iterator[str]]:
    def fault_of(state: State) -> Iterator[str]:
        known = _schema(name)["properties"]
        for part, value in {**state["most"], **state["now"]}.items():
            if part not in known or not _is_number(value, 2**31):
                yield f"{part[:40]} cannot be {str(value)[:40]!r}"

    return fault_of


def _napi(state: State) -> Iterator[str]:
    known = _schema("napi")["properties"]
    for name, value in state.items():
        if name not in known or not _is_number(value, 2**63):
            yield f"{name[:40]} cannot be {str(value)[:40]!r}"


def _irq(state: State) -> Iterator[str]:
    pattern = re.compile(CPU_LIST["pattern"])
    for name, cpus in state.items():
        if not re.fullmatch("online|[0-9]{1,9}", name) or not pattern.search(cpus):
            yield f"interrupt {name[:40]!r} cannot be on CPUs {cpus[:40]!r}"


def _qdisc(state: State) -> Iterator[str]:
    if not re.fullmatch("[a-z][a-z0-9_]*", state["kind"]) or not _HANDLE.fullmatch(state["handle"]):
        yield f"{state['kind'][:40]!r} {state['handle'][:40]!r} is no qdisc"
    elif state["handle"] != "0:":
        ours = state["kind"] == "htb"  # of an earlier campaign: never given back, but recognized
        if not ours and (why := returns(state)):
            yield f"a {state['kind']} qdisc could not be put back: {why}"
        if strange := [w for w in parameters(state) if not re.fullmatch("[a-z0-9_.]+%?", w)]:
            yield f"{strange[0][:40]!r} is no parameter of {state['kind']}"


def _load(state: State) -> Iterator[str]:
    known = _schema("load")["properties"]
    each = state["workers_per_cpu"]
    if not _is_number(each, known["workers_per_cpu"]["maximum"] + 1):
        yield f"{each!r} workers for each CPU cannot be"
    elif each:
        if not _is_number(state["cpu_load"], 101) or not state["cpu_load"]:
            yield f"a load of {state['cpu_load']!r} % cannot be"
        if not re.search(known["method"]["pattern"], state["method"]):
            yield f"{state['method'][:40]!r} is no method"
        left = state["seconds_left"]
        if left > 0 and not _is_number(left, known["hours"]["maximum"] * 3600 + 1):
            yield f"{left!r} seconds cannot be left"


def _is_number(value: Any, below: int = MOST) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < below


def _schema(name: str) -> Mapping[str, Any]:
    return next(kind.schema for kind in SETTINGS if kind.name == name)


def _link(state: State) -> Iterator[str]:
    if state["autoneg"] not in ("on", "off") or state["duplex"] not in ("half", "full", ""):
        yield "its duplex or autonegotiation is none"
    if state["speed"] is not None and not _is_number(state["speed"], 2**31):
        yield f"a speed of {state['speed']!r} cannot be"
    for mode in (*state["supported"], *state["advertised"]):
        if not link.MODE.fullmatch(mode):
            yield f"{mode[:40]!r} is no link mode"


_FAULTS: Mapping[str, Callable[[State], Iterator[str]]] = {
    "sysctl": _sysctl,
    "channels": _numbers("channels"),
    "ring": _numbers("ring"),
    "coalesce": _coalesce,
    "irq": _irq,
    "mtu": _mtu,
    "offload": _offload,
    "napi": _napi,
    "qdisc": _qdisc,
    "route": _route,
    "load": _load,
    "link": _link,
}
"""Setting -> what in a state of it may not be put back; a test holds that none is missing."""
