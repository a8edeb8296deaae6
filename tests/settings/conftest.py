"""Two network namespaces joined by a veth pair, for settings that need a real kernel."""

from __future__ import annotations

import contextlib
import os
import shlex
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from undoing import ListLog
from waiting import LONG, wait

from netlimits.hosts.local import local_host
from netlimits.model import Command, Completed
from netlimits.restore.changes import Changes
from netlimits.restore.guard import script
from netlimits.restore.guard.claim import Holder
from netlimits.restore.originals import Original

HOLDER = Holder("both", "0", "desk", "ada", 7, 1.8e9)
NEAR, FAR = f"nls{os.getpid()}a", f"nls{os.getpid()}b"


def sh(*argv: str, check: bool = True) -> str:
    done = subprocess.run(argv, capture_output=True, text=True, timeout=LONG)
    if check and done.returncode:
        raise AssertionError(f"{argv}: {done.stderr}")
    return done.stdout


def inside(*argv: str, check: bool = True) -> str:
    """Run in the namespace under test; what it printed."""
    return sh("ip", "netns", "exec", NEAR, *argv, check=check)


class InNamespace:
    """A local host whose commands run inside the namespace; `argvs` are those it ran."""

    name = "sender"

    def __init__(self) -> None:
        self._host = local_host("sender")
        self.argvs: list[tuple[str, ...]] = []

    def run(self, command: Command) -> Completed:
        self.argvs.append(command.argv)
        argv = ("ip", "netns", "exec", NEAR, *command.argv)
        return replace(self._host.run(replace(command, argv=argv)), command=command)

    def close(self) -> None:
        self._host.close()


class Bench:
    """An interface `data0` under test, and everything that can be seen of it."""

    interface = "data0"

    def __init__(self) -> None:
        self.host = InNamespace()
        self.log = ListLog(lambda _: self.host)
        self.changes = self.apply_to()

    def apply_to(self, originals: tuple[Original, ...] = ()) -> Changes:
        return Changes(lambda _: self.host, self.log, originals)

    def reach(self, name: str, wanted: object) -> None:
        self.changes.reach("sender", self.interface, name, wanted)

    def sh(self, *argv: str, check: bool = True) -> str:
        """Run in the namespace, past netlimits; what it printed."""
        return inside(*argv, check=check)

    def far(self, state: str) -> None:
        """Have the interface at the other end `up` or `down`."""
        sh("ip", "-n", FAR, "link", "set", "data0", state)

    def fire(self, folder: Path) -> None:
        """Do what a guard does when its time has come."""
        file = folder / "key.guard"
        text = script.render(HOLDER, self.changes.changed, 60)
        file.write_text(text.replace(f"sleep {script.SECOND_PASS}\n", "sleep 0.2\n"))
        self.sh("sh", str(file), "now")

    def put_back_as(self, before: dict[str, list[str]]) -> None:
        """Put back; nothing that can be seen may differ from `before`."""
        self.changes.restore()
        after = self.leaves()
        assert {k: (before[k], v) for k, v in after.items() if v != before[k]} == {}

    def leaves(self) -> dict[str, list[str]]:
        """By independent looks: link, addresses, routes, neighbours, qdiscs, features, sysctls."""
        looks = {
            "link": ("ip", "-d", "-o", "link", "show"),
            "addr": ("ip", "-o", "addr", "show"),
            "route": ("ip", "route", "show", "table", "all"),
            "route6": ("ip", "-6", "route", "show", "table", "all"),
            "neigh": ("ip", "neigh", "show", "nud", "permanent"),
            "qdisc": ("tc", "-r", "-d", "qdisc", "show"),
            "class": ("tc", "-r", "-d", "class", "show", "dev", self.interface),
            "features": ("ethtool", "-k", self.interface),
            "attributes": (
                *("grep", "-rs", "", "--exclude=carrier*", "--exclude-dir=statistics"),
                *("--exclude-dir=power", "--exclude-dir=byte_queue_limits"),
                f"/sys/class/net/{self.interface}/",
            ),
            "channels": ("ethtool", "-l", self.interface),
            "sysctl": (
                "grep",
                "-rs",
                "",
                *(f"/proc/sys/net/{part}" for part in ("core", "ipv4", "ipv6")),
            ),
        }
        script = "\n".join(
            f"echo @{name}; {shlex.join(argv)} 2>/dev/null" for name, argv in looks.items()
        )
        shown: dict[str, list[str]] = {}
        for line in inside("sh", "-c", script, check=False).splitlines():
            if line.startswith("@"):
                shown[line[1:]] = lines = []
            else:
                lines.append(line)
        return shown


@pytest.fixture
def bench() -> Iterator[Bench]:
    """A fresh pair of namespaces for each test."""
    if os.geteuid() != 0:
        pytest.skip("network namespaces need root")
    with built() as bench:
        yield bench


@contextlib.contextmanager
def built() -> Iterator[Bench]:
    """A pair of namespaces, gone at the end of `with`; nothing else is connected to them."""
    try:
        for space in (NEAR, FAR):
            sh("ip", "netns", "add", space)
        pair = ("type", "veth", "peer", "name", "data0", "netns", FAR)
        queues = ("numtxqueues", "4", "numrxqueues", "4")
        sh("ip", "link", "add", "name", "data0", "netns", NEAR, *queues, *pair, *queues)
        for last, space in enumerate((NEAR, FAR), 1):
            ip = ("ip", "-n", space)
            sh("ip", "netns", "exec", space, "sysctl", "-qw", "net.ipv6.conf.default.accept_dad=0",
               "net.ipv6.conf.all.accept_dad=0", "net.ipv6.conf.data0.accept_dad=0")  # fmt: skip
            sh(*ip, "link", "set", "data0", "mtu", "9000", "up")
            sh(*ip, "addr", "add", f"198.51.100.{last}/24", "dev", "data0")
            sh(*ip, "addr", "add", f"2001:db8::{last}/64", "dev", "data0", "nodad")
        for space in (NEAR, FAR):  # the kernel tells of a carrier up to a second late
            look = ("ip", "-n", space, "-o", "link", "show", "data0")
            wait(lambda look=look: "state UP" in sh(*look), "the link is up")
        bench = Bench()
        yield bench
        bench.host.close()
    finally:
        for space in (NEAR, FAR):
            sh("ip", "netns", "del", space, check=False)
