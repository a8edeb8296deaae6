"""Simulate a host's ethtool, netperf, ss and /proc, for unit tests without a network.

The host has state: features that `ethtool -K` switches, a clock in /proc/stat, notes. Its output
follows the captures. Tests in the lab prove that real hosts behave the same.
"""

from __future__ import annotations

import json
import threading
from pathlib import Path

from netlimits.errors import ConnectionLost
from netlimits.evidence import cpu
from netlimits.hosts.scripted import ScriptedHost, answer
from netlimits.model import Command, Completed, Machine
from netlimits.settings.offload import SHORT_NAMES, Offload

GUARDING = ("look", "take", "hold", "await", "renew", "postpone", "arm", "fired", "release")
CAPTURES = Path(__file__).parent / "captures"
FIGURES = {
    "THROUGHPUT": "800.00",
    "LOCAL_SEND_THROUGHPUT": "800.00",
    "REMOTE_RECV_THROUGHPUT": "800.00",
    "THROUGHPUT_UNITS": "10^6bits/s",
    "SD_UNITS": "usec/KB",
    "ELAPSED_TIME": "1.00",
    "PROTOCOL": "TCP",
    "TRANSPORT_MSS": "1024",
}


class SimulatedMachine:
    """The script of a ScriptedHost; `host()` opens a new connection."""

    def __init__(self, role: str, address: str) -> None:
        self.role, self.address = role, address
        text = (CAPTURES / "settings" / "offload" / "veth.txt").read_text()
        read = Completed(role, Command(("ethtool",)), 0, text, "", 0)
        self.state = {k: dict(v) for k, v in Offload().state(read).items()}
        self.original = dict(self.state["features"])
        self.notes: dict[str, str] = {}
        self.claim = self.guard = ""
        self.held = False
        self.ticks = 0
        self.serving = False
        self.boot_id = "6cb7b4ce-0000-4000-8000-" + role.encode().hex()[-12:].rjust(12, "0")
        self.netperf: str | None = None

    def host(self) -> ScriptedHost:
        return ScriptedHost(self, self.role)

    def machine(self) -> Machine:
        return Machine(self.role, ssh=self.role, interface="data0", address=self.address)

    def __call__(self, command: Command) -> Completed:
        argv = command.argv
        if command.within and not self.claim.startswith(command.within[4][:-1]):
            return answer(command, f"lost {self.claim}\n", status=79, host=self.role)
        if argv[:2] == ("ethtool", "-k"):
            return self._say(command, self._features())
        if argv[:2] == ("ethtool", "-K"):
            return self._switch(command)
        if argv[0] == "sh" and argv[-1] != cpu.SCRIPT:
            return self._script(command)
        if argv[0] == "netperf":
            return self._netperf(command)
        if argv[0] == "netserver":
            self.serving = True
            return self._say(command, "")
        return self._read(command)

    def _read(self, command: Command) -> Completed:
        argv = command.argv
        if argv[-1] == cpu.SCRIPT:
            self.ticks += 100
            return self._say(
                command, f"{self.ticks / 50} 0\ncpu0 {self.ticks} 0 0 {self.ticks} 0 0 0 0 0 0\n"
            )
        if argv[-1].endswith("boot_id"):
            return self._say(command, self.boot_id)
        if argv[0] == "ss":
            return self._say(
                command, f"LISTEN 0 5 {self.address}:12865 0.0.0.0:*\n" if self.serving else ""
            )
        if argv[:2] in (("ip", "-j"), ("ip", "-d")):
            link = {
                "ifname": "data0",
                "address": f"02:00:00:00:00:{len(self.role):02x}",
                "mtu": 8896,
            }
            link["addr_info"] = [{"local": self.address, "scope": "global"}]
            return self._say(command, json.dumps([link]))
        if argv == ("id", "-u"):
            return self._say(command, "0\n")
        return answer(command, stderr="not simulated", status=1, host=self.role)

    def _script(self, command: Command) -> Completed:
        script, arguments = command.argv[2], command.argv[4:]
        if command.argv[3:4] and command.argv[3] in GUARDING:
            if command.argv[3] == "take" and not self._may_take(arguments[2], arguments[4]):
                return answer(command, status=3, host=self.role)
            return self._say(command, self._guarding(command))
        if "cat >" in script:
            self.notes[arguments[0]] = command.stdin
        elif "rm -rf" in script:
            self.notes.pop(arguments[0], None)
        elif "cat " in script:
            return self._say(command, "".join(self.notes.values()))
        return self._say(command, "")

    def _guarding(self, command: Command) -> str:
        """Simulate the scripts of restore.guard without time: no deadline ever expires."""
        name, arguments = command.argv[3], command.argv[4:]
        claim = f"/run/lock/netlimits-{self.boot_id}.claim"
        if name == "look":
            notes = "".join(f"note {note}" for note in self.notes.values())
            claims = f"claim {claim} {self.claim}\n" if self.claim else ""
            claims += f"held {claim}\n" if self.held else ""
            link = f"link 02:00:00:00:00:{len(self.role):02x}\n"
            return f"key {self.boot_id} 0\nuptime 100\n{claims}{link}{notes}"
        if name == "take":
            self.claim, self.held = arguments[0][:-1] + ', "until": 400}', False
            return claim + "\n"
        if not self.claim.startswith(arguments[0][:-1]):
            return f"lost {self.claim}\n"
        if name == "hold":
            self.held = True
        if name == "arm":
            note, self.guard = command.stdin.split("\n", 1) if arguments[3] else ("", command.stdin)
            if note:
                self.notes[arguments[3]] = note + "\n"
        if name == "release":
            self.claim = self.guard = ""
            self.held = False
        return ""

    def _may_take(self, old: str, how: str) -> bool:
        return old == self.claim and not (old and how == "dead" and self.held)

    def _features(self) -> str:
        leaves = {leaf for group in self.state["groups"].values() for leaf in group}
        lines = [
            f"{chr(9) if name in leaves else ''}{name}: {text}"
            for name, text in self.state["features"].items()
        ]
        return "Features for data0:\n" + "\n".join(lines) + "\n"

    def _switch(self, command: Command) -> Completed:
        features, groups = self.state["features"], self.state["groups"]
        for name, value in zip(command.argv[3::2], command.argv[4::2], strict=True):
            long = SHORT_NAMES.get(name, name)
            for leaf in groups.get(long, [long]):
                if "[fixed]" not in features[leaf]:
                    features[leaf] = value
        for group, leaves in groups.items():
            if not all("[fixed]" in features[leaf] for leaf in leaves):
                on = any(features[leaf].startswith("on") for leaf in leaves)
                features[group] = "on" if on else "off"
        return self._say(command, "")

    def _netperf(self, command: Command) -> Completed:
        argv = command.argv
        captures = CAPTURES / "netperf" / "builds"
        if argv == ("netperf", "-V"):
            return self._say(command, (captures / "version-270.txt").read_text())
        if argv[-1] == "?":
            return self._say(command, (captures / "netperf270-selectors.txt").read_text())
        if self.netperf is not None:
            return self._say(command, self.netperf)
        keys = argv[-1].split(",")
        return self._say(command, "".join(f"{k}={FIGURES.get(k, '50')}\n" for k in keys))

    def _say(self, command: Command, text: str) -> Completed:
        return answer(command, stdout=text, host=self.role)


