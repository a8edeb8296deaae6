"""Softirq: one CPU is fully busy with receiving or sending packets."""

from __future__ import annotations

from netlimits.limits import places
from netlimits.limits.base import Intervention, Label, Premise, Sign
from netlimits.limits.figures import RunFigures
from netlimits.limits.premises import queues

SOFTIRQ_PCT = 90.0
IN_BACKLOG = 0.5
"""Minimum share of the lost datagrams that a full backlog dropped. A full backlog shows that
softirq was too slow, even if no CPU was full."""
SOFTNET = {
    "softnet_dropped": "{} packets were dropped at the backlog",
    "softnet_squeezed": "its budget ran out {} times",
}
"""Counter of softirq -> the clause for it in the sentence."""

SLOW = """\
    switch:
      verify: [sh, -c, "tc qdisc show dev data0 | grep -c clsact || :"]
      command:
        "0": [tc, qdisc, del, dev, data0, clsact]
        "1":
          - sh
          - -c
          - >-
            tc qdisc add dev data0 clsact; for n in $(seq 8000); do
            echo filter add dev data0 ingress protocol ip prio 1 u32
            match ip protocol 255 0xff match ip dport $n 0xffff flowid 1:1; done | tc -batch -
      to: "1"
"""
"""Adds 8,000 filter rules that never match. Softirq checks each packet against all of them."""

LABEL = Label(
    f"""factors: {{mss: [536, 1460], send_size: [4096, 16384, 65536, 131072]}}
settings:
  - roles: [sender]
    offload: {{tso: off, gso: off}}
  - roles: [receiver]
{SLOW}streams: 4
measure:
  netperf:
    test: TCP_STREAM
    seconds: 2
    interim_seconds: 0.5
    mss: "${{mss}}"
    send_size: "${{send_size}}"
    cpu_bind: "0,0"
""",
    lab="",
)
"""Between network namespaces, softirq runs on the CPU that sends. RPS spreads the streams over all
CPUs."""


class SoftirqCore:
    name = "softirq-core"
    title = "Softirq on one CPU"
    needs = ("cpu_peak_softirq_pct", *SOFTNET)
    intervention = Intervention("RPS, RSS or the interrupt on another CPU", "rps", least=1.1)
    labels = (LABEL,)

    def sign(self, run: RunFigures) -> Sign | None:
        """Return a sign from the highest softirq share of any CPU, and the drops of the backlog."""
        shares = {
            end: share
            for end in (run.receiver, run.sender)
            if (share := run.figure(f"{end}_cpu_peak_softirq_pct")) is not None
        }
        if not shares:
            return None
        end = max(shares, key=shares.__getitem__)
        who = "receiver" if end == run.receiver else "sender"
        cpu = run.cpu_name(end, "peak_softirq")
        tail, figures = "", {f"{end}_cpu_peak_softirq_pct": shares[end]}
        for name, words in SOFTNET.items():
            count = run.figure(f"{end}_{name}")
            if count is not None:
                figures[f"{end}_{name}"] = count
                tail += f"; {words.format(f'{count:,.0f}')}" if count else ""
        short = f"no CPU does more softirq than the {who}'s {cpu}, {shares[end]:.0f} %"
        backlog = places.share(run, places.IN_BACKLOG) or 0.0
        lost = run.sent_datagrams_lost or 0.0
        dropped = min(lost / queues.LOST_BEHIND, backlog / IN_BACKLOG)
        return Sign(
            (Premise(max(shares[end] / SOFTIRQ_PCT, dropped), short),),
            f"The {who}'s softirq on {cpu} ({shares[end]:.0f} %){tail}.",
            figures,
        )
