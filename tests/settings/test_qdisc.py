"""Qdiscs, on what tc showed (captures/settings/qdisc)."""

from __future__ import annotations

import json

import jsonschema
import pairs
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from netlimits.errors import SettingError
from netlimits.settings.qdisc import Qdisc
from netlimits.settings.qdisc.kinds import KINDS, parameters, unrestorable
from netlimits.units import tc

qdisc = Qdisc()
TBF = {"kind": "tbf", "rate": "1gbit", "burst": "128kb", "latency": "50ms"}


def captured(name: str):
    return pairs.state(qdisc, name)


def argvs(commands):
    assert all(c.sudo for c in commands)
    return [" ".join(c.argv) for c in commands]


@pytest.mark.parametrize("name", pairs.names("settings/qdisc"))
def test_each_capture_gives_what_its_pair_expects(name):
    pairs.check("settings/qdisc", name)


def test_the_default_goes_and_comes_by_itself():
    original = captured("noqueue")
    assert argvs(qdisc.change("data0", original, TBF)) == [
        "tc qdisc add dev data0 root tbf rate 1000000000bit burst 131072b limit 6381072b"
    ]
    assert argvs(qdisc.undo("data0", original, captured("tbf"))) == ["tc qdisc del dev data0 root"]
    assert qdisc.undo("data0", original, original) == ()
    assert argvs(qdisc.undo("data0", original, {})) == [
        "tc qdisc replace dev data0 root pfifo",
        "tc qdisc del dev data0 root",
    ]


def test_a_default_that_was_made_under_another_mtu_is_made_anew():
    """fq_codel's quantum is the MTU's of when it was made; nothing of it can be changed in place."""
    original = {**captured("noqueue"), "kind": "fq_codel", "options": {"quantum": 8910}}
    small = {**original, "options": {"quantum": 1414}}
    assert qdisc.differences(original, small)
    assert argvs(qdisc.undo("data0", original, small)) == [
        "tc qdisc replace dev data0 root pfifo",
        "tc qdisc del dev data0 root",
    ]


@pytest.mark.parametrize(
    ("kind", "sizes", "today"),
    [
        ("fq_codel", {"quantum": 1514}, {"quantum": 9014}),
        ("fq", {"quantum": 3028, "initial_quantum": 15140},
         {"quantum": 18028, "initial_quantum": 90140}),
    ],
)  # fmt: skip
def test_a_default_from_before_the_mtu_was_raised_comes_back_as_the_kernel_makes_it_now(
    kind, sizes, today
):
    original = {**captured("noqueue"), "kind": kind, "options": sizes, "mtu": 9000}
    default = {**original, "options": today}
    assert qdisc.differences(original, default) == ()
    assert qdisc.undo("data0", original, default) == ()
    assert qdisc.differences(original, {**default, "mtu": 1400})
    assert qdisc.differences(original, {**default, "options": {**today, "limit": 0}})
    assert qdisc.differences({**original, "handle": "8:"}, {**default, "handle": "8:"})
    queues = {**captured("mq"), "inner": [f"{kind} 0:"] * 2, "mtu": 9000}
    assert (
        qdisc.differences({**queues, "within": [sizes] * 2}, {**queues, "within": [today] * 2})
        == ()
    )
    assert qdisc.differences({**queues, "within": [sizes] * 2}, {**queues, "within": [{}] * 2})


def test_a_configured_qdisc_comes_back_under_its_handle_with_its_parameters():
    original, pfifo = captured("tbf-mpu"), captured("pfifo")
    assert argvs(qdisc.change("data0", original, {"kind": "pfifo", "limit": 33})) == [
        "tc qdisc del dev data0 root",
        "tc qdisc add dev data0 root pfifo limit 33",
    ]
    assert argvs(qdisc.undo("data0", original, pfifo)) == [
        "tc qdisc del dev data0 root",
        "tc qdisc add dev data0 root handle 77: tbf rate 1234560bit burst 70001b limit 200003b "
        "mpu 64 overhead 14 linklayer ethernet",
    ]
    assert qdisc.differences(original, pfifo)[0] == "kind is pfifo, was tbf"
    assert qdisc.differences(original, original) == ()


