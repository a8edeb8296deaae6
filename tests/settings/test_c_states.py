"""Idle states: on captured text; held on this machine where it has them, with a harmless latency."""

from __future__ import annotations

import pairs
import pytest
from undoing import ListLog

from netlimits.errors import SettingError
from netlimits.hosts.local import local_host
from netlimits.restore.changes import Changes, current
from netlimits.settings import setting

C_STATES = setting("c_states")
FOUND, HELD = pairs.state(C_STATES, "found"), pairs.state(C_STATES, "held")
HARMLESS = 1_000_000
"""Microseconds: longer than any idle state takes to leave."""


@pytest.mark.parametrize("name", pairs.names("settings/c_states"))
def test_each_capture_gives_what_its_pair_expects(name):
    pairs.check("settings/c_states", name)


def test_what_is_held_and_when_it_is_begun_anew():
    (command,) = C_STATES.change("data0", FOUND, {"latency_us": 0})
    assert command.argv[4:] == ("0", "43200")
    assert command.by_hand[0].argv == ("tee", "/dev/cpu_dma_latency")
    assert C_STATES.change("data0", HELD, {"latency_us": HARMLESS}) == ()
    assert len(C_STATES.change("data0", HELD, {"latency_us": HARMLESS, "hours": 48})) == 1
    assert C_STATES.unmet({**HELD, "kernel_us": 2 * HARMLESS}, {"latency_us": HARMLESS}) == (
        "the kernel allows 2000000 µs, not 1000000",
    )
    assert [c.argv[4:] for c in C_STATES.undo("data0", FOUND, HELD)] == [("-", "0")]
    assert [c.argv[4:] for c in C_STATES.undo("data0", FOUND, {})] == [("-", "0")]
    assert C_STATES.undo("data0", FOUND, FOUND) == ()


@pytest.mark.parametrize(
    ("lacks", "why"),
    [({"driver": "none"}, "no idle states to choose"), ({"device": False}, "no /dev/cpu_dma_laten"),
     ({"missing": ["ps"]}, "no ps there; install it")],
)  # fmt: skip
def test_a_host_without_idle_states_is_refused(lacks, why):
    with pytest.raises(SettingError, match=why):
        C_STATES.change("data0", {**FOUND, **lacks}, {"latency_us": 0})


@pytest.mark.lab
def test_held_on_this_machine_and_let_go():
    host = local_host("sender")
    try:
        before = current(host, "c_states", "lo", {})
        if not before["device"] or before["driver"] == "none":
            with pytest.raises(SettingError, match="leave `c_states` out"):
                C_STATES.change("lo", before, {"latency_us": HARMLESS})
            return
        changes = Changes(lambda _: host, ListLog(lambda _: host))
        held = changes.reach("sender", "lo", "c_states", {"latency_us": HARMLESS})
        assert held["kernel_us"] is None or held["kernel_us"] <= HARMLESS
        changes.restore()
        assert current(host, "c_states", "lo", {})["latency_us"] is None
    finally:
        host.close()
