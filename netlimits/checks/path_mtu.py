"""The route to the other end: it must use the data interface and carry packets of its full MTU.

Before this check, the trial of each tool sent full-size packets with Don't Fragment set. If a
router reports that they are too large, the kernel stores the path's MTU. `ip route get` prints it.
The path's MTU may stay unknown if no trial runs, because another campaign is measuring.
"""

from __future__ import annotations

from collections.abc import Iterator

from netlimits.checks._base import Answers, Check, Finding, Severity, Site
from netlimits.checks._ip import IpRoute
from netlimits.checks.fragments import wanted_mtu
from netlimits.model import Command, Completed, decoding

KERNEL_REFUSED = 2
"""Exit status of `ip` if the kernel has no route. An `ip` without `route get` returns another."""


class PathMtu(Check):
    name = "path"

    def commands(self, site: Site, role: str) -> tuple[Command, ...]:
        mine = site.machines[role].address or ""
        return tuple(
            Command(("ip", "-j", "route", "get", address, "from", mine), deadline=10)
            for address in _others(site, role)
        )

    def findings(self, site: Site, role: str, completed: Answers) -> Iterator[Finding]:
        for address, answer in zip(_others(site, role), completed, strict=True):
            yield from self._route(site, role, address, answer)

    def _route(self, site: Site, role: str, address: str, answer: Completed) -> Iterator[Finding]:
        try:
            routes = decoding.typed(answer.stdout, list[IpRoute])
        except ValueError:
            routes = []
        if not routes or not routes[0].dev:
            why = answer.complaint or "`ip route get` shows none"
            advice = f"bring {site.interface(role)} up with an address of the same network"
            refused = answer.status == KERNEL_REFUSED
            severity: Severity = "error" if refused else "warning"
            yield Finding(role, self.name, severity, f"no route to {address}: {why}", advice)
            return
        device, interface = routes[0].dev, site.interface(role)
        if device == "lo" != interface:
            yield self.error(
                role,
                f"{address} is this machine's own: no packet to it passes {interface}, whose "
                "settings and counters are used",
                "bind the other end to another machine in the hosts file, or measure loopback on "
                "purpose with `--local`",
            )
        elif device != interface:
            yield Finding(
                role,
                self.name,
                # a sender's runs would all be invalid; a receiver sends only acknowledgements
                "error" if role in site.experiment.ends["local"] else "warning",
                f"packets to {address} leave through {device}, but settings and counters are of "
                f"{interface}",
                f"say `interface: {device}` in the hosts file, or route {address} through "
                f"{interface}",
            )
        mtus = [m.mtu for m in routes[0].metrics if m.mtu is not None]
        now = site.mtu(role)
        wanted = max((wanted_mtu(site, a, role) for a in site.requirements), default=now)
        if mtus and mtus[0] < max(now, wanted):
            yield self.warning(
                role,
                f"the path to {address} carries packets of {mtus[0]} bytes, {interface} has an MTU "
                f"of {max(now, wanted)}",
                "raise the MTU of what lies between, or ask for packets that fit",
            )
        elif now:
            more = f"; {wanted} bytes can be tried only once the MTU is set" if wanted > now else ""
            yield self.note(role, f"{now} bytes reach {address} in one packet{more}")


def _others(site: Site, role: str) -> list[str]:
    """Return the addresses of the hosts at the other end; empty if the role is not at an end."""
    ends = site.experiment.ends
    others = ends["remote"] if role in ends["local"] else ends["local"]
    if role not in ends["local"] and role not in ends["remote"]:
        return []
    addresses = (site.machines[r].address for r in others if r in site.machines)
    return [address for address in addresses if address]
