"""Create the root file system of machines and the initial file system that mounts it.

The root is a squashfs that all machines with the same kernel share. It is not compressed, since
decompression would slow down each boot. It is reused until the kernel or a copied file changes.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import msgspec

from netlimits.lab.guests import contents
from netlimits.lab.guests.kernels import KEPT, Kernel, kernel
from netlimits.lab.guests.seed import Entry, archive
from netlimits.lab.layout import ENGINEER, IMAGES
from netlimits.lab.programs import PATH, need, output
from netlimits.model import decoding

BOOTED = "netlimits: booted"
"""The first line that the initial file system prints on the console."""

PROBE = "netlimits.probe"
"""Word on the kernel's command line that makes a machine print BOOTED and power off."""

_UNUSED = 30 * 86400.0
"""Seconds after which an unused image is deleted. A wrong clock only causes a rebuild."""

_BOOT_MODULES = ("virtio_pci", "virtio_blk", "squashfs", "overlay", "virtio_net")

_INIT = f"""\
#!/bin/busybox sh
b=/bin/busybox
$b mount -t proc proc /proc
$b mount -t devtmpfs dev /dev
echo "{BOOTED}"
case " $($b cat /proc/cmdline) " in *" {PROBE} "*) $b poweroff -f ;; esac
$b mount -t sysfs sys /sys
for module in /modules/*; do $b insmod "$module"; done
until [ -b /dev/vda ]; do $b sleep 0.02; done
$b mount -t squashfs -o ro /dev/vda /lower
$b mount -t tmpfs -o mode=755 upper /upper
$b mkdir /upper/changed /upper/work
$b mount -t overlay -o lowerdir=/lower,upperdir=/upper/changed,workdir=/upper/work root /root
$b cp -r /host/. /root/etc/
for folder in proc sys dev; do $b mount --move /$folder /root/$folder; done
exec $b switch_root /root /usr/sbin/init
"""


@dataclass(frozen=True, slots=True)
class Image:
    kernel: Path
    initial: Path
    root: Path


def image(nic: str, say: Callable[[str], None]) -> Image:
    """Return the image for machines with a NIC; create it if needed. Raises LabError."""
    need("qemu-system-x86_64", "mksquashfs", "busybox", "depmod")
    contents.check()
    with _locked():
        chosen = kernel(nic, say)
        texts = _digest([json.dumps([contents.texts(), contents.links(), _INIT, KEPT]).encode()])
        for folder in IMAGES.glob(f"root-{chosen.version}-*"):
            if _current(folder, texts):
                os.utime(folder)
                return Image(chosen.image, folder / "initrd", folder / "root.squashfs")
        say("creating the machines' root file system from this machine's programs (only once)")
        return _build(chosen, texts)


@contextmanager
def _locked() -> Iterator[None]:
    IMAGES.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(IMAGES, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        os.set_inheritable(descriptor, True)  # a program that outlives this process keeps the lock
        yield
    finally:
        os.close(descriptor)


def _build(chosen: Kernel, texts: str) -> Image:
    """Build an image in a new folder, and delete images that were not used for `_UNUSED`."""
    files = contents.files()
    digest = _digest([texts.encode(), *(part for f in files for part in _parts(f, files[f]))])
    folder = IMAGES / f"root-{chosen.version}-{digest[:16]}"
    work = IMAGES / ".root"
    for old in (work, folder):
        with suppress(FileNotFoundError):
            shutil.rmtree(old)
    work.mkdir()
    try:
        _root(work, chosen, files)
        (work / "initrd").write_bytes(archive(_initial(chosen)))
        record = {
            "texts": texts,
            "named": sorted(map(str, contents.programs_and_files())),
            "files": {str(path): _stamp(path) for path in sorted(set(files.values()))},
        }
        (work / "record.json").write_text(json.dumps(record, indent=1))
        for old in IMAGES.glob("root-*"):
            if time.time() - old.stat().st_mtime > _UNUSED:
                shutil.rmtree(old)
        work.rename(folder)
    finally:
        with suppress(FileNotFoundError):
            shutil.rmtree(work)
    return Image(chosen.image, folder / "initrd", folder / "root.squashfs")


def _root(work: Path, chosen: Kernel, files: dict[Path, Path]) -> None:
    root = work / "root"
    for path, mode in contents.folders().items():
        (root / path).mkdir(parents=True)
        (root / path).chmod(mode)
    for link, target in contents.links().items():
        (root / link).parent.mkdir(parents=True, exist_ok=True)
        (root / link).symlink_to(target)
    for inside, source in files.items():
        _copy(source, root / inside)
    for link in ("usr/bin/sh", "usr/bin/awk"):
        assert (root / link).is_file(), link
    for path, (text, mode) in contents.texts().items():
        own = root / path
        own.parent.mkdir(parents=True, exist_ok=True)
        own.write_text(text)
        own.chmod(mode)
    home = root / "home" / ENGINEER
    home.mkdir(0o700)
    os.chown(home, contents.ENGINEER_ID, contents.ENGINEER_ID)
    shutil.copytree(chosen.modules, root / "usr/lib/modules" / chosen.version)
    uncompressed = ("-noI", "-noD", "-noF", "-noX")
    output(
        *("mksquashfs", str(root), str(work / "root.squashfs"), *uncompressed),
        *("-no-progress", "-quiet", "-no-xattrs"),
        deadline=120,
    )
    shutil.rmtree(root)


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)
    target.chmod(source.stat().st_mode & 0o7755)


def _initial(chosen: Kernel) -> Iterator[Entry]:
    busybox = shutil.which("busybox", path=PATH)
    assert busybox
    names = ("bin", "dev", "host", "lower", "modules", "proc", "root", "sys", "upper")
    for folder in names:
        yield Entry(folder)
    yield Entry("bin/busybox", Path(busybox).read_bytes())
    modules = [*_BOOT_MODULES]
    if any(chosen.modules.rglob("e1000e.ko*")):
        modules.append("e1000e")
    for number, path in enumerate(chosen.needed(*modules)):
        yield Entry(f"modules/{number:02}-{path.name}", path.read_bytes(), 0o644)
    yield Entry("init", _INIT.encode())


def _current(folder: Path, texts: str) -> bool:
    try:
        record = decoding.typed((folder / "record.json").read_bytes(), _Record)
    except (OSError, ValueError):
        return False
    return (
        record.texts == texts
        and record.named == sorted(map(str, contents.programs_and_files()))
        and all(_stamp(Path(path)) == stamp for path, stamp in record.files.items())
    )


class _Record(msgspec.Struct):
    """The sources of an image: a digest of texts, paths to copy, and each file's `_stamp`."""

    texts: str
    named: list[str]
    files: dict[str, list[int]]


def _stamp(path: Path) -> list[int]:
    try:
        state = path.stat()
    except OSError:
        return []
    return [state.st_size, state.st_mtime_ns, state.st_mode]


def _parts(path: Path, source: Path) -> Iterator[bytes]:
    yield f"{path} {source.stat().st_mode:o} ".encode()
    yield hashlib.sha256(source.read_bytes()).digest()


def _digest(parts: list[bytes]) -> str:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part)
    return digest.hexdigest()
