"""Packet sizes of the plan: they must fit the MTU that its runs will have.

A datagram that does not fit is fragmented. Each fragment has its own headers, and the loss of one
fragment loses the datagram. The kernel silently reduces an MSS that does not fit.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Iterator, Mapping

from netlimits.checks._base import Answers, Check, Finding, Site
from netlimits.experiment import resolution
from netlimits.model import Family, Setup
from netlimits.tools import LARGEST_DATAGRAM, Transfer, tool

ETHERNET = 14
UDP_HEADERS = {4: 28, 6: 48}
TCP_HEADERS = {4: 40, 6: 60}
"""Version of IP -> bytes of the IP and TCP headers, without TCP options."""


class Fragments(Check):
    name = "packet size"

    def findings(self, site: Site, role: str, completed: Answers) -> Iterator[Finding]:
        if role in site.experiment.ends["local"]:
            yield from self._datagrams(site, role)
            yield from self._segments(site, role)
            yield from self._paced(site, role)
        yield from self._unlike(site, role)

    def _paced(self, site: Site, role: str) -> Iterator[Finding]:
        """Yield an error if `frame_rate` includes the headers of the wrong version of IP."""
        for requirement in site.requirements:
            pace, size = requirement.around.pace, transfer(requirement).datagram
            if pace and size:
                ip = version(site, requirement.around.family, role)
                headers, other = (ETHERNET + UDP_HEADERS[v] for v in (ip, 10 - ip))
                counted = size * (pace.frame_rate / pace.rate - 1)
                if abs(counted - other) < 1:
                    problem = (
                        f"counts {other} bytes of headers on each datagram, and over IPv{ip} there "
                        f"are {headers}"
                    )
                    yield self.error(
                        role,
                        _at(site, problem, "pace", "frame_rate"),
                        f"make it rate * (send_size + {headers}) / send_size",
                    )
                    return

    def _datagrams(self, site: Site, role: str) -> Iterator[Finding]:
        if large := _too_large(site, role, lambda s: transfer(s).datagram, UDP_HEADERS):
            size, mtu, headers, name = large
            largest = LARGEST_DATAGRAM + headers - UDP_HEADERS[4]
            most = min(mtu - headers, largest)
            if size > largest:
                problem = f"no datagram carries {size} bytes: such runs will fail"
                where = _at(site, problem, "measure", name, "send_size")
                yield self.error(role, where, f"send {most} bytes at most")
                return
            problem = f"datagrams of up to {size} bytes are fragmented at an MTU of {mtu}"
            yield self.warning(
                role,
                _at(site, problem, "measure", name, "send_size"),
                f"send {most} bytes at most, or set an `mtu` that they fit into",
            )

    def _segments(self, site: Site, role: str) -> Iterator[Finding]:
        if large := _too_large(site, role, _mss, TCP_HEADERS):
            mss, mtu, headers, name = large
            problem = f"an MSS of {mss} does not fit an MTU of {mtu}: such runs will be invalid"
            yield self.error(
                role,
                _at(site, problem, "measure", name, "mss"),
                f"set an `mtu` of {mss + headers}, or ask for an MSS of {mtu - headers} at most",
            )

    def _unlike(self, site: Site, role: str) -> Iterator[Finding]:
        """Yield a warning if the plan's MTUs make this host's smaller than the other end's."""
        ends = [r for roles in site.experiment.ends.values() for r in roles if r in site.machines]
        for requirement in site.requirements:
            mine = wanted_mtu(site, requirement, role)
            more = [r for r in ends if wanted_mtu(site, requirement, r) > mine > 0]
            uses = [use for use in requirement.settings if use.name == "mtu"]
            if role in ends and more and uses:
                other = wanted_mtu(site, requirement, more[0])
                named = {each for use in uses for each in use.roles}
                other_role = role if role not in named else more[0]
                problem = f"{role} has an MTU of {mine} where {more[0]} has {other}"
                yield self.warning(
                    role,
                    _at(site, problem, "settings", uses[-1].entry, "mtu"),
                    f"name {other_role} among the `roles` of `mtu` too",
                )
                return


def _mss(requirement: Setup) -> int:
    tcp = transfer(requirement).transport == "tcp"
    return int(requirement.options.get("mss", 0)) if tcp else 0


def _too_large(
    site: Site, role: str, of: Callable[[Setup], int], headers: Mapping[int, int]
) -> tuple[int, int, int, str] | None:
    """Return (size, MTU, header bytes, tool) of the largest size that does not fit its MTU.

    Return None if all sizes fit.
    """
    large = [
        (size, mtu, more, requirement.tool)
        for requirement in site.requirements
        if (size := of(requirement))
        for more in [headers[version(site, requirement.around.family, role)]]
        if 0 < (mtu := wanted_mtu(site, requirement, role)) < size + more
    ]
    return max(large, default=None)


def _at(site: Site, problem: str, *key: str | int) -> str:
    return str(resolution.source(site.experiment).error(problem, *key))


def transfer(requirement: Setup) -> Transfer:
    return tool(requirement.tool).transfer(requirement.options)


def wanted_mtu(site: Site, requirement: Setup, role: str) -> int:
    """Return the MTU that a setup sets on a role; the present MTU if it sets none."""
    uses = [use.options for use in requirement.settings if use.name == "mtu" and role in use.roles]
    return int(uses[-1]) if uses else site.mtu(role)


def version(site: Site, family: Family | None, role: str) -> int:
    """Return the version of IP that carries the data, 4 or 6."""
    if family:
        return 6 if family == "ipv6" else 4
    address = site.machines[role].address
    return ipaddress.ip_address(address or "0.0.0.0").version  # noqa: S104
