"""Download the kernel of the machines: a package of the distribution, unpacked, not installed."""

from __future__ import annotations

import hashlib
import lzma
import platform
import re
import shutil
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from netlimits.errors import LabError
from netlimits.lab.layout import IMAGES
from netlimits.lab.programs import output

PACKAGES = {
    "virtio": ("linux-image-cloud-amd64", "linux-image-virtual"),
    "e1000e": ("linux-image-amd64", "linux-image-generic"),
}
"""NIC -> packages of the smallest kernel with its driver, on Debian and on Ubuntu."""

_MODULES = (
    "drivers/block/virtio_blk.ko*",
    "drivers/net/bonding/bonding.ko*",
    "drivers/net/dummy.ko*",
    "drivers/net/ethernet/intel/e1000e/*.ko*",
    "drivers/net/geneve.ko*",
    "drivers/net/ifb.ko*",
    "drivers/net/ipvlan/*.ko*",
    "drivers/net/macvlan.ko*",
    "drivers/net/team/*.ko*",
    "drivers/net/tun.ko*",
    "drivers/net/veth.ko*",
    "drivers/net/virtio_net.ko*",
    "drivers/net/vrf.ko*",
    "drivers/net/vxlan/*.ko*",
    "drivers/net/wireguard/*.ko*",
    "drivers/virtio/virtio_pci.ko*",
    "fs/overlayfs/*.ko*",
    "fs/squashfs/*.ko*",
    "net/8021q/*.ko*",
    "net/bridge/bridge.ko*",
    "net/ipv4/*.ko*",
    "net/ipv4/netfilter/ip*table*.ko*",
    "net/netfilter/x*_tables.ko*",
    "net/netfilter/xt_statistic.ko*",
    "net/netfilter/xt_tcpudp.ko*",
    "net/packet/*.ko*",
    "net/sched/*.ko*",
)
"""Kernel modules that machines need; their dependencies are added."""

KEPT = hashlib.sha256("\n".join(_MODULES).encode()).hexdigest()[:8]
"""Hash of `_MODULES`: if the list changes, the kernel is downloaded again."""

_UPDATE, _DOWNLOAD = 180.0, 900.0
_XZ = b"\xfd7zXZ\0"

_ENTRY = re.compile(rb"\x04\0\0\0[\x04\x08]\0\0\0\x12\0\0\0Xen\0")
"""The ELF note with the entry point for PVH boot (Xen's `PHYS32_ENTRY`)."""

_KERNEL_PACKAGE = re.compile(r"\s*Depends: (linux-(?:image|modules)-\S+)")


@dataclass(frozen=True, slots=True)
class Kernel:
    """An unpacked package: `folder` holds a kernel and `lib/modules/VERSION`."""

    folder: Path
    version: str

    @property
    def image(self) -> Path:
        plain = self.folder / "vmlinux"
        return plain if plain.exists() else self.folder / "vmlinuz"

    @property
    def modules(self) -> Path:
        """The folder of the kernel's modules, with the index files of `modprobe`."""
        return self.folder / "lib/modules" / self.version

    def needed(self, *modules: str) -> tuple[Path, ...]:
        """Return the module files to load, dependencies first; built-in modules have no file."""
        files: list[Path] = []
        for module in modules:
            for line in output(
                *("modprobe", "-d", str(self.folder), "-S", self.version),
                *("--show-depends", module),
            ).splitlines():
                words = line.split()
                if words[0] == "insmod" and Path(words[1]) not in files:
                    files.append(Path(words[1]))
        return tuple(files)


def kernel(nic: str, say: Callable[[str], None]) -> Kernel:
    """Return the kernel for machines with a NIC; download it if needed. Raises LabError."""
    if platform.machine() != "x86_64":
        raise LabError(f"machines need an x86-64 computer, and this one is {platform.machine()}")
    folder = IMAGES / f"kernel-{nic}-{KEPT}"
    if not folder.is_dir():
        work = IMAGES / f".kernel-{nic}"
        with suppress(FileNotFoundError):
            shutil.rmtree(work)
        work.mkdir(parents=True)
        try:
            _fetch(nic, work, say)
            (work / "kernel").rename(folder)
        finally:
            shutil.rmtree(work)
    return Kernel(folder, (folder / "version").read_text().strip())


