from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netlimits.errors import DocumentError, InputError
from netlimits.experiment import load, resolution, schema
from netlimits.experiment.validation import shape
from netlimits.model import Around, Experiment, Pace, Setup, Trace

STATELESS = Path(__file__).parents[2] / "experiments" / "stateless-offloads.yaml"
HEAD = "experiment: trial\nmeasure: {netperf: {}}\n"


def read(text: str, *overrides: tuple[str, str]) -> Experiment:
    return load.parse(text, "trial.yaml", overrides)


def test_the_reports_experiment():
    experiment = load.load(STATELESS)
    assert experiment.name == "stateless-offloads"
    assert experiment.factors == {
        "protocol": ("udp", "tcp"),
        "send_size": (1024, 8192),
        "offloads": ("on", "off"),
    }
    assert resolution.names(experiment)[3:] == ("mss", "transport")
    assert experiment.repeat.replicates == 20
    assert experiment.repeat.seed == 2021
    assert [entry.get("chart", entry.get("table")) for entry in experiment.report] == [
        "summary", *["percentiles"] * 3
    ]  # fmt: skip
    assert experiment.text == STATELESS.read_text()


def test_options_are_looked_up_with_their_type():
    experiment = load.load(STATELESS)
    values = {"protocol": "tcp", "send_size": 8192, "offloads": "off", "mss": 8204}
    setup = resolution.setup(experiment, values)
    settings, tool, options = setup.settings, setup.tool, setup.options
    both = ("sender", "receiver")
    by_name = {use.name: use for use in settings}
    assert {name: use.roles for name, use in by_name.items()} == {
        "mtu": both,
        "sysctl": ("receiver",),
        "offload": both,
    }
    assert by_name["mtu"].options == 8896
    assert by_name["offload"].options["tso"] == "off"
    assert by_name["offload"].options["lro"] == {"want": "off", "if_fixed": "accept"}
    assert tool == "netperf"
    assert (options["send_size"], options["mss"], options["protocol"]) == (8192, 8204, "tcp")


def test_a_role_that_several_machines_play():
    experiment = read(
        HEAD + "roles: [source, sinks: 2]\n"
        "settings: [{roles: [sinks], offload: {gro: on}}, {roles: [source], offload: {tso: on}}]\n"
    )
    assert experiment.roles == ("source", "sinks-1", "sinks-2")
    assert experiment.ends == {"local": ("source",), "remote": ("sinks-1", "sinks-2")}
    assert [use.roles for use in experiment.settings] == [("sinks-1", "sinks-2"), ("source",)]
    assert read(HEAD).ends == {"local": ("sender",), "remote": ("receiver",)}


def test_what_is_asked_for_around_the_tool():
    experiment = read(
        HEAD + "factors: {streams: [1, 4], rate: [1e6]}\n"
        "derive: {frames: rate * 1.5}\nstreams: '${streams}'\n"
        "pace: {rate: '${rate}', frame_rate: '${frames}'}\n"
        "trace: {roles: [receiver], packets: 100}\n"
    )
    around = resolution.setup(experiment, {"streams": 4, "rate": 1e6, "frames": 1.5e6}).around
    assert around == Around(4, Pace(1e6, 1.5e6, 1.0), Trace(("receiver",), 100, 96))
    assert resolution.setup(read(HEAD), {}).around == Around()
    with pytest.raises(DocumentError, match=r"streams: .*where streams = 0"):
        resolution.setup(experiment, {"streams": 0, "rate": 1e6, "frames": 1.5e6})


def test_a_lookup_inside_of_a_text():
    experiment = read(
        "experiment: a\nfactors: {size: [64], how: [true]}\n"
        'measure: {netperf: {recv_size: "${size}K,${size}K", nodelay: "${how}"}}'
    )
    setup = resolution.setup(experiment, {"size": 64, "how": True})
    assert setup.options == {"recv_size": "64K,64K", "nodelay": True}


