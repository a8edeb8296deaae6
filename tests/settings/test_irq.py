"""Interrupt affinity: on captured text, and read (never written) on this machine."""

from __future__ import annotations

from pathlib import Path

import jsonschema
import pairs
import pytest
from undoing import ListLog

from netlimits.errors import SettingError
from netlimits.hosts.local import local_host
from netlimits.hosts.scripted import ScriptedHost, answer
from netlimits.model import Command, Completed
from netlimits.restore.changes import Changes, current
from netlimits.settings import setting

IRQ = setting("irq")
STATE = pairs.state(IRQ, "virtio")
"""Of a NIC with a configuration, a receive and a send interrupt."""


@pytest.mark.parametrize("name", pairs.names("settings/irq"))
def test_each_capture_gives_what_its_pair_expects(name):
    pairs.check("settings/irq", name)


def test_what_is_written():
    commands = IRQ.change("data0", {**STATE, "38": "1"}, {"cpus": 1})
    assert [(c.argv, c.stdin, c.sudo) for c in commands] == [
        (("tee", "/proc/irq/37/smp_affinity_list"), "1\n", True),
        (("tee", "/proc/irq/39/smp_affinity_list"), "1\n", True),
    ]
    assert IRQ.change("data0", STATE, {"cpus": "0,1"}) == (), "another way to write the same"
    assert IRQ.change("data0", {}, {"cpus": "0"}) == ()
    back = IRQ.undo("data0", STATE, {**STATE, "38": "1"})
    assert [(c.argv[1], c.stdin) for c in back] == [("/proc/irq/38/smp_affinity_list", "0-1\n")]
    assert len(IRQ.undo("data0", STATE, {})) == 3, "from a state that nobody has looked at"


def test_one_interrupt_a_queue_on_one_cpu_each():
    """The two interrupts of a queue share a CPU; that of the configuration is left alone."""
    state = pairs.state(IRQ, "named")
    commands = IRQ.change("data0", state, {"spread": "cpus"})
    assert [(c.argv[1].split("/")[3], c.stdin) for c in commands] == [
        ("25", "0\n"), ("26", "0\n"), ("27", "1\n"), ("28", "1\n"),
    ]  # fmt: skip
    assert IRQ.change("data0", state, {"spread": "local-node"}) == commands, "the node has 0-1"
    assert [c.stdin for c in IRQ.change("data0", state, {"spread": "2"})] == ["2\n"] * 4
    on = {**state, "25": "0", "26": "0", "27": "1", "28": "1"}
    assert IRQ.unmet(on, {"spread": "cpus"}) == ()
    assert len(IRQ.undo("data0", state, on)) == 4


@pytest.mark.parametrize(
    ("name", "queue"),
    [("eth0-TxRx-3", 3), ("mlx5_comp2@pci:0000:01:00.0", 2), ("ens5-Tx-Rx-1", 1), ("eth0", None),
     ("virtio2-config", None), ("mlx5_async@pci:0000:01:00.0", None), ("eth0-rx-0", 0)],
)  # fmt: skip
def test_the_queue_is_in_an_interrupts_name(name, queue):
    state = {"online": "0-7", "24": "0", "25": "0", "queues": f"24={name} 25=x-output.5"}
    moved = IRQ.change("data0", state, {"spread": "1-2"})
    assert len(moved) == (1 if queue is None else 2)


def test_a_cpu_that_is_not_there():
    with pytest.raises(SettingError, match="CPU 2 is not there; online are 0-1"):
        IRQ.change("data0", STATE, {"cpus": "1-3"})
    with pytest.raises(SettingError, match="1-0 is a descending range"):
        IRQ.change("data0", STATE, {"cpus": "1-0"})


def test_an_interrupt_that_is_gone_or_new_needs_nothing_put_back():
    fewer = {n: cpus for n, cpus in STATE.items() if n != "39"}
    assert IRQ.differences(STATE, fewer) == ()
    assert IRQ.undo("data0", STATE, fewer) == ()
    assert IRQ.differences(fewer, STATE) == ()
    assert IRQ.differences(STATE, {**STATE, "37": "1"}) == (
        "interrupt 37 is on CPUs 1, was on CPUs 0-1",
    )


class Kernel:
    """The interrupts of one NIC; those in `managed` cannot be moved, as the kernel has it."""

    def __init__(self, *managed: str) -> None:
        self.on = {n: cpus for n, cpus in STATE.items() if n != "online"}
        self.managed = managed

    def __call__(self, command: Command) -> Completed:
        if command.argv[0] == "sh":
            lines = "".join(f"{n} {cpus}\n" for n, cpus in self.on.items())
            return answer(command, f"online 0-1\n{lines}")
        assert command.argv[0] == "tee"
        assert command.sudo
        number = command.argv[1].split("/")[3]
        if number in self.managed:
            complaint = f"tee: {command.argv[1]}: Input/output error\n"
            return answer(command, command.stdin, complaint, 1)
        self.on[number] = command.stdin.strip()
        return answer(command, command.stdin)


def test_set_read_back_and_put_back():
    kernel = Kernel()
    host = ScriptedHost(kernel)
    changes = Changes(lambda _: host, ListLog(lambda _: host))
    changes.reach("sender", "eth0", "irq", {"cpus": 0})
    assert set(kernel.on.values()) == {"0"}
    kernel.on["40"] = "0-1"  # a channel more: found now, and put back with the others
    changes.reach("sender", "eth0", "irq", {"cpus": 1})
    assert set(kernel.on.values()) == {"1"}
    changes.restore()
    assert kernel.on == {"37": "0-1", "38": "0-1", "39": "0-1", "40": "0-1"}


def test_an_interrupt_that_the_kernel_manages_is_reported():
    kernel = Kernel("38")
    host = ScriptedHost(kernel)
    changes = Changes(lambda _: host, ListLog(lambda _: host))
    with pytest.raises(
        SettingError, match=r"interrupt 38 stays on CPUs 0-1, not CPUs 0 .*Input/output"
    ):
        changes.reach("sender", "eth0", "irq", {"cpus": 0})
    changes.restore()
    assert kernel.on == Kernel().on


@pytest.mark.parametrize("wrong", [{}, {"cpus": ""}, {"cpus": "0;1"}, {"cpus": 0, "mask": 1}])
def test_what_the_schema_refuses(wrong):
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(wrong, IRQ.schema)


def test_this_machines_own_interfaces_read_only():
    """Every interface is read; what it shows is what /proc and /sys say by themselves."""
    host = local_host("sender")
    try:
        for folder in Path("/sys/class/net").iterdir():
            parents = [folder / "device", folder / "device/.."]
            own = [p / "msi_irqs" for p in parents if (p / "msi_irqs").is_dir()]
            if not (folder / "device").exists():
                with pytest.raises(SettingError, match=f"{folder.name} has no interrupts"):
                    current(host, "irq", folder.name, {})
            elif own:
                state = current(host, "irq", folder.name, {})
                numbers = {p.name for p in own[0].iterdir() if Path("/proc/irq", p.name).exists()}
                assert state.keys() - {"online", "local", "queues"} == numbers
                for number in numbers:
                    shown = Path("/proc/irq", number, "smp_affinity_list").read_text().strip()
                    assert state[number] == shown
    finally:
        host.close()
