"""The registry of settings, in an order in which no setting undoes an earlier one.

Help and schema list the settings in this order. A run applies its settings in the order of the
experiment's file. They are restored in reverse order, except those in RECREATES.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from netlimits.model import Machine, SettingUse
from netlimits.settings._base import Setting, State, Traits
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
    "RECREATES",
    "SETTINGS",
    "TRIED",
    "Setting",
    "State",
    "Traits",
    "options_of",
    "setting",
]

SETTINGS: tuple[Setting, ...] = (
    Switch(),  # it may load a driver, which creates the interface and its settings anew
    Sysctl(),  # default qdiscs and other objects that are created later depend on sysctls
    Link(),  # takes the link down for seconds, which resets routes' metrics
    Pause(),  # negotiated with the other end when the link comes up
    CHANNELS,  # creates the queues anew: rings, coalescing and an mq qdisc belong to them
    RING,  # many drivers restart the interface, which may reset coalescing
    Coalesce(),
    IRQ,  # after channels, which create and remove interrupts
    RPS,  # after channels, which create the queues
    XPS,
    Rfs(),
    Rss(),  # channels replace the RSS table
    Ntuple(),  # refers to queues that channels create
    Mtu(),  # may restart the interface; changes IPv6 routes, and below 1280 removes IPv6
    Offload(),  # with a large MTU some drivers switch features off
    Gso(),  # offloads decide whether segments are built at all
    Napi(),  # after channels, which create the queues, and offload, which switches GRO
    Qdisc(),  # needs the queues; nothing later changes it
    Ingress(),  # has a qdisc of its own, beside the root qdisc
    Route(),  # metrics are lost when anything above takes the link down
    Tunnel(),  # its MTU follows from that of the data interface
    Governor(),
    CStates(),
    Load(),  # last, so it ends first: nothing else has to be set or restored on a loaded host
)

RECREATES: Mapping[str, tuple[str, ...]] = {
    first.name: others
    for first in SETTINGS
    if (others := tuple(s.name for s in SETTINGS if first.name in s.traits.reset_by))
}
"""Setting -> settings that the kernel resets with it; they are restored after it."""

TRIED = tuple(s.name for s in SETTINGS if s.traits.tried)
"""Settings to try before the first run."""


def setting(name: str) -> Setting:
    """Return the setting of that name. Raises KeyError (experiments are validated before)."""
    return {s.name: s for s in SETTINGS}[name]


def options_of(use: SettingUse, role: str, machines: Mapping[str, Machine]) -> Any:
    """Return the options of a setting for one role. Raises SettingError if they do not fit."""
    return setting(use.name).between(use.options, role, use.roles, machines)
