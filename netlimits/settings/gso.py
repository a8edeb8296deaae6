"""How large a segment the kernel hands to the interface, and GRO builds of packets (BIG TCP).

Above 64 KiB only IPv6 had them first (`max`, `gro_max`: Linux 5.19), then IPv4 (`ipv4_max`,
`gro_ipv4_max`: Linux 6.3, iproute2 6.3). The driver has its own limit (`tso_max_size`). A size of
64 KiB or less also sets that of IPv4, so IPv4's is written last.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NotRequired, TypedDict

from netlimits.errors import SettingError
from netlimits.model import Command, Completed, decoding
from netlimits.settings import _values
from netlimits.settings._base import State
from netlimits.settings._values import is_number

_WORDS = {
    "max": "gso_max_size",
    "gro_max": "gro_max_size",
    "ipv4_max": "gso_ipv4_max_size",
    "gro_ipv4_max": "gro_ipv4_max_size",
}
"""Option -> the word of `ip link`, in the order in which they are written."""

_FOLLOWS = {"ipv4_max": "max", "gro_ipv4_max": "gro_max"}
_LEGACY = 65536
"""Bytes up to which the kernel sets IPv4's size too (GSO_LEGACY_MAX_SIZE)."""

_MOST = "tso_max_size"
_ABOUT = {
    "max": "Bytes of a segment that TCP hands to the interface (gso_max_size).",
    "gro_max": "Bytes of a segment that GRO builds (gro_max_size).",
    "ipv4_max": "Bytes of a segment over IPv4 (gso_ipv4_max_size).",
    "gro_ipv4_max": "Bytes of a segment that GRO builds over IPv4 (gro_ipv4_max_size).",
}


class _Link(TypedDict):
    """The keys of `ip -d -j link show` that are read."""

    gso_max_size: int
    gro_max_size: NotRequired[int]
    gso_ipv4_max_size: NotRequired[int]
    gro_ipv4_max_size: NotRequired[int]
    tso_max_size: NotRequired[int]


class Gso:
    """`gso: {max: 185000, gro_max: 185000}`."""

    name = "gso"
    schema: Mapping[str, Any] = {
        "type": "object",
        "title": "Largest segments of the data interface (BIG TCP)",
        "description": "As in ip link; 65536 is the kernel's own for all of them.",
        "minProperties": 1,
        "properties": {
            name: {"type": "integer", "minimum": 2000, "maximum": 524280, "description": about}
            for name, about in _ABOUT.items()
        },
        "additionalProperties": False,
    }

    def read(self, interface: str, about: Any) -> Command:
        return Command(("ip", "-d", "-j", "link", "show", "dev", interface))

    def state(self, completed: Completed) -> State:
        """Return {option: bytes} of what kernel and `ip` have, and "most": the driver's limit."""
        try:
            (link,) = decoding.typed(completed.stdout, list[_Link])
        except ValueError:
            reason = completed.complaint or "`ip` shows no gso_max_size (iproute2 5.19 does)"
            raise SettingError(
                f"cannot be read: {reason}; leave `gso` out for this host",
                setting=self.name,
                host=completed.host,
            ) from None
        shown: Mapping[str, Any] = link
        state = {name: shown[word] for name, word in _WORDS.items() if word in shown}
        return {**state, **({"most": shown[_MOST]} if _MOST in shown else {})}

    def change(self, interface: str, state: State, wanted: Any) -> tuple[Command, ...]:
        for name, value in wanted.items() if state else ():
            if name not in state:
                raise SettingError(
                    f"the kernel or `ip` there has no {_WORDS[name]} (Linux and iproute2 6.3 do); "
                    f"leave {name} out for this host",
                    setting=self.name,
                )
            if not name.startswith("gro_") and value > state.get("most", value):
                raise SettingError(
                    f"{interface} takes segments of at most {state['most']} bytes, not {value}",
                    setting=self.name,
                )
        return _write(interface, _values.differing(wanted, state), state, wanted)

    def unmet(self, state: State, wanted: Any) -> tuple[str, ...]:
        return _values.unmet(wanted, state)

    def undo(self, interface: str, original: State, state: State) -> tuple[Command, ...]:
        sizes = {name: original[name] for name in _WORDS if name in original}
        return _write(interface, _values.differing(sizes, state), state, sizes)

    def differences(self, original: State, state: State) -> tuple[str, ...]:
        return _values.differences({n: original[n] for n in _WORDS if n in original}, state)

    def faults(self, state: State) -> Iterator[str]:
        for name, value in state.items():
            if name not in (*_WORDS, "most") or not is_number(value):
                yield f"{name[:40]} cannot be {str(value)[:40]!r}"


def _write(
    interface: str, differing: Mapping[str, int], state: State, wanted: Mapping[str, int]
) -> tuple[Command, ...]:
    """Return a command for each size, with IPv4's if the other size changes it."""
    sizes = dict(differing)
    for name, other in _FOLLOWS.items():
        follows = differing.get(other, _LEGACY + 1) <= _LEGACY
        if follows and (name in wanted or name in state):
            sizes[name] = wanted[name] if name in wanted else state[name]
    return tuple(
        Command(("ip", "link", "set", "dev", interface, word, str(sizes[name])), sudo=True)
        for name, word in _WORDS.items()
        if name in sizes
    )
