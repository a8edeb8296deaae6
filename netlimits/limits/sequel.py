"""The experiment that would prove a campaign's verdicts, as a file.

It holds the same configurations, each without an intervention and with the changes of its leading
classes, in the same blocks: each change once, whatever number of classes it serves. They stand as
lists that move together (`zip`): what one configuration was measured to be sets how its
intervention is made. A key that an intervention changes becomes `${next_…}`; its value without is
what it was, or null where it was left out.
"""

from __future__ import annotations

import copy
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import yaml

from netlimits.analysis import wording
from netlimits.errors import DataError
from netlimits.experiment import document, resolution, templates
from netlimits.experiment.document import KeyPath
from netlimits.experiment.overrides import apply
from netlimits.limits import explained, proof
from netlimits.limits.changes import CHANGES
from netlimits.limits.classes import CLASSES
from netlimits.limits.configured import Configured, Levels
from netlimits.limits.evidence import evidence_of
from netlimits.limits.links import DataLinks
from netlimits.limits.verdicts import Verdict, of_configuration, of_run
from netlimits.model import Experiment, Scalar, Values
from netlimits.tools import tool

if TYPE_CHECKING:
    from netlimits.archive.reader import Campaign

REPLICATES = 6
"""Blocks from which on an interval holds for runs with outliers (analysis.contrasts)."""
NOTHING: Mapping[str, Sequence[str]] = {}
_WIDTH = 98


@dataclass(frozen=True, slots=True)
class _Planned:
    """A configuration with its verdict: the levels of each change, and what to do by hand.

    `serves` has the classes that a change is for: one change is made once.
    """

    values: Values
    verdict: Verdict
    levels: Mapping[str, Levels]
    serves: Mapping[str, Sequence[str]]
    by_hand: Mapping[str, str]


def sequel(
    campaign: Campaign,
    suspects: tuple[str, ...] = (),
    only: Mapping[str, Sequence[str]] = NOTHING,
) -> str:
    """The text of the experiment's file; `suspects` are classes to try in every configuration.

    `only` names factors with the values, as text, that configurations may have. Raises DataError
    where there is no class to prove, and for a campaign that was imported.
    """
    if campaign.imported:
        raise DataError(f"{campaign.path}: was imported: there is no experiment to go on with")
    if campaign.experiment.sides:
        raise DataError(
            f"{campaign.path}: is a duet, and what would prove its verdicts would be two: run the "
            "side that you ask about by itself, and explain that"
        )
    if campaign.experiment.mesh:
        raise DataError(
            f"{campaign.path}: is a mesh: run the pair that you ask about by itself, as an "
            "experiment of two hosts, and explain that"
        )
    if proof.INTERVENTION in resolution.names(campaign.experiment):
        raise DataError(f"{campaign.path}: has a factor `intervention` already; explain it instead")
    planned = list(_planned(campaign, suspects, only))
    if not any(each.levels for each in planned):
        hands = [text for each in planned for text in each.by_hand.values()]
        raise DataError(
            f"{campaign.path}: no class of limits has evidence that a setting could prove"
            + (f"; by hand: {'; '.join(dict.fromkeys(hands))}" if hands else "")
        )
    return _head(campaign, planned) + _body(campaign.experiment, planned)


