"""Work that a process of its own does, so that what it takes of memory goes with it.

A campaign at work needs pyarrow for a second in some thousand runs, and what its parts say once, as
it begins; kept, both would be most of its memory.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import tempfile
from collections.abc import Callable
from typing import Any, TypeVar

from netlimits import __version__
from netlimits.errors import NetlimitsError

Result = TypeVar("Result")

HEAVY = "pyarrow"
"""What the other process is for: whoever has it loaded needs none."""

LONGEST = 300.0
"""Seconds after which the other process is ended."""

_PROGRAM = (
    "import pickle, sys; sys.path[:] = pickle.load(sys.stdin.buffer); "
    "from netlimits.archive import aside; aside.answer(int(sys.argv[1]))"
)


def aside(function: Callable[..., Result], *arguments: Any) -> Result:
    """What a module's function returns, or raises, in a process that sees the same modules.

    Arguments and result are pickled. It is called here where pyarrow is loaded already, where no
    other process can be had, and where that fails by anything but the function's own errors: it may
    be of another version by now. Raises TimeoutError where it takes longer than LONGEST.
    """
    if HEAVY in sys.modules:
        return function(*arguments)
    told = pickle.dumps(sys.path) + pickle.dumps((__version__, function, arguments))
    try:
        with tempfile.TemporaryFile() as file:
            subprocess.run(
                [sys.executable, "-P", "-c", _PROGRAM, str(file.fileno())],
                input=told,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=[file.fileno()],
                start_new_session=True,  # Ctrl-C is for this process, which ends when this is done
                timeout=LONGEST,
                check=True,
            )
            file.seek(0)
            error, result = pickle.load(file)  # noqa: S301  of our own process
    except subprocess.TimeoutExpired:
        raise TimeoutError(f"it took longer than {LONGEST:g} s") from None
    except Exception:
        return function(*arguments)
    if error:
        raise error
    return result  # type: ignore[no-any-return]  # what the function returned


def answer(descriptor: int) -> None:
    """The other process: read what to call, call it, and write what came of it to a file."""
    version, function, arguments = pickle.load(sys.stdin.buffer)  # noqa: S301  who began it
    if version != __version__:
        raise SystemExit(1)
    outcome: tuple[Exception | None, Any]
    try:
        outcome = (None, function(*arguments))
    except (NetlimitsError, OSError) as error:
        outcome = (error, None)
    with os.fdopen(descriptor, "wb") as file:
        pickle.dump(outcome, file)