@pytest.mark.parametrize(
    ("name", "value", "key", "says"),
    [
        ("mss", 512.0, "measure.netperf.mss", "must be a whole number, not 512.0; write 512"),
        ("mss", 99999, "measure.netperf.mss", "must be at most 65535, not 99999 (where mss"),
        ("protocol", "tpc", "measure.netperf.protocol", "did you mean tcp?"),
        ("send_size", "; touch x", "measure.netperf.send_size", '"; touch x" is not valid here'),
        ("send_size", "$(touch x)", "measure.netperf.send_size", "is not valid here"),
        ("send_size", "1\n2", "measure.netperf.send_size", "is not valid here"),
        ("offloads", "of", "settings.0.offload.", "must be one of on, off"),
        ("offloads", True, "settings.0.offload.", "must be one of on, off, not true"),
    ],
)
def test_a_value_that_an_option_cannot_take(name: str, value: Any, key: str, says: str):
    experiment = load.load(STATELESS)
    values = {"protocol": "tcp", "send_size": 8192, "offloads": "off", "mss": 8204}
    with pytest.raises(DocumentError) as caught:
        resolution.setup(experiment, {**values, name: value})
    first, *others = getattr(caught.value, "errors", (caught.value,))
    assert first.key.startswith(key)
    assert first.line == experiment.lines[tuple(_parts(first.key))]
    assert says in str(first)
    assert all(f"(where {name} = " in str(other) for other in others), "one line for each place"
    assert "\n" not in str(first)


def _parts(key: str) -> list[str | int]:
    return [int(part) if part.isdigit() else part for part in key.split(".")]


