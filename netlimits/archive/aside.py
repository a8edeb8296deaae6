"""Work that a process of its own does, so that what it takes of memory goes with it.

A campaign at work needs pyarrow for a second in some thousand runs, and what its parts say once, as
it begins; kept, both would be most of its memory.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any, TypeVar

from netlimits import __version__
from netlimits.errors import ArchiveError

Result = TypeVar("Result")

HEAVY = "pyarrow"
"""What the other process is for: whoever has it loaded needs none."""

_PROGRAM = (
    "import json, sys; told = json.load(sys.stdin); sys.path[:] = told['path']; "
    "from netlimits.archive import aside; aside.answer(told, int(sys.argv[1]))"
)


def aside(function: Callable[..., Result], *arguments: Any, longest: float | None = None) -> Result:
    """What a module's function returns, or raises, in a process that sees the same modules.

    Arguments and result are what JSON holds. It is called here where pyarrow is loaded already,
    where no other process can be had, and where that fails by anything but an ArchiveError or an
    OSError: it may be of another version by now. Raises TimeoutError after `longest` seconds.
    """
    if HEAVY in sys.modules:
        return function(*arguments)
    told = {
        "path": sys.path,
        "version": __version__,
        "function": (function.__module__, function.__qualname__),
        "arguments": arguments,
    }
    try:
        with tempfile.TemporaryFile() as file:
            subprocess.run(
                [sys.executable, "-P", "-c", _PROGRAM, str(file.fileno())],
                input=json.dumps(told).encode(),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=[file.fileno()],
                start_new_session=True,  # Ctrl-C is for this process, which ends when this is done
                timeout=longest,
                check=True,
            )
            file.seek(0)
            outcome = json.load(file)
    except subprocess.TimeoutExpired:
        raise TimeoutError(f"it took longer than {longest:g} s") from None
    except (OSError, subprocess.CalledProcessError, TypeError, ValueError):
        return function(*arguments)  # what is wrong with it is raised here
    if "archive" in outcome:
        raise ArchiveError(outcome["archive"])
    if "os" in outcome:
        raise OSError(*outcome["os"])
    return outcome["result"]  # type: ignore[no-any-return]  # what the function returned


def answer(told: Mapping[str, Any], descriptor: int) -> None:
    """The other process: call what is told, and write what came of it to a file."""
    if told["version"] != __version__:
        raise SystemExit(1)
    module, name = told["function"]
    function = getattr(import_module(module), name)
    outcome: dict[str, Any]
    try:
        outcome = {"result": function(*told["arguments"])}
    except ArchiveError as error:
        outcome = {"archive": str(error)}
    except OSError as error:
        outcome = {"os": (error.errno, error.strerror or str(error))}
    with os.fdopen(descriptor, "w") as file:
        json.dump(outcome, file)
