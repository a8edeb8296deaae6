"""A cap on each connection: each has the same rate, however many connections there are."""

from __future__ import annotations

from netlimits.limits.base import Intervention, Label, Premise, Sign
from netlimits.limits.classes.path.path_cap import PathCap
from netlimits.limits.figures import RunFigures, mbps
from netlimits.limits.premises import cpus, goal, queues

WITHIN = 0.1
"""Maximum relative difference between the rates per connection with few and with many
connections."""
OTHER_NUMBER = 1.5
"""Minimum ratio of two numbers of connections whose rates are compared."""
UNTOLD = 0.75
"""Factor on the strength of `path-cap` if no other number of connections was measured."""
WAITED_PCT = 50.0
"""Maximum % of the time that a connection waits for a window, a buffer or its program."""


class PerFlowCap:
    name = "per-flow-cap"
    title = "A cap on each connection"
    needs = ("connections", "cpu_peak_pct", "rwnd_limited_pct")
    intervention = Intervention(
        "a second stream: nearly twice the sum", "streams", 2, 1.7, 2.3, specific=False
    )
    labels: tuple[Label, ...] = ()

    def sign(self, run: RunFigures) -> Sign | None:
        """Return a sign from equal rates per connection with different numbers of connections.

        If only one number of connections was measured, return the sign of `path-cap`, weakened.
        """
        rate, busiest = run.throughput, cpus.its_own_pct(run)
        if not rate or busiest is None or run.udp:
            return None
        others = {
            number: other
            for number, other in run.rates_by_streams.items()
            if max(number / run.flows, run.flows / number) >= OTHER_NUMBER
        }
        figures = {"throughput_mbps": rate, "connections": run.flows}
        if not others:
            cap = PathCap().sign(run)
            if cap is None:
                return None
            short = "one number of streams alone cannot show it"
            return Sign((Premise(UNTOLD * min(1.0, cap.strength), short),), "", figures)
        each = rate / run.flows
        differences = {number: abs(other / number / each - 1) for number, other in others.items()}
        number = max(differences, key=differences.__getitem__)
        text = f"{mbps(each)} a connection of {run.flows:.0f}"
        other_rate = f"{mbps(others[number] / number)} of {number:.0f}"
        premises = [
            Premise.below(differences[number], WITHIN, f"they differ: {text}, {other_rate}"),
            Premise.below(busiest, cpus.ROOM_PCT, f"the busiest CPU was {busiest:.0f} % busy"),
            *goal.premises(run),
            *queues.read_at_once(run),
        ]
        for name in ("rwnd_limited_pct", "sndbuf_limited_pct", "app_limited_pct"):
            if (waited := run.sent(name)) is not None:
                short = (
                    f"each waited for a window, a buffer or its program {waited:.0f} % of the time"
                )
                premises.append(Premise.below(waited, WAITED_PCT, short))
        return Sign(
            tuple(premises), f"A cap on each connection: {text}, and {other_rate}.", figures
        )
