from __future__ import annotations

import collections
import csv
import hashlib
import io
import itertools
import json
import math
import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netlimits.errors import DocumentError, InputError
from netlimits.experiment import load, plan
from netlimits.experiment.configurations import Configurations, identity
from netlimits.model import Experiment

STATELESS = Path(__file__).parents[2] / "experiments" / "stateless-offloads.yaml"
HEAD = "experiment: trial\nmeasure: {netperf: {}}\n"


def read(**parts: Any) -> Experiment:
    whole = {"experiment": "trial", "measure": {"netperf": {}}, **parts}
    return load.parse(json.dumps(whole), "trial.yaml")


def values(experiment: Experiment) -> list[dict[str, Any]]:
    return [dict(configuration.values) for configuration in plan.Plan(experiment).configurations]


FACTORS = st.dictionaries(
    st.sampled_from("abcd"),
    st.lists(st.integers(0, 9), min_size=1, max_size=4, unique=True),
    max_size=3,
)
ZIPS = st.lists(st.lists(st.integers(), min_size=1, max_size=3, unique=True), max_size=2).map(
    lambda columns: [
        {f"z{number}": column, f"y{number}": column[::-1]} for number, column in enumerate(columns)
    ]
)


@given(FACTORS, ZIPS)
def test_factors_and_groups_multiply(factors: dict[str, list[int]], zips: list[dict[str, Any]]):
    experiment = read(factors=factors, **({"zip": zips} if zips else {}))
    lengths = [len(v) for v in factors.values()] + [len(next(iter(g.values()))) for g in zips]
    configurations = values(experiment)
    assert len(configurations) == math.prod(lengths) == len(plan.Plan(experiment))
    assert len({identity(configuration) for configuration in configurations}) == len(configurations)


def test_configurations_come_in_the_files_order():
    experiment = read(factors={"a": [1, 2], "b": ["x", "y"]}, zip={"c": [5, 6], "d": [7, 8]})
    meant = [
        {"a": a, "b": b, "c": c, "d": c + 2}
        for a, b, c in itertools.product([1, 2], ["x", "y"], [5, 6])
    ]
    assert values(experiment) == meant
    assert [list(configuration) for configuration in values(experiment)] == [
        ["a", "b", "c", "d"]
    ] * 8


def test_no_factors_are_one_configuration():
    experiment = read(repeat={"replicates": 3, "order": "listed"})
    assert values(experiment) == [{}]
    assert [run.values for run in plan.Plan(experiment).runs()] == [{}] * 3
    file = io.StringIO()
    plan.Plan(experiment).write_csv(file)
    assert file.getvalue().splitlines()[:2] == ["run,block,config", f"1,1,{identity({})}"]


def test_derived_values_follow_from_factors_and_each_other():
    experiment = read(factors={"size": [1, 2]}, derive={"b": "a * 2", "a": "size + 10"})
    assert values(experiment) == [{"size": 1, "a": 11, "b": 22}, {"size": 2, "a": 12, "b": 24}]


@given(FACTORS, st.lists(st.sampled_from(
    ["a == 1", "b > a", "a + b == 9", "c in [1, 2]", "twice > 8", "twice == b", "d != 3"]
), max_size=3, unique=True))  # fmt: skip
def test_exclude_removes_what_python_would(factors: dict[str, list[int]], conditions: list[str]):
    whole = {name: factors.get(name, [0]) for name in "abcd"}
    experiment = read(factors=whole, derive={"twice": "a * 2"}, exclude=conditions)
    left = [
        {**dict(zip(whole, row, strict=True)), "twice": row[0] * 2}
        for row in itertools.product(*whole.values())
    ]
    counts = []
    for condition in conditions:
        kept = [configuration for configuration in left if not eval(condition, dict(configuration))]
        counts.append(len(left) - len(kept))
        left = kept
    if left and all(counts):
        assert values(experiment) == left
        assert plan.Configurations(experiment).removed == tuple(counts)
    else:
        with pytest.raises(
            DocumentError, match=r"exclude\.\d: .*(removes nothing|excludes every configuration)"
        ):
            len(plan.Plan(experiment))


