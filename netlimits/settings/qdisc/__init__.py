"""The root qdisc of an interface, through `tc`.

What was found is put back with its parameters, or nothing is touched: a qdisc that the kernel
attached by itself (handle 0:) comes back when ours is deleted; one that somebody configured is
added again if `tc` shows all there is to it (`RETURNABLE`). Classes, filters and inner qdiscs of
others are not, and make the setting refuse. clsact and ingress stand beside the root and stay.

Ours is always made anew, since `tc qdisc replace` keeps what the new line does not name: an
fq stays at the last `maxrate`. `-r` shows tbf's limit and burst exactly (without it they are
rounded to µs), `-d` its mpu; classes have no JSON in iproute2 6.1.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, NotRequired, TypedDict

from netlimits.errors import SettingError
from netlimits.model import Command, Completed, decoding
from netlimits.settings._base import State
from netlimits.settings.qdisc.kinds import KINDS, SHAPES, SHOWN, parameters, returns
from netlimits.units import tc

_SCRIPT = (
    'tc -r -d -j qdisc show dev "$1" || exit 1; '
    'sed "s/^/default /" /proc/sys/net/core/default_qdisc 2>/dev/null; '
    'sed "s/^/mtu /" "/sys/class/net/$1/mtu" 2>/dev/null; '
    'tc class show dev "$1"; tc filter show dev "$1"'
)
_CLASS = re.compile(
    r"^htb (?P<id>[0-9a-f]+:[0-9a-f]+) root .*?\brate (?P<rate>\w+) ceil (?P<ceil>\w+) "
    r"burst (?P<burst>\w+) .*?\bcburst (?P<cburst>\w+)"
)
_OF_MTU = {"fq_codel": {"quantum": 1}, "fq": {"quantum": 2, "initial_quantum": 10}}
"""Parameters that the kernel gives a qdisc of its own, in frames of the MTU that it finds then."""

_HEADER = 14
"""Bytes of Ethernet's header, which belong to such a frame."""

_OURS = "6e6c:"  # "nl": a handle that nobody else gives, to tell ours from another's

_HANDLE = re.compile(r"[0-9a-f]{1,8}:")


class _Shown(TypedDict):
    """A qdisc, as `tc -j` shows it."""

    kind: str
    handle: str
    root: NotRequired[bool]
    options: NotRequired[Any]


