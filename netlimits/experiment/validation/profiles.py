"""The errors of `profile:` that a schema cannot state."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from netlimits.experiment import templates
from netlimits.experiment.around_schema import PROFILE
from netlimits.experiment.mesh import pairs
from netlimits.experiment.validation.names import Names
from netlimits.model import Mesh


def ends(groups: Mapping[str, tuple[str, ...]]) -> list[str]:
    """Return the roles that measure: the first and the last, or both ends of a mesh's pairs."""
    if pairs.HOSTS in groups:
        return [Mesh.SENDER, Mesh.RECEIVER]
    return [*groups][:: max(1, len(groups) - 1)]


def check(names: Names, data: Mapping[str, Any], groups: Mapping[str, tuple[str, ...]]) -> None:
    """Add the errors of an experiment's `profile:`."""
    block = data[PROFILE]
    for key, written in block.items():
        if templates.is_template(written):
            problem = f"must not be {written}: all configurations are profiled alike"
            names.fault(problem, PROFILE, key)
    measuring = {*ends(groups), *(member for role in ends(groups) for member in groups[role])}
    roles = block.get("roles", ())
    for index, role in enumerate(roles if isinstance(roles, list) else ()):
        if role in groups and role not in measuring and pairs.HOSTS not in groups:
            problem = f"{role} does not measure; profile {' or '.join(ends(groups))}"
            names.fault(problem, PROFILE, "roles", index)
    if "search" in data:
        names.fault("cannot be used with a search, whose trials depend on each other", PROFILE)
    if data.get("repeat", {}).get("order") == "coin-flips":
        names.fault("needs blocks, which coin-flips does not have; use order: blocked", PROFILE)
