"""Extract the parts of a page from a results folder: hosts, changes, failures and commands.

The folder may come from anybody. Data of an unexpected type is left out or shown unchanged.
"""

from __future__ import annotations

import itertools
import json
import shlex
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pandas as pd
import yaml

from netlimits.archive.reader import Campaign
from netlimits.archive.store import AGAINST
from netlimits.errors import NetlimitsError
from netlimits.evidence import facts
from netlimits.model import SIDES, Experiment, SettingUse
from netlimits.report.page import Change, Failure, HostFacts, Rows, TakenStep

REASONS = 50
RUNS = 12
"""Maximum number of reasons in the list of failures, and of run numbers for each reason."""

_AGAINST_HOSTS = "hosts-against.yaml"
FACTS: Mapping[str, tuple[tuple[str, ...], ...]] = {
    "Kernel": (("kernel",),),
    "Distribution": (("distribution", "PRETTY_NAME"),),
    "CPU": (("cpu", "model"),),
    "CPUs": (("cpu", "count"),),
    "Governor": (("governor",),),
    "NUMA node of the NIC": (("numa", "nic"),),
    "Kernel command line": (("command_line",),),
    "tuned profile": (("services", "tuned"),),
    "NIC driver": (("driver", "driver"), ("driver", "version")),
    "Firmware": (("driver", "firmware-version"),),
    "PCIe link (GT/s, lanes)": (("pcie", "current_gts"), ("pcie", "current_lanes")),
    "Link speed": (("link_settings", "Speed"),),
    "Interface": (("link", "ifname"),),
    "MTU": (("link", "mtu"),),
    "Addresses": (("link", "addresses"),),
    "Qdisc": (("link", "qdisc"),),
    "TCP segmentation offload": (("offloads", "tcp-segmentation-offload"),),
    "Generic receive offload": (("offloads", "generic-receive-offload"),),
    "Congestion control": (("sysctls", "net.ipv4.tcp_congestion_control"),),
    "Tools": (("ethtool",), ("iproute2",)),
}
"""Row of the table of hosts -> paths of the row's values in the facts of a host."""


ATTEMPT = ("run", "attempt", "status", "reason", "started", "duration_s")
"""Columns of the frame of attempts that the page needs."""


def summary(campaign: Campaign, attempts: pd.DataFrame) -> Rows:
    state = campaign.state()
    outcomes = [f"{state[k]} {k}" for k in ("ok", "failed", "timeout", "invalid", "left")
                if state[k]]  # fmt: skip
    times = attempts["started"].dropna()
    rows = [("Runs", f"{state['planned']}: {', '.join(outcomes) or 'none yet'}")]
    if running := state["running"]:
        rows.append(("Running", f"run {running['run']} is under way, by {running['by']}"))
    if len(times):
        # an interrupted run has no known end, so "Measured" counts it up to its start
        lasted = attempts["duration_s"].astype(float).reindex(times.index).fillna(0.0)
        last = (times + pd.to_timedelta(lasted, unit="s")).max()
        rows.append(("Measured", f"{_utc(times.min().timestamp())} to {_utc(last.timestamp())}"))
    if not campaign.imported:
        repeat = campaign.experiment.repeat
        rows.append(("Order", f"{repeat.order}, seed {repeat.seed}"))
    for name, value in campaign.archive.meta.get("features", {}).items():
        rows.append((f"{name} version", str(_part(value, "version"))))
    if campaign.archive.meta["shared_kernel"]:
        about = "both roles ran on it: sender and receiver CPU figures are the same CPUs"
        rows.append(("One machine", about))
    rows += [("Skipped", f"{skipped['runs']} runs of {skipped['tool']}: {skipped['reason']}")
             for skipped in state["skipped"]]  # fmt: skip
    return rows


def failures(attempts: pd.DataFrame) -> tuple[list[Failure], int]:
    """Return the most frequent reasons of attempts that are not ok.

    The second value is the number of other reasons.
    """
    grouped: dict[tuple[str, str], list[int]] = {}
    failed = attempts[attempts["status"] != "ok"]
    for status, reason, run in zip(failed["status"], failed["reason"], failed["run"], strict=True):
        grouped.setdefault((str(status), _text(reason)), []).append(int(run))
    ordered = sorted(grouped.items(), key=lambda item: -len(item[1]))
    most_frequent = [
        Failure(status, reason, _numbers(runs), len(runs))
        for (status, reason), runs in ordered[:REASONS]
    ]
    return most_frequent, max(0, len(ordered) - REASONS)


