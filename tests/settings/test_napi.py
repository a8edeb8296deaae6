"""Deferred polling: on what the kernel shows, and on a real interface over SSH."""

from __future__ import annotations

from collections.abc import Iterator

import jsonschema
import pairs
import pytest
from undoing import ListLog

from netlimits.errors import SettingError
from netlimits.hosts.connect import connect
from netlimits.model import Command, Machine
from netlimits.restore.changes import Changes
from netlimits.settings import setting

NAPI = setting("napi")
FOLDER = "/sys/class/net/data0"
NOW = {"gro_flush_timeout": 0, "defer_hard_irqs": 0}


@pytest.mark.parametrize("name", pairs.names("settings/napi"))
def test_each_capture_gives_what_its_pair_expects(name):
    pairs.check("settings/napi", name)


def test_an_old_kernel():
    old = pairs.state(NAPI, "before-5.8")
    assert NAPI.change("data0", old, {"gro_flush_timeout": 0}) == ()
    with pytest.raises(SettingError, match=r"no napi_defer_hard_irqs \(Linux 5\.8 .*leave defer_h"):
        NAPI.change("data0", old, {"gro_flush_timeout": 1, "defer_hard_irqs": 1})


def test_what_is_read():
    assert NAPI.read("data0", {}).argv[3:] == (
        f"{FOLDER}/gro_flush_timeout",
        f"{FOLDER}/napi_defer_hard_irqs",
    )


def test_what_is_written():
    wanted = {"gro_flush_timeout": 200000, "defer_hard_irqs": 0}
    (command,) = NAPI.change("data0", NOW, wanted)
    assert command == Command(
        ("tee", f"{FOLDER}/gro_flush_timeout"), sudo=True, stdin="200000\n"
    )  # fmt: skip
    assert len(NAPI.change("data0", {}, wanted)) == 2
    assert NAPI.unmet(NOW, wanted) == ("gro_flush_timeout is 0, not 200000",)
    (back,) = NAPI.undo("data0", NOW, {**NOW, "gro_flush_timeout": 200000})
    assert (back.argv, back.stdin) == (("tee", f"{FOLDER}/gro_flush_timeout"), "0\n")
    assert len(NAPI.undo("data0", NOW, {})) == 2, "from a state that nobody has looked at"
    assert NAPI.differences(NOW, {**NOW, "defer_hard_irqs": 7}) == ("defer_hard_irqs is 7, was 0",)


@pytest.mark.parametrize(
    "wrong", [{}, {"gro_flush_timeout": -1}, {"defer_hard_irqs": 2**31}, {"napi_defer": 1}]
)
def test_what_the_schema_refuses(wrong):
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(wrong, NAPI.schema)


@pytest.fixture
def engineer(lab) -> Iterator[Machine]:
    """A login that may run, as root, `tee` onto these two files and nothing else."""
    files = f"/usr/bin/tee {FOLDER}/gro_flush_timeout, /usr/bin/tee {FOLDER}/napi_defer_hard_irqs"
    path = lab.namespace_files("sender") / "sudoers"
    rules = path.read_text()
    path.write_text(rules + f"engineer ALL=(root) NOPASSWD: {files}\n")
    try:
        yield Machine("sender", ssh=lab.login("sender", "engineer"), ssh_config=lab.ssh_config)
    finally:
        path.write_text(rules)


@pytest.mark.lab
def test_on_a_real_interface_through_sudo(engineer):
    host = connect(engineer)
    changes = Changes(lambda _: host, ListLog(lambda _: host))

    def values() -> list[str]:
        return host.run(
            Command(
                ("cat", f"{FOLDER}/gro_flush_timeout", f"{FOLDER}/napi_defer_hard_irqs"),
            )
        ).stdout.split()

    try:
        before = values()
        changes.reach(
            "sender", "data0", "napi", {"gro_flush_timeout": 123456, "defer_hard_irqs": 3}
        )
        assert values() == ["123456", "3"]
        changes.reach("sender", "data0", "napi", {"gro_flush_timeout": 0})
        assert values() == ["0", "3"]
        changes.restore()
        assert values() == before
    finally:
        changes.restore()
        host.close()
