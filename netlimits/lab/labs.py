"""Build, inspect and remove labs: test hosts on this machine, joined by two links.

Hosts are network namespaces, which share this machine's kernel and CPUs, or QEMU machines. Each has
`mgmt0` for SSH and `data0` for experiments. The name of every part of a lab contains the lab's
name. The lab's folder is created first and removed last. So `down` removes what a killed `up` left,
even without a record.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from netlimits.errors import InputError, LabError
from netlimits.lab import files, guests, link, network, sshd
from netlimits.lab.guests import qemu
from netlimits.lab.layout import HOSTS_LIMIT, NAMESPACES, Guest, Lab, lab_of_interface
from netlimits.lab.link import Shape, Traffic
from netlimits.lab.lock import locked
from netlimits.lab.programs import need_root
from netlimits.lab.removal import leftovers, remove

__all__ = ["Guest", "Lab", "Shape"]

DEFAULT_NAME = "lab"
DEFAULT_MTU = 8896
"""The MTU of the published reports: 8192 bytes of data fit into one packet with its headers."""

_NAME = re.compile(r"[a-z]([a-z0-9-]{0,7}[a-z0-9])?")
_MTU = (576, 65535)  # what every IPv4 host must accept, and the limit of a veth


@dataclass(frozen=True, slots=True)
class HostState:
    """The current state of a host; `kind` is `namespace`, or the accelerator, CPUs and NIC."""

    host: str
    kind: str
    namespace: str
    management: str
    address: str
    sshd: bool
    mtu: int | None


@dataclass(frozen=True, slots=True)
class LinkState:
    """A host's data link: its shape, whether it works, and its traffic from and to the host."""

    host: str
    shape: Shape | None
    works: bool
    traffic: tuple[Traffic, Traffic] | None


def up(
    name: str = DEFAULT_NAME,
    hosts: int = 2,
    mtu: int = DEFAULT_MTU,
    guest: Guest | None = None,
    say: Callable[[str], None] = lambda line: None,
) -> Lab:
    """Build a lab, of machines if `guest` is given, and wait until every host accepts a login.

    Leftovers of an earlier `up` are removed first. If `up` fails or is interrupted, everything is
    removed again. `say` is called with a line before each long task that is needed only once, such
    as a download. Raises InputError, LabError.
    """
    _check(name, hosts, mtu, guest)
    need_root("building a lab")
    with locked(name):
        existing = find(name)
        if existing and _healthy(existing):
            raise InputError(
                f"lab {name} is already up: {existing.hosts_file}; use it, or remove it first with "
                f"`netlimits lab down --name {name}`"
            )
        try:
            remove(name, keep_folder=True)
            for interface in network.interfaces():
                if lab_of_interface(interface) == name:
                    raise LabError(
                        f"interface {interface} exists outside of a lab; choose another --name"
                    )
            source = None
            if guest:
                guest, source = guests.prepared(hosts, guest, say)
            with locked():
                lab = Lab(name, _free_index(), hosts, mtu, guest)
                files.write_record(lab)
            files.write(lab)
            if source:
                guests.boot(lab, source)
            else:
                network.build(lab)
                sshd.start(lab)
            files.write_hosts(lab)
        except BaseException:
            remove(name)
            raise
    return lab


def down(name: str = DEFAULT_NAME) -> bool:
    """Remove a lab, complete or not, with every process in it; return True if there was one."""
    _check(name)
    need_root("taking a lab down")
    with locked(name):
        return remove(name)


def names() -> list[str]:
    return sorted(leftovers())


def find(name: str) -> Lab | None:
    return files.read_record(name)


def hosts_file(name: str | None = None) -> Path | None:
    """Return the hosts file of a lab that is up, or None if no such lab is up.

    If `name` is None, it is the default lab, or else the only one. Raises InputError if several
    labs are up and none of them is the default lab.
    """
    running = [lab for lab in map(find, [name] if name else names()) if lab and _stands(lab)]
    chosen = [lab for lab in running if lab.name == DEFAULT_NAME] or running
    if len(chosen) > 1:
        files = ", ".join(str(lab.hosts_file) for lab in chosen)
        raise InputError(
            f"{len(chosen)} labs are up; choose one by its hosts file, --hosts FILE: {files}"
        )
    return chosen[0].hosts_file if chosen else None


