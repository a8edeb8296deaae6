"""Logins: every host must be reachable. If some are not, the other hosts are still checked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from netlimits.checks import _base
from netlimits.checks._base import Finding
from netlimits.errors import HostError
from netlimits.hosts import connect
from netlimits.hosts.base import Host
from netlimits.hosts.patience import Patience
from netlimits.model import Machine

NAME = "login"


def finding(role: str, error: HostError) -> Finding:
    return _base.error(role, NAME, str(error))


@contextmanager
def logged_in(
    machines: Mapping[str, Machine], patience: Patience | None = None
) -> Iterator[tuple[dict[str, Host], list[Finding]]]:
    """Yield role -> host, and a finding for each unreachable host; log out at the end."""
    hosts: dict[str, Host] = {}
    findings = []
    with connect.logged_in(machines, patience) as outcomes:
        for role, outcome in outcomes.items():
            if isinstance(outcome, HostError):
                findings.append(finding(role, outcome))
            else:
                hosts[role] = outcome
        yield hosts, findings
