"""Folded stacks, which flame graph programs read: a line for each stack, with its samples."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from netlimits.export.base import Runs


def folded(runs: Runs) -> Iterator[str]:
    """Yield `sender, send size 1024;iperf3;main;…;tcp_sendmsg_[k] 12` for each profiled end."""
    for title, stacks in runs.stacks.items():
        name = title.replace(";", ",")
        yield from (f"{name};{stack} {count}\n" for stack, count in sorted(stacks.items()))
