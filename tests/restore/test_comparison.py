"""A host's whole network state: kept, compared, and what of it is ours is restored or an error."""

from __future__ import annotations

from pathlib import Path

import pytest
from evidence.test_network import PRINTED
from recorded import recorded

from netlimits.errors import ConnectionLost, HostError
from netlimits.hosts.scripted import Answer, ScriptedHost, answer
from netlimits.model import Command, Completed, Experiment, SettingUse
from netlimits.restore import comparison
from netlimits.restore.comparison import StateComparison, sets_of

SETS = {"source": {"mtu": [], "sysctl": ["net.core.somaxconn"]}}


@pytest.fixture(autouse=True)
def _no_wait(monkeypatch):
    monkeypatch.setattr(comparison, "SETTLES", 0)


class Scene:
    """A campaign whose host prints `printed`, and takes `sysctl -w` where it `obeys`."""

    def __init__(self, folder: Path) -> None:
        self.archive = recorded(folder / "out").archive
        self.archive.lock()
        self.printed: Answer = PRINTED
        self.obeys = True
        self.host = ScriptedHost(self.script)
        self.states = StateComparison(self.archive, lambda _: self.host, SETS)

    def script(self, command: Command) -> Answer:
        if command.argv[:2] == ("sysctl", "-w") and self.obeys:
            name, _, value = command.argv[2].partition("=")
            self.moved(f"{name.rpartition('.')[2]}:99", f"{name.rpartition('.')[2]}:{value}")
        if isinstance(self.printed, BaseException):
            return self.printed
        before, _, rest = self.printed.partition("@sysctl\n")
        sysctls, following, after = rest.partition("@ipv4\n")
        printed = {"sysctls": f"{sysctls}@end\n", "state": before + following + after}
        return answer(command, printed.get(command.argv[3], "") if command.argv[0] == "sh" else "")

    def moved(self, was: str, now: str) -> None:
        """Somebody changes the host."""
        assert was in self.printed
        self.printed = self.printed.replace(was, now)

    def run(self, _: str, command: Command) -> Completed:
        return self.host.run(command)

    def compared(self) -> comparison.ComparisonResult:
        """What another process finds, which knows no more than the folder says."""
        self.host.ran.clear()
        return StateComparison(self.archive, lambda _: self.host).compare(self.run)

    @property
    def written(self) -> list[str]:
        return [" ".join(c.argv) for c in self.host.ran if c.argv[0] != "sh"]

    def events(self) -> list[dict]:
        return [event for event in self.archive.events() if event["event"] == "compared"]


@pytest.fixture
def scene(tmp_path):
    scene = Scene(tmp_path)
    scene.states.take()
    yield scene
    scene.archive.close()


def test_a_host_that_is_as_found_leaves_nothing_to_tell(scene):
    assert scene.states.kept() == ("source",)
    finding = scene.compared()
    assert (finding.ours, finding.others) == ({}, [])
    assert scene.states.kept() == ()
    assert not (scene.archive.path / "state").exists()
    assert not scene.events()


def test_what_is_not_ours_is_told_and_left(scene):
    scene.moved("rp_filter:2", "rp_filter:1")
    scene.moved("lookup 77", "lookup 78")
    scene.moved(
        '"ifname":"mgmt0","flags":["UP"],"mtu":1500', '"ifname":"mgmt0","flags":["UP"],"mtu":900'
    )
    finding = scene.compared()
    assert not finding.problem()
    assert {
        line.removeprefix("source: changed by somebody else, not restored: ")
        for line in finding.others
    } == {
        "IPv4 rule 32765: from 1.2.3.4 lookup 77 proto unspec is gone",
        "IPv4 rule 32765: from 1.2.3.4 lookup 78 proto unspec was not there",
        "data0: sysctl net.ipv4.conf.data0.rp_filter is 1, was 2",
        "mgmt0: link mtu is 900, was 1500",
    }
    assert not scene.written
    assert scene.states.kept() == ()
    (event,) = scene.events()
    assert event["others"] == finding.others


