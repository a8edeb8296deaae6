"""Commands on a lab's machines, and machines that reboot."""

from __future__ import annotations

import time
from pathlib import Path

from netlimits.errors import HostError
from netlimits.experiment.hosts_file import Machine
from netlimits.hosts.base import Host, must
from netlimits.hosts.ssh.channels import ssh_host
from netlimits.lab import labs
from netlimits.model import Command, Completed

PATIENCE = 300.0
"""Seconds in which a machine must be back; busy CPUs make it slow."""


class Guests:
    """The machines of a lab, by the hosts' names: one connection to each login, kept open."""

    def __init__(self, lab: labs.Lab) -> None:
        self.lab = lab
        self._hosts: dict[tuple[str, str], Host] = {}

    def run(self, host: str, *argv: str, user: str = "root", **how: object) -> Completed:
        """What a command did on a machine, whatever its status. `how` goes to Command."""
        return self.host(host, user).run(Command(argv, **{"deadline": PATIENCE, **how}))

    def host(self, host: str, user: str = "root") -> Host:
        """The connection to a machine."""
        key = (host, user)
        if key not in self._hosts:
            login = Machine(host, ssh=self.lab.login(host, user), ssh_config=self.lab.ssh_config)
            self._hosts[key] = ssh_host(login)
        return self._hosts[key]

    def __call__(self, host: str, *argv: str, **how: object) -> str:
        """What a command prints on a machine; it must succeed."""
        return must(self.run(host, *argv, **how)).stdout

    def sh(self, host: str, script: str, *argv: str, **how: object) -> str:
        """What a shell script prints on a machine; it must succeed."""
        return self(host, "sh", "-ec", script, "sh", *argv, **how)

    def leave(self, host: str, script: str, *argv: str) -> None:
        """Leave a shell script running on a machine.

        In a session of its own first: what a command leaves behind in its own ends with it.
        """
        begin = (
            'rm -f /run/left; setsid sh -c \'touch /run/left; \'"$0" sh "$@" >/dev/null 2>&1 '
            "</dev/null &\nuntil [ -e /run/left ]; do sleep 0.05; done"
        )
        self(host, "sh", "-ec", begin, script, *argv)

    def boot_id(self, host: str) -> str:
        """Another one after each boot."""
        return self(host, "cat", "/proc/sys/kernel/random/boot_id").strip()

    def reboot(self, host: str) -> None:
        """Reboot a machine as its root would, and wait until it is back."""
        before = self.boot_id(host)
        self.leave(host, "sleep 0.2; exec reboot -f")
        self.back(host, before)

    def back(self, host: str, before: str) -> None:
        """Wait until a machine that was on its way to another boot than `before` is back."""
        deadline = time.monotonic() + PATIENCE
        while True:
            self.forget(host)
            try:
                if self.boot_id(host) != before:
                    return
            except HostError:
                pass
            assert time.monotonic() < deadline, f"{host} did not come back"
            time.sleep(0.2)

    def forget(self, host: str) -> None:
        """Close the connections to a machine; the next command makes another."""
        for key in [key for key in self._hosts if key[0] == host]:
            self._hosts.pop(key).close()

    def process(self, host: str) -> int:
        """The machine's QEMU, on this machine."""
        return int((self.lab.host_folder(host) / "qemu.pid").read_text())

    def filled(self, host: str) -> int:
        """Bytes of this machine's memory that a machine takes, all of its own in use."""
        self.sh(host, "find / -xdev -type f -exec cat {} + >/dev/null 2>&1 || true")
        self.sh(host, "dd if=/dev/zero of=/full bs=64k 2>/dev/null || true; rm /full")
        status = Path("/proc", str(self.process(host)), "status").read_text()
        line = next(line for line in status.splitlines() if line.startswith("VmRSS:"))
        return int(line.split()[1]) * 1024

    def close(self) -> None:
        """Close every connection."""
        for host in self.lab.hosts:
            self.forget(host)
