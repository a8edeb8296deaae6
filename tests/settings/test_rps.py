"""Receive packet steering: on captured text of veths with two queues; set and put back."""

from __future__ import annotations

import jsonschema
import pairs
import pytest
from undoing import ListLog

from netlimits.errors import SettingError
from netlimits.hosts.scripted import ScriptedHost, answer
from netlimits.model import Command, Completed
from netlimits.restore.changes import Changes
from netlimits.settings import setting

RPS = setting("rps")
STATE = pairs.state(RPS, "veth")


@pytest.mark.parametrize("name", pairs.names("settings/rps"))
def test_each_capture_gives_what_its_pair_expects(name):
    pairs.check("settings/rps", name)


def test_what_is_written():
    commands = RPS.change("data0", pairs.state(RPS, "steered"), {"cpus": "1"})
    assert [(c.argv, c.stdin, c.sudo) for c in commands] == [
        (("tee", "/sys/class/net/data0/queues/rx-1/rps_cpus"), "2\n", True),
    ], "rx-0 steers there already"
    assert RPS.change("data0", STATE, {"cpus": "off"}) == ()
    assert [c.stdin for c in RPS.change("data0", STATE, {"cpus": "0-1"})] == ["3\n", "3\n"]
    many = {"online": "0-63", "rx-0": "00000000,00000000"}
    assert [c.stdin for c in RPS.change("data0", many, {"cpus": "1,36"})] == ["10,00000002\n"]
    back = RPS.undo("data0", STATE, {**STATE, "rx-1": "3"})
    assert [(c.argv[1], c.stdin) for c in back] == [
        ("/sys/class/net/data0/queues/rx-1/rps_cpus", "0\n")
    ]
    assert len(RPS.undo("data0", STATE, {})) == 2, "from a state that nobody has looked at"


def test_a_mask_that_is_written_otherwise_is_the_same():
    wide = {"online": "0-63", "rx-0": "00000000,00000003"}
    assert RPS.change("data0", wide, {"cpus": "0-1"}) == ()
    assert RPS.differences(wide, {**wide, "rx-0": "3"}) == ()


def test_a_cpu_that_is_not_there():
    with pytest.raises(SettingError, match="CPU 2 is not there; online are 0-1"):
        RPS.change("data0", STATE, {"cpus": "1-3"})
    with pytest.raises(SettingError, match="1-0 is a descending range"):
        RPS.change("data0", STATE, {"cpus": "1-0"})


def test_what_is_unmet_and_differs_is_said_of_cpus():
    steered = pairs.state(RPS, "steered")
    assert RPS.unmet(steered, {"cpus": "0-1"}) == (
        "rx-0 steers to CPUs 1, not to CPUs 0-1",
        "rx-1 steers to no CPUs, not to CPUs 0-1",
    )
    assert RPS.differences(STATE, steered) == ("rx-0 steers to CPUs 1, did to no CPUs",)
    fewer = {name: value for name, value in STATE.items() if name != "rx-1"}
    assert RPS.differences(STATE, fewer) == (), "a queue that is gone"


def test_the_schema():
    for good in (0, "0-1", "0,2", "off"):
        jsonschema.validate({"cpus": good}, RPS.schema)
    for bad in ("on", "", "0;1", -1, None):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate({"cpus": bad}, RPS.schema)


class Kernel:
    """Two receive queues; with `deaf` what is written is taken and does nothing."""

    def __init__(self, *, deaf: bool = False) -> None:
        self.masks = {"rx-0": "0", "rx-1": "0"}
        self.deaf = deaf

    def __call__(self, command: Command) -> Completed:
        if command.argv[0] == "sh":
            place = "/sys/class/net/data0/queues"
            lines = "".join(f"{place}/{q}/rps_cpus:{m}\n" for q, m in self.masks.items())
            return answer(command, f"online 0-1\n{lines}")
        assert command.argv[0] == "tee"
        if not self.deaf:
            self.masks[command.argv[1].split("/")[-2]] = command.stdin.strip()
        return answer(command, command.stdin)


def test_set_read_back_and_put_back():
    kernel = Kernel()
    host = ScriptedHost(kernel)
    changes = Changes(lambda _: host, ListLog(lambda _: host))
    changes.reach("receiver", "data0", "rps", {"cpus": "0-1"})
    assert set(kernel.masks.values()) == {"3"}
    changes.reach("receiver", "data0", "rps", {"cpus": "off"})
    assert set(kernel.masks.values()) == {"0"}
    changes.reach("receiver", "data0", "rps", {"cpus": 1})
    changes.restore()
    assert set(kernel.masks.values()) == {"0"}


def test_a_kernel_that_does_not_take_it():
    host = ScriptedHost(Kernel(deaf=True))
    changes = Changes(lambda _: host, ListLog(lambda _: host))
    with pytest.raises(SettingError, match="rx-0 steers to no CPUs, not to CPUs 0-1"):
        changes.reach("receiver", "data0", "rps", {"cpus": "0-1"})
