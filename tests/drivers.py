"""Campaigns on the lab's machines: what of a machine they change, broken while a run stands still."""

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
"""Interrupts by name: their numbers are another boot's own."""

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
"""Stop netperf once its connections stand, for control and for data; then run a command."""

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
"""Its time is in 3 s, by its own clock; it has put back twice when it says that it is done."""


class Drivers:
    """A lab's machines, netlimits run on them, and what was found there."""

    def __init__(self, lab: labs.Lab, guests: Guests, folder: Path) -> None:
        self.lab, self.guests, self.folder = lab, guests, folder
        self.hosts = ("--hosts", str(lab.hosts_file))
        self.out = folder / "out"
        self.original = wait(self._as_built, "the links are up")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        """What a failed test left is put back, so that the next one finds machines as they were."""
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
        """What `netlimits ARGV` says, ended as it should."""
        with self.begun(*argv) as process:
            return self.ended(process, status)

    @contextmanager
    def begun(self, *argv: object) -> Iterator[subprocess.Popen]:
        """`netlimits ARGV` on its way, and not beyond `with`."""
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
            if not process.stdout.closed:  # nobody has heard it out
                process.communicate()

    def ended(self, process: subprocess.Popen, status: int) -> str:
        """What it said, once it ended as it should."""
        printed, _ = process.communicate(timeout=4 * LONG)
        assert process.returncode == status, printed
        assert "Traceback" not in printed, printed
        return printed

    def held(self, process: subprocess.Popen, number: int, *argv: str) -> None:
        """Have a run stand still while its netperf measures, and do something on the sender.

        The campaign stands still until the sender looks for netperf, so that it cannot be over before.
        """
        stopped(process, lambda: self._under_way(number), f"run {number} is under way")
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

    def _under_way(self, number: int) -> bool:
        journal = self.out / "journal.jsonl"
        events = [
            event
            for line in (journal.read_bytes().split(b"\n")[:-1] if journal.exists() else ())
            if (event := json.loads(line)).get("run") == number
        ]
        names = [event["event"] for event in events]
        return names.count("start") > names.count("end") + names.count("interrupted")

    def release(self) -> None:
        """Have the run go on that stands still, and end: netperf hears that its time is up."""
        self.guests.sh(
            "sender", "pkill -CONT -f '^netperf -P 0' && pkill -ALRM -f '^netperf -P 0' || true"
        )

    def fire(self, host: str) -> None:
        """The time of the host's guard has come; wait until it has put back all that it shall."""
        self.guests.sh(host, _FIRE)

    def leaves(self) -> dict[str, list[str]]:
        """All that a driver, a queue or an interrupt of the data link's can be set to."""
        return {host: self.guests.sh(host, _LEAVES).splitlines() for host in self.lab.hosts}

    def _as_built(self) -> dict[str, list[str]]:
        """`leaves`, once all links are up."""
        leaves = self.leaves()
        return {} if "state DOWN" in str(leaves) else leaves

    def changed(self) -> dict[str, set[str]]:
        """Of each host the lines that are not as they were found, and those that are gone."""
        now = self.leaves()
        return {
            host: {
                *(" ".join(line.split()) for line in now[host] if line not in lines),
                *(f"gone: {line}" for line in lines if line not in now[host]),
            }
            for host, lines in self.original.items()
        }

    def put_back(self, *hosts: str) -> dict[str, set[str]]:
        """`changed`, once nothing is on these hosts: a driver may take its link down for a while."""
        now: dict[str, set[str]] = {}

        def unchanged() -> bool:
            now.update(self.changed())
            return not any(now[host] for host in hosts)

        wait(unchanged, lambda: f"not as found: {now}")
        return now

    def as_found(self) -> None:
        """Every leaf as it was, and nothing of ours there."""
        self.put_back(*self.lab.hosts)
        for host in self.lab.hosts:
            wait(lambda host=host: not self.guests.sh(host, _OURS), f"nothing of ours is on {host}")

    def statuses(self) -> list[tuple[int, int, str]]:
        """(run, attempt, status) of each attempt, which nothing is left of to do or to put back."""
        campaign = nl.open(self.out)
        state = campaign.state()
        assert (state["left"], state["not_put_back"]) == (0, [])
        return [(r.run.number, r.attempt, r.status) for r in campaign.records()]