@pytest.mark.parametrize(
    ("text", "line", "key", "says"),
    [
        ("factors: {a: [1]}\nexclude:\n- a == 2", 5, "exclude.0", "`a == 2` removes nothing;"),
        (
            "factors: {a: [1, 2]}\nexclude:\n- a == 2\n- a > 1",
            6, "exclude.1", "removes nothing that the ones above it leave",
        ),
        (
            "factors: {a: [1, 2]}\nexclude:\n- a == 2\n- a == 1",
            6, "exclude.1", "`a == 1` excludes every configuration",
        ),
        ("factors: {a: [1]}\nexclude:\n- a > 0\n- a > 1", 5, "exclude.0", "excludes every configuration"),
        ("factors: {a: [1]}\nexclude:\n- a", 5, "exclude.0", "is 1, not true or false"),
        ("factors: {a: [x]}\nexclude:\n- a > 1", 5, "exclude.0", "cannot compare"),
        ("factors: {a: [1, 0]}\nderive:\n  b: 1 / a", 5, "derive.b", "divides by zero for a = 0"),
        (
            "factors: {a: [1, 0]}\nderive:\n  b: 1 / a\nexclude:\n- b > 0",
            5, "derive.b", "divides by zero",
        ),
        ("factors: {a: [9]}\nderive:\n  b: a ** a ** a", 5, "derive.b", "too large a number"),
        ("factors: {a: [1]}\ninclude:\n- {a: 1}", 5, "include.0", "is in the plan already"),
        ("factors: {a: [1]}\ninclude:\n- {a: 2}\n- {a: 2}", 6, "include.1", "is in the plan already"),
        ("factors: {a: [1]}\nderive: {b: 1 / a}\ninclude:\n- {a: 0}", 4, "derive.b", "by zero"),
        (
            f"repeat: {{replicates: 10000000}}\nfactors: {{a: {[*range(101)]}}}",
            3, "repeat", "1,010,000,000 runs",
        ),
    ],
)  # fmt: skip
def test_what_the_configurations_show_to_be_wrong(text: str, line: int, key: str, says: str):
    with pytest.raises(DocumentError) as caught:
        len(plan.Plan(load.parse(HEAD + text, "trial.yaml")))
    assert (caught.value.line, caught.value.key) == (line, key)
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


def test_too_many_combinations_are_refused_before_they_are_made():
    experiment = read(factors={name: list(range(100)) for name in "abcde"})
    with pytest.raises(DocumentError, match=r"factors: makes 10,000,000,000 combinations"):
        len(plan.Plan(experiment))


def test_an_exclude_is_not_computed_for_what_another_removed():
    experiment = read(factors={"a": [0, 1, 2]}, exclude=["a == 0", "4 / a == 2"])
    assert values(experiment) == [{"a": 1}]
    assert plan.Configurations(experiment).removed == (1, 1)


def test_an_exclude_given_by_set_is_named_as_such():
    experiment = load.parse(HEAD + "factors: {a: [1]}", "t.yaml", [("exclude", "[a == 2]")])
    with pytest.raises(DocumentError, match=r"--set exclude: exclude\.0: `a == 2` removes nothing"):
        len(plan.Plan(experiment))


def test_include_adds_what_exclude_or_the_factors_left_out():
    experiment = read(
        factors={"a": [1, 2], "b": ["x"]},
        derive={"c": "a + 1"},
        exclude=["a == 2"],
        include=[{"b": "x", "a": 2}, {"a": 3, "b": "y"}, {"a": 1.0, "b": "x"}],
    )
    assert values(experiment) == [
        {"a": 1, "b": "x", "c": 2},
        {"a": 2, "b": "x", "c": 3},
        {"a": 3, "b": "y", "c": 4},
        {"a": 1.0, "b": "x", "c": 2.0},
    ]


SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()


@given(st.dictionaries(st.sampled_from("abcdef"), SCALARS), st.randoms())
def test_identity_does_not_depend_on_the_order_of_keys(given: dict[str, Any], chance: Any):
    shuffled = list(given.items())
    chance.shuffle(shuffled)
    assert identity(dict(shuffled)) == identity(given)


def test_identity_is_of_canonical_json():
    text = '{"a":"\\u00e9","b":1.5}'
    meant = hashlib.sha256(text.encode()).hexdigest()[:12]
    assert identity({"b": 1.5, "a": "é"}) == meant
    experiment = read(factors={"b": [1.5], "a": ["é"]})
    assert [configuration.config for configuration in plan.Plan(experiment).configurations] == [
        meant
    ]


