"""Code in a process of its own, killed right before one of its calls that change a disk."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable

_PRELUDE = """\
import os, signal, sys
from pathlib import Path
last, count = int(sys.argv[2]), 0
def killing(act):
    def step(*given, **named):
        global count
        count += 1
        if count > last:
            os.kill(os.getpid(), signal.SIGKILL)
        return act(*given, **named)
    return step
for name in sys.argv[1].split(","):
    setattr(os, name, killing(getattr(os, name)))
place = Path(sys.argv[3])
"""


def killed_after(
    last: int, calls: Iterable[str], code: str, place: object
) -> subprocess.CompletedProcess[bytes]:
    """Run code with `place` until `last` of these calls of `os` are made; whole if there are fewer.

    `code` may print `count`, the calls so far.
    """
    words = [sys.executable, "-c", _PRELUDE + code, ",".join(calls), str(last), str(place)]
    return subprocess.run(words, capture_output=True, check=False)
