"""A lab for breaking things in, apart from the one that other tests share."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

import narrow_path
import pytest
from faults.ground import Ground
from faults.guest_ground import GuestGround
from guests import Guests

from netlimits.lab import labs

_OURS = re.compile(r"fg?([0-9]+)")


def _lab(letter: str) -> Iterator[labs.Lab]:
    if os.geteuid() != 0:
        pytest.skip("the lab needs root")
    name = f"{letter}{os.getpid()}"
    try:
        lab = labs.up(name)
        narrow_path.build(lab)
        yield lab
    finally:
        labs.down(name)


@pytest.fixture(scope="session")
def _swept() -> None:
    """Labs of test runs that were killed are cleared away."""
    for name in labs.names() if os.geteuid() == 0 else ():
        match = _OURS.fullmatch(name)
        if match and not Path("/proc", match[1]).exists():
            labs.down(name)


@pytest.fixture(scope="session")
def broken_lab(_swept: None) -> Iterator[labs.Lab]:
    """Two hosts, called `f` and the run's process id."""
    yield from _lab("f")


@pytest.fixture(scope="session")
def second_lab(_swept: None) -> Iterator[labs.Lab]:
    """Two more hosts, called `fg` and the run's process id."""
    yield from _lab("fg")


def _ground(lab: labs.Lab, folder: Path) -> Iterator[Ground]:
    folder.mkdir(exist_ok=True)
    place = Ground(lab, folder)
    try:
        yield place
    finally:
        place.end()


@pytest.fixture
def ground(broken_lab: labs.Lab, tmp_path: Path) -> Iterator[Ground]:
    """The lab of this folder's tests, with what was found there."""
    yield from _ground(broken_lab, tmp_path / "first")


@pytest.fixture
def second(second_lab: labs.Lab, tmp_path: Path) -> Iterator[Ground]:
    """Another one, for what runs at the same time."""
    yield from _ground(second_lab, tmp_path / "second")


def _guest_ground(lab: labs.Lab, guests: Guests, folder: Path) -> Iterator[GuestGround]:
    with narrow_path.idle(lab):
        place = GuestGround(lab, folder, guests)
        try:
            yield place
        finally:
            place.end()


@pytest.fixture
def small_ground(
    small_machines: labs.Lab, small_guests: Guests, tmp_path: Path
) -> Iterator[GuestGround]:
    """The same of those with one CPU."""
    yield from _guest_ground(small_machines, small_guests, tmp_path)
