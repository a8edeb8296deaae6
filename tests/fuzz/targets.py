"""What is fuzzed: everything that reads what others wrote, as functions of bytes.

A target hands the bytes to one reader (the experiment loader, an expression, a tool's output,
`import`, the journal, …) and lets none but netlimits' own errors pass, which are no findings. Tools,
settings and facts come from their registries, and every public function of the packages in
`READERS` that takes what a command printed is found by its annotation: a new one is fuzzed without
a line here. Seeds are the captures under tests/ and what the registries print.

An input of a target that reads commands is a first byte, which picks exit status and options, and
then texts that `SPLIT` parts: the outputs of several commands, and of each stdout and stderr.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import io
import json
import pkgutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, partial
from hashlib import sha256
from itertools import islice
from pathlib import Path
from types import ModuleType
from typing import Any, get_args, get_origin, get_type_hints

import pairs
from setting_examples import EXAMPLES

from netlimits import checks
from netlimits.analysis.packets import traces
from netlimits.analysis.sources import dialects, foreign
from netlimits.archive import reader, registry
from netlimits.archive.journal import Head
from netlimits.archive.records import run_fields, unfinished
from netlimits.campaign.figures import interpret
from netlimits.checks import survey
from netlimits.errors import NetlimitsError
from netlimits.evidence import clocks, facts
from netlimits.evidence.counted import EVIDENCE
from netlimits.experiment import document, expressions, hosts_file, load, plan, resolution
from netlimits.hosts import streams
from netlimits.hosts.scripted import ScriptedHost
from netlimits.hosts.ssh import hostkeys
from netlimits.hosts.ssh.sshconfig import Endpoint
from netlimits.importers import DOCUMENTS, TEXTS, DocumentFormat, TextFormat, base, names
from netlimits.importers import read as read_imported
from netlimits.importers.base import Given
from netlimits.model import Command, Completed, Machine
from netlimits.restore import notes, states
from netlimits.restore.restoration import restore_from_notes
from netlimits.settings import SETTINGS, Setting
from netlimits.tools import TOOLS, Features, Tool

HERE = Path(__file__).parent
CAPTURES = HERE.parent / "captures"
FOREIGN = HERE.parents[1] / "data" / "foreign"
EXPERIMENTS = HERE.parents[1] / "experiments"
REGRESSIONS = HERE / "regressions"
SEED_LIMIT = 20_000
"""Bytes of a seed: larger captures would make each input slow and teach nothing more."""

SCRATCH = Path("/nowhere")
"""Where readers of files find their input; whoever runs targets sets it to a folder of its own."""

SPLIT = b"\n%%%%\n"
STATUSES = (0, 0, 0, 0, 1, 137, 141, 255)
READERS = ("checks", "evidence", "tools", "restore.guard", "campaign.parallel", "hosts.servers")
"""Modules and packages that read what commands printed."""


@dataclass(frozen=True, slots=True)
class Target:
    """One reader. `read` raises nothing but what is a finding. `weight` is its share of runs."""

    name: str
    read: Callable[[bytes], object]
    seeds: tuple[bytes, ...] = ()
    words: tuple[bytes, ...] = ()
    weight: float = 1.0

    def __call__(self, data: bytes) -> None:
        """Read `data`; netlimits' own errors must be one that can be shown."""
        try:
            self.read(data)
        except NetlimitsError as error:
            if not str(error):
                raise AssertionError("an error that says nothing") from error


@cache
def targets() -> dict[str, Target]:
    """Every target by its name."""
    entries = [*_documents(), *_tools(), *_settings(), *_evidence(), *_checks(), *_files()]
    entries += [*_hosts(), *_foreign()]
    named = {target.name: target for target in entries}
    assert len(named) == len(entries)
    return named


def regressions(target: Target) -> list[Path]:
    """Inputs that once were findings of this target, kept for good."""
    return sorted((REGRESSIONS / target.name).glob("*"))


# -- inputs ---------------------------------------------------------------------------------


def captures(*patterns: str) -> tuple[bytes, ...]:
    """The captures of these names, whole or their first SEED_LIMIT bytes."""
    paths = [path for pattern in patterns for path in sorted(CAPTURES.glob(pattern))]
    return tuple(
        path.read_bytes()[:SEED_LIMIT]
        for path in paths
        if path.is_file() and path.suffix != ".json"  # what is expected of a capture
    )


