"""The hosts that attacks are made on: a lab of their own, built when it is needed and taken down."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from pathlib import Path

from faults.attacks import Outcome, attempt
from faults.attacks.base import Family, Needs
from faults.ground import Ground
from faults.guest_ground import GuestGround
from guests import Guests

from netlimits.lab import labs


@contextlib.contextmanager
def ground(needs: Needs, name: str, folder: Path) -> Iterator[Ground]:
    """Hosts of a lab of that name, gone at the end of `with`."""
    machines = needs is Needs.MACHINES
    try:
        lab = labs.up(name, guest=labs.Guest(cpus=2) if machines else None)
        with contextlib.ExitStack() as stack:
            guests = Guests(lab)
            stack.callback(guests.close)
            hosts = GuestGround(lab, folder, guests) if machines else Ground(lab, folder)
            stack.callback(hosts.end)
            yield hosts
    finally:
        labs.down(name)


def outcomes(
    jobs: Iterable[tuple[Family, int, int]], needs: Needs, name: str, folder: Path
) -> Iterator[Outcome]:
    """The attacks made, one after another; after one that got through the lab is built anew.

    A job is a family, a number and a seed.
    """
    jobs = iter(jobs)
    over = False
    while not over:
        with ground(needs, name, folder) as hosts:
            over = True
            for family, number, seed in jobs:
                outcome = attempt(family, number, seed, hosts)
                yield outcome
                if outcome.through:
                    over = False
                    break
