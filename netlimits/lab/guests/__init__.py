"""Lab hosts that are QEMU machines, with their own kernels, NICs, qdiscs and CPUs."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

from netlimits.errors import InputError, LabError
from netlimits.lab.guests import memory, network, qemu, seed
from netlimits.lab.guests.images import Image, image
from netlimits.lab.guests.kernels import PACKAGES
from netlimits.lab.guests.qemu import ACCELERATORS, accelerator
from netlimits.lab.layout import Guest, Lab
from netlimits.lab.programs import output
from netlimits.lab.sshd import speaks, ssh

__all__ = ["ACCELERATORS", "NICS", "boot", "check", "image", "prepared"]

NICS = tuple(PACKAGES)

_CPUS = (1, 16)
_MEMORY = (128, 65536)
_DEFAULT_MEMORY = {"virtio": 240, "e1000e": 200}
"""Default memory of a machine in MiB, so that its QEMU process takes some 400 MB.

With e1000e, the kernel is larger, and QEMU also holds it uncompressed.
"""
_MTU = (576, network.MTU_LIMIT)
_DEADLINE = 300.0
"""Seconds until every machine must accept a login: long, since all CPUs may be busy."""

_PATIENCE = 30.0


def check(mtu: int, guest: Guest) -> None:
    for quantity, value, (least, most) in (
        ("CPUs", guest.cpus, _CPUS),
        *([("MiB of memory", guest.memory, _MEMORY)] if guest.memory else []),
        ("bytes of MTU", mtu, _MTU),
    ):
        if not least <= value <= most:
            raise InputError(f"{value} {quantity}: a machine takes {least} to {most}")
    if not 1 <= guest.nodes <= guest.cpus:
        raise InputError(
            f"--nodes {guest.nodes}: a machine takes 1 to its {guest.cpus} CPUs; raise --cpus"
        )
    if guest.nic not in NICS:
        raise InputError(f"NIC {guest.nic!r}: a machine has one of {', '.join(NICS)}")


def prepared(hosts: int, guest: Guest, say: Callable[[str], None]) -> tuple[Guest, Image]:
    """Return the guest with memory and accelerator chosen, and its image. Raises LabError."""
    network.check()
    guest = replace(guest, memory=guest.memory or _DEFAULT_MEMORY[guest.nic])
    memory.check(hosts, guest)
    source = image(guest.nic, say)
    return replace(guest, accelerator=accelerator(guest.accelerator or "auto", source)), source


def boot(lab: Lab, source: Image) -> None:
    """Build the network, start the machines, and wait until each accepts a login."""
    network.build(lab)
    for host in lab.hosts:
        seed.write(lab, host, source.initial)
        qemu.start(lab, host, source)
    deadline = time.monotonic() + _DEADLINE
    waiting = list(lab.hosts)
    while waiting:
        waiting = [host for host in waiting if not speaks(lab.management(host), _PATIENCE)]
        for host in waiting:
            if not qemu.alive(lab, host):
                raise LabError(f"{host}: its QEMU ended while it booted")
            if time.monotonic() > deadline:
                raise LabError(f"{host}: no sshd within {_DEADLINE:g} s: {_last_words(lab, host)}")
        time.sleep(0.05)
    for host in lab.hosts:
        output(*ssh(lab, host), deadline=_DEADLINE, label=f"{host}: the first login")


def _last_words(lab: Lab, host: str) -> str:
    lines = qemu.console(lab, host)
    return lines[-1] if lines else "nothing on its console"
