"""Several flows that share one receive queue while other queues of the NIC are idle."""

from __future__ import annotations

from netlimits.limits.base import Intervention, Label, Premise, Sign
from netlimits.limits.classes.host.softirq_core import SLOW
from netlimits.limits.figures import RunFigures

SOFTIRQ_PCT = 80.0
"""Minimum % of softirq on the CPU that serves the queue. The reading program may use the rest."""
OF_ONE = 0.9
"""Minimum share of the interrupts that come from the busiest queue, or of the packets that the
busiest CPU processes."""
FLOWS, QUEUES = 2.0, 2.0
"""Minimum number of flows, and of receive queues."""
IDLE = 0.85
"""Maximum ratio of the mean CPU use to the use of the busiest CPU. Below it, other CPUs have time
left. It was 0.77 to 0.82 on machines with two CPUs. There, spreading the flows over both CPUs
raised throughput 1.8 to 2.2 times."""

LABEL = Label(
    f"""factors: {{mss: [536, 1460], send_size: [16384, 65536]}}
settings:
  - roles: [receiver]
    rss: {{equal: 1}}
    offload: {{gro: off, rx-gro-hw: {{want: off, if_fixed: accept}}}}
{SLOW}streams: 4
measure:
  netperf: {{test: TCP_STREAM, seconds: 2, mss: "${{mss}}", send_size: "${{send_size}}"}}
""",
    lab="--machines --cpus 2",
)
"""The NIC's RSS table sends all flows to one of two queues.

SLOW makes softirq the limit, so that RPS raises throughput by adding a CPU.
"""


class QueueCollision:
    name = "queue-collision"
    title = "One receive queue of several"
    needs = ("cpu_peak_softirq_pct", "nic_interrupts", "nic_interrupts_busiest")
    intervention = Intervention("received packets on all CPUs, or flows spread", "rps", least=1.1)
    labels: tuple[Label, ...] = (LABEL,)

    def sign(self, run: RunFigures) -> Sign | None:
        """Return a sign from the busiest receive queue's share of packets and its CPU's softirq."""
        end = run.receiver
        every, most = run.received("nic_interrupts"), run.received("nic_interrupts_busiest")
        softirq, peak = run.received("cpu_peak_softirq_pct"), run.received("cpu_peak_pct")
        mean, queues = run.received("cpu_pct"), run.queues.get(end)
        if not every or most is None or softirq is None or not peak or mean is None or not queues:
            return None
        taken, busiest = run.received("softnet_packets"), run.received("softnet_busiest")
        share = max(most / every, busiest / taken if busiest and taken else 0.0)
        text = f"{100 * share:.0f} % of the receiver's packets came through one queue"
        return Sign(
            (
                Premise.reached(
                    softirq, SOFTIRQ_PCT, f"no CPU spent more than {softirq:.0f} % on softirq"
                ),
                Premise.reached(share, OF_ONE, f"only {text}"),
                Premise.reached(run.flows, FLOWS, "there was one flow"),
                Premise.reached(queues, QUEUES, "the NIC has one queue"),
                Premise.below(mean / peak, IDLE, f"all CPUs together were {mean:.0f} % busy"),
            ),
            f"One queue of {queues}: {text}, of {run.flows:.0f} flows; its CPU spent "
            f"{softirq:.0f} % on softirq, while all CPUs together were {mean:.0f} % busy.",
            {f"{end}_nic_interrupts_busiest": most, f"{end}_nic_interrupts": every},
        )
