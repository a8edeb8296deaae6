"""The PCIe link of the NIC: it must not be slower than the network link.

A card in a slow slot, or with a PCIe link that trained down, carries less than its port. Nothing
else shows this. Rates exclude the line code, but include the headers of PCIe packets.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from netlimits.checks._base import Answers, Check, Finding, Site


class Pcie(Check):
    name = "pcie"

    def findings(self, site: Site, role: str, completed: Answers) -> Iterator[Finding]:
        link = site.fact(role, "pcie") or {}
        rate = link.get("current_mbps")
        if not rate:
            yield self.note(role, "the interface shows no PCIe link")
            return
        shown = f"x{link['current_lanes']} at {link['current_gts']:g} GT/s, {rate:,.0f} Mbit/s"
        speed = re.fullmatch(
            r"([0-9]{1,7})Mb/s", (site.fact(role, "link_settings") or {}).get("Speed", "")
        )
        if speed and float(speed[1]) > rate:
            yield self.warning(
                role,
                f"the NIC's PCIe link ({shown}) carries less than its port's {speed[1]} Mbit/s",
                "put the NIC into a slot with more lanes, or expect the slot's rate",
            )
        elif link.get("max_mbps", 0) > rate:
            most = f"x{link['max_lanes']} at {link['max_gts']:g} GT/s"
            yield self.note(role, f"{shown}; the NIC could have {most}")
        else:
            yield self.note(role, shown)
