"""A bad way to a host's sshd: slow, lossy, cut after so many bytes, and an sshd that lets few in.

A forwarder stands between netlimits and one host. It holds back what comes over it as a long path and
its retransmissions would, and ends connections after a number of bytes drawn by chance, by a FIN, by an
RST, or silently. What must hold: a slow path costs time and nothing else; a cut one an attempt at most;
whatever netlimits cannot do it says in a line, and the hosts are as found.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import random
import re
import signal
import socket
import struct
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from faults.attacks.base import Family, Held, Needs
from faults.attacks.kills import begun, done, moment
from faults.ground import Ground, wait

import netlimits as nl

TEXT = """\
experiment: path
settings:
  - roles: [sender, receiver]
    mtu: 1400
    offload: {tso: off}
measure:
  netperf: {seconds: 1, test: TCP_RR}
repeat: {replicates: 2, order: listed}
"""
SEGMENT = 1400
LAST = 250_000
"""Bytes that a campaign's connection carries, and some more."""

SAID = ("MaxSessions", "the connection was lost in every attempt")
"""Why a run may fail."""

RETRANSMITTED = 0.3
"""Seconds that a segment comes late which was lost once; twice as many for each further loss."""

PATIENT = 400.0
"""Seconds that a campaign of some 200 round trips may take over the worst of these paths."""


@dataclass
class Way:
    """A way to a host, as it is now: `delay` each way in seconds, `loss` of each segment.

    The connections in `cuts`, counted from 0, are ended after so many bytes in both directions.
    """

    delay: float = 0.0
    loss: float = 0.0
    cuts: dict[int, int] = field(default_factory=dict)
    how: str = "reset"
    count: int = 0
    cut: int = 0


class Forwarder:
    """A thread that carries connections to an address over a path."""

    def __init__(self, target: tuple[str, int], path: Way, chance: random.Random) -> None:
        self._target, self._path, self._chance = target, path, chance
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End every connection and the thread."""
        self._loop.call_soon_threadsafe(self._end)
        self._thread.join()
        self._loop.close()

    def _end(self) -> None:
        for task in asyncio.all_tasks(self._loop):
            task.cancel()

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        with contextlib.suppress(asyncio.CancelledError):
            self._loop.run_until_complete(self._serve())
        self._loop.run_until_complete(self._loop.shutdown_asyncgens())

    async def _serve(self) -> None:
        server = await asyncio.start_server(self._carried, sock=self._listener)
        async with server:
            await server.serve_forever()

    async def _carried(self, near: asyncio.StreamReader, back: asyncio.StreamWriter) -> None:
        number, self._path.count = self._path.count, self._path.count + 1
        left = [self._path.cuts.get(number, 1 << 60)]
        far = None
        try:
            far_end, far = await asyncio.open_connection(*self._target)
            for writer in (back, far):
                writer.get_extra_info("socket").setsockopt(
                    socket.IPPROTO_TCP, socket.TCP_NODELAY, 1
                )
            ways = [
                asyncio.ensure_future(self._way(*way, left))
                for way in ((near, far), (far_end, back))
            ]
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
            for way in ways:
                way.cancel()
            if left[0] <= 0:
                self._path.cut += 1
                if self._path.how == "silent":
                    await asyncio.sleep(3600)
                if self._path.how == "reset":
                    for writer in (back, far):
                        linger = struct.pack("ii", 1, 0)
                        writer.get_extra_info("socket").setsockopt(
                            socket.SOL_SOCKET, socket.SO_LINGER, linger
                        )
        except OSError:
            pass
        finally:
            for writer in (back, far):
                if writer:
                    writer.close()

    async def _way(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, left: list[int]
    ) -> None:
        """Carry one direction until its end, or until nothing of a connection is left."""
        queue: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue()

        async def arrive() -> None:
            while True:
                at, data = await queue.get()
                await asyncio.sleep(max(0.0, at - self._loop.time()))
                if not data:
                    return
                writer.write(data)
                await writer.drain()

        arriving, last = asyncio.ensure_future(arrive()), 0.0
        try:
            while left[0] > 0 and not arriving.done():
                data = (await reader.read(SEGMENT))[: left[0]]
                left[0] -= len(data)
                late, again = 0.0, RETRANSMITTED
                while self._path.loss and self._chance.random() < self._path.loss:
                    late, again = late + again, 2 * again
                last = max(last, self._loop.time() + self._path.delay + late)
                queue.put_nowait((last, data))
                if not data:
                    break
            if left[0] <= 0:
                queue.put_nowait((last, b""))
            await arriving
        finally:
            arriving.cancel()


@contextlib.contextmanager
def over(held: Held, host: str, path: Way) -> Iterator[tuple[str, str]]:
    """`--hosts FILE` by which the host is reached over a path."""
    lab = held.ground.lab
    forwarder = Forwarder((lab.management(host), 22), path, held.chance)
    config, entries = held.folder / "ssh_config", held.folder / "hosts.yaml"
    address = re.escape(lab.management(host))
    config.write_text(
        re.sub(
            rf"HostName {address}\n  Port 22",
            f"HostName 127.0.0.1\n  Port {forwarder.port}",
            lab.ssh_config.read_text(),
        )
    )
    machines = {
        each: {"ssh": lab.login(each), "interface": "data0", "address": lab.data(each)}
        for each in lab.hosts
    }
    entries.write_text(json.dumps({"ssh_config": str(config), **machines}))
    try:
        yield ("--hosts", str(entries))
    finally:
        forwarder.close()


@contextlib.contextmanager
def configured(ground: Ground, host: str, line: str) -> Iterator[None]:
    """Within it the host's sshd has one more line of configuration, before all others."""
    file = ground.lab.host_folder(host) / "sshd_config"
    kept = file.read_text()
    try:
        file.write_text(
            f"{line}\n{kept.replace('MaxStartups 200', '') if 'Startups' in line else kept}"
        )
        _again(ground, host)
        yield
    finally:
        file.write_text(kept)
        _again(ground, host)


