"""Whether KVM works here, by trying: /dev/kvm may be there, let a guest be made, and never run it.

A bare machine boots with KVM and another one without, at the same time; if the one with KVM is not
the first to be up, or never is, KVM is of no use. So no time limit has to suit every machine. The
verdict is kept until this machine boots again.
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
    """`kvm` or `tcg`, as chosen or, with `auto`, as tried. Raises LabError if neither boots."""
    if chosen != "auto":
        return chosen
    if not os.access(_KVM, os.R_OK | os.W_OK):
        return "tcg"
    verdict = IMAGES / f"accelerator-{_BOOT.read_text().strip()}"
    with suppress(OSError):
        if (name := verdict.read_text().strip()) in ACCELERATORS:
            return name
    faster = _race(image)
    for old in IMAGES.glob("accelerator-*"):
        old.unlink(missing_ok=True)
    part = verdict.with_name(f".{verdict.name}")
    part.write_text(f"{faster}\n")
    part.rename(verdict)
    return faster


def _race(image: Image) -> str:
    """The accelerator with which a bare machine was up first."""
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
    raise LabError(f"no machine boots here: {' '.join(words)[:300] or 'QEMU says nothing'}")


def _probe(name: str, image: Image) -> subprocess.Popen[str]:
    """Start a bare machine; its console is its output, and it dies with us."""
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