def seeded(outputs: Sequence[bytes]) -> tuple[bytes, ...]:
    """Captures as inputs: after exit status 0 and the first options, and after others."""
    return tuple(bytes([16 * (n % 8)]) + text for n, text in enumerate(outputs))


def completions(data: bytes, commands: Sequence[Command]) -> tuple[Completed, ...]:
    """A Completed for each command, its streams from `data` as hosts decode them."""
    status = STATUSES[data[0] % len(STATUSES)] if data else 0
    texts = [part.decode("utf-8", "backslashreplace") for part in data[1:].split(SPLIT)]
    texts += [""] * (2 * len(commands))
    errors = texts[len(commands) :]
    return tuple(
        Completed("sender", command, status, texts[n], errors[n], 1.0, status == 137, False)
        for n, command in enumerate(commands)
    )


def picked(data: bytes, choices: Sequence[Any]) -> Any:
    """The choice that the upper half of the first byte makes."""
    return choices[(data[0] >> 4) % len(choices)] if data else choices[0]


# -- what users write -----------------------------------------------------------------------

VALUES = {"a": 1, "b": 2.5, "c": "tcp", "d": True, "e": None, "send_size": 1024}


def _documents() -> Iterator[Target]:
    examples = tuple(path.read_bytes() for path in sorted(EXPERIMENTS.glob("*.yaml")))
    keys = tuple(f"{key}:".encode() for key in resolution.schema.document_schema()["properties"])
    yaml = (b"<<: ", b"&a ", b"*a", b"!!int ", b"---\n", b"? ", b"|\n", b'"\\U0010ffff"', b"${a}")
    yield Target("experiment", _experiment, examples, keys + yaml, weight=0.5)
    yield Target("override", _override, (b"repeat.seed=3", b"factors.a.0=[1, 2]"), keys, weight=0.5)
    hosts = b"sender: {ssh: vm1, interface: ens4}\nreceiver: {local: true, address: 192.0.2.2}\n"
    yield Target("hosts file", _hosts_file, (hosts, b"sinks: [{ssh: a}, {ssh: b}]\n"), yaml)
    texts = ("send_size + 12", 'c == "udp" and a > 9000', "min(a, b) ** 2 if d else a in [1, 2]")
    words = (*expressions.FUNCTIONS, *VALUES, "**", "//", "lambda", "not in", "9" * 50, "1e308")
    yield Target("expression", _expression, *([t.encode() for t in ts] for ts in (texts, words)))


def _experiment(data: bytes) -> None:
    loaded = load.parse(data.decode("utf-8", "surrogateescape"), "fuzz.yaml")
    product = 1
    for values in (*loaded.factors.values(), *(next(iter(z.values())) for z in loaded.zips)):
        product *= len(values)
    if product > 1000:
        return
    for configuration in islice(plan.Plan(loaded).configurations, 20):
        resolution.setup(loaded, configuration.values)


@cache
def _small() -> document.Document:
    return document.parse("experiment: x\nfactors: {a: [1, 2]}\nmeasure: {netperf: {}}\n", "x.yaml")


def _override(data: bytes) -> None:
    key, _, value = data.decode("utf-8", "surrogateescape").partition("=")
    changed = load.parse(_small().text, "x.yaml", [(key, value)])
    assert changed.overrides


def _hosts_file(data: bytes) -> None:
    path = SCRATCH / "hosts.yaml"
    path.write_bytes(data)
    hosts_file.machines(path)
    hosts_file.machines(path, ("sender", "receiver"))


def _expression(data: bytes) -> None:
    compiled = expressions.compile(data.decode("utf-8", "replace"))
    if compiled.names <= VALUES.keys():
        compiled.value(VALUES)
        compiled.holds(VALUES)


# -- what tools print -----------------------------------------------------------------------

