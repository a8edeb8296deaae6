"""Compressed files: gzip, xz, bzip2 and Zstandard, by their first bytes and not by their names."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import zlib
from collections.abc import Callable
from contextlib import closing
from typing import Protocol

import pyarrow as pa


class TooLarge(ValueError):
    """The file, or what it decompresses to, is beyond the limit."""


class Unreadable(ValueError):
    """The file is an archive, or is damaged. The message says what to do."""


class _Stream(Protocol):
    def read(self, size: int, /) -> bytes: ...

    def close(self) -> None: ...


def _xz(data: bytes) -> _Stream:
    return lzma.LZMAFile(io.BytesIO(data))


def _zstd(data: bytes) -> _Stream:
    stream: _Stream = pa.CompressedInputStream(pa.BufferReader(data), "zstd")
    return stream


_COMPRESSED: dict[bytes, tuple[str, Callable[[bytes], _Stream]]] = {
    b"\x1f\x8b": ("gzip", lambda data: gzip.GzipFile(fileobj=io.BytesIO(data))),
    b"\xfd7zXZ\x00": ("xz", _xz),
    b"BZh": ("bzip2", lambda data: bz2.BZ2File(io.BytesIO(data))),
    b"\x28\xb5\x2f\xfd": ("Zstandard", _zstd),
}
"""First bytes -> name, and function that decompresses."""
_ARCHIVES = {b"PK\x03\x04": "zip", b"7z\xbc\xaf\x27\x1c": "7z", b"Rar!\x1a\x07": "rar"}
_TAR, _TAR_AT = b"ustar", 257


def decompressed(data: bytes, limit: int) -> bytes:
    """Return the bytes of a file, decompressed if they are compressed.

    Raises:
        TooLarge: The file or its content has more than `limit` bytes.
        Unreadable: The file is an archive, damaged, or compressed twice.
    """
    if len(data) > limit:
        raise TooLarge
    if kind := _archive(data):
        raise Unreadable(f"is an archive ({kind}); unpack it and name the folder")
    compressed = _compressed(data)
    if compressed is None:
        return data
    name, decompress = compressed
    try:
        with closing(decompress(data)) as stream:
            contents = stream.read(limit + 1)
    except (OSError, EOFError, lzma.LZMAError, zlib.error, ValueError, pa.ArrowException):
        raise Unreadable(f"is a damaged {name} file; copy it again") from None
    if len(contents) > limit:
        raise TooLarge
    if inside := _archive(contents):
        raise Unreadable(f"is an archive ({inside} in {name}); unpack it and name the folder")
    if inner := _compressed(contents):
        raise Unreadable(f"is compressed twice ({inner[0]} in {name}); decompress it once")
    return bytes(contents)


def _compressed(data: bytes) -> tuple[str, Callable[[bytes], _Stream]] | None:
    return next((how for magic, how in _COMPRESSED.items() if data.startswith(magic)), None)


def _archive(data: bytes) -> str:
    if data[_TAR_AT : _TAR_AT + len(_TAR)] == _TAR:
        return "tar"
    return next((kind for magic, kind in _ARCHIVES.items() if data.startswith(magic)), "")
