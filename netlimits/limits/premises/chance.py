"""Evidence that losses are not random, as on a path with errors, but a policer's.

Random losses come one by one, hold TCP to the rate of Mathis's formula, vary between runs as much
as chance alone would, and hit retransmissions as often as first transmissions.
"""

from __future__ import annotations

import math

from netlimits.limits import bounds
from netlimits.limits.base import Premise
from netlimits.limits.figures import RunFigures

MOST = 3.0
"""Ratio of throughput to the bound for random losses (`bounds`) from which losses are not random.
Paths that lost 0.5 and 2 % had 0.9 to 1.3, paths that lost 0.1 % for 3 s had 1.3 to 3.2, policers
3.7 to 17."""
BURST = MOST**2
"""Segments sent again per recovery from which losses are not random. TCP reacts once to all of
them, so the bound of MOST is too low by their square root. Random losses had 1.0 to 1.4, policers
3.5 to 20; some paths lose several in a row by chance, so values in between decide nothing."""
CHANCE = 0.6
"""Maximum strength of the evidence against chance for losses to count as random."""
STEADIER = 0.1
"""Spread of three or more runs (1 − slowest / fastest), times √n for n losses, below which losses
are not random. Random losses are below it once in a hundred cases (1.0 to 1.8 were seen); policers
had 0.0 to 1.5."""
SPARED, EXPECTED = 0.5, 10.0
"""Maximum ratio of the retransmissions lost to those that random losses would hit, and minimum
number that they would hit. Policers hit 3 to 35 where chance would have hit 86 to 104."""
SURE = 2.0
"""Maximum strength of one piece of evidence."""


def steady(run: RunFigures, least: float) -> list[Premise]:
    """Return the premise that the slowest run is at least `least` of the fastest.

    There is none if the spread is unknown.
    """
    if run.slowest is None:
        return []
    short = f"the slowest run had {100 * run.slowest:.0f} % of the fastest"
    return [Premise.reached(run.slowest, least, short)]


def steadiness(run: RunFigures) -> float:
    """Return the strength of the evidence that runs are steadier than random losses allow."""
    retransmitted = run.sent("tcp_retrans_segs")
    if run.slowest is None or not retransmitted:
        return 0.0
    return min(SURE, STEADIER / max((1 - run.slowest) * math.sqrt(retransmitted), 1e-9))


def against(run: RunFigures) -> tuple[float, str]:
    """Return the strength of the evidence that losses are not random, and its main reason."""
    retransmitted, rate, share = run.sent("tcp_retrans_segs"), run.throughput, run.retransmitted
    if not retransmitted or not rate or not share:
        return 0.0, "nothing was lost"
    figures: dict[str, float] = {}
    if bound := bounds.of_mechanism("loss", run):
        times = rate / bound.mbps
        figures[f"{times:.1f} times what as many random losses allow arrived"] = times / MOST
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
