"""What limited the data rate: for each configuration a class of limits, its evidence, what decides.

    frame = nl.explain(nl.open("results/stateless-offloads-20260101-120000"))

One file a class (`classes/`), pure: figures of a run in, a sign out. `verdicts` weighs the signs,
`explained` reads them off a campaign. What one run's counters suggest an intervention must prove:
`sequel` writes the experiment that makes it, and `proof` reads what came of it.
"""

from __future__ import annotations

from netlimits.limits.classes import CLASSES
from netlimits.limits.verdicts import UNDETERMINED, Verdict

__all__ = ["CLASSES", "UNDETERMINED", "Verdict"]