def test_values_of_another_type_are_other_configurations():
    experiment = read(factors={"a": [1, 1.0, "1", True, "true", None, ""]})
    configurations = list(plan.Plan(experiment).configurations)
    assert len({configuration.config for configuration in configurations}) == 7
    assert all(
        configuration.config == identity(configuration.values) for configuration in configurations
    )


ORDERS = st.sampled_from(["blocked", "shuffled", "listed"])


@given(FACTORS, st.integers(1, 5), ORDERS, st.integers(0, 2**63 - 1))
def test_an_order_is_a_permutation_of_configurations_and_replicates(
    factors: dict[str, list[int]], replicates: int, order: str, seed: int
):
    repeat = {"replicates": replicates, "order": order, "seed": seed}
    experiment = read(factors=factors, repeat=repeat)
    runs = list(plan.Plan(experiment).runs())
    configs = [configuration.config for configuration in plan.Plan(experiment).configurations]
    assert [run.number for run in runs] == list(range(1, len(plan.Plan(experiment)) + 1))
    assert collections.Counter(run.config for run in runs) == dict.fromkeys(configs, replicates)
    if order == "shuffled":
        assert {run.block for run in runs} == {1}
    else:
        assert [run.block for run in runs] == sorted(run.block for run in runs)
        for block in range(1, replicates + 1):
            inside = [run.config for run in runs if run.block == block]
            assert sorted(inside) == sorted(configs)
            assert order != "listed" or inside == configs


def test_blocks_are_shuffled_each_for_itself_and_seeds_differ():
    def orders(seed: int) -> list[tuple[str, ...]]:
        experiment = read(factors={"a": list(range(20))}, repeat={"replicates": 5, "seed": seed})
        runs = list(plan.Plan(experiment).runs())
        return [tuple(run.config for run in runs[at : at + 20]) for at in range(0, 100, 20)]

    assert len(set(orders(1)) | set(orders(2))) == 10
    assert orders(1) == orders(1)


def test_the_shuffle_is_fisher_and_yates_on_random_alone():
    experiment = read(factors={"a": list(range(6))}, repeat={"order": "shuffled", "seed": 7})
    draw = random.Random(7).random
    numbers = list(range(6))
    for last in range(5, 0, -1):
        other = int(draw() * (last + 1))
        numbers[last], numbers[other] = numbers[other], numbers[last]
    assert [run.values["a"] for run in plan.Plan(experiment).runs()] == numbers


def test_every_permutation_is_as_likely():
    tally: collections.Counter[tuple[Any, ...]] = collections.Counter()
    experiment = read(factors={"a": [1, 2, 3]}, repeat={"replicates": 6000, "seed": 3})
    runs = [run.values["a"] for run in plan.Plan(experiment).runs()]
    for at in range(0, len(runs), 3):
        tally[tuple(runs[at : at + 3])] += 1
    assert len(tally) == 6
    assert all(850 < number < 1150 for number in tally.values())  # five standard deviations


def test_this_plan_never_changes():
    """Golden: a campaign's archive depends on the same file and seed giving the same plan."""
    file = io.StringIO()
    assert plan.Plan(load.load(STATELESS)).write_csv(file) == 120
    assert file.getvalue().splitlines()[:3] == [
        "run,block,config,protocol,send_size,offloads,mss,transport",
        "1,1,062c4a3d818f,tcp,1024,off,1036,TCP off",
        "2,1,7fb96e8ff65c,udp,8192,on,8204,UDP",
    ]


def test_the_same_seed_gives_the_same_plan_in_another_process():
    texts = [
        json.dumps(
            {
                "experiment": "trial",
                "measure": {"netperf": {}},
                "factors": {"protocol": ["tcp", "udp"], "size": [1, 2, 3]},
                "derive": {"b": "a + size", "a": "size + 1", "c": "a + b"},
                "exclude": ['protocol == "udp" and size == 1'],
                "repeat": {"order": order, "seed": 5, **often},
            }
        )
        for order, often in (
            ("blocked", {"replicates": 5}),
            ("shuffled", {"replicates": 5}),
            ("coin-flips", {"runs": 50}),
        )
    ]
    file = io.StringIO()
    for text in texts:
        plan.Plan(load.parse(text, "x.yaml")).write_csv(file)
    script = (
        "import sys; from netlimits.experiment import load, plan; "
        "[plan.Plan(load.parse(text, 'x.yaml')).write_csv(sys.stdout) for text in sys.argv[1:]]"
    )
    for hashing in ("0", "4711"):
        other = subprocess.run(
            [sys.executable, "-c", script, *texts],
            env={**os.environ, "PYTHONHASHSEED": hashing},
            capture_output=True,
            text=True,
            check=True,
        )
        assert other.stdout == file.getvalue()