SETTINGS = HEAD + "factors: {send_size: [1]}\nsettings:\n- roles: [sender]\n  offload: "
SYSCTL = SETTINGS.replace("offload", "sysctl")
BAD = [
    ("[]", 1, "", "is a mapping (experiment: NAME …), not a list"),
    ("just words", 1, "", 'not "just words"'),
    ("experimnt: a\n" + HEAD, 1, "experimnt", "is an unknown key; did you mean experiment?"),
    ("experiment: 12\nmeasure: {netperf: {}}", 1, "experiment", 'quote it: "12"'),
    ("experiment: ../up\nmeasure: {netperf: {}}", 1, "experiment", "letters, digits"),
    ("measure: {netperf: {}}", 1, "", "lacks `experiment`"),
    ("experiment: a", 1, "", "lacks `measure`"),
    ("experiment: a\nmeasure: {}", 2, "measure", "is empty"),
    ("experiment: a\nmeasure:\n  netprf: {}", 3, "measure.netprf", "did you mean netperf?"),
    ("experiment: a\nmeasure: {netperf:\n   }", 2, "measure.netperf", "a mapping, not null"),
    (
        "experiment: a\nmeasure:\n  netperf:\n    secnds: 1",
        4, "measure.netperf.secnds", "did you mean seconds?",
    ),
    (
        "experiment: a\nmeasure:\n  netperf: {seconds: x}",
        3, "measure.netperf.seconds", 'number, not "x"',
    ),
    (
        "experiment: a\nmeasure:\n  netperf: {seconds: 0}",
        3, "measure.netperf.seconds", "not 0",
    ),
    (
        "experiment: a\nmeasure:\n  netperf: {select: [throughput, throughput]}",
        3, "measure.netperf.select", "lists something twice",
    ),
    (
        "experiment: a\nmeasure:\n  netperf: {send_size: '; touch x'}",
        3, "measure.netperf.send_size", '"; touch x" is not valid here',
    ),
    (
        "experiment: a\nmeasure:\n  netperf: {seconds: '${a + 1}'}",
        3, "measure.netperf.seconds", "arithmetic belongs in `derive`",
    ),
    (
        "experiment: a\nmeasure:\n  netperf: {seconds: '${a'}",
        3, "measure.netperf.seconds", "${a is not valid",
    ),
    (SETTINGS + "{tso: '${send_sise}'}", 6, "settings.0.offload.tso", "did you mean send_size?"),
    (SETTINGS + "{tso: onn}", 6, "settings.0.offload.tso", "did you mean on?"),
    (SETTINGS + "{tso: true}", 6, "settings.0.offload.tso", "must be one of on, off, not true"),
    (SETTINGS + "on", 6, "settings.0.offload", 'must be a mapping, not "on"'),
    (SETTINGS + "{'t;x': on}", 6, "settings.0.offload.t;x", "is not a valid name here"),
    (
        SETTINGS + "\n   lro: {want: on,\n         if_fixd: accept}",
        8, "settings.0.offload.lro.if_fixd", "did you mean if_fixed?",
    ),
    (HEAD + "roles: [a, {b: 2}, b-1]", 3, "roles.2", 'has "b-1" twice'),
    (HEAD + "roles: [{a: 2}, b]", 3, "roles.0", "it is one machine"),
    (HEAD + "roles: [a, {b: 0}]", 3, "roles.1.b", "must be at least 1"),
    (HEAD + "trace: {roles: [sendr], packets: 9}", 3, "trace.roles.0", "did you mean sender"),
    (HEAD + "pace: {rate: '${x}', frame_rate: 1}", 3, "pace.rate", "no factor is called x"),
    (HEAD + "streams: two", 3, "streams", "must be"),
    (HEAD + "settings:\n- roles: [sendr]\n  offload: {tso: on}", 4, "settings.0.roles.0",
     "no role is called sendr; did you mean sender?"),
    (HEAD + "settings:\n- roles: [sender]", 4, "settings.0", "sets nothing"),
    (HEAD + "settings:\n- roles: [sender]\n  ofload: {}", 5, "settings.0.ofload", "offload?"),
    (HEAD + "settings:\n- offload: {tso: on}", 4, "settings.0", "lacks `roles`"),
    (HEAD + "factors:\n  a: []", 4, "factors.a", "has no values"),
    (HEAD + "factors:\n  a: 5", 4, "factors.a", "must be a list, not 5"),
    (HEAD + "factors:\n  a: [1, 2,\n   1]", 5, "factors.a.2", "has 1 twice"),
    (HEAD + "factors:\n  a: [[1]]", 4, "factors.a.0", "not a list"),
    (SYSCTL + "{kernel-x: 1}", 6, "settings.0.sysctl.kernel-x", "only network sysctls"),
    (HEAD + "factors:\n  a-b: [1]", 4, "factors.a-b", "is not a valid name"),
    (HEAD + "factors:\n  é: [1]", 4, "factors.é", "is not a valid name"),
    (HEAD + "factors:\n  block: [1]", 4, "factors.block", "a column of the results"),
    (HEAD + "factors:\n  shared_kernel: [1]", 4, "factors.shared_kernel", "a column of the results"),
    (HEAD + "factors:\n  paced_by: [1]", 4, "factors.paced_by", "a column of the results"),
    (HEAD + "factors:\n  throughput_mbps: [1]", 4, "factors.throughput_mbps", "a column"),
    (HEAD + "factors:\n  netperf_x: [1]", 4, "factors.netperf_x", "a column"),
    (HEAD + "factors:\n  min: [1]", 4, "factors.min", "has a meaning in expressions"),
    (HEAD + "factors:\n  in: [1]", 4, "factors.in", "has a meaning in expressions"),
    (HEAD + "zip:\n  a: [1, 2]\n  b: [1]", 5, "zip.b", "has 1 values and a has 2"),
    (HEAD + "zip:\n- a: [1]\n- a: [2]", 5, "zip.1.a", "the name of another factor"),
    (HEAD + "zip: {a: [1, 1], b: [2, 2]}", 3, "zip.a.1", "has 1, 2 twice"),
    (HEAD + "zip: {}", 3, "zip", "has no lists"),
    (HEAD + "zip: x", 3, "zip", 'must be a mapping or a list, not "x"'),
    (HEAD + "factors: {a: [1]}\nderive:\n  a: 1", 5, "derive.a", "the name of another factor"),
    (HEAD + "derive:\n  a: b\n  b: c + 1\n  c: a", 4, "derive.a", "a needs b needs c needs a"),
    (HEAD + "derive:\n  a: a", 4, "derive.a", "is defined by itself (a needs a)"),
    (HEAD + "derive:\n  a: open(1)", 4, "derive.a", "open() cannot be called"),
    (HEAD + "derive:\n  a: 1 +", 4, "derive.a", "cannot be read"),
    (HEAD + "factors: {size: [1]}\nderive:\n  a: sise", 5, "derive.a", "did you mean size?"),
    (HEAD + "factors: {size: [1]}\nexclude:\n- sise == 1", 5, "exclude.0", "did you mean size?"),
    (HEAD + "factors: {a: [1], b: [2]}\ninclude:\n- {a: 1}", 5, "include.0", "no value to b"),
    (
        HEAD + "factors: {a: [1, 2]}\ndummies: [a]\nreport:\n"
        "- {table: summary, of: throughput, rows: a, pool: a}",
        6, "report.0.pool", "a is in `rows` too",
    ),
    (HEAD + "factors: {a: [1]}\ninclude:\n- {a: 1, c: 3}", 5, "include.0.c", "called c"),
    (HEAD + "derive: {a: 1}\ninclude:\n- {a: 1}", 5, "include.0.a", "is derived"),
    (HEAD + "roles: [one]", 3, "roles", "needs at least 2"),
    (HEAD + "roles: [one, one]", 3, "roles.1", 'has "one" twice'),
    (HEAD + "roles: [one, a/b]", 3, "roles.1", "is not valid here"),
    (HEAD + "factors:\n  tool: [netperf, iperf]", 4, "factors.tool", '"iperf"'),
    (HEAD + "derive:\n  tool: '\"netperf\"'", 4, "derive.tool", "make it a factor"),
    (HEAD + "repeat: {order: blokced}", 3, "repeat.order", "did you mean blocked?"),
    (HEAD + "repeat: {order: coin-flips}", 3, "repeat", "needs `runs`"),
    (HEAD + "repeat: {order: coin-flips, replicates: 2}", 3, "repeat.replicates", "`runs`"),
    (HEAD + "repeat: {runs: 2}", 3, "repeat.runs", "takes `replicates`"),
    (HEAD + "repeat: {replicates: 0}", 3, "repeat.replicates", "at least 1, not 0"),
    (HEAD + "repeat: {replicates: 2.0}", 3, "repeat.replicates", "must be a whole number"),
    (HEAD + "repeat: {seed: -1}", 3, "repeat.seed", "at least 0"),
    (
        HEAD + "factors: {a: [1]}\ninclude: [{a: 2}]\nrepeat: {order: coin-flips, runs: 2}",
        4, "include", "cannot select an included",
    ),
    (
        HEAD + "factors: {a: [1]}\nreport:\n- table: summary\n  of: thruput\n  rows: a",
        6, "report.0.of", "throughput?",
    ),
    (
        HEAD + "factors: {size: [1]}\nreport:\n- {table: summary, of: throughput, rows: sise}",
        5, "report.0.rows", "did you mean size?",
    ),
    (
        HEAD + "factors: {size: [1, 2]}\nreport:\n"
        "- {table: summary, of: throughput, rows: size, improvement: 3 over 1}",
        5, "report.0.improvement", "size has no value 3",
    ),
    (
        HEAD + "factors: {size: [1, 2], tso: [on, off]}\nreport:\n"
        "- {table: summary, of: throughput, rows: size, improvement: {tso: [on over of]}}",
        5, "report.0.improvement.tso.0", "tso has no value of; did you mean off?",
    ),
    (
        HEAD + "factors: {size: [1, 2]}\nreport:\n"
        "- {table: summary, of: throughput, rows: size, improvement: {tso: on over off}}",
        5, "report.0.improvement.tso", "tso",
    ),
    (
        HEAD + "factors: {size: [1, 2]}\nreport:\n"
        "- {table: summary, of: throughput, rows: size, improvement: 2 over 2}",
        5, "report.0.improvement", "size 2 is compared with itself",
    ),
    (
        HEAD + "factors: {size: [1, 2]}\nreport:\n"
        "- {table: summary, of: throughput, rows: size, improvement: 2 vs 1}",
        5, "report.0.improvement", "write A over B, such as",
    ),
    (HEAD + "report:\n- {chart: percentile, of: throughput}", 4, "report.0.chart", "percentiles?"),
    (HEAD + "report:\n- {}", 4, "report.0", "lacks `table`"),
    (HEAD + "report:\n- {chart: percentiles, of: throughput, sries: [a]}", 4, "report.0.sries",
     "did you mean series?"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "line", "key", "says"), BAD)
