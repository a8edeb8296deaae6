"""Fill a pipe slowly, for a program that sends what it reads there: a disk that does not keep up.

    source.py PIPE BYTES SECONDS

It makes the pipe, and writes BYTES to whoever reads it every SECONDS.
"""

from __future__ import annotations

import os
import sys
import time
from contextlib import suppress
from pathlib import Path


def main() -> None:
    """Feed one reader after the other, until this program is ended."""
    path, size, pause = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
    os.mkfifo(path)
    while True:
        with suppress(BrokenPipeError), Path(path).open("wb", buffering=0) as pipe:
            while True:
                pipe.write(bytes(size))
                time.sleep(pause)


if __name__ == "__main__":
    main()
