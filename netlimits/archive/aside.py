"""Work that a process of its own does, so that what it takes of memory goes with it.

A campaign at work needs pyarrow for a second in some thousand runs, and what its parts say once, as
it begins; kept, both would be most of its memory.
"""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections.abc import Callable
from typing import Any, TypeVar

Result = TypeVar("Result")

HEAVY = "pyarrow"
"""What the other process is for: whoever has it loaded needs none."""

_PROGRAM = (
    "import pickle, sys; sys.path[:] = pickle.load(sys.stdin.buffer); "
    "from netlimits.archive import aside; aside.answer()"
)


def aside(function: Callable[..., Result], *arguments: Any) -> Result:
    """What a module's function returns, or raises, in a process that sees the same modules.

    Arguments and result are pickled. It is called here where pyarrow is loaded already, and where
    no other process can be had.
    """
    if HEAVY in sys.modules:
        return function(*arguments)
    told = pickle.dumps(sys.path) + pickle.dumps((function, arguments))
    try:
        done = subprocess.run(
            [sys.executable, "-P", "-c", _PROGRAM],
            input=told,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # Ctrl-C is for this process, which ends when this is done
            check=True,
        )
        error, result = pickle.loads(done.stdout)  # noqa: S301  of our own process
    except (OSError, subprocess.CalledProcessError, pickle.UnpicklingError, EOFError):
        return function(*arguments)
    if error:
        raise error
    return result  # type: ignore[no-any-return]  # what the function returned


def answer() -> None:
    """The other process: read what to call, call it, and write what came of it."""
    function, arguments = pickle.load(sys.stdin.buffer)  # noqa: S301  of the process that began it
    outcome: tuple[Exception | None, Any]
    try:
        outcome = (None, function(*arguments))
    except Exception as error:
        outcome = (error, None)
    sys.stdout.buffer.write(pickle.dumps(outcome))
