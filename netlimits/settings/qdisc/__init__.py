"""The root qdisc of an interface, through `tc`.

The original qdisc is restored with its parameters. If that is impossible, the setting is an error
and nothing is changed. A qdisc that the kernel attached (handle 0:) comes back when our qdisc is
deleted. A qdisc that somebody configured is added again. This needs a kind and parameters that `tc`
shows completely (`kinds.RESTORABLE`, `kinds.SHOWN`). The qdisc must have no filters, and no inner
qdiscs that somebody configured. The qdiscs clsact and ingress are left alone. The classes of a
qdisc in `_FLOWS` are flows, and are not read.

Our qdisc is always created anew, since `tc qdisc replace` keeps parameters that the new command
omits. `tc -r` shows tbf's limit and burst exactly, `tc -d` its mpu and the size table (stab).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, NotRequired, TypedDict

from netlimits.errors import SettingError
from netlimits.model import Command, Completed, decoding
from netlimits.settings._base import Setting, State, Traits
from netlimits.settings._schema import options
from netlimits.settings.qdisc import children
from netlimits.settings.qdisc.children import CHILD, CLASSES, KIND, OURS, Tree
from netlimits.settings.qdisc.kinds import KINDS, SHAPES, SHOWN, parameters, unrestorable

_SCRIPT = (
    'tc -r -d -j qdisc show dev "$1" || exit 1; '
    'sed "s/^/default /" /proc/sys/net/core/default_qdisc 2>/dev/null; '
    'sed "s/^/mtu /" "/sys/class/net/$1/mtu" 2>/dev/null; '
    'sed "s/^/queue /" "/sys/class/net/$1/tx_queue_len" 2>/dev/null; '
    'tc class show dev "$1"; tc filter show dev "$1"; tc -V'
)
_CLASS = re.compile(
    r"^htb (?P<id>[0-9a-f]+:[0-9a-f]+) (?:root|parent \S+) (?:leaf \S+ )?(?:prio (?P<prio>\d+) )?"
    r"(?:.*? )?rate (?P<rate>\w+) ceil (?P<ceil>\w+) burst (?P<burst>\w+) .*?"
    r"\bcburst (?P<cburst>\w+)"
)
_VERSION = re.compile(r"tc utility, iproute2-(?P<major>\d+)\.(?P<minor>\d+)")

_NANOSECONDS = (6, 9)
"""First version of tc that reads and writes netem's delay in ns, not in whole µs and ticks."""

_FLOWS = ("fq_codel", "cake", "sfq")
"""Kinds whose classes are the flows that are queued at the moment."""

_HEADER = 14
"""Bytes of the Ethernet header, which the MTU does not count."""

_SHOWN = ("kind", "handle", "dev", "root", "refcnt", "options")
"""Keys that `tc -j` shows for every root qdisc. Other keys, such as stab, go into "beside"."""

_STAB = ("linklayer", "overhead", "mpu", "mtu", "tsize")

_HANDLE = re.compile(r"[0-9a-f]{1,8}:")


class _Shown(TypedDict):
    kind: str
    handle: str
    root: NotRequired[bool]
    options: NotRequired[Any]


