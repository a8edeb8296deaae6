"""The command that starts a machine, by what this machine is."""

from __future__ import annotations

from pathlib import Path

import pytest

from netlimits.lab.guests import qemu
from netlimits.lab.guests.images import Image
from netlimits.lab.layout import Guest, Lab

IMAGE = Image(Path("/kernel"), Path("/initial"), Path("/root"))


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
