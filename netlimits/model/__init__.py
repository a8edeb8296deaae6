"""Immutable data types that all other packages share.

An experiment file is parsed into an `Experiment`. Its plan consists of objects of the class `Run`.
A hosts file assigns a `Machine` to each role. A host executes a `Command` and returns a
`Completed`. A tool parses its output into a `Measurement`. The archive stores a `Record` for each
attempt at a run.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from netlimits.model.experiments import SIDE as SIDE
from netlimits.model.experiments import SIDES as SIDES
from netlimits.model.experiments import Ends as Ends
from netlimits.model.experiments import Experiment as Experiment
from netlimits.model.experiments import Family as Family
from netlimits.model.experiments import Mesh as Mesh
from netlimits.model.experiments import Repeat as Repeat
from netlimits.model.experiments import Scalar as Scalar
from netlimits.model.experiments import SettingUse as SettingUse
from netlimits.model.experiments import Values as Values
from netlimits.model.searches import Search as Search

Status = Literal["ok", "failed", "timeout", "invalid", "interrupted"]
STATUSES: tuple[Status, ...] = ("ok", "failed", "timeout", "invalid", "interrupted")

TABLE_FORMATS = ("text", "csv", "markdown", "html", "json")
"""Output formats of tables. They are defined here so that commands need not import pandas."""


@dataclass(frozen=True, slots=True)
class Machine:
    """The machine that is assigned to a role.

    `ssh` is the name of the host for OpenSSH; None means the local machine (`local: true`).
    `ssh_config` is the configuration file for OpenSSH; None means the user's own file.
    `interface` is the data interface, and `address` is its data address. `others` are its further
    addresses, for configurations that set another `family`. `group` names what hosts of a mesh
    share, such as a rack: no two measurements use the same group at the same time.
    """

    role: str
    ssh: str | None = None
    interface: str | None = None
    address: str | None = None
    ssh_config: Path | None = None
    others: tuple[str, ...] = ()
    group: str = ""

    def over(self, family: Family | None) -> Machine:
        """Return a copy whose `address` is the machine's first address of this family.

        `address` is None if the machine has no address of this family. If `family` is None, return
        the machine unchanged.
        """
        if family is None:
            return self
        colon = family == "ipv6"
        addresses = (self.address, *self.others) if self.address else self.others
        return replace(self, address=next((a for a in addresses if (":" in a) == colon), None))


@dataclass(frozen=True, slots=True)
class Command:
    """A command for a host.

    `argv` is an argument vector. It is never a shell string, so that no value can be executed.
    `sudo` requests root if the login is not root. After `deadline` seconds the host kills the
    command's process group. `stdin` is the text for the command's standard input.
    `within` is a wrapper: the words of a command that runs this command, or refuses to. `argv` is
    appended to these words, after `sudo` if needed.
    `perl` is Perl code that does the same as the command. A host with a running Perl (hosts.perl)
    evaluates the code instead of starting a process. The code replaces SCRIPT if `argv` is
    `sh -c SCRIPT NAME ARGUMENT…`, or else the program `argv[0]`.
    `by_hand` are the commands that a person would type instead of a script.
    """

    argv: tuple[str, ...]
    sudo: bool = False
    deadline: float = 30.0
    stdin: str = ""
    within: tuple[str, ...] = ()
    perl: str = ""
    by_hand: tuple[Command, ...] = ()


@dataclass(frozen=True, slots=True)
class Completed:
    """The result of a command.

    `status` is the exit status, or 128 + n if signal n ended the command. `timed_out` is true if
    the command was killed at its deadline. `truncated` is true if the command printed more than
    hosts.base.OUTPUT_LIMIT; the rest was discarded.
    """

    host: str
    command: Command
    status: int
    stdout: str
    stderr: str
    seconds: float
    timed_out: bool = False
    truncated: bool = False

    @property
    def complaint(self) -> str:
        """The error output, or else the standard output, on one line.

        The text is cut after COMPLAINT_LIMIT characters.
        """
        return " ".join((self.stderr.strip() or self.stdout).split())[:COMPLAINT_LIMIT]


@dataclass(frozen=True, slots=True)
class Run:
    """A run of the plan.

    `number` and `block` count from 1. `config` identifies the configuration: it is a hash of
    `values` that does not depend on their order. `profiled` is true if the run records a profile;
    statistics then ignore its metrics. `profiled` is None if the experiment records no profiles.
    """

    number: int
    block: int
    config: str
    values: Values
    profiled: bool | None = None


@dataclass(frozen=True, slots=True)
class ServerAddress:
    """The data address and the port on which the server of a tool listens."""

    address: str
    port: int


@dataclass(frozen=True, slots=True)
class Pace:
    """A constant bit rate.

    `rate` is the bit rate of user data, and `frame_rate` that of the Ethernet frames, in bit/s.
    A run whose rate differs from `rate` by more than `tolerance_pct` is invalid.
    """

    rate: float
    frame_rate: float
    tolerance_pct: float = 1.0


@dataclass(frozen=True, slots=True)
class Trace:
    """Packet traces of the data interfaces of `roles` during each run.

    A trace has at most `packets` packets, with up to `snap_bytes` bytes of each packet.
    """

    roles: tuple[str, ...]
    packets: int
    snap_bytes: int = 96


@dataclass(frozen=True, slots=True)
class Profiling:
    """CPU profiles of `roles` in `runs` extra runs of each configuration.

    `frequency` is the sampling frequency in Hz.
    """

    roles: tuple[str, ...]
    frequency: int = 999
    runs: int = 2


@dataclass(frozen=True, slots=True)
class Bulk:
    """Background bulk streams during a test of transactions.

    There are `streams` streams in each direction of `direction`. They start `lead` seconds before
    the test. They should end `tail` seconds after it. The DSCP values in `dscp` are assigned to the
    streams of a direction in turn.
    """

    streams: int
    direction: Literal["send", "recv", "both"] = "send"
    lead: int = 2
    tail: int = 5
    dscp: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Around:
    """The options of a configuration that exist for all tools.

    `streams` is the number of clients for each server. If `family` is None, the data addresses of
    the hosts determine the IP version. `search` is set if the run is a trial of a search.
    """

    streams: int = 1
    pace: Pace | None = None
    trace: Trace | None = None
    family: Family | None = None
    bulk: Bulk | None = None
    search: Search | None = None
    profile: Profiling | None = None

    @property
    def extra_seconds(self) -> int:
        """Seconds that a run takes in addition to the measurement of its tool."""
        return self.bulk.lead + self.bulk.tail if self.bulk else 0


@dataclass(frozen=True, slots=True)
class Setup:
    """A configuration in which all `${…}` are replaced by their values.

    `options` are the options of the tool. `settings` contains only the settings whose condition is
    true for this configuration.
    """

    tool: str
    options: Mapping[str, Any]
    around: Around = Around()
    settings: tuple[SettingUse, ...] = ()


@dataclass(frozen=True, slots=True)
class Flow:
    """User data in one direction, in bytes.

    `sender` is "local" or "remote". It sent `sent` bytes, and `arrived` bytes arrived at the other
    end. `packets` is a lower bound of the number of packets, 0 if unknown.
    """

    sender: str
    sent: float
    arrived: float
    packets: float = 0.0


@dataclass(frozen=True, slots=True)
class Work:
    """All data of a client from its start to its end, including warm-up and repetitions.

    `units` is the divisor of service demand: the number of transactions if `transactions` is true,
    or else the user data in KiB (1024 bytes). As in netperf, TCP counts the data that arrived, and
    datagram protocols count the data that was sent.
    """

    units: float
    flows: tuple[Flow, ...] = ()
    transactions: bool = False


@dataclass(frozen=True, slots=True)
class Measurement:
    """The parsed output of a tool.

    `figures` maps columns of a run's row in the frame to values. `interim` has a row for each
    interim result: `ending_s` (since 1970), `interval_s`, and the rate under its metric's column.
    `work` is None if the tool does not report how much data or how many transactions it
    transferred. In this case service demand cannot be computed.
    """

    figures: Mapping[str, Scalar]
    interim: tuple[Mapping[str, float], ...] = ()
    work: Work | None = None


@dataclass(frozen=True, slots=True)
class ControllerCost:
    """The resources that an attempt used on the machine that runs netlimits.

    The attempt lasted `seconds`. Meanwhile the netlimits process used `cpu_s` of CPU time. The
    machine has `cpus` CPUs, which were idle for `idle_s` in total. `memory_bytes` is the memory of
    the process at the end.
    """

    seconds: float
    cpu_s: float
    idle_s: float
    cpus: int
    memory_bytes: int


@dataclass(frozen=True, slots=True)
class Record:
    """An attempt at a run, as the journal stores it.

    `started` is in seconds since 1970. `raw` is the SHA-256 of the raw output, "" if unknown.
    `started` is NaN for imported runs. `duration_s` is NaN for imported runs, and for runs that
    were interrupted because the netlimits process ended. `cost` is None if it was not measured.
    """

    run: Run
    attempt: int
    status: Status
    reason: str
    started: float
    duration_s: float
    figures: Mapping[str, Scalar]
    interim: tuple[Mapping[str, float], ...] = ()
    raw: str = ""
    cost: ControllerCost | None = None


COMPLAINT_LIMIT = 200
"""Maximum number of characters of a command's output that a message quotes."""

OUTCOMES = ("ok", "failed", "timeout", "invalid")
"""The final statuses of a run. "interrupted" is not final: the run has to be repeated."""


def tally(outcomes: Mapping[str, int], left: int = 0) -> str:
    """Return the counts that are not zero as text: "16 ok, 1 failed, 1 timeout, 2 left"."""
    counts = {**{name: outcomes.get(name, 0) for name in OUTCOMES}, "left": left}
    return ", ".join(f"{count} {name}" for name, count in counts.items() if count) or "0 ok"


def tally_of_runs(outcomes: Mapping[str, int], left: int = 0) -> str:
    """Return total and counts as text: "20 runs: 16 ok, 1 failed, 1 timeout, 2 left"."""
    total = sum(outcomes.get(name, 0) for name in OUTCOMES) + left
    return f"{total} run{'' if total == 1 else 's'}: {tally(outcomes, left)}"
