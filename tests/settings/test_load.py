"""Background load: what counts as ours, on a real host, and what is left of it: nothing."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import jsonschema
import pairs
import pytest
from undoing import ListLog
from waiting import wait

from netlimits.errors import SettingError
from netlimits.hosts.connect import connect
from netlimits.hosts.local import local_host
from netlimits.model import Command, Machine
from netlimits.restore.changes import Changes, current
from netlimits.restore.originals import Original
from netlimits.settings import setting

LOAD = setting("load")
NONE, TWO = (pairs.state(LOAD, name) for name in ("none", "two-workers"))


@pytest.mark.parametrize("name", pairs.names("settings/load"))
def test_each_capture_gives_what_its_pair_expects(name):
    pairs.check("settings/load", name)


@pytest.mark.parametrize(
    ("state", "wanted", "words"),
    [
        (NONE, {"workers_per_cpu": 0}, None),
        (TWO, {"workers_per_cpu": 2}, None),
        (TWO, {"workers_per_cpu": 0}, ("0", "0", "-", "0")),
        (NONE, {"workers_per_cpu": 2}, ("2", "100", "all", "43200")),
        (TWO, {"workers_per_cpu": 1, "cpu_load": 50}, ("1", "50", "all", "43200")),
        (TWO, {"workers_per_cpu": 2, "method": "sqrt"}, ("2", "100", "sqrt", "43200")),
        (TWO | {"running": 7}, {"workers_per_cpu": 2}, ("2", "100", "all", "43200")),
        # less than half of its time is left
        (TWO, {"workers_per_cpu": 2, "hours": 24}, ("2", "100", "all", "86400")),
        (TWO | {"seconds_left": 1799}, {"workers_per_cpu": 2, "hours": 1},
         ("2", "100", "all", "3600")),
        ({}, {"workers_per_cpu": 1, "hours": 0.5}, ("1", "100", "all", "1800")),
        ({}, {"workers_per_cpu": 0}, ("0", "0", "-", "0")),
    ],
)  # fmt: skip
def test_what_is_started_and_when(state, wanted, words):
    jsonschema.validate(wanted, LOAD.schema)
    commands = LOAD.change("data0", state, wanted)
    assert [command.argv[4:] for command in commands] == ([words] if words else [])
    assert not any(command.sudo for command in commands)


def test_without_stress_ng_only_no_load_can_be_had():
    bare = pairs.state(LOAD, "bare")
    assert LOAD.change("data0", bare, {"workers_per_cpu": 0}) == ()
    with pytest.raises(SettingError, match=r"no stress-ng, ps there; install it .*: stress-ng,"):
        LOAD.change("data0", bare, {"workers_per_cpu": 1})


def test_what_did_not_take_and_what_is_not_back():
    assert LOAD.unmet(TWO | {"running": 7}, {"workers_per_cpu": 2}) == ("7 workers run, not 8",)
    assert LOAD.unmet(TWO, {"workers_per_cpu": 2, "cpu_load": 50}) == ("cpu_load is 100, not 50",)
    assert LOAD.unmet(NONE, {"workers_per_cpu": 0, "cpu_load": 50}) == ()
    assert LOAD.differences(NONE, TWO) == ("8 workers run, was 0",)
    assert LOAD.differences(TWO, TWO | {"seconds_left": 9}) == ()
    assert LOAD.undo("data0", NONE, NONE) == ()
    assert [c.argv[4:] for c in LOAD.undo("data0", NONE, TWO)] == [("0", "0", "-", "0")]
    assert [c.argv[4:] for c in LOAD.undo("data0", NONE, {})] == [("0", "0", "-", "0")]
    assert [c.argv[4:] for c in LOAD.undo("data0", TWO, NONE)] == [("2", "100", "all", "40000")]


@pytest.mark.parametrize(
    "wrong",
    [{}, {"workers_per_cpu": -1}, {"workers_per_cpu": 1.5}, {"workers_per_cpu": 1, "hours": 0},
     {"workers_per_cpu": 1, "cpu_load": 0}, {"workers_per_cpu": 1, "method": "sqrt; id"},
     {"workers_per_cpu": 1, "method": "sqrt\n"}, {"workers_per_cpu": 1, "cpus": 3}],
)  # fmt: skip
def test_what_the_schema_refuses(wrong):
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(wrong, LOAD.schema)


class OneHost:
    """A host with a load of its own, seen by netlimits and past it."""

    def __init__(self, machine: Machine, folder: str) -> None:
        self.machine, self.folder = machine, folder
        self.host = connect(machine)
        self.changes = Changes(lambda _: self.host, ListLog(lambda _: self.host))

    def reach(self, **wanted: object) -> None:
        self.changes.reach("sender", "data0", "load", wanted)

    def state(self) -> dict[str, object]:
        return dict(current(self.host, "load", "data0", {}))

    def sh(self, line: str, stdin: str = "") -> str:
        """A line of shell on the host, in the folder (a host of the lab has its own /run)."""
        argv = ("sh", "-c", f"mkdir -p {self.folder} && cd {self.folder} && {line}")
        return self.host.run(Command(argv, stdin=stdin)).stdout

    @property
    def leader(self) -> int:
        """The process that the host's own file names."""
        return int(self.sh("cat load-*[0-9]").split()[0])

    def log_in_anew(self) -> None:
        self.host.close()
        self.host = connect(self.machine)

    def another(self) -> Changes:
        """Another controller, which knows from the journal that there was no load."""
        original = Original("sender", "data0", "load", NONE | {"cpus": os.cpu_count()})
        return Changes(lambda _: self.host, ListLog(lambda _: self.host), (original,))


