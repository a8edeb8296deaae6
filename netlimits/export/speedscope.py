"""The file format of the profile viewer speedscope (https://www.speedscope.app)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from netlimits.export.base import Runs

SCHEMA = "https://www.speedscope.app/file-format-schema.json"


def speedscope(runs: Runs) -> Iterator[str]:
    """Yield a JSON object with a profile for each profiled end and configuration.

    A stack is a list of indices into the list of functions.
    """
    numbers: dict[str, int] = {}
    profiles = []
    for title, stacks in runs.stacks.items():
        samples = [
            [numbers.setdefault(name, len(numbers)) for name in stack.split(";")]
            for stack in stacks
        ]
        weights = [*stacks.values()]
        profiles.append(
            {
                "type": "sampled",
                "name": title,
                "unit": "none",
                "startValue": 0,
                "endValue": sum(weights),
                "samples": samples,
                "weights": weights,
            }
        )
    document = {
        "$schema": SCHEMA,
        "name": runs.name,
        "exporter": "netlimits",
        "activeProfileIndex": 0,
        "shared": {"frames": [{"name": name} for name in numbers]},
        "profiles": profiles,
    }
    yield json.dumps(document, ensure_ascii=True) + "\n"
