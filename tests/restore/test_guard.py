from __future__ import annotations

import json
import math
import os
import shlex
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, replace
from pathlib import Path

import pairs
import pytest
from hypothesis import given
from hypothesis import strategies as st
from waiting import LONG, wait

from netlimits.errors import HostError
from netlimits.hosts.base import Server
from netlimits.hosts.local import local_host
from netlimits.hosts.scripted import answer
from netlimits.model import Command, Completed
from netlimits.restore import notes
from netlimits.restore.guard import commands, script, scripts
from netlimits.restore.guard.claim import PLACES, Claim, Holder, parse
from netlimits.restore.guard.claims import snapshot
from netlimits.restore.guard.guards import Guards
from netlimits.restore.guard.report import has_restored, lines, report
from netlimits.restore.guard.terms import FROM_NOTES, RESTORE, forced, refusal
from netlimits.restore.notes import NoteFile
from netlimits.restore.originals import Original
from netlimits.settings import SETTINGS
from netlimits.settings.offload import Offload
from netlimits.settings.sysctl import Sysctl

HOLDER = Holder("small", "0123", "desk", "ada", 7, 1.8e9)
SCRIPTS = {
    name: text
    for name, text in vars(scripts).items()
    if name.isupper() and str(text) == text and not name.endswith("_IN_PERL")
}
"""Every script that is sent to a host, by name."""


def sysctl(role: str = "a", **values: str) -> Original:
    return Original(role, "lo", "sysctl", {f"net.test.{n}": v for n, v in values.items()})


def uptime() -> int:
    return int(float(Path("/proc/uptime").read_text().split()[0]))


class Folder:
    """A guard's files in a folder of its own, with a `sysctl` that only writes down its words."""

    def __init__(self, path: Path) -> None:
        self.path, self.file = path, path / "key.guard"
        self.calls, self.lock = path / "asked", path / "locked"
        self.environment = {**os.environ, "PATH": f"{path}:{os.environ['PATH']}"}
        fake = path / "sysctl"
        fake.write_text(
            f'#!/bin/sh\nfor w; do printf "%s\\0" "$w"; done >>{shlex.quote(str(self.calls))}\n'
        )
        fake.chmod(0o755)

    def write(self, *originals: Original, patience: int = 60, second_pass: bool = True) -> None:
        text = script.render(HOLDER, originals, patience)
        if not second_pass:
            again = f"        sleep {script.SECOND_PASS}\n        failed=0\n        restore\n"
            assert again in text
            text = text.replace(again, "")
        self.lock.touch()
        self.file.write_text(text.replace(scripts.LOCK, str(self.lock)))

    def deadline(self, seconds: int) -> None:
        (self.path / "key.deadline").write_text(f"{uptime() + seconds}\n")

    def start(self, shell: str = "sh", word: str = "watch") -> subprocess.Popen:
        return subprocess.Popen(
            [shell, self.file, word], env=self.environment, start_new_session=True
        )

    def begun(self, shell: str = "sh") -> subprocess.Popen:
        """The guard, waiting."""
        process = self.start(shell)
        wait(lambda: (self.path / "key.pid").exists() and (self.path / "key.pid").read_text())
        return process

    def words(self) -> list[str]:
        return self.calls.read_text().split("\0")[:-1] if self.calls.exists() else []


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Folder:
    monkeypatch.setattr(script, "SECOND_PASS", 1)
    return Folder(tmp_path)


@pytest.fixture
def seen_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """A refusal does not wait for the end of a connection."""
    monkeypatch.setattr("netlimits.restore.guard.claims.PARTING", 0.2)


def ended(process: subprocess.Popen, seconds: float = LONG) -> int:
    try:
        return process.wait(seconds)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def test_a_person_can_read_who_since_when_and_what():
    text = script.render(HOLDER, [sysctl(first="1"), sysctl(second="2")], 300)
    for words in ("small", "ada at desk, process 7", "2027-01-15 08:00:00 UTC", "sh FILE now"):
        assert words in text.split("LC_ALL")[0]
    undo = [line.strip() for line in text.splitlines() if line.startswith("    act ")]
    assert undo == [
        "act 30 $root sysctl -w net.test.second=2",
        "act 30 $root sysctl -w net.test.first=1",
    ], "the last change is undone first"


def test_channels_and_mtu_go_back_before_what_hangs_on_them():
    names = ("mtu", "channels", "ring", "irq", "offload", "qdisc", "route")
    changes = [Original(role, "data0", name, {}) for role in ("sender", "sinks") for name in names]
    back = [(original.role, original.setting) for original in script.restore_order(changes)]
    each = ("route", "offload", "channels", "irq", "ring", "mtu", "qdisc")
    assert back == [(role, name) for role in ("sinks", "sender") for name in each]
    without = [original for original in changes if original.setting not in ("channels", "mtu")]
    assert script.restore_order(without) == tuple(reversed(without))
    later = [Original("sender", "data0", name, {}) for name in ("qdisc", "channels", "mtu")]
    assert [original.setting for original in script.restore_order(later)] == [
        "mtu",
        "channels",
        "qdisc",
    ]


