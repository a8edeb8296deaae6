"""The nouns: small frozen values that every other module speaks in.

An `Experiment` is what a YAML file says. A `Machine` is what a hosts file binds a role to.
A `Run` is one row of the plan. A `Command` is what a host is asked to do, a `Completed` what
came of it. A `Measurement` is what a tool's output says, a `Record` what the archive keeps
of one attempt at a run.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from netlimits.model.experiments import SIDE as SIDE
from netlimits.model.experiments import SIDES as SIDES
from netlimits.model.experiments import Ends as Ends
from netlimits.model.experiments import Experiment as Experiment
from netlimits.model.experiments import Mesh as Mesh
from netlimits.model.experiments import Repeat as Repeat
from netlimits.model.experiments import SettingUse as SettingUse
from netlimits.model.values import Family as Family
from netlimits.model.values import Scalar as Scalar
from netlimits.model.values import Values as Values

Status = Literal["ok", "failed", "timeout", "invalid", "interrupted"]
STATUSES: tuple[Status, ...] = ("ok", "failed", "timeout", "invalid", "interrupted")

TABLE_FORMATS = ("text", "csv", "markdown", "html", "json")
"""What a table can be written as: here, since commands offer them before they import pandas."""


@dataclass(frozen=True, slots=True)
class Machine:
    """What one role is bound to.

    `ssh` is a name that OpenSSH's configuration resolves; None means this machine (`local: true`).
    `interface` is the data interface, `address` the data address others send to; `others` are
    further addresses of the interface, for configurations that ask for another `family`. Of a
    `group`, such as a rack, no two machines of a mesh are in different measurements at once.
    `ssh_config` is the configuration file to resolve `ssh` with, None for the user's own.
    """

    role: str
    ssh: str | None = None
    interface: str | None = None
    address: str | None = None
    ssh_config: Path | None = None
    others: tuple[str, ...] = ()
    group: str = ""

    def over(self, family: Family | None) -> Machine:
        """The machine with a data address of that family: its own, or the first of the others.

        Without one the address is None.
        """
        if family is None:
            return self
        colon = family == "ipv6"
        every = (self.address, *self.others) if self.address else self.others
        return replace(self, address=next((a for a in every if (":" in a) == colon), None))


@dataclass(frozen=True, slots=True)
class Command:
    """An argument vector for a host: never a shell string, so that no value can be executed.

    `sudo` asks for root where the login is not root. `deadline` is in seconds: after it the
    command's process group is killed on the host itself. `stdin` is fed and then closed.
    `within` is the program that runs it, with its first words: it gets the whole command, sudo
    and all, as its last ones, and may refuse to run it.
    `perl` does the same in Perl, for a host that keeps one (hosts.perl), to which it costs no
    process: as the script where all that is `sh -c SCRIPT NAME ARGUMENT…`, else as the program
    where nothing else runs it.
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
    """What came of a command. `status` is its exit status (128 + n when signal n ended it).

    `timed_out` says that our deadline ended it. `truncated` says that more was printed than
    a host may keep (hosts.base.OUTPUT_LIMIT); the rest was read and thrown away.
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
        """What it printed of its failure, on one line, as much as a message takes; or ""."""
        return " ".join((self.stderr.strip() or self.stdout).split())[:COMPLAINT_LIMIT]


@dataclass(frozen=True, slots=True)
class Run:
    """One row of the plan: the `number`-th run (from 1), in `block` (from 1).

    `config` is the identity of its configuration: a hash of `values`, whatever their order.
    """

    number: int
    block: int
    config: str
    values: Values


@dataclass(frozen=True, slots=True)
class ServerAddress:
    """Where a tool's server listens: the data address and port of its host."""

    address: str
    port: int
    extra: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Pace:
    """A constant bit rate: `rate` of user data, `frame_rate` of the whole frames that carry it.

    Both in bit/s. A run further than `tolerance_pct` from `rate` does not count.
    """

    rate: float
    frame_rate: float
    tolerance_pct: float = 1.0


@dataclass(frozen=True, slots=True)
class Trace:
    """A bounded packet trace of the data link, taken on `roles` during each run."""

    roles: tuple[str, ...]
    packets: int
    snap_bytes: int = 96


