"""Evidence that a policer causes losses, because the losses do not look random.

Random losses, such as those from transmission errors, have four properties:

- segments are lost one at a time;
- TCP is not much faster than the bound for random losses (`bounds`);
- throughput varies between runs as much as chance makes it vary;
- retransmissions are lost as often as first transmissions.

The evidence is strong if the losses clearly lack one of these properties.
"""

from __future__ import annotations

import math

from netlimits.limits import bounds
from netlimits.limits.base import Premise
from netlimits.limits.figures import RunFigures

MOST = 3.0
"""Minimum ratio of throughput to the bound for random losses (`bounds`) if losses are not random.
On paths with random loss of 0.5 and 2 %, the ratio was 0.9 to 1.3. At 0.1 % and in runs of 3 s, it
was 1.3 to 3.2. With policers it was 3.7 to 17."""
BURST = MOST**2
"""Minimum number of retransmitted segments per recovery if losses are not random. TCP slows down
only once per recovery, so n segments per recovery make throughput √n times the bound for random
losses. The number was 1.0 to 1.4 with random losses and 3.5 to 20 with policers. Some paths lose
several segments in a row by chance, so the minimum is well above 3.5."""
CHANCE = 0.6
"""Maximum strength of the evidence from `against` if losses count as random."""
STEADIER = 0.1
"""Maximum value of s × √n if losses are not random. Here s = 1 − slowest / fastest of three or more
runs, and n is the number of retransmitted segments. Random losses give a lower value in 1 of 100
cases. Measured values were 1.0 to 1.8 with random losses, and 0.0 to 1.5 with policers."""
SPARED, EXPECTED = 0.5, 10.0
"""SPARED is the maximum ratio of lost retransmissions to the number that chance predicts, if losses
are not random. EXPECTED is the minimum predicted number for the ratio to count. With policers 3 to
35 retransmissions were lost, while chance predicted 86 to 104."""
SURE = 2.0
"""Maximum strength of evidence: higher values are cut off."""


def steady(run: RunFigures, least: float) -> list[Premise]:
    """Return the premise that the slowest run reached `least` times the fastest run's rate.

    The list is empty if the ratio of these rates is unknown.
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
    """Return the strength of the evidence that losses are not random, and the evidence in words.

    The strongest of the four kinds of evidence counts.
    """
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
