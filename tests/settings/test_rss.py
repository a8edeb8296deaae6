"""RSS: on the text that ethtool prints of a NIC with four queues (igb's layout), and of a guest's."""

from __future__ import annotations

import pairs
import pytest
from undoing import ListLog

from netlimits.errors import SettingError
from netlimits.hosts.scripted import ScriptedHost, answer
from netlimits.model import Command, Completed
from netlimits.restore.changes import Changes
from netlimits.settings import setting
from netlimits.settings.queues.rss import weighted

RSS = setting("rss")
STATE = pairs.state(RSS, "igb-4")
KEYED = pairs.state(RSS, "with-key")


@pytest.mark.parametrize("name", pairs.names("settings/rss"))
def test_each_capture_gives_what_its_pair_expects(name):
    pairs.check("settings/rss", name)


def words(wanted, state=STATE):
    return [" ".join(c.argv[3:]) for c in RSS.change("data0", state, wanted)]


def test_what_is_written():
    assert words({"equal": 4}) == []
    assert words({"equal": 1}) == ["equal 1"]
    assert words({"equal": 2, "start": 2}) == ["equal 2 start 2"]
    assert words({"weights": [3, 1]}) == ["weight 3 1"]
    assert words({"function": "xor", "equal": 2}) == ["hfunc xor equal 2"]
    key = KEYED["key"].replace("00:01", "ff:ff")
    assert words({"key": key}, KEYED) == [f"hkey {key}"]
    assert [" ".join(c.argv[3:]) for c in RSS.undo("data0", KEYED, {**KEYED, "key": key})] == [
        f"hkey {KEYED['key']}"
    ]


def test_the_key_is_read_only_where_the_experiment_sets_it():
    assert RSS.read("data0", {"equal": 1}).argv[-1] == "-"
    assert RSS.read("data0", {"key": "…"}).argv[-1] == "key"
    assert "key" not in STATE
    assert RSS.read("data0", KEYED).argv[-1] == "key", "for the restore too"


@pytest.mark.parametrize(
    ("wanted", "why"),
    [
        ({"equal": 5}, "data0 has 4 receive queues, not 5"),
        ({"equal": 2, "start": 3}, "has 4 receive queues, not 5"),
        ({"weights": [1, 1], "equal": 2}, "not both"),
        ({"weights": [0, 0]}, "all weights are 0"),
        ({"key": "00:01:02:03:04:05:06:07"}, "shows no key, so it could not be restored"),
    ],
)
def test_what_is_refused(wanted, why):
    with pytest.raises(SettingError, match=why):
        RSS.change("data0", STATE, wanted)


def test_a_table_that_ethtool_cannot_create_is_left():
    with pytest.raises(SettingError, match="cannot create again; run `ethtool -X data0 default`"):
        RSS.check_found("data0", pairs.state(RSS, "irregular"))
    RSS.check_found("data0", STATE)


def test_a_table_of_weights_is_filled_as_ethtool_does():
    assert [*weighted([3, 1], 8)] == [0, 0, 0, 0, 0, 0, 1, 1]
    assert [*weighted([0, 1, 1], 4)] == [1, 1, 2, 2]


def test_a_driver_that_takes_and_ignores_a_table_is_seen_and_it_is_restored():
    lies = [True]
    table = [pairs.text("settings/rss", "igb-4")]

    def kernel(command: Command) -> Completed:
        if command.argv[0] == "ethtool" and not lies[0]:
            table[0] = table[0].replace("1     2     3", "0     0     0")
            if "4" in command.argv:
                table[0] = pairs.text("settings/rss", "igb-4")
        return answer(command, table[0] if command.argv[0] == "sh" else "")

    host = ScriptedHost(kernel)
    changes = Changes(lambda _: host, ListLog(lambda _: host))
    with pytest.raises(SettingError, match="did not take: the table is equal 4, not equal 1"):
        changes.reach("receiver", "data0", "rss", {"equal": 1})
    lies[0] = False
    changes.reach("receiver", "data0", "rss", {"equal": 1})
    changes.restore()
    assert table[0] == pairs.text("settings/rss", "igb-4")