def test_what_is_wrong_is_one_line_with_file_line_and_key(
    text: str, line: int, key: str, says: str
):
    with pytest.raises(DocumentError) as caught:
        read(text)
    assert (caught.value.line, caught.value.key) == (line, key)
    assert str(caught.value).startswith(f"trial.yaml:{line}: {key}")
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)
    assert caught.value.exit_status == 2


def test_several_tools_are_chosen_by_a_factor(monkeypatch: pytest.MonkeyPatch):
    from netlimits import tools

    class Other(type(tools.TOOLS[0])):  # type: ignore[misc]
        name = "other"

    every = (*tools.TOOLS, Other())
    for module in (tools, schema, shape):
        monkeypatch.setattr(module, "TOOLS", every)
    both = "experiment: a\nmeasure:\n  netperf: {seconds: 1}\n  other: {seconds: 2}\n"
    with pytest.raises(DocumentError, match=r"choose by a factor: tool: \[netperf, other\]"):
        read(both)
    left = read(both + "factors: {tool: [netperf]}")
    assert (list(left.measure), left.unchosen) == (["netperf"], ("other",))
    experiment = read(both + "factors: {tool: [netperf, other]}")
    assert resolution.setup(experiment, {"tool": "other"}) == Setup("other", {"seconds": 2})
    assert resolution.setup(experiment, {"tool": "netperf"}) == Setup("netperf", {"seconds": 1})


