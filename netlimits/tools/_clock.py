"""When a client started, for tools whose interim results carry no exact time of their own.

iperf3 tells the whole second, nuttcp tells nothing, and streams can only be added up where they
ran together (analysis.aggregate). So a client that is asked for interim results is started by a
shell that first prints its host's clock and then becomes the client.
"""

from __future__ import annotations

import re

from netlimits.errors import ToolFailure

_STAMP = 'date +%s.%N && exec "$0" "$@"'


def stamped(argv: tuple[str, ...]) -> tuple[str, ...]:
    """The same command, with its host's epoch seconds on the first line of its output."""
    return ("sh", "-c", _STAMP, *argv)


def started(stdout: str) -> tuple[float, str]:
    """Epoch seconds and the output behind them. Raises ToolFailure when there are none."""
    match = re.match(r"([0-9]{9,12}\.[0-9]{1,9})\n", stdout)
    if not match:
        raise ToolFailure("the client's host printed no time before the client started")
    return float(match[1]), stdout[match.end() :]
