"""What a lab consists of: every name and address follows from its name, index and host count.

A lab's hosts are network namespaces, or machines (QEMU guests) where it has a `guest`.
Addresses are from 198.18.0.0/15, set aside for benchmarks (RFC 2544, section C.2.2):
198.18.INDEX.0/24 for management, 198.19.INDEX.0/24 for data. Interface names have 15 characters
at most, which is why a lab's name has 9.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

LABS = Path("/var/lib/netlimits/labs")
"""One folder for each lab."""

IMAGES = Path("/var/lib/netlimits/images")
"""What machines boot from: kernels and root file systems, made once and shared by all labs."""

NAMESPACES = Path("/run/netns")
"""Where iproute2 keeps the network namespaces that have names."""

NAMESPACE_FILES = Path("/etc/netns")
"""`ip netns exec NAME` mounts the files of NAMESPACE_FILES/NAME over those of /etc."""

IN_A_LAB = Path("/run/netlimits-lab")
"""Only the private /run of a lab's host has it."""

HOSTS_LIMIT = 64
SWITCH = "switch"
DATA_BRIDGE = "switch0"
"""In the switch: what joins the data links of all hosts."""
MANAGEMENT, DATA = "mgmt0", "data0"
"""The interfaces in every host."""
MANAGEMENT_LINK, DATA_LINK = 1, 2
"""Their numbers in link addresses."""

ENGINEER = "engineer"
"""The login beside root: it has no rights to anything, and sudo knows it not."""


@dataclass(frozen=True, slots=True)
class Guest:
    """What each machine of a lab is; `memory` in MiB.

    The memory is 0 and the accelerator empty until they are chosen.
    """

    cpus: int = 1
    memory: int = 0
    nic: str = "virtio"
    accelerator: str = ""

    @property
    def queues(self) -> int:
        """Queues of its data NIC: two where there are two CPUs."""
        return 2 if self.cpus > 1 and self.nic == "virtio" else 1


@dataclass(frozen=True, slots=True)
class Lab:
    """A lab: `index` chooses its networks, `mtu` is the data link's in bytes.

    `guest` is what its machines are; None where its hosts are namespaces.
    """

    name: str
    index: int
    count: int
    mtu: int
    guest: Guest | None = None

    @property
    def hosts(self) -> tuple[str, ...]:
        """The hosts' names: sender, receiver, host3, host4 …"""
        return ("sender", "receiver", *(f"host{n}" for n in range(3, self.count + 1)))

    @property
    def folder(self) -> Path:
        """Where everything of this lab lies, its keys among it."""
        return LABS / self.name

    @property
    def record(self) -> Path:
        """The lab's own record: what `find` reads."""
        return self.folder / "lab.json"

    @property
    def hosts_file(self) -> Path:
        """The hosts file for `netlimits run --hosts`; it is there once the lab works."""
        return self.folder / "hosts.yaml"

    @property
    def ssh_config(self) -> Path:
        """OpenSSH's configuration to log in with: `ssh -F FILE nl-LAB-HOST`."""
        return self.folder / "ssh_config"

    @property
    def key(self) -> Path:
        """The key that every host lets in."""
        return self.folder / "key"

    @property
    def bridge(self) -> str:
        """The management bridge, on this machine."""
        return f"nl-{self.name}"

    @property
    def gateway(self) -> str:
        """This machine's own address on the management link."""
        return f"198.18.{self.index}.254"

    @property
    def switch(self) -> str:
        """The namespace whose bridge joins the data links of three hosts and more."""
        return f"nl-{self.name}-{SWITCH}"

    @property
    def spaces(self) -> tuple[str, ...]:
        """Every network namespace of the lab."""
        if self.guest:
            return (self.switch,)
        hosts = tuple(self.namespace(host) for host in self.hosts)
        return (*hosts, self.switch) if self.count > 2 else hosts

    def number(self, host: str) -> int:
        """The host's number, from 1."""
        return self.hosts.index(host) + 1

    def namespace(self, host: str) -> str:
        """The host's network namespace; of a machine too its name for ssh and its hostname."""
        return f"nl-{self.name}-{host}"

    def login(self, host: str, user: str = "root") -> str:
        """What the host is called in `ssh_config` for a login as `user`."""
        return self.namespace(host) if user == "root" else f"{self.namespace(host)}-{user}"

    def port(self, host: str) -> str:
        """The bridge's interface that leads to the host's `mgmt0`."""
        return f"{self.bridge}.{self.number(host)}"

    def management_port(self, host: str) -> str:
        """The interface in the machines' switch that leads to the host's `mgmt0`."""
        return f"mgmt{self.number(host)}"

    def data_port(self, host: str) -> str:
        """The interface in the switch that leads to the host's `data0`."""
        return f"port{self.number(host)}"

    def link_address(self, host: str, link: int) -> str:
        """A locally administered address: 02, "NL", the lab's index, the link, the host."""
        return f"02:4e:4c:{self.index:02x}:{link:02x}:{self.number(host):02x}"

    def management(self, host: str) -> str:
        """The address that its sshd listens on."""
        return f"198.18.{self.index}.{self.number(host)}"

    def data(self, host: str) -> str:
        """The address that experiments send to."""
        return f"198.19.{self.index}.{self.number(host)}"

    def host_folder(self, host: str) -> Path:
        """Where the files of one host lie."""
        return self.folder / host

    def namespace_files(self, host: str) -> Path:
        """The host's own passwd, group, shadow, sudoers, hosts."""
        return NAMESPACE_FILES / self.namespace(host)


_NAMESPACE = re.compile(rf"nl-(.+)-(?:sender|receiver|host[0-9]+|{SWITCH})")
_INTERFACE = re.compile(r"nl-([^.]+)(?:\.[0-9]+)?")


def lab_of_namespace(name: str) -> str | None:
    """The lab that a namespace of this name belongs to: `nl-a-b-sender` to `a-b`, not to `a`."""
    match = _NAMESPACE.fullmatch(name)
    return match[1] if match else None


def lab_of_interface(name: str) -> str | None:
    """The lab that an interface of this machine belongs to: a bridge or one of its ports."""
    match = _INTERFACE.fullmatch(name)
    return match[1] if match else None