def test_derived_values_come_in_an_order_that_can_be_computed():
    experiment = read(HEAD + "factors: {x: [1]}\nderive: {c: b + 1, b: a + 1, a: x + 1}")
    assert list(experiment.derive) == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("key", "value", "what"),
    [
        ("measure.netperf.seconds", "1", lambda e: e.measure["netperf"]["seconds"] == 1),
        ("measure.netperf.cpu", "false", lambda e: e.measure["netperf"]["cpu"] is False),
        ("repeat.replicates", "3", lambda e: e.repeat.replicates == 3),
        ("repeat", "{order: listed}", lambda e: e.repeat.order == "listed"),
        ("factors.send_size", "[64, 1024, 8192]", lambda e: len(e.factors["send_size"]) == 3),
        ("factors.offloads.0", "on", lambda e: e.factors["offloads"] == ("on", "off")),
        ("exclude", "[]", lambda e: e.exclude == ()),
        ("settings.0.offload.tso", "on", lambda e: e.settings[1].options["tso"] == "on"),
        ("repeat.seed", "", lambda e: e.repeat.seed is None),
    ],
)
def test_set_changes_the_experiment(key: str, value: str, what: Any):
    experiment = load.load(STATELESS, [(key, value)])
    assert what(experiment)
    assert experiment.overrides == ((key, value),)
    again = load.parse(experiment.text, experiment.path, experiment.overrides)
    assert again == experiment


@pytest.mark.parametrize(
    ("overrides", "says"),
    [
        ([("measure.netperf.secnds", "1")], "measure.netperf.secnds: is an unknown key; did you"),
        ([("measure.netperf.seconds", "x")], "number, not"),
        ([("mesure.netperf.seconds", "1")], "did you mean measure?"),
        ([("factors.send_sise", "[1]")], "did you mean send_size?"),
        ([("factors.send_size", "[]")], "has no values"),
        ([("report", "[]"), ("factors.send_size", "[1, 1]")], "has 1 twice"),
        ([("exclude.5", "true")], "exclude, which has one item, 0"),
        ([("exclude.x", "true")], "no item"),
        ([("exclude.0", "a ==")], "cannot be read"),
        ([("experiment.x", "1")], "nothing can be set in experiment"),
        ([("measure..seconds", "1")], "an empty name"),
        ([(".".join("a" * 99), "1")], "nested more than 40 deep"),
        ([("repeat.replicates", "[")], "not YAML"),
        ([("repeat.replicates", "3"), ("repeat.replicates", "0")], "must be at least 1, not 0"),
        ([("repeat", "{order: coin-flips}")], "needs `runs`"),
    ],
)
def test_a_wrong_set_is_named(overrides: Sequence[tuple[str, str]], says: str):
    with pytest.raises(DocumentError) as caught:
        load.load(STATELESS, overrides)
    assert f"--set {overrides[-1][0][:40]}" in str(caught.value)
    assert str(STATELESS) in str(caught.value)
    assert says in str(caught.value)
    assert caught.value.line is None
    assert "\n" not in str(caught.value)


def test_a_set_into_a_list_that_is_not_there_says_how_to_add_an_entry(tmp_path):
    path = tmp_path / "x.yaml"
    path.write_text(f"{HEAD}")
    with pytest.raises(DocumentError, match=r"has no settings; add an entry: --set 'settings=\["):
        load.load(path, [("settings.0.mtu", "1500")])


def test_what_set_made_has_no_line_of_the_file():
    experiment = load.load(STATELESS, [("exclude.0", "send_size == 1024")])
    assert ("exclude", 0) not in experiment.lines
    assert ("exclude",) in experiment.lines
    experiment = read(STATELESS.read_text(), ("measure.netperf", "{seconds: 1}"))
    assert ("measure", "netperf", "seconds") not in experiment.lines


