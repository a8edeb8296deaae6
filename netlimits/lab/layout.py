"""Names, addresses and paths of a lab, which follow from its name, index and number of hosts.

Addresses are from 198.18.0.0/15, reserved for benchmarks (RFC 2544, section C.2.2). A lab's name
has at most 9 characters because an interface name has at most 15.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

LABS = Path("/var/lib/netlimits/labs")
"""The folder with one folder per lab."""

IMAGES = Path("/var/lib/netlimits/images")
"""Kernels and root file systems of machines, created once and shared by all labs."""

NAMESPACES = Path("/run/netns")
"""The folder of iproute2's named network namespaces."""

NAMESPACE_FILES = Path("/etc/netns")
"""`ip netns exec NAME` mounts the files of NAMESPACE_FILES/NAME over those of /etc."""

IN_A_LAB = Path("/run/netlimits-lab")
"""A file that exists only in the private /run of a namespace of a lab."""

HOSTS_LIMIT = 64
SWITCH = "switch"
DATA_BRIDGE = "switch0"
"""The bridge in the switch that joins the data links of all hosts."""
MANAGEMENT, DATA = "mgmt0", "data0"
"""The interfaces of every host."""
MANAGEMENT_LINK, DATA_LINK = 1, 2
"""The numbers of these two links in MAC addresses."""

ENGINEER = "engineer"
"""The unprivileged user of every host."""

SSHD_CONFIG = f"""\
AuthenticationMethods publickey
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin prohibit-password
AllowUsers root {ENGINEER}
UsePAM no
UseDNS no
MaxStartups 200
Subsystem sftp internal-sftp
"""
"""The common part of every host's sshd_config."""


@dataclass(frozen=True, slots=True)
class Guest:
    """The configuration of a lab's machines; memory (MiB) 0 and accelerator "" are chosen later."""

    cpus: int = 1
    memory: int = 0
    nic: str = "virtio"
    accelerator: str = ""
    nodes: int = 1  # NUMA nodes

    @property
    def queues(self) -> int:
        """Number of queues of the data NIC: two for a virtio NIC with several CPUs, else one."""
        return 2 if self.cpus > 1 and self.nic == "virtio" else 1


@dataclass(frozen=True, slots=True)
class Lab:
    """A lab: `index` selects its networks; without a `guest`, its hosts are namespaces."""

    name: str
    index: int
    count: int
    mtu: int
    guest: Guest | None = None

    @property
    def hosts(self) -> tuple[str, ...]:
        return ("sender", "receiver", *(f"host{n}" for n in range(3, self.count + 1)))

    @property
    def folder(self) -> Path:
        return LABS / self.name

    @property
    def record(self) -> Path:
        return self.folder / "lab.json"

    @property
    def hosts_file(self) -> Path:
        """The hosts file for `netlimits run --hosts`; it exists once the lab is complete."""
        return self.folder / "hosts.yaml"

    @property
    def ssh_config(self) -> Path:
        return self.folder / "ssh_config"

    @property
    def key(self) -> Path:
        return self.folder / "key"

    @property
    def bridge(self) -> str:
        return f"nl-{self.name}"

    @property
    def gateway(self) -> str:
        return f"198.18.{self.index}.254"

    @property
    def switch(self) -> str:
        """The namespace of the data links' bridge; a lab of two namespaces has none."""
        return f"nl-{self.name}-{SWITCH}"

    @property
    def spaces(self) -> tuple[str, ...]:
        if self.guest:
            return (self.switch,)
        hosts = tuple(self.namespace(host) for host in self.hosts)
        return (*hosts, self.switch) if self.count > 2 else hosts

    def number(self, host: str) -> int:
        return self.hosts.index(host) + 1

    def namespace(self, host: str) -> str:
        """Return the hostname, which is also the name in `ssh_config` and the namespace if any."""
        return f"nl-{self.name}-{host}"

    def login(self, host: str, user: str = "root") -> str:
        """Return the host's name in `ssh_config` for a login as `user`."""
        return self.namespace(host) if user == "root" else f"{self.namespace(host)}-{user}"

    def port(self, host: str) -> str:
        """Return the port of the management bridge that leads to a namespace's `mgmt0`."""
        return f"{self.bridge}.{self.number(host)}"

    def management_port(self, host: str) -> str:
        """Return the tap in the switch's namespace that leads to a machine's `mgmt0`."""
        return f"mgmt{self.number(host)}"

    def data_port(self, host: str) -> str:
        """Return the switch's port to the host's `data0`."""
        return f"port{self.number(host)}"

    def link_address(self, host: str, link: int) -> str:
        """Return a locally administered MAC address: 02, "NL", the lab's index, link, host."""
        return f"02:4e:4c:{self.index:02x}:{link:02x}:{self.number(host):02x}"

    def management(self, host: str) -> str:
        return f"198.18.{self.index}.{self.number(host)}"

    def data(self, host: str) -> str:
        return f"198.19.{self.index}.{self.number(host)}"

    def host_folder(self, host: str) -> Path:
        return self.folder / host

    def namespace_files(self, host: str) -> Path:
        """Return the folder of the files that `ip netns exec` mounts over those of /etc."""
        return NAMESPACE_FILES / self.namespace(host)

    def etc_hosts(self, host: str) -> list[str]:
        return [
            "127.0.0.1 localhost",
            f"127.0.1.1 {self.namespace(host)}",
            *(f"{self.data(other)} {other}" for other in self.hosts),
        ]


_NAMESPACE = re.compile(rf"nl-(.+)-(?:sender|receiver|host[0-9]+|{SWITCH})")
_INTERFACE = re.compile(r"nl-([^.]+)(?:\.[0-9]+)?")


def lab_of_namespace(name: str) -> str | None:
    """Return the lab of a namespace, or None: `nl-a-b-sender` belongs to `a-b`, not to `a`."""
    match = _NAMESPACE.fullmatch(name)
    return match[1] if match else None


def lab_of_interface(name: str) -> str | None:
    """Return the lab of a bridge or port on this machine, or None."""
    match = _INTERFACE.fullmatch(name)
    return match[1] if match else None
