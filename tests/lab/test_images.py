"""Images of machines are made by one command at a time."""

from __future__ import annotations

import fcntl
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from netlimits.lab.guests import images


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """Where images lie, as another command opens it."""
    monkeypatch.setattr(images, "IMAGES", tmp_path)
    descriptor = os.open(tmp_path, os.O_RDONLY)
    yield descriptor
    os.close(descriptor)


def free(folder: int) -> bool:
    """Whether another command may begin."""
    try:
        fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    fcntl.flock(folder, fcntl.LOCK_UN)
    return True


def test_nobody_makes_an_image_beside_a_program_that_outlives_a_killed_command(folder: int) -> None:
    with images._locked():
        assert not free(folder)
        left = subprocess.Popen(["sleep", "300"], close_fds=False)  # as `programs.output` has it
    try:
        assert not free(folder)
    finally:
        left.kill()
        left.wait()
    assert free(folder)
