"""The JSON of `ip -j addr` and `ip -j route`, as far as checks read it."""

from __future__ import annotations

import msgspec


class IpLinkAddress(msgspec.Struct):
    """An address of an interface."""

    local: str = ""
    scope: str = ""


class IpLinkKinds(msgspec.Struct, frozen=True):
    """The kind of an interface, and its kind as a port of its master (`ip -d`)."""

    info_kind: str = ""
    info_slave_kind: str = ""


class IpLink(msgspec.Struct):
    """An interface; of one that `up` filters out ip prints an empty object."""

    ifname: str = ""
    master: str = ""
    linkinfo: IpLinkKinds = IpLinkKinds()
    flags: tuple[str, ...] = ("UP",)
    operstate: str = ""
    addr_info: tuple[IpLinkAddress, ...] = ()


class IpRouteMetrics(msgspec.Struct):
    """The metrics of a route."""

    mtu: int | None = None


class IpRoute(msgspec.Struct):
    """A route."""

    dev: str = ""
    prefsrc: str = ""
    gateway: str = ""
    type: str = ""
    metrics: tuple[IpRouteMetrics, ...] = ()
