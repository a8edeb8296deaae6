"""Two experiments as one: what is interleaved, what is matched, and what cannot be."""

from __future__ import annotations

import io
from collections import Counter
from pathlib import Path

import pytest

from netlimits.errors import DocumentError, InputError
from netlimits.experiment import duet, load
from netlimits.experiment.plan import Plan, seeded
from netlimits.model import Experiment, Machine

TEXT = """\
experiment: sizes
factors: {send_size: [64, 1024, 8192]}
settings:
  - roles: [sender]
    offload: {tso: on}
measure: {netperf: {seconds: 1, send_size: "${send_size}"}}
repeat: {replicates: 4, seed: 7}
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "sizes.yaml"
    path.write_text(TEXT)
    return path


def both(file: Path, *changes: tuple[str, str], common: tuple[tuple[str, str], ...] = (),
         other: Path | None = None) -> Experiment:  # fmt: skip
    return duet.duet(*load.sides(file, common, other, changes))


def csv(experiment: Experiment) -> str:
    text = io.StringIO()
    Plan(experiment).write_csv(text)
    return text.getvalue()


def test_each_block_holds_every_configuration_of_both_sides(file):
    plan = Plan(both(file, ("settings.0.offload.tso", "off")))
    runs = list(plan.runs())
    assert len(runs) == len(plan) == 24
    for block in range(1, 5):
        each = [(run.values["side"], run.values["send_size"]) for run in runs if run.block == block]
        assert Counter(each) == dict.fromkeys(
            ((side, size) for side in ("before", "after") for size in (64, 1024, 8192)), 1
        )
    orders = {
        tuple(run.values["side"] for run in runs if run.block == block) for block in range(1, 5)
    }
    assert len(orders) > 1, "shuffled"
    assert len({run.config for run in runs}) == 6


def test_each_run_is_set_up_as_its_side_says(file):
    plan = Plan(both(file, ("settings.0.offload.tso", "off"), ("measure.netperf.nodelay", "true")))
    for run in plan.runs():
        setup = plan.setup(run.values)
        second = run.values["side"] == "after"
        assert setup.settings[0].options == {"tso": "off" if second else "on"}
        assert setup.options.get("nodelay") is (True if second else None)
        assert setup.options["send_size"] == run.values["send_size"]


def test_the_same_files_and_seed_make_the_same_plan(file, tmp_path):
    again = tmp_path / "again.yaml"
    again.write_text(TEXT.replace("tso: on", "tso: off"))
    planned = csv(both(file, ("settings.0.offload.tso", "off")))
    assert planned == csv(both(file, ("settings.0.offload.tso", "off")))
    assert planned == csv(both(file, other=again))
    assert planned != csv(both(file, ("settings.0.offload.tso", "off"),
                            common=(("repeat.seed", "8"),)))  # fmt: skip


def test_a_plan_is_extended_by_blocks_of_both_sides(file):
    plan = Plan(both(file)).extended(2, 3)
    last = [run for run in plan.runs() if run.block > 4]
    assert Counter(run.values["side"] for run in last) == {"before": 6, "after": 6}


def test_a_seed_that_is_drawn_is_the_first_sides_override(file):
    file.write_text(TEXT.replace(", seed: 7", ""))
    drawn = seeded(both(file, ("settings.0.offload.tso", "off")))
    assert drawn.overrides == (("repeat.seed", str(drawn.repeat.seed)),)
    assert drawn.sides["after"].overrides == (("settings.0.offload.tso", "off"),)


def test_set_counts_on_both_sides_and_against_on_the_second(file):
    experiment = both(
        file, ("measure.netperf.seconds", "3"), common=(("measure.netperf.seconds", "2"),)
    )
    seconds = [side.measure["netperf"]["seconds"] for side in experiment.sides.values()]
    assert seconds == [2, 3]


def test_configurations_of_one_side_alone_are_run_and_not_matched(file):
    experiment = both(file, ("factors.send_size", "[1024, 4096]"))
    assert duet.on_both_sides(experiment) == (1, [3, 2])
    assert experiment.factors["send_size"] == (64, 1024, 8192, 4096)
    assert len(Plan(experiment)) == 20


WRONG = (
    ("factors.send_size", "[1, 2]", "no configuration is on both sides: send_size is 64, 1024, 81"),
    ("factors", "{side: [1], send_size: [64]}", "side: is reserved for the sides of a duet"),
    ("repeat.replicates", "5", "differs from the first side's; both sides run equally often"),
    ("repeat.order", "listed", "differs from the first side's"),
    (
        "roles",
        "[sender, relay, receiver]",
        "the sides have different roles: sender, receiver and send",
    ),
    (
        "measure",
        "{iperf3: {send_size: '${send_size}'}}",
        "the sides have different tools: netperf and",
    ),
    ("derive", "{mss: send_size + 12}", "mss is a name of the second side only"),
)


@pytest.mark.parametrize(("key", "value", "why"), WRONG)
def test_what_cannot_be_interleaved_is_said_in_one_line_of_the_second_file(
    file, tmp_path, key, value, why
):
    other = tmp_path / "other.yaml"
    head = TEXT
    if key == "derive":
        value = "{mss: send_size + 12}"
        head = TEXT.replace("seconds: 1,", 'seconds: 1, mss: "${mss}",')
    if "side:" in value:
        head = TEXT.replace("seconds: 1,", 'seconds: 1, interim_seconds: "${side}",')
    other.write_text(head)
    with pytest.raises(DocumentError) as error:
        both(file, (key, value), other=other)
    assert why in str(error.value)
    assert "\n" not in str(error.value)
    assert str(error.value).startswith(f"{other}:")


@pytest.mark.parametrize("order", ["listed", "shuffled"])
def test_without_blocks_there_is_nothing_to_share(file, order):
    with pytest.raises(DocumentError, match=f"{order} has no blocks for both sides to share"):
        both(file, common=(("repeat.order", order),))


def test_errors_of_both_sides_are_told_with_their_files(file, tmp_path):
    other = tmp_path / "other.yaml"
    other.write_text(TEXT.replace("offload: {tso: on}", "ofload: {tso: on}"))
    file.write_text(TEXT.replace("seconds: 1", "secnds: 1"))
    with pytest.raises(DocumentError) as error:
        both(file, other=other)
    assert f"{file}:6: measure.netperf.secnds: is an unknown key" in str(error.value)
    assert f"{other}:5: settings.0.ofload: is an unknown" in str(error.value)


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (("measure.netperf.secnds", "1"), "--against measure.netperf.secnds: is an unknown key"),
        (("measure.netperf.seconds", "x"), "--against measure.netperf.seconds: must be a whole"),
        (("settings.3", "x"), "--against settings.3: no item"),
        (("factors.nosuch", "[1]"), "--against factors.nosuch: no factor is called"),
    ],
)
def test_an_error_of_a_change_names_the_option_that_it_came_by(file, change, named):
    with pytest.raises(DocumentError) as error:
        both(file, change)
    assert named in str(error.value)
    assert "--set" not in str(error.value)


def test_names_of_sides():
    assert duet.names("old, new") == ("old", "new")
    for wrong in ("", "old", "old,old", "old,new,newer", "a b,c", "1,2", "x" * 17 + ",y"):
        with pytest.raises(InputError, match="write two names"):
            duet.names(wrong)


def machine(role: str, ssh: str) -> Machine:
    return Machine(role, ssh, "data0")


def test_another_machine_is_a_role_of_its_own(file):
    before, after = load.sides(file, (), None, ())
    here = {"sender": machine("sender", "vm1"), "receiver": machine("receiver", "vm2")}
    elsewhere = {**here, "sender": machine("sender", "vm3")}
    roles = duet.other_roles(before, here, elsewhere, "after")
    assert roles == {"sender": "after-sender"}
    experiment = duet.duet(before, after, roles=roles)
    assert experiment.roles == ("sender", "receiver", "after-sender")
    assert experiment.ends == {"local": ("sender",), "remote": ("receiver",)}
    second = experiment.side_of({"side": "after"})
    assert second.ends == {"local": ("after-sender",), "remote": ("receiver",)}
    plan = Plan(experiment)
    places = {(run.values["side"], plan.setup(run.values).settings[0].roles) for run in plan.runs()}
    assert places == {("before", ("sender",)), ("after", ("after-sender",))}
    assert experiment.other_names == roles


def test_a_role_of_several_machines_moves_as_a_whole(file):
    file.write_text(TEXT.replace("settings:", "roles: [sender, sinks: 2]\nsettings:").replace(
        "seconds: 1,", "seconds: 1, interim_seconds: 1,"))  # fmt: skip
    before, after = load.sides(file, (), None, ())
    here = {role: machine(role, role) for role in before.roles}
    elsewhere = {**here, "sinks-2": machine("sinks-2", "vm9")}
    roles = duet.other_roles(before, here, elsewhere, "new")
    second = duet.duet(before, after, ("old", "new"), roles).sides["new"]
    assert second.ends == {"local": ("sender",), "remote": ("new-sinks-1", "new-sinks-2")}
    assert list(second.groups) == ["sender", "new-sinks"]
