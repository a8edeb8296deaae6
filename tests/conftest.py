"""The lab: real hosts for the tests marked `lab`, in network namespaces of their own."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from netlimits import lab as labs

_OURS = re.compile(r"t([0-9]+)")


@pytest.fixture(scope="session")
def lab() -> Iterator[labs.Lab]:
    """A lab of two hosts for this test run, called `t` and the run's process id.

    Labs of test runs that were killed are cleared away first.
    """
    if os.geteuid() != 0:
        pytest.skip("the lab needs root")
    for name in labs.names():
        match = _OURS.fullmatch(name)
        if match and not Path("/proc", match[1]).exists():
            labs.down(name)
    name = f"t{os.getpid()}"
    try:
        yield labs.up(name)
    finally:
        labs.down(name)
