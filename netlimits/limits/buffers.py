"""Larger socket buffers, by the tool's own option, else by the host's sysctls."""

from __future__ import annotations

from collections.abc import Mapping

from netlimits.experiment.document import KeyPath
from netlimits.limits.configured import Configured, Levels
from netlimits.model import Scalar

DEFAULT = 212_992
"""Bytes of a socket buffer that Linux allows by default (net.core.rmem_max and wmem_max)."""
ENDS, MEMORIES = ("local", "remote"), ("rmem", "wmem")


def receive_buffer(of: Configured, times: float) -> Levels | str:
    return _buffer(of, of.receiver, "rmem", times)


def send_buffer(of: Configured, times: float) -> Levels | str:
    return _buffer(of, of.sender, "wmem", times)


def _buffer(of: Configured, end: str, memory: str, times: float) -> Levels | str:
    levels: dict[KeyPath, Scalar] = {}
    for option in (f"{end}_buffer", "window"):
        size = of.size(option)
        if size:
            wanted = int(size * times)
            levels[("measure", of.setup.tool, option)] = wanted
            both = option == "window"  # it sets both buffers of both ends
            for each in ENDS if both else (end,):
                for name in MEMORIES if both else (memory,):
                    room = _room(of, each, name, wanted)
                    if isinstance(room, str):
                        return room
                    levels |= room
            return levels
        if option in of.setup.options:
            return f"{option} is {of.setup.options[option]}, not one size"
    if of.udp and of.one_machine:
        return "net.core's sysctls are those of the machine that both ends share"
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


def _room(of: Configured, end: str, memory: str, wanted: int) -> Levels | str:
    """Return the sysctl to raise for a buffer of `wanted` bytes; empty if none has to be."""
    name = f"net.core.{memory}_max"
    key, value = of.sysctl(end, name)
    known = value is not None and str(value).isdigit()
    if wanted <= (int(str(value)) if known else DEFAULT):
        return {}
    return {key: wanted} if known else f"{name} of the {of.group(end)} is not known"
