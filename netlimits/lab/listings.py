"""What `ip -j` lists, as far as a lab needs it."""

from __future__ import annotations

from typing import TypeVar

import msgspec

from netlimits.errors import LabError
from netlimits.model import decoding

Listing = TypeVar("Listing")


class ListedCount(msgspec.Struct):
    """Packets one way."""

    packets: int


class ListedCounters(msgspec.Struct):
    """What an interface counted."""

    rx: ListedCount
    tx: ListedCount


class ListedAddress(msgspec.Struct):
    """An address of an interface."""

    local: str


class ListedLink(msgspec.Struct):
    """An interface."""

    ifname: str
    mtu: int = 0
    stats64: ListedCounters | None = None
    addr_info: tuple[ListedAddress, ...] = ()


class ListedRoute(msgspec.Struct):
    """A route; of the default one `dst` is `default`."""

    dst: str = "default"


def links(printed: str) -> list[ListedLink]:
    """The interfaces that `ip -j link` or `ip -j address` lists. Raises LabError."""
    return _listed(printed, list[ListedLink])


def routes(printed: str) -> list[ListedRoute]:
    """The routes that `ip -j route` lists. Raises LabError."""
    return _listed(printed, list[ListedRoute])


def _listed(printed: str, kind: type[list[Listing]]) -> list[Listing]:
    try:
        return decoding.typed(printed or "[]", kind)
    except ValueError as error:
        raise LabError(f"what `ip -j` prints is not understood: {error}") from None
