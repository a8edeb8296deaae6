"""Maximum sizes of the segments that TCP hands to the interface and that GRO builds (BIG TCP).

More than 64 KiB is possible for IPv6 since Linux 5.19, and for IPv4 since Linux and iproute2 6.3.
Writing a size of 64 KiB or less also sets the size for IPv4, so the IPv4 size is written last.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NotRequired, TypedDict

from netlimits.model import Command, Completed, decoding
from netlimits.settings._base import State, Traits
from netlimits.settings._schema import integer, options
from netlimits.settings._values import NamedValues, Values, differing

_WORDS = {
    "max": "gso_max_size",
    "gro_max": "gro_max_size",
    "ipv4_max": "gso_ipv4_max_size",
    "gro_ipv4_max": "gro_ipv4_max_size",
}
"""Option -> attribute of `ip link`, in the order of writing."""

_FOLLOWS = {"ipv4_max": "max", "gro_ipv4_max": "gro_max"}
"""Option for IPv4 -> option that may change it when it is written."""
_LEGACY = 65536
"""Largest size in bytes that also sets the IPv4 size (the kernel's GSO_LEGACY_MAX_SIZE)."""

_MOST = "tso_max_size"
_ABOUT = {
    "max": "Bytes of a segment that TCP hands to the interface (gso_max_size).",
    "gro_max": "Bytes of a segment that GRO builds (gro_max_size).",
    "ipv4_max": "Bytes of a segment over IPv4 (gso_ipv4_max_size).",
    "gro_ipv4_max": "Bytes of a segment that GRO builds over IPv4 (gro_ipv4_max_size).",
}


class _Link(TypedDict):
    gso_max_size: int
    gro_max_size: NotRequired[int]
    gso_ipv4_max_size: NotRequired[int]
    gro_ipv4_max_size: NotRequired[int]
    tso_max_size: NotRequired[int]


class Gso(NamedValues):
    """`gso: {max: 185000, gro_max: 185000}`."""

    name = "gso"
    traits = Traits(separate=True, tried=True, watched="partly", leaves=("link",))
    schema: Mapping[str, Any] = options(
        {name: integer(2000, 524280, about) for name, about in _ABOUT.items()},
        title="Largest segments of the data interface (BIG TCP)",
        description="As in ip link; the kernel's default is 65536 for all of them.",
    )

    def read(self, interface: str, about: Any) -> Command:
        return Command(("ip", "-d", "-j", "link", "show", "dev", interface))

    def state(self, completed: Completed) -> State:
        """Return {option: bytes} of the options that `ip` shows; "most" is the driver's limit."""
        try:
            (link,) = decoding.typed(completed.stdout, list[_Link])
        except ValueError:
            reason = completed.complaint or "`ip` shows no gso_max_size (iproute2 5.19 does)"
            raise self.error(
                f"cannot be read: {reason}; leave `gso` out for this host", completed
            ) from None
        shown: Mapping[str, Any] = link
        state = {name: shown[word] for name, word in _WORDS.items() if word in shown}
        return {**state, **({"most": shown[_MOST]} if _MOST in shown else {})}

    def values(self, state: State) -> Values:
        return {name: state[name] for name in _WORDS if name in state}

    def lacks(self, interface: str, state: State, name: str) -> str:
        return (
            f"the kernel or `ip` there has no {_WORDS[name]} (Linux and iproute2 6.3 do); "
            f"leave {name} out for this host"
        )

    def change(self, interface: str, state: State, wanted: Any) -> tuple[Command, ...]:
        for name, value in wanted.items():
            if not name.startswith("gro_") and value > state.get("most", value):
                raise self.error(
                    f"{interface} takes segments of at most {state['most']} bytes, not {value}"
                )
        return super().change(interface, state, wanted)

    def to_write(self, wanted: Values, now: Values) -> Values:
        """Return the sizes to write, including an IPv4 size that another write would change."""
        sizes, after = differing(wanted, now), {**now, **wanted}
        for name, other in _FOLLOWS.items():
            if sizes.get(other, _LEGACY + 1) <= _LEGACY and name in after:
                sizes[name] = after[name]
        return sizes

    def write(self, interface: str, values: Values) -> tuple[Command, ...]:
        return tuple(
            Command(("ip", "link", "set", "dev", interface, word, str(values[name])), sudo=True)
            for name, word in _WORDS.items()
            if name in values
        )
