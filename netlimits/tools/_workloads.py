"""The kinds of traffic that `netlimits diagnose` measures, and how a tool measures them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

WORKLOADS: Mapping[str, str] = {
    "tcp": "TCP, 1 stream",
    "tcp-4": "TCP, 4 streams",
    "udp": "UDP, 1472 B",
    "rr": "TCP_RR, 1 B",
}
"""Kind of traffic -> its title, in the order in which `diagnose` prints them."""


@dataclass(frozen=True, slots=True)
class Measuring:
    """A tool's options for each kind of traffic.

    Attributes:
        factors: The factors that differ between the kinds of traffic.
        values: Each kind of traffic that the tool can measure -> the values of `factors`.
        options: The tool's options under `measure:`.
        around: Other keys of the experiment.
    """

    factors: tuple[str, ...]
    values: Mapping[str, tuple[Any, ...]]
    options: Mapping[str, Any]
    around: Mapping[str, Any]