class Qdisc:
    """`qdisc: {kind: tbf, rate: 1gbit, burst: 128kb, latency: 50ms}`."""

    name = "qdisc"
    schema: Mapping[str, Any] = {
        "type": "object",
        "title": "Root qdisc of the data interface",
        "description": "Kind and parameters, as in tc(8).",
        "required": ["kind"],
        "properties": {
            "kind": {"enum": list(KINDS), "description": "The qdisc."},
            **SHAPES,
        },
        "additionalProperties": False,
    }

    def read(self, interface: str, about: Any) -> Command:
        """`tc -r -d -j qdisc show`, the default qdisc, and `tc class` and `tc filter show`."""
        return Command(("sh", "-c", _SCRIPT, "sh", interface))

    def state(self, completed: Completed) -> State:
        """The root, its inner qdiscs' kinds, and what hangs on it.

        Shape: {"kind", "handle", "options": as tc shows them, "inner": ["kind handle", …],
        "within": their options,
        "default": the kernel's default kind or "", "mtu": the interface's or 0,
        "classes": […], "filters": […]}.
        """
        try:
            first, *lines = completed.stdout.splitlines()
            listed = decoding.typed(first, list[_Shown])
            qdiscs = [q for q in listed if q["kind"] not in ("clsact", "ingress")]
            (root,) = [q for q in qdiscs if q.get("root")]
            state: dict[str, Any] = {
                "kind": root["kind"],
                "handle": root["handle"],
                "options": root.get("options", {}),
                "inner": [f"{q['kind']} {q['handle']}" for q in qdiscs if not q.get("root")],
                "within": [q.get("options", {}) for q in qdiscs if not q.get("root")],
                "default": " ".join(_words(ln) for ln in lines if ln.startswith("default ")),
                "mtu": sum(int(_words(ln)) for ln in lines if ln.startswith("mtu ")),
                "classes": [_words(ln) for ln in lines if ln.startswith("class ")],
                "filters": [_words(ln) for ln in lines if ln.startswith("filter ")],
            }
            parameters(state)  # what tc shows is understood now, or not at all
            if state["kind"] in KINDS:
                KINDS[state["kind"]].values(state["options"])
            return state
        except (ValueError, KeyError, TypeError, AttributeError, ArithmeticError):
            reason = completed.stderr.strip() or f"exit status {completed.status}"
            raise SettingError(
                f"`tc qdisc show` shows no root qdisc: {reason}",
                setting=self.name,
                host=completed.host,
            ) from None

    def change(self, interface: str, state: State, wanted: Any) -> tuple[Command, ...]:
        """Our qdisc in place of the one there; SettingError when that one could not come back."""
        kind, values = _wish(wanted)
        if state and not self.unmet(state, wanted):
            return ()
        if state and (why := _cannot_return(state)):
            raise SettingError(
                f"the {state['kind']} qdisc on {interface} could not be put back: {why}; take it "
                "off yourself, or leave `qdisc` out for this host",
                setting=self.name,
            )
        return (*_clear(interface, state), *_add(interface, kind, values))

    def unmet(self, state: State, wanted: Any) -> tuple[str, ...]:
        """Each parameter that is not as asked for, up to what the kernel's clock rounds."""
        kind, values = _wish(wanted)
        if state["kind"] != kind:
            return (f"the root qdisc is {state['kind']}, not {kind}",)
        has = _class_values(state) if kind == "htb" else KINDS[kind].values(state["options"])
        return tuple(
            f"{name} of {kind} is {has.get(name, 'not set')}, not {value}"
            for name, value in values.items()
            if not KINDS[kind].same(name, has, values)
        )

    def undo(self, interface: str, original: State, state: State) -> tuple[Command, ...]:
        """Ours deleted, and the one that was configured added again under its handle."""
        if state and not self.differences(original, state):
            return ()
        if original["handle"] == "0:":
            return _anew(interface, state)
        words = ("tc", "qdisc", "add", "dev", interface, "root", "handle", original["handle"])
        again = Command((*words, original["kind"], *parameters(original)), sudo=True)
        return (*_clear(interface, state), again)

    def differences(self, original: State, state: State) -> tuple[str, ...]:
        """Kind, handle, each parameter, inner qdiscs with theirs, classes and filters.

        Of inner qdiscs which there are: how many is up to the number of channels. What the kernel
        gives a default qdisc by today's MTU is no difference: it comes back in no other way.
        """
        wrong = [
            f"{part} is {state[part]}, was {original[part]}"
            for part in ("kind", "handle", "inner", "classes", "filters")
            if (
                set(state[part]) != set(original[part])
                if part == "inner"
                else state[part] != original[part]
            )
        ]
        if wrong:
            return tuple(wrong)
        mtu = state.get("mtu", 0)
        root = f"{original['kind']} {original['handle']}"
        was, now = parameters(original), parameters(state)
        if was != now and not _is_default(root, original["options"], state["options"], mtu):
            return (f"{original['kind']} is {_line(now)}, was {_line(was)}",)
        before, after = original.get("within", []), state.get("within", [])
        pairs = zip(original["inner"], before, after, strict=False)  # older notes have none
        others = {
            f"{inner} has {_other(now, was)}": 0
            for inner, was, now in pairs
            if was != now and not _is_default(inner, was, now, mtu)
        }
        return tuple(others)

    def faults(self, state: State) -> Iterator[str]:
        """Qdiscs that could not be put back, and words that are no parameters."""
        kind, handle = state["kind"], state["handle"]
        if not re.fullmatch("[a-z][a-z0-9_]*", kind) or not _HANDLE.fullmatch(handle):
            yield f"{kind[:40]!r} {handle[:40]!r} is no qdisc"
        elif handle != "0:":
            # an htb is of an earlier campaign: never given back, but recognized
            if kind != "htb" and (why := returns(state)):
                yield f"a {kind} qdisc could not be put back: {why}"
            if strange := [w for w in parameters(state) if not re.fullmatch("[a-z0-9_.]+%?", w)]:
                yield f"{strange[0][:40]!r} is no parameter of {kind}"


