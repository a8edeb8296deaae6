"""A campaign on two simulated machines: `campaign.py EXPERIMENT FOLDER`.

It prints what the checks find, how the runs end, and the lengths written to the transmit queue.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pairs
from simulated import SimulatedMachine

from netlimits.campaign import creation
from netlimits.campaign.interrupt import Stop
from netlimits.campaign.schedule import in_order
from netlimits.campaign.session import Session
from netlimits.checks.survey import survey
from netlimits.experiment import load, plan
from netlimits.model import Command, Completed


class ToyMachine(SimulatedMachine):
    """Knows the programs of the new objects too."""

    def __init__(self, role: str, address: str) -> None:
        super().__init__(role, address)
        self.length, self.broken, self.written = "1000", 0, [""]

    def __call__(self, command: Command) -> Completed:
        match command.argv:
            case ("qperf", "--version"):
                return self._say(command, "qperf 0.4.11\n")
            case ("qperf", *words) if "-t" in words:
                return self._say(command, pairs.text("qperf", "tcp"))
            case ("qperf", *_):
                self.serving = True
                return self._say(command, "")
            case ("ss", *_) if self.serving:
                ports = "".join(f"LISTEN 0 5 {self.address}:{p} *\n" for p in (19765, 12865))
                return self._say(command, ports)
            case ("cat", path) if path.endswith("/tx_queue_len"):
                return self._say(command, f"{self.length}\n")
            case ("tee", path) if path.endswith("/tx_queue_len"):
                self.length = command.stdin.strip()
                self.written.append(self.length)
                return self._say(command, "")
            case ("barometer",):
                return self._say(command, "storm\n")
            case ("cat", "/proc/toys"):
                self.broken += 7
                return self._say(command, f"{self.broken}\n")
        return super().__call__(command)


def main(experiment_file: str, folder: str) -> None:
    """Run the experiment."""
    two = {
        "sender": ToyMachine("sender", "192.0.2.1"),
        "receiver": ToyMachine("receiver", "192.0.2.2"),
    }
    planned = plan.Plan(plan.seeded(load.load(Path(experiment_file))))
    machines = {role: machine.machine() for role, machine in two.items()}
    surveyed = survey(planned, machines, {role: m.host() for role, m in two.items()})
    for finding in surveyed.findings:
        print(finding)
    campaign = creation.create(planned, surveyed, Path(folder))
    campaign.archive.lock()
    hosts = {role: m.host() for role, m in two.items()}
    session = Session(
        campaign.archive, planned, surveyed, hosts, lambda machine: two[machine.role].host()
    )
    with session.open():
        in_order(session, Stop(), lambda _: None)
    campaign.archive.close()
    for record in campaign.records():
        print(f"run {record.run.number}: {record.status} {record.reason}".rstrip())
    print(f"written{' '.join(two['sender'].written)}")


if __name__ == "__main__":
    main(*sys.argv[1:])
