"""Find out if KVM works by trying it: /dev/kvm may exist and create a guest but never run it.

A machine without devices boots with KVM and another one without it, at the same time; the first to
boot decides. So no time limit has to fit every computer. The result is cached until a reboot.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
import threading
from contextlib import suppress
from pathlib import Path

from netlimits.errors import LabError
from netlimits.lab.guests.images import BOOTED, PROBE, Image
from netlimits.lab.guests.qemu import accelerated, bare
from netlimits.lab.layout import IMAGES, Guest
from netlimits.lab.programs import PATH, program

ACCELERATORS = ("auto", "kvm", "tcg")

_KVM = Path("/dev/kvm")
_BOOT = Path("/proc/sys/kernel/random/boot_id")
_DEADLINE = 120.0


def accelerator(chosen: str, image: Image) -> str:
    """Return `kvm` or `tcg`; `auto` tries both. Raises LabError if neither boots."""
    if chosen != "auto":
        return chosen
    if not os.access(_KVM, os.R_OK | os.W_OK):
        return "tcg"
    cache = IMAGES / f"accelerator-{_BOOT.read_text().strip()}"
    with suppress(OSError):
        if (name := cache.read_text().strip()) in ACCELERATORS:
            return name
    faster = _race(image)
    for old in IMAGES.glob("accelerator-*"):
        old.unlink(missing_ok=True)
    part = cache.with_name(f".{cache.name}")
    part.write_text(f"{faster}\n")
    part.rename(cache)
    return faster


def _race(image: Image) -> str:
    """Return the accelerator with which a machine without devices boots first."""
    ended = threading.Semaphore(0)
    first: list[str] = []
    words: list[str] = []

    def watch(name: str, process: subprocess.Popen[str]) -> None:
        assert process.stdout
        for line in process.stdout:
            if BOOTED in line:
                first.append(name)
                break
            words.append(line.strip())
        ended.release()

    processes = {name: _probe(name, image) for name in ("kvm", "tcg")}
    threads = [threading.Thread(target=watch, args=pair) for pair in processes.items()]
    try:
        for thread in threads:
            thread.start()
        for _ in processes:
            if ended.acquire(timeout=_DEADLINE) and first:
                return first[0]
    finally:
        for process in processes.values():
            process.kill()
        for thread in threads:
            thread.join()
        for process in processes.values():
            process.wait()
            if process.stdout:
                process.stdout.close()
    raise LabError(f"no machine boots here: {' '.join(words)[:300] or 'QEMU printed nothing'}")


def _probe(name: str, image: Image) -> subprocess.Popen[str]:
    """Start a machine without devices, which prints its console and is killed when we are."""
    guest, arguments = Guest(memory=128), f"console=ttyS0 edd=off {PROBE}"
    options = [*bare(guest), *accelerated(name), "-no-reboot", "-serial", "stdio"]
    boot = ["-kernel", str(image.kernel), "-initrd", str(image.initial), "-append", arguments]
    qemu, *words = [*options, *boot]
    return subprocess.Popen(
        [program("setpriv"), "--pdeathsig", "KILL", program(qemu), *words],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        cwd=tempfile.gettempdir(),
        env={"PATH": PATH, "LC_ALL": "C"},
    )
