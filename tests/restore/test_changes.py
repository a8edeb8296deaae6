"""What a change goes on from: what was read back after the one before, as long as that holds."""

from __future__ import annotations

import pytest
from undoing import ListLog

from netlimits.errors import SettingError
from netlimits.hosts.scripted import ScriptedHost, answer
from netlimits.model import Command, Completed
from netlimits.restore import notes
from netlimits.restore.changes import Changes
from netlimits.restore.originals import Original
from netlimits.settings import carrier

QUEUES = "/sys/class/net/data0/queues"


class Kernel:
    """A host with two sysctls, queues, and RPS on receiving ones; `new_masks` come with a write."""

    def __init__(self) -> None:
        self.sysctls = {"net.core.a": "0", "net.core.b": "0"}
        self.masks = {"rx-0": "0"}
        self.new_masks: dict[str, str] = {}
        self.queues, self.most = 1, 2

    def __call__(self, command: Command) -> Completed:
        match command.argv:
            case ("sysctl", "-w", *pairs):
                self.sysctls.update(pair.split("=", 1) for pair in pairs)
                return answer(command)
            case ("sysctl", *names):
                return answer(command, "".join(f"{n} = {self.sysctls[n]}\n" for n in names))
            case ("sh", "-c", script, *_) if "ethtool -l" in script:
                shown = {"Pre-set maximums": self.most, "Current hardware settings": self.queues}
                return answer(command, "".join(f"{k}:\nCombined: {n}\n" for k, n in shown.items()))
            case ("ethtool", "-L", _, "combined", number):
                self.queues = int(number)
                return answer(command)
            case ("tee", path):
                self.masks[path.split("/")[-2]] = command.stdin.strip()
                self.masks |= self.new_masks
                return answer(command, command.stdin)
        lines = "".join(f"{QUEUES}/{q}/rps_cpus:{m}\n" for q, m in self.masks.items())
        return answer(command, f"online 0-1\n{lines}")


class Bench:
    def __init__(self) -> None:
        self.kernel = Kernel()
        self.host = ScriptedHost(self.kernel, "sender")
        self.log = ListLog(lambda _: self.host)
        self.changes = Changes(lambda _: self.host, self.log)

    def reach(self, name: str, wanted: object) -> list[str]:
        """What the host was asked: `read` and `write`."""
        self.host.ran.clear()
        self.changes.reach("sender", "data0", name, wanted)
        return ["write" if {"-w", "tee", "-L"} & {*c.argv} else "read" for c in self.host.ran]


@pytest.fixture
def bench() -> Bench:
    return Bench()


def test_a_change_goes_on_from_what_was_read_back_after_the_last_one(bench):
    assert bench.reach("sysctl", {"net.core.a": 1}) == ["read", "write", "read"]
    assert bench.reach("sysctl", {"net.core.a": 2}) == ["write", "read"]
    assert bench.reach("sysctl", {"net.core.a": 2}) == ["read"], "what is to be there is looked at"
    assert bench.reach("sysctl", {"net.core.a": 3}) == ["write", "read"]
    assert bench.reach("sysctl", {"net.core.b": 1}) == ["read", "write", "read"], (
        "never read before"
    )
    bench.changes.restore()
    assert bench.kernel.sysctls == {"net.core.a": "0", "net.core.b": "0"}


def test_what_somebody_else_changed_meanwhile_is_seen_and_changed_again(bench):
    bench.reach("sysctl", {"net.core.a": 1, "net.core.b": 1})
    bench.kernel.sysctls["net.core.a"] = "7"
    assert bench.reach("sysctl", {"net.core.a": 1, "net.core.b": 2}) == [
        *("write", "read"),
        *("read", "write", "read"),
    ]
    assert bench.kernel.sysctls == {"net.core.a": "1", "net.core.b": "2"}
    bench.kernel.sysctls["net.core.b"] = "7"
    assert bench.reach("sysctl", {"net.core.a": 1, "net.core.b": 2}) == ["read", "write", "read"]
    bench.changes.restore()
    assert bench.kernel.sysctls == {"net.core.a": "0", "net.core.b": "0"}