def _fetch(nic: str, work: Path, say: Callable[[str], None]) -> None:
    work.chmod(0o755)  # apt downloads as an unprivileged user
    for name in ("lists/partial", "cache/archives/partial"):
        (work / name).mkdir(parents=True)
    own = (
        *("-qq", "-o", f"Dir::State::lists={work}/lists", "-o", f"Dir::Cache={work}/cache"),
        *("-o", "Acquire::Languages=none", "-o", "Acquire::Retries=3"),
    )
    say("reading the package lists, for a kernel that machines can boot")
    output("apt-get", *own, "update", deadline=_UPDATE)
    packages = _packages(nic, own)
    say(f"downloading {' '.join(packages)} (only once)")
    output(
        *("sh", "-c", 'cd "$1" && shift && exec "$@"', "sh", str(work)),
        *("apt-get", *own, "download", *packages),
        deadline=_DOWNLOAD,
    )
    for package in work.glob("*.deb"):
        output("dpkg-deb", "-x", str(package), str(work / "unpacked"), deadline=_UPDATE)
    _select(work / "unpacked", work / "kernel")


def _packages(nic: str, own: tuple[str, ...]) -> list[str]:
    """Return the packages of a kernel and its modules, which a metapackage depends on."""
    for name in PACKAGES[nic]:
        if not output("apt-cache", *own, "show", name, may_fail=True).strip():
            continue
        packages: list[str] = []
        pending = [name]
        while pending:
            depends = output("apt-cache", *own, "depends", "--important", pending.pop())
            for line in depends.splitlines():
                match = _KERNEL_PACKAGE.match(line)
                if match and match[1] not in packages:
                    packages.append(match[1])
                    pending.append(match[1])
        if packages:
            return packages
    raise LabError(f"apt finds no package {' or '.join(PACKAGES[nic])} with a kernel to boot")


def _plain(module: Path, target: Path) -> None:
    """Copy a module and uncompress it, as busybox requires."""
    if module.suffix == ".zst":
        output("zstd", "-dqf", str(module), "-o", str(target.with_suffix("")))
    elif module.suffix == ".xz":
        target.with_suffix("").write_bytes(lzma.decompress(module.read_bytes()))
    else:
        shutil.copyfile(module, target)


def bootable(image: bytes) -> bytes:
    """Return the uncompressed kernel of an image if QEMU can boot it directly, else b"".

    Without KVM, a machine takes longer to decompress xz than to boot.
    """
    for match in re.finditer(re.escape(_XZ), image):
        stream = lzma.LZMADecompressor()
        with suppress(lzma.LZMAError):
            plain = stream.decompress(image[match.start() :])
            if stream.eof and plain.startswith(b"\x7fELF") and _ENTRY.search(plain):
                return plain
    return b""


def _select(unpacked: Path, kept: Path) -> None:
    """Copy the kernel and the modules that machines need to `kept`."""
    usr = unpacked / "usr" if (unpacked / "usr/lib/modules").is_dir() else unpacked
    (image,) = (unpacked / "boot").glob("vmlinuz-*")
    version = image.name.removeprefix("vmlinuz-")
    tree = usr / "lib/modules" / version
    merged = kept.parent / "merged"  # depmod and modprobe only search lib/modules
    (merged / "lib/modules").mkdir(parents=True)
    tree.rename(merged / "lib/modules" / version)
    output("depmod", "-b", str(merged), version, deadline=_UPDATE)
    complete = Kernel(merged, version)
    names = {
        path.name.partition(".")[0]
        for pattern in _MODULES
        for path in (complete.modules / "kernel").glob(pattern)
    }
    modules = kept / "lib/modules" / version
    for path in complete.needed(*sorted(names)):
        target = modules / path.relative_to(complete.modules)
        target.parent.mkdir(parents=True, exist_ok=True)
        _plain(path, target)
    for path in complete.modules.glob("modules.*"):
        if path.name.startswith(("modules.builtin", "modules.order")) and not path.name.endswith(
            ".bin"
        ):
            shutil.copyfile(path, modules / path.name)
    output("depmod", "-b", str(kept), version, deadline=_UPDATE)
    packed = image.read_bytes()
    plain = bootable(packed)
    (kept / ("vmlinux" if plain else "vmlinuz")).write_bytes(plain or packed)
    (kept / "version").write_text(f"{version}\n")
