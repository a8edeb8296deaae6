"""Datagrams sent faster than the path carries them: the path drops the excess."""

from __future__ import annotations

from netlimits.limits import places
from netlimits.limits.base import Label, Premise, Sign
from netlimits.limits.classes.path.policer import SEND_LESS
from netlimits.limits.figures import RunFigures
from netlimits.limits.premises import queues

ON_PATH = 0.8
"""Minimum share of the losses that occur on the path, because neither host counts them."""

LABELS = tuple(
    Label(
        f"""factors: {{rate: [{rates}], send_size: [700, 1400]}}
measure:
  iperf3: {{protocol: udp, seconds: 2, rate: "${{rate}}", send_size: "${{send_size}}"}}
""",
        link=f"--rate {cap}",
    )
    for cap, rates in (("10mbit", "15M, 30M"), ("20mbit", "25M, 60M"))
)


class UdpAbovePath:
    name = "udp-above-path"
    title = "Datagrams faster than the path"
    needs = ("udp_out_datagrams", "udp_in_datagrams", "udp_rcvbuf_errors")
    intervention = SEND_LESS
    labels = LABELS

    def sign(self, run: RunFigures) -> Sign | None:
        """Return a sign from the share of datagrams lost, and the part of it lost on the path."""
        share, sent = run.sent_datagrams_lost, run.sent("udp_out_datagrams")
        if share is None or not sent or run.received("udp_rcvbuf_errors") is None:
            return None
        on_path = places.share(run, places.PATH) or 0.0
        lost = f"{100 * share:.2g} % of the datagrams sent were lost"
        text = f"{lost}, {100 * on_path:.0f} % of these on the path"
        return Sign(
            (
                Premise.reached(share, queues.LOST_BEHIND, f"only {lost}"),
                Premise.reached(on_path, ON_PATH, f"only {100 * on_path:.0f} % of it on the path"),
            ),
            f"More was sent than the path carries: {text}.",
            {"datagrams_lost": share * sent, "udp_out_datagrams": sent},
        )