def test_what_is_ours_is_restored(scene):
    scene.moved("somaxconn:4096", "somaxconn:99")
    finding = scene.compared()
    assert scene.written == ["sysctl -w net.core.somaxconn=4096"]
    assert not finding.problem()
    assert finding.others == [
        "source: restored besides its settings: sysctl net.core.somaxconn is 99, was 4096"
    ]


def test_what_is_ours_and_stays_is_an_error_until_it_is_as_found_or_forgotten(scene):
    scene.moved("somaxconn:4096", "somaxconn:99")
    scene.moved("::9 dev data0", ":: dev data0")
    scene.obeys = False
    problem = scene.compared().problem()
    assert problem.splitlines() == [
        "these side effects were not restored:",
        "  source: sysctl net.core.somaxconn is 99, was 4096; by hand: "
        "`sysctl -w net.core.somaxconn=4096`",
        "  source: data0: token is gone; by hand: `ip token set ::9 dev data0`",
    ]
    assert scene.compared().problem() == problem, "as long as it is so"
    scene.moved("somaxconn:99", "somaxconn:4096")
    scene.moved(":: dev data0", "::9 dev data0")
    assert not scene.compared().problem()
    scene.states.take()
    scene.moved("somaxconn:4096", "somaxconn:99")
    assert scene.compared().problem()
    scene.states.forget(["source"])
    assert not scene.compared().problem()


def test_what_is_ours_and_may_not_be_restored_is_an_error(scene):
    def refuse(role: str, command: Command) -> Completed:
        raise HostError("sudo -n is refused", host=role)

    scene.moved("somaxconn:4096", "somaxconn:99")
    problem = scene.states.compare(refuse).problem()
    assert problem.splitlines()[1:] == [
        "  source: sysctl net.core.somaxconn is 99, was 4096; by hand: "
        "`sysctl -w net.core.somaxconn=4096`",
        "  source: sudo -n is refused",
    ]
    assert scene.states.kept() == ("source",)


@pytest.mark.parametrize(
    ("printed", "words"),
    [
        (PRINTED.replace("4e6252de", "11111111").replace("4096", "1"),
         "it was rebooted since: its network state is not compared"),
        (PRINTED.split("@ipv6")[0],
         "not compared: IPv4 rules, neighbours and routes of other interfaces; "
         "IPv6 rules, neighbours and routes of other interfaces"),
        (ConnectionLost("it is gone"), "its network state could not be compared: it is gone"),
    ],
)  # fmt: skip
def test_what_cannot_be_compared_is_told_and_no_error(scene, printed, words):
    scene.printed = printed
    finding = scene.compared()
    assert not finding.problem()
    assert finding.others == [f"source: {words}"]


def test_a_damaged_file_is_no_comparison(scene):
    (scene.archive.path / "state/source.json").write_text('{"boot": 1}')
    scene.moved("somaxconn:4096", "somaxconn:99")
    assert scene.compared().others == []


def test_only_hosts_on_which_something_is_set_are_read(tmp_path):
    def use(name: str, *roles: str, options: object = 1) -> SettingUse:
        return SettingUse(name, roles, options, 1)

    experiment = Experiment(
        "x", tmp_path, "",
        settings=(use("mtu", "a"), use("sysctl", "a", "b", options={"net.core.x": 1})),
    )  # fmt: skip
    assert sets_of(experiment, ["a", "b", "c"]) == {
        "a": {"mtu": [], "sysctl": ["net.core.x"]},
        "b": {"sysctl": ["net.core.x"]},
    }
    paced = Experiment("x", tmp_path, "", around={"pace": {"rate": 1}})
    assert sets_of(paced, ["a"]) == {"a": {"qdisc": []}}
    of_mesh = Experiment("x", tmp_path, "", settings=(use("mtu", "sender"),))
    assert sets_of(of_mesh, ["h-1", "h-2"]) == {"h-1": {"mtu": []}, "h-2": {"mtu": []}}
