"""A host that hangs at the start of a campaign is told at once, with the command that hangs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from simulated import SimulatedMachine

from netlimits.checks.survey import look
from netlimits.checks.survey.prompt import PromptHost
from netlimits.errors import HostError
from netlimits.experiment import load, plan
from netlimits.hosts.scripted import ScriptedHost, answer
from netlimits.model import Command, Completed

TEXT = """\
experiment: small
settings:
  - roles: [sender, receiver]
    offload: {tso: off}
measure:
  netperf: {seconds: 1}
"""


class Hangs(SimulatedMachine):
    """A machine on which commands hang that begin so; counts the seconds that they are given."""

    def __init__(self, beginning: tuple[str, ...]) -> None:
        super().__init__("sender", "192.0.2.1")
        self.beginning, self.waited = beginning, 0.0

    def __call__(self, command: Command) -> Completed:
        if command.argv[: len(self.beginning)] != self.beginning:
            return super().__call__(command)
        self.waited += command.deadline
        return replace(answer(command, status=124, host=self.role), timed_out=True)


@pytest.mark.parametrize(
    ("beginning", "check"),
    [
        (("ethtool",), "host"),
        (("ip", "-j", "addr"), "host"),
        (("netperf", "-V"), "tools"),
        (("netperf", "-t", "omni", "--", "-k"), "tools"),
    ],
    ids=" ".join,
)
def test_what_hangs_is_named_and_nothing_that_needs_it_is_asked_after_it(
    beginning: tuple[str, ...], check: str
) -> None:
    sender, receiver = Hangs(beginning), SimulatedMachine("receiver", "192.0.2.2")
    machines = {"sender": sender.machine(), "receiver": receiver.machine()}
    hosts = {"sender": sender.host(), "receiver": receiver.host()}
    survey = look(plan.Plan(load.parse(TEXT, "small.yaml")), machines, hosts)
    (error,) = [finding for finding in survey.findings if finding.severity == "error"]
    assert (error.host, error.check) == ("sender", check)
    assert error.problem.startswith(f"`{' '.join(beginning)}")
    assert "did not end within" in error.problem
    assert sender.waited <= 20


def test_commands_of_one_round_trip_share_the_time_of_one() -> None:
    seen: list[float] = []

    def script(command: Command) -> str:
        seen.append(command.deadline)
        return ""

    host: Callable[[Command], Completed] = PromptHost(ScriptedHost(script)).run
    host(Command(("true",), deadline=7))
    PromptHost(ScriptedHost(script)).run_in_turn([Command(("true",), deadline=10)] * 4)
    assert seen == [7, *[13 / 4] * 4]
    assert PromptHost(ScriptedHost({})).run_in_turn([]) == []


def test_a_script_that_hangs_is_called_by_its_name() -> None:
    def script(command: Command) -> Completed:
        return replace(answer(command, status=124), timed_out=True)

    with pytest.raises(HostError, match=r"^scripted: the script `look` did not end within 5 s; "):
        PromptHost(ScriptedHost(script)).run(Command(("sh", "-c", "{}", "look"), deadline=5))
