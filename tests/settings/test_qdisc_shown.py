"""netem, fq_codel and cake, on what tc showed of each command (captures/settings/qdisc)."""

from __future__ import annotations

import json

import jsonschema
import pairs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netlimits.errors import SettingError
from netlimits.model import Completed
from netlimits.settings.qdisc import Qdisc
from netlimits.settings.qdisc.kinds import SHOWN, parameters

qdisc = Qdisc()


def state(name: str, handle: str = "6e6c:"):
    return {**pairs.state(qdisc, name), "handle": handle}


GIVEN = {
    name: pairs.about("settings/qdisc", name)["given"] for name in pairs.names("settings/qdisc")
}
WISHES = {name: given["wanted"] for name, given in GIVEN.items() if "wanted" in given}
"""What an experiment would ask for to have what a capture shows."""

NOQUEUE = state("noqueue", "0:")


@pytest.mark.long
@pytest.mark.parametrize("name", WISHES)
def test_what_tc_shows_of_a_wish_is_the_wish(name: str) -> None:
    wanted = WISHES[name]
    jsonschema.validate(wanted, qdisc.schema)
    assert qdisc.unmet(state(name), wanted) == ()
    hidden = SHOWN[wanted["kind"]].lost(state(name)["options"])
    assert bool(qdisc.change("data0", state(name), wanted)) == bool(hidden)


@pytest.mark.parametrize("name", WISHES)
def test_it_is_no_other_wish(name: str) -> None:
    """Every capture differs from every wish that is not its own."""
    same = [
        other
        for other, wanted in WISHES.items()
        if other != name and not qdisc.unmet(state(name), wanted)
    ]
    hidden = {"netem-jitter-normal", "netem-delay-1us", "netem"}
    assert not set(same) - hidden, "tc hides distributions, and a microsecond"


def argvs(commands) -> list[str]:
    return [" ".join(command.argv) for command in commands]


def test_the_commands_name_every_parameter_that_could_linger() -> None:
    assert argvs(qdisc.change("data0", NOQUEUE, WISHES["netem-everything"])) == [
        "tc qdisc add dev data0 root handle 6e6c: netem limit 1000 delay 20000us 2000us 25% "
        "distribution paretonormal loss random 0.1% 30% duplicate 0.5% 10% corrupt 0.2% 5% "
        "reorder 25% 50% gap 5 rate 100000000bit 20 100 5"
    ]
    assert argvs(qdisc.change("data0", NOQUEUE, {"kind": "fq_codel"})) == [
        "tc qdisc add dev data0 root handle 6e6c: fq_codel limit 10240 flows 1024 drop_batch 64 "
        "target 5000us interval 100000us memory_limit 33554432b ecn"
    ]
    assert argvs(qdisc.change("data0", NOQUEUE, {"kind": "cake", "mpu": 64})) == [
        "tc qdisc add dev data0 root handle 6e6c: cake unlimited rtt 100000us diffserv3 "
        "triple-isolate nonat nowash egress split-gso no-ack-filter overhead 0 noatm mpu 64"
    ]


def test_ours_with_jitter_gives_way_to_the_next() -> None:
    name = "netem-jitter-normal"
    commands = qdisc.change("data0", state(name), {"kind": "netem", "delay": "1ms"})
    assert argvs(commands)[0] == "tc qdisc del dev data0 root"


@pytest.mark.parametrize("name", [name for name in GIVEN if name.startswith(("netem", "cake"))])
def test_one_that_was_found_returns_with_what_tc_shows(name: str) -> None:
    original = state(name, "8001:")
    back = argvs(qdisc.undo("data0", original, state("netem-loss")))
    if not qdisc.differences(original, state("netem-loss")):
        return
    kind = original["kind"]
    assert back[-1].startswith(f"tc qdisc add dev data0 root handle 8001: {kind} ")
    assert parameters(original) == tuple(back[-1].split()[9:])


@pytest.mark.parametrize(
    ("wanted", "why"),
    [
        ({"kind": "netem", "loss": 1, "loss_state": "1"}, "loss and loss_state exclude each other"),
        ({"kind": "netem", "loss_correlation": 5}, "loss_correlation needs loss"),
        ({"kind": "netem", "reorder": 25}, "reorder needs delay"),
        ({"kind": "netem", "delay": 0, "reorder": 25}, "reorder needs delay"),
        ({"kind": "netem", "slot_packets": 5}, "needs slot_min or slot_distribution"),
        ({"kind": "netem", "slot_min": 5, "slot_max": 2}, "slot_max is less"),
        ({"kind": "netem", "loss_gemodel": "1,2,3,4,5"}, "holds 5 shares, not 1 to 4"),
        ({"kind": "netem", "delay": "3000s"}, "longer than 1000 s"),
        ({"kind": "netem", "target": "5ms"}, "netem has no target; it takes limit, delay"),
        ({"kind": "fq_codel", "limit": "10kb"}, "limit: invalid literal"),
    ],
)  # fmt: skip
def test_what_tc_would_refuse_is_refused_in_words(wanted, why: str) -> None:
    with pytest.raises(SettingError, match=why):
        qdisc.change("data0", NOQUEUE, wanted)


def test_a_level_of_nothing_switches_what_belongs_to_it_off() -> None:
    for wanted in (
        {"kind": "netem", "loss": 0, "loss_correlation": 25, "ecn": "on"},
        {"kind": "netem", "delay": 0, "jitter": 0, "distribution": "normal"},
    ):
        jsonschema.validate(wanted, qdisc.schema)
        assert qdisc.unmet(state("netem"), wanted) == ()