@given(st.integers(0, 2**63 - 1))
@settings(max_examples=20)
def test_coin_flips_never_draw_what_is_excluded(seed: int):
    experiment = read(
        factors={"a": [1, 2, 3], "b": [1, 2]},
        zip={"c": [1, 2], "d": [3, 4]},
        exclude=["a == b", "c == 2 and a == 3"],
        repeat={"order": "coin-flips", "runs": 300, "seed": seed},
    )
    runs = list(plan.Plan(experiment).runs())
    assert len(runs) == 300
    assert {run.block for run in runs} == {1}
    allowed = {configuration.config for configuration in plan.Plan(experiment).configurations}
    assert {run.config for run in runs} <= allowed


def test_coin_flips_are_fair():
    experiment = read(
        factors={"a": [1, 2], "b": [1, 2]},
        repeat={"order": "coin-flips", "runs": 4000, "seed": 1},
    )
    tally = collections.Counter(tuple(run.values.values()) for run in plan.Plan(experiment).runs())
    assert len(tally) == 4
    assert all(860 < number < 1140 for number in tally.values())  # five standard deviations


def test_a_seed_is_drawn_and_recorded():
    experiment = read(factors={"a": [1, 2, 3]})
    with pytest.raises(ValueError, match="no seed"):
        list(plan.Plan(experiment).runs())
    drawn = plan.seeded(experiment)
    assert plan.seeded(drawn) is drawn
    again = load.parse(drawn.text, drawn.path, drawn.overrides)
    assert again.repeat == drawn.repeat
    assert list(plan.Plan(again).runs()) == list(plan.Plan(drawn).runs())
    assert plan.seeded(experiment).repeat.seed != drawn.repeat.seed


def test_csv_reads_back_whatever_the_values():
    given = ["a,b", 'say "x"', "two\nlines", "cr\rhere", " pad ", "", "é", 1, 1.5, True, "${x}"]
    experiment = read(factors={"a": given, "b": [1, "x,y"]}, repeat={"order": "listed"})
    file = io.StringIO(newline="")
    plan.Plan(experiment).write_csv(file)
    rows = list(csv.reader(io.StringIO(file.getvalue(), newline="")))
    assert rows[0] == ["run", "block", "config", "a", "b"]
    assert rows[1:] == [
        [str(cell) for cell in (run.number, run.block, run.config, *run.values.values())]
        for run in plan.Plan(experiment).runs()
    ]


def test_the_time_that_a_plan_will_take():
    experiment = load.load(STATELESS, [("repeat.replicates", "2")])
    assert plan.Plan(experiment).seconds() == pytest.approx(12 * (10 + plan.OVERHEAD))
    text = 'experiment: a\nfactors: {s: [1, 3]}\nmeasure: {netperf: {seconds: "${s}"}}'
    varied = load.parse(text, "t.yaml")
    assert plan.Plan(varied).seconds() == pytest.approx(1 + 3 + 2 * plan.OVERHEAD)


def test_every_configuration_is_held_against_its_tool():
    text = 'experiment: a\nfactors:\n  s: [1, 0]\nmeasure:\n  netperf:\n    seconds: "${s}"'
    with pytest.raises(DocumentError, match=r"t.yaml:6: measure.netperf.seconds: must be"):
        plan.Plan(load.parse(text, "t.yaml")).seconds()