def _again(ground: Ground, host: str) -> None:
    """Have sshd read its configuration, and wait until it listens."""
    os.kill(ground.sshd(host), signal.SIGHUP)
    time.sleep(0.1)  # the old one listens until it does
    pid = ground.lab.host_folder(host) / "sshd.pid"
    wait(lambda: pid.exists() and ground.sshd(host) and _listens(ground, host), "sshd is back")


def _listens(ground: Ground, host: str) -> bool:
    return ":22 " in ground.inside(host, "ss", "-Hltn")


@dataclass
class Scene:
    """One campaign on its way, and the path to one of its hosts."""

    held: Held
    host: str
    path: Way
    out: Path
    quick: bool = True


def slow(scene: Scene) -> str | None:
    """Up to half a second there and back, and up to a tenth of the segments lost."""
    chance, path = scene.held.chance, scene.path
    path.delay, path.loss = chance.choice((0.05, 0.25, 0.25)), chance.choice((0.0, 0.02, 0.1, 0.1))
    scene.held.says(f"{path.delay} s each way, {path.loss:.0%} lost")
    return _campaign(scene, (0,), once=True)


def cut(scene: Scene) -> str | None:
    """One to three connections are cut after so many bytes."""
    chance, path = scene.held.chance, scene.path
    path.how = chance.choice(("reset", "close", "silent"))
    path.cuts = {n: _bytes(chance) for n in range(chance.randint(1, 3))}
    scene.held.says(f"{path.how} after {[*path.cuts.values()]} bytes")
    return _campaign(scene, (0, 1, 2))


def _bytes(chance: random.Random) -> int:
    """How many bytes: of a login at times, mostly of a campaign."""
    return (
        int(10 ** chance.uniform(0.0, 3.7))
        if chance.random() < 0.2
        else chance.randint(5_000, LAST)
    )


def slow_and_cut(scene: Scene) -> str | None:
    """Both."""
    chance, path = scene.held.chance, scene.path
    path.delay, path.loss = 0.1, 0.05
    path.how = chance.choice(("reset", "close"))
    path.cuts = {0: _bytes(chance)}
    scene.held.says(f"{path.how} after {[*path.cuts.values()]} bytes, slow and lossy")
    return _campaign(scene, (0, 1, 2), once=True)


