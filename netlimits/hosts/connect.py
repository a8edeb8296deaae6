"""From machines to hosts: all of them at once, and all closed again."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager

from netlimits.errors import ConnectError
from netlimits.hosts.base import Host
from netlimits.model import Machine


def connect(machine: Machine) -> Host:
    """The machine as a host, connected. Raises ConnectError or HostError."""
    if machine.ssh is None:
        from netlimits.hosts.local import local_host

        return local_host(machine.role)
    from netlimits.hosts.ssh import ssh_host  # paramiko: only where SSH is used

    return ssh_host(machine)


def reconnect(machine: Machine, within: float = 30.0) -> Host:
    """The same, tried again until `within` seconds have passed; raises the last error."""
    deadline = time.monotonic() + within
    while True:
        try:
            return connect(machine)
        except ConnectError:
            if time.monotonic() > deadline:
                raise
        time.sleep(1)


@contextmanager
def connect_all(machines: Mapping[str, Machine]) -> Iterator[dict[str, Host]]:
    """Every machine's host by role, connected in parallel; closed at the end.

    Raises the first role's error when any fails, with every other connection closed.
    """
    with ExitStack() as stack:
        with ThreadPoolExecutor(max_workers=max(1, len(machines))) as pool:
            futures = {role: pool.submit(connect, machine) for role, machine in machines.items()}
            stack.callback(_close, futures)
        yield {role: future.result() for role, future in futures.items()}


def _close(futures: Mapping[str, Future[Host]]) -> None:
    """Close every host that came to be, waiting for those on their way; one failure stops none."""
    with ExitStack() as stack:
        for future in futures.values():
            if future.exception() is None:
                stack.callback(future.result().close)
