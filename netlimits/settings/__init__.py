"""The settings, in the order in which they have to be applied where several are named.

Within a run they are applied in the order of the experiment's file; this tuple is the registry
and says which one comes first where no file is at hand. They are restored in reverse.
"""

from __future__ import annotations

from collections.abc import Mapping

from netlimits.settings._base import Checked, Setting, State
from netlimits.settings.channels import CHANNELS
from netlimits.settings.coalesce import Coalesce
from netlimits.settings.irq import IRQ
from netlimits.settings.link import Link
from netlimits.settings.load import Load
from netlimits.settings.mtu import Mtu
from netlimits.settings.napi import Napi
from netlimits.settings.offload import Offload
from netlimits.settings.qdisc import Qdisc
from netlimits.settings.ring import RING
from netlimits.settings.route import Route
from netlimits.settings.rps import RPS
from netlimits.settings.switch import Switch
from netlimits.settings.sysctl import Sysctl

__all__ = ["MADE_ANEW", "OF_COMMANDS", "SETTINGS", "Setting", "State", "check_found", "setting"]

SETTINGS: tuple[Setting, ...] = (
    Switch(),  # whatever it is: a driver's module makes the interface and all of its settings anew
    Sysctl(),  # the host's; what is made after it (a default qdisc, say) is made under it
    Link(),  # takes the link down for seconds, and with it routes' metrics
    CHANNELS,  # builds the queues anew: rings, coalescing and an mq qdisc belong to them
    RING,  # many drivers restart the interface, which may lose coalescing
    Coalesce(),
    IRQ,  # channels make and remove interrupts, so after them
    RPS,  # the queues that channels make, too
    Mtu(),  # some drivers restart too; IPv6 loses routes' mtu, and below 1280 the routes
    Offload(),  # with a large MTU some drivers switch features off, so after it
    Napi(),  # the queues again; it works through GRO, which offload switches
    Qdisc(),  # after the queues are there; nothing later touches it
    Route(),  # metrics are lost with a route when anything above takes the link down
    Load(),  # last and so first to end: nothing else has to be set or restored on a loaded host
)

MADE_ANEW: Mapping[str, tuple[str, ...]] = {
    "mtu": ("qdisc",),
    "channels": ("ring", "coalesce", "irq", "rps", "qdisc"),
}
"""Setting -> those that the driver or the kernel makes anew when it changes: restored after it."""

OF_COMMANDS = ("switch",)
"""Settings whose states are commands: no stranger's experiment, journal or folder has them run."""


def setting(name: str) -> Setting:
    """The setting of that name; KeyError when there is none (an experiment is checked before)."""
    return {s.name: s for s in SETTINGS}[name]


def check_found(name: str, interface: str, state: State) -> None:
    """Raise SettingError if a state that was found, before any change, could not be restored."""
    of = setting(name)
    if isinstance(of, Checked):
        of.check_found(interface, state)
