"""The settings, in the order in which they have to be applied.

Within a run they are applied in the order of the experiment's file; this tuple is the registry and
the order if there is no file. They are restored in reverse.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from netlimits.model import Machine, SettingUse
from netlimits.settings._base import Setting, State
from netlimits.settings.coalesce import Coalesce
from netlimits.settings.cpus import CStates, Governor, Load
from netlimits.settings.gso import Gso
from netlimits.settings.ingress import Ingress
from netlimits.settings.link import Link
from netlimits.settings.mtu import Mtu
from netlimits.settings.napi import Napi
from netlimits.settings.offload import Offload
from netlimits.settings.pause import Pause
from netlimits.settings.qdisc import Qdisc
from netlimits.settings.queues import CHANNELS, IRQ, RPS, XPS, Ntuple, Rfs, Rss
from netlimits.settings.ring import RING
from netlimits.settings.route import Route
from netlimits.settings.switch import Switch
from netlimits.settings.sysctl import Sysctl
from netlimits.settings.tunnel import Tunnel

__all__ = [
    "MADE_ANEW",
    "OF_COMMANDS",
    "SETTINGS",
    "TRIED",
    "Setting",
    "State",
    "options_of",
    "setting",
]

SETTINGS: tuple[Setting, ...] = (
    Switch(),  # it may be a driver's module, which creates the interface and its settings anew
    Sysctl(),  # the host's; what is created later (such as a default qdisc) depends on it
    Link(),  # takes the link down for seconds, which resets routes' metrics
    Pause(),  # settles with the other end, as a link does
    CHANNELS,  # creates the queues anew: rings, coalescing and an mq qdisc belong to them
    RING,  # many drivers restart the interface, which may reset coalescing
    Coalesce(),
    IRQ,  # channels create and remove interrupts
    RPS,  # channels create its queues too
    XPS,
    Rfs(),
    Rss(),  # channels replace its table
    Ntuple(),  # names queues that channels create
    Mtu(),  # some drivers restart too; IPv6 loses routes' mtu, and below 1280 the routes
    Offload(),  # with a large MTU some drivers switch features off
    Gso(),  # offloads decide whether segments are built at all
    Napi(),  # channels create its queues; it works through GRO, which offload switches
    Qdisc(),  # needs the queues; nothing later changes it
    Ingress(),  # beside the root qdisc
    Route(),  # metrics are lost when anything above takes the link down
    Tunnel(),  # takes its MTU from the data interface's
    Governor(),
    CStates(),
    Load(),  # last, so it ends first: nothing else has to be set or restored on a loaded host
)

MADE_ANEW: Mapping[str, tuple[str, ...]] = {
    "mtu": ("qdisc",),
    "channels": ("ring", "coalesce", "irq", "rps", "xps", "rfs", "rss", "qdisc"),
}
"""Setting -> those that its change creates anew; they are restored after it."""

OF_COMMANDS = ("switch",)
"""Settings whose states are commands, which are never run from a stranger's files."""


TRIED = (
    *("pause", "channels", "ring", "coalesce", "irq", "xps", "rss", "ntuple"),
    *("gso", "ingress", "tunnel", "governor", "c_states"),
)
"""Settings that a driver may take and ignore, or that need modules: they are tried before the first
run. What cuts hosts off (`link`, `mtu`) and what is always refused aloud is not."""


def setting(name: str) -> Setting:
    """Return the setting of that name. Raises KeyError (experiments are validated before)."""
    return {s.name: s for s in SETTINGS}[name]


def options_of(use: SettingUse, role: str, machines: Mapping[str, Machine]) -> Any:
    """Return a setting's options for one of its roles. Raises SettingError as `between`."""
    return setting(use.name).between(use.options, role, use.roles, machines)
