"""Settings of the data interface's queues: their number, their CPUs, and the flows they get."""

from __future__ import annotations

from netlimits.settings.queues.channels import CHANNELS
from netlimits.settings.queues.irq import IRQ
from netlimits.settings.queues.ntuple import Ntuple
from netlimits.settings.queues.rfs import Rfs
from netlimits.settings.queues.rps import RPS
from netlimits.settings.queues.rss import Rss
from netlimits.settings.queues.xps import XPS

__all__ = ["CHANNELS", "IRQ", "RPS", "XPS", "Ntuple", "Rfs", "Rss"]