OPTIONS: Mapping[str, Sequence[Mapping[str, Any]]] = {
    "netperf": (
        {},
        {"protocol": "udp", "mss": 1448, "congestion_control": "cubic", "cpu_bind": "0,1"},
        {"direction": "rr", "burst": 4, "confidence": "99,5", "iterations": "10,3"},
        {"select": ["throughput", "local_sd"], "interim_seconds": 0.1, "cpu": False},
        {"test": "TCP_MAERTS", "select": ["throughput"], "brand": "x"},
    ),
    "iperf3": (
        {},
        {"protocol": "udp", "send_size": "1K", "parallel": 2},
        {"reverse": True, "mss": 1400, "congestion_control": "cubic", "omit": 1},
        {"bidirectional": True, "mss": 9000, "protocol": "tcp"},
    ),
    "nuttcp": ({}, {"protocol": "udp", "mss": 1448}, {"reverse": True, "interim_seconds": 1}),
    "nttcp": ({"count": 2048}, {"count": 2048, "send_size": 4096}),
    "neper": (
        {"seconds": 2},
        {"seconds": 2, "reverse": True},
        {"test": "tcp_rr", "seconds": 2, "request_size": 100, "response_size": "1K"},
    ),
}
"""Options under which output is read, beside those of the tool's captures."""


def _tools() -> Iterator[Target]:
    for tool in TOOLS:
        outputs = captures(f"{tool.name}/*")
        yield Target(f"{tool.name} output", _tool_read(tool), seeded(outputs), _keys(outputs))
        features = captures(f"{tool.name}/builds/*")
        yield Target(f"{tool.name} features", _tool_features(tool), seeded(features), weight=0.5)


def _keys(outputs: Sequence[bytes]) -> tuple[bytes, ...]:
    """Words of the captures for a dictionary: what stands before `=`, `:` and in quotes."""
    words = {w for text in outputs for w in text.replace(b"=", b" ").replace(b'"', b" ").split()}
    return tuple(sorted(word for word in words if 2 < len(word) < 30)[:150])


def _tool_read(tool: Tool) -> Callable[[bytes], object]:
    options = (*OPTIONS.get(tool.name, ()), *pairs.measurements(tool.name).values())

    def read(data: bytes) -> object:
        (completed,) = completions(data, [Command((tool.name,))])
        return _writable(tool.read(completed, picked(data, options)))

    return read


def _writable(measurement: Any) -> None:
    """A measurement must go into a journal as it is: JSON without NaN."""
    json.dumps([dict(measurement.figures), [dict(r) for r in measurement.interim]], allow_nan=False)


def _tool_features(tool: Tool) -> Callable[[bytes], object]:
    return lambda data: tool.features(completions(data, tool.probes()))


# -- what hosts say of themselves -----------------------------------------------------------


def _settings() -> Iterator[Target]:
    for setting in SETTINGS:
        outputs = captures(f"settings/{setting.name}/*")
        seeds = (*outputs, *(a + SPLIT + b for a in outputs[:3] for b in outputs[-3:]))
        yield Target(f"setting {setting.name}", _setting(setting), seeded(seeds), _keys(outputs))


def _setting(setting: Setting) -> Callable[[bytes], object]:
    wishes = EXAMPLES[setting.name].options

    def read(data: bytes) -> None:
        wanted = picked(data, wishes)
        command = setting.read("data0", wanted if isinstance(wanted, Mapping) else {})
        first, other = completions(data, [command, command])
        state = setting.state(first)
        json.dumps(state)
        commands = setting.change("data0", state, wanted)
        setting.unmet(state, wanted)
        _plain(commands)
        now = setting.state(other)
        _plain(setting.undo("data0", state, now))
        setting.differences(state, now)

    return read


def _plain(commands: Sequence[Command]) -> None:
    """Commands are vectors of text that a host can be given."""
    for command in commands:
        assert all(isinstance(word, str) for word in command.argv)


