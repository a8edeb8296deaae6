"""Frozen values that all other packages share.

A YAML file is parsed into an `Experiment`, whose plan consists of `Run`s. A hosts file binds each
role to a `Machine`. A host executes a `Command` and returns a `Completed`, from which a tool parses
a `Measurement`. The archive keeps one `Record` for each attempt at a run.
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
"""Output formats of tables, here because commands list them without importing pandas."""


@dataclass(frozen=True, slots=True)
class Machine:
    """The machine that one role is bound to.

    `ssh` is a name that OpenSSH's configuration resolves; None means this machine (`local: true`).
    `interface` is the data interface and `address` its data address; `others` are further
    addresses of the interface, for configurations that choose another `family`. In a mesh, machines
    of one `group`, such as a rack, never take part in different measurements at once.
    `ssh_config` is the configuration file that resolves `ssh`; None means the user's own.
    """

    role: str
    ssh: str | None = None
    interface: str | None = None
    address: str | None = None
    ssh_config: Path | None = None
    others: tuple[str, ...] = ()
    group: str = ""

    def over(self, family: Family | None) -> Machine:
        """Return the machine with its first address of a family as `address` (None without one)."""
        if family is None:
            return self
        colon = family == "ipv6"
        addresses = (self.address, *self.others) if self.address else self.others
        return replace(self, address=next((a for a in addresses if (":" in a) == colon), None))


@dataclass(frozen=True, slots=True)
class Command:
    """An argument vector for a host: never a shell string, so that no value can be executed.

    `sudo` requests root if the login is not root. `deadline` is in seconds; after it the host kills
    the command's process group. `stdin` is written to the command and then closed.
    `within` is the beginning of a command line that runs this one: it gets the complete command,
    including sudo, as its last arguments, and may refuse to run it.
    `perl` is a Perl equivalent that a host with a running Perl (hosts.perl) executes without a new
    process. It replaces the script of a `sh -c SCRIPT NAME ARGUMENT…`, and otherwise the program.
    `by_hand` are the commands that a person would type in place of a script.
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
    """The result of a command. `status` is its exit status (128 + n if signal n ended it).

    `timed_out` is true if our deadline ended it. `truncated` is true if it printed more than
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
        """The command's error output, else its output, on one line, cut to COMPLAINT_LIMIT."""
        return " ".join((self.stderr.strip() or self.stdout).split())[:COMPLAINT_LIMIT]


@dataclass(frozen=True, slots=True)
class Run:
    """A row of the plan: the `number`-th run (from 1), in `block` (from 1).

    `config` identifies its configuration: a hash of `values` that ignores their order. `profiled`
    is true for a run that records a profile and counts for nothing else. It is None if the
    experiment records no profiles.
    """

    number: int
    block: int
    config: str
    values: Values
    profiled: bool | None = None


@dataclass(frozen=True, slots=True)
class ServerAddress:
    """The data address and port where a tool's server listens."""

    address: str
    port: int


@dataclass(frozen=True, slots=True)
class Pace:
    """A constant bit rate: `rate` of user data and `frame_rate` of its Ethernet frames, in bit/s.

    A run whose rate differs from `rate` by more than `tolerance_pct` is invalid.
    """

    rate: float
    frame_rate: float
    tolerance_pct: float = 1.0


@dataclass(frozen=True, slots=True)
class Trace:
    """A packet trace of the data link, taken on `roles` during each run, at most `packets` long."""

    roles: tuple[str, ...]
    packets: int
    snap_bytes: int = 96


@dataclass(frozen=True, slots=True)
class Profiling:
    """CPU profiles on `roles` in `runs` extra runs of each configuration; `frequency` in Hz."""

    roles: tuple[str, ...]
    frequency: int = 999
    runs: int = 2


@dataclass(frozen=True, slots=True)
class Bulk:
    """Background bulk streams during a test of transactions: `streams` in each direction.

    They start `lead` seconds before the test and are meant to end `tail` seconds after it. The
    streams of a direction take the classes of `dscp` in turn.
    """

    streams: int
    direction: Literal["send", "recv", "both"] = "send"
    lead: int = 2
    tail: int = 5
    dscp: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Around:
    """The options of a configuration that apply to every tool.

    `streams` is the number of clients for each server. Without a `family`, the data uses the IP
    version of the hosts' data addresses. `search` is set if the run is a trial of a search.
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
        """Seconds by which a run is longer than its tool's measurement."""
        return self.bulk.lead + self.bulk.tail if self.bulk else 0


@dataclass(frozen=True, slots=True)
class Setup:
    """A resolved configuration: its settings, its tool and the tool's options.

    No value contains `${…}` any more. `settings` holds only those that this configuration applies.
    """

    tool: str
    options: Mapping[str, Any]
    around: Around = Around()
    settings: tuple[SettingUse, ...] = ()


@dataclass(frozen=True, slots=True)
class Flow:
    """User data in one direction: bytes that `sender` ("local" or "remote") sent, and that arrived.

    `packets` is a lower bound of the packets that carried it, 0 if unknown.
    """

    sender: str
    sent: float
    arrived: float
    packets: float = 0.0


@dataclass(frozen=True, slots=True)
class Work:
    """All data of a client from its start to its end, including warm-up and repetitions.

    `units` is the divisor of service demand: transactions, or KiB (1024 bytes) of user data. As in
    netperf, these are the KiB that arrived over TCP, and the KiB that were sent as datagrams.
    """

    units: float
    flows: tuple[Flow, ...] = ()
    transactions: bool = False


@dataclass(frozen=True, slots=True)
class Measurement:
    """The parsed output of a tool: figures by the columns of METRICS, and interim results.

    `interim` rows hold `ending_s` (epoch), `interval_s` and the rate under the metric's column.
    `work` is None if the tool does not report it; then there is no service demand.
    """

    figures: Mapping[str, Scalar]
    interim: tuple[Mapping[str, float], ...] = ()
    work: Work | None = None


@dataclass(frozen=True, slots=True)
class ControllerCost:
    """The resources that an attempt used on the machine that runs netlimits.

    `cpu_s` is this process's CPU time and `idle_s` the idle time of the machine's `cpus`, both
    within `seconds`; `memory_bytes` is the process's memory at the end.
    """

    seconds: float
    cpu_s: float
    idle_s: float
    cpus: int
    memory_bytes: int


@dataclass(frozen=True, slots=True)
class Record:
    """An attempt at a run, as the journal keeps it.

    `started` is epoch seconds, `raw` the SHA-256 of its raw output ("" if unknown). Both `started`
    and `duration_s` are NaN for imported runs, and `duration_s` for a run that was interrupted by
    the end of its process. `cost` is None if it was not measured.
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
"""Characters of a command's error output that a message quotes."""

OUTCOMES = ("ok", "failed", "timeout", "invalid")
"""The final statuses of a run. A run whose attempts were all interrupted has no outcome yet."""


def tally(outcomes: Mapping[str, int], left: int = 0) -> str:
    """Return non-zero counts of outcomes in words: "16 ok, 1 failed, 1 timeout, 2 left"."""
    counts = {**{name: outcomes.get(name, 0) for name in OUTCOMES}, "left": left}
    return ", ".join(f"{count} {name}" for name, count in counts.items() if count) or "0 ok"


def tally_of_runs(outcomes: Mapping[str, int], left: int = 0) -> str:
    """Return the total and its counts in words: "20 runs: 16 ok, 1 failed, 1 timeout, 2 left"."""
    total = sum(outcomes.get(name, 0) for name in OUTCOMES) + left
    return f"{total} run{'' if total == 1 else 's'}: {tally(outcomes, left)}"