@pytest.mark.long
@pytest.mark.parametrize(
    "wanted",
    [
        TBF,
        {**TBF, "rate": "1000mbit"},
        {**TBF, "rate": 1_000_000_000, "burst": 131072},
        {**TBF, "rate": "125000KBps", "latency": "0.05s"},
        {"kind": "tbf", "rate": "1gbit", "burst": "128k", "limit": 6381072},
    ],
)
def test_one_rate_written_in_many_ways_is_there_already(wanted):
    jsonschema.validate(wanted, qdisc.schema)
    assert qdisc.change("data0", captured("tbf"), wanted) == ()


@pytest.mark.parametrize(
    ("key", "value"), [("rate", "999mbit"), ("burst", "64kb"), ("latency", "49ms")]
)
def test_another_parameter_is_not_there(key, value):
    wanted = {**TBF, key: value}
    assert len(qdisc.unmet(captured("tbf"), wanted)) >= 1
    assert len(qdisc.change("data0", captured("tbf"), wanted)) == 2


def test_our_htb_is_known_by_its_handle_and_read_from_text():
    wanted = {"kind": "htb", "rate": "1gbit", "ceil": "2gbit", "burst": "100kb"}
    ours = captured("htb-ours")
    assert qdisc.unmet(ours, wanted) == ()
    assert qdisc.unmet(ours, {**wanted, "rate": "900mbit"})
    assert argvs(qdisc.change("data0", ours, {**wanted, "rate": "900mbit"}))[1:] == [
        "tc qdisc add dev data0 root handle 6e6c: htb default 1",
        "tc class add dev data0 parent 6e6c: classid 6e6c:1 htb rate 900000000bit "
        "ceil 2000000000bit burst 102400b cburst 102400b quantum 60000",
    ]


CHILD = {"kind": "tbf", "rate": "50mbit", "burst": "32kb", "latency": "50ms",
         "child": {"kind": "pfifo", "limit": 100}}  # fmt: skip
CLASSES = {
    "kind": "htb", "rate": "50mbit", "burst": "32kb",
    "classes": [
        {"rate": "10mbit", "ceil": "50mbit", "burst": "16kb", "prio": 0, "match": {"dscp": 46}},
        {"rate": "40mbit", "burst": "16kb", "prio": 1, "match": {"port": 5001, "dscp": 10},
         "child": {"kind": "pfifo", "limit": 10}},
        {"rate": "1mbit", "burst": "16kb"},
    ],
}  # fmt: skip


def test_a_child_is_created_read_and_goes_with_the_root():
    jsonschema.validate(CHILD, qdisc.schema)
    ours = captured("tbf-child")
    assert argvs(qdisc.change("data0", captured("noqueue"), CHILD)) == [
        "tc qdisc add dev data0 root handle 6e6c: tbf rate 50000000bit burst 32768b limit 345268b",
        "tc qdisc add dev data0 parent 6e6c:1 handle 6e6d: pfifo limit 100",
    ]
    assert qdisc.change("data0", ours, CHILD) == ()
    shorter = {**CHILD, "child": {"kind": "pfifo", "limit": 99}}
    assert qdisc.unmet(ours, shorter) == ("limit of pfifo is 100, not 99",)
    assert qdisc.unmet(ours, {k: v for k, v in CHILD.items() if k != "child"}) == (
        "there is a qdisc pfifo 6e6d: within it",
    )
    assert argvs(qdisc.undo("data0", captured("noqueue"), ours)) == ["tc qdisc del dev data0 root"]


