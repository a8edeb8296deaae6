"""A packet trace of the data link during a run: tcpdump's text, bounded in packets and in time.

It costs CPU on the host that it is taken on, so it is taken only where an experiment asks for it.
`timeout` bounds it under the same rights as tcpdump has: a login without root could not end it.
"""

from __future__ import annotations

from netlimits.model import Command, Trace


def command(interface: str, trace: Trace, seconds: float, leave_out: int | None) -> Command:
    """tcpdump on an interface, for `seconds` at most; `leave_out` is a port of no interest.

    Numbers are absolute (-S) and times epoch seconds (-tt): analysis.packets.traces reads both.
    """
    argv = (
        *("timeout", "-s", "INT", f"{seconds:g}", "tcpdump", "-i", interface, "-nn", "-S", "-tt"),
        *("-c", str(trace.packets), "-s", str(trace.snap_bytes), "tcp"),
    )
    but = () if leave_out is None else ("and", "not", "port", str(leave_out))
    return Command((*argv, *but), sudo=True, deadline=seconds + 10)


def listens(stderr: str) -> bool:
    """Whether tcpdump takes every packet by now: it says so once its filter is set.

    Its socket is there some milliseconds before, and is emptied once more after that.
    """
    return "listening on " in stderr
