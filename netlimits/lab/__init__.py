"""Test hosts on this machine: network namespaces with an sshd each, joined by two links.

A lab is for trying an experiment out and for testing netlimits itself; its hosts share this
machine's kernel and CPUs, so their figures say nothing about a network. Each host has `mgmt0`,
over which it is logged in to, and `data0`, which experiments change and load: so no change of
the data link cuts SSH.

Everything a lab is made of carries its name, and its folder is made first and removed last. So
`down` can clear away what an `up` left that was killed at any moment, without any record of it.
Below this file: layout (what there is), files, network, sshd (making it), removal, lock, programs.
"""

from __future__ import annotations

import ipaddress
import json
import re
from dataclasses import dataclass
from pathlib import Path

from netlimits.errors import InputError, LabError
from netlimits.lab import files, network, sshd
from netlimits.lab.layout import HOSTS_LIMIT, LABS, NAMESPACES, Lab, lab_of_interface
from netlimits.lab.lock import locked
from netlimits.lab.programs import need_root
from netlimits.lab.removal import leftovers, remove

__all__ = ["DEFAULT_MTU", "DEFAULT_NAME", "HostState", "Lab", "down", "find", "hosts_file"]
__all__ += ["names", "status", "up"]

DEFAULT_NAME = "lab"
DEFAULT_MTU = 8896
"""The reports' MTU: 8192 bytes of data and their headers fit into one packet."""

_NAME = re.compile(r"[a-z]([a-z0-9-]{0,7}[a-z0-9])?")
_MTU = (576, 65535)  # from what every IPv4 host must take to the most that a veth can


@dataclass(frozen=True, slots=True)
class HostState:
    """One host of a lab as it is now; `mtu` is the data link's, None where there is none."""

    host: str
    namespace: str
    management: str
    address: str
    sshd: bool
    mtu: int | None


def up(name: str = DEFAULT_NAME, hosts: int = 2, mtu: int = DEFAULT_MTU) -> Lab:
    """Build a lab and wait until every host has answered a login.

    What an earlier `up` of this name left unfinished is removed first; what this one makes is
    removed again when it fails or is interrupted. Raises InputError for a name, a number of
    hosts or an MTU that cannot be, LabError without root, when the lab is already up, and when
    it cannot be built.
    """
    _check(name, hosts, mtu)
    need_root("building a lab")
    with locked():
        found = find(name)
        if found and _healthy(found):
            raise LabError(f"lab {name} is already up: {found.hosts_file}")
        try:
            remove(name)
            _refuse_others(name)
            lab = Lab(name, _free_index(), hosts, mtu)
            files.write(lab)
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
    with locked():
        return remove(name)


def names() -> list[str]:
    """The labs there are on this machine, whole or in ruins."""
    return sorted(leftovers())


def find(name: str) -> Lab | None:
    """The lab of that name; None where there is none or its record is lost."""
    try:
        said = json.loads((LABS / name / "lab.json").read_text())
        return Lab(name, int(said["index"]), int(said["hosts"]), int(said["mtu"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None


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
    """Every host of a lab as it is now. Raises LabError without root or where there is no lab."""
    _check(name)
    need_root("looking into a lab")
    lab = find(name)
    if lab is None:
        if name in names():
            raise LabError(f"lab {name} is in ruins; `netlimits lab down --name {name}` clears it")
        raise LabError(f"there is no lab {name}; build it with `netlimits lab up --name {name}`")
    return tuple(
        HostState(
            host,
            lab.namespace(host),
            lab.management(host),
            lab.data(host),
            sshd.alive(lab, host),
            network.data_mtu(lab, host),
        )
        for host in lab.hosts
    )


def _check(name: str, hosts: int = 2, mtu: int = DEFAULT_MTU) -> None:
    """Raises InputError for what cannot be."""
    if not _NAME.fullmatch(name):
        raise InputError(
            f"lab {name!r}: a lab's name has 1 to 9 of a-z, 0-9 and -, starts with a letter "
            "and does not end in -"
        )
    if not 2 <= hosts <= HOSTS_LIMIT:
        raise InputError(f"{hosts} hosts: a lab has 2 to {HOSTS_LIMIT}")
    if not _MTU[0] <= mtu <= _MTU[1]:
        raise InputError(f"MTU {mtu}: the data link takes {_MTU[0]} to {_MTU[1]}")


def _stands(lab: Lab) -> bool:
    """Whether a lab was finished and not lost since, say to a reboot; needs no root."""
    spaces = [lab.namespace(host) for host in lab.hosts]
    return lab.hosts_file.is_file() and all((NAMESPACES / space).exists() for space in spaces)


def _healthy(lab: Lab) -> bool:
    """Whether a lab stands and can be logged in to."""
    return (
        _stands(lab)
        and lab.bridge in network.interfaces()
        and all(sshd.alive(lab, host) for host in lab.hosts)
    )


def _refuse_others(name: str) -> None:
    """Raises LabError for an interface that is not ours and is called as ours would be."""
    for link in network.interfaces():
        if lab_of_interface(link) == name:
            raise LabError(f"interface {link} is there, and no lab's; choose another --name")


def _free_index() -> int:
    """The first index whose two networks neither another lab nor this machine uses."""
    labs = {lab.index for lab in map(find, names()) if lab}
    there = network.known_networks()
    for index in range(256):
        ours = [ipaddress.ip_network(f"198.{n}.{index}.0/24") for n in (18, 19)]
        if index not in labs and not any(o.overlaps(t) for o in ours for t in there):
            return index
    raise LabError("no /24 of 198.18.0.0/15 is free on this machine")
