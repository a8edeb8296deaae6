"""The data interface: it must be up, have a carrier and its address, and use full duplex.

If the interface is in a VRF, the login must be in this VRF too.
"""

from __future__ import annotations

from collections.abc import Iterator

from netlimits.checks._base import Answers, Check, Finding, Site
from netlimits.checks._ip import IpLink
from netlimits.model import Command, Completed, decoding


class Links(Check):
    name = "link"

    def commands(self, site: Site, role: str) -> tuple[Command, ...]:
        login = Command(("cat", "/proc/self/cgroup"), deadline=10)
        return Command(("ip", "-d", "-j", "addr", "show"), deadline=10), login

    def findings(self, site: Site, role: str, completed: Answers) -> Iterator[Finding]:
        interface, address = site.interface(role), site.machines[role].address
        links = _links(completed[0])
        link = links.get(interface)
        if link is None:
            yield self.warning(role, f"`ip addr` does not show {interface}")
            return
        down = _down(link)
        if down:
            yield self.error(role, f"{interface} {down[0]}", down[1])
        if (vrf := _vrf(link)) and f"/vrf/{vrf}\n" not in completed[1].stdout:
            yield self.error(
                role,
                f"{interface} is in the VRF {vrf}, but the login and the programs that it starts "
                "are not",
                f"have sshd run in it (`ip vrf exec {vrf} sshd`), or name another interface",
            )
        if not (down and interface == "lo"):  # lo gets its addresses when it is brought up
            yield from self._address(role, interface, address, links)
        yield from self._settings(site, role, interface, is_down=bool(down))

    def _address(
        self, role: str, interface: str, address: str | None, links: dict[str, IpLink]
    ) -> Iterator[Finding]:
        owners = [name for name, link in links.items() if address in _addresses(link)]
        if not owners:
            yield self.error(
                role,
                f"no interface has the address {address}",
                "correct `address:` in the hosts file, or add the address to the host",
            )
        elif interface not in owners:
            yield self.error(
                role,
                f"{address} is on {owners[0]}, but settings and counters are of {interface}",
                f"say `interface: {owners[0]}` in the hosts file, or leave `interface` out",
            )

    def _settings(
        self, site: Site, role: str, interface: str, *, is_down: bool
    ) -> Iterator[Finding]:
        settings = site.fact(role, "link_settings") or {}
        if settings.get("Duplex") == "Half":
            yield self.warning(
                role,
                f"{interface} runs in half duplex",
                f"let both ends negotiate: `ethtool -s {interface} autoneg on`",
            )
        if not is_down:
            speed = settings.get("Speed", "")
            rate = speed if speed and not speed.startswith("Unknown") else "speed not known"
            mtu = site.mtu(role) or "not known"
            yield self.note(role, f"{interface} is up, {rate}, MTU {mtu}")


def _links(completed: Completed) -> dict[str, IpLink]:
    """Return name -> interface; empty if the output cannot be parsed."""
    try:
        links = decoding.typed(completed.stdout, list[IpLink])
    except ValueError:
        return {}
    return {link.ifname: link for link in links}


def _vrf(link: IpLink) -> str:
    """Return the VRF of an interface; its own name if it is a VRF, "" if it is in none."""
    if link.linkinfo.info_kind == "vrf":
        return link.ifname
    return link.master if link.linkinfo.info_slave_kind == "vrf" else ""


def _addresses(link: IpLink) -> list[str]:
    return [address.local for address in link.addr_info if address.local]


def _down(link: IpLink) -> tuple[str, str] | None:
    """Return (problem, advice) if an interface is down or has no carrier, else None."""
    if "UP" not in link.flags:
        return "is down", f"bring it up: `ip link set dev {link.ifname} up`"
    if "NO-CARRIER" in link.flags or link.operstate in ("DOWN", "LOWERLAYERDOWN"):
        return "has no carrier", "look at the cable, the switch's port and the other end"
    return None