@pytest.mark.parametrize("text", ["x\n# y", "a\rb", "\x1b[31m", "a\u2028b"])
def test_no_name_breaks_out_of_a_comment(text):
    evil = Holder(text, "1", text, text, 1, 0)
    guard_text = script.render(evil, [Original(text, "lo", "sysctl", {"net.a": "1"})], 5)
    head = guard_text[: guard_text.index("LC_ALL")]
    assert all(line.startswith("#") or not line for line in head.splitlines())
    assert text not in guard_text.replace("\n#   run by", "")


@pytest.mark.long
@given(st.dictionaries(
    st.from_regex(r"net\.[a-z]{1,8}", fullmatch=True),
    st.text(st.characters(blacklist_characters="\0", blacklist_categories=["Cs"]), max_size=20),
    min_size=1, max_size=3,
))  # fmt: skip
def test_whatever_was_found_reaches_its_command_to_the_letter(values):
    original = Original("sender", "lo", "sysctl", values)
    (command,) = script.commands(original)
    text = script.render(HOLDER, [original], 5)
    body = text[text.index("restore() {") : text.index("case $1")]
    shown = subprocess.run(
        ["dash", "-c", "act() { shift; printf '%s\\0' \"$@\"; }\nroot=sudo\n" + body + "restore"],
        capture_output=True, check=True,
    ).stdout.decode()  # fmt: skip
    assert shown.split("\0")[:-1] == ["sudo", *command.argv]


@pytest.mark.long
@given(st.text(st.characters(blacklist_characters="\0", blacklist_categories=["Cs"]), min_size=1))
def test_what_a_command_reads_is_fed_to_it(text):
    original = Original("sender", "data0", "napi", {"gro_flush_timeout": text})
    guard_text = script.render(HOLDER, [original], 5)
    body = guard_text[guard_text.index("status() {") : guard_text.index("case $1")]
    shown = subprocess.run(
        ["dash", "-c", "timeout() { cat >&2; }\n" + body + "restore >/dev/null"],
        capture_output=True, check=True,
    ).stderr.decode()  # fmt: skip
    assert shown == text.rstrip() + "\n"


def test_what_a_command_is_fed_reaches_it_as_root_and_without_root(folder):
    for program in ("tee", "sudo"):
        fake = folder.path / program
        fake.write_text(f'#!/bin/sh\necho "{program} $* < $(cat)" >>{folder.calls}\n')
        fake.chmod(0o755)
    state = {"gro_flush_timeout": 2000, "defer_hard_irqs": 2}
    folder.write(Original("a", "eth0", "napi", state), second_pass=False)
    assert ended(folder.start("dash", "now")) == 0
    root = "" if os.geteuid() == 0 else "sudo -n -- "
    assert folder.calls.read_text().splitlines() == [
        f"{root}tee /sys/class/net/eth0/gro_flush_timeout < 2000",
        f"{root}tee /sys/class/net/eth0/napi_defer_hard_irqs < 2",
    ]


def test_it_waits_and_puts_back_at_its_time(folder):
    folder.write(sysctl(first="1"), patience=2)
    folder.deadline(1000)
    process = folder.begun("dash")
    time.sleep(2.5)  # longer than it sleeps at once
    assert folder.words() == []
    assert (folder.path / "key.pid").read_text().strip() == str(process.pid)
    folder.deadline(0)
    assert ended(process) == 0
    assert folder.words() == ["-w", "net.test.first=1"] * 2, "twice: what blocked may have gone"
    log = (folder.path / "key.log").read_text()
    assert "exit status 0" in log
    assert log.endswith("done\n")


def test_it_puts_back_under_the_lock_that_every_change_is_made_under(folder):
    """Else who ends guards may do so between two commands, of which the second would have mended it."""
    folder.write(sysctl(first="1"), second_pass=False)
    folder.deadline(-1)
    (held,) = [line for line in scripts.WITHIN.splitlines() if "flock" in line]
    held = held.replace(scripts.LOCK, str(folder.lock)).replace(" || {", "")
    change = subprocess.Popen(["sh", "-c", f"{held}; echo; read -r _"], stdin=-1, stdout=-1)
    try:
        assert change.stdout.read(1) == b"\n"
        guard = folder.begun()
        wait(lambda: b"\0now\0" in Path(f"/proc/{guard.pid}/cmdline").read_bytes(), "it fires")
        blocked = f"/proc/{guard.pid}/task/{guard.pid}/children"
        wait(lambda: any(
            Path(f"/proc/{child}/comm").read_text() == "flock\n"
            for child in Path(blocked).read_text().split()
        ), "it waits")  # fmt: skip
        assert folder.words() == []
    finally:
        change.communicate()
    assert ended(guard) == 0
    assert folder.words() == ["-w", "net.test.first=1"]


@pytest.mark.long
def test_it_waits_on_when_the_deadline_is_moved_on(folder):
    folder.write(sysctl(first="1"), patience=1, second_pass=False)
    for seconds in (3, 20, 160):  # the more, the later a busy machine lets us move it
        folder.deadline(seconds)
        first = uptime() + seconds
        process = folder.begun()
        folder.deadline(1000)
        if uptime() < first - 1:
            break
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        for file in (folder.path / "key.pid", folder.calls):
            file.unlink(missing_ok=True)
    else:
        pytest.fail("each time the test came too late to move it")
    wait(lambda: uptime() > first + 1)
    assert folder.words() == []
    assert process.poll() is None
    folder.deadline(0)
    assert ended(process) == 0
    assert folder.words()


