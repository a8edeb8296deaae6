"""The ground that faults are tested on: a lab, netlimits as a user runs it, and what must hold after.

`Ground.settled` is the one promise, whatever was broken: nothing recorded is lost or doubled,
`resume` completes the plan, the hosts are as found leaf by leaf, nothing of ours is left on them.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shlex
import signal
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path

import warm
from campaign.test_campaign_lab import Lab
from waiting import BRIEF, LONG, inside, stopped, wait

import netlimits as nl
from netlimits.lab import labs

OF_EACH = r"""
for d in $(ls /sys/class/net); do
    case $d in data0) every="-k -g -c -l -a" ;; lo) continue ;; *) every=-k ;; esac
    for what in $every; do
        ethtool $what "$d" 2>/dev/null | sed "s/^/$d $what: /"
    done
    tc -d class show dev "$d" | sed "/ htb /!d; s/^/$d: /"
    for h in $(tc qdisc show dev "$d" | sed -n 's/^qdisc [^ ]* \([1-9a-f][^ ]*\) .*/\1/p' | sort -u); do
        tc -d filter show dev "$d" parent "$h" 2>/dev/null | sed "s/^/$d $h: /"
    done
    for place in ingress egress; do
        tc -d filter show dev "$d" $place 2>/dev/null | sed "s/^/$d $place: /"
    done
    grep -s . /sys/class/net/$d/*_timeout /sys/class/net/$d/*_irqs /sys/class/net/$d/queues/*/*ps_*
