"""Find out if KVM works by trying it: /dev/kvm may exist and create a guest but never run it."""

from __future__ import annotations

import os
import subprocess
import tempfile
from contextlib import suppress
from pathlib import Path

from netlimits.lab.guests.images import BOOTED, PROBE, Image
from netlimits.lab.guests.qemu import accelerated, bare
from netlimits.lab.layout import IMAGES, Guest
from netlimits.lab.programs import PATH, program

ACCELERATORS = ("auto", "kvm", "tcg")

_KVM = Path("/dev/kvm")
_BOOT = Path("/proc/sys/kernel/random/boot_id")
_DEADLINE = 15.0
"""Seconds for a machine without devices to boot with KVM, which takes one."""


def accelerator(chosen: str, image: Image) -> str:
    """Return `kvm` or `tcg`; `auto` tries KVM, once until a reboot."""
    if chosen != "auto":
        return chosen
    if not os.access(_KVM, os.R_OK | os.W_OK):
        return "tcg"
    cache = IMAGES / f"accelerator-{_BOOT.read_text().strip()}"
    with suppress(OSError):
        if (name := cache.read_text().strip()) in ACCELERATORS:
            return name
    name = "kvm" if _boots(image) else "tcg"
    for old in IMAGES.glob("accelerator-*"):
        old.unlink(missing_ok=True)
    part = cache.with_name(f".{cache.name}")
    part.write_text(f"{name}\n")
    part.rename(cache)
    return name


def _boots(image: Image) -> bool:
    """Return True if a machine without devices boots with KVM."""
    guest, arguments = Guest(memory=128), f"console=ttyS0 edd=off {PROBE}"
    options = [*bare(guest), *accelerated("kvm"), "-no-reboot", "-serial", "stdio"]
    boot = ["-kernel", str(image.kernel), "-initrd", str(image.initial), "-append", arguments]
    qemu, *words = [*options, *boot]
    with suppress(subprocess.TimeoutExpired):
        ran = subprocess.run(
            [program("setpriv"), "--pdeathsig", "KILL", program(qemu), *words],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_DEADLINE,
            cwd=tempfile.gettempdir(),
            env={"PATH": PATH, "LC_ALL": "C"},
            check=False,
        )
        return BOOTED.encode() in ran.stdout
    return False