def startups(scene: Scene) -> str | None:
    """sshd drops whoever wants in, for some seconds: somebody else's logins never end.

    From the start, or when a campaign has lost its connection.
    """
    seconds, late = scene.held.chance.choice((1.0, 5.0, 20.0)), scene.held.chance.random() < 0.7
    scene.held.says(f"MaxStartups 1 for {seconds:g} s{', in mid-campaign' if late else ''}")
    ground, address = scene.held.ground, (scene.held.ground.lab.management(scene.host), 22)
    with configured(ground, scene.host, "MaxStartups 1"), contextlib.ExitStack() as stack:

        def close_the_door() -> None:
            waiting = stack.enter_context(socket.create_connection(address))
            ends = threading.Timer(seconds, waiting.close)
            stack.callback(ends.cancel)
            ends.start()
            for pid in ground.sessions(scene.host) if late else ():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)

        if late:
            return _campaign(scene, (0, 1), during=close_the_door)
        close_the_door()
        return _campaign(scene, (0, 1, 2))


def sessions(scene: Scene) -> str | None:
    """sshd lets a connection run few programs at once."""
    number = scene.held.chance.choice((1, 2, 3, 4, 5))
    scene.held.says(f"MaxSessions {number}")
    with configured(scene.held.ground, scene.host, f"MaxSessions {number}"):
        return _campaign(scene, (0, 1, 2))


HARMS: tuple[Callable[[Scene], str | None], ...] = (
    cut,
    slow,
    cut,
    startups,
    cut,
    sessions,
    cut,
    slow_and_cut,
)


def attack(held: Held) -> str | None:
    """A campaign over one bad path, and its end over a good one."""
    harm = HARMS[held.number % len(HARMS)]
    host = held.chance.choice(held.ground.lab.hosts)
    scene = Scene(held, host, Way(), held.folder / "out")
    held.says(f"{harm.__name__} to the {host}")
    return harm(scene) or _mended(scene)


def _campaign(
    scene: Scene,
    statuses: tuple[int, ...],
    once: bool = False,
    during: Callable[[], None] | None = None,
) -> str | None:
    """The campaign, which ends with one of these statuses, or says that a host is left changed.

    `during` is called at a moment of it.
    """
    ground, held = scene.held.ground, scene.held
    text = TEXT.replace("replicates: 2", "replicates: 1") if once else TEXT
    with over(held, scene.host, scene.path) as hosts:
        begin = time.monotonic()
        argv = ("--out", scene.out, "--patience", "30s")
        process = ground.start("run", ground.experiment(text), *hosts, *argv)
        if during:
            begun(process, scene.out)
            with contextlib.suppress(subprocess.TimeoutExpired):
                moment(process, scene.out, held.chance)
            during()
        printed = ground.ended(process, None)
        took = time.monotonic() - begin
    words = " ".join(line for line in printed.splitlines() if not re.match(r"\d+/\d+ done", line))
    held.says(f"exit status {process.returncode} after {took:.0f} s, {scene.path.count} connections, "
              f"{scene.path.cut} cut: {words[-700:]}")  # fmt: skip
    if took > PATIENT:
        return f"it took {took:.0f} s: {printed}"
    changed = ground.leaves() ^ ground.original
    if process.returncode == 3:
        return None if changed else f"exit status 3 and nothing is changed: {printed}"
    if changed:
        return f"changed, and exit status {process.returncode}: {sorted(changed)[:5]}: {printed}"
    return (
        None if process.returncode in statuses else f"exit status {process.returncode}: {printed}"
    )


def _mended(scene: Scene) -> str | None:
    """Over the lab's own path everything comes to its end."""
    ground, out = scene.held.ground, scene.out
    ground("restore", *ground.hosts)
    ground.hosts_are_as_found()
    if not (out / "campaign.json").exists():
        return None
    campaign = nl.open(out)
    if not done(out):
        ground("resume", out, *ground.hosts)
    ground.all_is_recorded(out)
    ground.hosts_are_as_found()
    last = {record.run.number: record for record in campaign.records()}
    odd = [
        (record.status, record.reason)
        for record in nl.open(out).records()
        if record.status not in ("ok", "interrupted")
        and not any(words in record.reason for words in SAID)
    ]
    return f"not ok: {odd}" if odd or not last else None


FAMILY = Family("ssh path", attack, weight=1, needs=Needs.NAMESPACES)
