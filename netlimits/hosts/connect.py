"""From machines to hosts: all of them at once, and all closed again; one of them anew.

At the start a host that cannot be reached is an error at once. Later, in the middle of a campaign,
what time may mend (a link that is down, an sshd that restarts, a host that boots) is tried again
within a budget.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager

import tenacity

from netlimits.errors import ConnectError, HostError
from netlimits.hosts.base import Host
from netlimits.model import Machine

BUDGET = 60.0
"""Seconds within which a lost connection is made again, or given up."""

_FIRST_PAUSE, _LONGEST_PAUSE = 0.25, 5.0


def connect(machine: Machine) -> Host:
    """The machine as a host, connected. Raises ConnectError or HostError."""
    if machine.ssh is None:
        from netlimits.hosts.local import local_host

        return local_host(machine.role)
    from netlimits.hosts.ssh import ssh_host  # paramiko: only where SSH is used

    return ssh_host(machine)


def within_budget(connect: Callable[[], Host], seconds: float) -> tuple[Host, int]:
    """What `connect` gives and how many times it was tried, for up to so many seconds.

    Pauses grow from a quarter of a second to five. What time does not mend (a host key that is
    unknown, a key of ours that is refused) is not tried again. Raises the last error.
    """
    tries = tenacity.Retrying(
        stop=tenacity.stop_after_delay(seconds),
        wait=tenacity.wait_exponential(_FIRST_PAUSE, max=_LONGEST_PAUSE),
        retry=tenacity.retry_if_exception(_may_pass),
        reraise=True,
    )
    host = tries(connect)
    return host, int(tries.statistics["attempt_number"])


def _may_pass(error: BaseException) -> bool:
    """Whether time may mend it: a login that was cut off at once is as good as refused."""
    if isinstance(error, ConnectError):
        return error.transient
    return isinstance(error, HostError)


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
