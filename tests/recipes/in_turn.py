"""`in_turn.py PACKAGE`: for each line of the input, [folder, words], run a command in a fork.

This process loads the libraries once, and never netlimits, whose copy in PACKAGE changes.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import runpy
import sys
from pathlib import Path

from warm import _HEAVY

for name in _HEAVY:
    importlib.import_module(name)
for line in sys.stdin:
    folder, words = json.loads(line)
    child = os.fork()
    if not child:
        os.dup2(1, 2)
        os.chdir(folder)
        os.environ["XDG_STATE_HOME"] = str(Path(folder, "state"))
        sys.path.insert(0, sys.argv[1])
        sys.argv = words
        with contextlib.suppress(SystemExit):
            if words[0].endswith(".py"):
                sys.path.insert(1, str(Path(words[0]).parent))
                runpy.run_path(words[0], run_name="__main__")
            else:
                runpy.run_module("netlimits", run_name="__main__")
        sys.stdout.flush()
        os._exit(0)
    os.waitpid(child, 0)
    os.write(1, b"\n\0\n")