@dataclass(frozen=True, slots=True)
class Bulk:
    """Streams of bulk data beside a test of transactions: so many each way of `direction`.

    They begin `lead` seconds before it and would end `tail` seconds after it.
    """

    streams: int
    direction: Literal["send", "recv", "both"] = "send"
    lead: int = 2
    tail: int = 5


@dataclass(frozen=True, slots=True)
class Around:
    """What a configuration asks for around the tool: streams to each server, pace, trace, IP, bulk.

    Without a `family` the data goes over that of the hosts' data addresses.
    """

    streams: int = 1
    pace: Pace | None = None
    trace: Trace | None = None
    family: Family | None = None
    bulk: Bulk | None = None

    @property
    def beyond(self) -> int:
        """Seconds that a run takes beyond its tool's own."""
        return self.bulk.lead + self.bulk.tail if self.bulk else 0


@dataclass(frozen=True, slots=True)
class Setup:
    """What one configuration sets and measures: nothing in it is left to be looked up.

    `tool` runs with `options`, `around` it what an experiment may ask for besides. Of `settings`
    each has its options; one that is left out in this configuration is not among them.
    """

    tool: str
    options: Mapping[str, Any]
    around: Around = Around()
    settings: tuple[SettingUse, ...] = ()


@dataclass(frozen=True, slots=True)
class Flow:
    """User data one way: bytes that the `sender` (`local` or `remote`) sent, and that arrived.

    `packets` is the least number of packets that it took, 0 where that is not known.
    """

    sender: str
    sent: float
    arrived: float
    packets: float = 0.0


@dataclass(frozen=True, slots=True)
class Work:
    """All that a client moved from its start to its end, warm-up and repetitions included.

    `units` is what CPU time is divided by: transactions, or KiB (1024 bytes) of user data, for
    TCP those that arrived and for datagrams those that were sent, as netperf has it.
    """

    units: float
    flows: tuple[Flow, ...] = ()
    transactions: bool = False


@dataclass(frozen=True, slots=True)
class Measurement:
    """What a tool's output says: figures under METRICS' columns, and interim results if asked for.

    `interim` rows hold `ending_s` (epoch), `interval_s` and the rate under the metric's column.
    `work` is None where the tool does not tell it: then there is no service demand.
    """

    figures: Mapping[str, Scalar]
    interim: tuple[Mapping[str, float], ...] = ()
    work: Work | None = None


@dataclass(frozen=True, slots=True)
class ControllerCost:
    """What an attempt took of the machine that runs netlimits.

    `cpu_s` is this process's CPU time and `idle_s` that in which the machine's `cpus` were idle,
    both within `seconds`; `memory_bytes` is what the process held at the end.
    """

    seconds: float
    cpu_s: float
    idle_s: float
    cpus: int
    memory_bytes: int


@dataclass(frozen=True, slots=True)
class Record:
    """One attempt at a run, as the journal keeps it.

    `started` is epoch seconds, `raw` the SHA-256 of its raw output ("" where that is not known).
    `started` and `duration_s` are NaN where nobody knows them: of imported runs, and of one whose
    process ended before it the latter. `cost` is None where it was not taken.
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
"""Characters of a command's complaint that a message takes."""

OUTCOMES = ("ok", "failed", "timeout", "invalid")
"""How a run may end. A run whose only attempts were interrupted has no outcome yet."""


def tally(outcomes: Mapping[str, int], left: int = 0) -> str:
    """Counts of outcomes in words: "16 ok, 1 failed, 1 timeout, 2 left", without zeros."""
    counts = {**{name: outcomes.get(name, 0) for name in OUTCOMES}, "left": left}
    return ", ".join(f"{count} {name}" for name, count in counts.items() if count) or "0 ok"


def of_all(outcomes: Mapping[str, int], left: int = 0) -> str:
    """The number of runs, and the counts: "20 runs: 16 ok, 1 failed, 1 timeout, 2 left"."""
    total = sum(outcomes.get(name, 0) for name in OUTCOMES) + left
    return f"{total} run{'' if total == 1 else 's'}: {tally(outcomes, left)}"
