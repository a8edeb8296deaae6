"""run, resume, status, restore and parse: what they refuse, in one line, before any host is touched."""

from __future__ import annotations

import errno
import json
import shlex
import socket
from pathlib import Path

import pytest
from recorded import CREATED, machines

from netlimits.archive.store import Archive
from netlimits.cli import main

EXPERIMENT = """\
experiment: small
factors: {send_size: [1024]}
measure: {netperf: {seconds: 1, send_size: "${send_size}"}}
repeat: {replicates: 1, seed: 1}
"""


META = {
    "experiment": "small", "created": CREATED, "machines": machines("sender", "receiver"),
    "netlimits": "0", "overrides": [["repeat.seed", "1"]], "seed": 1, "shared_kernel": False,
    "skipped": {},
}  # fmt: skip


@pytest.fixture
def experiment(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "small.yaml"
    path.write_text(EXPERIMENT)
    return path


def refused(capsys, *argv: object, lines: int = 1) -> str:
    """The one line that a refusal prints; nothing else is printed, and the exit status is 2."""
    with pytest.raises(SystemExit) as end:
        main([str(a) for a in argv])
    output = capsys.readouterr()
    assert end.value.code == 2, output
    assert output.out == ""
    assert len(output.err.splitlines()) == lines
    assert output.err.startswith("netlimits: ")
    return output.err


def closed_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def test_no_hosts_file_and_no_lab(experiment, capsys, monkeypatch):
    from netlimits.lab import labs

    monkeypatch.setattr(labs, "hosts_file", lambda: None)
    complaint = refused(capsys, "run", experiment)
    assert "--hosts FILE" in complaint
    assert "netlimits lab up" in complaint


def test_a_hosts_file_that_is_not_there(experiment, capsys):
    assert "nowhere.yaml" in refused(capsys, "run", experiment, "--hosts", "nowhere.yaml")


def test_a_role_that_no_machine_plays(experiment, capsys):
    Path("hosts.yaml").write_text("sender: {local: true}\n")
    assert "receiver" in refused(capsys, "run", experiment, "--hosts", "hosts.yaml")


def test_an_unreachable_host_leaves_no_results(experiment, capsys):
    Path("config").write_text(f"Host away\n  HostName 127.0.0.1\n  Port {closed_port()}\n")
    Path("hosts.yaml").write_text(
        "ssh_config: config\nsender: {ssh: away, interface: x}\nreceiver: "
        "{ssh: away, interface: x}\n"
    )
    complaint = refused(capsys, "run", experiment, "--hosts", "hosts.yaml", "--out", "out", lines=2)
    assert "sender: login: 127.0.0.1 port" in complaint
    assert "receiver: login: 127.0.0.1 port" in complaint, "one that fails hid the other"
    assert not Path("out").exists()


@pytest.mark.parametrize("override", ["seconds", "=3", "repeat.replicate=3", "repeat.replicates=x"])
def test_a_set_that_sets_nothing(experiment, capsys, override):
    assert "--set" in refused(capsys, "run", experiment, "--set", override)


def test_a_folder_that_is_used_already(experiment, capsys):
    Path("out").mkdir()
    Path("out/mine").touch()
    Path("hosts.yaml").write_text("sender: {local: true}\nreceiver: {local: true}\n")
    complaint = refused(capsys, "run", experiment, "--hosts", "hosts.yaml", "--out", "out")
    assert "not empty" in complaint


@pytest.mark.parametrize("command", ["resume", "status", "parse", "restore", "table", "figures"])
def test_results_that_are_none(experiment, capsys, command):
    assert "no campaign" in refused(capsys, command, ".") or command in ("table", "figures")


@pytest.mark.parametrize("command", ["resume", "status", "parse", "restore", "table", "figures"])
def test_results_of_another_version(experiment, capsys, command):
    archive = Archive.create(
        Path("old"), {"machines": {}, "netlimits": "9.9"}, EXPERIMENT, {}, lambda _: None
    )
    meta = archive.path / "campaign.json"
    meta.write_text(json.dumps({**archive.meta, "version": 99}))
    assert "version 99" in refused(capsys, command, "old")


def test_restore_wants_results_or_hosts(experiment, capsys):
    assert "name a results folder, add --hosts FILE" in refused(capsys, "restore")


def test_every_command_has_an_example_in_its_help(capsys):
    from netlimits.cli import COMMANDS

    for name in COMMANDS:
        with pytest.raises(SystemExit) as end:
            main([name, "--help"])
        assert end.value.code == 0
        assert "Example" in capsys.readouterr().out, name


@pytest.mark.parametrize(
    ("argv", "complaint"),
    [
        (["run"], "Missing argument 'EXPERIMENT'. (see netlimits run --help)"),
        (["rum", "x"], "there is no command 'rum'; did you mean run?"),
        (["lab", "up", "--hosts", "many"], "'many' is not a valid integer"),
    ],
)
def test_a_slip_on_the_command_line_is_one_line_too(capsys, argv, complaint):
    assert complaint in refused(capsys, *argv)


def test_no_command_at_all_shows_the_help(capsys):
    with pytest.raises(SystemExit) as end:
        main([])
    assert end.value.code == 2
    assert "resume" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("command", "file"),
    [
        ("table", "journal.jsonl"),
        ("figures", "journal.jsonl"),
        ("status", "journal.jsonl"),
        ("resume", "plan.csv"),
        ("resume", "experiment.yaml"),
    ],
)
def test_a_results_folder_that_lost_a_file(experiment, capsys, command, file):
    Archive.create(Path("lost"), META, EXPERIMENT, {}, lambda _: None)
    Path("lost", file).unlink()
    assert file in refused(capsys, command, "lost")


def test_commands_to_copy_hold_whatever_the_folder_is_called(experiment, capsys):
    folder = "my $(touch pwned); results"
    Archive.create(Path(folder), META, EXPERIMENT, {}, lambda _: None)
    with pytest.raises(SystemExit):
        main(["status", folder])
    (line,) = [line for line in capsys.readouterr().out.splitlines() if "continue with" in line]
    words = shlex.split(line.removeprefix("continue with: "))
    assert words == ["netlimits", "resume", folder]


def test_an_output_that_is_full(experiment, tmp_path):
    import subprocess
    import sys

    with Path("/dev/full").open("w") as full:
        ran = subprocess.run(
            [sys.executable, "-m", "netlimits", "plan", experiment, "--csv", "-"],
            stdout=full, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
    assert ran.returncode == 2
    assert len(ran.stderr.splitlines()) == 1, ran.stderr
    assert "No space left" in ran.stderr


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (KeyError("mtu"), "KeyError: 'mtu'"),
        (OSError(errno.EINVAL, "Invalid argument"), "OSError: [Errno 22] Invalid argument"),
    ],
)
def test_a_mistake_of_our_own_is_one_line_unless_a_traceback_is_wanted(
    error, line, capsys, monkeypatch
):
    from netlimits.cli import plan

    def broken(**_: object) -> None:
        raise error

    monkeypatch.setattr(plan.plan, "callback", broken)
    with pytest.raises(SystemExit) as end:
        main(["plan", "x.yaml"])
    assert end.value.code == 1
    complaint = capsys.readouterr().err
    assert complaint.startswith(f"netlimits: a bug in netlimits: {line}; please report")
    assert len(complaint.splitlines()) == 1
    monkeypatch.setenv("NETLIMITS_TRACEBACK", "1")
    with pytest.raises(type(error)):
        main(["plan", "x.yaml"])
