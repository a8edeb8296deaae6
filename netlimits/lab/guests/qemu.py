"""Start the machines' QEMU processes in the lab's switch, and read their consoles."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

from netlimits.lab.guests.images import BOOTED, PROBE, Image
from netlimits.lab.guests.network import MTU_LIMIT
from netlimits.lab.guests.seed import INITIAL
from netlimits.lab.layout import DATA_LINK, IMAGES, MANAGEMENT_LINK, Guest, Lab
from netlimits.lab.programs import PATH, output, program, running

QEMU = "qemu-system-x86_64"

TRANSLATED = 64
"""QEMU's cache of translated code under TCG, in MiB per machine."""

OVERHEAD = TRANSLATED + 64
"""MiB that QEMU needs in addition to the machine's memory."""

_KERNEL = (
    "console=ttyS0 panic=1 loglevel=3 edd=off net.ifnames=0 random.trust_cpu=on raid=noautodetect "
    "mitigations=off nokaslr"
)

_WITHOUT_LOCK = "import os, sys; os.closerange(3, 4096); os.execv(sys.argv[1], sys.argv[1:])"
"""Close the lab's lock, then execute QEMU.

The process keeps the inherited lock until it is in the namespace. There a removal finds it.
"""

_TRANSLATED_KERNEL = " norandmaps"
"""With TCG, disable address randomization, so that programs are translated only once.

A run of a campaign then takes a third of the CPU time.
"""

_TRUSTED_TSC = " tsc=reliable"
"""With TCG, a guest's TSC is this machine's TSC.

Without this option, a guest with several CPUs does not trust the TSC. It reads the HPET instead,
through QEMU's device lock, and commands take 1.5 times the CPU time. The option is set only if this
machine's kernel uses the TSC too (CLOCKSOURCE). With unsynchronized TSCs, the guest's clock would
run ahead.
"""

CLOCKSOURCE = Path("/sys/devices/system/clocksource/clocksource0/current_clocksource")

_ORDERED = 2
"""Minimum value of QEMU's `maxcpus`, so that QEMU before 8.1 keeps memory barriers under TCG.

With a single CPU, QEMU omits the barriers, although its devices run in parallel. A virtio NIC then
sometimes loses a notification and sends no more packets.
"""

_TRANSLATED_CPU = "max,-erms,-fsrm,-avx,-avx2,-la57,-smap"
"""All CPU features of TCG, except those that it emulates slowly.

The slow features are copies by `rep movsb`, wide vectors, five-level page tables and SMAP. Without
them a machine takes a third less CPU time.
"""

_START = 60.0

ACCELERATORS = ("auto", "kvm", "tcg")

_KVM = Path("/dev/kvm")
_BOOT = Path("/proc/sys/kernel/random/boot_id")
_PROBING = 15.0
"""Maximum seconds for a machine without devices to boot with KVM; usually it takes one second."""


def accelerated(accelerator: str) -> tuple[str, ...]:
    if accelerator == "kvm":
        return ("-accel", "kvm", "-cpu", "host")
    return ("-accel", f"tcg,thread=multi,tb-size={TRANSLATED}", "-cpu", _TRANSLATED_CPU)


def bare(guest: Guest) -> tuple[str, ...]:
    return (
        *(QEMU, "-nodefaults", "-no-user-config", "-machine", "q35", "-display", "none"),
        *("-sandbox", "on,obsolete=deny,resourcecontrol=deny"),
        *("-m", str(guest.memory)),
        *("-smp", f"cpus={guest.cpus},maxcpus={max(guest.cpus, _ORDERED)}"),
        *_nodes(guest),
    )


