"""Structures for the JSON of `ip -j addr` and `ip -j route`, with the fields that checks use."""

from __future__ import annotations

import msgspec


class IpLinkAddress(msgspec.Struct):
    local: str = ""
    scope: str = ""


class IpLinkKinds(msgspec.Struct, frozen=True):
    info_kind: str = ""
    info_slave_kind: str = ""


class IpLink(msgspec.Struct):
    ifname: str = ""
    master: str = ""
    linkinfo: IpLinkKinds = IpLinkKinds()
    flags: tuple[str, ...] = ("UP",)
    operstate: str = ""
    addr_info: tuple[IpLinkAddress, ...] = ()


class IpRouteMetrics(msgspec.Struct):
    mtu: int | None = None


class IpRoute(msgspec.Struct):
    dev: str = ""
    prefsrc: str = ""
    gateway: str = ""
    type: str = ""
    metrics: tuple[IpRouteMetrics, ...] = ()
