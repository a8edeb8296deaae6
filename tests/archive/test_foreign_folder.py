"""A results folder of somebody else's: it logs in nowhere, and writes nothing that may not be set."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from folders import complete
from recorded import META, begun, recorded, rewritten
from setting_examples import EXAMPLES, IPV6, MTU

from netlimits.archive import reader, registry
from netlimits.cli import group
from netlimits.errors import NetlimitsError
from netlimits.model.folder import Folder
from netlimits.restore import states
from netlimits.settings import SETTINGS

COMMANDS = (("status", "--guards"), ("restore",), ("restore", "--yes"), ("resume",))


@pytest.fixture
def trap(tmp_path: Path) -> Path:
    """What a ProxyCommand would make."""
    return tmp_path / "trapped"


@pytest.fixture
def folder(tmp_path: Path, trap: Path) -> Path:
    """A campaign's folder with a configuration of ssh beside it that runs a command."""
    out = tmp_path / "out"
    config = out / "ssh_config"
    machines = {role: {**m, "ssh_config": str(config)} for role, m in META["machines"].items()}
    recorded(out, meta={**META, "machines": machines})
    (out / "parts").mkdir()
    (out / "parts" / "one").touch()
    config.write_text(
        f"Include {out}/parts/*\n"
        f"Host *\n  ProxyCommand sh -c 'touch {trap}; exit 1'\n  ConnectTimeout 1\n"
    )
    return out


def call(command: tuple[str, ...], folder: Path, *more: object) -> Result:
    done = CliRunner().invoke(group, [command[0], str(folder), *command[1:], *map(str, more)])
    assert done.exception is None or isinstance(done.exception, SystemExit | NetlimitsError), done
    return done


def complaint(done: Result) -> str:
    return f"{done.output}{done.exception}"


def plant(folder: Path, **original: Any) -> None:
    """A `found` event, as whoever can count and sum as netlimits does would add it."""
    campaign = reader.open(folder)
    campaign.archive.lock()
    campaign.archive.append("found", **{"role": "source", "interface": "data0", **original})
    campaign.archive.close()


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_it_brings_no_configuration_of_logins(folder, trap, command):
    done = call(command, folder)
    assert "--hosts FILE" in complaint(done)
    assert f"netlimits {command[0]} {folder}" in complaint(done)
    assert not trap.exists()


def test_ones_own_logs_in_as_it_did(folder, trap):
    begun(folder)
    done = call(("status", "--guards"), folder)
    assert done.exit_code == 0
    assert trap.exists(), "the user's own ProxyCommand"


def test_ones_own_may_be_moved_and_copied(folder, trap, tmp_path):
    begun(folder)
    config = (folder / "ssh_config").read_text()
    moved = folder.rename(tmp_path / "elsewhere")
    assert "is missing" in complaint(call(("status", "--guards"), moved)), "with its ssh_config"
    (folder / "parts").mkdir(parents=True)
    (folder / "parts" / "one").touch()
    (folder / "ssh_config").write_text(config)
    assert call(("status", "--guards"), moved).exit_code == 0
    shutil.copytree(moved, tmp_path / "copy")
    assert call(("status", "--guards"), tmp_path / "copy").exit_code == 0
    assert trap.exists()


def edit_config(folder: Path) -> None:
    with (folder / "ssh_config").open("a") as file:
        file.write("# more\n")


def edit_included(folder: Path) -> None:
    (folder / "parts" / "one").write_text("Host *\n")


def include_more(folder: Path) -> None:
    (folder / "parts" / "two").touch()


def include_a_pipe(folder: Path) -> None:
    os.mkfifo(folder / "parts" / "pipe")


def copied_and_more(folder: Path) -> None:
    copy = folder.with_name("copy")
    shutil.copytree(folder, copy)
    shutil.rmtree(folder)
    copy.rename(folder)
    plant(folder, setting="mtu", state={})