def _nodes(guest: Guest) -> tuple[str, ...]:
    """Return QEMU's options for NUMA nodes, which share CPUs and memory equally."""
    if guest.nodes < 2:
        return ()
    words: list[str] = []
    for node in range(guest.nodes):
        first, last = (guest.cpus * at // guest.nodes for at in (node, node + 1))
        size = guest.memory * (node + 1) // guest.nodes - guest.memory * node // guest.nodes
        words += ["-object", f"memory-backend-ram,id=node{node},size={size}M"]
        words += ["-numa", f"node,nodeid={node},memdev=node{node},cpus={first}-{last - 1}"]
    return tuple(words)


def command(lab: Lab, host: str, image: Image) -> tuple[str, ...]:
    assert lab.guest
    guest, folder = lab.guest, lab.host_folder(host)
    kernel = f"{_KERNEL} nr_cpus={guest.cpus}"
    if guest.accelerator != "kvm":
        kernel += _TRANSLATED_KERNEL
        if CLOCKSOURCE.exists() and CLOCKSOURCE.read_text().strip() == "tsc":
            kernel += _TRUSTED_TSC
    return (
        *bare(guest),
        *accelerated(guest.accelerator),
        *("-daemonize", "-pidfile", str(folder / "qemu.pid"), "-name", lab.namespace(host)),
        *("-kernel", str(image.kernel), "-initrd", str(folder / INITIAL), "-append", kernel),
        *("-drive", f"file={image.root},format=raw,if=none,id=root,readonly=on"),
        *("-device", "virtio-blk-pci,drive=root"),
        *("-chardev", "ringbuf,id=console,size=65536", "-serial", "chardev:console"),
        *("-qmp", f"unix:{folder / 'qmp'},server=on,wait=off"),
        *_nic("mgmt", lab.management_port(host), lab.link_address(host, MANAGEMENT_LINK)),
        *_nic("data", lab.data_port(host), lab.link_address(host, DATA_LINK), guest),
    )


def start(lab: Lab, host: str, image: Image) -> None:
    _, *words = command(lab, host, image)
    output(
        *("ip", "netns", "exec", lab.switch, sys.executable, "-ISc", _WITHOUT_LOCK),
        *(program(QEMU), *words),
        deadline=_START,
        label=f"{host}: QEMU",
    )


def alive(lab: Lab, host: str) -> bool:
    return running(lab.host_folder(host) / "qemu.pid", lab.switch) is not None


def console(lab: Lab, host: str) -> list[str]:
    ask = {"device": "console", "size": 65536}
    try:
        text = str(_monitor(lab.host_folder(host) / "qmp", "ringbuf-read", ask))
    except (OSError, ValueError, KeyError):
        return []
    lines = (line.strip() for line in text.replace("\r", "\n").splitlines())
    return [line for line in lines if line]


def _monitor(path: Path, name: str, arguments: dict[str, Any]) -> Any:
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(5)
        connection.connect(str(path))
        with connection.makefile("rw") as stream:
            stream.readline()
            for ask in ({"execute": "qmp_capabilities"}, {"execute": name, "arguments": arguments}):
                stream.write(json.dumps(ask) + "\n")
                stream.flush()
                while "event" in (reply := json.loads(stream.readline())):
                    pass
    return reply["return"]


def _nic(name: str, tap: str, address: str, guest: Guest | None = None) -> tuple[str, ...]:
    """Return QEMU's options for a NIC on a tap: the data NIC if `guest` is given, else `mgmt0`."""
    backend = f"tap,id={name},ifname={tap},script=no,downscript=no,vhost=off"
    device = f"netdev={name},mac={address},romfile="
    if guest is None:
        return ("-netdev", backend, "-device", f"virtio-net-pci,{device}")
    if guest.nic == "e1000e":
        return ("-netdev", backend, "-device", f"e1000e,{device}")
    device += f",rx_queue_size=1024,host_mtu={MTU_LIMIT}"
    if guest.queues > 1:
        backend += f",queues={guest.queues}"
        device += f",mq=on,rss=on,vectors={2 * guest.queues + 2}"
    return ("-netdev", backend, "-device", f"virtio-net-pci,{device}")


def accelerator(chosen: str, image: Image) -> str:
    """Return `kvm` or `tcg`; for `auto`, test KVM once after each boot of this machine."""
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
    _, *words = [*options, *boot]
    with suppress(subprocess.TimeoutExpired):
        ran = subprocess.run(
            [program("setpriv"), "--pdeathsig", "KILL", program(QEMU), *words],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_PROBING,
            cwd=tempfile.gettempdir(),
            env={"PATH": PATH, "LC_ALL": "C"},
            check=False,
        )
        return BOOTED.encode() in ran.stdout
    return False
