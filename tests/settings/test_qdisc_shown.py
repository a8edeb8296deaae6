"""netem, fq_codel and cake, on what tc of a 6.1 kernel showed of each command (captures/tc)."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netlimits.errors import SettingError
from netlimits.model import Completed
from netlimits.settings.qdisc import Qdisc
from netlimits.settings.qdisc.kinds import SHOWN, parameters

CAPTURES = Path(__file__).parents[1] / "captures" / "tc"
qdisc = Qdisc()


def captures() -> dict[str, str]:
    """tc's words -> the JSON that it showed of what they made, under our handle."""
    lines = [ln for kind in SHOWN for ln in (CAPTURES / f"{kind}.txt").read_text().splitlines()]
    return {
        words.removeprefix("# "): shown for words, shown in zip(*[iter(lines)] * 2, strict=True)
    }


CAPTURED = captures()


def state(words: str, handle: str = "6e6c:"):
    shown = CAPTURED[words].replace("6e6c:", handle)
    return qdisc.state(Completed("sender", qdisc.read("data0", {}), 0, shown, "", 0.0))


NOQUEUE = {"kind": "noqueue", "handle": "0:", "options": {}, "inner": [], "default": "",
           "classes": [], "filters": []}  # fmt: skip

WISHES = {
    "netem": {"kind": "netem"},
    "netem limit 500 delay 20ms": {"kind": "netem", "limit": 500, "delay": "20ms"},
    "netem delay 20ms 2ms 25%": {
        "kind": "netem", "delay": 20000, "jitter": "2ms", "delay_correlation": 25,
    },
    "netem delay 20ms 2ms distribution normal": {
        "kind": "netem", "delay": "20ms", "jitter": "2ms", "distribution": "normal",
    },
    "netem delay 20ms 2ms 25% distribution paretonormal loss 0.1% 30% duplicate 0.5% 10% "
    "corrupt 0.2% 5% reorder 25% 50% gap 5 rate 100mbit 20 100 5": {
        "kind": "netem", "delay": "20ms", "jitter": "2ms", "delay_correlation": "25%",
        "distribution": "paretonormal", "loss": 0.1, "loss_correlation": 30, "duplicate": "0.5%",
        "duplicate_correlation": 10, "corrupt": 0.2, "corrupt_correlation": 5, "reorder": 25,
        "reorder_correlation": 50, "gap": 5, "rate": "100mbit", "packet_overhead": 20,
        "cell_size": 100, "cell_overhead": 5,
    },
    "netem loss 1%": {"kind": "netem", "loss": 1},
    "netem loss random 0.001%": {"kind": "netem", "loss": "0.001%"},
    "netem loss state 1% 2% 3% 4% 5%": {"kind": "netem", "loss_state": "1,2,3,4,5"},
    "netem loss state 1% 20%": {"kind": "netem", "loss_state": "1%,20%"},
    "netem loss gemodel 1% 10% 70% 0.1%": {"kind": "netem", "loss_gemodel": "1,10,70,0.1"},
    "netem loss gemodel 1%": {"kind": "netem", "loss_gemodel": 1},
    "netem loss 5% ecn": {"kind": "netem", "loss": 5, "ecn": "on"},
    "netem rate 1gbit": {"kind": "netem", "rate": "1gbit"},
    "netem slot 800us 1000us packets 10 bytes 20000": {
        "kind": "netem", "slot_min": "800us", "slot_max": "1ms", "slot_packets": 10,
        "slot_bytes": 20000,
    },
    "netem slot distribution normal 800us 100us packets 5": {
        "kind": "netem", "slot_distribution": "normal", "slot_delay": 800, "slot_jitter": 100,
        "slot_packets": 5,
    },
    "netem delay 10ms reorder 25%": {"kind": "netem", "delay": "10ms", "reorder": 25},
    "netem delay 5s 1s": {"kind": "netem", "delay": "5s", "jitter": "1s"},
    "netem delay 1us": {"kind": "netem", "delay": 1},
    "fq_codel": {"kind": "fq_codel"},
    "fq_codel limit 500 flows 64 target 7ms interval 90ms noecn memory_limit 4mb quantum 3000 "
    "drop_batch 32": {
        "kind": "fq_codel", "limit": 500, "flows": 64, "target": "7ms", "interval": "90ms",
        "ecn": "off", "memory_limit": "4mb", "quantum": 3000, "drop_batch": 32,
    },
    "fq_codel ce_threshold 1ms ecn": {"kind": "fq_codel", "ce_threshold": "1ms"},
    "cake": {"kind": "cake"},
    "cake bandwidth 100mbit": {"kind": "cake", "bandwidth": "100mbit"},
    "cake bandwidth 100mbit rtt 20ms besteffort flowblind nat wash no-split-gso ack-filter "
    "memlimit 8mb overhead 38 mpu 84 noatm ingress": {
        "kind": "cake", "bandwidth": "100mbit", "rtt": "20ms", "diffserv": "besteffort",
        "flowmode": "flowblind", "nat": "on", "wash": "on", "split_gso": "off",
        "ack_filter": "on", "memlimit": "8mb", "overhead": 38, "mpu": 84, "ingress": "on",
    },
    "cake bandwidth 50mbit diffserv4 dual-srchost ack-filter-aggressive atm overhead -4 rtt 100us": {
        "kind": "cake", "bandwidth": "50mbit", "diffserv": "diffserv4",
        "flowmode": "dual-srchost", "ack_filter": "aggressive", "atm": "atm", "overhead": -4,
        "rtt": "datacentre",
    },
    "cake bandwidth 12345678bit lan hosts precedence autorate-ingress fwmark 0xff": {
        "kind": "cake", "bandwidth": 12345678, "rtt": "lan", "flowmode": "hosts",
        "diffserv": "precedence", "autorate": "on", "fwmark": 255,
    },
    "cake bandwidth 10mbit conservative diffserv8 triple-isolate internet": {
        "kind": "cake", "bandwidth": "10mbit", "atm": "atm", "overhead": 48,
        "diffserv": "diffserv8", "rtt": "internet",
    },
}  # fmt: skip


