"""The policer of what arrives: on what tc prints."""

from __future__ import annotations

import pairs
import pytest

from netlimits.errors import SettingError
from netlimits.settings import setting

INGRESS = setting("ingress")
NONE, POLICED = pairs.state(INGRESS, "veth"), pairs.state(INGRESS, "policed")
WANTED = {"rate": "100mbit", "burst": "256kb"}


@pytest.mark.parametrize("name", pairs.names("settings/ingress"))
def test_each_capture_gives_what_its_pair_expects(name):
    pairs.check("settings/ingress", name)


def test_what_is_written_and_removed():
    qdisc, police = (" ".join(c.argv) for c in INGRESS.change("data0", NONE, WANTED))
    assert qdisc == "tc qdisc add dev data0 handle ffff: ingress"
    assert police.endswith("police rate 100000000bit burst 262144b mtu 512kb conform-exceed drop")
    assert INGRESS.change("data0", POLICED, WANTED) == ()
    assert INGRESS.unmet(POLICED, {**WANTED, "rate": "50mbit"}) == (
        "the rate is 100000000 bit/s, not 50000000",
    )
    again = INGRESS.change("data0", POLICED, {**WANTED, "rate": "50mbit"})
    assert " ".join(again[0].argv) == "tc qdisc del dev data0 ingress"
    assert INGRESS.undo("data0", NONE, NONE) == ()
    assert len(INGRESS.undo("data0", NONE, POLICED)) == 1


def test_an_ingress_of_somebody_else_is_left():
    with pytest.raises(SettingError, match="has a clsact qdisc already; remove it"):
        INGRESS.check_found("data0", pairs.state(INGRESS, "clsact"))