def test_classes_share_a_rate_and_filters_choose_one():
    jsonschema.validate(CLASSES, qdisc.schema)
    ours = captured("htb-classes")
    assert qdisc.change("data0", ours, CLASSES) == ()
    lines = argvs(qdisc.change("data0", captured("noqueue"), CLASSES))
    assert lines[0].endswith("htb default 12"), "the class that matches nothing takes the rest"
    assert lines[2] == (
        "tc class add dev data0 parent 6e6c:1 classid 6e6c:10 htb rate 10000000bit ceil 50000000bit "
        "burst 16384b cburst 16384b prio 0 quantum 60000"
    )
    assert lines[-2:] == [
        "tc filter add dev data0 parent 6e6c: protocol ip prio 3 u32 match ip dport 5001 0xffff "
        "match ip dsfield 0x28 0xfc flowid 6e6c:11",
        "tc filter add dev data0 parent 6e6c: protocol ipv6 prio 4 u32 match ip6 dport 5001 0xffff "
        "match ip6 priority 0x28 0xfc flowid 6e6c:11",
    ]
    first, *others = CLASSES["classes"]
    other_port = {**CLASSES, "classes": [{**first, "match": {"dscp": 8}}, *others]}
    assert qdisc.unmet(ours, other_port) == ("4 filters are there, not the 4 wanted",)
    other_rate = {**CLASSES, "classes": [{**first, "rate": "9mbit"}, *others]}
    assert qdisc.unmet(ours, other_rate) == ("rate of htb is 10000000, not 9000000",)


@pytest.mark.parametrize(
    ("wanted", "why"),
    [
        ({"kind": "fq_codel", "child": {"kind": "fq"}}, "fq_codel: has no child; tbf, netem, htb"),
        ({**CHILD, "child": {"kind": "mq"}}, "mq: cannot be within another qdisc"),
        ({**TBF, "classes": CLASSES["classes"]}, "tbf: has no classes; htb has"),
        ({**CLASSES, "classes": CLASSES["classes"][:2]}, "give one class no `match`"),
        ({**CHILD, "child": {"kind": "pfifo", "rate": "1mbit"}}, "pfifo has no rate"),
    ],
)
def test_a_wrong_tree_is_refused(wanted, why):
    with pytest.raises(SettingError, match=why):
        qdisc.change("data0", {}, wanted)


@pytest.mark.parametrize("handle", ["1:", "6e6c:"])
def test_a_found_qdisc_is_anothers_whatever_its_handle(handle):
    with pytest.raises(
        SettingError, match="htb qdisc on data0 could not be restored: it has class"
    ):
        qdisc.check_found("data0", {**captured("htb-ours"), "handle": handle})
    with pytest.raises(SettingError, match="it has filters"):
        qdisc.check_found("data0", {**captured("htb-filter"), "handle": handle})
    with pytest.raises(SettingError, match="does not show the distribution of its jitter"):
        qdisc.check_found("data0", {**captured("netem-jitter-normal"), "handle": handle})


def test_a_size_table_comes_back_and_what_else_stands_beside_the_options_is_refused():
    original = captured("found-stab")
    qdisc.check_found("data0", original)
    assert argvs(qdisc.undo("data0", original, captured("pfifo")))[1] == (
        "tc qdisc add dev data0 root handle 10: stab linklayer atm overhead -4 mpu 64 mtu 3000 "
        "tsize 256 fq_codel limit 10240 flows 1024 quantum 1514 drop_batch 64 target 1500us "
        "interval 100000us ce_threshold 777us memory_limit 33554432b ecn"
    )
    assert qdisc.differences(original, {**original, "beside": {}})
    with pytest.raises(SettingError, match="netlimits does not restore its offloaded"):
        qdisc.check_found("data0", {**original, "beside": {"offloaded": True}})


def test_flows_are_no_classes():
    before, later = captured("found-cake"), captured("found-cake-flows")
    qdisc.check_found("data0", later)
    assert qdisc.differences(before, later) == ()


def test_a_cake_whose_bandwidth_moves_is_refused():
    with pytest.raises(SettingError, match="does not restore its autorate"):
        qdisc.check_found("data0", captured("cake-autorate"))