def test_an_error_elsewhere_keeps_its_line_beside_a_set():
    with pytest.raises(DocumentError, match=r"trial.yaml:3: factors.a.1: has 1 twice"):
        read(HEAD + "factors: {a: [1, 1]}", ("repeat.replicates", "2"))


_SCALARS = st.none() | st.booleans() | st.integers() | st.text(max_size=8)
_DATA = st.recursive(
    _SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "factors",
                    "derive",
                    "a",
                    "b",
                    "roles",
                    "offload",
                    "netperf",
                    "seconds",
                    "of",
                    "table",
                    "chart",
                    "rows",
                    "order",
                    "runs",
                    "tool",
                    "select",
                    "${a}",
                ]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@pytest.mark.long
@given(
    st.dictionaries(
        st.sampled_from(
            [
                "factors",
                "zip",
                "derive",
                "exclude",
                "include",
                "settings",
                "measure",
                "repeat",
                "report",
                "roles",
                "question",
            ]
        ),
        _DATA,
        max_size=4,
    )
)
def test_any_data_is_an_experiment_or_our_error(data: dict[str, Any]):
    import json

    whole = {"experiment": "any", "measure": {"netperf": {}}, **data}
    try:
        read(json.dumps(whole))
    except InputError as error:
        lines = str(error).split("\n")
        assert all(line.startswith("trial.yaml:") for line in lines)
        numbers = [int(line.split(":")[1]) for line in lines]
        assert numbers == sorted(numbers)


def test_all_that_is_wrong_is_told_in_the_files_order():
    text = (
        "experiment: trial\n"
        "factors: {size: [1, 1], mtu: [1500], lost: [1, 2]}\n"
        "derive: {mss: sise + 12}\n"
        "exclude: ['protocol == 1']\n"
        "settings:\n"
        "- {roles: [sender, recever], mtu: '${mtu}'}\n"
        "measure:\n"
        "  netperf: {seconds: ten, send_size: '${size}', mss: '${mss}'}\n"
        "repeat: {runs: 3}\n"
        "report:\n"
        "- {table: summary, of: thruput, rows: size, colums: mtu}\n"
    )
    with pytest.raises(DocumentError) as caught:
        read(text)
    errors = [(error.line, error.key) for error in caught.value.errors]
    assert errors == [
        (2, "factors.size.1"),
        (3, "derive.mss"),
        (4, "exclude.0"),
        (6, "settings.0.roles.1"),
        (8, "measure.netperf.seconds"),
        (9, "repeat.runs"),
        (11, "report.0.colums"),
        (11, "report.0.of"),
    ]
    assert str(caught.value).count("\n") == 7


FORGOTTEN = HEAD + "factors: {send_size: [64, 8192]}\n"


@pytest.mark.parametrize(
    ("more", "line", "key", "says"),
    [
        ("", 3, "factors.send_size", "nothing uses it: use ${send_size} where it belongs"),
        ("derive: {mss: send_size + 12}\n", 3, "factors.send_size", "only mss need"),
        ("zip: {a: [1, 2], b: [3, 4]}\nexclude: [a == 1]\n", 4, "zip.b", "nothing uses it"),
        ("dummies: [send_sise]\n", 4, "dummies.0", "no factor is called send_sise"),
    ],
)
def test_a_factor_without_effect_is_an_error_that_names_it(more, line, key, says, tmp_path):
    path = tmp_path / "trial.yaml"
    path.write_text(FORGOTTEN + more)
    with pytest.raises(DocumentError) as caught:
        load.load(path)
    errors = getattr(caught.value, "errors", [caught.value])
    assert any((e.line, e.key) == (line, key) and says in e.problem for e in errors)
    assert read(FORGOTTEN).factors, "what was run before is still read"


@pytest.mark.parametrize(
    "more",
    [
        "dummies: [send_size]\n",
        "exclude: [send_size == 64]\n",
        "streams: '${send_size}'\n",
        "settings: [{roles: [sender], mtu: '${send_size}'}]\n",
        "derive: {m: send_size * 2, n: m + 1}\nsettings: [{roles: [sender], mtu: '${n}'}]\n",
    ],
)
def test_whatever_uses_a_factor_gives_it_an_effect(more, tmp_path):
    path = tmp_path / "trial.yaml"
    path.write_text(FORGOTTEN + more)
    assert load.load(path).factors == {"send_size": (64, 8192)}


