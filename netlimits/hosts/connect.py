"""Connect to several machines concurrently, or retry one connection for a while."""

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
from netlimits.hosts.threads import concurrently
from netlimits.model import Machine

_FIRST_PAUSE, _LONGEST_PAUSE = 0.25, 5.0


def connect(machine: Machine, patience: Patience | None = None) -> Host:
    """Connect to a machine and return it as a host.

    Args:
        machine: The machine of one role, from a hosts file.
        patience: Time limits; the default is 60 s for each step.

    Raises:
        ConnectError: If the login fails. The message, one line, says what to do.
        HostError: If the host lacks a program that every host needs.
    """
    outcome = logins({machine.role: machine}, patience)[machine.role]
    if isinstance(outcome, HostError):
        raise outcome
    return outcome


def logins(
    machines: Mapping[str, Machine], patience: Patience | None = None
) -> dict[str, Host | HostError]:
    """Log in on all machines concurrently; return each role's host, or the error of its login."""
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
        outcomes = concurrently(attempt, machines.values(), leave=abort)
    except BaseException:
        _close(hosts)
        raise
    return dict(zip(machines, outcomes, strict=True))


def _host(machine: Machine, patience: Patience | None, abort: Abort) -> Host:
    if machine.ssh is None:
        return local_host(machine.role, patience)
    return ssh_host(machine, patience, abort)


def within_budget(connect: Callable[[], Host], seconds: float) -> tuple[Host, int]:
    """Retry `connect` for up to `seconds`; return its host and the number of tries.

    Errors that waiting does not fix, such as an unknown host key, are raised at once.
    """
    limit, pause = time.monotonic() + seconds, _FIRST_PAUSE
    for number in itertools.count(1):
        try:
            return connect(), number
        except HostError as error:
            # any other HostError may be temporary, such as a shell that ends at once
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
    """Yield the result of `logins`; close all hosts at the end, even after an error."""
    outcomes = logins(machines, patience)
    with ExitStack() as stack:
        hosts = [host for host in outcomes.values() if not isinstance(host, HostError)]
        stack.callback(_close, hosts)
        yield outcomes


@contextmanager
def connect_all(
    machines: Mapping[str, Machine], patience: Patience | None = None
) -> Iterator[dict[str, Host]]:
    """Yield the host of each role, and close all hosts at the end. Raises HostError."""
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
