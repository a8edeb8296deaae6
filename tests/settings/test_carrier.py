"""A link that is down for a while after a change: on a real interface whose other end goes down."""

from __future__ import annotations

import threading

import pytest

from netlimits.errors import SettingError
from netlimits.settings import carrier

pytestmark = pytest.mark.lab


def test_a_change_is_over_when_there_is_a_carrier(bench):
    bench.far("down")
    changed = threading.Event()

    def change() -> None:
        bench.reach("mtu", 1400)
        changed.set()

    thread = threading.Thread(target=change)
    thread.start()
    try:
        assert not changed.wait(1), "it has no carrier yet"
    finally:
        bench.far("up")
        thread.join()
    assert changed.is_set()
    assert bench.sh("cat", "/sys/class/net/data0/carrier") == "1\n"


def test_without_a_carrier_the_change_says_so_and_is_undone_all_the_same(bench, monkeypatch):
    monkeypatch.setattr(carrier, "SECONDS", 0.5)
    before = bench.leaves()
    bench.far("down")
    with pytest.raises(SettingError, match="sender: mtu: data0 has had no carrier"):
        bench.reach("mtu", 1400)
    bench.far("up")
    bench.put_back_as(before)


def test_an_interface_that_is_down_is_not_waited_for(bench):
    bench.sh("ip", "link", "set", "data0", "down")
    bench.sh(*carrier.wait("data0").argv)  # exits 0
