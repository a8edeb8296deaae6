"""The commands that restore single leaves of a network state that no setting restores."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping

from netlimits.errors import SettingError
from netlimits.evidence.network.comparison import Difference
from netlimits.model import Command
from netlimits.settings import setting
from netlimits.settings.sysctl import MOVES_MORE

MOST = 100
"""Maximum number of leaves to restore; settings do not have more side effects."""

_KINDS = ("link", "sysctl", "address", "token", "features")
_OF_LINKS = (
    *("mtu", "txqlen", "gso_max_size", "gso_max_segs", "gro_max_size"),
    *("gso_ipv4_max_size", "gro_ipv4_max_size"),
)
_OF_ADDRESSES = ("broadcast", "scope", "metric")
_FLAGS = ("nodad", "noprefixroute", "home", "mngtmpaddr", "autojoin")


def commands(differences: Iterable[Difference]) -> tuple[Command, ...]:
    """Return the commands that undo up to MOST differences, sorted by `_order`."""
    ordered = sorted([*differences][:MOST], key=_order)
    return tuple(command for difference in ordered for command in _undo(difference))


def _order(difference: Difference) -> tuple[int, bool]:
    """Return the sort key: added routes first, then `_KINDS` in order, then all other kinds."""
    kind, _, name = difference.leaf
    is_route = kind.endswith(" route")
    if is_route and difference.before is None:
        order = -1
    else:
        order = _KINDS.index(kind) if kind in _KINDS else len(_KINDS)
    return order, is_route and " via " in name  # a gateway needs the route of its link first


def _undo(difference: Difference) -> Iterator[Command]:
    kind, interface, name = difference.leaf
    before = difference.before
    if kind.endswith((" route", " neighbour")):
        family = kind.removeprefix("IPv")[0]
        yield from _UNDO[kind.split()[1]](family, name, before)
    elif kind == "sysctl" and before is not None and not MOVES_MORE.search(name):
        try:
            yield from setting("sysctl").undo("", {name: before}, {})
        except SettingError:  # the name of the interface contains a dot
            path = name.translate(str.maketrans("/.", "./"))
            yield _root("sysctl", "-w", f"{path}={before}")
    elif kind == "link" and before is not None and name in _OF_LINKS:
        word = {"txqlen": "txqueuelen"}.get(name, name)
        yield _root("ip", "link", "set", "dev", interface, word, before)
    elif kind == "features" and before is not None and interface:
        yield _root("ethtool", "-K", interface, name, before.split()[0])
    elif kind == "token" and before is not None:
        yield _root("ip", "token", "set", before, "dev", interface)
    elif kind == "address" and before is not None and difference.after is None:
        yield from _address(interface, name, before)


def _address(interface: str, place: str, about: str) -> Iterator[Command]:
    words = iter(about.split())
    argv = ["ip", "addr", "add", place, "dev", interface]
    for key, value in zip(words, words, strict=False):
        if key in _OF_ADDRESSES:
            argv += [key, value]
        elif key in _FLAGS:
            argv.append(key)
    yield _root(*argv)


def _route(family: str, text: str, before: str | None) -> Iterator[Command]:
    if " nhid " in text:
        return
    words = re.sub(r" error -?\d+", "", text.replace("rto_min lock ", "rto_min ")).split()
    # never use `replace`, which may remove another interface's route to the same destination
    verb = "del" if before is None else "append" if family == "6" else "add"
    yield _root("ip", f"-{family}", "route", verb, *words)


def _neighbour(family: str, text: str, before: str | None) -> Iterator[Command]:
    if before is None:
        return
    words = text.split()
    if "proxy" in words:
        interface = words[words.index("dev") + 1]
        yield _root("ip", f"-{family}", "neigh", "add", "proxy", words[0], "dev", interface)
    else:
        words = [word for word in words if word != "PERMANENT"]
        yield _root("ip", f"-{family}", "neigh", "replace", *words, "nud", "permanent")


_UNDO: Mapping[str, Callable[[str, str, str | None], Iterator[Command]]] = {
    "route": _route,
    "neighbour": _neighbour,
}


def _root(*argv: str) -> Command:
    return Command(argv, sudo=True, deadline=10)