def test_after_a_put_back_it_is_read_anew(bench):
    bench.reach("sysctl", {"net.core.a": 1})
    bench.changes.restore_for_now(("sender", "data0", "sysctl"))
    assert bench.reach("sysctl", {"net.core.a": 2}) == ["read", "write", "read"]
    bench.changes.restore()
    assert bench.reach("sysctl", {"net.core.a": 2}) == ["read", "write", "read"]
    bench.changes.restore()
    assert bench.kernel.sysctls["net.core.a"] == "0"


def test_what_another_change_makes_anew_is_read_anew(bench):
    bench.reach("rps", {"cpus": "0"})
    bench.reach("channels", {"combined": 2})
    assert bench.reach("rps", {"cpus": "0-1"}) == ["read", "write", "read"]
    bench.changes.restore()
    assert (bench.kernel.queues, bench.kernel.masks) == (1, {"rx-0": "0"})


def test_what_the_last_reading_refuses_is_read_anew(bench):
    bench.reach("channels", {"combined": 2})
    bench.kernel.most = 4  # by a driver that was loaded again
    assert bench.reach("channels", {"combined": 4})[:2] == ["read", "write"]
    with pytest.raises(SettingError, match="8"):
        bench.reach("channels", {"combined": 8})
    bench.changes.restore()
    assert bench.kernel.queues == 1


def test_a_part_that_came_later_is_written_down_before_it_is_changed(bench):
    bench.kernel.new_masks = {"rx-1": "1"}
    bench.reach("rps", {"cpus": "0"})
    assert bench.kernel.masks == {"rx-0": "1", "rx-1": "1"}
    bench.kernel.new_masks = {}
    assert bench.reach("rps", {"cpus": "0-1"})[0] == "read"
    bench.changes.restore()
    assert bench.kernel.masks == {"rx-0": "0", "rx-1": "1"}


def test_a_link_that_the_way_back_took_down_is_waited_for(bench):
    """A driver restarts its NIC for its channels: the host was handed back with its link down."""
    bench.reach("channels", {"combined": 2})
    bench.host.ran.clear()
    bench.changes.restore()
    changed = [place for place, command in enumerate(bench.host.ran) if "-L" in command.argv]
    assert bench.host.ran[-1].argv == carrier.wait("data0").argv
    assert changed
    bench.reach("sysctl", {"net.core.a": "1"})
    bench.host.ran.clear()
    bench.changes.restore()
    assert carrier.wait("data0").argv not in [command.argv for command in bench.host.ran]


def test_a_note_is_held_against_its_host_before_the_first_write_only(bench, monkeypatch):
    """What a restore brings back, such as IPv6 with its defaults, was written by no setting."""
    bench.kernel.sysctls["net.core.a"] = "1"
    seen: list[str] = []

    def impossible(original: Original, state: dict[str, str]) -> str:
        seen.append(state["net.core.a"])
        return "" if len(seen) == 1 else "no setting changes it"

    monkeypatch.setattr(notes, "impossible", impossible)
    original = Original("sender", "data0", "sysctl", {"net.core.a": "0"})
    changes = Changes(lambda _: bench.host, bench.log, (original,), noted=True)
    lasting = bench.kernel.sysctls
    bench.kernel.sysctls = Stubborn(lasting)
    changes.restore()
    assert dict(bench.kernel.sysctls) == {"net.core.a": "0", "net.core.b": "0"}
    assert seen == ["1"]


class Stubborn(dict[str, str]):
    """Takes a value at the second write."""

    writes = 0

    def update(self, *pairs: object) -> None:
        self.writes += 1
        if self.writes > 1:
            super().update(*pairs)