@pytest.mark.parametrize(("kind", "limit"), [("pfifo", 1000), ("bfifo", 1000 * 9014)])
def test_a_default_that_is_as_long_as_the_interface_has_it_now_is_the_kernels(kind, limit):
    today = {**captured("noqueue"), "kind": kind, "mtu": 9000, "queue": 1000}
    original, default = ({**today, "options": {"limit": n}} for n in (500, limit))
    assert qdisc.differences(original, default) == ()
    assert qdisc.differences(original, {**default, "options": {"limit": 7}})


def test_what_tc_hides_of_ours_is_made_anew_for_each_wish():
    """Nothing tells a uniform jitter from a normal one."""
    ours, wanted = captured("netem-jitter-normal"), {"kind": "netem", "delay": "20ms"}
    wanted |= {"jitter": "2ms", "distribution": "pareto"}
    assert qdisc.unmet(ours, wanted) == ()
    assert any("pareto" in command for command in argvs(qdisc.change("data0", ours, wanted)))


@pytest.mark.parametrize(
    ("options", "why"),
    [({}, "netlimits does not restore its mtu, mtu_raw"), ({"linklayer": "atm"}, "linklayer atm")],
)
def test_a_qdisc_that_could_not_return_is_refused(options, why):
    peak = captured("tbf-peakrate")
    peak["options"].update(options)
    with pytest.raises(SettingError, match=why):
        qdisc.check_found("data0", peak)


def test_an_mq_returns_with_its_default_inner_qdiscs_only():
    mq = captured("mq")
    assert argvs(qdisc.undo("data0", mq, captured("pfifo")))[1] == (
        "tc qdisc add dev data0 root handle 77: mq"
    )
    inner = {**mq, "inner": [*mq["inner"][:3], "fq 9:"]}
    with pytest.raises(SettingError, match="inner qdiscs of its own"):
        qdisc.check_found("data0", inner)


def test_how_many_inner_qdiscs_there_are_is_up_to_the_channels():
    original = {**captured("noqueue"), "kind": "mq", "inner": ["fq_codel 0:"]}
    assert qdisc.differences(original, {**original, "inner": ["fq_codel 0:", "fq_codel 0:"]}) == ()
    other = {**original, "inner": ["fq_codel 0:", "pfifo_fast 0:"]}
    assert "inner is" in " ".join(qdisc.differences(original, other))


@pytest.mark.parametrize(
    ("state", "fine"),
    [
        ({"kind": "fq_codel", "default": "fq_codel"}, True),
        ({"kind": "pfifo_fast", "default": "fq_codel"}, False),
        ({"kind": "noqueue", "default": "fq_codel"}, True),
        ({"kind": "mq", "default": "fq", "inner": ["fq 0:", "fq 0:"]}, True),
        ({"kind": "mq", "default": "fq_codel", "inner": ["pfifo_fast 0:"]}, False),
        ({"kind": "noop", "default": "fq_codel"}, False),
        ({"kind": "fq_codel", "default": ""}, True),  # a namespace does not tell
    ],
)
def test_a_default_returns_only_while_it_is_the_default(state, fine):
    original = {**captured("noqueue"), **state}
    if fine:
        qdisc.check_found("data0", original)
    else:
        with pytest.raises(SettingError, match="could not be restored"):
            qdisc.check_found("data0", original)


def test_fq_and_fq_codel_of_a_61_kernel_return_with_every_parameter():
    names = ("fq-nopacing", "fq-horizon_cap", "fq_codel-mtu-1500", "fq_codel-noecn")
    states = [captured(name) for name in names]
    texts = [" ".join(parameters(state)) for state in states]
    assert texts[0] == (
        "limit 500 flow_limit 50 buckets 1024 orphan_mask 1023 nopacing quantum 3028 "
        "initial_quantum 15140 maxrate 100000000bit low_rate_threshold 550000bit "
        "refill_delay 40000us timer_slack 10000ns horizon 10000000us horizon_drop"
    )
    assert "horizon 5000000us horizon_cap" in texts[1]
    assert texts[2] == (
        "limit 10240 flows 1024 quantum 1514 drop_batch 64 target 5000us interval 100000us "
        "memory_limit 33554432b ecn"
    )
    assert texts[3].endswith("noecn")
    for state in states:
        assert not unrestorable(state)


