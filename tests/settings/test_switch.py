"""A switch of one's own: read back, put back, and never into a position that nobody leads out of."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import jsonschema
import pairs
import pytest
from undoing import ListLog

from netlimits.errors import RestoreError, SettingError
from netlimits.hosts.base import Host
from netlimits.hosts.connect import connect
from netlimits.model import Machine
from netlimits.restore.changes import Changes
from netlimits.restore.originals import Original
from netlimits.settings import setting

SWITCH = setting("switch")


@pytest.fixture
def wanted(tmp_path: Path) -> dict[str, object]:
    """A switch between `old` and `new`, which is a file's content; it is `old`."""
    file = tmp_path / "it's a file"
    file.write_text("old\n")
    write = ["sh", "-c", 'echo "$1" >"$0"', str(file)]
    command = {name: [*write, name] for name in ("old", "new")}
    return {"verify": ["cat", str(file)], "command": command, "to": "new"}


@pytest.fixture
def host() -> Iterator[Host]:
    """This machine."""
    here = connect(Machine("sender", interface="lo", address="127.0.0.1"))
    yield here
    here.close()


def changes_of(host: Host) -> tuple[Changes, ListLog]:
    log = ListLog(lambda _: host)
    return Changes(lambda _: host, log), log


def position(wanted: dict[str, object]) -> str:
    return Path(wanted["verify"][1]).read_text().strip()


@pytest.mark.parametrize("name", pairs.names("settings/switch"))
def test_each_capture_gives_what_its_pair_expects(name):
    pairs.check("settings/switch", name)


def test_it_is_reached_and_put_back(wanted, host):
    changes, log = changes_of(host)
    changes.reach("sender", "lo", "switch", wanted)
    assert position(wanted) == "new"
    assert [part["position"] for part in log.originals[0].state.values()] == ["old"]
    changes.restore()
    assert position(wanted) == "old"


def test_nothing_runs_where_it_is_there_already(wanted, host):
    changes, _ = changes_of(host)
    changes.reach("sender", "lo", "switch", {**wanted, "to": "old"})
    assert not changes.changed


def test_what_does_not_take_is_an_error_and_still_put_back(wanted, host):
    broken = {**wanted, "command": {**wanted["command"], "new": ["true"]}}
    changes, _ = changes_of(host)
    with pytest.raises(SettingError, match=r"did not take: `cat .*` says old, not new"):
        changes.reach("sender", "lo", "switch", broken)
    changes.restore()
    assert position(wanted) == "old"


def test_a_position_without_a_way_back_is_refused_before_anything_runs(wanted, host):
    Path(wanted["verify"][1]).write_text("third\n")
    changes, _ = changes_of(host)
    with pytest.raises(SettingError, match="says third, and no command leads back there"):
        changes.reach("sender", "lo", "switch", wanted)
    assert position(wanted) == "third"
    with pytest.raises(SettingError, match="no command leads to newer; `command` has old and new"):
        changes.reach("sender", "lo", "switch", {**wanted, "to": "newer"})


def test_one_that_cannot_be_put_back_says_how_by_hand(wanted, host):
    broken = {**wanted, "command": {**wanted["command"], "old": ["false"]}}
    changes, _ = changes_of(host)
    changes.reach("sender", "lo", "switch", broken)
    with pytest.raises(RestoreError, match=r"says new, was old; by hand: `false`"):
        changes.restore()


def test_somebody_elses_is_not_put_back(wanted, host):
    state = SWITCH.state(host.run(SWITCH.read("lo", wanted)))
    Path(wanted["verify"][1]).write_text("new\n")
    original = Original("sender", "lo", "switch", state)
    theirs = Changes(lambda _: host, ListLog(lambda _: host), (original,), ours=False)
    with pytest.raises(RestoreError, match="are not run from somebody else's folder"):
        theirs.restore()
    assert position(wanted) == "new"
    Changes(lambda _: host, ListLog(lambda _: host), (original,)).restore()
    assert position(wanted) == "old"


def test_what_a_command_starts_keeps_no_lock(wanted, tmp_path):
    (command,) = SWITCH.change("lo", {}, {**wanted, "command": {"new": ["sh", "-c", ": >&9"]}})
    done = subprocess.run(["bash", "-c", '"$@" 9>x', "x", *command.argv], cwd=tmp_path,
                          capture_output=True, text=True)  # fmt: skip
    assert done.returncode, "descriptor 9 is the lock's"


@pytest.mark.parametrize(
    "change",
    [{"to": None}, {"verify": "cat x"}, {"verify": []}, {"command": {"old": ["x"]}},
     {"command": {"a\nb": ["x"], "c": ["y"]}}, {"verify": ["a\nb"]}, {"verify": ["\0"]}],
)  # fmt: skip
def test_what_the_schema_refuses(wanted, change):
    jsonschema.validate(wanted, SWITCH.schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**wanted, **change}, SWITCH.schema)
