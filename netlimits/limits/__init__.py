"""Verdicts: what limits each configuration, on what evidence, and which change would prove it."""

from __future__ import annotations

from netlimits.limits.classes import CLASSES
from netlimits.limits.verdicts import UNDETERMINED, Verdict

__all__ = ["CLASSES", "UNDETERMINED", "Verdict"]
