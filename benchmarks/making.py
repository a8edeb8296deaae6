"""Build a situation's lab, run its commands, and read the counters that verify its truth.

The checks read kernel counters and `ss`; they use nothing of netlimits' evidence or verdicts.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import IO, Any

from netlimits.lab import labs
from netlimits.lab.layout import Lab

HERE = Path(__file__).parent
LOOK = "ss -Htinm 'src 198.19.0.0/16'"
"""Lists a host's connections on the data network."""

_FIELDS = re.compile(r"(snd_wnd|minrtt|bytes_acked|bytes_received|bytes_retrans):([\d.]+)")
_LIMITED = re.compile(r"(rwnd_limited|sndbuf_limited):\d+ms\(([\d.]+)%\)")
_PACE = re.compile(r"pacing_rate (\d+)bps")
_MEMORY = re.compile(r"skmem:\(r\d+,rb(\d+),t\d+,tb(\d+)")


@dataclass(frozen=True, slots=True)
class Check:
    """A value read on one host, and the bounds that it must keep if the situation was made.

    Exactly one of these is set:
        look: A figure of the connection that carried most, at least `bytes`, as `ss` names it. It
            is sampled during the runs; the value is the quantile `of`.
        number: A command that prints a number, sampled likewise.
        count: A command; the value is the growth of the counters that `find` matches.
    """

    at: str
    look: str = ""
    bytes: float = 50_000
    of: float = 0.5
    number: str = ""
    count: str = ""
    find: str = r"(\d+)"
    least: float = float("-inf")
    most: float = float("inf")

    @property
    def name(self) -> str:
        """The value and its host, in words."""
        return f"{self.look or self.number or f'{self.count}: {self.find}'} at {self.at}"


@dataclass(frozen=True, slots=True)
class Situation:
    """An entry of situations.yaml; `at` of a command is a host, `switch`, or `here`."""

    name: str
    family: str
    right: Sequence[str]
    made: str
    truth: str
    experiment: str
    checks: Sequence[Check]
    likely: Sequence[str] = ()
    lab: str = "--hosts 3 --mtu 1500"
    link: str = ""
    before: Sequence[Mapping[str, str]] = ()
    beside: Sequence[Mapping[str, str]] = ()
    after: Sequence[Mapping[str, str]] = ()
    programs: Mapping[str, str] = field(default_factory=dict)
    replicates: int = 3
    proof: Mapping[str, Sequence[str]] | None = None
    """The configurations to prove, as `explain --config` takes them; None for none."""


class SituationLab:
    """A lab in which a situation holds; `folder` takes the situation's programs and readings."""

    def __init__(self, situation: Situation, lab: Lab, folder: Path) -> None:
        self._situation, self._lab, self._folder = situation, lab, folder
        self._processes: list[subprocess.Popen[bytes]] = []
        """The commands that run beside the measurement."""

    @property
    def hosts_file(self) -> Path:
        """The lab's."""
        return self._lab.hosts_file

    def text(self, text: str) -> str:
        """Return a text of the situation with its @words replaced by addresses and paths."""
        lab = self._lab
        words = {f"@{host}": lab.data(host) for host in lab.hosts}
        words |= {f"@ns-{host}": lab.namespace(host) for host in lab.hosts}
        words |= {"@lab": lab.name, "@python": sys.executable, "@here": str(HERE)}
        words |= {"@programs": str(self._folder.resolve() / "programs")}
        for word in sorted(words, key=len, reverse=True):
            text = text.replace(word, words[word])
        return text

    def set_up(self) -> None:
        """Write the programs, shape the link, run the commands before, start those beside."""
        for name, script in self._situation.programs.items():
            path = self._folder / "programs" / name
            path.parent.mkdir(exist_ok=True)
            path.write_text(f"#!/bin/sh\n{self.text(script)}\n")
            path.chmod(0o755)
        if self._situation.link:
            words = ("--host", self._lab.hosts[0], *self._situation.link.split())
            _netlimits("lab", "link", self._lab.name, *words)
        for each in self._situation.before:
            self.output(each["at"], each["run"])
        for each in self._situation.beside:
            self._processes.append(self._started(each["at"], each["run"], subprocess.DEVNULL))

    def tear_down(self) -> None:
        """End the commands that were started, and run the commands after."""
        _end(self._processes)
        for each in self._situation.after:
            self.output(each["at"], each["run"])

    @contextmanager
    def verified(self) -> Iterator[None]:
        """Sample the checks while the body runs, then write their values to truth.json."""
        checks = self._situation.checks
        before = {check: self._counted(check) for check in checks if check.count}
        files, watchers = {}, []
        for place, check in enumerate(checks):
            if not check.count:
                files[check] = self._folder / f"check{place}.txt"
                command = LOOK if check.look else f"({check.number})"
                loop = f"while sleep 0.3; do {command}; echo; done"
                with files[check].open("wb") as file:
                    watchers.append(self._started(check.at, loop, file))
        try:
            yield
        finally:
            _end(watchers)
        rows = []
        for check in checks:
            if check.count:
                value: float | None = self._counted(check) - before[check]
            else:
                values = [*sampled_values(files[check].read_text(), check)]
                value = quantile(values, check.of) if values else None
            rows.append({"name": check.name, "value": value})
        (self._folder / "truth.json").write_text(json.dumps(rows, indent=1) + "\n")

    def output(self, at: str, command: str) -> str:
        """Run a command on a host and return its output. Raises RuntimeError if it fails."""
        done = subprocess.run(self._argv(at, command), capture_output=True, text=True, timeout=60)
        if done.returncode:
            raise RuntimeError(f"{self._situation.name}: {at}: {command}: {done.stderr}")
        return done.stdout

    def _counted(self, check: Check) -> float:
        found = re.findall(check.find, self.output(check.at, check.count))
        return float(sum(map(float, found)))

    def _started(self, at: str, command: str, to: IO[bytes] | int) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            self._argv(at, command), stdin=subprocess.DEVNULL, stdout=to,
            stderr=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip

    def _argv(self, at: str, command: str) -> Sequence[str]:
        command, lab = self.text(command), self._lab
        if at == "here":
            return ("sh", "-c", command)
        if at == "switch" or not lab.guest:
            space = lab.switch if at == "switch" else lab.namespace(at)
            return ("ip", "netns", "exec", space, "sh", "-c", command)
        return ("ssh", "-n", "-F", str(lab.ssh_config), lab.login(at), command)


