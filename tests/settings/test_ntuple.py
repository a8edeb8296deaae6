"""Rules of a NIC: on the text that ethtool prints of them."""

from __future__ import annotations

import pairs
import pytest
from undoing import ListLog

from netlimits.errors import SettingError
from netlimits.hosts.scripted import ScriptedHost, answer
from netlimits.model import Command, Completed
from netlimits.restore.changes import Changes
from netlimits.settings import setting

NTUPLE = setting("ntuple")
NONE, TWO = pairs.state(NTUPLE, "none"), pairs.state(NTUPLE, "two-rules")
TCP = {"port": 5001, "queue": 2}
DNS = {"protocol": "udp", "family": "ipv6", "destination": "2001:DB8::1", "port": 53, "queue": 1}


@pytest.mark.parametrize("name", pairs.names("settings/ntuple"))
def test_each_capture_gives_what_its_pair_expects(name):
    pairs.check("settings/ntuple", name)


def words(state, *flows):
    return [" ".join(c.argv[3:]) for c in NTUPLE.change("data0", state, {"flows": [*flows]})]


def test_what_is_written():
    assert words(NONE, TCP) == ["flow-type tcp4 dst-port 5001 action 2"]
    assert words(TWO, TCP, DNS) == []
    assert words(TWO, {**TCP, "queue": 1}, DNS) == [
        "delete 1023", "flow-type tcp4 dst-port 5001 action 1",
    ]  # fmt: skip
    assert words(TWO, {**TCP, "source_port": 7}) == [
        "delete 1022", "delete 1023", "flow-type tcp4 src-port 7 dst-port 5001 action 2",
    ]  # fmt: skip
    assert NTUPLE.unmet(NONE, {"flows": [TCP]}) == ("no rule puts tcp4 dst-port 5001 into queue 2",)


def test_what_is_refused():
    with pytest.raises(SettingError, match="has 4 receive queues, and no queue 4"):
        words(NONE, {**TCP, "queue": 4})
    with pytest.raises(SettingError, match="has 2 rules already; remove them"):
        NTUPLE.check_found("data0", TWO)


def test_every_rule_is_removed_in_the_end_also_where_nobody_knows_their_numbers():
    rules = [pairs.text("settings/ntuple", "none")]

    def nic(command: Command) -> Completed:
        if command.argv[:2] == ("ethtool", "-N"):
            rules[0] = pairs.text("settings/ntuple", "two-rules")
        if command.argv[3:4] == ("remove rules",):
            rules[0] = pairs.text("settings/ntuple", "none")
        return answer(command, rules[0] if command.argv[1] == "-n" else "")

    host = ScriptedHost(nic)
    changes = Changes(lambda _: host, ListLog(lambda _: host))
    changes.reach("receiver", "data0", "ntuple", {"flows": [TCP, DNS]})
    changes.restore()
    assert rules[0] == pairs.text("settings/ntuple", "none")
    (blind,) = NTUPLE.undo("data0", NONE, {})
    assert blind.argv[3:] == ("remove rules", "data0")
