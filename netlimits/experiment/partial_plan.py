"""The part of an experiment with errors whose packets are certain, for the checks of its plan."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from netlimits.errors import DocumentError
from netlimits.experiment import load
from netlimits.experiment.document import KeyPath
from netlimits.experiment.plan import Plan, seeded
from netlimits.experiment.validation import plan_errors
from netlimits.settings import SETTINGS

PACKETS = frozenset(
    ("mss", "send_size", "request_size", "response_size", "protocol", "test", "direction", "rate")
)
"""Options of tools that tell how large packets are."""


def rest(path: Path, overrides: Sequence[tuple[str, str]]) -> tuple[Plan, bool] | None:
    """Return the plan that a file with errors still allows, and True if all options are valid."""
    try:
        experiment, errors = load.examined(path, overrides)
        known = [*errors]
        if not known:
            try:
                Plan(seeded(experiment))
            except DocumentError as error:
                known = [*error.errors]
        left = plan_errors.left(experiment, known)
        if left is None or any(_about_packets(cut) for cut in left.cuts):
            return None
        options_valid = not any(cut[0] in ("measure", "streams") for cut in left.cuts)
        return Plan(seeded(left.experiment)), options_valid
    except DocumentError:
        return None


def _about_packets(cut: KeyPath) -> bool:
    section, *steps = cut
    if section == "measure":
        return len(steps) < 2 or steps[1] in PACKETS
    if section == "settings":
        known = {setting.name for setting in SETTINGS}
        return len(steps) < 2 or steps[1] == "mtu" or steps[1] not in known
    return section in ("roles", "family", "pace")