FACT_OUTPUTS = (
    b"100.25 90.10\ncpu  10 0 20 300 4 0 5 0 0 0\ncpu0 5 0 10 150 2 0 3 0 0 0\n"
    b"cpu1 5 0 10 150 2 0 2 0 0 0\nctxt 9\n",
    b'[{"ifname": "data0", "mtu": 1500, "operstate": "UP", "address": "02:00:00:00:00:01", '
    b'"qdisc": "noqueue", "txqlen": 1000, "num_tx_queues": 2, "addr_info": '
    b'[{"family": "inet", "local": "198.19.0.1", "prefixlen": 24, "scope": "global"}]}]\n',
    b"processor\t: 0\nmodel name\t: A CPU @ 2.00GHz\nprocessor\t: 1\nmodel name\t: A CPU @ 2.00GHz\n",
    b"driver: veth\nversion: 1.0\nfirmware-version: \nbus-info: \nsupports-statistics: yes\n",
    b'PRETTY_NAME="Debian GNU/Linux 12"\nID=debian\n',
    b"LISTEN 0 128 192.0.2.1:3 0.0.0.0:*\nLISTEN 0 5 *:12865 *:*\n",
    b"ESTAB 0 0 198.19.0.1:40000 198.19.0.2:5201\n\t cubic wscale:7,7 rto:204 rtt:0.05/0.01 mss:1448 "
    b"cwnd:10 bytes_sent:100 segs_out:7 data_segs_in:9 segs_in:9 busy:412ms rwnd_limited:412ms(27.5%) "
    b"delivery_rate 1Gbps pacing_rate 2.5Gbps app_limited\n",
    b"Ip: Forwarding InReceives\nIp: 1 2\nTcp: InSegs OutSegs RetransSegs\nTcp: 10 20 0\n"
    b"Udp: InDatagrams RcvbufErrors\nUdp: 1 0\nTcpExt: TCPTimeouts DelayedACKs\nTcpExt: 0 3\n",
    b"0000272d 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 "
    b"00000000 00000000 00000000\n",
    b"sk RefCnt Type Proto Iface R Rmem User Inode\n0 3 3 0003 2 1 0 0 100\n",
    b"net.core.rmem_max = 212992\nnet.ipv4.tcp_rmem = 4096\t131072\t6291456\n",
    b'[{"kind":"noqueue","handle":"0:","root":true,"refcnt":2,"options":{}}]\n',
    b'{"campaign": "x", "id": "1", "controller": "c", "user": "u", "pid": 1, "since": 1.5, '
    b'"until": 9.5}\n',
)
"""What a host prints of itself, command by command."""


def _evidence() -> Iterator[Target]:
    for fact in facts.FACTS:
        yield Target(f"fact {fact.name}", _fact(fact), seeded(FACT_OUTPUTS), weight=0.2)
    for evidence in EVIDENCE:
        command = evidence.read("data0")
        outputs = captures(f"evidence/{evidence.name}/*") + FACT_OUTPUTS
        seeds = seeded([a + SPLIT + b for a in outputs[:8] for b in outputs[:8]])

        def read(data: bytes, e: Any = evidence, c: Command = command) -> object:
            return json.dumps(dict(e.figures(*completions(data, [c, c]))), allow_nan=False)

        yield Target(f"evidence {evidence.name}", read, seeds, _keys(outputs))
    for name, function in _takers():
        yield Target(name, function, seeded(FACT_OUTPUTS), _keys(FACT_OUTPUTS), weight=0.5)


def _takers() -> Iterator[tuple[str, Callable[[bytes], object]]]:
    """Public functions of READERS that need what commands printed, and little else."""
    for module in _readers():
        for name, function in inspect.getmembers(module, inspect.isfunction):
            own = function.__module__ == module.__name__ and not name.startswith("_")
            if own and (arguments := _arguments(function)) is not None:
                whole = f"{module.__name__.removeprefix('netlimits.')}.{name}"
                yield whole, _call(function, arguments)


def _readers() -> Iterator[ModuleType]:
    """READERS, and all modules within those that are packages."""
    for name in READERS:
        reader = importlib.import_module(f"netlimits.{name}")
        yield reader
        inside = pkgutil.walk_packages(getattr(reader, "__path__", ()), f"{reader.__name__}.")
        yield from (importlib.import_module(about.name) for about in inside)


CHECKED = """\
experiment: checked
settings:
  - roles: [sender, receiver]
    qdisc: {kind: fq}
    mtu: 1400
measure:
  netperf: {seconds: 1, protocol: udp, send_size: 1400}
trace: {roles: [sender], packets: 10}
"""


def _checks() -> Iterator[Target]:
    for check in (check for check in (*checks.CHECKS, *checks.AFTERWARDS) if _asks(check)):
        seeds = captures("settings/mtu/*", "settings/route/*", "settings/sysctl/*") + FACT_OUTPUTS
        yield Target(f"check {check.name}", _check(check), seeded(seeds), _keys(seeds), weight=0.3)
    yield Target("clock", _clock, seeded([b"1795269770.254000000\n"]), weight=0.2)


