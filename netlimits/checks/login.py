"""Logging in on every host at once; one that cannot be reached does not hide the others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager

from netlimits.checks import base
from netlimits.checks.base import Finding
from netlimits.errors import HostError
from netlimits.hosts.base import Host
from netlimits.hosts.connect import connect
from netlimits.model import Machine

NAME = "login"


@contextmanager
def logged_in(machines: Mapping[str, Machine]) -> Iterator[tuple[dict[str, Host], list[Finding]]]:
    """The hosts that let us in, by role, and an error for each that did not; closed at the end."""
    with ExitStack() as stack:
        with ThreadPoolExecutor(max(1, len(machines))) as pool:
            futures = {role: pool.submit(connect, machine) for role, machine in machines.items()}
            stack.callback(_close, futures)
        hosts: dict[str, Host] = {}
        findings = []
        for role, future in futures.items():
            try:
                hosts[role] = future.result()
            except HostError as error:
                findings.append(base.error(role, NAME, str(error)))
        yield hosts, findings


def _close(futures: Mapping[str, Future[Host]]) -> None:
    """Close every host that came to be, waiting for those on their way; one failure stops none."""
    with ExitStack() as stack:
        for future in futures.values():
            if future.exception() is None:
                stack.callback(future.result().close)
