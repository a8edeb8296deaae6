"""A packet trace of the data link during a run: tcpdump's text, limited in packets and time.

It costs CPU on its host, so it is taken only if an experiment asks for it. `timeout` runs on the
host with tcpdump's rights, because a login without root could not end tcpdump.
"""

from __future__ import annotations

from netlimits.model import Command, Trace


def command(interface: str, trace: Trace, seconds: float, leave_out: int | None) -> Command:
    """Return the tcpdump command for an interface, for at most `seconds`.

    `leave_out` is a port to ignore. Sequence numbers are absolute (-S) and times epoch seconds
    (-tt): analysis.packets.traces reads both.
    """
    argv = (
        *("timeout", "-s", "INT", f"{seconds:g}", "tcpdump", "-i", interface, "-nn", "-S", "-tt"),
        *("-c", str(trace.packets), "-s", str(trace.snap_bytes), "tcp"),
    )
    but = () if leave_out is None else ("and", "not", "port", str(leave_out))
    return Command((*argv, *but), sudo=True, deadline=seconds + 10)


def listens(stderr: str) -> bool:
    """Return True once tcpdump captures every packet: it prints so after its filter is set.

    Its socket exists some milliseconds earlier, and is emptied once more after that.
    """
    return "listening on " in stderr
