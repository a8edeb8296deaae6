"""A sample of the attacks that need hosts: kills, races, and faults of machines."""

from __future__ import annotations

import pytest
from faults import attacks
from faults.attacks import (
    BYSTANDERS,
    CUT_CONNECTIONS,
    FOUND_QDISCS,
    KILLS,
    MEDDLING,
    NEIGHBOURS,
    RACES,
    SYSCTLS,
    kills,
)
from faults.ground import Ground
from faults.guest_ground import GuestGround

pytestmark = pytest.mark.lab

FOUND_QDISCS_TRIED = (0,)
NEIGHBOURS_TRIED = (6, 8, 13)
SYSCTLS_TRIED = 2

MEDDLED = 1

CAMPAIGNS = 2
"""Each is killed two to four times; fifty and more with `benchmarks/attacks.py --family kills`."""


def test_no_kill_leaves_what_a_put_back_does_not_mend(ground: Ground):
    """The controller is killed some times, in whatever it was at."""
    outcomes = [attacks.attempt(KILLS, number, hosts=ground) for number in range(CAMPAIGNS)]
    assert not any(outcome.through for outcome in outcomes), attacks.table(outcomes)
    told = "; ".join(outcome.what for outcome in outcomes)
    assert "killed" in told, told  # when a kill comes is a matter of how fast the machine is
    assert kills.CHANGED in told, "one of the kills found hosts changed, at least"


@pytest.mark.parametrize("number", [0])
def test_a_race_is_lost_by_nobodys_host(ground: Ground, number: int):
    outcome = attacks.attempt(RACES, number, hosts=ground)
    assert not outcome.through, attacks.table([outcome])


def test_a_run_whose_host_somebody_changes_is_invalid_and_says_so(ground: Ground):
    outcomes = [attacks.attempt(MEDDLING, number, hosts=ground) for number in range(MEDDLED)]
    assert not any(outcome.through for outcome in outcomes), attacks.table(outcomes)


@pytest.mark.parametrize("number", [3], ids=["while settings are applied"])
def test_a_connection_lost_at_a_command_costs_its_run_an_attempt_and_no_more(
    ground: Ground, number: int
):
    outcome = attacks.attempt(CUT_CONNECTIONS, number, hosts=ground)
    assert not outcome.through, attacks.table([outcome])
    assert outcome.what.startswith("cut "), outcome.what


def test_a_found_qdisc_comes_back_exactly(small_ground: GuestGround):
    """A netem whose delay is between ticks."""
    outcomes = [
        attacks.attempt(FOUND_QDISCS, number, hosts=small_ground) for number in FOUND_QDISCS_TRIED
    ]
    assert not any(outcome.through for outcome in outcomes), attacks.table(outcomes)


def test_every_sysctl_is_as_found_after_one_was_set(ground: Ground):
    outcomes = [attacks.attempt(SYSCTLS, number, hosts=ground) for number in range(SYSCTLS_TRIED)]
    assert not any(outcome.through for outcome in outcomes), attacks.table(outcomes)


def test_interfaces_beside_and_upon_it_are_as_found_or_their_change_is_refused():
    outcomes = [attacks.attempt(NEIGHBOURS, number) for number in NEIGHBOURS_TRIED]
    assert not any(outcome.through for outcome in outcomes), attacks.table(outcomes)
    told = "; ".join(outcome.what for outcome in outcomes)
    assert "refused" in told
    assert "a guard's script" in told


@pytest.mark.parametrize("number", [38], ids=["an MTU below IPv6's, offloads and a sysctl"])
def test_the_whole_network_state_is_as_found_whatever_was_there(ground: Ground, number: int):
    outcome = attacks.attempt(BYSTANDERS, number, hosts=ground)
    assert not outcome.through, attacks.table([outcome])
    assert "static and proxy neighbours" in outcome.what
