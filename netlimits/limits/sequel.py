"""Write the text of an experiment file that would prove a campaign's verdicts."""

from __future__ import annotations

import copy
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import TYPE_CHECKING, Any

import yaml

from netlimits.analysis import wording
from netlimits.errors import DataError
from netlimits.experiment import document, resolution, templates
from netlimits.experiment.document import KeyPath
from netlimits.experiment.overrides import apply
from netlimits.limits import explained, proof
from netlimits.limits.base import Intervention
from netlimits.limits.changes import CHANGES, Configured, Levels
from netlimits.limits.classes import CLASSES
from netlimits.limits.evidence import evidence_of
from netlimits.limits.figures import RunFigures
from netlimits.limits.links import DataLinks
from netlimits.limits.verdicts import Verdict, of_configuration, of_run
from netlimits.model import Experiment, Scalar, Values
from netlimits.tools import tool

if TYPE_CHECKING:
    from netlimits.archive.reader import Campaign

REPLICATES = 6
"""Minimum number of blocks for an interval that is robust against outliers (see
`analysis.statistics.contrasts`)."""
NOTHING: Mapping[str, Sequence[str]] = {}
Doses = Callable[[Verdict, Sequence[RunFigures]], Sequence[Intervention]]
"""Function of a configuration's verdict and its runs' figures that returns the changes to make."""


def sequel(
    campaign: Campaign,
    suspects: tuple[str, ...] = (),
    only: Mapping[str, Sequence[str]] = NOTHING,
) -> str:
    """Return the text of the next experiment; `suspects` are classes to try in all configurations.

    `only` selects configurations: it maps factors to the allowed values, as text. Raises DataError
    if no setting could prove any class, or if the campaign cannot be extended.
    """
    _refuse(campaign)
    planned = list(_planned(campaign, suspects, only))
    if not any(each.levels for each in planned):
        hands = [text for each in planned for text in each.by_hand.values()]
        raise DataError(
            f"{campaign.path}: no class of limits has evidence that a setting could prove"
            + (f"; by hand: {'; '.join(dict.fromkeys(hands))}" if hands else "")
        )
    name = f"{campaign.experiment.name[:59]}-next"
    replicates = max(REPLICATES, campaign.experiment.repeat.replicates)
    return _text(campaign, planned, name, replicates, bare=False)


def _refuse(campaign: Campaign) -> None:
    """Raise DataError for imported campaigns, meshes, and campaigns with sides or interventions.

    A campaign of `run --against` has two sides.
    """
    if campaign.imported:
        raise DataError(f"{campaign.path}: was imported, so there is no experiment to extend")
    if campaign.experiment.sides:
        raise DataError(
            f"{campaign.path}: is a duet, which would need two experiments: run one side by "
            "itself, and explain that"
        )
    if campaign.experiment.mesh:
        raise DataError(
            f"{campaign.path}: is a mesh: run the pair that you ask about by itself, as an "
            "experiment of two hosts, and explain that"
        )
    if proof.INTERVENTION in resolution.names(campaign.experiment):
        raise DataError(f"{campaign.path}: has a factor `intervention` already; explain it instead")


def dosed(
    campaign: Campaign, doses: Doses, most: int, name: str, replicates: int, seconds: int
) -> str:
    """Return the text of an experiment with up to `most` of the `doses` for each configuration."""
    _refuse(campaign)
    planned = list(_planned(campaign, (), NOTHING, doses, most, seconds))
    return _text(campaign, planned, name, replicates, seconds, bare=True)


