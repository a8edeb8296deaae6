"""Harm to what netlimits leaves on a host: guards, notes, claims, and the disk that they lie on.

Guards that are stopped or killed, files that are damaged, replaced or gone, every process of the host
killed, /run full or read-only; while a campaign is at work, or after it was killed. What must hold: the
campaign ends and says why; a host that is not as found is said to be, by exit status and note; and
`netlimits restore` mends it, from the journal or from the notes, and leaves nothing there.
"""

from __future__ import annotations

import contextlib
import signal
import subprocess
import time
from collections.abc import Callable, Iterator

from faults.attacks.base import Family, Held, Needs
from faults.attacks.kills import WHO, begun, done, logged_in, moment
from faults.ground import Ground

import netlimits as nl
from netlimits.lab.layout import ENGINEER

TEXT = """\
experiment: guarded
factors:
  offloads: [on, off]
settings:
  - roles: [sender, receiver]
    sysctl: {net.ipv4.tcp_slow_start_after_idle: 0}
    mtu: 1400
    offload: {tso: "${offloads}"}
    route: {quickack: 1}
measure:
  netperf: {seconds: 1, send_size: 1024}
repeat: {replicates: 1, order: listed}
"""

FOLDERS = "/run/netlimits $(eval echo ~engineer)/.local/state/netlimits"
FILES = {
    "guard": "$d/*.guard",
    "deadline": "$d/*.deadline",
    "pid": "$d/*.pid",
    "note": "$d/*.json",
    "claim": "/run/lock/netlimits-*.claim",
    "alive": "/run/lock/netlimits-*.alive",
}
DAMAGE = {
    "removed": 'rm -rf "$f"',
    "emptied": 'rm -rf "$f"; : >"$f"',
    "cut short": '[ ! -f "$f" ] || truncate -s $(($(stat -c %s "$f") / 2)) "$f"',
    "garbage": 'rm -rf "$f"; head -c 300 /dev/urandom >"$f"',
    "a folder": 'rm -rf "$f"; mkdir "$f"',
    "a link to nothing": 'rm -rf "$f"; ln -s /nosuch/file "$f"',
    "a link to itself": 'rm -rf "$f"; ln -s "$f" "$f"',
    "a link to text": 'rm -rf "$f"; ln -s \'{"campaign": "x", "until": 99999999999}\' "$f"',
    "a pipe": 'rm -rf "$f"; mkfifo "$f"',
    "nobody's": 'chmod 0 "$f"',
}
DROPPED = ("--regid", ENGINEER, "--clear-groups")
PATIENT = 240.0
"""Seconds in which a command ends, whatever was done to a host: a lock is waited for 75 s, twice."""


class Scene:
    """One campaign, and the harm that comes to one of its hosts."""

    def __init__(self, held: Held, hosts: tuple[str, str], who: str) -> None:
        self.held, self.hosts, self.ground, self.who = held, hosts, held.ground, who
        self.host = held.chance.choice(held.ground.lab.hosts)
        self.out = held.folder / "out"

    def sh(self, script: str) -> str:
        """What a shell script prints on the host, whatever becomes of it."""
        return self.ground.on(self.host, "sh", "-c", script, check=False)

    def login(self, script: str) -> None:
        """Have the campaign's login run a shell script on the host."""
        drop = () if self.who == "root" else ("setpriv", "--reuid", ENGINEER, *DROPPED)
        self.ground.on(self.host, *drop, "sh", "-c", script, check=False)


@contextlib.contextmanager
def stopped(scene: Scene) -> Iterator[None]:
    """The guard's process stands still, for good."""
    _signalled(scene, "STOP")
    yield


@contextlib.contextmanager
def killed(scene: Scene) -> Iterator[None]:
    """The guard's process is killed."""
    _signalled(scene, "KILL")
    yield