def _planned(
    campaign: Campaign, suspects: tuple[str, ...], only: Mapping[str, Sequence[str]]
) -> Iterator[_Planned]:
    frame, evidence = evidence_of(campaign)
    links = DataLinks(campaign)
    for part in explained.configurations(frame):
        if any(wording.text(part[name].iloc[0]) not in values for name, values in only.items()):
            continue
        runs = [evidence[index] for index in part.index]
        verdict = of_configuration([of_run(run) for run in runs])
        values = campaign.runs[int(part["run"].iloc[0])].values
        rates = sorted(run.throughput for run in runs if run.throughput)
        configured = Configured(
            campaign.experiment,
            campaign.plan.setup(values),
            throughput=rates[len(rates) // 2] * 1e6 if rates else None,
            sender=runs[0].sender,
            udp=runs[0].udp,
            one_machine=runs[0].one_machine,
            mtu=links.mtu(int(part["run"].iloc[0])),
            ipv6=links.ipv6(int(part["run"].iloc[0])),
            packet_bytes=runs[0].packet_bytes,
            sysctls={
                end: _sysctls(campaign, roles[0]) for end, roles in campaign.experiment.ends.items()
            },
            cpus=_cpus(campaign),
        )
        levels: dict[str, Levels] = {}
        serves: dict[str, list[str]] = {}
        by_hand = {}
        leading = tuple(dict.fromkeys((*verdict.leading, *suspects)))
        for each in CLASSES:
            if each.name not in leading:
                continue
            what = each.intervention
            change = CHANGES[what.what](configured, what.times) if what.what else "no setting does"
            if isinstance(change, str):
                by_hand[each.name] = f"{what.change} ({change})"
                continue
            levels[what.level] = change
            serves.setdefault(what.level, []).append(each.name)
        yield _Planned(values, verdict, levels, serves, by_hand)


def _sysctls(campaign: Campaign, role: str) -> Mapping[str, Any]:
    fact = campaign.archive.facts(role).get("sysctls", {})
    value = fact.get("value") if isinstance(fact, dict) else None
    return value if isinstance(value, dict) else {}


def _cpus(campaign: Campaign) -> Mapping[str, int]:
    """How many CPUs the first host of each end has; without those that are not known."""
    counts = {}
    for end, roles in campaign.experiment.ends.items():
        fact = campaign.archive.facts(roles[0]).get("cpu", {})
        value = fact.get("value") if isinstance(fact, dict) else None
        if isinstance(value, dict) and isinstance(value.get("count"), int):
            counts[end] = value["count"]
    return counts


def _body(experiment: Experiment, planned: list[_Planned]) -> str:
    """The document without comments."""
    read = document.parse(experiment.text, experiment.path)
    data, _ = apply(read, experiment.overrides)
    keys = list(dict.fromkeys(k for p in planned for ls in p.levels.values() for k in ls))
    names = _names(keys)
    before = copy.deepcopy(data)
    added: dict[str, dict[str, Any]] = {}
    for key in keys:
        _put(data, added, key, f"${{{names[key]}}}")
    uses = [use for p in planned for use in resolution.setup(experiment, p.values).settings]
    holding = {use.entry for use in uses}  # what holds for no configuration would be an error
    entries = [entry for at, entry in enumerate(data.pop("settings", [])) if at in holding]
    if entries or added:
        data["settings"] = [*entries, *added.values()]
    if ("streams",) in names:
        for name, options in data["measure"].items():
            if "interim_seconds" in tool(name).schema["properties"]:
                options.setdefault("interim_seconds", 1)
    for section in ("factors", "zip", "derive", "exclude", "include", "dummies", "report"):
        data.pop(section, None)
    measuring = {resolution.tool_of(experiment, each.values) for each in planned}
    data["measure"] = {name: part for name, part in data["measure"].items() if name in measuring}
    settings = [use.options for use in experiment.settings]
    used = templates.used([settings, data["measure"], dict(experiment.around)])
    used |= resolution.looked_up(experiment)
    columns = [n for n in resolution.names(experiment) if n not in experiment.derive or n in used]
    rows = []
    for each in planned:
        if not each.levels:
            continue
        own = {names[key]: _value(before, key, each.values) for key in keys}
        for level, levels in {proof.NONE: {}, **each.levels}.items():
            row = {name: each.values[name] for name in columns}
            changed = {names[key]: value for key, value in levels.items()}
            rows.append({**row, proof.INTERVENTION: level, **own, **changed})
    whole = {
        "experiment": f"{experiment.name[:59]}-next",
        **{key: part for key, part in data.items() if key not in ("experiment", "repeat")},
        "zip": {name: [row[name] for row in rows] for name in rows[0]},
        "repeat": {
            "replicates": max(REPLICATES, experiment.repeat.replicates),
            "order": "blocked",
            **({"seed": experiment.repeat.seed} if experiment.repeat.seed is not None else {}),
        },
        "report": [
            {
                "table": "summary",
                "of": ["throughput"],
                "rows": proof.INTERVENTION,
                **({"columns": columns} if columns else {}),
            }
        ],
    }
    return str(
        yaml.safe_dump(
            whole, sort_keys=False, allow_unicode=True, width=_WIDTH, default_flow_style=None
        )
    )


def _names(keys: list[KeyPath]) -> dict[KeyPath, str]:
    """A column for each key: `next_` and the option's own name, with a number where two meet."""
    names: dict[KeyPath, str] = {}
    for key in keys:
        last = "".join(c if c.isalnum() else "_" for c in str(key[-1]))
        name, number = f"{proof.CHANGED}{last}", 2
        while name in names.values():
            name, number = f"{proof.CHANGED}{last}_{number}", number + 1
        names[key] = name
    return names


def _put(data: Any, added: dict[str, dict[str, Any]], key: KeyPath, value: Scalar) -> None:
    """Set a key, making what is around it; `added` are entries of settings, by role."""
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
    """What a key is in a configuration without an intervention; None where it is left out."""
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


def _head(campaign: Campaign, planned: list[_Planned]) -> str:
    """The comment that says why, configuration by configuration."""
    lines = [
        f"What would prove the verdicts of {campaign.path.name}. Each configuration runs as it "
        "was (`intervention: none`) and with one thing changed, side by side in the same blocks.",
        "",
        "  netlimits run THIS.yaml --hosts hosts.yaml; netlimits explain RESULTS",
    ]
    interventions = {each.name: each.intervention for each in CLASSES}
    derived = campaign.experiment.derive
    for each in planned:
        factors = {name: value for name, value in each.values.items() if name not in derived}
        where = ", ".join(f"{k} {templates.written(v)}" for k, v in factors.items())
        lines += ["", f"{where or 'The only configuration'}: {each.verdict.limit}."]
        lines.append(each.verdict.sentence)
        if not each.levels:
            lines.append("  It is left out: nothing that a setting could change would tell more.")
        for level, names in each.serves.items():
            for name in names:
                what = interventions[name]
                lines.append(f"  {level}, for {name}: {what.change}; {what.expectation} proves it")
        lines += [f"  {name}, by hand: {text}" for name, text in each.by_hand.items()]
    wrapped = []
    for line in lines:
        indent = " " * (len(line) - len(line.lstrip()))
        text = "".join(c if c.isprintable() else "?" for c in line.strip())
        wrapped += textwrap.wrap(
            text, _WIDTH - 2, initial_indent=indent, subsequent_indent=indent + "  " * bool(indent)
        ) or [""]
    return "".join(f"# {line}".rstrip() + "\n" for line in wrapped) + "\n"
