"""Test hosts on this machine: network namespaces or machines (QEMU), joined by two links.

A lab is for trying an experiment out and for testing netlimits itself. Namespaces are up at once
and share this machine's kernel and CPUs; machines have their own, and NICs with offloads, queues
and interrupts. Either way it is one machine's CPUs that do the work, so their figures say nothing
about a network. Each host has `mgmt0`, over which it is logged in to, and `data0`, which
experiments change and load: so no change of the data link cuts SSH.

Everything a lab is made of carries its name, and its folder is made first and removed last. So
`down` can clear away what an `up` left that was killed at any moment, without any record of it.
Below this file: layout (what there is), files, network, sshd, guests (making it), link (shaping
it), removal, lock, processes, programs.
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

__all__ = [
    "DEFAULT_MTU",
    "DEFAULT_NAME",
    "Guest",
    "HostState",
    "Lab",
    "LinkState",
    "Shape",
    "down",
    "find",
]
__all__ += ["hosts_file", "links", "names", "shape_link", "status", "up"]

DEFAULT_NAME = "lab"
DEFAULT_MTU = 8896
"""The reports' MTU: 8192 bytes of data and their headers fit into one packet."""

_NAME = re.compile(r"[a-z]([a-z0-9-]{0,7}[a-z0-9])?")
_MTU = (576, 65535)  # from what every IPv4 host must take to the most that a veth can


@dataclass(frozen=True, slots=True)
class HostState:
    """One host of a lab as it is now; `mtu` is the data link's, None where there is none.

    `kind` is `namespace`, or a machine's accelerator, number of CPUs and NIC. A machine's `sshd`
    is whether one answers, and its `mtu` the one that it was built with.
    """

    host: str
    kind: str
    namespace: str
    management: str
    address: str
    sshd: bool
    mtu: int | None


@dataclass(frozen=True, slots=True)
class LinkState:
    """A host's data link as it is now: its shape, whether it carries anything, and what it did.

    `shape` is None of a link that is not shaped; `traffic` is from the host and to it.
    """

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
    """Build a lab, of machines if a `guest` says which, and wait until every host let us in.

    What an earlier `up` of this name left unfinished is removed first; what this one makes is
    removed again when it fails or is interrupted. `say` gets a line when something that is made
    once takes long. Raises InputError for a name, a number of hosts or an MTU that cannot be,
    LabError without root, when the lab is already up, and when it cannot be built.
    """
    _check(name, hosts, mtu, guest)
    need_root("building a lab")
    with locked(name):
        existing = find(name)
        if existing and _healthy(existing):
            raise LabError(f"lab {name} is already up: {existing.hosts_file}")
        try:
            remove(name, keep_folder=True)
            _refuse_others(name)
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
    """Remove a lab, whole or in ruins, with every process in it; whether there was one.

    Raises InputError for what is no lab's name, LabError without root and when something stays.
    """
    _check(name)
    need_root("taking a lab down")
    with locked(name):
        return remove(name)


def names() -> list[str]:
    """The labs there are on this machine, whole or in ruins."""
    return sorted(leftovers())


def find(name: str) -> Lab | None:
    """The lab of that name; None where there is none or its record is lost."""
    return files.read_record(name)


def hosts_file(name: str | None = None) -> Path | None:
    """The hosts file of a lab that is up; without `name` of the lab `lab`, else of the only one.

    None when there is no such lab. Raises InputError when several others could be meant.
    """
    running = [lab for lab in map(find, [name] if name else names()) if lab and _stands(lab)]
    chosen = [lab for lab in running if lab.name == DEFAULT_NAME] or running
    if len(chosen) > 1:
        files = ", ".join(str(lab.hosts_file) for lab in chosen)
        raise InputError(f"several labs are up; choose one with --hosts: {files}")
    return chosen[0].hosts_file if chosen else None


def status(name: str) -> tuple[HostState, ...]:
    """Every host of a lab as it is now.

    Raises LabError without root, and where there is no lab or one whose `up` did not end.
    """
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
    """Shape the link of a lab's host (`host` may be empty where there is one link), or undo it.

    Raises LabError without root, where there is no lab, or no link that can be shaped.
    """
    with locked(name):
        lab = _standing(name)
        host = link.chosen(lab, host)
        if shape:
            link.shaped(lab, host, shape)
        else:
            link.clear(lab, host)


def links(name: str) -> tuple[LinkState, ...]:
    """The links of a lab's hosts as they are now. Raises as `status` does."""
    lab = _standing(name)
    states = []
    for host in lab.hosts:
        shape = link.shape(lab, host)
        works = shape is None or link.works(lab, host)
        traffic = link.traffic(lab, host) if shape and works else None
        states.append(LinkState(host, shape, works, traffic))
    return tuple(states)


def _standing(name: str) -> Lab:
    """The lab of that name. Raises LabError without root or where there is none, or half of one."""
    _check(name)
    need_root("looking into a lab")
    lab = find(name)
    if lab is None:
        if name in names():
            raise LabError(f"lab {name} is in ruins; `netlimits lab down --name {name}` clears it")
        raise LabError(f"there is no lab {name}; build it with `netlimits lab up --name {name}`")
    if not _finished(lab):
        raise LabError(
            f"lab {name} is not finished: its `up` is at work, or was killed; then "
            f"`netlimits lab down --name {name}` clears it"
        )
    return lab


def _kind(lab: Lab) -> str:
    if lab.guest is None:
        return "namespace"
    cpus = f"{lab.guest.cpus} CPU{'s' if lab.guest.cpus > 1 else ''}"
    return f"{lab.guest.accelerator}, {cpus}, {lab.guest.nic}"


def _answers(lab: Lab, host: str) -> bool:
    if lab.guest:
        return qemu.alive(lab, host) and sshd.speaks(lab.management(host), 30)
    return sshd.alive(lab, host)


def _check(name: str, hosts: int = 2, mtu: int = DEFAULT_MTU, guest: Guest | None = None) -> None:
    """Raise InputError for a name, a number of hosts or an MTU that cannot be."""
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
    """Whether its `up` came to its end: the hosts file is written last."""
    return lab.hosts_file.is_file()


def _stands(lab: Lab) -> bool:
    """Whether a lab was finished and not lost since, say to a reboot; needs no root."""
    return _finished(lab) and all((NAMESPACES / space).exists() for space in lab.spaces)


def _healthy(lab: Lab) -> bool:
    """Whether a lab stands and can be logged in to."""
    return (
        _stands(lab)
        and lab.bridge in network.interfaces()
        and all((qemu if lab.guest else sshd).alive(lab, host) for host in lab.hosts)
    )


def _refuse_others(name: str) -> None:
    """Raises LabError for an interface that is not ours and is called as ours would be."""
    for interface in network.interfaces():
        if lab_of_interface(interface) == name:
            raise LabError(f"interface {interface} is there, and no lab's; choose another --name")


def _free_index() -> int:
    """The first index whose two networks neither another lab nor this machine uses."""
    labs = {lab.index for lab in map(find, names()) if lab}
    networks = network.known_networks()
    for index in range(256):
        ours = [ipaddress.ip_network(f"198.{n}.{index}.0/24") for n in (18, 19)]
        if index not in labs and not any(o.overlaps(n) for o in ours for n in networks):
            return index
    raise LabError("no /24 of 198.18.0.0/15 is free on this machine")