def _numbers(runs: Sequence[int]) -> str:
    named = ", ".join(str(run) for run in runs[:RUNS])
    return named if len(runs) <= RUNS else f"{named} and {len(runs) - RUNS} more"


def hosts(campaign: Campaign) -> Iterator[HostFacts]:
    for role, machine in campaign.archive.machines.items():
        try:
            read = campaign.archive.facts(role)
        except NetlimitsError as error:
            yield HostFacts(role, [("Facts", str(error))], ())
            continue
        login = f"ssh {machine.ssh}" if machine.ssh else "this machine"
        rows = [("Login", login), ("Data address", machine.address or "")]
        rows += [(name, _joined(read, places)) for name, places in FACTS.items()]
        printed = [(str(_part(fact, "command") or name),
                    str(_part(fact, "printed") or _part(fact, "absent")))
                   for name, fact in read.items()]  # fmt: skip
        yield HostFacts(role, [(name, value) for name, value in rows if value], printed)


def _joined(read: Mapping[str, Any], places: Sequence[Sequence[str]]) -> str:
    words = []
    for name, *keys in places:
        value = facts.value({name: read[name]}, name) if isinstance(read.get(name), dict) else None
        for key in keys:
            value = _part(value, key)
        words.append(", ".join(map(str, value)) if isinstance(value, list) else _text(value))
    return " ".join(word for word in words if word)


def _part(value: Any, key: str) -> Any:
    return value.get(key, "") if isinstance(value, dict) else ""


def _text(value: Any) -> str:
    return "" if value is None or isinstance(value, dict) else str(value)


def changes(campaign: Campaign) -> Iterator[Change]:
    states: dict[tuple[str, str, str], Any] = {}
    back: dict[tuple[str, str, str], str] = {}
    for event in campaign.archive.journal.having(b'"setting"'):
        if event["event"] not in ("found", "put_back", "forgotten"):
            continue
        place = (event["role"], event["interface"], event["setting"])
        if event["event"] == "found":
            states[place] = {**event["state"], **states.get(place, {})}
            back.pop(place, None)
        else:
            answer = "yes" if event["event"] == "put_back" else "no, given up"
            back[place] = f"{answer}, {_utc(event.get('at'))}"
    wanted = _wanted(campaign)
    for (role, interface, setting), state in states.items():
        yield Change(
            role,
            interface,
            setting,
            "; ".join(wanted.get((role, setting), ())) or "as the run needed it",
            yaml.safe_dump(state, sort_keys=False, allow_unicode=True, width=100),
            back.get((role, interface, setting), "NO"),
        )


def _wanted(campaign: Campaign) -> Mapping[tuple[str, str], list[str]]:
    """Return (role, setting) -> the different options that the configurations request, as text."""
    values: dict[tuple[str, str], list[str]] = {}
    for run in campaign.configurations.values() if campaign.experiment.settings else ():
        for use in campaign.plan.setup(run.values).settings:
            for role in use.roles:
                words = values.setdefault((role, use.name), [])
                if (text := _options(use)) not in words:
                    words.append(text)
    return values


def _options(use: SettingUse) -> str:
    return json.dumps(use.options, ensure_ascii=False).replace('"', "").strip("{}")


def steps(campaign: Campaign) -> tuple[str, list[TakenStep]]:
    """Return a sentence about one run, and the commands of this run.

    The run is the first ok run, or else the first run. Return "" and no commands if there is no
    run, or if its raw output cannot be read.
    """
    runs = campaign.ok_runs() or sorted({*campaign.frame(("status",))["run"]})
    if not runs:
        return "", []
    record = campaign.records_of(runs[:1])[-1]
    try:
        entries = campaign.archive.raw.read(record.run.number, record.attempt, record.raw)
    except NetlimitsError:
        return "", []
    derived = campaign.experiment.derived
    values = ", ".join(f"{n} {v}" for n, v in record.run.values.items() if n not in derived)
    about = f"Run {record.run.number} ({values}), attempt {record.attempt}: {record.status}."
    return about, [
        TakenStep(
            entry.host,
            entry.step,
            ("sudo " if done.command.sudo else "") + shlex.join(done.command.argv),
            "timed out" if done.timed_out else f"status {done.status}, {done.seconds:.3f} s",
        )
        for entry in entries
        for done in (entry.completed,)
    ]


