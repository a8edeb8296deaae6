"""Run campaigns on the lab's machines, break them during a run, and compare the machines' state."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Self

import warm
from guests import Guests
from waiting import LONG, stopped, wait

import netlimits as nl
from netlimits.lab import labs

_LEAVES = """
for shown in -k -l -g -c; do ethtool $shown data0 2>&1 || true; done
tc qdisc show dev data0
ip -o link show dev data0
ip route show dev data0
(cd /sys/class/net/data0/queues && grep -rs "" . | grep -e _cpus: -e _rxqs: -e _cnt: || true)
device=$(readlink -f /sys/class/net/data0/device)
sed -n "s/^ *\\([0-9]*\\):.* \\(${device##*/}-.*\\|data0.*\\)$/\\1 \\2/p" /proc/interrupts |
while read -r number name; do
    read -r cpus <"/proc/irq/$number/smp_affinity_list"
    echo "$name on CPUs $cpus"
done
"""
"""Interrupts are listed by name, since their numbers change with each boot."""

_OURS = r"""
ls -A /run/netlimits /run/lock ~/.local/state/netlimits 2>/dev/null | grep -v -e ':$' -e '^$' || true
pgrep -fa '^(netperf|netserver) |[.]guard|[p]eer=.1; shift' || true
"""

_HOLD = """
peer=$1; shift
while :; do
    until pid=$(pgrep -f '^netperf -P 0'); do sleep 0.1; done
    kill -STOP $pid
    [ "$(ss -Htn state established dst "$peer" | wc -l)" -lt 2 ] || break
    kill -CONT $pid
done
status=0
"$@" || status=$?
echo $status >/run/held
"""
"""Stop netperf once its control and data connections are established; then run a command."""

_FIRE = r"""
for file in /run/netlimits/*.deadline; do
    log=${file%.deadline}.log
    read -r up _ </proc/uptime
    time=$((${up%.*} + 3))
    echo "$time" >"$file"
    read -r guard <"${file%.deadline}.pid"
    pkill -P "$guard" sleep || true
    until [ "$(tail -n 1 "$log" 2>&1)" = done ]; do sleep 0.1; done
    [ "$(sed -n 's/^restoring at .*uptime \([0-9]*\).*/\1/p;T;q' "$log")" -ge "$time" ]
done
"""
"""Set the guard's deadline to 3 s from now on its clock, and wait until it has restored twice."""


class Drivers:
    """A lab's machines, with their original state, on which netlimits is run."""

    def __init__(self, lab: labs.Lab, guests: Guests, folder: Path) -> None:
        self.lab, self.guests, self.folder = lab, guests, folder
        self.hosts = ("--hosts", str(lab.hosts_file))
        self.out = folder / "out"
        self.original = wait(self._as_built, "the links are up")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        """Restore the machines after a failed test, so that the next test can use them."""
        if not self._is_as_found():
            with self.begun("restore", *self.hosts) as process:
                process.communicate()
        if not self._is_as_found():
            for host in self.lab.hosts:
                self.guests.reboot(host)

    def _is_as_found(self) -> bool:
        ours = any(self.guests.sh(host, _OURS) for host in self.lab.hosts)
        return not ours and not any(self.changed().values())

    def experiment(self, text: str) -> Path:
        path = self.folder / "drivers.yaml"
        path.write_text(text)
        return path

    def __call__(self, *argv: object, status: int = 0) -> str:
        """Return the output of `netlimits ARGV`, which must end with `status`."""
        with self.begun(*argv) as process:
            return self.ended(process, status)

    @contextmanager
    def begun(self, *argv: object) -> Iterator[subprocess.Popen]:
        """Start `netlimits ARGV`, and kill it at the end."""
        process = warm.Popen(
            [sys.executable, "-m", "netlimits", *map(str, argv)],
            cwd=self.folder,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        try:
            yield process
        finally:
            process.kill()
            if not process.stdout.closed:
                process.communicate()

    def ended(self, process: subprocess.Popen, status: int) -> str:
        """Return the output of a process, which must end with `status`."""
        printed, _ = process.communicate(timeout=4 * LONG)
        assert process.returncode == status, printed
        assert "Traceback" not in printed, printed
        return printed

    def held(self, process: subprocess.Popen, number: int, *argv: str) -> None:
        """Stop a run while its netperf measures, and run a command on the sender.

        The controller is stopped until the sender looks for netperf, so that the run cannot end
        before.
        """
        stopped(process, lambda: self.under_way(number), f"run {number} is under way")
        peer = self.lab.data("receiver")
        self.guests("sender", "rm", "-f", "/run/held")
        self.guests.leave("sender", _HOLD, peer, *(argv or ("true",)))
        process.send_signal(signal.SIGCONT)

        def status() -> str:
            assert process.poll() is None, process.communicate()
            return self.guests.sh("sender", "cat /run/held 2>&1 || true").strip()

        wait(lambda: status().isdigit(), f"run {number} stands still")
        assert status() == "0", argv
        self.guests("sender", "rm", "/run/held")

    def under_way(self, number: int) -> bool:
        journal = self.out / "journal.jsonl"
        events = [
            event
            for line in (journal.read_bytes().split(b"\n")[:-1] if journal.exists() else ())
            if (event := json.loads(line)).get("run") == number
        ]
        names = [event["event"] for event in events]
        return names.count("start") > names.count("end") + names.count("interrupted")

    def release(self) -> None:
        """Continue the stopped netperf, and end it as if its time were over."""
        self.guests.sh(
            "sender", "pkill -CONT -f '^netperf -P 0' && pkill -ALRM -f '^netperf -P 0' || true"
        )

    def fire(self, host: str) -> None:
        """Trigger the host's guard, and wait until it has restored everything."""
        self.guests.sh(host, _FIRE)

    def leaves(self) -> dict[str, list[str]]:
        """Return all settings of the data link's driver, queues and interrupts."""
        return {host: self.guests.sh(host, _LEAVES).splitlines() for host in self.lab.hosts}

    def _as_built(self) -> dict[str, list[str]]:
        """Return `leaves`, or nothing while a link is down."""
        leaves = self.leaves()
        return {} if "state DOWN" in str(leaves) else leaves

    def changed(self) -> dict[str, set[str]]:
        """Return the lines of `leaves` that differ from the original state, by host."""
        now = self.leaves()
        return {
            host: {
                *(" ".join(line.split()) for line in now[host] if line not in lines),
                *(f"gone: {line}" for line in lines if line not in now[host]),
            }
            for host, lines in self.original.items()
        }

    def put_back(self, *hosts: str) -> dict[str, set[str]]:
        """Wait until these hosts are as at the start, since a driver may reset its link; return `changed`."""
        now: dict[str, set[str]] = {}

        def unchanged() -> bool:
            now.update(self.changed())
            return not any(now[host] for host in hosts)

        wait(unchanged, lambda: f"not as found: {now}")
        return now

    def as_found(self) -> None:
        """Wait until all hosts are as at the start, without any file or process of ours."""
        self.put_back(*self.lab.hosts)
        for host in self.lab.hosts:
            wait(lambda host=host: not self.guests.sh(host, _OURS), f"nothing of ours is on {host}")

    def statuses(self) -> list[tuple[int, int, str]]:
        """Return (run, attempt, status) of each attempt of a complete and restored campaign."""
        campaign = nl.open(self.out)
        state = campaign.state()
        assert (state["left"], state["not_put_back"]) == (0, [])
        return [(r.run.number, r.attempt, r.status) for r in campaign.records()]