def edit_campaign(folder: Path) -> None:
    path = folder / "campaign.json"
    path.write_text(path.read_text().replace("192.0.2.1", "192.0.2.9"))


def write_registry(folder: Path) -> None:
    registry.place().chmod(0o777)


CHANGES = (
    *(edit_config, edit_included, include_more, include_a_pipe),
    *(copied_and_more, edit_campaign, write_registry),
)


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_ones_own_that_was_changed_is_nobodys(folder, trap, command, change):
    begun(folder)
    try:
        change(folder)
        done = call(command, folder)
    finally:
        registry.place().chmod(0o700)
    assert "--hosts FILE" in complaint(done) or "campaign.json: was changed" in complaint(done)
    assert not trap.exists()


def test_a_registry_is_its_users_alone(folder):
    begun(folder)
    assert registry.place().stat().st_mode & 0o777 == 0o700
    (entry,) = [
        p for p in registry.place().iterdir() if json.loads(p.read_text())["folder"] == str(folder)
    ]
    assert entry.stat().st_mode & 0o777 == 0o600


def test_a_lost_tail_of_a_campaign_of_ones_own_is_told(folder):
    begun(folder)
    path = folder / "journal.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    with path.open("r+b") as journal:
        journal.truncate(len(b"".join(lines[:-2])))
    for command in (("status",), ("table",), ("parse",)):
        done = CliRunner().invoke(group, [command[0], str(folder)])
        assert f"journal.jsonl:{len(lines) - 1}: this line and all after it are lost" in str(
            done.exception
        )


# -- what it would put back -----------------------------------------------------------------


@pytest.fixture
def hosts_file(tmp_path) -> Path:
    path = tmp_path / "hosts.yaml"
    machine = "{ssh: nobody.invalid, interface: data0}"
    path.write_text(f"source: {machine}\nsinks-1: {machine}\nsinks-2: {machine}\n")
    return path


@pytest.mark.parametrize("command", ["restore", "resume"])
def test_what_would_be_put_back_is_shown_first(folder, hosts_file, command):
    plant(folder, setting="napi", state={"gro_flush_timeout": 7})
    done = call((command,), folder, "--hosts", hosts_file)
    line = "to restore: source: echo 7 | tee /sys/class/net/data0/gro_flush_timeout"
    assert line in done.output
    assert "add --yes" in complaint(done)
    done = call((command, "--yes"), folder, "--hosts", hosts_file)
    assert line in done.output
    assert "cannot resolve the name nobody.invalid" in complaint(done)


FAULTY: tuple[tuple[str, Any, str], ...] = (
    *((name, *each) for name, example in EXAMPLES.items() for each in example.faulty),
    ("switch", EXAMPLES["switch"].state, "are not run from somebody else's folder"),
    ("nosuch", {}, "is not one of"),
)


def test_every_setting_has_examples():
    assert EXAMPLES.keys() == {setting.name for setting in SETTINGS}
    assert all(example.faulty and example.options for example in EXAMPLES.values())
    faults = {name: states.fault(name, example.state) for name, example in EXAMPLES.items()}
    assert faults == dict.fromkeys(EXAMPLES, "")


@pytest.mark.long
@pytest.mark.parametrize(("setting", "state", "why"), FAULTY)
def test_what_may_not_be_set_is_not_put_back(folder, hosts_file, setting, state, why):
    plant(folder, setting=setting, state=state)
    done = call(("restore", "--yes"), folder, "--hosts", hosts_file)
    assert why in complaint(done)
    assert "nowhere" not in complaint(done), "no host was asked"


def test_what_the_mtu_resets_beside_itself_is_not_shown_nor_set_from_anothers_folder():
    conf = {"conf/forwarding": "1", "conf/addr_gen_mode": "1", "conf/mtu": "1500", "neigh/x": "1"}
    state = {**MTU, "ipv6": {**IPV6, "conf": conf}}
    assert states.fault("mtu", state) == "", "every campaign with an MTU has written these down"
    kept = states.settable("mtu", state)
    assert kept["ipv6"]["conf"] == {"conf/mtu": "1500", "neigh/x": "1"}
    assert {**kept, "ipv6": state["ipv6"]} == state
    assert states.settable("napi", {"gro_flush_timeout": 1}) == {"gro_flush_timeout": 1}