def _signalled(scene: Scene, name: str) -> None:
    for pid, line in scene.ground.processes(scene.host).items():
        if ".guard " in line and line.startswith("sh "):
            scene.held.says("a guard")
            scene.sh(f"kill -{name} {pid}")


@contextlib.contextmanager
def damaged(scene: Scene) -> Iterator[None]:
    """One or two of the files there become something else."""
    for _ in range(scene.held.chance.randint(1, 2)):
        what = scene.held.chance.choice([*FILES])
        how = scene.held.chance.choice([*DAMAGE])
        scene.held.says(f"{what}: {how}")
        scene.login(f"for d in {FOLDERS}; do for f in {FILES[what]}; do "
                 f"[ ! -e \"$f\" ] && [ ! -L \"$f\" ] || {{ {DAMAGE[how]}; }}; done; done")  # fmt: skip
    yield


@contextlib.contextmanager
def emptied(scene: Scene) -> Iterator[None]:
    """Every process of the host is killed but the sshd that listens."""
    listener = f"{scene.ground.sshd(scene.host)} " if scene.ground.lab.guest is None else ""
    for pid in scene.ground.processes(scene.host):
        if f"{pid} " != listener:
            scene.sh(f"kill -KILL {pid}")
    yield


@contextlib.contextmanager
def full(scene: Scene) -> Iterator[None]:
    """There is not a byte of room left where notes, guards and claims lie."""
    scene.sh("mount -o remount,size=64k /run; cat /dev/zero >/run/filler 2>/dev/null")
    try:
        yield
    finally:
        scene.sh("rm -f /run/filler; mount -o remount,size=50% /run")


@contextlib.contextmanager
def no_inodes(scene: Scene) -> Iterator[None]:
    """No further file can be made there."""
    scene.sh("mount -o remount,nr_inodes=64 /run; mkdir /run/fillers; "
             "i=0; while : >/run/fillers/$i; do i=$((i + 1)); done 2>/dev/null")  # fmt: skip
    try:
        yield
    finally:
        scene.sh("rm -rf /run/fillers; mount -o remount,nr_inodes=100000 /run")


@contextlib.contextmanager
def read_only(scene: Scene) -> Iterator[None]:
    """Nothing can be written there."""
    scene.sh("mount -o remount,ro /run")
    try:
        yield
    finally:
        scene.sh("mount -o remount,rw /run")


HARMS: tuple[Callable[[Scene], contextlib.AbstractContextManager[None]], ...] = (
    damaged,
    stopped,
    damaged,
    killed,
    damaged,
    full,
    damaged,
    emptied,
    damaged,
    no_inodes,
    damaged,
    read_only,
)