def repeat(campaign: Campaign) -> tuple[list[str], Rows]:
    """Return the commands that repeat the campaign, and (name, content) of the files they need."""
    if campaign.imported:
        names = [source["file"] for source in campaign.imported["files"]]
        return ["# made from existing files, with", f"netlimits import {shlex.join(names)}"], ()
    experiment = campaign.experiment
    file = f"{experiment.name}.yaml"
    files = [(file, experiment.text), *_second_side(campaign)]
    hosts = ["--hosts", "hosts.yaml"]
    files.append(("hosts.yaml", _hosts_file(campaign, experiment)))
    against = _against(campaign)
    if renamed := experiment.other_names:
        second = list(experiment.sides.values())[1]
        files.append((_AGAINST_HOSTS, _hosts_file(campaign, second, renamed)))
        against += ["--against-hosts", _AGAINST_HOSTS]
    check = ["netlimits", "check", file, *hosts, *against]
    words = ["netlimits", "run", file, *hosts]
    words += [word for key, value in _overrides(campaign) for word in ("--set", f"{key}={value}")]
    *others, last = (name for name, _ in files)
    lines = [
        f"# save the files below as {', '.join(others)} and {last}, and name your machines in it",
        shlex.join(check),
        shlex.join([*words, *against]),
        *(
            f"netlimits extend RESULTS --replicates {added['replicates']} --seed {added['seed']}"
            for added in campaign.archive.extensions()
        ),
    ]
    return lines, files


def _second_side(campaign: Campaign) -> Rows:
    """Return (name, content) of the experiment file of a duet's second side.

    Return nothing if both sides have the same file, or if the experiment is no duet.
    """
    experiment = campaign.experiment
    texts = [(AGAINST, side.text) for side in experiment.sides.values()][1:]
    return [(name, text) for name, text in texts if text != experiment.text]


def _against(campaign: Campaign) -> list[str]:
    """Return the command-line options that define the second side of a duet."""
    experiment = campaign.experiment
    if not experiment.sides:
        return []
    first, second = experiment.sides.values()
    pairs = itertools.zip_longest(first.overrides, second.overrides)
    common = sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], pairs))
    changes = second.overrides[common:]
    sides = ",".join(experiment.sides)
    files = [name for name, _ in _second_side(campaign)]
    written = [*files, *(f"{key}={value}" for key, value in changes)]
    if not written and not experiment.other_names:
        written = [f"{experiment.name}.yaml"]
    words = [word for text in written for word in ("--against", text)]
    return [*words, *(("--sides", sides) if sides != ",".join(SIDES) else ())]


def _overrides(campaign: Campaign) -> Iterator[tuple[str, str]]:
    """Yield (key, value) of the overrides of `--set`, and of the seed.

    The seed is needed because a randomly drawn seed is in no file.
    """
    overrides = campaign.experiment.overrides
    yield from overrides
    if not any(key == "repeat.seed" for key, _ in overrides):
        yield "repeat.seed", str(campaign.archive.meta["seed"])


def _hosts_file(
    campaign: Campaign, experiment: Experiment, renamed: Mapping[str, str] | None = None
) -> str:
    experiment = next(iter(experiment.sides.values()), experiment)
    own = {name: role for role, name in (renamed or {}).items()}
    bound: dict[str, Any] = {}
    groups = experiment.groups or {role: (role,) for role in campaign.archive.machines}
    for name, roles in groups.items():
        entries = []
        for machine in (campaign.archive.machines.get(role) for role in roles):
            if machine:
                named = {"interface": machine.interface, "address": machine.address}
                login = {"ssh": machine.ssh} if machine.ssh else {"local": True}
                entries.append({**login, **{key: value for key, value in named.items() if value}})
        bound[own.get(name, name)] = entries[0] if roles == (name,) and entries else entries
    return yaml.safe_dump(bound, sort_keys=False, allow_unicode=True, default_flow_style=None)


def _utc(seconds: Any) -> str:
    try:
        return time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(float(seconds)))
    except (TypeError, ValueError, OverflowError, OSError):
        return "at an unknown time"
