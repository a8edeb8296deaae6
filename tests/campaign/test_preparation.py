"""How hosts come to a run's settings: what is looked at, left and reached, in which order."""

from __future__ import annotations

from netlimits.campaign.preparation import Preparation
from netlimits.model import Around, Machine, Pace, SettingUse, Setup

ENDS = {"local": ("sender",), "remote": ("receiver",)}
MACHINES = {role: Machine(role, role, "ens4") for role in ("sender", "receiver")}
BOTH = ("sender", "receiver")
TBF = SettingUse("qdisc", ("sender",), {"kind": "tbf"}, 1)


def use(name: str, *roles: str, **options: object) -> SettingUse:
    return SettingUse(name, roles, options, 1)


def setup(*settings: SettingUse, pace: Pace | None = None) -> Setup:
    return Setup("netperf", {}, Around(pace=pace), settings)


def steps(preparation: Preparation, of: Setup, pace: SettingUse | None = None) -> list[str]:
    taken = [*preparation.steps(of, ENDS, pace), *(preparation.paced(pace) if pace else ())]
    assert {step.interface for step in taken} <= {"ens4"}
    return [f"{step.act} {step.role} {step.name}" for step in taken]


def test_settings_are_reached_in_the_files_order_on_each_role():
    of = setup(use("mtu", *BOTH, mtu=1500), use("offload", "sender", tso="off"))
    assert steps(Preparation(MACHINES), of) == [
        "reach sender mtu",
        "reach receiver mtu",
        "reach sender offload",
    ]


def test_what_an_earlier_run_set_and_this_one_leaves_out_comes_first_the_last_set_first():
    preparation = Preparation(MACHINES)
    steps(preparation, setup(use("mtu", "sender", mtu=1400), use("offload", "sender", tso="off")))
    some = setup(use("offload", "sender", gso="off"))
    left = ["leave sender offload", "leave sender mtu"]
    assert steps(preparation, some) == [*left, "reach sender offload"], (
        "tso is left, and with it all"
    )
    assert steps(preparation, some) == ["reach sender offload"]
    assert steps(preparation, setup()) == ["leave sender offload"]
    assert steps(preparation, setup()) == []


def test_the_hosts_of_one_setting_come_to_it_in_one_turn():
    preparation = Preparation(MACHINES)

    def turns(of: Setup) -> list[list[str]]:
        return [[f"{s.act} {s.role} {s.name}" for s in t] for t in preparation.turns(of, ENDS)]

    of = setup(use("mtu", *BOTH, mtu=1500), use("offload", "sender", tso="off"))
    both = [["reach sender mtu", "reach receiver mtu"], ["reach sender offload"]]
    assert turns(of) == both
    assert turns(setup()) == [["leave sender offload"], ["leave receiver mtu", "leave sender mtu"]]
    turns(of)
    failing = preparation.turns(setup(), ENDS)
    next(failing)
    next(failing)
    failing.close()
    assert turns(setup()) == [["leave receiver mtu", "leave sender mtu"]]


def test_a_step_that_failed_is_taken_again():
    preparation = Preparation(MACHINES)
    steps(preparation, setup(use("mtu", "sender", mtu=1400)))
    failing = preparation.steps(setup(), ENDS)
    assert next(failing).act == "leave"
    failing.close()  # the host refused
    assert steps(preparation, setup()) == ["leave sender mtu"]


def test_what_changes_with_the_queues_is_looked_at_before_they_do_the_paces_qdisc_too():
    """It was read when the queues were others already, and that would have been put back."""
    of = setup(
        use("channels", "sender", combined=1),
        use("ring", *BOTH, rx=256),
        pace=Pace(1e8, 1e8),
    )
    assert steps(Preparation(MACHINES), of, TBF) == [
        "look sender ring",
        "look sender qdisc",
        "reach sender channels",
        "reach sender ring",
        "reach receiver ring",
        "reach sender qdisc",
    ]


def test_a_pace_makes_its_own_qdisc_anew_and_a_run_without_one_leaves_it():
    preparation = Preparation(MACHINES)
    paced = setup(pace=Pace(1e8, 1e8))
    assert steps(preparation, paced, TBF) == ["reach sender qdisc"]
    assert steps(preparation, paced, TBF) == ["reach sender qdisc"]
    assert steps(preparation, setup()) == ["leave sender qdisc"]
