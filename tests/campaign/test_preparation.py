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


def turns(
    preparation: Preparation, of: Setup, pace: SettingUse | None = None, refused: int | None = None
) -> list[list[str]]:
    """The turns of a run, all of them taken up to the one that is `refused`."""
    planned = preparation.turns(of, ENDS, pace)
    taken = []
    for number, turn in enumerate((*planned, preparation.paced(pace)) if pace else planned):
        preparation.begins(turn)
        if number == refused:
            break
        preparation.ended(turn)
        taken.append([f"{step.act} {step.role} {step.name}" for step in turn])
        assert {step.interface for step in turn} == {"ens4"}
    return taken


def steps(preparation: Preparation, of: Setup, pace: SettingUse | None = None) -> list[str]:
    return [step for turn in turns(preparation, of, pace) for step in turn]


def test_settings_are_reached_in_the_files_order_on_each_role():
    of = setup(use("mtu", *BOTH, mtu=1500), use("offload", "sender", tso="off"))
    assert steps(Preparation(MACHINES), of) == [
        "set sender mtu",
        "set receiver mtu",
        "set sender offload",
    ]


def test_the_ends_of_a_tunnel_get_the_addresses_of_both_and_it_is_reached_once():
    machines = {role: Machine(role, role, "ens4", f"192.0.2.{n}") for n, role in enumerate(BOTH, 1)}
    preparation = Preparation(machines)
    of = setup(SettingUse("tunnel", BOTH, {"kind": "vxlan"}, 1))
    (turn,) = preparation.turns(of, ENDS)
    assert [(step.options["local"], step.options["remote"]) for step in turn] == [
        ("192.0.2.1", "192.0.2.2"), ("192.0.2.2", "192.0.2.1"),
    ]  # fmt: skip
    assert steps(preparation, of) == ["set sender tunnel", "set receiver tunnel"]
    assert steps(preparation, of) == ["set sender tunnel", "set receiver tunnel"]
    assert steps(preparation, setup()) == ["restore receiver tunnel", "restore sender tunnel"]


def test_what_an_earlier_run_set_and_this_one_leaves_out_comes_first_the_last_set_first():
    preparation = Preparation(MACHINES)
    steps(preparation, setup(use("mtu", "sender", mtu=1400), use("offload", "sender", tso="off")))
    some = setup(use("offload", "sender", gso="off"))
    left = ["restore sender offload", "restore sender mtu"]
    assert steps(preparation, some) == [*left, "set sender offload"], "tso is left, and with it all"
    assert steps(preparation, some) == ["set sender offload"]
    assert steps(preparation, setup()) == ["restore sender offload"]
    assert steps(preparation, setup()) == []


def test_the_hosts_of_one_setting_come_to_it_in_one_turn():
    preparation = Preparation(MACHINES)
    of = setup(use("mtu", *BOTH, mtu=1500), use("offload", "sender", tso="off"))
    both = [["set sender mtu", "set receiver mtu"], ["set sender offload"]]
    assert turns(preparation, of) == both
    left = [["restore sender offload"], ["restore receiver mtu", "restore sender mtu"]]
    assert turns(preparation, setup()) == left
    turns(preparation, of)
    assert turns(preparation, setup(), refused=1) == left[:1]
    assert turns(preparation, setup()) == left[1:]


def test_a_run_leaves_alone_what_others_set_on_hosts_that_are_not_its_own():
    preparation = Preparation(MACHINES)
    steps(preparation, setup(use("mtu", *BOTH, mtu=1400)))
    ((step,),) = preparation.turns(setup(), ENDS, roles=("sender",))
    assert (step.act, step.role, step.name) == ("restore", "sender", "mtu")


def test_what_changes_with_the_queues_is_looked_at_before_they_do_the_paces_qdisc_too():
    """It was read when the queues were others already, and that would have been put back."""
    of = setup(
        use("channels", "sender", combined=1),
        use("ring", *BOTH, rx=256),
        pace=Pace(1e8, 1e8),
    )
    assert steps(Preparation(MACHINES), of, TBF) == [
        "read sender ring",
        "read sender qdisc",
        "set sender channels",
        "set sender ring",
        "set receiver ring",
        "set sender qdisc",
    ]


def test_a_pace_makes_its_own_qdisc_anew_and_a_run_without_one_leaves_it():
    preparation = Preparation(MACHINES)
    paced = setup(pace=Pace(1e8, 1e8))
    assert steps(preparation, paced, TBF) == ["set sender qdisc"]
    assert steps(preparation, paced, TBF) == ["set sender qdisc"]
    assert steps(preparation, setup()) == ["restore sender qdisc"]
