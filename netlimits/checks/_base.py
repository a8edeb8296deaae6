"""What a check is: commands that only look, and what their output says about the plan.

A check is pure; `survey` runs its commands, on all hosts at the same time. One small file each,
one line in CHECKS.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from netlimits.errors import one_line
from netlimits.evidence import facts
from netlimits.evidence.clocks import Offset
from netlimits.model import Command, Completed, Experiment, Machine, SettingUse, Setup
from netlimits.settings import State
from netlimits.tools import Features

Severity = Literal["error", "warning", "note"]


@dataclass(frozen=True, slots=True)
class Finding:
    """A finding about a host (its role; "" for all hosts), with advice on what to do.

    An `error` would make runs fail, a `warning` would make figures mean less than they say, a
    `note` says what is as it should be.
    """

    host: str
    check: str
    severity: Severity
    problem: str
    advice: str = ""

    def __str__(self) -> str:
        return ": ".join(part for part in (self.host, self.check, self.message) if part)

    @property
    def message(self) -> str:
        """The problem and what to do about it, on one line."""
        return "; ".join(one_line(part) for part in (self.problem, self.advice) if part)


def error(host: str, check: str, message: str) -> Finding:
    """The Finding for an error message of the form `problem; what to do`."""
    problem, _, advice = message.removeprefix(f"{host}: ").partition("; ")
    return Finding(host, check, "error", problem, advice)


@dataclass(frozen=True, slots=True)
class Site:
    """What checks know of the plan and of the hosts; hosts that did not answer are not in it.

    `requirements` are what the plan asks for, each setup once.
    `states` maps (role, reading command) to a setting's state, `skipped` a tool to the reason.
    """

    experiment: Experiment
    machines: Mapping[str, Machine]
    facts: Mapping[str, Mapping[str, Any]]
    features: Mapping[str, Features]
    requirements: tuple[Setup, ...] = ()
    states: Mapping[tuple[str, Command], State] = field(default_factory=dict)
    skipped: Mapping[str, str] = field(default_factory=dict)
    clocks: Mapping[str, Offset] = field(default_factory=dict)

    def fact(self, role: str, name: str) -> Any:
        """The parsed value of a host's fact, None where it does not have it."""
        return facts.value(self.facts.get(role, {}), name)

    def interface(self, role: str) -> str:
        """The data interface of a role."""
        return self.machines[role].interface or ""

    def mtu(self, role: str) -> int:
        """The data interface's MTU as it is now, 0 where it is not known."""
        link = self.fact(role, "link") or {}
        return int(link.get("mtu", 0))

    def uses(self, role: str) -> Iterator[SettingUse]:
        """Every setting that the plan makes on a role, once for each different options."""
        seen = set()
        for requirement in self.requirements:
            for use in requirement.settings:
                key = (use.name, repr(use.options))
                if role in use.roles and key not in seen:
                    seen.add(key)
                    yield use


class Check(Protocol):
    """One thing to look at on each host. One file, one line in CHECKS."""

    name: str
    """What was looked at, as the table's column says it."""

    def commands(self, site: Site, role: str) -> tuple[Command, ...]:
        """What to ask the host; nothing that changes it. By default nothing at all."""
        return ()

    def findings(
        self, site: Site, role: str, completed: tuple[Completed, ...]
    ) -> Iterable[Finding]:
        """What the answers say."""
