"""The settings, in the order in which they are put back in reverse.

Within a run they are applied in the order of the experiment's file; this tuple is the registry
and says which one comes first where a host has to be put back without a file at hand.
"""

from __future__ import annotations

from netlimits.settings.base import Setting
from netlimits.settings.offload import Offload

SETTINGS: tuple[Setting, ...] = (
    Offload(),  # nothing else moves an offload once it is set, so its place does not matter yet
)


def setting(name: str) -> Setting:
    """The setting of that name; KeyError when there is none (an experiment is checked before)."""
    return {s.name: s for s in SETTINGS}[name]