@pytest.mark.parametrize("passes", [1, 2])
def test_a_campaign_that_comes_back_while_it_puts_back_keeps_what_it_changes_then(folder, passes):
    """Otherwise it restored what that campaign had set again, and ended without a guard left."""
    folder.write(sysctl(first="1"), sysctl(second="2"), patience=1)
    moves = f"read -r up _ </proc/uptime; echo $((${{up%.*}} + 1000)) >{folder.path}/key.deadline"
    fake = folder.path / "sysctl"
    count = f'[ "$(wc -l <{folder.path}/counted)" != {2 * passes - 1} ]'
    fake.write_text(f"{fake.read_text()}echo >>{folder.path}/counted\n{count} || {{ {moves}; }}\n")
    folder.deadline(0)
    process = folder.start()
    done = ["-w", "net.test.second=2", "-w", "net.test.first=1"] * passes
    cut = done[:-2]
    wait(lambda: len(folder.words()) >= len(cut))
    doing = Path(f"/proc/{process.pid}/cmdline")
    wait(lambda: process.poll() is not None or "watch" in doing.read_text(), "it waits again")
    assert process.poll() is None
    assert folder.words() == cut
    fake.write_text(fake.read_text().splitlines()[1] + "\n")
    folder.deadline(0)
    assert ended(process) == 0
    assert folder.words()[len(cut) :] == done[:4] * 2


def test_it_puts_back_what_was_changed_since_it_began(folder):
    folder.write(sysctl(first="1"), patience=1)
    folder.deadline(1000)
    process = folder.begun()
    other = folder.path / "new"
    other.write_text(script.render(HOLDER, [sysctl(first="1"), sysctl(second="2")], 60))
    other.replace(folder.file)
    folder.deadline(0)
    assert ended(process) == 0
    assert folder.words()[:4] == ["-w", "net.test.second=2", "-w", "net.test.first=1"]


@pytest.mark.parametrize("damage", ["", "soon\n", "12x\n", None])
def test_a_damaged_deadline_is_one_that_is_over(folder, damage):
    folder.write(sysctl(first="1"), second_pass=False)
    if damage is not None:
        (folder.path / "key.deadline").write_text(damage)
    assert ended(folder.start()) == 0
    assert folder.words() == ["-w", "net.test.first=1"]


def test_it_ends_in_silence_when_it_was_taken_away(folder):
    folder.write(sysctl(first="1"), patience=1)
    folder.deadline(1000)
    process = folder.begun()
    folder.file.unlink()
    assert ended(process) == 0
    assert folder.words() == []


def test_no_log_can_be_written_and_it_puts_back_all_the_same(folder):
    folder.write(sysctl(first="1"), second_pass=False)
    (folder.path / "key.log").mkdir()
    assert ended(folder.start("dash", "now")) == 0
    assert folder.words() == ["-w", "net.test.first=1"]


def test_a_command_that_hangs_does_not_keep_the_others_from_it(folder):
    (folder.path / "sysctl").write_text(
        f'#!/bin/sh\necho "$2" >>{folder.calls}\ncase $2 in *second*) sleep 99;; esac\n'
    )
    folder.write(sysctl(first="1"), sysctl(second="2"), second_pass=False)
    folder.file.write_text(folder.file.read_text().replace("act 30", "act 3"))
    assert ended(folder.start("sh", "now")) == 0
    assert folder.calls.read_text().split() == ["net.test.second=2", "net.test.first=1"]


def test_what_failed_is_tried_again_while_it_fails(folder, monkeypatch):
    monkeypatch.setattr(script, "TRIES", 2)
    monkeypatch.setattr(script, "PAUSE", 1)
    monkeypatch.setattr(script, "SECOND_PASS", 0)
    (folder.path / "sysctl").write_text(f'#!/bin/sh\necho "$2" >>{folder.calls}\nexit 1\n')
    folder.write(sysctl(first="1"))
    folder.deadline(-1)
    assert ended(folder.start()) == 0
    assert folder.calls.read_text().split() == 2 * 3 * ["net.test.first=1"], "once, and twice"
    log = (folder.path / "key.log").read_text()
    assert log.count("restoring at ") == 3
    assert log.count("  exit status 1\n") == 6
    folder.calls.unlink()
    (folder.path / "sysctl").write_text(
        f'#!/bin/sh\necho "$2" >>{folder.calls}\n[ "$(wc -l <{folder.calls})" -gt 3 ]\n'
    )
    assert ended(folder.start()) == 0
    assert len(folder.calls.read_text().split()) == 4, "not once more than it takes"


def test_it_knows_no_clock_but_the_machines_uptime():
    """A clock step can do nothing to what never reads a clock: `date` only dates the log."""
    text = script.render(HOLDER, [sysctl(first="1")], 60)
    assert text.count("date") == 1
    assert not any("date" in source.replace("uptime", "") for source in SCRIPTS.values())


def test_an_offload_is_put_back_from_any_state():
    state = pairs.state(Offload(), "veth")
    (command,) = Offload().undo("data0", state, {})
    written = dict(zip(command.argv[3::2], command.argv[4::2], strict=True))
    changeable = {n for n, v in state["features"].items() if "[fixed]" not in v}
    assert set(written) == changeable - set(state["groups"])
    assert all(state["features"][n].startswith(v) for n, v in written.items())


