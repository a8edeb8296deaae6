"""Build the network of a lab's machines, in the namespace of the lab's switch.

A veth pair connects the management bridge in that namespace to this machine. This machine does not
forward packets from the bridge.
"""

from __future__ import annotations

from pathlib import Path

from netlimits.errors import LabError
from netlimits.lab.layout import DATA_BRIDGE, Lab
from netlimits.lab.network import batch, raised
from netlimits.lab.programs import output

MTU_LIMIT = 9000
"""Largest MTU of the machines' NICs and of the switch, in bytes."""

_TUN = Path("/dev/net/tun")


def check() -> None:
    try:
        _TUN.open("rb").close()
    except OSError as error:
        raise LabError(
            f"machines need {_TUN}, and it cannot be opened ({error.strerror}): "
            "run `modprobe tun`, or give the container access to it"
        ) from None


def build(lab: Lab) -> None:
    output("ip", "netns", "add", lab.switch)
    bridges = (("mgmt", 1500), (DATA_BRIDGE, MTU_LIMIT))
    lines = []
    for bridge, mtu in bridges:
        lines.append(f"link add {bridge} mtu {mtu} type bridge")
    for host in lab.hosts:
        for tap, bridge, mtu, queues in (
            (lab.management_port(host), "mgmt", 1500, 1),
            (lab.data_port(host), DATA_BRIDGE, MTU_LIMIT, lab.guest.queues if lab.guest else 1),
        ):
            several = " multi_queue" if queues > 1 else ""
            lines += [
                f"tuntap add dev {tap} mode tap vnet_hdr{several}",
                f"link set {tap} mtu {mtu} master {bridge}",
                *raised(tap),
            ]
    batch([*lines, *(line for bridge, _ in bridges for line in raised(bridge))], lab.switch)
    batch(
        [
            f"link add {lab.bridge} type veth peer name uplink netns {lab.switch}",
            f"address add {lab.gateway}/24 dev {lab.bridge}",
        ]
    )
    forwarding = Path("/proc/sys/net/ipv4/conf", lab.bridge, "forwarding")
    forwarding.write_text("0\n")
    batch(["link set uplink master mgmt", *raised("uplink")], lab.switch)
    batch(raised(lab.bridge))
