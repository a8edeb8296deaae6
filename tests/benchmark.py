"""Load programs of `benchmarks/` as modules, to test what they compute."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"


def module(name: str) -> Any:
    """Load `benchmarks/NAME.py` as the module NAME, as other benchmarks import it."""
    path = BENCHMARKS / f"{name}.py"
    known = sys.modules.get(name)
    if known and known.__file__ == str(path):
        return known
    specification = importlib.util.spec_from_file_location(name, path)
    assert specification
    assert specification.loader
    sys.modules[name] = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(sys.modules[name])
    return sys.modules[name]