@contextmanager
def lab_of(situation: Situation, folder: Path) -> Iterator[SituationLab]:
    """Set the situation up in a lab of its own, which is removed at the end."""
    name = f"k{os.getpid() % 1_000_000}"
    _netlimits("lab", "up", "--name", name, *situation.lab.split())
    try:
        lab = labs.find(name)
        assert lab
        each = SituationLab(situation, lab, folder)
        try:
            each.set_up()
            time.sleep(0.2)
            yield each
        finally:
            each.tear_down()
    finally:
        labs.down(name)


def _end(processes: Sequence[subprocess.Popen[bytes]]) -> None:
    for process in processes:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)
        try:
            process.wait(5)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)


def _netlimits(*words: str) -> None:
    subprocess.run([sys.executable, "-m", "netlimits", *words], check=True, capture_output=True)


def quantile(values: Sequence[float], of: float) -> float:
    """Return the value below which a share `of` of the values lies."""
    return sorted(values)[min(len(values) - 1, int(of * len(values)))]


def sampled_values(text: str, check: Check) -> Iterator[float]:
    """Yield a check's value in each sample that has one."""
    for part in text.split("\n\n"):
        if not check.look:
            yield from map(float, part.split())
            continue
        found = [_connection(*pair) for pair in _pairs(part)]
        chosen = max(found, key=lambda each: each["bytes"], default={"bytes": 0.0})
        if chosen["bytes"] >= check.bytes:
            yield chosen.get(check.look, 0.0)


def _pairs(text: str) -> Iterator[tuple[str, str]]:
    """Yield the two lines of each connection to another host."""
    lines = [line for line in text.splitlines() if line.strip()]
    yield from (
        (line, after)
        for line, after in pairwise(lines)
        if line[0].isalpha() and after[0].isspace() and not _within(line)
    )


def _within(line: str) -> bool:
    """True if both ends of a connection are on this host."""
    near, far = (word.rpartition(":")[0] for word in line.split()[3:5])
    return near == far


def _connection(line: str, more: str) -> dict[str, float]:
    """Return a connection's figures by the names that `ss` uses."""
    words = line.split()
    figures: dict[str, Any] = {"recv_q": float(words[1]), "send_q": float(words[2])}
    figures |= {name: float(value) for name, value in _FIELDS.findall(more)}
    figures |= {name: float(value) for name, value in _LIMITED.findall(more)}
    if memory := _MEMORY.search(more):
        figures |= {"rb": float(memory[1]), "tb": float(memory[2])}
    if pace := _PACE.search(more):
        figures["pacing_mbps"] = float(pace[1]) / 1e6
    figures["bytes"] = figures.get("bytes_acked", 0) + figures.get("bytes_received", 0)
    return figures
