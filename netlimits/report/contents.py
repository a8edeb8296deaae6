"""What a campaign's folder says, as the page has it: hosts, changes, failures, commands, repeating.

The folder may be anybody's: what has not the shape it should have is left out or shown as it is.
"""

from __future__ import annotations

import itertools
import json
import shlex
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import yaml

from netlimits.archive import raw
from netlimits.archive.reader import Campaign
from netlimits.archive.store import AGAINST
from netlimits.errors import NetlimitsError
from netlimits.evidence import facts
from netlimits.model import SIDES, Experiment, Record, SettingUse
from netlimits.report.page import Change, Failure, HostFacts, Rows, TakenStep

REASONS = 50
RUNS = 12
"""How many reasons are listed, and how many runs of each are named."""

_THERE = "hosts-against.yaml"
FACTS: Mapping[str, tuple[tuple[str, ...], ...]] = {
    "Kernel": (("kernel",),),
    "Distribution": (("distribution", "PRETTY_NAME"),),
    "CPU": (("cpu", "model"),),
    "CPUs": (("cpu", "count"),),
    "Governor": (("governor",),),
    "NIC driver": (("driver", "driver"), ("driver", "version")),
    "Firmware": (("driver", "firmware-version"),),
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
"""Row -> where its values stand among the facts, those that a reader looks for first."""


def summary(campaign: Campaign, records: Sequence[Record]) -> Rows:
    """The campaign in short: its time, how many runs, their outcomes, their order."""
    state = campaign.state()
    outcomes = [f"{state[k]} {k}" for k in ("ok", "failed", "timeout", "invalid", "left")
                if state[k]]  # fmt: skip
    times = [r.started for r in records if r.started == r.started]
    rows = [("Runs", f"{state['planned']}: {', '.join(outcomes) or 'none yet'}")]
    if running := state["running"]:
        rows.append(("Running", f"run {running['run']} is under way, by {running['by']}"))
    if times:
        ends = [r.started + r.duration_s for r in records if r.duration_s == r.duration_s]
        last = max(time for time in (*times, *ends) if time == time)  # of one cut off: its start
        rows.append(("Measured", f"{_utc(min(times))} to {_utc(last)}"))
    if not campaign.imported:
        repeat = campaign.experiment.repeat
        rows.append(("Order", f"{repeat.order}, seed {repeat.seed}"))
    for name, value in campaign.archive.meta.get("features", {}).items():
        rows.append((f"{name} version", str(_part(value, "version"))))
    if campaign.archive.meta["shared_kernel"]:
        rows.append(
            (
                "One machine",
                "both roles ran on it: sender and receiver CPU figures are the same CPUs",
            )
        )
    rows += [("Skipped", f"{skipped['runs']} runs of {skipped['tool']}: {skipped['reason']}")
             for skipped in state["skipped"]]  # fmt: skip
    return rows


def failures(records: Sequence[Record]) -> tuple[list[Failure], int]:
    """Each reason with its runs, the most frequent first; how many reasons more there are."""
    grouped: dict[tuple[str, str], list[int]] = {}
    for record in records:
        if record.status != "ok":
            grouped.setdefault((record.status, record.reason), []).append(record.run.number)
    ordered = sorted(grouped.items(), key=lambda item: -len(item[1]))
    most_frequent = [
        Failure(status, reason, _numbers(runs), len(runs))
        for (status, reason), runs in ordered[:REASONS]
    ]
    return most_frequent, max(0, len(ordered) - REASONS)


def _numbers(runs: Sequence[int]) -> str:
    """ "1, 2, 3 and 8 more"."""
    named = ", ".join(str(run) for run in runs[:RUNS])
    return named if len(runs) <= RUNS else f"{named} and {len(runs) - RUNS} more"


def hosts(campaign: Campaign) -> Iterator[HostFacts]:
    """Each host's facts as they were when the campaign began."""
    for role, machine in campaign.archive.machines.items():
        try:
            read = campaign.archive.facts(role)
        except NetlimitsError as error:
            yield HostFacts(role, [("Facts", str(error))], ())
            continue
        login = f"ssh {machine.ssh}" if machine.ssh else "this machine"
        rows = [("Login", login), ("Data address", machine.address or "")]
        rows += [(name, _joined(read, places)) for name, places in FACTS.items()]
        printed = [
            (
                str(_part(fact, "command") or name),
                str(_part(fact, "printed") or _part(fact, "absent")),
            )
            for name, fact in read.items()
        ]  # fmt: skip
        yield HostFacts(role, [(name, value) for name, value in rows if value], printed)


def _joined(read: Mapping[str, Any], places: Sequence[Sequence[str]]) -> str:
    """The facts at these places, in words; nothing for what is not there."""
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
    """Every place that the journal says was changed, and when it was restored."""
    states: dict[tuple[str, str, str], Any] = {}
    back: dict[tuple[str, str, str], str] = {}
    for event in campaign.archive.events():
        if event["event"] in ("found", "put_back", "forgotten"):
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
    """(Role, setting) -> each different value that the configurations ask for, in words."""
    values: dict[tuple[str, str], list[str]] = {}
    configs: set[str] = set()
    for run in campaign.runs.values() if campaign.experiment.settings else ():
        if run.config in configs:
            continue
        configs.add(run.config)
        for use in campaign.plan.setup(run.values).settings:
            for role in use.roles:
                words = values.setdefault((role, use.name), [])
                if (text := _options(use)) not in words:
                    words.append(text)
    return values


def _options(use: SettingUse) -> str:
    """A setting's options in one line, as a YAML file has them."""
    return json.dumps(use.options, ensure_ascii=False).replace('"', "").strip("{}")


def steps(campaign: Campaign, records: Sequence[Record]) -> tuple[str, list[TakenStep]]:
    """The commands of the first run that is ok, or else of the first; which run that is."""
    tried = sorted(records, key=lambda r: (r.status != "ok", r.run.number, -r.attempt))
    for record in tried[:1]:
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
            if entry.step != raw.CONTROLLER
        ]
    return "", []


