"""Merge the stacks of all profiled runs of each configuration and role."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from netlimits.analysis import wording
from netlimits.archive import raw
from netlimits.archive.reader import Campaign
from netlimits.evidence.profiles import stacks
from netlimits.evidence.profiles.stacks import Profile
from netlimits.model import Record


@dataclass(frozen=True, slots=True)
class RoleProfile:
    """The merged profile of a role in one configuration.

    `about` is a text with the values of the factors. It is "" if there is only one configuration.
    """

    role: str
    about: str
    profile: Profile

    @property
    def title(self) -> str:
        return ", ".join(filter(None, (self.role, self.about)))


def profiles(campaign: Campaign) -> Iterator[RoleProfile]:
    """Yield the merged profile of each configuration and role.

    Configurations are in the order of their first ok runs with a profile.
    """
    if campaign.imported or not campaign.plan.profiled_runs():
        return
    profiled = {run.number for run in campaign.plan.runs() if run.profiled}
    last = {record.run.number: record for record in campaign.records_of(profiled)}
    by_config: dict[str, list[Record]] = {}
    for record in last.values():
        if record.status == "ok":
            by_config.setdefault(record.run.config, []).append(record)
    factors = [
        name
        for name in (next(iter(last.values())).run.values if last else ())
        if name not in campaign.experiment.derived
        and len({str(record.run.values.get(name)) for record in last.values()}) > 1
    ]
    for records in by_config.values():
        parsed: dict[str, list[Profile]] = {}
        for record in records:
            for role, text in _printed(campaign, record).items():
                parsed.setdefault(role, []).append(stacks.parse(text))
        values = records[0].run.values
        about = ", ".join(wording.phrases([values[name] for name in factors], factors))
        for role, every in parsed.items():
            yield RoleProfile(role, about, stacks.together(every))


def _printed(campaign: Campaign, record: Record) -> Mapping[str, str]:
    entries = campaign.archive.raw.read(record.run.number, record.attempt, record.raw)
    return {entry.host: entry.stdout for entry in entries if entry.step == raw.PROFILE}
