"""Verdicts: for each configuration the class of limits, its evidence, and what decides.

frame = nl.explain(nl.open("results/stateless-offloads-20260101-120000"))

A class of limits is a file in `classes/`. It is pure: it takes a run's figures and returns a sign.
`verdicts` weighs the signs, and `explained` computes them for a campaign. What a run's counters
suggest, an intervention must prove: `sequel` writes that experiment, and `proof` reads its result.
"""

from __future__ import annotations

from netlimits.limits.classes import CLASSES
from netlimits.limits.verdicts import UNDETERMINED, Verdict

__all__ = ["CLASSES", "UNDETERMINED", "Verdict"]
