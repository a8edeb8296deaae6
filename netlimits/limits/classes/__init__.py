"""The classes of limits, each in a file of its own, in the order in which one explains another.

Where several fire, the first of them is the verdict:

- what was asked for (a pace, or a rate of the program), then what was set up (a shaper), then a
  receive queue that fills;
- where packets were seen to be lost, then the CPUs that were busy with it;
- a CPU, then a window that is small because of it;
- last what is only inferred from throughput.
"""

from __future__ import annotations

from netlimits.limits.base import LimitClass
from netlimits.limits.classes.application import Application
from netlimits.limits.classes.fragmentation import Fragmentation
from netlimits.limits.classes.link import LinkRate
from netlimits.limits.classes.local_shaper import LocalShaper
from netlimits.limits.classes.loss import Loss
from netlimits.limits.classes.pacing import Pacing
from netlimits.limits.classes.packet_rate import PacketRate
from netlimits.limits.classes.path_cap import PathCap
from netlimits.limits.classes.receive_window import ReceiveWindow
from netlimits.limits.classes.receiver_cpu import ReceiverCpu
from netlimits.limits.classes.send_buffer import SendBuffer
from netlimits.limits.classes.sender_cpu import SenderCpu
from netlimits.limits.classes.small_sends import SmallSends
from netlimits.limits.classes.softirq_core import SoftirqCore
from netlimits.limits.classes.udp_receive_buffer import UdpReceiveBuffer

CLASSES: tuple[LimitClass, ...] = (
    Pacing(),
    Application(),
    LocalShaper(),
    UdpReceiveBuffer(),
    SoftirqCore(),
    Fragmentation(),
    SmallSends(),
    SenderCpu(),
    ReceiverCpu(),
    ReceiveWindow(),
    SendBuffer(),
    LinkRate(),
    PacketRate(),
    PathCap(),
    Loss(),
)
