"""CPU time of processes that are neither the tool's nor ours, as `other_processes.pl` prints it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from netlimits.model import Completed, Scalar

_ALL = re.compile(r"^others ([0-9]{1,12}\.[0-9]{2}) of ([0-9]{1,9}\.[0-9]{3})$", re.MULTILINE)
_BUSIEST = re.compile(r"^other [0-9.]{1,15} [0-9]{1,10} (.{1,64})$", re.MULTILINE)


def figures(samples: Sequence[Completed]) -> dict[str, Scalar]:
    """Return `other_cpu_pct`, % of one CPU, and `other_cpu_of` of the host where it was highest."""
    counted = []
    for sample in samples:
        total = _ALL.search(sample.stdout)
        if not total or not float(total[2]):
            return {}
        busiest = _BUSIEST.search(sample.stdout)
        percent = 100 * float(total[1]) / float(total[2])
        counted.append((percent, busiest[1] if busiest else ""))
    if not counted:
        return {}
    percent, name = max(counted)
    return {"other_cpu_pct": percent, **({"other_cpu_of": name} if name else {})}
