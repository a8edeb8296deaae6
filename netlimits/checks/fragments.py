"""Whether what the plan sends fits into the MTU that its runs will have.

A datagram that does not is fragmented: each fragment has headers of its own and one that is lost
takes all with it. A segment that does not is made smaller in silence.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator
from typing import Any

from netlimits.checks.base import Asked, Finding, Site
from netlimits.model import Command, Completed

UDP_HEADERS = {4: 28, 6: 48}
TCP_HEADERS = {4: 40, 6: 60}
"""Bytes of a packet that are neither data nor TCP options, by the version of IP."""


class Fragments:
    """From plan and facts alone, at the host that the clients run on."""

    name = "packet size"

    def commands(self, site: Site, role: str) -> tuple[Command, ...]:
        """None."""
        return ()

    def findings(
        self, site: Site, role: str, completed: tuple[Completed, ...]
    ) -> Iterator[Finding]:
        """Warnings for datagrams that will be fragmented, for segments that will be cut."""
        if role in site.experiment.ends["local"]:
            yield from self._datagrams(site, role)
            yield from self._segments(site, role)
        yield from self._unlike(site, role)

    def _datagrams(self, site: Site, role: str) -> Iterator[Finding]:
        large = [
            (size, mtu)
            for asked in site.asked
            if is_udp(asked) and (size := datagram(asked.options))
            if 0 < (mtu := wanted_mtu(site, asked, role)) < size + UDP_HEADERS[version(site, role)]
        ]
        if large:
            size, mtu = max(large)
            most = mtu - UDP_HEADERS[version(site, role)]
            yield Finding(
                role,
                self.name,
                "warning",
                f"datagrams of up to {size} bytes are fragmented at an MTU of {mtu}",
                f"send {most} bytes at most, or set an `mtu` that they fit into",
            )

    def _segments(self, site: Site, role: str) -> Iterator[Finding]:
        headers = TCP_HEADERS[version(site, role)]
        large = [
            (int(asked.options["mss"]), mtu)
            for asked in site.asked
            if not is_udp(asked) and "mss" in asked.options
            if 0 < (mtu := wanted_mtu(site, asked, role)) < int(asked.options["mss"]) + headers
        ]
        if large:
            mss, mtu = max(large)
            yield Finding(
                role,
                self.name,
                "error",
                f"an MSS of {mss} cannot be had at an MTU of {mtu}: such runs will be invalid",
                f"set an `mtu` of {mss + headers}, or ask for an MSS of {mtu - headers} at most",
            )

    def _unlike(self, site: Site, role: str) -> Iterator[Finding]:
        """Where the plan gives the other end a larger MTU than this one will have."""
        ends = [r for roles in site.experiment.ends.values() for r in roles if r in site.machines]
        for asked in site.asked:
            mine = wanted_mtu(site, asked, role)
            more = [r for r in ends if wanted_mtu(site, asked, r) > mine > 0]
            if role in ends and more and any(use.name == "mtu" for use in asked.settings):
                yield Finding(
                    role,
                    self.name,
                    "warning",
                    f"has an MTU of {mine} where {more[0]} has {wanted_mtu(site, asked, more[0])}",
                    f"name {role} among the `roles` of `mtu` too",
                )
                return


def is_udp(asked: Asked) -> bool:
    """Whether a configuration sends datagrams."""
    options = asked.options
    return options.get("protocol") == "udp" or str(options.get("test", "")).startswith("UDP")


def datagram(options: Any) -> int:
    """Bytes of the datagrams that are asked for by number, 0 where the tool chooses."""
    sizes = [options.get("send_size"), options.get("request_size"), options.get("response_size")]
    return max((size for size in sizes if type(size) is int), default=0)


def wanted_mtu(site: Site, asked: Asked, role: str) -> int:
    """The MTU that a role has during a configuration: asked for, or as it is now."""
    uses = [use.options for use in asked.settings if use.name == "mtu" and role in use.roles]
    return int(uses[-1]) if uses else site.mtu(role)


def version(site: Site, role: str) -> int:
    """The version of IP that a role's data address is of."""
    return ipaddress.ip_address(site.machines[role].address or "0.0.0.0").version  # noqa: S104