@pytest.mark.long
@pytest.mark.parametrize(
    "wanted",
    [
        {"kind": "netem", "delay": "20ms; reboot"},
        {"kind": "netem", "loss": 101},
        {"kind": "netem", "loss_state": "1,2,3,4,5,6"},
        {"kind": "netem", "distribution": "/etc/passwd"},
        {"kind": "cake", "bandwidth": "fast"},
        {"kind": "cake", "rtt": "moon"},
        {"kind": "cake", "overhead": 300},
    ],
)
def test_the_schema_lets_nothing_else_through(wanted) -> None:
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(wanted, qdisc.schema)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=5,
)


@pytest.mark.long
@settings(deadline=None)
@given(st.sampled_from(sorted(SHOWN)), st.data())
def test_whatever_tc_shows_is_a_state_or_an_error(kind: str, data) -> None:
    options = data.draw(st.dictionaries(st.sampled_from(SHOWN[kind].known), JSON, max_size=4))
    shown = json.dumps([{"kind": kind, "handle": "1:", "root": True, "options": options}])
    completed = Completed("sender", qdisc.read("data0", {}), 0, shown, "", 0.0)
    try:
        reading = qdisc.state(completed)
    except SettingError:
        return
    parameters(reading)
    qdisc.unmet(reading, {"kind": kind})


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("found-netem-500us", "limit 1000 delay 500us"),
        ("found-netem-1234567ns", "limit 1000 delay 1234us"),
        ("found-netem-slot", "limit 1000 delay 1500us slot 800ns 1234570ns"),
        ("found-cake-atm", "bandwidth 299199320bit rtt 100000us diffserv3 triple-isolate nonat "
         "nowash egress split-gso no-ack-filter raw atm"),
        ("found-fq", "limit 10000 flow_limit 100 buckets 1024 orphan_mask 1023 quantum 3028 "
         "initial_quantum 15140 low_rate_threshold 550000bit refill_delay 36000us "
         "ce_threshold 3333us timer_slack 10000ns horizon 2000000us horizon_drop"),
    ],
)  # fmt: skip
def test_a_found_qdisc_is_written_so_that_it_reads_as_found(name: str, words: str) -> None:
    original = pairs.state(qdisc, name)
    qdisc.check_found("data0", original)
    assert " ".join(parameters(original)) == words


def shown(seconds: float) -> float:
    """A number as tc's JSON has it, with six digits."""
    return float(f"{seconds:g}")


def netem(delay: float, nanoseconds: bool):
    options = {**pairs.state(qdisc, "found-netem-500us")["options"]}
    options["delay"] = {"delay": delay, "jitter": 0, "correlation": 0}
    original = pairs.state(qdisc, "found-netem-500us")
    return {**original, "options": options, "nanoseconds": nanoseconds}


def delay_of(state) -> str:
    words = parameters(state)
    return words[words.index("delay") + 1]


@given(st.integers(1, 274_000_000))
def test_a_delay_in_whole_microseconds_reads_as_found(microseconds: int) -> None:
    """tc before 6.9 writes ticks of 64 ns, rounded down, and shows whole µs, rounded down."""

    def read_back(us: int) -> float:
        return shown(int(int(us * 15.625) / 15.625) / 1e6)

    original = netem(read_back(microseconds), False)
    if not original["options"]["delay"]["delay"]:
        return
    qdisc.check_found("data0", original)
    written = int(delay_of(original).removesuffix("us"))
    assert read_back(written) == read_back(microseconds)


@given(st.integers(1, 10**12))
def test_a_delay_in_nanoseconds_reads_as_found(nanoseconds: int) -> None:
    original = netem(shown(nanoseconds / 1e9), True)
    written = int(delay_of(original).removesuffix("ns"))
    assert shown(written / 1e9) == shown(nanoseconds / 1e9)


def test_a_delay_that_this_tc_cannot_write_is_refused() -> None:
    with pytest.raises(SettingError, match=r"cannot write its delay of 7 µs"):
        qdisc.check_found("data0", netem(7e-06, False))
    assert delay_of(netem(7e-06, True)) == "7000ns"


@given(st.integers(1, 2**32 - 1))
def test_a_time_of_codel_reads_as_found(microseconds: int) -> None:
    """The kernel keeps units of 1.024 µs, rounded down, and shows µs, rounded down."""

    def read_back(us: int) -> int:
        return (us * 1000 >> 10 << 10) // 1000

    target = read_back(microseconds)
    options = {"limit": 1, "target": target, "interval": target, "ce_threshold": target}
    words = parameters({"kind": "fq_codel", "options": options, "nanoseconds": False})
    for name in ("target", "interval", "ce_threshold"):
        written = int(words[words.index(name) + 1].removesuffix("us"))
        assert written < 2**32
        assert read_back(written) == target


@given(st.integers(1, 2**32 - 1))
def test_a_share_of_netem_reads_as_found(share: int) -> None:
    """The kernel keeps 2⁻³² of all, tc shows six digits of a fraction and writes percent."""
    loss = shown(share / (2**32 - 1))
    original = netem(0.001, False)
    original["options"]["loss-random"] = {"loss": loss, "correlation": 0}
    words = parameters(original)
    written = float(words[words.index("random") + 1].removesuffix("%"))
    assert shown(round(written / 100 * (2**32 - 1)) / (2**32 - 1)) == loss