def _asks(check: checks.Check) -> bool:
    return bool(check.commands(_site(), "sender"))


@cache
def _site() -> checks.Site:
    """The hosts of CHECKED, with logins that are not root's."""
    planned = plan.seeded(load.parse(CHECKED, "checked.yaml"))
    two = {
        role: Machine(role, role, "data0", f"192.0.2.{n}")
        for n, role in enumerate(planned.roles, 1)
    }
    setups = tuple(plan.Plan(planned).setups())
    return checks.Site(planned, two, {}, {"netperf": Features("1")}, setups)


def _check(check: checks.Check) -> Callable[[bytes], object]:
    """Its findings at the sender, which has to do with everything."""

    def read(data: bytes) -> object:
        commands = check.commands(_site(), "sender")
        findings = list(check.findings(_site(), "sender", completions(data, commands)))
        return [str(finding) for finding in findings]

    return read


def _clock(data: bytes) -> None:
    (completed,) = completions(data, [clocks.READ])
    seconds = clocks.seconds(completed)
    assert seconds is None or 0 <= seconds < 1e12


FILLED: Mapping[Any, Any] = {str: "192.0.2.1", int: 3, float: 1.5, bool: True, bytes: b"x"}


def _arguments(function: Callable[..., object]) -> list[Any] | None:
    """What to call it with, `Completed` where one belongs; None for one that takes none."""
    hints = get_type_hints(function)
    arguments: list[Any] = []
    for name, parameter in inspect.signature(function).parameters.items():
        hint = hints.get(name)
        if parameter.kind not in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD):
            return None
        several = get_origin(hint) not in (None, Callable) and Completed in get_args(hint)
        if hint is Completed or several:
            arguments.append(hint)
        elif hint in FILLED:
            arguments.append(FILLED[hint])
        elif parameter.default is parameter.empty:
            return None
        else:
            break
    return arguments if any(hint is Completed or get_origin(hint) for hint in arguments) else None


def _call(function: Callable[..., Any], parameters: Sequence[Any]) -> Callable[[bytes], object]:
    def read(data: bytes) -> None:
        printed = iter(completions(data, [Command(("cat", "x"))] * (2 * len(parameters))))
        arguments = [
            next(printed)
            if parameter is Completed
            else (next(printed), next(printed))
            if get_origin(parameter)
            else parameter
            for parameter in parameters
        ]
        result = function(*arguments)
        if inspect.isgenerator(result):
            list(result)

    return read


def _fact(fact: facts.Fact) -> Callable[[bytes], object]:
    def read(data: bytes) -> None:
        value = facts._fact(fact, *completions(data, [Command(fact.argv)]))
        facts.mismatches({fact.name: value}, {})
        facts.one_kernel({"sender": {fact.name: value}, "receiver": {fact.name: value}})
        json.dumps(value)

    return read


# -- files: results, what is imported, traces -----------------------------------------------

COLUMNS = Given(("THROUGHPUT", "NO_SUCH", "RESULT_BRAND", "ELAPSED_TIME"))


def _files() -> Iterator[Target]:
    outputs = captures("imports/*.*", "iperf3/*.txt", "netperf/*.txt")
    yield Target("import", _import, outputs, _keys(outputs), weight=1.5)
    format_of = {text: _format_of(text) for text in captures("imports/*.*")}
    for format_ in (*TEXTS, *DOCUMENTS):
        seeds = tuple(text for text, name in format_of.items() if name == format_.name)
        read = partial(_import_of, format_)
        yield Target(f"import {format_.name}", read, seeds, _keys(seeds), weight=0.3)
    texts = captures("traces/*.txt", "traces/*")
    yield Target("trace", _trace, texts, _keys(texts), weight=0.4)
    for kind in ("journal.jsonl", "campaign.json", "raw"):
        yield Target(f"results {kind}", _results(kind), tuple(RESULTS[kind]), weight=0.5)
    for name, text in campaign_files().items():
        yield Target(f"campaign {name}", _campaign(name), (text,), _words(text), weight=0.3)


