"""A configuration as it ran, from which an intervention's changes are computed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from netlimits.experiment.document import KeyPath
from netlimits.model import Experiment, Scalar, SettingUse, Setup
from netlimits.tools import tool

Levels = Mapping[KeyPath, Scalar]
"""Key of the experiment file -> its value. `("settings", ROLE, …)` is a new entry for that role."""


def size_of(setup: Setup, option: str) -> int | None:
    """Return an option's size in bytes, as the tool reads it; None if it has none, or two."""
    size = setup.options.get(option)
    if not isinstance(size, int | str) or not size or "," in str(size):
        return None
    return tool(setup.tool).bytes_of(size)


@dataclass(frozen=True, slots=True)
class Configured:
    """A configuration as it ran; `throughput` is the median in bit/s, mappings are by end."""

    experiment: Experiment
    setup: Setup
    throughput: float | None
    sender: str = "local"
    udp: bool = False
    mtu: int | None = None
    packet_bytes: float | None = None
    sysctls: Mapping[str, Mapping[str, Any]] | None = None
    cpus: Mapping[str, int] = field(default_factory=dict)
    queues: Mapping[str, int] = field(default_factory=dict)
    one_machine: bool = False
    ipv6: bool = False
    rtt_us: float | None = None

    def group(self, end: str) -> str:
        groups = list(self.experiment.groups or self.experiment.roles)
        return groups[0] if end == "local" else groups[-1]

    def use(self, name: str, end: str) -> SettingUse | None:
        roles = set(self.experiment.ends[end])
        uses = reversed(self.setup.settings)
        return next((use for use in uses if use.name == name and roles & set(use.roles)), None)

    @property
    def receiver(self) -> str:
        return "local" if self.sender == "remote" else "remote"

    def sysctl(self, end: str, name: str) -> tuple[KeyPath, Any]:
        """Return the key that sets an end's sysctl, and its present value or None."""
        use = self.use("sysctl", end)
        if use and name in use.options:
            return ("settings", use.entry, "sysctl", name), use.options[name]
        now = (self.sysctls or {}).get(end, {}).get(name)
        return ("settings", self.group(end), "sysctl", name), now