def test_the_commands_of_every_setting_parse(tmp_path):
    """Each setting that a guard may carry, as an experiment's settings name them."""
    guard_text = script.render(HOLDER, [sysctl(first="1")], 9)
    assert {s.name for s in SETTINGS} >= {"offload", "mtu", "qdisc", "route", "sysctl"}
    for word in ("watch", "now"):
        assert f"\n{word})\n" in guard_text
    for text in (guard_text, *SCRIPTS.values()):
        for shell in ("dash", "bash"):
            subprocess.run([shell, "-n"], input=text, text=True, check=True)


class Place:
    """This machine as a host, with folders of its own: two such hosts share nothing else."""

    def __init__(self, path: Path) -> None:
        self.name = "here"
        self.folder, self.lock, self.spare = path / "run", path / "lock", path.parent / "spare"
        for each in (self.lock, self.spare):
            each.mkdir(exist_ok=True)
        self._host = local_host("here")
        self.scripts: list[str] = []

    def __call__(self) -> Place:
        """Another connection to the same host."""
        return Place(self.folder.parent)

    def run(self, command: Command) -> Completed:
        self.scripts.append(command.argv[3] if command.argv[3:] else "")
        return replace(self._host.run(self._here(command)), command=command)

    def run_in_turn(self, commands):
        return [self.run(command) for command in commands]

    def begin_in_turn(self, commands):
        return lambda: self.run_in_turn(commands)

    def serve(self, command: Command) -> Server:
        return self._host.serve(self._here(command))

    def background(self, command: Command) -> Server:
        return self._host.background(self._here(command))

    def close(self) -> None:
        self._host.close()

    def _here(self, command: Command) -> Command:
        def here(text: str) -> str:
            text = text.replace(f"9<{scripts.LOCK}", f"9<{self.lock}")
            text = text.replace("/run/netlimits", str(self.folder))
            return text.replace(PLACES, f"{self.lock} {self.spare}")

        words = [tuple(map(here, each)) for each in (command.argv, command.within)]
        texts = {"stdin": here(command.stdin), "perl": here(command.perl)}
        return replace(command, argv=words[0], within=words[1], **texts)

    def guards(
        self, identity="0123", patience: float | None = 60.0, controller="desk", roles=("a",)
    ):
        holder = Holder("small", identity, controller, "ada", os.getpid(), 1.8e9)
        return Guards(lambda _: self, roles, holder, patience)

    def look(self) -> commands.HostStatus:
        return snapshot(lambda _: self, "a")

    def files(self) -> list[str]:
        folders = (self.folder, self.lock, self.spare)
        return sorted(p.name for d in folders if d.exists() for p in d.iterdir())


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.setattr(script, "SECOND_PASS", 1)
    (tmp_path / "host").mkdir()
    site = Place(tmp_path / "host")
    yield site
    taken = site.guards("cleared", patience=None)
    taken.claim(forced(FROM_NOTES, force=True))
    taken.release()
    site.close()
    assert site.files() == []


root = pytest.mark.skipif(os.geteuid() != 0, reason="a guard's folder is root's /run here")


def alive(pid: int | None) -> bool:
    """Whether it runs; one that ended and was not waited for yet has no command line."""
    try:
        return bool(Path(f"/proc/{pid}/cmdline").read_bytes())
    except OSError:
        return False


@root
def test_a_claim_holds_and_its_second_hears_who_is_there_since_when(place):
    first = place.guards()
    first.claim()
    with pytest.raises(HostError, match=r"campaign small of ada at desk .* since 2027-01-15 08:00"):
        place.guards("other").claim()
    first.release()
    assert place.files() == []
    place.guards("other").claim()


@contextmanager
def locked(place: Place, seconds: float) -> Iterator[None]:
    """Have the host's lock taken for so long, as by a guard's setting that takes its time."""
    words = ["flock", str(place.lock), "sh", "-c", f"echo; exec sleep {seconds}"]
    with subprocess.Popen(words, stdout=subprocess.PIPE) as holder:
        assert holder.stdout
        holder.stdout.readline()
        yield
        assert holder.wait() == 0


@root
def test_the_time_of_a_claim_begins_when_the_lock_was_had(place):
    guards = place.guards(patience=60)
    for claim in (guards.claim, lambda: guards.renew(guards._claims._seconds)):
        with locked(place, 2):
            begun = uptime()
            claim()
        seen = place.look()
        ((_, _, taken),) = seen.claimed()
        assert taken.left + seen.uptime >= begun + 1 + guards._claims._seconds


@root
def test_a_claim_is_held_though_the_lock_is_anothers_for_long(place, monkeypatch):
    assert "in 500) lock" in scripts.AWAIT
    monkeypatch.setattr(scripts, "AWAIT", scripts.AWAIT.replace("in 500) lock", "in 50) lock"))
    guards = place.guards()
    guards.claim()
    (path, *_) = next(place.look().claimed())
    with locked(place, 3):
        holding = place.serve(commands.hold(HOLDER, path))
        try:
            waited = place.run(commands.await_hold(HOLDER, path))
            assert (waited.status, waited.stdout) == (0, "")
            assert place.look().held == [path]
        finally:
            holding.stop()
    guards.release()


