"""The command that starts a machine, by what this machine is."""

from __future__ import annotations

from pathlib import Path

import pytest

from netlimits.lab.guests import qemu
from netlimits.lab.guests.images import Image
from netlimits.lab.layout import Guest, Lab

IMAGE = Image(Path("/kernel"), Path("/initial"), Path("/root"))


def test_each_node_has_its_part_of_cpus_and_memory():
    words = qemu.bare(Guest(cpus=5, nodes=2, memory=241))
    assert words[-8:] == (
        "-object", "memory-backend-ram,id=node0,size=120M",
        "-numa", "node,nodeid=0,memdev=node0,cpus=0-1",
        "-object", "memory-backend-ram,id=node1,size=121M",
        "-numa", "node,nodeid=1,memdev=node1,cpus=2-4",
    )  # fmt: skip
    assert "-numa" not in qemu.bare(Guest(cpus=2))


@pytest.mark.parametrize(
    ("accelerator", "clocksource", "trusted"),
    [
        ("tcg", "tsc", True),
        ("tcg", "kvm-clock", False),
        ("tcg", None, False),
        ("kvm", "tsc", False),
    ],
)
def test_a_translated_machine_trusts_a_tsc_that_this_machine_trusts(
    accelerator: str,
    clocksource: str | None,
    trusted: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
):
    """With KVM it has a clock of its own."""
    path = tmp_path / "current_clocksource"
    if clocksource:
        path.write_text(f"{clocksource}\n")
    monkeypatch.setattr(qemu, "CLOCKSOURCE", path)
    lab = Lab("x", 0, 2, 1500, Guest(cpus=2, accelerator=accelerator))
    words = qemu.command(lab, "sender", IMAGE)
    line = words[words.index("-append") + 1]
    assert ("tsc=reliable" in line.split()) == trusted