@pytest.fixture(params=["root", "engineer"])
def on(lab, request) -> Iterator[OneHost]:
    """A host of the lab over SSH, by each of its logins."""
    if not shutil.which("stress-ng"):
        pytest.skip("needs stress-ng")
    ssh = lab.login("sender", request.param)
    host = OneHost(
        Machine("sender", ssh=ssh, ssh_config=lab.ssh_config),
        "/run/netlimits" if request.param == "root" else '"$HOME"/.local/state/netlimits',
    )
    try:
        yield host
    finally:
        host.another().restore()
        host.host.close()


def programs(session: int) -> list[str]:
    """The programs of a session that are no zombies, by name: numbers of processes begin anew."""
    command = ("ps", "-o", "s=,comm=", "-s", str(session))
    shown = subprocess.run(command, capture_output=True, text=True).stdout
    return sorted(line.split()[1] for line in shown.splitlines() if not line.startswith("Z"))


CPUS = os.cpu_count() or 1


@pytest.mark.lab
def test_workers_run_on_after_the_login_is_closed_and_end_when_put_back(on):
    on.reach(workers_per_cpu=1, hours=0.1)
    leader = on.leader
    assert programs(leader) == ["stress-ng"] + ["stress-ng-cpu"] * CPUS
    on.reach(workers_per_cpu=2, cpu_load=30, method="sqrt", hours=0.1)
    assert programs(leader) == []
    leader = on.leader
    assert programs(leader) == ["stress-ng"] + ["stress-ng-cpu"] * 2 * CPUS
    line = Path(f"/proc/{leader}/cmdline").read_text().replace("\0", " ")
    assert "--cpu-load 30 --cpu-method sqrt --timeout 360s" in line
    on.reach(workers_per_cpu=2, cpu_load=30, method="sqrt", hours=0.1)
    assert on.leader == leader, "what is there already is not started anew"
    on.log_in_anew()
    assert len(programs(leader)) == 1 + 2 * CPUS, "it outlives the login"
    on.changes.restore()
    assert programs(leader) == []
    assert on.state()["running"] == 0
    assert on.sh("ls -A") == ""


@pytest.mark.lab
@pytest.mark.skipif(not shutil.which("stress-ng"), reason="needs stress-ng")
def test_hosts_that_share_a_folder_each_have_their_own(bench):
    """The bench and this machine itself: one file tree, two network namespaces."""
    machine = local_host("receiver")
    try:
        bench.reach("load", {"workers_per_cpu": 1, "hours": 0.1})
        assert current(machine, "load", "data0", {})["running"] == 0
        machine.run(LOAD.undo("data0", NONE, TWO)[0])
        assert current(bench.host, "load", "data0", {})["running"] == CPUS
    finally:
        bench.changes.restore()
        machine.close()
    assert current(bench.host, "load", "data0", {})["running"] == 0


@pytest.mark.lab
def test_a_load_that_died_is_started_anew(on):
    on.reach(workers_per_cpu=1, hours=0.1)
    leader = on.leader
    os.killpg(leader, signal.SIGKILL)
    wait(lambda: on.state()["running"] == 0, "its workers are gone")
    on.reach(workers_per_cpu=1, hours=0.1)
    assert on.leader != leader
    assert on.state()["running"] == CPUS


@pytest.mark.lab
def test_a_process_that_has_got_our_number_is_left_alone(on):
    on.reach(workers_per_cpu=1, hours=0.1)
    leader = on.leader
    name, (_, began, *rest) = on.sh("echo load-*[0-9]").strip(), on.sh("cat load-*[0-9]").split()
    sleep = subprocess.Popen(["sleep", "60"], start_new_session=True)
    stress = subprocess.Popen(
        ["stress-ng", "--cpu", "1", "--timeout", "60", "--quiet"], start_new_session=True
    )
    try:
        begun = Path(f"/proc/{sleep.pid}/stat").read_text().split()[21]
        for pid, when in ((sleep.pid, began), (stress.pid, began), (sleep.pid, begun)):
            on.sh(f"cat >{name}", stdin=" ".join([str(pid), when, *rest]) + "\n")
            assert on.sh("cat load-*[0-9]").startswith(f"{pid} ")
            assert on.state()["workers_per_cpu"] == 0
            on.host.run(LOAD.undo("data0", NONE, TWO)[0])
            assert [sleep.poll(), stress.poll()] == [None, None]
    finally:
        os.killpg(leader, signal.SIGTERM)
        for stranger in (sleep, stress):
            os.killpg(stranger.pid, signal.SIGTERM)
            stranger.wait()


@pytest.mark.lab
def test_a_method_that_is_none_is_told_and_nothing_stays(on):
    with pytest.raises(SettingError, match=r"0 workers run, not \d+ \(.*cpu-method"):
        on.reach(workers_per_cpu=1, method="nosuch")
    on.changes.restore()
    assert on.sh("ls -A") == ""


@pytest.mark.lab
@pytest.mark.parametrize("on", ["root"], indirect=True)
def test_it_ends_by_itself(on):
    on.reach(workers_per_cpu=1, cpu_load=2, hours=6 / 3600)
    leader = on.leader
    wait(lambda: programs(leader) == [], "it has ended")
    assert on.state()["running"] == 0
    on.changes.restore()
    assert on.sh("ls -A") == "", "its file too"
