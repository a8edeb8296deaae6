"""The machines' QEMU processes: started in the lab's switch, recognized again, listened to."""

from __future__ import annotations

import json
import socket
import sys
from pathlib import Path
from typing import Any

from netlimits.lab.guests.images import Image
from netlimits.lab.guests.network import MTU_LIMIT
from netlimits.lab.guests.seed import INITIAL
from netlimits.lab.layout import DATA_LINK, MANAGEMENT_LINK, Guest, Lab
from netlimits.lab.processes import running
from netlimits.lab.programs import output, program

QEMU = "qemu-system-x86_64"

TRANSLATED = 64
"""MiB that each machine may take for translated code under TCG."""

OVERHEAD = TRANSLATED + 64
"""MiB that a machine takes beside its own memory."""

_KERNEL = (
    "console=ttyS0 panic=1 loglevel=3 edd=off net.ifnames=0 random.trust_cpu=on raid=noautodetect "
    "mitigations=off nokaslr"
)

_ALONE = "import os, sys; os.closerange(3, 4096); os.execv(sys.argv[1], sys.argv[1:])"
"""QEMU must not keep the lab's lock. It inherits it until it is in the namespace, where a removal
finds it, and not a moment longer."""

_TRANSLATED_KERNEL = " norandmaps"
"""Where code is translated, it pays that a program lies at the same addresses each time: TCG finds
what it translated before, and a campaign's run takes a third of the CPU."""

_TRUSTED_TSC = " tsc=reliable"
"""Where code is translated, a machine's TSC is this machine's own. With several CPUs a kernel would
not trust it and read the HPET instead, each time by way of QEMU's device lock: commands took half
as much CPU again. It is told to where this machine's kernel does (CLOCKSOURCE): of TSCs that are
apart QEMU makes a clock that runs ahead."""

CLOCKSOURCE = Path("/sys/devices/system/clocksource/clocksource0/current_clocksource")

_ORDERED = 2
"""CPUs from which on QEMU (before 8.1) keeps a guest's memory barriers where code is translated. It
leaves them out where there can be but one CPU, although its devices run beside that: a virtio NIC
then loses a notification at times, and no packet leaves any more."""

_TRANSLATED_CPU = "max,-erms,-fsrm,-avx,-avx2,-la57,-smap"
"""What TCG has, but for what it does slower than what kernel and libraries do without it: copies by
`rep movsb`, wide vectors, five levels of page tables. A machine takes a third less CPU so."""

_START = 60.0


def accelerated(accelerator: str) -> tuple[str, ...]:
    """Options for a machine with KVM (`kvm`) or without (`tcg`)."""
    if accelerator == "kvm":
        return ("-accel", "kvm", "-cpu", "host")
    return ("-accel", f"tcg,thread=multi,tb-size={TRANSLATED}", "-cpu", _TRANSLATED_CPU)


def bare(guest: Guest) -> tuple[str, ...]:
    """Options for a machine without any device."""
    return (
        *(QEMU, "-nodefaults", "-no-user-config", "-machine", "q35", "-display", "none"),
        *("-sandbox", "on,obsolete=deny,resourcecontrol=deny"),
        *("-m", str(guest.memory)),
        *("-smp", f"cpus={guest.cpus},maxcpus={max(guest.cpus, _ORDERED)}"),
    )


def command(lab: Lab, host: str, image: Image) -> tuple[str, ...]:
    """The command that starts a machine of the lab."""
    assert lab.guest
    guest, folder = lab.guest, lab.host_folder(host)
    kernel = f"{_KERNEL} nr_cpus={guest.cpus}"
    if guest.accelerator != "kvm":
        kernel += _TRANSLATED_KERNEL
        if _clocksource() == "tsc":
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
    """Start a machine. Raises LabError with what QEMU says."""
    _, *words = command(lab, host, image)
    output(
        *("ip", "netns", "exec", lab.switch, sys.executable, "-ISc", _ALONE),
        *(program(QEMU), *words),
        deadline=_START,
        label=f"{host}: QEMU",
    )


def _clocksource() -> str:
    """What this machine's kernel reads the time from; nothing where it does not tell."""
    try:
        return CLOCKSOURCE.read_text(encoding="ascii").strip()
    except OSError:
        return ""


def alive(lab: Lab, host: str) -> bool:
    """Whether the machine's QEMU runs: its process is there, and in the lab's switch."""
    return running(lab.host_folder(host) / "qemu.pid", lab.switch) is not None


def console(lab: Lab, host: str) -> list[str]:
    """The last lines of the machine's console; none where its QEMU does not answer."""
    ask = {"device": "console", "size": 65536}
    try:
        text = str(_monitor(lab.host_folder(host) / "qmp", "ringbuf-read", ask))
    except (OSError, ValueError, KeyError):
        return []
    lines = (line.strip() for line in text.replace("\r", "\n").splitlines())
    return [line for line in lines if line]


def _monitor(path: Path, name: str, arguments: dict[str, Any]) -> Any:
    """What QEMU's monitor (QMP) returns to one command."""
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
    """A NIC on a tap; of the management link unless a `guest` says what the data link's is."""
    backend = f"tap,id={name},ifname={tap},script=no,downscript=no,vhost=off"
    device = f"netdev={name},mac={address},romfile="
    if guest is None:
        return ("-netdev", backend, "-device", f"virtio-net-pci,{device}")
    if guest.nic == "e1000e":
        return ("-netdev", backend, "-device", f"e1000e,{device}")
    device += f",rx_queue_size=1024,host_mtu={MTU_LIMIT}"
    if guest.queues > 1:
        backend += f",queues={guest.queues}"
        device += f",mq=on,vectors={2 * guest.queues + 2}"
    return ("-netdev", backend, "-device", f"virtio-net-pci,{device}")
