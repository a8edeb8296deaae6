"""Sizes of segments: on captured text of a veth."""

from __future__ import annotations

import pairs
import pytest

from netlimits.errors import SettingError
from netlimits.settings import setting

GSO = setting("gso")
STATE = pairs.state(GSO, "veth")
NEW = {"max": 65536, "gro_max": 65536, "ipv4_max": 65536, "gro_ipv4_max": 65536, "most": 524280}


@pytest.mark.parametrize("name", pairs.names("settings/gso"))
def test_each_capture_gives_what_its_pair_expects(name):
    pairs.check("settings/gso", name)


def words(commands):
    return [" ".join(c.argv[5:]) for c in commands]


def test_the_size_of_ipv4_is_written_where_the_other_changes_it():
    assert words(GSO.change("data0", NEW, {"max": 185000})) == ["gso_max_size 185000"]
    assert words(GSO.change("data0", NEW, {"max": 30000})) == [
        "gso_max_size 30000", "gso_ipv4_max_size 65536",
    ]  # fmt: skip
    big = {**NEW, "max": 185000, "ipv4_max": 185000}
    assert words(GSO.undo("data0", NEW, big)) == ["gso_max_size 65536", "gso_ipv4_max_size 65536"]
    assert words(GSO.undo("data0", STATE, {})) == ["gso_max_size 65536", "gro_max_size 65536"]


def test_what_a_host_cannot_have_is_refused():
    with pytest.raises(SettingError, match=r"no gso_ipv4_max_size .* leave ipv4_max out"):
        GSO.change("data0", STATE, {"ipv4_max": 185000})
    with pytest.raises(SettingError, match="takes segments of at most 60000 bytes, not 65536"):
        GSO.change("data0", {**STATE, "most": 60000}, {"max": 65536})
