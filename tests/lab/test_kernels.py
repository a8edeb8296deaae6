"""The kernel in a distribution's compressed image, where QEMU boots it as it is."""

from __future__ import annotations

import lzma
import struct

import pytest

from netlimits.lab.guests.kernels import bootable


def kernel(entry: int = 18) -> bytes:
    """An ELF file with a note of Xen's; 18 is the one that says where to enter."""
    note = struct.pack("<III4sI", 4, 4, entry, b"Xen\0", 0x1000000)
    return b"\x7fELF" + bytes(60) + note + bytes(4096)


def image(content: bytes, compressed: bytes | None = None) -> bytes:
    """A boot sector and code, then the kernel, then its size, as the kernel's build puts them."""
    packed = compressed or lzma.compress(content, check=lzma.CHECK_CRC32)
    return b"MZ" + bytes(1000) + b"\xfd7zXZ\0 named" + packed + struct.pack("<I", len(content))


def test_one_compressed_by_xz_is_booted_as_it_is():
    assert bootable(image(kernel())) == kernel()


@pytest.mark.parametrize(
    "other",
    [
        b"",
        b"\x1f\x8b\x08 another compression",
        image(kernel(entry=6)),
        image(b"no kernel, and long enough to be one"),
        image(kernel(), b"\xfd7zXZ\0 torn"),
        image(kernel())[:1080],
    ],
    ids=["nothing", "gzip", "no entry", "no ELF", "no stream", "cut short"],
)
def test_another_is_left_to_unpack_itself(other):
    assert bootable(other) == b""