def test_nothing_is_put_back_on_another_interface(folder, hosts_file):
    plant(folder, setting="napi", state={"gro_flush_timeout": 7}, interface="mgmt0")
    assert "is no interface of this campaign" in complaint(
        call(("restore", "--yes"), folder, "--hosts", hosts_file)
    )


def test_other_hosts_than_the_campaign_s_are_refused(folder, hosts_file):
    hosts_file.write_text(hosts_file.read_text().replace("data0", "eth7"))
    assert "these are not the campaign's hosts" in complaint(
        call(("restore",), folder, "--hosts", hosts_file)
    )


def test_the_registry_s_place():
    assert str(registry.place()).startswith(os.environ["XDG_STATE_HOME"])


# -- what it would run ----------------------------------------------------------------------

QUICK = Path(__file__).parents[2] / "experiments" / "quickstart.yaml"
SWITCHED = """\
settings:
  - roles: [sender]
    switch: {verify: [cat, x], command: {a: [touch, x], b: [rm, x]}, to: a}
"""


@pytest.mark.long
@pytest.mark.parametrize("command", ["resume", "extend"])
@pytest.mark.parametrize("side", ["alone", "first", "second"])
@pytest.mark.parametrize("what", ["switch", "program", "server_program"])
def test_no_command_of_somebody_elses_experiment_runs(tmp_path, command, side, what):
    file, names = tmp_path / "x.yaml", what != "switch"
    text = QUICK.read_text() if names else f"{QUICK.read_text()}{SWITCHED}"
    if names and side != "second":
        text = text.replace("netperf:\n", f"netperf:\n    {what}: /tmp/x\n")
    file.write_text(text)
    harmless = ("measure.netperf.nodelay", "true")
    change = (f"measure.netperf.{what}", "/tmp/x") if names and side == "second" else harmless
    against = () if side == "alone" else (change,)
    out = complete(tmp_path / "out", file, 1, against).path
    hosts = tmp_path / "hosts.yaml"
    machine = "{ssh: nobody.invalid, interface: data0}"
    hosts.write_text(f"sender: {machine}\nreceiver: {machine}\n")
    more = ["--replicates", "1"] if command == "extend" else []
    done = call((command, *more, "--yes"), out, "--hosts", hosts)
    named = "settings.0.switch" if what == "switch" else f"measure.netperf.{what}"
    assert f"{named}: has commands for your hosts" in complaint(done)
    assert "against.yaml" in complaint(done) or side != "second" or what == "switch"
    assert "nowhere" not in complaint(done), "no host was asked"


@pytest.mark.long
@pytest.mark.parametrize(
    "change",
    [{"sides": ["a", "a"]}, {"sides": ["a"]}, {"sides": ["a b", "c"]}, {"roles": {"sender": "x"}},
     {"overrides": [["a"]]}, {"overrides": [["nosuch.key", "1"]]}, {"roles": []}],
)  # fmt: skip
def test_a_damaged_second_side_is_an_error_that_names_the_folder(tmp_path, change):
    out = complete(tmp_path / "out", QUICK, 1, (("measure.netperf.nodelay", "true"),)).path
    path = out / "campaign.json"
    meta = json.loads(path.read_text())
    old = Folder(out).digest("campaign.json").encode()
    path.write_text(json.dumps({**meta, "against": {**meta["against"], **change}}))
    new = Folder(out).digest("campaign.json").encode()
    rewritten(out, lambda body: body.replace(old, new))
    for command in ("status", "table", "compare"):
        done = call((command,), out)
        assert isinstance(done.exception, NetlimitsError), (command, done)