def status(name: str) -> tuple[HostState, ...]:
    """Return the current state of every host of a lab. Raises InputError, LabError."""
    lab = _standing(name)
    return tuple(
        HostState(
            host,
            _kind(lab),
            lab.namespace(host),
            lab.management(host),
            lab.data(host),
            _answers(lab, host),
            lab.mtu if lab.guest else network.data_mtu(lab, host),
        )
        for host in lab.hosts
    )


def shape_link(name: str, host: str, shape: Shape | None) -> None:
    """Shape the link of a host, or remove its shape; host "" means the first of two hosts.

    Raises InputError, LabError.
    """
    with locked(name):
        lab = _standing(name)
        host = link.chosen(lab, host)
        if shape:
            link.apply(lab, host, shape)
        else:
            link.clear(lab, host)


def links(name: str) -> tuple[LinkState, ...]:
    lab = _standing(name)
    states = []
    for host in lab.hosts:
        shape = link.shape(lab, host)
        works = shape is None or link.works(lab, host)
        traffic = link.traffic(lab, host) if shape and works else None
        states.append(LinkState(host, shape, works, traffic))
    return tuple(states)


def _standing(name: str) -> Lab:
    _check(name)
    need_root("looking into a lab")
    lab = find(name)
    if lab is None:
        if name in names():
            raise LabError(f"lab {name} is damaged; remove it: `netlimits lab down --name {name}`")
        raise InputError(
            f"there is no lab called {name}; build it with `netlimits lab up --name {name}`"
        )
    if not _finished(lab):
        raise LabError(
            f"lab {name} is not complete: `netlimits lab up` still builds it, or was killed; "
            f"then remove it: `netlimits lab down --name {name}`"
        )
    return lab


def _kind(lab: Lab) -> str:
    if lab.guest is None:
        return "namespace"
    cpus = f"{lab.guest.cpus} CPU{'s' if lab.guest.cpus > 1 else ''}"
    nodes = f", {lab.guest.nodes} nodes" if lab.guest.nodes > 1 else ""
    return f"{lab.guest.accelerator}, {cpus}{nodes}, {lab.guest.nic}"


def _answers(lab: Lab, host: str) -> bool:
    if lab.guest:
        return qemu.alive(lab, host) and sshd.speaks(lab.management(host), 30)
    return sshd.alive(lab, host)


def _check(name: str, hosts: int = 2, mtu: int = DEFAULT_MTU, guest: Guest | None = None) -> None:
    if not _NAME.fullmatch(name):
        raise InputError(
            f"lab {name!r}: a lab's name has 1 to 9 of a-z, 0-9 and -, starts with a letter "
            "and does not end in -"
        )
    if not 2 <= hosts <= HOSTS_LIMIT:
        raise InputError(f"{hosts} hosts: a lab has 2 to {HOSTS_LIMIT}")
    if guest:
        guests.check(mtu, guest)
    if not _MTU[0] <= mtu <= _MTU[1]:
        raise InputError(f"MTU {mtu}: the data link takes {_MTU[0]} to {_MTU[1]}")


def _finished(lab: Lab) -> bool:
    return lab.hosts_file.is_file()


def _stands(lab: Lab) -> bool:
    """Return True if a lab is complete and was not lost by a reboot. This needs no root."""
    return _finished(lab) and all((NAMESPACES / space).exists() for space in lab.spaces)


def _healthy(lab: Lab) -> bool:
    return (
        _stands(lab)
        and lab.bridge in network.interfaces()
        and all((qemu if lab.guest else sshd).alive(lab, host) for host in lab.hosts)
    )


def _free_index() -> int:
    """Return the first index whose two networks neither another lab nor this machine uses."""
    labs = {lab.index for lab in map(find, names()) if lab}
    networks = network.known_networks()
    for index in range(256):
        ours = [ipaddress.ip_network(f"198.{n}.{index}.0/24") for n in (18, 19)]
        if index not in labs and not any(o.overlaps(n) for o in ours for n in networks):
            return index
    raise LabError("no /24 of 198.18.0.0/15 is free on this machine")
