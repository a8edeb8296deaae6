"""Machines that boot, clocks that step, links that are cut, disks that fill, CPUs that go offline.

Each is done to one machine of a lab, from outside or as its root would, at a moment drawn by chance;
at times the controller is killed as well. What must hold afterwards: every leaf is as found, or a note
says what is left and one put-back mends it; nothing is lost or doubled; `resume` completes the plan.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from faults.attacks.base import Family, Held, Needs
from faults.attacks.kills import begun, done, moment
from faults.ground import CLIENT
from faults.guest_ground import GuestGround

from netlimits.lab import labs

TEXT = """\
experiment: machines
factors:
  offloads: [on, off]
settings:
  - roles: [sender, receiver]
    sysctl: {net.ipv4.tcp_slow_start_after_idle: 0}
    mtu: 1400
    offload: {tso: "${offloads}"}
    qdisc: {kind: fq}
    route: {quickack: 1}
measure:
  netperf: {seconds: 1, send_size: 1024}
repeat: {replicates: 1, order: listed}
"""
PATIENCE = "15s"
FULL = (
    "set +e; mount -o remount,size=256k /run; dd if=/dev/zero of=/run/filler bs=4k 2>/dev/null; "
    "dd if=/dev/zero of=/run/filler bs=1 oflag=append conv=notrunc 2>/dev/null; true"
)
EMPTY = "rm -f /run/filler; mount -o remount,size=50% /run"
_NOTES = "ls /run/netlimits/*.json 2>/dev/null || true"


class Scene:
    """One campaign on machines, and the harm that comes to one of them."""

    def __init__(self, held: Held, process: subprocess.Popen) -> None:
        ground = held.ground
        assert isinstance(ground, GuestGround)
        self.ground, self.held, self.process = ground, held, process
        self.host = held.chance.choice(ground.lab.hosts)
        self.out = held.folder / "out"
        self.checks: list[Callable[[], str]] = []
        """Each returns what did not come of the harm; "" where it was told."""

    def lasts(self, seconds: float) -> None:
        """The harm lasts so long, or until the campaign ended of it."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(seconds)


@contextlib.contextmanager
def reboot(scene: Scene) -> Iterator[None]:
    """The machine boots at once, as after a crash."""
    scene.ground.guests.reboot(scene.host)
    yield


@contextlib.contextmanager
def clock(scene: Scene) -> Iterator[None]:
    """The machine's clock steps, and is right again at the end."""
    step = scene.held.chance.choice(("+1 hour", "-1 hour", "+10 years", "-10 seconds"))
    scene.held.says(step)
    guests = scene.ground.guests
    now = guests(scene.host, "date", "+%s").strip()
    guests(scene.host, "date", "-s", f"@{int(now) + _seconds(step)}")
    try:
        yield
    finally:
        guests(scene.host, "date", "-s", f"@{time.time():.0f}")


def _seconds(step: str) -> int:
    number, unit = step.split()
    unit_s = {"hour": 3600, "years": 365 * 86400, "seconds": 1}[unit]
    return int(number) * unit_s


@contextlib.contextmanager
def cut(scene: Scene) -> Iterator[None]:
    """A link is cut where the machine cannot see it: the controller's, the data's, or its forwarder."""
    lab, chance, ground = scene.ground.lab, scene.held.chance, scene.ground
    kind = chance.choice(("management", "data", "forwarder"))
    scene.held.says(kind)
    if kind == "forwarder":
        labs.shape_link(lab.name, scene.host, labs.Shape(delay=0.005))
        os.kill(int((lab.host_folder(scene.host) / "link.pid").read_text()), signal.SIGKILL)
        try:
            yield
        finally:
            labs.shape_link(lab.name, scene.host, None)
        return
    port = lab.management_port if kind == "management" else lab.data_port
    with ground.cut(port(scene.host)):
        yield
    ground.guests.forget(scene.host)


