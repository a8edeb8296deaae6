"""Settings of a host's CPUs: their frequencies, their idle states, and a background load."""

from __future__ import annotations

from netlimits.settings.cpus.c_states import CStates
from netlimits.settings.cpus.governor import Governor
from netlimits.settings.cpus.load import Load

__all__ = ["CStates", "Governor", "Load"]
