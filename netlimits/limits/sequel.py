"""The experiment that would prove a campaign's verdicts, as a file."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from statistics import median
from typing import TYPE_CHECKING

from netlimits.analysis import wording
from netlimits.errors import DataError
from netlimits.experiment import resolution
from netlimits.limits import explained, proof, sequel_text
from netlimits.limits.base import Intervention
from netlimits.limits.changes import CHANGES
from netlimits.limits.classes import CLASSES
from netlimits.limits.configured import Configured, Levels
from netlimits.limits.evidence import evidence_of
from netlimits.limits.figures import RunFigures
from netlimits.limits.links import DataLinks
from netlimits.limits.sequel_text import PlannedChanges
from netlimits.limits.verdicts import Verdict, of_configuration, of_run

if TYPE_CHECKING:
    from netlimits.archive.reader import Campaign

REPLICATES = 6
"""Minimum blocks for an interval that holds with outliers (analysis.statistics.contrasts)."""
NOTHING: Mapping[str, Sequence[str]] = {}
Doses = Callable[[Verdict, Sequence[RunFigures]], Sequence[Intervention]]
"""Function of a configuration's verdict and its runs' figures -> the changes to make."""


def sequel(
    campaign: Campaign,
    suspects: tuple[str, ...] = (),
    only: Mapping[str, Sequence[str]] = NOTHING,
) -> str:
    """Return the text of the next experiment; `suspects` are classes to try in all configurations.

    `only` maps factors to the values, as text, that configurations may have. Raises DataError if
    there is no class to prove, and for a campaign that was imported.
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
    return sequel_text.text(campaign, planned, name, replicates, bare=False)


def _refuse(campaign: Campaign) -> None:
    """Raise DataError for a campaign that no experiment can follow up."""
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
    """Return the text of an experiment with the first `most` doses of each configuration."""
    _refuse(campaign)
    planned = list(_planned(campaign, (), NOTHING, doses, most, seconds))
    return sequel_text.text(campaign, planned, name, replicates, seconds, bare=True)


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
