"""Run commands on a lab's machines, and reboot them."""

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
"""Seconds within which a machine must be back, even with busy CPUs."""


class Guests:
    """The machines of a lab by host name, with one open connection for each login."""

    def __init__(self, lab: labs.Lab) -> None:
        self.lab = lab
        self._hosts: dict[tuple[str, str], Host] = {}

    def run(self, host: str, *argv: str, user: str = "root", **how: object) -> Completed:
        """Run a command on a machine, whatever its status. `how` is passed to Command."""
        return self.host(host, user).run(Command(argv, **{"deadline": PATIENCE, **how}))

    def host(self, host: str, user: str = "root") -> Host:
        """Return the connection to a machine."""
        key = (host, user)
        if key not in self._hosts:
            login = Machine(host, ssh=self.lab.login(host, user), ssh_config=self.lab.ssh_config)
            self._hosts[key] = ssh_host(login)
        return self._hosts[key]

    def __call__(self, host: str, *argv: str, **how: object) -> str:
        """Return the output of a command on a machine, which must succeed."""
        return must(self.run(host, *argv, **how)).stdout

    def sh(self, host: str, script: str, *argv: str, **how: object) -> str:
        """Return the output of a shell script on a machine, which must succeed."""
        return self(host, "sh", "-ec", script, "sh", *argv, **how)

    def leave(self, host: str, script: str, *argv: str) -> None:
        """Leave a shell script running on a machine.

        It gets a new session, since processes in a command's session end with the command.
        """
        begin = (
            'rm -f /run/left; setsid sh -c \'touch /run/left; \'"$0" sh "$@" >/dev/null 2>&1 '
            "</dev/null &\nuntil [ -e /run/left ]; do sleep 0.05; done"
        )
        self(host, "sh", "-ec", begin, script, *argv)

    def boot_id(self, host: str) -> str:
        """Return the kernel's id of the current boot."""
        return self(host, "cat", "/proc/sys/kernel/random/boot_id").strip()

    def reboot(self, host: str) -> None:
        """Reboot a machine, and wait until it is back."""
        before = self.boot_id(host)
        self.leave(host, "sleep 0.2; exec reboot -f")
        self.back(host, before)

    def back(self, host: str, before: str) -> None:
        """Wait until a machine has booted again, after the boot `before`."""
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
        """Close the connections to a machine; the next command opens a new one."""
        for key in [key for key in self._hosts if key[0] == host]:
            self._hosts.pop(key).close()

    def process(self, host: str) -> int:
        """Return the process id of the machine's QEMU."""
        return int((self.lab.host_folder(host) / "qemu.pid").read_text())

    def filled(self, host: str) -> int:
        """Return the resident bytes of a machine's QEMU after all of its memory was used."""
        self.sh(host, "find / -xdev -type f -exec cat {} + >/dev/null 2>&1 || true")
        self.sh(host, "dd if=/dev/zero of=/full bs=64k 2>/dev/null || true; rm /full")
        status = Path("/proc", str(self.process(host)), "status").read_text()
        line = next(line for line in status.splitlines() if line.startswith("VmRSS:"))
        return int(line.split()[1]) * 1024

    def close(self) -> None:
        """Close all connections."""
        for host in self.lab.hosts:
            self.forget(host)
