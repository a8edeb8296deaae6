"""Premises on losses: random ones, as on a path with errors, or those of a policer.

Random losses come one by one, hold TCP to the rate of Mathis's formula, vary between runs as much
as chance alone would, and hit retransmissions as often as first transmissions.
"""

from __future__ import annotations

import math

from netlimits.limits import bounds
from netlimits.limits.figures import RunFigures

MOST = 3.0
"""Throughput over what chance allows (`bounds`), from which on it is not chance. Paths that lost
0.5 and 2 % had 0.9 to 1.3, 0.1 % in 3 s 1.3 to 3.2, policers 3.7 to 17."""
BURST = MOST**2
"""Segments sent again in each recovery: TCP sees one loss in so many, for which the bound above is
the root of it too low. By chance 1.0 to 1.4 were, under policers 3.5 to 20; some paths lose several
in a row by chance, so that what lies between tells neither."""
CHANCE = 0.6
"""How strongly losses may speak against chance where they are told to be by chance."""
STEADIER = 0.1
"""Fastest less slowest run over 1 / √n of n losses, three runs and more: by chance it is so little
once in a hundred times (1.0 to 1.8 were seen), under policers it was 0.0 to 1.5."""
SPARED, EXPECTED = 0.5, 10.0
"""Of the retransmissions that chance would lose, those that were lost at most; and how many it has
to lose for that to tell: under policers 3 to 35 were, of 86 to 104."""
SURE = 2.0
"""The most that one of these counts for."""


def steadiness(run: RunFigures) -> float:
    """Return how much steadier runs are than chance makes of their losses; 0 if not known."""
    retransmitted = run.sent("tcp_retrans_segs")
    if run.slowest is None or not retransmitted:
        return 0.0
    return min(SURE, STEADIER / max((1 - run.slowest) * math.sqrt(retransmitted), 1e-9))


def against(run: RunFigures) -> tuple[float, str]:
    """Return how strongly a run's losses speak against chance, 1 and more do, and what does most.

    0 where nothing is known, or nothing was lost.
    """
    retransmitted, rate, share = run.sent("tcp_retrans_segs"), run.throughput, run.retransmitted
    if not retransmitted or not rate or not share:
        return 0.0, "nothing was lost"
    figures: dict[str, float] = {}
    if bound := bounds.of_run(run).get("loss"):
        times = rate / bound.mbps
        figures[f"{times:.1f} times what so many losses by chance allow arrived"] = times / MOST
    if recoveries := run.sent("tcp_recoveries"):
        burst = retransmitted / recoveries
        figures[f"{burst:.1f} segments were lost at a time"] = burst / BURST
    if run.slowest is not None:
        words = f"all runs had the same rate, within {max(0.1, 100 * (1 - run.slowest)):.1g} %"
        figures[words] = steadiness(run)
    twice, timeouts = run.sent("tcp_lost_retransmits"), run.sent("tcp_timeouts")
    expected = share * retransmitted
    if twice is not None and timeouts is not None and expected >= EXPECTED:
        words = f"{twice:,.0f} retransmissions were lost; chance would have lost {expected:,.0f}"
        figures[words] = SPARED * expected / max(1.0, twice + timeouts)
    if not figures:
        return 0.0, "no bound is known"
    most = max(figures, key=figures.__getitem__)
    return min(SURE, figures[most]), most
