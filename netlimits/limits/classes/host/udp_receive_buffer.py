"""A UDP receive buffer that overflowed while the receiver had CPU left."""

from __future__ import annotations

from netlimits.limits.base import Intervention, Label, Premise, Sign
from netlimits.limits.figures import RunFigures

SHARE_OF_LOST = 0.8
"""Minimum share of the lost datagrams that found the buffer full."""
LOSS = 0.09
"""Minimum share of datagrams lost. Without losses of this share, a tenth more would arrive."""
CPU_LEFT_PCT = 95.0
"""Maximum use of the receiver's busiest CPU, in percent. Above it, that CPU may be too slow. If
both ends share a machine, the CPU use and waits of the receiving program are compared instead."""

LABELS = (
    Label(
        """factors: {send_size: [256, 1024], buffer: [2304, 8192]}
measure:
  netperf: {test: UDP_STREAM, seconds: 2, send_size: "${send_size}", remote_buffer: "${buffer}"}
"""
    ),
    Label(
        """factors: {rate: [10M, 30M], buffer: [2304, 4608]}
settings:
  - {roles: [receiver], sysctl: {net.core.rmem_default: "${buffer}"}}
measure:
  iperf3: {protocol: udp, seconds: 2, rate: "${rate}", send_size: 1024, parallel: 4}
"""
    ),
)


class UdpReceiveBuffer:
    name = "udp-receive-buffer"
    title = "The UDP receive buffer"
    needs = ("udp_rcvbuf_errors", "udp_out_datagrams", "udp_in_datagrams", "cpu_peak_pct")
    intervention = Intervention("twice the receive buffer (rmem)", "receive_buffer", 2, 1.1)
    labels = LABELS

    def sign(self, run: RunFigures) -> Sign | None:
        """Return a sign from the datagrams that found the buffer full, if the CPU had time left."""
        errors, peak = run.received("udp_rcvbuf_errors"), run.busiest_pct(run.receiver)
        if run.one_machine:
            peak = run.wanted_pct(run.receiver)
        sent, arrived = run.sent("udp_out_datagrams"), run.received("udp_in_datagrams")
        if errors is None or sent is None or arrived is None or peak is None or not run.udp:
            return None
        lost = sent - arrived
        if not sent or lost / sent < LOSS:
            share = f"{100 * max(lost, 0.0) / sent:.2g}" if sent else "none"
            little = Premise(0.0, f"{share} % of the datagrams were lost: more buffer gains little")
            return Sign((little,), "", {"udp_rcvbuf_errors": errors})
        text = f"{errors:,.0f} of {lost:,.0f} lost datagrams found it full"
        which = "program" if run.one_machine else "busiest CPU"
        cpu = f"the receiver's {which} was {peak:.0f} % busy"
        return Sign(
            (
                Premise.reached(errors / lost, SHARE_OF_LOST, f"only {text}"),
                Premise.below(peak, CPU_LEFT_PCT, f"{cpu}, and may have been too slow"),
            ),
            f"The receive buffer of the UDP socket: {text}, while {cpu}.",
            {"udp_rcvbuf_errors": errors, "datagrams_lost": lost, "cpu_peak_pct": peak},
        )
