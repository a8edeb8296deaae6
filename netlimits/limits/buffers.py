"""Sockets' buffers that are larger: by the tool's own option, else by the host's sysctls."""

from __future__ import annotations

from collections.abc import Mapping

from netlimits.experiment.document import KeyPath
from netlimits.limits.configured import Configured, Levels
from netlimits.model import Scalar

ENDS, MEMORIES = ("local", "remote"), ("rmem", "wmem")


def receive_buffer(of: Configured, times: float) -> Levels | str:
    """The receiver's socket buffer times `times`."""
    return _buffer(of, of.receiver, "rmem", times)


def send_buffer(of: Configured, times: float) -> Levels | str:
    """The sender's socket buffer times `times`."""
    return _buffer(of, of.sender, "wmem", times)


def _buffer(of: Configured, end: str, memory: str, times: float) -> Levels | str:
    levels: dict[KeyPath, Scalar] = {}
    for option in (f"{end}_buffer", "window"):
        size = of.size(option)
        if size:
            wanted = int(size * times)
            levels[("measure", of.setup.tool, option)] = wanted
            both = option == "window"  # which sets both buffers of both ends
            for each in ENDS if both else (end,):
                for name in MEMORIES if both else (memory,):
                    levels |= _room(of, each, name, wanted)
            return levels
        if option in of.setup.options:
            return f"{option} is {of.setup.options[option]}, not one size"
    names = (
        (f"net.core.{memory}_max", f"net.core.{memory}_default")
        if of.udp
        else (f"net.ipv4.tcp_{memory}",)
    )
    for name in names:
        key, value = of.sysctl(end, name)
        if isinstance(value, Mapping) or value is None:
            return f"{name} of the {of.group(end)} is not known"
        least, *more = [int(part) for part in str(value).split()]
        sizes = [least, *(int(part * times) for part in more)] if more else [int(least * times)]
        levels[key] = " ".join(map(str, sizes)) if more else sizes[0]
    return levels


def _room(of: Configured, end: str, memory: str, wanted: int) -> Levels:
    """The most that a program may ask for as its buffer, where `wanted` is more than it is."""
    key, value = of.sysctl(end, f"net.core.{memory}_max")
    known = value is not None and str(value).isdigit()
    return {key: wanted} if known and int(str(value)) < wanted else {}
