"""Whether what the plan sends fits into the MTU that its runs will have.

A datagram that does not is fragmented: each fragment has headers of its own and one that is lost
takes all with it. A segment that does not is made smaller in silence.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator
from typing import Any

from netlimits.checks._base import Finding, Requirement, Site
from netlimits.model import Command, Completed, Family

ETHERNET = 14
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
            yield from self._paced(site, role)
        yield from self._unlike(site, role)

    def _paced(self, site: Site, role: str) -> Iterator[Finding]:
        """A frame rate that counts headers of the other version of IP."""
        for asked in site.asked:
            pace, size = asked.around.pace, datagram(asked.options)
            if pace and size and is_udp(asked):
                ip = version(site, asked.around.family, role)
                headers, other = (ETHERNET + UDP_HEADERS[v] for v in (ip, 10 - ip))
                counted = size * (pace.frame_rate / pace.rate - 1)
                if abs(counted - other) < 1:
                    yield Finding(
                        role,
                        self.name,
                        "error",
                        f"`pace: frame_rate` counts {other} bytes of headers on each datagram, "
                        f"and over IPv{ip} there are {headers}",
                        f"make it rate * (send_size + {headers}) / send_size",
                    )
                    return

    def _datagrams(self, site: Site, role: str) -> Iterator[Finding]:
        large = [
            (size, mtu, headers)
            for asked in site.asked
            if is_udp(asked) and (size := datagram(asked.options))
            for headers in [UDP_HEADERS[version(site, asked.around.family, role)]]
            if 0 < (mtu := wanted_mtu(site, asked, role)) < size + headers
        ]
        if large:
            size, mtu, headers = max(large)
            most = mtu - headers
            yield Finding(
                role,
                self.name,
                "warning",
                f"datagrams of up to {size} bytes are fragmented at an MTU of {mtu}",
                f"send {most} bytes at most, or set an `mtu` that they fit into",
            )

    def _segments(self, site: Site, role: str) -> Iterator[Finding]:
        large = [
            (int(asked.options["mss"]), mtu, headers)
            for asked in site.asked
            if not is_udp(asked) and "mss" in asked.options
            for headers in [TCP_HEADERS[version(site, asked.around.family, role)]]
            if 0 < (mtu := wanted_mtu(site, asked, role)) < int(asked.options["mss"]) + headers
        ]
        if large:
            mss, mtu, headers = max(large)
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


def is_udp(asked: Requirement) -> bool:
    """Whether a configuration sends datagrams."""
    options = asked.options
    return options.get("protocol") == "udp" or str(options.get("test", "")).startswith("UDP")


def datagram(options: Any) -> int:
    """Bytes of the datagrams that are asked for by number, 0 where the tool chooses."""
    sizes = [options.get("send_size"), options.get("request_size"), options.get("response_size")]
    return max((size for size in sizes if type(size) is int), default=0)


def wanted_mtu(site: Site, asked: Requirement, role: str) -> int:
    """The MTU that a role has during a configuration: asked for, or as it is now."""
    uses = [use.options for use in asked.settings if use.name == "mtu" and role in use.roles]
    return int(uses[-1]) if uses else site.mtu(role)


def version(site: Site, family: Family | None, role: str) -> int:
    """The version of IP of a role's data address, or that of `family`."""
    address = site.machines[role].over(family).address
    return ipaddress.ip_address(address or "0.0.0.0").version  # noqa: S104
