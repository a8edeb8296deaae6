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
from typing import Any, ClassVar, Literal

Scalar = bool | int | float | str | None
Values = Mapping[str, Scalar]
"""Factor and derived values of one configuration, by name."""

Status = Literal["ok", "failed", "timeout", "invalid", "interrupted"]
STATUSES: tuple[Status, ...] = ("ok", "failed", "timeout", "invalid", "interrupted")

TABLE_FORMATS = ("text", "csv", "markdown", "html", "json")
"""What a table can be written as: here, since commands offer them before they import pandas."""

Family = Literal["ipv4", "ipv6"]

SIDE, SIDES = "side", ("before", "after")
"""The factor that tells the sides of a duet apart, and what these are called unless named."""


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
    """

    argv: tuple[str, ...]
    sudo: bool = False
    deadline: float = 30.0
    stdin: str = ""
    within: tuple[str, ...] = ()


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
class SettingUse:
    """One setting of `settings:`: `name`, on `roles`, with options still unresolved.

    `entry` is the item of the list that it stands in, from 0, and `when` the condition under which
    it is set, "" for always.
    """

    name: str
    roles: tuple[str, ...]
    options: Any
    line: int
    entry: int = 0
    when: str = ""


@dataclass(frozen=True, slots=True)
class ServerAddress:
    """Where a tool's server listens: the data address and port of its host."""

    address: str
    port: int
    extra: Mapping[str, str] = field(default_factory=dict)


Ends = Mapping[str, tuple[str, ...]]
"""`local` -> the client's role, `remote` -> the roles of the servers: one, or several sinks."""


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
class Repeat:
    """How often, in which order. `runs` only for `coin-flips`, `replicates` for the others.

    `replicates_by` is the factor or derived value that holds each configuration's own number.
    """

    replicates: int = 1
    order: Literal["blocked", "shuffled", "listed", "coin-flips"] = "blocked"
    seed: int | None = None
    runs: int | None = None
    replicates_by: str = ""


@dataclass(frozen=True, slots=True)
class Mesh:
    """Many hosts and the pairs of them that measure, (sender, receiver); `shape` names these.

    Each pair is a value of the factors SENDER and RECEIVER.
    """

    SENDER: ClassVar[str] = "sender"
    RECEIVER: ClassVar[str] = "receiver"

    hosts: tuple[str, ...]
    pairs: tuple[tuple[str, str], ...]
    shape: str


@dataclass(frozen=True, slots=True)
class Experiment:
    """What an experiment file says, checked, with `${…}` still unresolved in settings and measure.

    `factors` and each group of `zips` map a name to its values, in the file's order; `dummies` are
    names that are to change nothing. `derive` maps a name to an expression, in an order that can
    be evaluated. `measure` maps a tool's name to its options; `around` holds `streams`, `pace`,
    `bulk` and the like as written. `roles` are those of single machines; `groups` maps each role as
    written to them (`sinks: 2` is `sinks-1`, `sinks-2`). `text` is the file to the letter and
    `overrides` what `--set` changed, as (key, value as written): the two together make the
    experiment again.

    A duet (experiment.duet) has `sides`: the experiments whose runs are interleaved, by the values
    of the factor `side`. What a configuration sets and measures is then its side's.

    A `mesh` has its hosts as roles, and its pairs among `zips`.
    """

    name: str
    path: Path
    text: str
    overrides: tuple[tuple[str, str], ...] = ()
    question: str = ""
    source: str = ""
    roles: tuple[str, ...] = ("sender", "receiver")
    groups: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    factors: Mapping[str, tuple[Scalar, ...]] = field(default_factory=dict)
    zips: tuple[Mapping[str, tuple[Scalar, ...]], ...] = ()
    dummies: tuple[str, ...] = ()
    derive: Mapping[str, str] = field(default_factory=dict)
    exclude: tuple[str, ...] = ()
    include: tuple[Values, ...] = ()
    settings: tuple[SettingUse, ...] = ()
    measure: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    around: Mapping[str, Any] = field(default_factory=dict)
    repeat: Repeat = Repeat()
    report: tuple[Mapping[str, Any], ...] = ()
    lines: Mapping[tuple[str | int, ...], int] = field(default_factory=dict)
    sides: Mapping[str, Experiment] = field(default_factory=dict)
    mesh: Mesh | None = None

    def ends_of(self, values: Values) -> Ends:
        """Who runs the client in a configuration, and who its servers."""
        if self.mesh:
            sender, receiver = (str(values[end]) for end in (Mesh.SENDER, Mesh.RECEIVER))
            return {"local": (sender,), "remote": (receiver,)}
        return self.of(values).ends

    def of(self, values: Values) -> Experiment:
        """The side that a configuration is of; this one, where there are none."""
        return self.sides[str(values[SIDE])] if self.sides else self

    @property
    def other_names(self) -> dict[str, str]:
        """Each role and group of a duet that has another name on its second side, and that name."""
        if not self.sides:
            return {}
        first, second = self.sides.values()
        mine, yours = (*first.roles, *first.groups), (*second.roles, *second.groups)
        return {a: b for a, b in zip(mine, yours, strict=True) if a != b}

    @property
    def ends(self) -> Ends:
        """Who runs the tool's client, and who its servers: the first role, and the last.

        Of a duet those of its first side, of a mesh those of its first pair.
        """
        if self.mesh:
            sender, receiver = self.mesh.pairs[0]
            return {"local": (sender,), "remote": (receiver,)}
        if self.sides:
            return next(iter(self.sides.values())).ends
        groups = list(self.groups.values()) or [(role,) for role in self.roles]
        return {"local": groups[0], "remote": groups[-1]}

    @property
    def all_ends(self) -> Ends:
        """The same of every configuration: of a mesh all its senders, and all its receivers."""
        if not self.mesh:
            return self.ends
        senders, receivers = (
            tuple(dict.fromkeys(end)) for end in zip(*self.mesh.pairs, strict=True)
        )
        return {"local": senders, "remote": receivers}


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