@pytest.mark.parametrize("words", WISHES)
def test_what_tc_shows_of_a_wish_is_the_wish(words: str) -> None:
    wanted = WISHES[words]
    jsonschema.validate(wanted, qdisc.schema)
    assert qdisc.unmet(state(words), wanted) == ()
    assert qdisc.change("data0", state(words), wanted) == ()


@pytest.mark.parametrize("words", WISHES)
def test_it_is_no_other_wish(words: str) -> None:
    """Every capture differs from every wish that is not its own."""
    same = [
        other
        for other, wanted in WISHES.items()
        if other != words and not qdisc.unmet(state(words), wanted)
    ]
    hidden = {"netem delay 20ms 2ms distribution normal", "netem delay 1us", "netem"}
    assert not set(same) - hidden, "tc hides distributions, and a microsecond"


def argvs(commands) -> list[str]:
    return [" ".join(command.argv) for command in commands]


def test_the_commands_name_every_parameter_that_could_linger() -> None:
    everything = next(w for words, w in WISHES.items() if "paretonormal" in words)
    assert argvs(qdisc.change("data0", NOQUEUE, everything)) == [
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


def test_ours_with_jitter_gives_way_to_the_next_and_anothers_is_refused() -> None:
    words = "netem delay 20ms 2ms distribution normal"
    commands = qdisc.change("data0", state(words), {"kind": "netem", "delay": "1ms"})
    assert argvs(commands)[0] == "tc qdisc del dev data0 root"
    with pytest.raises(SettingError, match="does not show the distribution of its jitter"):
        qdisc.change("data0", state(words, "8001:"), {"kind": "netem", "delay": "1ms"})


@pytest.mark.parametrize("words", [w for w in WISHES if w.startswith(("netem", "cake"))])
def test_one_that_was_found_returns_with_what_tc_shows(words: str) -> None:
    original = state(words, "8001:")
    back = argvs(qdisc.undo("data0", original, state("netem loss 1%")))
    if not qdisc.differences(original, state("netem loss 1%")):
        return
    assert back[-1].startswith(f"tc qdisc add dev data0 root handle 8001: {words.split()[0]} ")
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
        ({"kind": "cake", "autorate": "on"}, "autorate needs bandwidth"),
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