def _planned(
    campaign: Campaign,
    suspects: tuple[str, ...],
    only: Mapping[str, Sequence[str]],
    doses: Doses | None = None,
    most: int = len(CLASSES),
    seconds: int | None = None,
) -> Iterator[PlannedChanges]:
    frame, evidence = evidence_of(campaign)
    links = DataLinks(campaign, frame["run"])
    hosts = {end: roles[0] for end, roles in campaign.experiment.ends.items()}
    for part in explained.configurations(frame):
        if any(wording.text(part[name].iloc[0]) not in values for name, values in only.items()):
            continue
        runs = [evidence[index] for index in part.index]
        verdict = of_configuration([of_run(run) for run in runs])
        number = int(part["run"].iloc[0])
        values = campaign.runs[number].values
        rates = sorted(run.throughput for run in runs if run.throughput)
        trips = [us for run in runs if (us := run.sent("rtt_us") or run.received("rtt_us"))]
        setup = campaign.plan.setup(values)
        if seconds is not None:
            setup = replace(setup, options={**setup.options, "seconds": seconds})
        configured = Configured(
            campaign.experiment,
            setup,
            throughput=rates[len(rates) // 2] * 1e6 if rates else None,
            sender=runs[0].sender,
            udp=runs[0].udp,
            one_machine=runs[0].one_machine,
            mtu=links.mtu(number),
            ipv6=links.ipv6(number),
            packet_bytes=runs[0].packet_bytes,
            sysctls={end: links.fact(role, "sysctls") for end, role in hosts.items()},
            cpus={
                end: count
                for end, role in hosts.items()
                if isinstance(count := links.fact(role, "cpu").get("count"), int)
            },
            queues=links.queues(number),
            rtt_us=median(trips) if trips else None,
        )
        levels: dict[str, Levels] = {}
        serves: dict[str, list[tuple[str, Intervention]]] = {}
        by_hand = {}
        leading = tuple(dict.fromkeys((*verdict.leading, *suspects)))
        wanted = [(each.name, each.intervention) for each in CLASSES if each.name in leading]
        if doses is not None:
            wanted = [(f"the dose {dose.level}", dose) for dose in doses(verdict, runs)]
        for limit, what in wanted:
            change = CHANGES[what.what](configured, what.times) if what.what else "no setting does"
            if isinstance(change, str):
                by_hand[limit] = f"{what.change} ({change})"
                continue
            if len(levels) == most and what.level not in levels:
                continue
            levels[what.level] = change
            serves.setdefault(what.level, []).append((limit, what))
        yield PlannedChanges(values, verdict, levels, serves, by_hand)


_WIDTH = 98


@dataclass(frozen=True, slots=True)
class PlannedChanges:
    """The changes planned for a configuration, to prove its verdict.

    `levels` maps each level of the factor `intervention` to the keys that it changes in the
    experiment file. `serves` maps each level to the classes that it may prove. `by_hand` maps
    classes to changes that no setting can make.
    """

    values: Values
    verdict: Verdict
    levels: Mapping[str, Levels]
    serves: Mapping[str, Sequence[tuple[str, Intervention]]]
    by_hand: Mapping[str, str]


def _text(
    campaign: Campaign,
    planned: list[PlannedChanges],
    name: str,
    replicates: int,
    seconds: int | None = None,
    *,
    bare: bool,
) -> str:
    data = _document(campaign.experiment, planned, name, replicates, bare=bare)
    for options in data["measure"].values() if seconds else ():
        options["seconds"] = seconds
    written = yaml.safe_dump(
        data, sort_keys=False, allow_unicode=True, width=_WIDTH, default_flow_style=None
    )
    return _head(campaign, planned) + str(written)


def _document(
    experiment: Experiment, planned: list[PlannedChanges], name: str, replicates: int, *, bare: bool
) -> dict[str, Any]:
    read = document.parse(experiment.text, experiment.path)
    data, _ = apply(read, experiment.overrides)
    keys = list(dict.fromkeys(k for p in planned for ls in p.levels.values() for k in ls))
    names = _names(keys)
    before = copy.deepcopy(data)
    added: dict[str, dict[str, Any]] = {}
    for key in keys:
        _put(data, added, key, f"${{{names[key]}}}")
    uses = [use for p in planned for use in resolution.setup(experiment, p.values).settings]
    holding = {use.entry for use in uses}  # an entry that no configuration uses would be an error
    entries = [entry for at, entry in enumerate(data.pop("settings", [])) if at in holding]
    if entries or added:
        data["settings"] = [*entries, *added.values()]
    if ("streams",) in names:
        for program, options in data["measure"].items():
            if "interim_seconds" in tool(program).schema["properties"]:
                options.setdefault("interim_seconds", 1)
    for section in (
        *("factors", "zip", "derive", "exclude", "include"),
        *("dummies", "report", "profile"),
    ):
        data.pop(section, None)
    measuring = {resolution.tool_of(experiment, each.values) for each in planned}
    data["measure"] = {name: part for name, part in data["measure"].items() if name in measuring}
    settings = [use.options for use in experiment.settings]
    used = templates.used([settings, data["measure"], dict(experiment.around)])
    used |= resolution.looked_up(experiment)
    columns = [n for n in resolution.names(experiment) if n not in experiment.derive or n in used]
    rows = []
    for each in planned:
        if not each.levels and not bare:
            continue
        own = {names[key]: _value(before, key, each.values) for key in keys}
        for level, levels in {proof.NONE: {}, **each.levels}.items():
            row = {name: each.values[name] for name in columns}
            changed = {names[key]: value for key, value in levels.items()}
            rows.append({**row, proof.INTERVENTION: level, **own, **changed})
    return {
        "experiment": name,
        **{key: part for key, part in data.items() if key not in ("experiment", "repeat")},
        "zip": {name: [row[name] for row in rows] for name in rows[0]},
        "repeat": {
            "replicates": replicates,
            "order": "blocked",
            **({"seed": experiment.repeat.seed} if experiment.repeat.seed is not None else {}),
        },
        "report": [
            {
                "table": "summary",
                "of": ["throughput"],
                "rows": proof.INTERVENTION,
                **({"columns": columns} if columns else {}),
            },
            {"chart": "sensitivities"},
        ],
    }


def _names(keys: list[KeyPath]) -> dict[KeyPath, str]:
    """Return changed key -> name of the factor that holds its values."""
    names: dict[KeyPath, str] = {}
    for key in keys:
        last = "".join(c if c.isalnum() else "_" for c in str(key[-1]))
        name, number = f"{proof.CHANGED}{last}", 2
        while name in names.values():
            name, number = f"{proof.CHANGED}{last}_{number}", number + 1
        names[key] = name
    return names


def _put(data: Any, added: dict[str, dict[str, Any]], key: KeyPath, value: Scalar) -> None:
    """Set a key and create its parents; `added` collects new entries of settings, by role."""
    here: Any = data
    if key[0] == "settings" and isinstance(key[1], str):
        here = added.setdefault(key[1], {"roles": [key[1]]})
        key = key[2:]
    for step in key[:-1]:
        if isinstance(here, dict) and not isinstance(here.get(step), dict | list):
            here[step] = {}
        here = here[step]
    here[key[-1]] = value


def _value(data: Any, key: KeyPath, values: Values) -> Scalar:
    """Return a key's value without an intervention; None if the experiment does not set it."""
    here: Any = data
    if key[0] == "settings" and isinstance(key[1], str):
        return None
    for step in key:
        try:
            here = here[step]
        except (LookupError, TypeError):
            return None
    value: Scalar = templates.resolve(here, values)
    return value


def _head(campaign: Campaign, planned: list[PlannedChanges]) -> str:
    lines = [
        f"What would prove the verdicts of {campaign.path.name}. Each configuration runs as it "
        "was (`intervention: none`) and with one thing changed, side by side in the same blocks.",
        "",
        "  netlimits run THIS.yaml --hosts hosts.yaml; netlimits explain RESULTS",
    ]
    derived = campaign.experiment.derive
    for each in planned:
        factors = {name: value for name, value in each.values.items() if name not in derived}
        where = ", ".join(f"{k} {templates.written(v)}" for k, v in factors.items())
        lines += ["", f"{where or 'The only configuration'}: {each.verdict.limit}."]
        lines.append(each.verdict.sentence)
        if not each.levels:
            lines.append("  It is left out: no change of a setting would decide anything.")
        for level, names in each.serves.items():
            for name, what in names:
                proves = f"; {what.expectation} proves it" if what.decisive else ""
                lines.append(f"  {level}, for {name}: {what.change}{proves}")
        lines += [f"  {name}, by hand: {text}" for name, text in each.by_hand.items()]
    wrapped = []
    for line in lines:
        indent = " " * (len(line) - len(line.lstrip()))
        text = "".join(c if c.isprintable() else "?" for c in line.strip())
        wrapped += textwrap.wrap(
            text, _WIDTH - 2, initial_indent=indent, subsequent_indent=indent + "  " * bool(indent)
        ) or [""]
    return "".join(f"# {line}".rstrip() + "\n" for line in wrapped) + "\n"
