"""Output paths of commands: checked as the command line is read, before anything else is done."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import click

from netlimits.errors import InputError, one_line


class Output(click.Path):
    """A path to write to, refused as the command line is read where that is impossible."""

    def __init__(self, *, folder: bool, fresh: bool = False) -> None:
        super().__init__()
        self._folder, self._fresh = folder, fresh

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        given: Any = super().convert(value, param, ctx)
        if not str(given):
            raise InputError(f"{param.opts[-1] if param else 'the path'}: is empty; name a place")
        path = Path(given)
        if self._folder:
            refuse_folder(path, fresh=self._fresh)
        elif value != "-":  # standard output
            refuse_file(path, fresh=self._fresh)
        return path


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turn what the system says of a path into an InputError."""
    try:
        yield
    except OSError as error:
        over = next((f for f in path.parents if os.path.lexists(f) and not f.is_dir()), None)
        why = f"{over} is a file, not a folder" if over else one_line(error)
        raise InputError(f"{path}: cannot be written: {why}; name another place") from None


def refuse_folder(path: Path, *, fresh: bool = False) -> None:
    """Raise InputError where no files can be written, or with `fresh` where there are some."""
    with writing(path), ExitStack() as created:
        if fresh and path.is_dir() and any(path.iterdir()):
            raise InputError(f"{path}: is not empty; name another folder")
        missing = [folder for folder in (path, *path.parents) if not os.path.lexists(folder)]
        for folder in reversed(missing):
            folder.mkdir(mode=0o700)
            created.callback(_remove, folder)
        if not path.is_dir():
            raise InputError(f"{path}: is a file, not a folder; name another folder")
        with tempfile.TemporaryFile(dir=path):
            pass


def refuse_file(path: Path, *, fresh: bool = False) -> None:
    """Raise InputError for a file that cannot be written, or with `fresh` one that exists."""
    with writing(path):
        if path.is_dir():
            raise InputError(f"{path}: is a folder; name a file")
        if fresh and os.path.lexists(path):
            raise InputError(f"{path}: exists already; name another file")
        if path.is_file():
            path.open("ab").close()
        elif not path.exists():  # a terminal or a pipe is not opened twice
            if not path.parent.is_dir():
                raise InputError(f"{path}: there is no folder {path.parent}")
            with tempfile.TemporaryFile(dir=path.parent):
                pass


def _remove(folder: Path) -> None:
    with suppress(OSError):
        folder.rmdir()
