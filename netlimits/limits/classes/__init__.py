"""The classes of limits of hosts and of the path, in order of precedence.

If several classes fire, the first of them is the verdict, because it can also explain the evidence
for the others. Exception: the CPUs of the two ends (see `verdicts.RIVALS`). The order is:

- limits that the experiment or the program sets: a pace, a target rate, too little data to send,
  one transaction per round trip;
- limits set up on a host: a shaper, a CPU quota;
- a UDP receive buffer that overflows;
- CPUs busy with softirq, then datagrams that are fragmented or lost on the path, then small sends;
- the CPU of either end, then all CPUs of a machine that both ends share;
- the reading program, the receive window and the send buffer;
- the link's rate, a packet rate, a cap on each connection, and a run that is too short;
- the return path, a cap on the path, a policer, and random loss.
"""

from __future__ import annotations

from netlimits.limits.base import LimitClass
from netlimits.limits.classes.host.application import Application
from netlimits.limits.classes.host.cpu import EndCpu
from netlimits.limits.classes.host.cpu_quota import CpuQuota
from netlimits.limits.classes.host.fragmentation import Fragmentation
from netlimits.limits.classes.host.host_full import HostFull
from netlimits.limits.classes.host.local_shaper import LocalShaper
from netlimits.limits.classes.host.pacing import Pacing
from netlimits.limits.classes.host.queue_collision import QueueCollision
from netlimits.limits.classes.host.receive_window import ReceiveWindow
from netlimits.limits.classes.host.send_buffer import SendBuffer
from netlimits.limits.classes.host.slow_reader import SlowReader
from netlimits.limits.classes.host.small_sends import SmallSends
from netlimits.limits.classes.host.softirq_core import SoftirqCore
from netlimits.limits.classes.host.too_short import TooShort
from netlimits.limits.classes.host.udp_receive_buffer import UdpReceiveBuffer
from netlimits.limits.classes.path.ack_path import AckPath
from netlimits.limits.classes.path.latency import Latency
from netlimits.limits.classes.path.link import LinkRate
from netlimits.limits.classes.path.loss import Loss
from netlimits.limits.classes.path.packet_rate import PacketRate
from netlimits.limits.classes.path.path_cap import PathCap
from netlimits.limits.classes.path.per_flow_cap import PerFlowCap
from netlimits.limits.classes.path.policer import Policer
from netlimits.limits.classes.path.udp_above_path import UdpAbovePath

CLASSES: tuple[LimitClass, ...] = (
    Pacing(),
    Application(),
    Latency(),
    LocalShaper(),
    CpuQuota(),
    UdpReceiveBuffer(),
    QueueCollision(),
    SoftirqCore(),
    Fragmentation(),
    UdpAbovePath(),
    SmallSends(),
    EndCpu("sender"),
    EndCpu("receiver"),
    HostFull(),
    SlowReader(),
    ReceiveWindow(),
    SendBuffer(),
    LinkRate(),
    PacketRate(),
    PerFlowCap(),
    TooShort(),
    AckPath(),
    PathCap(),
    Policer(),
    Loss(),
)