def _is_default(name: str, was: Mapping[str, Any], now: Mapping[str, Any], mtu: int) -> bool:
    """Whether all that differs is what the kernel gives a qdisc of its own at that MTU."""
    kind, handle = name.split()[:2]
    frames = _OF_MTU.get(kind, {}) if handle == "0:" and mtu else {}
    return all(
        option in frames and now.get(option) == frames[option] * (mtu + _HEADER)
        for option in {**was, **now}
        if was.get(option) != now.get(option)
    )


def _words(line: str) -> str:
    return " ".join(line.split()[1:])


def _other(now: Mapping[str, Any], was: Mapping[str, Any]) -> str:
    """The options of an inner qdisc that are not as they were."""
    names = [name for name in {**was, **now} if was.get(name) != now.get(name)]
    return ", ".join(f"{name} {now.get(name)}, had {was.get(name)}" for name in names)


def _line(words: tuple[str, ...]) -> str:
    return " ".join(words) or "without parameters"


def _wish(wanted: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """Kind and parameters in plain units. Raises SettingError for a wrong combination."""
    kind = wanted["kind"]
    given = {name: value for name, value in wanted.items() if name != "kind"}
    if strange := sorted(given.keys() - KINDS[kind].units.keys()):
        takes = ", ".join(KINDS[kind].units) or "no parameters"
        raise SettingError(f"{kind} has no {', '.join(strange)}; it takes {takes}", setting="qdisc")
    try:
        return kind, KINDS[kind].wish(given)
    except ValueError as error:
        raise SettingError(f"{kind}: {error}", setting="qdisc") from None


def _cannot_return(state: State) -> str:
    """Why this qdisc could not be put back exactly; "" when it can, or when it is ours."""
    kind, default = state["kind"], state["default"]
    if _is_our_htb(state) or (kind in SHOWN and state["handle"] == _OURS):
        return ""
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
    return "" if state["handle"] == "0:" else returns(state)


def _is_our_htb(state: State) -> bool:
    """Whether it is an htb as `_add` makes it: one class, and nothing else."""
    return (
        state["kind"] == "htb"
        and state["handle"] == _OURS
        and [c.split()[1:2] for c in state["classes"]] == [[f"{_OURS}1"]]
        and not state["filters"]
        and not state["inner"]
    )


def _clear(interface: str, state: State) -> tuple[Command, ...]:
    """The command that leaves the kernel's default; none where it stands already."""
    if state and state["handle"] == "0:":
        return ()
    return (Command(("tc", "qdisc", "del", "dev", interface, "root"), sudo=True),)


def _anew(interface: str, state: State) -> tuple[Command, ...]:
    """The commands that make the kernel's default, also where one stands already.

    It takes its parameters from the interface when it is made: fq_codel's quantum from the MTU. So
    one that was made before the MTU was put back is another, until another qdisc went between.
    """
    between = Command(("tc", "qdisc", "replace", "dev", interface, "root", "pfifo"), sudo=True)
    clear = _clear(interface, state)
    return clear if clear and state else (between, *_clear(interface, {}))


def _add(interface: str, kind: str, values: Mapping[str, Any]) -> tuple[Command, ...]:
    root = ("tc", "qdisc", "add", "dev", interface, "root")
    if kind in SHOWN:
        words = KINDS[kind].words(values)
        return (Command((*root, "handle", _OURS, kind, *words), sudo=True),)
    if kind != "htb":
        return (Command((*root, kind, *KINDS[kind].words(values)), sudo=True),)
    # quantum shares between classes; with one class it only keeps the kernel from warning
    words = (*KINDS[kind].words(values), "quantum", "60000")
    htb_class = ("tc", "class", "add", "dev", interface, "parent", _OURS, "classid", f"{_OURS}1")
    return (
        Command((*root, "handle", _OURS, "htb", "default", "1"), sudo=True),
        Command((*htb_class, "htb", *words), sudo=True),
    )


def _class_values(state: State) -> dict[str, Any]:
    """Rates and bursts of our htb's one class; {} when there is another structure."""
    if not _is_our_htb(state) or not (match := _CLASS.match(state["classes"][0])):
        return {}
    try:
        return {
            "rate": tc.rate(match["rate"]),
            "ceil": tc.rate(match["ceil"]),
            "burst": tc.size(match["burst"]),
            "cburst": tc.size(match["cburst"]),
        }
    except ValueError:  # not as tc writes them
        return {}