def test_a_dummy_that_has_an_effect_is_none(tmp_path):
    path = tmp_path / "trial.yaml"
    path.write_text(FORGOTTEN + "dummies: [send_size]\nexclude: [send_size == 64]\n")
    with pytest.raises(DocumentError, match=r"4: dummies\.0: send_size has an effect"):
        load.load(path)


def test_a_label_that_moves_with_what_has_an_effect_needs_none(tmp_path):
    path = tmp_path / "trial.yaml"
    zipped = HEAD + "zip: {kind: [small, big], mtu: [1500, 9000]}\n"
    zipped += "settings: [{roles: [sender], mtu: '${mtu}'}]\n"
    report = "report: [{table: summary, of: throughput, rows: kind}]\n"
    path.write_text(zipped + report)
    assert load.load(path).zips
    path.write_text(zipped)
    with pytest.raises(DocumentError, match=r"zip\.kind: nothing uses it"):
        load.load(path)


@given(st.text(max_size=30), st.text(max_size=30))
def test_any_set_is_taken_or_our_error(key: str, value: str):
    try:
        read(HEAD, (key, value))
    except InputError as error:
        assert "--set" in str(error)  # noqa: PT017  either outcome is right


LEVELS = """\
experiment: levels
zip: {mtu: [null, 1400], size: [null, 64], rate: [null, 1e6], streams: [null, 2]}
settings:
  - roles: [sender]
    mtu: "${mtu}"
  - roles: [receiver]
    offload: {tso: on, gso: "${mtu}"}
    qdisc: {kind: "${mtu}", limit: "${mtu}"}
streams: "${streams}"
pace: {rate: "${rate}", frame_rate: "${rate}"}
measure: {netperf: {send_size: "${size}", interim_seconds: 1}}
"""


def test_what_is_null_is_left_out():
    experiment = read(LEVELS)
    values = {"mtu": None, "size": None, "rate": None, "streams": None}
    setup = resolution.setup(experiment, values)
    assert [(use.name, use.options) for use in setup.settings] == [("offload", {"tso": "on"})]
    assert setup.options == {"interim_seconds": 1}
    assert setup.around == Around()
    set_too = {"mtu": None, "size": 64, "rate": 1e6, "streams": 2}
    setup = resolution.setup(experiment, set_too)
    assert setup.options["send_size"] == 64
    assert setup.around == Around(2, Pace(1e6, 1e6))


def test_null_as_written_is_left_out_of_nothing():
    with pytest.raises(DocumentError, match="must be a whole number"):
        read("experiment: a\nmeasure: {netperf: {seconds: null}}\n")


def test_a_hosts_file_is_not_taken_for_an_experiment_with_many_unknown_keys():
    text = "ssh_config: x\nsender: {ssh: a}\nreceiver: {ssh: b, interface: data0}\n"
    with pytest.raises(DocumentError, match=r"^trial\.yaml:1: is a hosts file: name it"):
        load.parse(text, "trial.yaml")


def test_a_value_of_another_kind_is_one_error():
    with pytest.raises(DocumentError) as caught:
        read(HEAD, ("measure.netperf.seconds", "1e9"))
    (error,) = caught.value.errors
    assert error.problem == (
        "must be a whole number, not 1000000000.0; write 1000000000, or divide with //"
    )


def test_a_factor_that_set_narrowed_may_lack_a_value_that_a_table_compares() -> None:
    text = (
        'experiment: trial\nfactors: {size: [1, 2]}\nmeasure: {netperf: {send_size: "${size}"}}\n'
        "report:\n- {table: summary, of: throughput, rows: size, improvement: {size: 2 over 1}}\n"
    )
    assert read(text, ("factors.size", "[2, 3]")).factors["size"] == (2, 3)


def test_a_report_may_name_the_sides_of_a_duet_that_it_may_be_of() -> None:
    entry = "{table: summary, of: throughput, rows: send_size, columns: side"
    text = (
        "experiment: trial\nfactors: {send_size: [1, 2]}\n"
        'measure: {netperf: {send_size: "${send_size}"}}\n'
        f"report:\n- {entry}, improvement: {{side: after over before}}}}\n"
    )
    assert read(text).report[0]["columns"] == "side"
