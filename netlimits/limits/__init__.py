"""Verdicts: for each configuration the class of limits, its evidence, and what decides."""

from __future__ import annotations

from netlimits.limits.classes import CLASSES
from netlimits.limits.verdicts import UNDETERMINED, Verdict

__all__ = ["CLASSES", "UNDETERMINED", "Verdict"]
