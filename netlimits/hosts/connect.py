"""From machines to hosts: all of them at once, and all closed again; one of them anew.

At the start a host that cannot be reached is an error at once. Later, in the middle of a campaign,
what time may mend (a link that is down, an sshd that restarts, a host that boots) is tried again
as long as there is patience. Whoever waits here can be interrupted: logins that are under way are
cut, and those that were made are closed.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager

from netlimits.errors import ConnectError, HostError
from netlimits.hosts.base import Host
from netlimits.hosts.local import local_host
from netlimits.hosts.patience import Patience
from netlimits.hosts.ssh.channels import ssh_host
from netlimits.hosts.ssh.wire import Abort
from netlimits.hosts.threads import at_once
from netlimits.model import Machine

_FIRST_PAUSE, _LONGEST_PAUSE = 0.25, 5.0


def connect(machine: Machine, patience: Patience | None = None) -> Host:
    """The machine as a host, connected. Raises ConnectError or HostError."""
    outcome = logins({machine.role: machine}, patience)[machine.role]
    if isinstance(outcome, HostError):
        raise outcome
    return outcome


def logins(
    machines: Mapping[str, Machine], patience: Patience | None = None
) -> dict[str, Host | HostError]:
    """Role -> the machine as a host, or the error of its login; some connect at a time."""
    abort, hosts = Abort(), list[Host]()

    def attempt(machine: Machine) -> Host | HostError:
        try:
            host = _host(machine, patience, abort)
        except HostError as error:
            return error
        hosts.append(host)
        if abort.called:
            host.close()
        return host

    try:
        outcomes = at_once(attempt, machines.values(), leave=abort)
    except BaseException:
        _close(hosts)
        raise
    return dict(zip(machines, outcomes, strict=True))


def _host(machine: Machine, patience: Patience | None, abort: Abort) -> Host:
    if machine.ssh is None:
        return local_host(machine.role, patience)
    return ssh_host(machine, patience, abort)


def within_budget(connect: Callable[[], Host], seconds: float) -> tuple[Host, int]:
    """The host that `connect` returns, tried for up to so many seconds, and the number of tries.

    Pauses grow from a quarter of a second to five. What time does not mend (a host key that is
    unknown, a key of ours that is refused) is not tried again. Raises the last error.
    """
    limit, pause = time.monotonic() + seconds, _FIRST_PAUSE
    for number in itertools.count(1):
        try:
            return connect(), number
        except HostError as error:  # a login that was cut off at once counts as refused
            lasting = isinstance(error, ConnectError) and not error.transient
            if lasting or time.monotonic() >= limit:
                raise
        time.sleep(pause)
        pause = min(2 * pause, _LONGEST_PAUSE)
    raise AssertionError("it returns or raises")


@contextmanager
def logged_in(
    machines: Mapping[str, Machine], patience: Patience | None = None
) -> Iterator[dict[str, Host | HostError]]:
    """The hosts that `logins` returns; all are closed at the end, even if closing one fails."""
    outcomes = logins(machines, patience)
    with ExitStack() as stack:
        hosts = [host for host in outcomes.values() if not isinstance(host, HostError)]
        stack.callback(_close, hosts)
        yield outcomes


@contextmanager
def connect_all(
    machines: Mapping[str, Machine], patience: Patience | None = None
) -> Iterator[dict[str, Host]]:
    """Every machine's host by role, connected in parallel; closed at the end.

    Raises the first role's error when any fails, with every other connection closed.
    """
    with logged_in(machines, patience) as outcomes:
        hosts = {}
        for role, outcome in outcomes.items():
            if isinstance(outcome, HostError):
                raise outcome
            hosts[role] = outcome
        yield hosts


def _close(hosts: list[Host]) -> None:
    with ExitStack() as stack:
        for host in hosts:
            stack.callback(host.close)