def attack(held: Held) -> str | None:
    """One harm to a campaign or to what a killed one left."""
    chance, harm = held.chance, HARMS[held.number % len(HARMS)]
    who = WHO[held.number // len(HARMS) % len(WHO)]
    guard = chance.choice(["5s", "10s", "60s", "10s" if harm in (stopped, killed) else "off"])
    early, late, seconds = chance.random() < 0.3, chance.random() < 0.3, chance.choice((1, 4, 12))
    before = chance.random() < 0.1
    with logged_in(held.ground, who) as hosts:
        scene = Scene(held, hosts, who)
        held.says(f"{who}, {harm.__name__} of the {scene.host}, --guard {guard}")
        with contextlib.ExitStack() as stack:
            if before:
                held.says("before it begins")
                stack.enter_context(harm(scene))
            text = held.ground.experiment(TEXT)
            argv = ("run", text, *hosts, "--out", scene.out, "--guard", guard)
            process = held.ground.start(*argv)
            if not before:
                begun(process, scene.out)
                with contextlib.suppress(subprocess.TimeoutExpired):
                    moment(process, scene.out, chance)
            held.says("after its end" if process.poll() is not None else "in mid-campaign")
            if early:
                held.says("the controller is killed before")
                process.kill()
            if not before:
                stack.enter_context(harm(scene))
            if late and not early:
                held.says("the controller is killed behind")
                process.kill()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(seconds)
            if process.poll() is not None and chance.random() < 0.5:
                held.says("restored under it")
                if through := _from_notes(scene):
                    return through
            elif chance.random() < 0.5:
                held.says("ended under it")
                if through := _judged(scene, process):
                    return through
        return _judged(scene, process) or _mended(scene)


def _judged(scene: Scene, process: subprocess.Popen) -> str | None:
    """What the campaign that was harmed did not say."""
    begin = time.monotonic()
    told = scene.ground.ended(process, None)
    if told:
        scene.held.says(f"exit status {process.returncode}: {told.strip().splitlines()[-1][:400]}")
    if time.monotonic() - begin > PATIENT:
        return f"it went on for {time.monotonic() - begin:.0f} s: {told}"
    if process.returncode not in (0, 1, 2, 3, -signal.SIGKILL):
        return f"exit status {process.returncode}: {told}"
    changed = scene.ground.leaves() ^ scene.ground.original
    if changed and process.returncode in (0, 1, 2):
        return f"changed, and exit status {process.returncode}: {sorted(changed)[:5]}: {told}"
    return None


def _ended(scene: Scene, command: str, *argv: object) -> subprocess.CompletedProcess:
    """A command that ends in time and says what is wrong, if something is."""
    begin = time.monotonic()
    ran = scene.ground(command, *argv, status=None)
    words = " ".join(map(str, argv)).replace(str(scene.held.folder), "")
    scene.held.says(f"{command} {words}: {ran.returncode} {ran.stderr.strip()[-600:]}")
    assert time.monotonic() - begin < PATIENT, f"{command} took {time.monotonic() - begin:.0f} s"
    assert ran.returncode in (0, 1, 2, 3), ran
    assert not ran.returncode or ran.stderr.strip(), "no word of why"
    return ran


def _from_notes(scene: Scene) -> str | None:
    """What `restore --hosts` did not mend and did not say."""
    ran = _ended(scene, "restore", *scene.hosts)
    changed = scene.ground.leaves() ^ scene.ground.original
    if ran.returncode == 0 and changed and "note: removed" not in scene.held.deeds:
        return f"restored, it says, and changed: {sorted(changed)[:5]}"
    if ran.returncode == 3 and "--forget" not in ran.stderr:
        return f"no way out is named: {ran.stderr}"
    return None


def _mended(scene: Scene) -> str | None:
    """The way back, as its messages say, and the plan completed."""
    ground, out = scene.ground, scene.out
    if not (out / "campaign.json").exists():
        _ended(scene, "restore", *scene.hosts)
        return _as_found(ground)
    if scene.held.chance.random() < 0.3 and (through := _from_notes(scene)):
        return through
    first = _ended(scene, "restore", out)
    if ground.leaves() != ground.original:
        changed = ground.leaves() ^ ground.original
        if first.returncode == 0:
            return f"restored, it says, and changed: {sorted(changed)[:5]}"
    if first.returncode or ground.ours():
        second = _ended(scene, "restore", *scene.hosts)
        if second.returncode:
            return f"locked: {first.stderr}\n{second.stderr}"
    if through := _as_found(ground):
        return through
    for _ in range(2):
        if done(out):
            break
        _ended(scene, "resume", out)
    if not done(out):
        return "it cannot be resumed to its end"
    ground.all_is_recorded(out)
    if through := _as_found(ground):
        return through
    statuses = [record.status for record in nl.open(out).records()]
    if not {*statuses} <= {"ok", "interrupted", "failed", "invalid", "timeout"}:
        return f"runs ended as {statuses}"
    return None


def _as_found(ground: Ground) -> str | None:
    try:
        ground.hosts_are_as_found()
    except AssertionError as error:
        return str(error)
    return None


FAMILY = Family("guards", attack, weight=1, needs=Needs.NAMESPACES, portable=True)