class Qdisc(Setting):
    """`qdisc: {kind: tbf, rate: 1gbit, burst: 128kb, latency: 50ms}`."""

    name = "qdisc"
    traits = Traits(
        watched="partly",
        leaves=("qdisc", "class", "filter"),
        reset_by=("mtu", "channels"),
        changes_path=True,
    )
    schema: Mapping[str, Any] = options(
        {
            "kind": KIND,
            **SHAPES,
            "child": CHILD,
            "classes": CLASSES,
        },
        required=("kind",),
        title="Root qdisc of the data interface",
        examples=["{kind: fq_codel}"],
        description="Kind and parameters, as in tc(8). `netlimits plan --commands` prints the tc "
        "command.",
    )

    def read(self, interface: str, about: Any) -> Command:
        return Command(("sh", "-c", _SCRIPT, "sh", interface))

    def state(self, completed: Completed) -> State:
        """Return the root qdisc, its inner qdiscs, classes and filters, and what they depend on.

        "within" are the options of the "inner" qdiscs. "beside" is what tc shows of the root qdisc
        besides its options, such as its size table (stab). "default" is the host's default qdisc.
        "mtu" and "queue" are the interface's MTU and queue length. "nanoseconds" is True if tc
        accepts ns.
        """
        try:
            first, *lines = completed.stdout.splitlines()
            listed = decoding.typed(first, list[_Shown])
            qdiscs = [q for q in listed if q["kind"] not in ("clsact", "ingress")]
            (root,) = [q for q in qdiscs if q.get("root")]
            (raw_root,) = [q for q in decoding.parsed(first) if q.get("root")]
            state: dict[str, Any] = {
                "kind": root["kind"],
                "handle": root["handle"],
                "options": root.get("options", {}),
                "inner": [f"{q['kind']} {q['handle']}" for q in qdiscs if not q.get("root")],
                "within": [q.get("options", {}) for q in qdiscs if not q.get("root")],
                "beside": {key: value for key, value in raw_root.items() if key not in _SHOWN},
                "default": " ".join(_words(ln) for ln in lines if ln.startswith("default ")),
                "mtu": sum(int(_words(ln)) for ln in lines if ln.startswith("mtu ")),
                "queue": sum(int(_words(ln)) for ln in lines if ln.startswith("queue ")),
                "classes": [_words(ln) for ln in lines if _is_class(ln)],
                "filters": [*_filters(lines)],
                "nanoseconds": any(map(_has_nanoseconds, lines)),
            }
            parameters(state)  # fails now, not later, for output that cannot be parsed
            if state["kind"] in KINDS:
                KINDS[state["kind"]].values(state["options"])
            return state
        except (ValueError, LookupError, TypeError, AttributeError, ArithmeticError):
            reason = completed.complaint or f"exit status {completed.status}"
            if completed.stdout.startswith("[{"):
                reason = f"its output cannot be parsed: {completed.stdout.splitlines()[0][:200]}"
            raise self.error(f"`tc qdisc show` shows no root qdisc: {reason}", completed) from None

    def change(self, interface: str, state: State, wanted: Any) -> tuple[Command, ...]:
        """Return the commands that replace the qdisc; none if tc shows the wanted qdisc."""
        target = _wish(wanted)
        hidden = state and (_hides(state) or children.hidden(target))
        if state and not hidden and not self.unmet(state, wanted):
            return ()
        return (*_clear(interface, state), *children.add(interface, target))

    def check_found(self, interface: str, state: State) -> None:
        if why := _cannot_return(state):
            raise self.error(
                f"the {state['kind']} qdisc on {interface} could not be restored: {why}; remove "
                "it yourself, or leave `qdisc` out for this host"
            )

    def unmet(self, state: State, wanted: Any) -> tuple[str, ...]:
        """Return a message for each parameter that differs by more than the rounding of tc."""
        target = _wish(wanted)
        root = target.nodes[0]
        if state["kind"] != root.kind:
            return (f"the root qdisc is {state['kind']}, not {root.kind}",)
        if root.kind == "htb":
            of_root = _unmet_classes(state, target)
        else:
            has = KINDS[root.kind].values(state["options"])
            of_root = children.differing(root.kind, has, root.values)
        return (*of_root, *children.unmet(state, target))

    def undo(self, interface: str, original: State, state: State) -> tuple[Command, ...]:
        if state and not self.differences(original, state):
            return ()
        if original["handle"] == "0:":
            return _recreate_default(interface, state)
        root = ("tc", "qdisc", "add", "dev", interface, "root", "handle", original["handle"])
        words = (*_stab(original["beside"]), original["kind"], *parameters(original))
        add = Command((*root, *words), sudo=True)
        return (*_clear(interface, state), add)

    def differences(self, original: State, state: State) -> tuple[str, ...]:
        """Return a message for each part of the state that differs.

        Inner qdiscs are compared as a set, since the number of channels decides how many there are.
        A default qdisc may have the parameters that the kernel derives from the interface's present
        MTU and queue length.
        """
        wrong = [
            f"{part} is {state[part]}, was {original[part]}"
            for part in ("kind", "handle", "beside", "inner", "classes", "filters")
            if (
                set(state[part]) != set(original[part])
                if part == "inner"
                else state[part] != original[part]
            )
        ]
        if wrong:
            return tuple(wrong)
        root = f"{original['kind']} {original['handle']}"
        pairs = [
            (root, original["options"], state["options"]),
            *zip(original["inner"], original["within"], state["within"], strict=False),
        ]
        others = {
            f"{name} has {_other(now, was)}": 0
            for name, was, now in pairs
            if was != now and not _follows_interface(name, was, now, state)
        }
        return tuple(others)

    def faults(self, state: State) -> Iterator[str]:
        kind, handle = state["kind"], state["handle"]
        if not re.fullmatch("[a-z][a-z0-9_]*", kind) or not _HANDLE.fullmatch(handle):
            yield f"{kind[:40]!r} {handle[:40]!r} is no qdisc"
        elif handle != "0:":
            if why := _unrestorable_extras(state["beside"]) or unrestorable(state):
                yield f"a {kind} qdisc could not be restored: {why}"
            words = (*_stab(state["beside"]), *parameters(state))
            if strange := [w for w in words if not re.fullmatch("-?[a-z0-9_.]+%?", w)]:
                yield f"{strange[0][:40]!r} is no parameter of {kind}"


def _follows_interface(
    name: str, was: Mapping[str, Any], now: Mapping[str, Any], state: State
) -> bool:
    """Return True if each differing option has the value that a new default qdisc would have."""
    kind, handle = name.split()[:2]
    given = _of_interface(kind, state["mtu"], state["queue"]) if handle == "0:" else {}
    return all(
        option in given and now.get(option) == given[option]
        for option in {**was, **now}
        if was.get(option) != now.get(option)
    )


