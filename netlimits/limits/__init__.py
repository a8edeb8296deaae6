"""What limited the data rate: for each configuration a class of limits, its evidence, what decides.

    frame = nl.explain(nl.open("results/stateless-offloads-20260101-120000"))

One file a class (`classes/`), pure: figures of a run in, a sign out. `verdicts` weighs the signs,
`explained` reads them off a campaign. What one run's counters suggest an intervention must prove:
`sequel` writes the experiment that makes it, and `proof` reads what came of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from netlimits.limits.classes import CLASSES
from netlimits.limits.verdicts import UNDETERMINED, Verdict

if TYPE_CHECKING:
    from netlimits.limits.explained import explain, limited_by, runs

__all__ = ["CLASSES", "UNDETERMINED", "Verdict", "explain", "limited_by", "runs"]


def __getattr__(name: str) -> Any:
    """What needs pandas, imported when it is first used: the names of figures need none."""
    if name not in __all__:
        raise AttributeError(f"module 'netlimits.limits' has no attribute {name!r}")
    from netlimits.limits import explained

    return getattr(explained, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
