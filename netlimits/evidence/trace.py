"""A packet trace of the data link during a run: tcpdump's text, limited in packets and time."""

from __future__ import annotations

from netlimits.model import Command, Trace


def command(interface: str, trace: Trace, seconds: float, leave_out: int | None) -> Command:
    """Return the tcpdump command. It ends after `seconds`, and ignores the port `leave_out`."""
    argv = (
        *("timeout", "-s", "INT", f"{seconds:g}", "tcpdump", "-i", interface, "-nn", "-S", "-tt"),
        *("-c", str(trace.packets), "-s", str(trace.snap_bytes), "tcp"),
    )
    but = () if leave_out is None else ("and", "not", "port", str(leave_out))
    return Command((*argv, *but), sudo=True, deadline=seconds + 10)


def listens(stderr: str) -> bool:
    """Return True once tcpdump captures. It prints its message after it has set its filter."""
    return "listening on " in stderr