def _of_interface(kind: str, mtu: int, queue: int) -> Mapping[str, int]:
    """Return the parameters that a new default qdisc takes from its interface."""
    frame = mtu + _HEADER
    of_kind: Mapping[str, Mapping[str, int]] = {
        "fq_codel": {"quantum": frame},
        "fq": {"quantum": 2 * frame, "initial_quantum": 10 * frame},
        "sfq": {"quantum": frame},
        "pfifo": {"limit": queue},
        "bfifo": {"limit": queue * frame},
    }
    return of_kind.get(kind, {}) if mtu else {}


def _is_class(line: str) -> bool:
    return line.startswith("class ") and line.split()[1] not in _FLOWS


def _has_nanoseconds(line: str) -> bool:
    match = _VERSION.match(line)
    return match is not None and (int(match["major"]), int(match["minor"])) >= _NANOSECONDS


def _stab(extras: Mapping[str, Any]) -> Iterator[str]:
    """Yield the words of `tc` for the root qdisc's size table."""
    if "stab" in extras:
        yield "stab"
        for name, value in extras["stab"].items():
            yield from (name, str(value))


def _unrestorable_extras(extras: Mapping[str, Any]) -> str:
    """Return why what `Qdisc.state` calls "beside" could not be restored, or ""."""
    if strange := sorted(extras.keys() - {"stab"}):
        return f"netlimits does not restore its {', '.join(strange)}"
    stab = extras.get("stab", {})
    if stab.get("linklayer", "ethernet") not in ("ethernet", "atm"):
        return f"the linklayer of its size table is {stab['linklayer']}"
    if strange := sorted(stab.keys() - {*_STAB}):
        return f"netlimits does not restore {', '.join(strange)} of its size table"
    return ""


def _hides(state: State) -> bool:
    """Return True if tc does not show all parameters of the qdisc."""
    kind = state["kind"]
    return kind in SHOWN and bool(SHOWN[kind].lost(state["options"]))


def _words(line: str) -> str:
    return " ".join(line.split()[1:])


def _other(now: Mapping[str, Any], was: Mapping[str, Any]) -> str:
    names = [name for name in {**was, **now} if was.get(name) != now.get(name)]
    return ", ".join(f"{name} {now.get(name)}, had {was.get(name)}" for name in names)


def _wish(wanted: Mapping[str, Any]) -> Tree:
    try:
        return children.tree(wanted)
    except ValueError as error:
        raise SettingError(str(error), setting="qdisc") from None


def _cannot_return(state: State) -> str:
    """Return why this qdisc could not be restored exactly, or ""."""
    kind, default = state["kind"], state["default"]
    if kind == "noop":
        return "the link is down"
    if state["filters"]:
        return "it has filters"
    if any(not inner.endswith(" 0:") for inner in state["inner"]):
        return f"it has inner qdiscs of its own ({', '.join(state['inner'])})"
    kinds = {inner.split()[0] for inner in state["inner"]} - {"noqueue"}
    if state["handle"] == "0:":
        kinds |= {kind} - {"noqueue", "mq"}
    if default and kinds - {default}:
        return (
            f"{', '.join(sorted(kinds - {default}))} is from a time before "
            f"net.core.default_qdisc was {default}"
        )
    if state["handle"] == "0:":
        return ""
    return _unrestorable_extras(state["beside"]) or unrestorable(state)


def _clear(interface: str, state: State) -> tuple[Command, ...]:
    """Return the command that deletes the root qdisc; none if it is the kernel's default."""
    if state and state["handle"] == "0:":
        return ()
    return (Command(("tc", "qdisc", "del", "dev", interface, "root"), sudo=True),)


def _recreate_default(interface: str, state: State) -> tuple[Command, ...]:
    """Return the commands that make the kernel create its default qdisc again.

    An existing default qdisc is recreated too. It took its quantum from the MTU when it was
    created, perhaps before the MTU was restored.
    """
    between = Command(("tc", "qdisc", "replace", "dev", interface, "root", "pfifo"), sudo=True)
    clear = _clear(interface, state)
    return clear if clear and state else (between, *_clear(interface, {}))


def _unmet_classes(state: State, target: Tree) -> Iterator[str]:
    """Yield a message for each difference of htb's classes from the wanted classes.

    Classes of a tree that is not ours count as missing.
    """
    matches = [match for line in state["classes"] if (match := _CLASS.match(line))]
    ours = state["handle"] == OURS and not state["beside"]
    present = {match["id"]: match.groupdict() for match in matches if ours}
    surplus = len(matches) - len(target.classes)
    if surplus > 0:
        yield f"{surplus} more classes are there"
    for each in target.classes:
        shown = present.get(each.number, {})
        has = children.class_values(shown) if shown else {}
        yield from children.differing("htb", has, each.values)
        if each.prio is not None and shown.get("prio") != str(each.prio):
            yield f"prio of htb is {shown.get('prio')}, not {each.prio}"


def _filters(lines: list[str]) -> Iterator[str]:
    """Yield each filter with the lines of its keys, which follow it."""
    filters: list[str] = []
    for line in lines:
        if line.startswith("filter "):
            filters.append(_words(line))
        elif filters and line[:1].isspace():
            filters[-1] += f" {' '.join(line.split())}"
    yield from filters