def _import(data: bytes) -> None:
    _, runs = read_imported("x", data, COLUMNS if len(data) % 5 == 0 else None)
    for run in runs:
        json.dumps([dict(run.values), dict(run.figures), run.interim], allow_nan=False).encode()


def _format_of(text: bytes) -> str:
    """The name of an output's format, "" if it has none."""
    try:
        return read_imported("x", text)[0]
    except NetlimitsError:
        return ""


def _import_of(format_: TextFormat | DocumentFormat, data: bytes) -> None:
    """Read with one format's reader alone what it recognizes."""
    source = base.source("x", data)
    if isinstance(format_, TextFormat):
        runs = format_.read(source, Given()) if format_.claims(source) else []
    else:
        own = [each for each in source.documents if format_.recognizes(each.value)]
        runs = format_.read(source, own) if own else []
    for run in runs:
        json.dumps([dict(run.values), dict(run.figures), run.interim], allow_nan=False).encode()


def _trace(data: bytes) -> None:
    traces.trace(data, mss=1448 if len(data) % 2 else None)


def _results(kind: str) -> Callable[[bytes], object]:
    """A results folder one of whose files is the input: what `status` and `table` do with it."""

    def read(data: bytes) -> None:
        folder = SCRATCH / "results"
        (folder / "raw").mkdir(parents=True, exist_ok=True)
        files = {name: texts[0] for name, texts in RESULTS.items() if name != "raw"}
        _fill(folder, files | {"raw/000001-1.jsonl" if kind == "raw" else kind: data})
        opened = reader.open(folder)
        if kind == "raw":
            interpret.has_client(opened.archive.raw.read(1, 1))
            return
        opened.state()
        unfinished(opened.archive)
        assert opened.archive.machines is not None

    return read


@cache
def campaign_files() -> Mapping[str, bytes]:
    """The files of a campaign of ours; its journal without checksums, which `_fill` adds."""
    text = CHECKED.replace("trace: {roles: [sender], packets: 10}", "repeat: {seed: 1}")
    experiment = plan.seeded(load.parse(text, "x.yaml"))
    csv = io.StringIO(newline="")
    plan.Plan(experiment).write_csv(csv)
    machine = {"interface": "data0", "ssh_config": "/x/ssh_config"}
    meta = {
        "version": 2, "id": "0" * 32, "netlimits": "0", "experiment": "checked", "overrides": [["repeat.seed", "1"]],
        "seed": 1, "created": "2026-01-01", "shared_kernel": False, "skipped": {},
        "machines": {
            "sender": {"ssh": "vm1", "address": "192.0.2.1", **machine},
            "receiver": {"ssh": None, "address": "192.0.2.2", **machine},
        },
    }  # fmt: skip
    source = {"command": "x", "printed": "x"}
    link = {"address": "02:00:00:00:00:01", "addresses": ["192.0.2.1"]}
    facts_ = {"kernel": {"value": "Linux", **source}, "link": {"value": link, **source},
              "rings": {"absent": "no", **source}}  # fmt: skip
    (run,) = islice(plan.Plan(experiment).runs(), 1)
    labels = run_fields(run)
    outcome = {**labels, "attempt": 1, "status": "ok", "reason": "", "started": 1.0,
               "duration_s": 1.0, "figures": {"throughput_mbps": 94.1, "calls": 5},
               "interim": [{"ending_s": 2.0, "interval_s": 1.0, "throughput_mbps": 9.0}]}  # fmt: skip
    events = (
        _event("opened"),
        _event("start", **labels, attempt=1, started=1.0),
        _event("found", **_PLACE, state={"mtu": 1500, "others": {}}),
        _event("end", **outcome),
        _event("parsed", **outcome),
        _event("reconnected", role="sender", reason="x", tries=2, seconds=1.5),
    )
    return {
        "campaign.json": json.dumps(meta).encode(),
        "experiment.yaml": text.encode(),
        "plan.csv": csv.getvalue().encode(),
        "hosts/sender.json": json.dumps(facts_).encode(),
        "journal.jsonl": "\n".join(events).encode(),
    }


def _words(text: bytes) -> tuple[bytes, ...]:
    """Words of a file of JSON, and what is none of its values."""
    own = {word for word in text.replace(b'"', b" ").split() if 2 < len(word) < 30}
    return (*sorted(own)[:100], b"null", b"true", b"[]", b"{}", b"1e999", b"9" * 30, b"-1", b'""')