done
true
"""
"""What is read for each interface: by `ethtool` all of the data interface, of others features."""

LEAVES = (
    ("sh", "-c", OF_EACH, "of each interface"),
    ("ip", "-d", "link", "show"),
    ("ip", "addr", "show"),
    ("ip", "route", "show", "table", "all"),
    ("ip", "-6", "route", "show", "table", "all"),
    ("ip", "-d", "rule", "show"),
    ("ip", "-6", "-d", "rule"),
    ("ip", "neigh", "show", "nud", "permanent"),
    ("ip", "-6", "neigh", "show", "nud", "permanent"),
    ("ip", "neigh", "show", "proxy"),
    ("ip", "-6", "neigh", "show", "proxy"),
    ("ip", "token"),
    ("ip", "nexthop"),
    ("tc", "-r", "-d", "qdisc", "show"),
    ("sh", "-c", "grep -rs '' /proc/sys/net || true", "sysctls"),
)
"""The whole network state of a host, as its own tools print it. `sysctl -a` takes three times as long."""

_NUMBERS = re.compile(r"^\d+: |@if\d+|link-netnsid \d+|\w+_timer +[0-9.]+")
"""The kernel's own numbers of links and namespaces, which a boot makes anew, and a bridge's timers."""

_MISTAKES = ("Traceback", "a bug in netlimits")

COUNTED = "nf_conntrack_count"
CLIENT = "netperf -P 0"


def named(argv: tuple[str, ...]) -> str:
    """What a leaf is called: its command, or the name of its script."""
    return argv[3] if argv[0] == "sh" else " ".join(argv)


_SCRIPT = "\n".join(f"echo {shlex.quote(f'@{named(argv)}')}; {shlex.join(argv)}" for argv in LEAVES)


class Ground(Lab):
    """A lab, what was found on its hosts, and what was begun there."""

    def __init__(self, lab: labs.Lab, folder: Path) -> None:
        super().__init__(lab, folder)
        self.hosts = ("--hosts", str(lab.hosts_file))
        self.begun: list[subprocess.Popen] = []
        self._told: dict[Path, list[bytes]] = {}
        self.original = wait(self._as_built, "the links are up")

    # -- netlimits ---------------------------------------------------------------------------

    def __call__(
        self, command: str, *argv: object, status: int | None = 0
    ) -> subprocess.CompletedProcess:
        ran = warm.run(
            self.argv(command, *argv),
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=3 * LONG,
        )
        assert status is None or ran.returncode == status, ran.stdout + ran.stderr
        assert not any(words in ran.stderr for words in _MISTAKES), ran.stderr
        return ran

    def start(self, command: str, *argv: object, **how: object) -> subprocess.Popen:
        """`netlimits COMMAND …`, on its way."""
        return self.begin(self.argv(command, *argv), **how)

    def begin(self, argv: list[str], **how: object) -> subprocess.Popen:
        """A program, on its way, ended with the test."""
        begun = subprocess.Popen if "env" in how else warm.Popen  # a library may be loaded before
        self.begun.append(
            begun(
                argv,
                cwd=self.folder,
                text=True,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                **how,
            )
        )
        return self.begun[-1]

    def campaign(self, text: str, out: Path, *argv: object, **how: object) -> subprocess.Popen:
        """`netlimits run` of an experiment, on its way."""
        return self.start("run", self.experiment(text), *self.hosts, "--out", out, *argv, **how)

    def ended(self, process: subprocess.Popen, status: int | None = 0) -> str:
        """What it said on standard error, once it ended as it should."""
        if process.stdout.closed:
            return ""
        printed = process.communicate(timeout=3 * LONG)
        assert status is None or process.returncode == status, printed
        assert not any(words in printed[1] for words in _MISTAKES), printed
        return printed[1]

    def _as_built(self) -> set[str]:
        """Every leaf, once all links are up."""
        leaves = self.leaves()
        return set() if "state DOWN" in "".join(leaves) else leaves

    # -- the hosts ---------------------------------------------------------------------------

    def leaves(self) -> set[str]:
        """Every leaf of the hosts' settings that a campaign could touch."""
        leaves: set[str] = set()
        for host in self.lab.hosts:
            what = ""
            for line in self.inside(host, "sh", "-ec", _SCRIPT).splitlines():
                if line.startswith("@"):
                    what = line[1:]
                elif COUNTED not in line:
                    leaves.add(f"{host}: {what}: {_NUMBERS.sub('', line)}")
        return leaves

    def sshd(self, host: str) -> int:
        """The process that listens for logins; 0 while its file is being written."""
        return int((self.lab.host_folder(host) / "sshd.pid").read_text() or 0)

    def on(self, host: str, *argv: str, check: bool = True) -> str:
        """What a command prints that sees what a login there sees: network, files, name."""
        inside = ("nsenter", "-t", str(self.sshd(host)), "-m", "-n", "-u")
        return subprocess.run([*inside, *argv], capture_output=True, text=True, check=check).stdout

    def processes(self, host: str) -> dict[int, str]:
        """Process id -> command line of all that runs on a host, but for its sshd."""
        pids = self.inside_pids(host)
        processes = {}
        for pid in pids - {self.sshd(host)}:
            with contextlib.suppress(OSError):
                line = Path("/proc", str(pid), "cmdline").read_bytes()
                processes[pid] = line.decode("utf-8", "replace").replace("\0", " ").strip()
        return processes

    def inside_pids(self, host: str) -> set[int]:
        """Every process in a host's network namespace."""
        return inside(self.lab.namespace(host))

    def named(self, host: str, *beginnings: str) -> list[int]:
        """The processes on a host whose command line begins so."""
        return [p for p, line in self.processes(host).items() if line.startswith(beginnings)]

    def sessions(self, host: str) -> list[int]:
        """The sshd processes that hold a connection."""
        return self.named(host, "sshd:", "sshd-session:")

    def kill(self, host: str, *beginnings: str, number: int = signal.SIGKILL) -> None:
        """Kill the processes on a host whose command line begins so; there must be one."""
        pids = self.named(host, *beginnings)
        assert pids, (host, beginnings, self.processes(host))
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)

    def at_work(
        self, process: subprocess.Popen, out: Path, client: str = CLIENT, host: str = "sender"
    ) -> None:
        """Wait until a run of the campaign measures."""

        def measures() -> bool:
            if process.poll() is not None:
                return True
            return self.under_way(out) and bool(self.named(host, client))

        wait(measures, f"{client} runs", longest=BRIEF)
        assert process.poll() is None, process.communicate()

    def stopped(self, process: subprocess.Popen, out: Path, client: str = CLIENT) -> None:
        """Have the campaign itself stand still in a run, whose client has begun."""

        def measures() -> bool:
            return self.under_way(out) and bool(self.named("sender", client))

        stopped(process, measures, f"{client} runs")

    def under_way(self, out: Path) -> bool:
        """Whether a run of a campaign has begun that is not over."""
        if not (out / "campaign.json").exists():
            return False  # the check before a campaign measures too
        return len(self.events(out, "start")) > len(self.events(out, "end"))

    @contextlib.contextmanager
    def held(
        self, process: subprocess.Popen, out: Path, client: str = CLIENT, host: str = "sender"
    ) -> Iterator[list[int]]:
        """Within it a run measures and stands still, so that nothing is over before it is broken.

        Its client has its connections, for control and for data. It is stopped as soon as it is
        seen, and goes on for a blink at a time until that is so; and at the end of `with`.
        """
        self.at_work(process, out, client, host)
        receiver = self.lab.data("receiver")
        connected = ("ss", "-Htn", "state", "established", "dst", receiver)

        def measures() -> list[int]:
            pids = self.named(host, client)
            self._signal(pids, signal.SIGSTOP)
            if pids and len(self.inside(host, *connected).splitlines()) >= 2:
                return pids
            self._signal(pids, signal.SIGCONT)
            return []

        pids = wait(measures, f"{client} has its connections", longest=BRIEF)
        try:
            yield pids
        finally:
            self._signal(pids, signal.SIGCONT)

    @staticmethod
    def _signal(pids: Iterable[int], number: int) -> None:
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)

    @contextlib.contextmanager
    def mounted(self, host: str, *argv: str) -> Iterator[None]:
        """`mount ARGV` on a host, seen by its logins, until the end of `with`."""
        self.on(host, "mount", *argv)
        try:
            yield
        finally:
            self.on(host, "umount", "-l", argv[-1])

    # -- what must hold ----------------------------------------------------------------------

    def events(self, out: Path, *names: str) -> list[dict]:
        """The journal's events of these names. What it held at the last look it holds still."""
        lines = (out / "journal.jsonl").read_bytes().split(b"\n")[:-1]
        told = self._told.get(out, [])
        assert lines[: len(told)] == told, "what was recorded is no longer there"
        self._told[out] = lines
        return [e for e in map(json.loads, lines) if not names or e["event"] in names]

    def ends(self, out: Path) -> list[dict]:
        """The journal's outcomes, so far."""
        return self.events(out, "end") if (out / "journal.jsonl").exists() else []

    def settled(self, out: Path, *resume: object) -> list[tuple[int, int, str, str]]:
        """Complete the plan and see that all holds; every attempt's run, number, status, reason."""
        if nl.open(out).state()["left"]:
            self("resume", out, *resume, status=None)
        self.all_is_recorded(out)
        self.hosts_are_as_found()
        records = nl.open(out).records()
        return [(r.run.number, r.attempt, r.status, r.reason) for r in records]

    def all_is_recorded(self, out: Path) -> None:
        """Nothing lost, nothing doubled, nothing left to do or to put back."""
        started = [(e["run"], e["attempt"]) for e in self.events(out, "start")]
        ended = {(e["run"], e["attempt"]): e["status"] for e in self.events(out, "end")}
        assert len(self.events(out, "end")) == len(ended), "an attempt with two outcomes"
        assert len(set(started)) == len(started), "an attempt that began twice"
        assert set(ended) <= set(started)
        campaign = nl.open(out)
        for run in campaign.runs:
            attempts = [attempt for number, attempt in started if number == run]
            assert attempts == list(range(1, len(attempts) + 1)), (run, attempts)
            outcomes = [ended.get((run, attempt), "interrupted") for attempt in attempts]
            assert [o == "interrupted" for o in outcomes] == [True] * (len(outcomes) - 1) + [False]
        for run, attempt in ended:
            campaign.archive.raw.read(run, attempt)
        frame = campaign.frame()
        assert sorted(zip(frame["run"], frame["attempt"], strict=True)) == sorted(started)
        kept = (out / "results.csv").read_text()
        assert kept.count("\n") >= len(started) + 1
        assert campaign.state()["not_put_back"] == []
        assert campaign.state()["left"] == 0
        assert not list(out.rglob(".*")), "a file that is half written"

    def hosts_are_as_found(self) -> None:
        """Every leaf as it was, and nothing of ours: no process, guard, note or claim."""
        wait(lambda: not self.ours(), lambda: f"still there: {self.ours()}")
        now = self.leaves()
        assert now == self.original, {"now": now - self.original, "found": self.original - now}

    def ours(self) -> list[str]:
        """What is on the hosts beside their sshd: processes, and files of notes, guards, claims."""
        look = (
            "ls -A /run/netlimits /run/lock ~/.local/state/netlimits 2>/dev/null | grep -v -e :$ "
            "-e ^campaigns$"
        )
        leftovers = []
        for host in self.lab.hosts:
            leftovers += [f"{host}: {pid} {line}" for pid, line in self.processes(host).items()]
            leftovers += [
                f"{host}: {n}" for n in self.on(host, "sh", "-c", look, check=False).split()
            ]
        return leftovers

    def end(self) -> None:
        """Leave nothing to the next test, whatever became of this one."""
        for process in self.begun:
            if process.poll() is None:
                process.kill()
            if process.stdout and not process.stdout.closed:
                process.communicate()
        if self.ours():
            warm.run(
                self.argv("restore", *self.hosts),
                cwd=self.folder,
                capture_output=True,
                timeout=LONG,
            )


def statuses(rows: Iterable[tuple[int, int, str, str]]) -> list[tuple[int, int, str]]:
    """(run, attempt, status) of each attempt."""
    return [row[:3] for row in rows]