@pytest.mark.long
@root
def test_a_claim_is_taken_over_by_its_own_campaign_and_from_another_machine_only_when_over(
    place, seen_soon
):
    place.guards(patience=60).claim()
    again = place.guards(patience=1)
    again.claim()  # takes over, and its time is shorter
    again.renew(60)
    with pytest.raises(HostError, match="is using it"):
        place.guards(controller="another").claim()
    again.renew(1)
    wait(lambda: all(claim.stale for _, _, claim in place.look().claimed()))
    place.guards("other", patience=1).claim()
    with pytest.raises(HostError, match="no longer claimed by this campaign: campaign small"):
        again.renew(1)


@root
def test_hosts_that_are_held_for_long_enough_yet_cost_no_word(place, monkeypatch):
    guards = place.guards(patience=100)
    clock = "netlimits.restore.guard.guards._now"
    now = [1e6]
    monkeypatch.setattr(clock, lambda: now[0])
    guards.claim()

    def words(seconds: float) -> list[str]:
        place.scripts.clear()
        guards.keep(seconds)
        return place.scripts

    assert words(5) == ["renew"], "nobody knows for how long it is held"
    assert words(5) == []
    now[0] += 9
    assert words(5) == []
    assert words(7) == ["renew"], "a longer run"
    now[0] += 11
    assert words(7) == ["renew"], "the patience is no longer whole"
    assert words(60) == ["renew"]
    assert words(7) == ["renew"], "a dead controller's guard fires within its patience"
    guards.begin_restore(sysctl(first="1"))
    assert words(7) == ["renew"], "a put-back has shortened it"
    assert words(7) == []
    (taken,) = guards._claims.places
    with pytest.raises(HostError, match="no longer claimed"):
        guards._claims.refuse_lost(taken, answer(Command(("x",)), "lost \n"))
    assert words(7) == ["renew"], "the next run does not begin on a host that is not ours"
    taken.hold.stop()
    assert words(7)[-1:] == ["renew"], "nobody holds it any more"
    assert taken.kept()
    guards.release()


@root
def test_what_somebody_else_planted_is_no_claim(place):
    key = place.look().key
    (place.lock / f"netlimits-{key}.claim").symlink_to("\x1b[31m nobody")
    with pytest.raises(HostError, match="is not a claim of netlimits; `netlimits restore --hosts"):
        place.guards().claim()


@pytest.mark.long
@root
@pytest.mark.parametrize("make", [Path.touch, Path.mkdir, os.mkfifo])
def test_what_lies_in_a_claims_place_is_refused_and_restore_removes_it(place, make):
    path = place.lock / f"netlimits-{place.look().key}.claim"
    make(path)
    with pytest.raises(HostError, match="is not a claim of netlimits; `netlimits restore --hosts"):
        place.guards().claim()
    guards = place.guards(patience=None)
    guards.claim(RESTORE)
    assert path.is_symlink()
    guards.release()


@root
def test_a_disk_that_is_full_at_any_step_is_said_and_keeps_no_way_back_away(place):
    host, filler = place.folder.parent, place.folder.parent / "filler"

    def fill() -> None:
        with filler.open("wb", 0) as file, suppress(OSError):
            while True:
                file.write(bytes(512))

    guards = place.guards(
        patience=600, controller="a controller with a long name, as many have " * 3
    )
    with tmpfs(host):
        for each in (place.folder, place.lock):
            each.mkdir()
        fill()
        guards.claim()
        assert [path.suffix for path in sorted(place.spare.iterdir())] == [".alive", ".claim"]
        with pytest.raises(HostError, match=r"its guard's `arm` failed: .*No space left"):
            guards.arm(sysctl(first="1"), NoteFile("n.json", "{}\n"))
        assert len(place.files()) == 2, "nothing of it is left"
        filler.unlink()
        guards.arm(sysctl(first="1"), NoteFile("n.json", "{}\n"))
        fill()
        with pytest.raises(HostError, match=r"its guard's `renew` failed: .*No space left"):
            guards.keep(5)
        guards.begin_restore(sysctl(first="1"))
        assert place.run(notes.remove(sysctl(first="1"), "")).status == 0
        (place.folder / "n.json").unlink()
        guards.release()
        assert place.files() == []


@contextmanager
def tmpfs(folder: Path) -> Iterator[None]:
    """A small file system of its own in the place of a folder."""
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", folder], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", folder], check=True)