def _campaign(name: str) -> Callable[[bytes], object]:
    """A campaign's folder one of whose files is the input: all that is read without a host."""

    def read(data: bytes) -> None:
        folder = SCRATCH / "campaign"
        for inner in ("raw", "hosts"):
            (folder / inner).mkdir(parents=True, exist_ok=True)
        _fill(folder, {**campaign_files(), name: data})
        opened = reader.open(folder)
        if name.startswith("hosts/"):
            values = opened.archive.facts("sender")
            facts.mismatches(values, values)
            assert str((facts.value(values, "link") or {}).get("address", "")) is not None
            return
        for machine in opened.archive.machines.values():
            assert machine.ssh is None or machine.ssh
        assert registry.entry(opened.archive.identity) is None
        opened.state()
        opened.frame()
        for event in unfinished(opened.archive):
            states.fault(event["setting"], event["state"])
            if not states.fault(event["setting"], event["state"]):
                states.settable(event["setting"], event["state"])

    return read


def _fill(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write a folder's files, with all checksums right: none keeps a change from its reader."""
    others = {name: data for name, data in files.items() if name != "journal.jsonl"}
    for name, data in others.items():
        (folder / name).write_bytes(data)
    digests = {name: sha256(data).hexdigest() for name, data in others.items()}
    head, lines = Head(), []
    for body in (_event("created", files=digests).encode(), *files["journal.jsonl"].split(b"\n")):
        lines.append(head.sealed(body))
        head.add(lines[-1])
    (folder / "journal.jsonl").write_bytes(b"".join(lines))


def _event(event: str, **fields: Any) -> str:
    return json.dumps({"event": event, "at": 1.5, **fields})


_ROW = {
    "run": 1, "attempt": 1, "line": 3, "config": "abc", "values": {"file": "a.txt"},
    "status": "ok", "reason": "", "started": None, "duration_s": 1.0,
    "figures": {"throughput_mbps": 94.1},
}  # fmt: skip
_META: dict[str, Any] = {
    "version": 2, "id": "0" * 32, "netlimits": "0", "experiment": "imported", "file": "", "overrides": [],
    "seed": None, "created": "2026-01-01", "machines": {}, "features": {}, "shared_kernel": None,
    "imported": {
        "files": [{"file": "a.txt", "kept": "001-a.txt", "format": "netperf", "sha256": "00",
                   "bytes": 5, "runs": 1, "repaired": 0}],
        "factors": ["file"], "columns": [], "selectors": {}, "factors_given": {},
    },
}  # fmt: skip
_PLACE = {"role": "sender", "interface": "data0", "setting": "mtu"}
_LABELS = {"run": 1, "block": 1, "config": "abc", "values": {"file": "a.txt"}}
_JOURNAL = (
    _event("opened"),
    _event("imported", file="a.txt", rows=[_ROW]),
    _event("found", **_PLACE, state={"mtu": 1500}),
    _event("start", **_LABELS, attempt=2, started=1.0),
    _event("end", **_ROW | {"attempt": 2, "block": 1}),
    _event("put_back", **_PLACE),
    _event("closed"),
)
_ENTRY = {
    "step": "client", "host": "sender", "argv": ["netperf"], "sudo": False, "deadline": 30.0,
    "status": 0, "seconds": 1.0, "timed_out": False, "truncated": False, "stdout": "x",
    "stderr": "",
}  # fmt: skip
RESULTS: Mapping[str, Sequence[bytes]] = {
    "campaign.json": [
        json.dumps(_META).encode(),
        json.dumps({k: v for k, v in _META.items() if k != "imported"}).encode(),
    ],
    "journal.jsonl": ["\n".join(_JOURNAL).encode()],
    "raw": [(json.dumps(_ENTRY) + "\n").encode() * 2],
}

# -- what hosts answer before and after -----------------------------------------------------


def _hosts() -> Iterator[Target]:
    addresses = json.dumps(
        [{"ifname": "data0", "addr_info": [{"local": "192.0.2.1", "scope": "global"}]}]
    ).encode()
    yield Target("interfaces", _interfaces, (addresses,), weight=0.5)
    note = {"role": "sender", "interface": "data0", "setting": "mtu", "link_address": "",
            "state": {"mtu": 1500, "others": {}, "ipv6": {}}}  # fmt: skip
    lines = [json.dumps({**note, "setting": s.name}) + "\n" for s in SETTINGS]
    yield Target("notes", _notes, tuple(line.encode() for line in lines))
    keys = b"[192.0.2.1]:22 ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAAAAAAAAAAAAAAAAAAAAAAAAAAA x\n"
    marked = (b"@revoked * " + keys, b"|1|abc=|def= " + keys[18:], keys, b"*a*,!b? " + keys)
    yield Target("known hosts", _known_hosts, marked, (b"@revoked ", b"|1|", b"*", b"ssh-rsa"))
    mark = NONCE.encode()
    talk = b"hello\n" + mark + b"begin\n" + b"out" + mark + b"12\n" + mark + b"0\n"
    yield Target("marked output", _marked, (talk, mark * 2, talk * 2), (mark, b"\n"))


def _interfaces(data: bytes) -> None:
    host = ScriptedHost(lambda command: data.decode("utf-8", "backslashreplace"), "sender")
    survey._placed(host, Machine("sender", address="192.0.2.1"))
    survey._placed(host, Machine("sender", interface="data0"))


def _notes(data: bytes) -> None:
    text = data.decode("utf-8", "backslashreplace")
    list(notes.notes(Completed("sender", notes.read(), 0, text, "", 0.1)))

    def answer(command: Command) -> str:
        if command == notes.read():
            return text
        scripts = {"look": "key k 0\nuptime 1\n", "take": "/tmp/claim\n"}
        return scripts.get(command.argv[3], "") if len(command.argv) > 3 else ""

    restore_from_notes({"sender": ScriptedHost(answer, "sender")})


def _endpoint() -> Endpoint:
    files = (SCRATCH / "known_hosts",)
    return Endpoint(
        "vm1",
        "192.0.2.1",
        22,
        "root",
        (),
        True,
        False,
        "",
        "",
        files,
        "192.0.2.1",
        1.0,
        "ssh",
        "ssh-keyscan",
    )


def _known_hosts(data: bytes) -> None:
    (SCRATCH / "known_hosts").write_bytes(data)
    list(hostkeys._lines(_endpoint()))


def _foreign() -> Iterator[Target]:
    tables = [path.read_bytes()[:2000] for path in sorted(FOREIGN.glob("*.csv"))]
    words = (
        b";",
        b"\t",
        b"|",
        b"1.234,5",
        b'"1,234.5"',
        b"9.4 Gbits/sec",
        b"\xff\xfe",
        b"run",
        b"status",
    )
    yield Target("foreign tables", _foreign_table, (*tables, b"a;b\n1;2,5\n2;3,5\n"), words)
    paths = b"a/buf1_5ms_1.json\na/buf2_5ms_1.json\na/buf1_5ms_2.json\na/buf2_5ms_2.json"
    yield Target("names of files", _names, (paths,), (b"{", b"}", b"/", b".json"), weight=0.5)


def _foreign_table(data: bytes) -> None:
    path = SCRATCH / "table.csv"
    path.write_bytes(data)
    for name in dialects.read(path).columns[:3]:
        with suppress(NetlimitsError):
            frame = foreign.with_roles(path, {name: "throughput"}, {}, None, (), {})
            assert (frame["throughput_mbps"].dropna() >= 0).all()


def _names(data: bytes) -> None:
    paths = data.decode("utf-8", "replace").replace("\0", "").split("\n")
    pattern = names.NamePattern(paths[0])
    pattern.check()
    pattern.values(paths[-1])


NONCE = "0123456789abcdef"


def _marked(data: bytes) -> None:
    """Read in any pieces an output is the same, and holds no more than its limit."""
    whole = streams.Marked(NONCE, limit=64)
    whole.feed(data)
    pieces = streams.Marked(NONCE, limit=64)
    for start in range(0, len(data), 7):
        pieces.feed(data[start : start + 7])
    assert (whole.marks, whole.truncated) == (pieces.marks, pieces.truncated)
    assert whole.text == pieces.text
    assert len(whole._kept) <= 64
    assert whole.preamble == pieces.preamble
