"""The classes of limits, each in a file of its own, in the order in which one explains another.

Where several fire, the first of them is the verdict:

- what was asked for (a pace, a rate of the program, transactions one by one), then what was set up
  (a shaper, a quota), then a receive queue that fills;
- where packets were seen to be lost, then the CPUs that were busy with it;
- a CPU, then the program that reads, then a window that is small because of either;
- last what is only inferred from throughput, from the clearest to the vaguest.
"""

from __future__ import annotations

from netlimits.limits.base import LimitClass
from netlimits.limits.classes.ack_path import AckPath
from netlimits.limits.classes.application import Application
from netlimits.limits.classes.cpu_quota import CpuQuota
from netlimits.limits.classes.fragmentation import Fragmentation
from netlimits.limits.classes.host_full import HostFull
from netlimits.limits.classes.latency import Latency
from netlimits.limits.classes.link import LinkRate
from netlimits.limits.classes.local_shaper import LocalShaper
from netlimits.limits.classes.loss import Loss
from netlimits.limits.classes.pacing import Pacing
from netlimits.limits.classes.packet_rate import PacketRate
from netlimits.limits.classes.path_cap import PathCap
from netlimits.limits.classes.per_flow_cap import PerFlowCap
from netlimits.limits.classes.policer import Policer
from netlimits.limits.classes.queue_collision import QueueCollision
from netlimits.limits.classes.receive_window import ReceiveWindow
from netlimits.limits.classes.receiver_cpu import ReceiverCpu
from netlimits.limits.classes.send_buffer import SendBuffer
from netlimits.limits.classes.sender_cpu import SenderCpu
from netlimits.limits.classes.slow_reader import SlowReader
from netlimits.limits.classes.small_sends import SmallSends
from netlimits.limits.classes.softirq_core import SoftirqCore
from netlimits.limits.classes.too_short import TooShort
from netlimits.limits.classes.udp_above_path import UdpAbovePath
from netlimits.limits.classes.udp_receive_buffer import UdpReceiveBuffer

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
    SenderCpu(),
    ReceiverCpu(),
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
