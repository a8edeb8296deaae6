"""Folded stacks, an input format of flame graph programs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from netlimits.export.base import Runs


def folded(runs: Runs) -> Iterator[str]:
    """Yield a line for each stack: profiled end and configuration, functions, number of samples.

    Example: `sender, send size 1024;iperf3;main;…;tcp_sendmsg_[k] 12`
    """
    for title, stacks in runs.stacks.items():
        name = title.replace(";", ",")
        yield from (f"{name};{stack} {count}\n" for stack, count in sorted(stacks.items()))