@root
def test_a_note_that_is_none_is_said_and_hides_no_other(place):
    place.folder.mkdir()
    whole = {"role": "a", "interface": "lo", "setting": "sysctl", "campaign": "x", "id": "1",
             "since": 1.0, "state": {}, "link_address": "x"}  # fmt: skip
    text = json.dumps(whole)
    (place.folder / "a.json").write_text(text[: len(text) // 2])
    (place.folder / "b.json").write_text(text + "\n")
    (place.folder / "c.json").touch()
    (place.folder / "d.json").mkdir()
    (place.folder / "e.json").symlink_to("nowhere")
    os.mkfifo(place.folder / "f.json")
    (place.folder / "g.json").write_bytes(bytes(range(9)))
    read, wrong = notes.notes(place.run(notes.read()))
    assert read == [{**whole, "order": 0}]
    assert "here: a note in its netlimits folder is damaged" in wrong
    assert len(place.look().notes) == 7
    for letter in "abcdefg":
        assert place.run(removal(f"{letter}.json")).status == 0
    assert not place.folder.exists()


def removal(name: str) -> Command:
    """The command that removes the note of that name."""
    command = notes.remove(sysctl(first="1"), "")
    return replace(command, argv=(*command.argv[:-1], name))


@root
def test_a_guard_that_somebody_stopped_goes_on_and_can_be_ended(place):
    """Also where it was stopped with the lock in its hands, which everybody waits for."""
    guards = place.guards(patience=600)
    guards.claim()
    guards.arm(sysctl(first="1"))
    guards.keep(5)
    pid = place.look().pid
    answers = {role: place.run(command) for role, command in guards.questions().items()}
    assert "dead" not in answers["a"].stdout
    stat = Path(f"/proc/{pid}/stat")
    os.kill(pid, signal.SIGSTOP)
    wait(lambda: stat.read_text().split()[2] == "T")
    guards.fired()
    assert place.scripts[-1] == "fired"
    guards.keep(5)
    assert place.scripts[-1] == "renew", "one that stands still is told to go on"
    wait(lambda: stat.read_text().split()[2] != "T")
    os.kill(pid, signal.SIGSTOP)
    guards.release()
    assert not alive(pid)


@pytest.mark.long
@root
def test_one_guard_for_all_roles_of_a_host_with_every_change_in_it(place):
    guards = place.guards(roles=("a", "b"))
    guards.claim()
    guards.renew(1)
    assert place.look().pid is None, "nothing was changed, nothing is to be put back"
    guards.arm(sysctl(first="1"))
    pid = place.look().pid
    assert alive(pid)
    guards.arm(Original("b", "lo", "sysctl", {"net.test.second": "2"}))
    guards.arm(Original("b", "eth7", "napi", {"gro_flush_timeout": 5}))
    seen = place.look()
    assert seen.pid == pid
    assert seen.would == [
        "echo 5 | tee /sys/class/net/eth7/gro_flush_timeout",
        "sysctl -w net.test.second=2",
        "sysctl -w net.test.first=1",
    ]
    assert os.getsid(pid) == pid, "no session of ours to die with"
    assert {oct(p.stat().st_mode & 0o777) for p in place.folder.iterdir()} == {"0o600"}
    guards.release(left=("b",))
    assert alive(pid), "kept for what is left"
    guards.release()
    assert not alive(pid)
    assert place.files() == []
    assert not place.folder.exists()


@pytest.mark.long
@root
def test_another_campaigns_notes_keep_a_new_one_away(place):
    guards = place.guards()
    place.folder.mkdir()
    note = {"campaign": "old\x1b", "id": "9", "link_address": place.look().links[0]}
    (place.folder / "x.json").write_text(json.dumps(note) + "\n")
    with pytest.raises(HostError, match=r"campaign old\? changed it .* restore --hosts FILE"):
        guards.claim()
    (place.folder / "x.json").write_text(
        json.dumps({**note, "link_address": "another host"}) + "\n"
    )
    guards.claim()
    guards.release()
    (place.folder / "x.json").write_text("{")
    with pytest.raises(HostError, match="a note in its netlimits folder is damaged"):
        guards.claim()
    guards.claim(RESTORE)  # from a journal, which needs no note
    guards.release()
    (place.folder / "x.json").unlink()


@pytest.mark.long
@root
def test_a_pid_that_is_another_process_by_now_is_left_alone(place):
    guards = place.guards()
    guards.claim()
    guards.arm(sysctl(first="1"))
    seen = place.look()
    os.killpg(seen.pid, signal.SIGKILL)
    other = subprocess.Popen(["sleep", "60"])
    try:
        (place.folder / f"{seen.key}.pid").write_text(f"{other.pid}\n")
        assert place.look().doing == "dead"
        guards.release()
        assert other.poll() is None
    finally:
        other.kill()
        other.wait()


@root
def test_what_fired_is_asked_along_with_something_else_or_by_itself(place):
    guards = place.guards()
    guards.claim()
    guards.arm(sysctl(first="1"))
    questions = guards.questions()
    seen = place.look()
    (place.folder / f"{seen.key}.log").touch()
    answers = {role: place.run(command) for role, command in questions.items()}
    place.scripts.clear()
    assert guards.fired(answers) == ("a",)
    assert place.scripts == []
    assert guards.fired({"a": replace(answers["a"], status=1)}) == ("a",)
    assert place.scripts == ["fired"]
    assert guards.keep(5) == ("a",), "whatever it is told, it is told anew"
    assert guards.fired() == ()
    guards.release()


@pytest.mark.long
@root
def test_a_guard_whose_process_is_gone_is_started_again_by_the_next_run(place):
    guards = place.guards(patience=600)
    guards.claim()
    guards.arm(sysctl(first="1"))
    guards.keep(5)
    os.killpg(place.look().pid, signal.SIGKILL)
    wait(lambda: place.look().doing == "dead")
    assert guards.fired() == ()
    guards.keep(5)
    assert place.look().doing == "watch"
    guards.release()


@root
def test_a_note_lies_there_with_the_guard_that_is_armed(place):
    guards = place.guards()
    guards.claim()
    note = {"link_address": "x", "id": "0123", "campaign": "small", "text": "a \\n b"}
    guards.arm(sysctl(first="1"), NoteFile("n.json", json.dumps(note) + "\n"))
    assert json.loads((place.folder / "n.json").read_text()) == note
    (place.folder / "n.json").unlink()
    assert place.look().doing == "watch"
    guards.release()


@pytest.mark.long
@root
def test_a_guard_that_fired_is_told_once_and_started_again(place, monkeypatch):
    monkeypatch.setattr(script, "TRIES", 0)
    guards = place.guards(patience=1)
    guards.claim()
    guards.arm(Original("a", "lo", "sysctl", {"net.ipv4.no_such_thing_at_all": "1"}))
    wait(lambda: place.look().doing == "dead")
    assert guards.fired() == ("a",)
    assert guards.renew(30) == ("a",)
    assert guards.fired() == ()
    assert guards.renew(30) == ()
    assert place.look().doing == "watch"
    guards.release()


@pytest.mark.long
@root
def test_a_change_after_its_guards_time_is_made_once_a_guard_is_there_again(place, tmp_path):
    """A slow host was cut off from us by a change that the guard, which had ended, did not undo."""
    campaign = place.guards(patience=1)
    campaign.claim()
    campaign.arm(sysctl())
    wait(lambda: place.look().doing == "dead", "its time is over")
    written = tmp_path / "written"
    change = Command(("sh", "-c", f"cat {place.folder}/*.pid >{written}"))
    answers = campaign.begin_change("a", [change], [], guarded=True)().answers
    assert [answer.status for answer in answers] == [0]
    assert written.read_text().strip().isdigit()
    assert campaign.fired() == ("a",), "what the guard restored before must be set again"
    assert campaign.renew(30) == ("a",)
    assert campaign.fired() == ()
    campaign.release()


@pytest.mark.long
@root
def test_a_change_without_a_guard_that_holds_is_not_made(place, tmp_path, monkeypatch):
    campaign = place.guards(patience=60)
    campaign.claim()
    campaign.arm(sysctl())
    monkeypatch.setattr(campaign, "_arm", lambda *_: None)
    os.killpg(place.look().pid, signal.SIGKILL)
    wait(lambda: place.look().doing == "dead")
    written = tmp_path / "written"
    with pytest.raises(HostError, match="a: its guard fires before a change can be made"):
        campaign.begin_change("a", [Command(("touch", str(written)))], [], guarded=True)()
    assert not written.exists()
    campaign.begin_change("a", [Command(("touch", str(written)))], [])()
    assert written.exists(), "what restores needs none"
    campaign.release()


def test_a_host_that_says_something_else_is_an_error():
    with pytest.raises(HostError, match="does not report who is using it: sh: not found"):
        commands.parsed(answer(commands.look(), stderr="sh: not found", status=127))


@given(st.text(max_size=200), st.integers(0, 2**40))
def test_a_claim_of_any_text_is_one_or_none(text, now):
    claim = parse(text, now)
    assert claim is None or claim.left < 1e300


@given(st.dictionaries(
    st.sampled_from(["campaign", "id", "controller", "user", "pid", "since", "until"]),
    st.one_of(st.text(), st.integers(), st.floats(), st.none(), st.lists(st.none())), min_size=7,
))  # fmt: skip
def test_a_claim_of_any_values_can_be_printed(values):
    claim = parse(json.dumps(values), 5)
    assert claim is None or str(claim).isprintable()


@pytest.mark.parametrize("key", ["since", "until"])
@pytest.mark.parametrize("time", [math.nan, math.inf, "nan"])
def test_a_claim_without_a_time_is_none(key, time):
    names = ("campaign", "id", "controller", "user")
    fields = {**dict.fromkeys(names, "x"), "pid": 1, "since": 1, "until": 9}
    assert parse(json.dumps(fields), 5)
    assert parse(json.dumps(fields | {key: time}), 5) is None


def test_what_is_shown_to_people():
    seen = commands.HostStatus(
        key="1-2", uptime=100, held=["/x"], claims=[("/x", HOLDER.text[:-1] + ', "until": 160}')], pid=9,
        doing="watch", deadline=150, would=["ip link set dev data0 mtu 1500"], links=["02:00"],
        notes=[json.dumps({"role": "a", "interface": "data0", "setting": "mtu",
                           "campaign": "small", "link_address": "02:00"})],
    )  # fmt: skip
    assert lines("a", report(seen)) == [
        "a: claimed by campaign small of ada at desk (process 7) since 2027-01-15 08:00 UTC, "
        "its connection is open, 60 s left",
        "a: guard waits (process 9), 50 s left",
        "a: changed: a: data0: mtu, by small",
        "a: would run: ip link set dev data0 mtu 1500",
    ]


CLAIM = Claim(Holder("small", "1", "box", "rick", 7, 0.0), left=60)


def test_a_campaign_whose_connection_is_gone_is_not_called_at_work():
    text = json.dumps({**asdict(CLAIM.holder), "until": 60})
    now = commands.HostStatus(key="1-2", claims=[("/tmp/claim", text)])
    who = "campaign small of rick at box (process 7) since 1970-01-01 00:00 UTC"
    other = replace(CLAIM.holder, id="2")
    assert refusal(now, other).startswith(
        f"it is claimed by {who}, whose connection is gone; restore what it changed with "
        "`netlimits restore --hosts FILE`, or leave it"
    )
    now.held.append("/tmp/claim")
    assert refusal(now, other).startswith(f"{who} is using it (its connection is up); wait")


@pytest.mark.parametrize(
    ("log", "guard", "restored"),
    [
        (["restoring at noon", "tc", "  exit status 0", "done"], "fired", True),
        (["restoring at noon", "tc", "  exit status 2", "done"], "fired", False),
        (["restoring at 1", "tc", "  exit status 2", "done", "restoring at 2", "done"], "fired", True),
        (["restoring at noon", "tc"], "fired", False),
        (["restoring at noon", "tc", "  exit status 0", "done"], "waiting", False),
        ([], "none", False),
    ],
)  # fmt: skip
def test_a_guard_that_ran_all_it_had_to_has_restored_its_host(log, guard, restored):
    assert has_restored({"guard": guard, "log": log}) is restored


@pytest.mark.parametrize("note", ["[" * 5000, "{", "[]", "null"])
def test_a_note_that_is_none_is_shown_as_damaged(note):
    shown = lines("a", report(commands.HostStatus(key="1-2", links=["02:00"], notes=[note])))
    assert [line for line in shown if "note" in line] == ["a: damaged note"]


def test_of_a_log_people_see_what_failed_and_no_line_of_thousands():
    log = ["restoring at noon", "sysctl -w " + "a=1 " * 999, "a = 1", "  exit status 0",
           "ethtool -K x tso on", "no such device", "  exit status 1", "done"]  # fmt: skip
    shown = lines("a", {**report(commands.HostStatus(key="1-2")), "log": log})
    assert shown[0] == "a: no campaign uses it"
    assert shown[1] == "a: log: restoring at noon"
    assert shown[2].startswith("a: log: sysctl -w a=1 a=1")
    assert shown[2].endswith(" … (whole with --json)")
    assert len(shown[2]) < 200
    assert shown[3:] == [f"a: log: {line}" for line in log[4:]]


def test_a_sysctl_is_put_back_from_any_state():
    assert [c.argv for c in Sysctl().undo("lo", {"net.a": "1", "net.b": "2"}, {})] == [
        ("sysctl", "-w", "net.b=2", "net.a=1")
    ]


# -- who may change a host, and when a guard waits --------------------------------------------


@root
def test_what_a_killed_renewal_left_goes_with_the_claim(place):
    """Its new claim lay there for ever: the next renewal writes another, and none looks there."""
    first = place.guards()
    first.claim()
    (claim,) = place.lock.glob("*.claim")
    claim.with_name(f"{claim.name}.1586").symlink_to("what was to be the claim")
    first.release()
    assert place.files() == []
    dead = place.guards("other")
    dead.claim()
    claim.with_name(f"{claim.name}.1586").symlink_to("what was to be the claim")
    taker = place.guards("taker", patience=None)
    taker.claim(forced(FROM_NOTES, force=True))
    assert not [name for name in place.files() if name.endswith(".1586")]
    taker.release()


@pytest.mark.long
@root
def test_a_change_is_made_while_the_claim_is_ours_and_not_once_it_was_taken(
    place, tmp_path, seen_soon
):
    campaign = place.guards()
    campaign.claim()
    assert campaign.run("a", Command(("echo", "one"))).stdout == "one\n"
    assert campaign.run("a", Command(("sh", "-c", "cat; exit 7"), stdin="two")).stdout == "two"
    other = place()
    taker = other.guards("other", patience=None)
    with pytest.raises(HostError, match=r"its connection is up\); end it first"):
        taker.claim(FROM_NOTES)
    taker.claim(forced(FROM_NOTES, force=True))
    with pytest.raises(HostError, match="no longer claimed by this campaign: campaign small"):
        campaign.run("a", Command(("touch", str(tmp_path / "written"))))
    assert not (tmp_path / "written").exists()
    with pytest.raises(HostError, match="no longer claimed"):
        campaign.fired()
    taker.release()
    other.close()


@root
def test_who_takes_a_host_waits_for_the_change_that_is_being_made(place, tmp_path):
    campaign, other = place.guards(), place()
    campaign.claim()
    begun, done = tmp_path / "begun", tmp_path / "done"
    slow = Command(("sh", "-c", f"touch {begun}; sleep 2; touch {done}"))
    change = place.background(
        commands.within(campaign._holder, campaign._claims.at("a").claim, slow)
    )
    wait(begun.exists, "the change has begun")
    taker = other.guards("other", patience=None)
    taker.claim(forced(FROM_NOTES, force=True))
    assert done.exists()
    change.stop()
    taker.release()
    other.close()


@root
def test_a_claim_is_dead_as_soon_as_its_connection_is(place):
    other = place()
    other.guards("other").claim()
    (claimed,) = [claim for *_, claim in place.look().claimed()]
    assert claimed.held
    other.close()
    place.guards("mine", patience=None).claim(FROM_NOTES)


@pytest.mark.long
@root
def test_no_guard_fires_under_a_put_back_and_its_time_is_its_own_when_that_is_killed(place):
    """As a campaign that was lost, and a `restore` that was killed: its guard is not put off."""
    lost, putting = place(), place()
    campaign = lost.guards("lost", patience=4)
    campaign.claim()
    campaign.arm(Original("a", "lo", "sysctl", {"net.ipv4.no_such_thing_at_all": "1"}))
    before = place.look()
    lost.close()
    taker = putting.guards("putting", patience=None)
    taker.claim(FROM_NOTES)
    taker.begin_restore(sysctl())
    assert place.look().deadline == before.deadline, "the guard's time is left alone"
    assert before.deadline
    while (now := place.look()).uptime < before.deadline + 2:
        assert not now.fired
        time.sleep(0.5)
    putting.close()
    wait(lambda: place.look().fired, "the guard puts back")