@example(23641968, 7563724, 0)
@example(30059204, 631086, 14)
@given(st.integers(10**4, 10**10), st.integers(100, 3 * 10**7), st.integers(0, 60))
def test_a_burst_of_tbf_reads_as_found(rate, size, overhead):
    """The kernel keeps the time that it takes, by a multiplier of 32 bits, in ticks of 64 ns."""
    shift = next(n for n in range(64) if (10**9 << n) // rate >= 2**31 or 10**9 << n >= 2**63)
    multiplier = (10**9 << shift) // rate

    def ticks(size: int) -> int:
        return ((size + overhead) * multiplier >> shift) // 64

    assume(0 < ticks(size) < 2**32)
    options = {"rate": rate, "burst_raw": f"{ticks(size):x}", "overhead": overhead, "limit": 1}
    original = {**captured("tbf"), "options": options, "handle": "7:"}
    qdisc.check_found("data0", original)
    words = parameters(original)
    assert ticks(int(words[words.index("burst") + 1].removesuffix("b"))) == ticks(size)


def test_an_fq_left_at_another_maxrate_is_not_the_one_asked_for():
    state = captured("fq-nopacing")
    assert qdisc.unmet(state, {"kind": "fq", "maxrate": "100mbit", "limit": 500, "flow_limit": 50}) == ()  # fmt: skip
    assert qdisc.unmet(state, {"kind": "fq", "limit": 500, "flow_limit": 50}) == (
        "maxrate of fq is 100000000, not None",
    )


@pytest.mark.parametrize(
    ("wanted", "why"),
    [
        (
            {"kind": "tbf", "rate": "1gbit", "burst": "1kb"},
            "needs exactly one of `latency` and `limit`",
        ),
        ({"kind": "tbf", "burst": "1kb", "limit": 1}, "needs `rate`"),
        ({**TBF, "limit": "1mb"}, "needs exactly one of `latency` and `limit`"),
        ({**TBF, "maxrate": "1gbit"}, "tbf has no maxrate; it takes rate, burst, latency, limit"),
        ({"kind": "pfifo", "limit": "1mb"}, "pfifo: invalid literal"),
        ({"kind": "mq", "limit": 1}, "mq has no limit; it takes no parameters"),
        ({**TBF, "rate": "1bit"}, "rate: 1bit is out of range"),
    ],
)
def test_parameters_that_do_not_fit_the_kind(wanted, why):
    with pytest.raises(SettingError, match=why):
        qdisc.change("data0", captured("noqueue"), wanted)


@pytest.mark.long
@pytest.mark.parametrize(
    "wanted",
    [
        {"kind": "red"},
        {"kind": "-d"},
        {"kind": "tbf", "rate": "-1gbit"},
        {"kind": "tbf", "rate": "1gbit; reboot"},
        {"kind": "tbf", "rate": "fast"},
        {"kind": "tbf", "dev": "eth0"},
        {"rate": "1gbit"},
    ],
)
def test_the_schema_lets_nothing_else_through(wanted):
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(wanted, qdisc.schema)


@pytest.mark.parametrize(
    ("read", "text", "value"),
    [
        (tc.rate, "1Gibit", 1024**3),
        (tc.rate, "1.5gbit", 1_500_000_000),
        (tc.rate, 1003, 1000),  # whole bytes, as the kernel keeps it
        (tc.size, "1.5kb", 1536),
        (tc.size, "1mb", 1024**2),
        (tc.time, "1.5ms", 1500),
    ],
)
def test_units(read, text, value):
    assert read(text) == value


def simulated(state, commands):
    """tc on an interface whose default is noqueue."""
    for command in commands:
        words = [*command.argv[2:]]
        verb = words.pop(0)
        if verb == "del":
            assert state["handle"] != "0:", "there is nothing to delete"
            state = captured("noqueue")
            continue
        assert verb == "add"
        words = words[words.index("root") + 1 :]
        handle = "8001:"
        if words[0] == "handle":
            handle, words = words[1], words[2:]
        kind, *words = words
        assert state["handle"] == "0:", "File exists"
        given_ = dict(zip(words[::2], words[1::2], strict=True))
        options: dict = {}
        for name, value in given_.items():
            number = int("".join(c for c in value if c.isdigit())) if value[0].isdigit() else value
            options[name] = number // 8 if value.endswith("bit") else number
        if kind == "tbf":
            nanoseconds = options["burst"] * 10**9 // options["rate"]
            ticks = nanoseconds // 64
            options["burst_raw"] = f"{ticks:x}"
            options["burst"] = f"{ticks * 64 * options['rate'] // 10**9}b/1"
        state = {**captured("noqueue"), "kind": kind, "handle": handle, "options": options}
    return state


SIZES = st.integers(2000, 10_000_000)
WISHES = st.one_of(
    st.builds(
        lambda r, b, extra: {"kind": "tbf", "rate": r, "burst": b, "limit": b + extra},
        st.integers(100_000, 10**11), SIZES, SIZES,
    ),
    st.builds(lambda n: {"kind": "pfifo", "limit": n}, st.integers(1, 10**6)),
    st.builds(lambda n: {"kind": "bfifo", "limit": n}, SIZES),
)  # fmt: skip


@given(st.one_of(st.none(), WISHES), st.lists(WISHES, min_size=1, max_size=3))
def test_undo_leads_back_from_wherever_changes_led(first, wishes):
    original = captured("noqueue")
    if first is not None:
        assume(first["kind"] != "tbf" or first["burst"] * 8e9 / first["rate"] < 2**32 * 64)
        original = simulated(original, qdisc.change("data0", original, first))
    state = original
    for wanted in wishes:
        state = simulated(state, qdisc.change("data0", state, wanted))
        assert qdisc.unmet(state, wanted) == ()
        assert qdisc.change("data0", state, wanted) == ()
    state = json.loads(json.dumps(state))
    undone = simulated(state, qdisc.undo("data0", json.loads(json.dumps(original)), state))
    assert qdisc.differences(original, undone) == ()
    assert qdisc.undo("data0", original, undone) == ()


VALID = jsonschema.validators.validator_for(qdisc.schema)(qdisc.schema)


@settings(deadline=None)
@given(st.sampled_from(sorted(KINDS)), st.text(max_size=12))
def test_no_text_becomes_an_option_or_another_error(kind, text):
    wanted = {"kind": kind, "rate": text, "burst": "1kb", "limit": text}
    try:
        VALID.validate(wanted)
        commands = qdisc.change("data0", captured("noqueue"), wanted)
    except (jsonschema.ValidationError, SettingError):
        return
    assert not any(word.startswith("-") for c in commands for word in c.argv)


def test_inner_qdiscs_that_were_made_under_another_mtu_are_made_anew():
    """Each queue of an `mq` has one of its own, with the MTU's quantum."""
    mq = {**captured("noqueue"), "kind": "mq", "default": "fq_codel", "inner": ["fq_codel 0:"] * 2}
    original = {**mq, "within": [{"quantum": 8910, "flows": 1024}] * 2}
    small = {**mq, "within": [{"quantum": 8910, "flows": 1024}, {"quantum": 1414, "flows": 1024}]}
    assert qdisc.differences(original, small) == ("fq_codel 0: has quantum 1414, had 8910",)
    assert argvs(qdisc.undo("data0", original, small)) == [
        "tc qdisc replace dev data0 root pfifo",
        "tc qdisc del dev data0 root",
    ]
    assert qdisc.differences(original, original) == qdisc.differences(mq, original) == ()