@contextlib.contextmanager
def full(scene: Scene) -> Iterator[None]:
    """Where the machine's notes, guards and claims lie there is not a byte of room left.

    Its other file systems are its memory: filled, they would end its sshd and not its disk.
    """
    scene.ground.guests.sh(scene.host, FULL)
    try:
        yield
    finally:
        scene.ground.guests.sh(scene.host, EMPTY)


@contextlib.contextmanager
def processor(scene: Scene) -> Iterator[None]:
    """A CPU goes offline while a run measures, and comes back: that run is invalid and says so."""
    ground, file = scene.ground, "/sys/devices/system/cpu/cpu1/online"
    try:
        ground.at_work(scene.process, scene.out)
        ground.guests.sh(scene.host, f"echo 0 >{file}")
        if ground.named("sender", CLIENT):
            scene.held.says("while a run measures")
            scene.checks.append(lambda: _no_run_says(scene, "CPU 1 went offline"))
        yield
    except AssertionError:
        assert scene.process.poll() is not None, "no run began"
        yield
    finally:
        ground.guests.sh(scene.host, f"echo 1 >{file}")


def _no_run_says(scene: Scene, words: str) -> str:
    reasons = [end["reason"] for end in scene.ground.ends(scene.out)]
    return "" if any(words in reason for reason in reasons) else f"no run says {words}: {reasons}"


HARMS: tuple[Callable[[Scene], contextlib.AbstractContextManager[None]], ...] = (
    reboot,
    clock,
    cut,
    full,
    processor,
)


DURING_RUNS = (processor,)
"""Harms that are done while a run measures, which lasts longer for them."""


def attack(held: Held) -> str | None:
    """One harm to a campaign; what of it remained."""
    ground, chance, out = held.ground, held.chance, held.folder / "out"
    harm = HARMS[held.number % len(HARMS)]
    guard = chance.choice(["5s", "60s", "off"])
    argv = ("--guard", guard, "--patience", PATIENCE)
    text = TEXT.replace("seconds: 1", "seconds: 8") if harm in DURING_RUNS else TEXT
    process = ground.campaign(text, out, *argv)
    scene = Scene(held, process)
    held.says(f"{harm.__name__} of the {scene.host}, --guard {guard}")
    begun(process, out)
    if harm not in DURING_RUNS:
        with contextlib.suppress(subprocess.TimeoutExpired):
            moment(process, out, chance)
    held.says("after its end" if process.poll() is not None else "in mid-campaign")
    with harm(scene):
        if harm not in DURING_RUNS and chance.random() < 0.3:
            held.says("the controller is killed")
            process.kill()
        scene.lasts(chance.choice((2.0, 8.0, 60.0)))
    return _judged(held, process, out) or "; ".join(filter(None, (c() for c in scene.checks)))


def _judged(held: Held, process: subprocess.Popen, out: Path) -> str | None:
    ground = held.ground
    told = ground.ended(process, None)
    held.says(f"exit status {process.returncode}")
    if process.returncode not in (0, 1, 3, -signal.SIGKILL):
        return f"exit status {process.returncode}: {told}"
    ground.events(out)
    changed = ground.leaves() ^ ground.original
    if changed and not [n for h in ground.lab.hosts for n in ground.on(h, "sh", "-c", _NOTES)]:
        return f"changed, and no note says so: {sorted(changed)[:5]}: {told}"
    if changed and process.returncode in (0, 1):
        return f"changed, and exit status {process.returncode}: {sorted(changed)[:5]}: {told}"
    ground("restore", *ground.hosts)
    ground.hosts_are_as_found()
    accept = "--accept-changed-hosts"
    for _ in range(2):  # the second time where the first was cut off, and said so
        if done(out):
            break
        resumed = ground("resume", out, accept, status=None)
        held.says(f"resume ended with {resumed.returncode} {resumed.stderr.strip()[-400:]}")
    attempts = ground.settled(out, accept)
    runs = sorted(number for number, _, _, _ in attempts)
    return None if {*runs} == {1, 2} else f"measured twice or never: {attempts}"


FAMILY = Family("machines", attack, weight=0.2, needs=Needs.MACHINES)