def repeat(campaign: Campaign) -> tuple[list[str], Rows]:
    """The commands that run it again, and the files that they need, to the letter.

    RESULTS in those that add runs is the folder that the run before them names.
    """
    if campaign.imported:
        names = [source["file"] for source in campaign.imported["files"]]
        return [
            "# made of files that were there before, with",
            f"netlimits import {shlex.join(names)}",
        ], ()
    experiment = campaign.experiment
    file = f"{experiment.name}.yaml"
    files = [(file, experiment.text), *_second_side(campaign)]
    hosts = ["--hosts", "hosts.yaml"]
    files.append(("hosts.yaml", _hosts_file(campaign, experiment)))
    against = _against(campaign)
    if renamed := experiment.other_names:
        second = list(experiment.sides.values())[1]
        files.append((_THERE, _hosts_file(campaign, second, renamed)))
        against += ["--against-hosts", _THERE]
    check = ["netlimits", "check", file, *hosts, *against]
    words = ["netlimits", "run", file, *hosts]
    words += [word for key, value in _overrides(campaign) for word in ("--set", f"{key}={value}")]
    *others, last = (name for name, _ in files)
    lines = [
        f"# save the files below as {', '.join(others)} and {last}, with your own machines in it",
        shlex.join(check),
        shlex.join([*words, *against]),
        *(
            f"netlimits extend RESULTS --replicates {added['replicates']} --seed {added['seed']}"
            for added in campaign.archive.journal.extensions()
        ),
    ]
    return lines, files


def _second_side(campaign: Campaign) -> Rows:
    """The file of a duet's second side, unless it is that of the first."""
    experiment = campaign.experiment
    texts = [(AGAINST, side.text) for side in experiment.sides.values()][1:]
    return [(name, text) for name, text in texts if text != experiment.text]


def _against(campaign: Campaign) -> list[str]:
    """What makes the second side of a duet of the first."""
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
    """What `--set` changed, and the seed: one that was drawn is in no file."""
    overrides = campaign.experiment.overrides
    yield from overrides
    if not any(key == "repeat.seed" for key, _ in overrides):
        yield "repeat.seed", str(campaign.archive.meta["seed"])


def _hosts_file(
    campaign: Campaign, experiment: Experiment, renamed: Mapping[str, str] | None = None
) -> str:
    """The hosts file that binds the same machines; a role of several machines is a list.

    Of a duet that of its first side, or of the second, whose roles were `renamed`.
    """
    experiment = next(iter(experiment.sides.values()), experiment)
    own = {name: role for role, name in (renamed or {}).items()}
    bound: dict[str, Any] = {}
    groups = experiment.groups or {role: (role,) for role in campaign.archive.machines}
    for name, roles in groups.items():
        machines = [
            campaign.archive.machines[role] for role in roles if role in campaign.archive.machines
        ]
        entries = [
            {
                **({"ssh": machine.ssh} if machine.ssh else {"local": True}),
                **({"interface": machine.interface} if machine.interface else {}),
                **({"address": machine.address} if machine.address else {}),
            }
            for machine in machines
        ]
        bound[own.get(name, name)] = entries[0] if roles == (name,) and entries else entries
    return yaml.safe_dump(bound, sort_keys=False, allow_unicode=True, default_flow_style=None)


def _utc(seconds: Any) -> str:
    try:
        return time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(float(seconds)))
    except (TypeError, ValueError, OverflowError, OSError):
        return "at an unknown time"