@pytest.mark.long
def test_a_large_plan_is_a_stream():
    """Peak memory of a plan of 200,000 configurations and as many runs, in its own process."""
    script = """
import io, resource
from netlimits.experiment import load, plan
text = '''
experiment: large
factors: {a: [tcp, udp], b: %s, c: %s}
derive: {d: b + 12}
exclude: ['a == "udp" and c > 300']
measure: {netperf: {}}
repeat: {seed: 1}
''' % (list(range(250)), list(range(500)))
found = load.parse(text, "large.yaml")
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
class Sink(io.TextIOBase):
    lines = 0
    def write(self, text):
        Sink.lines += 1
plan.Plan(found).write_csv(Sink())
print(Sink.lines, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    lines, grown = map(int, done.stdout.split())
    assert lines == 1 + 250 * (500 + 301)
    assert grown < 20_000  # KiB; as Run objects it would be over 80,000


def test_nothing_heavy_is_imported():
    script = (
        "import sys; from netlimits.experiment import load, plan; "
        "p = plan.Plan(load.load(sys.argv[1])); p.seconds(); list(p.runs()); "
        "print([m for m in ('pandas', 'numpy', 'matplotlib', 'paramiko') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(STATELESS)], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


def test_configurations_can_be_asked_for_by_number():
    configurations = Configurations(load.load(STATELESS))
    assert len(configurations) == 6
    assert configurations.product == 8
    assert configurations.configuration(5).values["transport"] == "TCP off"
    assert [configuration.config for configuration in configurations] == [
        configurations.configuration(n).config for n in range(6)
    ]


# --- each configuration's own number of runs


@given(
    st.lists(st.integers(1, 12), min_size=1, max_size=6),
    st.sampled_from(["blocked", "shuffled", "listed"]),
    st.integers(0, 99),
)
def test_configurations_may_run_more_or_less_often(often: list[int], order: str, seed: int):
    experiment = read(
        zip={"x": [*range(len(often))], "n": often} if len(often) > 1 else {"n": often},
        repeat={"replicates": "${n}", "order": order, "seed": seed},
    )
    runs = [*plan.Plan(experiment).runs()]
    assert len(runs) == len(plan.Plan(experiment)) == sum(often)
    counts = collections.Counter(run.config for run in runs)
    assert sorted(counts.values()) == sorted(often)
    if order != "shuffled":
        in_blocks = collections.Counter((run.config, run.block) for run in runs)
        assert set(in_blocks.values()) == {1}
        for run in runs:  # its k-th run comes when as large a share of the blocks is over
            earlier = sum(r.config == run.config and r.block <= run.block for r in runs)
            assert math.floor(run.block * run.values["n"] / max(often)) == earlier


def test_equal_numbers_are_the_plan_of_one_number():
    numbers = {"order": "blocked", "seed": 7}
    same = read(factors={"x": [1, 2, 3]}, derive={"n": 4}, repeat={"replicates": "${n}", **numbers})
    experiment = read(
        factors={"x": [1, 2, 3]}, derive={"n": 4}, repeat={"replicates": 4, **numbers}
    )
    assert [*plan.Plan(same).runs()] == [*plan.Plan(experiment).runs()]


@pytest.mark.parametrize(
    ("replicates", "says"),
    [
        ("${non}", "no factor is called non; did you mean none"),
        ("${n} times", "is not valid here: Runs of each"),
        ("ten", "is not valid here: Runs of each"),
        ("${half}", "half is 0.5, and must be a whole number from 1"),
        ("${none}", "none is 0, and must be"),
    ],
)
def test_a_number_of_runs_that_is_none(replicates: str, says: str):
    with pytest.raises(DocumentError, match=rf"repeat\.replicates.*{says}"):
        len(
            plan.Plan(
                read(
                    factors={"n": [1, 2]},
                    derive={"half": "n / 2", "none": 0},
                    repeat={"replicates": replicates, "seed": 1},
                )
            )
        )


def test_the_time_counts_each_configuration_as_often_as_it_runs():
    experiment = read(
        zip={"s": [1, 10], "n": [9, 1]},
        measure={"netperf": {"seconds": "${s}"}},
        repeat={"replicates": "${n}", "seed": 1},
    )
    assert plan.Plan(experiment).seconds() == pytest.approx(19 + 10 * plan.OVERHEAD)


@pytest.mark.long
@pytest.mark.parametrize("order", ["blocked", "shuffled", "listed"])
@given(st.integers(1, 4), st.lists(st.integers(1, 3), max_size=3))
def test_what_is_added_comes_after_all_and_is_ordered_by_the_same_rule(order, replicates, added):
    experiment = read(
        factors={"a": [1, 2, 3], "b": ["x", "y"]},
        repeat={"replicates": replicates, "order": order, "seed": 5},
    )
    begun = plan.Plan(experiment)
    whole = begun
    for seed, more in enumerate(added, 100):
        whole = whole.extended(more, seed)
    runs = list(whole.runs())
    assert [run.number for run in runs] == list(range(1, len(whole) + 1))
    assert runs[: len(begun)] == list(begun.runs()), "what there was is what it was"
    place = len(begun)
    for seed, more in enumerate(added, 100):
        alone = read(
            factors={"a": [1, 2, 3], "b": ["x", "y"]},
            repeat={"replicates": more, "order": order, "seed": seed},
        )
        part = runs[place : place + 6 * more]
        assert [r.config for r in part] == [r.config for r in plan.Plan(alone).runs()]
        place += len(part)
    assert place == len(runs)
    each = collections.Counter((run.block, run.config) for run in runs)
    if order != "shuffled":
        assert set(each.values()) == {1}
        assert {run.block for run in runs} == {*range(1, replicates + sum(added) + 1)}
    assert whole.replicates == (replicates + sum(added),) * 2
    texts = [io.StringIO(), io.StringIO()]
    for one_plan, text in zip((begun, whole.as_begun()), texts, strict=True):
        one_plan.write_csv(text)
    assert texts[0].getvalue() == texts[1].getvalue()


def test_blocks_may_be_added_of_chosen_configurations_alone():
    begun = plan.Plan(read(factors={"a": [1, 2, 3]}, repeat={"replicates": 2, "seed": 1}))
    whole = begun.extended(2, 7, [1, 3])
    runs = list(whole.runs())
    assert len(whole) == len(runs) == 6 + 4
    added = [(run.block, run.values["a"]) for run in runs[6:]]
    assert sorted(added) == [(3, 1), (3, 3), (4, 1), (4, 3)]
    assert whole.replicates == (2, 4)
    with pytest.raises(InputError, match="there is no configuration 4; there are 3"):
        begun.extended(1, 7, [4])


def test_what_cannot_be_added():
    flips = read(factors={"a": [1, 2]}, repeat={"order": "coin-flips", "runs": 3, "seed": 1})
    with pytest.raises(InputError, match="no block to add"):
        plan.Plan(flips).extended(1, 1)
    some = plan.Plan(read(factors={"a": [1, 2]}, repeat={"seed": 1}))
    with pytest.raises(InputError, match="makes 1,000,000,002 runs; the limit is 1,000,000,000"):
        some.extended(500_000_000, 1)


@pytest.mark.parametrize("order", ["blocked", "shuffled", "listed", "coin-flips"])
def test_runs_from_a_number_on_are_those_of_the_whole_plan(order):
    often = "runs: 20" if order == "coin-flips" else "replicates: 7"
    text = (
        "experiment: x\nroles: [a, b]\nfactors: {size: [1, 2, 3]}\n"
        "measure: {netperf: {test: TCP_STREAM, seconds: 1, send_size: '${size}'}}\n"
        f"repeat: {{{often}, order: {order}, seed: 3}}\n"
    )
    planned = plan.Plan(load.parse(text, Path("x.yaml")))
    whole = [*planned.runs()]
    for first in (1, 2, 11, len(whole), len(whole) + 1):
        assert [*planned.runs(first)] == whole[first - 1 :]


def test_profiled_runs_lie_in_the_same_blocks_and_are_marked():
    parts = {"factors": {"a": [1, 2, 3]}, "repeat": {"replicates": 4, "seed": 1}}
    every = [*plan.Plan(read(**parts, profile={"runs": 2})).runs()]
    profiled = [run for run in every if run.profiled]
    assert len(every) == len(plan.Plan(read(**parts, profile={}))) == 3 * 4 + 3 * 2
    assert {run.block for run in profiled} == {2, 4}
    assert set(collections.Counter(run.config for run in profiled).values()) == {2}
    assert {run.profiled for run in plan.Plan(read(**parts)).runs()} == {None}


@pytest.mark.parametrize(
    ("profile", "parts", "problem"),
    [
        ({"roles": ["sendr"]}, {}, "no role is called sendr"),
        ({"roles": ["sendr"], "runs": 4}, {}, "no role is called sendr"),
        ({"roles": ["b"]}, {"roles": ["a", "b", "c"]}, "b does not measure; profile a or c"),
        ({"frequency": 200_000}, {}, "must be at most 100000"),
        ({}, {"repeat": {"order": "coin-flips", "runs": 3}}, "needs blocks"),
    ],
)
def test_a_wrong_profile_is_one_line(profile, parts, problem):
    with pytest.raises(DocumentError, match=problem):
        plan.Plan(read(profile=profile, **parts))
