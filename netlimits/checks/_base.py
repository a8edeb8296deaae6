"""The interface of checks: commands that only read, and findings from their output.

A check does no I/O itself: `survey` runs its commands, on all hosts at the same time.
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
Answers = tuple[Completed, ...]


@dataclass(frozen=True, slots=True)
class Finding:
    """A finding about a host, with advice on what to do.

    Attributes:
        host: The host's role; "" for all hosts.
        check: The name of the check.
        severity: An `error` makes runs fail, a `warning` makes figures misleading, a `note` is
            only information.
        problem: What is wrong, or the information of a note.
        advice: What to do about it.
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
        """The problem and the advice, on one line."""
        return "; ".join(one_line(part) for part in (self.problem, self.advice) if part)


def error(host: str, check: str, message: str) -> Finding:
    """Return the finding for an error message.

    Args:
        host: The host's role; "" for all hosts. If the message starts with the role, it is removed.
        check: The name of the check.
        message: The message, of the form `problem; what to do`.

    Returns:
        An error, with the problem and the advice separated.
    """
    problem, _, advice = message.removeprefix(f"{host}: ").partition("; ")
    return Finding(host, check, "error", problem, advice)


@dataclass(frozen=True, slots=True)
class Site:
    """The plan, and everything known about the hosts that answered.

    Attributes:
        experiment: The experiment of the plan.
        machines: Role -> machine.
        facts: Role -> the host's facts; see `fact`.
        features: Tool -> the features of its build.
        requirements: The setups of the plan, without duplicates.
        states: (role, command that reads a setting) -> the setting's present state.
        clocks: Role -> the offset of the host's clock from ours.
    """

    experiment: Experiment
    machines: Mapping[str, Machine]
    facts: Mapping[str, Mapping[str, Any]]
    features: Mapping[str, Features]
    requirements: tuple[Setup, ...] = ()
    states: Mapping[tuple[str, Command], State] = field(default_factory=dict)
    clocks: Mapping[str, Offset] = field(default_factory=dict)

    def fact(self, role: str, name: str) -> Any:
        """Return the parsed value of a host's fact.

        Args:
            role: The host's role.
            name: The name of the fact, such as "link".

        Returns:
            The value; None if it is missing.
        """
        return facts.value(self.facts.get(role, {}), name)

    def interface(self, role: str) -> str:
        """Return the data interface of a role.

        Args:
            role: The host's role, a key of `machines`.

        Returns:
            The interface's name; "" if unknown.
        """
        return self.machines[role].interface or ""

    def mtu(self, role: str) -> int:
        """Return the present MTU of the data interface.

        Args:
            role: The host's role.

        Returns:
            Bytes; 0 if unknown.
        """
        link = self.fact(role, "link") or {}
        return int(link.get("mtu", 0))

    def uses(self, role: str) -> Iterator[SettingUse]:
        """Find the settings that the plan makes on a role.

        Args:
            role: The host's role.

        Yields:
            Each setting, once for each set of its options.
        """
        seen = set()
        for requirement in self.requirements:
            for use in requirement.settings:
                key = (use.name, repr(use.options))
                if role in use.roles and key not in seen:
                    seen.add(key)
                    yield use


class Check(Protocol):
    """A check of each host. A new check is one module and one line in CHECKS.

    A check derives from this class and implements `findings`. It also implements `commands` if it
    needs output from the host:

        class Kernel(Check):
            name = "kernel"

            def commands(self, site, role):
                return (Command(("uname", "-r"), deadline=10),)

            def findings(self, site, role, completed):
                yield self.note(role, completed[0].stdout.strip())

    Attributes:
        name: The name of the check in the table of findings.
    """

    name: str

    def commands(self, site: Site, role: str) -> tuple[Command, ...]:
        """Return the commands to run on the host.

        Args:
            site: The plan and what is known about its hosts.
            role: The host's role.

        Returns:
            Commands that only read; by default none.
        """
        return ()

    def findings(self, site: Site, role: str, completed: Answers) -> Iterable[Finding]:
        """Return what the check finds on a host.

        Args:
            site: The plan and what is known about its hosts.
            role: The host's role.
            completed: The results of `commands`, in their order.

        Returns:
            Errors and warnings. If there are none, usually a note that says what the host has.
        """

    def error(self, role: str, problem: str, advice: str = "") -> Finding:
        """Return a finding that makes runs fail.

        Args:
            role: The host's role; "" for all hosts.
            problem: What is wrong.
            advice: What to do about it.

        Returns:
            The finding, with the name of this check.
        """
        return Finding(role, self.name, "error", problem, advice)

    def warning(self, role: str, problem: str, advice: str = "") -> Finding:
        """Return a finding that makes figures misleading.

        Args:
            role: The host's role; "" for all hosts.
            problem: What is wrong.
            advice: What to do about it.

        Returns:
            The finding, with the name of this check.
        """
        return Finding(role, self.name, "warning", problem, advice)

    def note(self, role: str, problem: str, advice: str = "") -> Finding:
        """Return a finding that is only information.

        Args:
            role: The host's role; "" for all hosts.
            problem: The information.
            advice: What to do with it, if anything.

        Returns:
            The finding, with the name of this check.
        """
        return Finding(role, self.name, "note", problem, advice)