_COUNTING = threading.Lock()


class Fails:
    """A host on which the `which`-th command fails, counted over all hosts that share `count`."""

    def __init__(self, host: ScriptedHost, count: list[int], which: int, how: str) -> None:
        self.name, self.patience = host.name, host.patience
        self._host, self._count, self._which, self._how = host, count, which, how

    def run(self, command: Command) -> Completed:
        if self._is_due():
            self._lose(self._host.run, command)
            return answer(command, stderr="Operation not permitted", status=1, host=self.name)
        return self._host.run(command)

    def _is_due(self) -> bool:
        with _COUNTING:  # several hosts run commands concurrently
            self._count[0] += 1
            return self._count[0] == self._which

    def _lose(self, act, command: Command) -> None:
        """Lose the connection before or after the command, if the failure is a lost connection."""
        if self._how == "lost after":
            act(command)
        if self._how.startswith("lost"):
            raise ConnectionLost("the connection was reset", host=self.name)

    def run_in_turn(self, commands):
        return [self.run(command) for command in commands]

    def begin_in_turn(self, commands):
        return lambda: self.run_in_turn(commands)

    def begins(self, commands):
        return True

    def shells(self):
        return ()

    def abandon(self):
        self._host.abandon()

    def serve(self, command: Command):
        if self._is_due():
            self._lose(self._host.serve, command)
        return self._host.serve(command)

    def background(self, command: Command):
        if self._is_due():
            self._lose(self._host.background, command)
        return self._host.background(command)

    def close(self) -> None:
        self._host.close()
