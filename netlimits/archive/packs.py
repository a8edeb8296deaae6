"""Packs: compressed files with the raw output of many attempts; each attempt is read separately.

    raw/000001.runs-1-4096.zst    the pack's number, its lowest and its highest run

A pack is a series of Zstandard frames. Each frame has attempts of about `BLOCK` bytes. Attempts
are similar: compressed together they take a fifth of the space. `zstdcat` prints a pack. The last
frame, which is skippable, is a JSON index with the attempts and the checksum of each frame.
"""

from __future__ import annotations

import json
import os
import re
import struct
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO

from netlimits.archive import formats
from netlimits.archive.formats import PackFrame, PackIndex
from netlimits.archive.parts import Attempt
from netlimits.model import decoding
from netlimits.model.folder import Folder

BLOCK = 2 * 2**20
"""Uncompressed bytes after which a frame ends."""

ATTEMPT_LIMIT = 64 * 2**20
"""Maximum bytes of a frame. A larger attempt is not packed."""

INDEX_LIMIT = formats.FILE_LIMIT

_NAME = re.compile(r"(\d{6,9})\.runs-([1-9]\d{0,15})-([1-9]\d{0,15})\.zst")
_LEFT = re.compile(r"\.\d+\.\d{6,9}\.runs-\d+-\d+\.zst")
_SKIPPED = struct.Struct("<II")
"""The header of a skippable frame: magic number, number of following bytes."""
_MAGIC = 0x184D2A50
_END = struct.Struct("<II")
"""CRC-32 and size of the index, at the file's end."""


class DamagedPack(ValueError):
    pass


@dataclass(frozen=True, slots=True)
class Pack:
    """The number, the lowest and the highest run of a pack, which form its name."""

    number: int
    low: int
    high: int

    @property
    def name(self) -> str:
        return f"raw/{self.number:06d}.runs-{self.low}-{self.high}.zst"


def packs(names: Iterable[str]) -> list[Pack]:
    """Return the packs among the names of files in `raw`, in order."""
    matches = filter(None, map(_NAME.fullmatch, names))
    return sorted((Pack(int(m[1]), int(m[2]), int(m[3])) for m in matches), key=lambda p: p.number)


def left_over(names: Iterable[str]) -> list[str]:
    """Return the temporary files of packs that killed processes were writing."""
    return [f"raw/{name}" for name in names if _LEFT.fullmatch(name)]


class Contents:
    """The content of a pack; the frame that was read last is cached."""

    def __init__(self, folder: Folder, pack: Pack) -> None:
        self.pack = pack
        self.places: dict[Attempt, tuple[int, PackFrame]] = {}
        self._folder = folder
        self._last: tuple[int, bytes] | None = None
        begin = 0
        with folder.reader(pack.name) as file:
            index = read_index(file)
        for frame in index["frames"]:
            if _size(frame) > ATTEMPT_LIMIT:
                raise DamagedPack("is damaged: a frame is larger than the limit")
            for run, number, _ in frame["attempts"]:
                self.places[run, number] = begin, frame
            begin += frame["size"]

    def read(self, attempt: Attempt) -> bytes:
        place, frame = self.places[attempt]
        begin = 0
        for run, number, size in frame["attempts"]:
            if (run, number) == attempt:
                break
            begin += size
        return self._inflated(place, frame)[begin : begin + size]

    def _inflated(self, place: int, frame: PackFrame) -> bytes:
        if self._last and self._last[0] == place:
            return self._last[1]
        if not _size(frame):  # no attempt in this frame ran a command
            return b""
        with self._folder.reader(self.pack.name) as file:
            file.seek(place)
            packed = file.read(frame["size"])
        if zlib.crc32(packed) != frame["crc"]:
            raise DamagedPack("is damaged: a checksum is wrong")
        try:
            data: bytes = _codec().decompress(packed, _size(frame), asbytes=True)
        except OSError:  # raised also if the length differs from the index
            raise DamagedPack("is damaged: a frame cannot be decompressed") from None
        self._last = (place, data)
        return data


def _size(frame: PackFrame) -> int:
    return sum(size for _, _, size in frame["attempts"])


def read_index(file: BinaryIO) -> PackIndex:
    """Read the index of a pack. Raises OSError, and DamagedPack."""
    size = file.seek(0, os.SEEK_END)
    head = size - _END.size
    file.seek(max(0, head))
    try:
        crc, length = _END.unpack(file.read(_END.size))
        head -= length + _SKIPPED.size
        if length > INDEX_LIMIT or head < 0:
            raise DamagedPack("is damaged: it has no index")
        file.seek(head)
        magic, skipped = _SKIPPED.unpack(file.read(_SKIPPED.size))
        text = file.read(length)
        if (magic, skipped) != (_MAGIC, length + _END.size) or zlib.crc32(text) != crc:
            raise DamagedPack("is damaged: its index is wrong")
        index = decoding.typed(text, PackIndex)
    except struct.error:
        raise DamagedPack("is damaged: it has no index") from None
    except ValueError as problem:
        raise DamagedPack(str(problem)) from None
    if sum(frame["size"] for frame in index["frames"]) != head:
        raise DamagedPack("is damaged: its index is wrong")
    return index


def write(file: BinaryIO, attempts: Iterable[tuple[Attempt, bytes]]) -> None:
    frames = [_write_frame(file, frame) for frame in _grouped(attempts)]
    text = json.dumps({"frames": frames}, separators=(",", ":")).encode()
    file.write(_SKIPPED.pack(_MAGIC, len(text) + _END.size))
    file.write(text + _END.pack(zlib.crc32(text), len(text)))


def _grouped(
    attempts: Iterable[tuple[Attempt, bytes]],
) -> Iterator[list[tuple[Attempt, bytes]]]:
    """Group attempts into frames of about `BLOCK` and at most `ATTEMPT_LIMIT` bytes."""
    frame: list[tuple[Attempt, bytes]] = []
    size = 0
    for attempt, data in attempts:
        if frame and size + len(data) > ATTEMPT_LIMIT:
            yield frame
            frame, size = [], 0
        frame.append((attempt, data))
        size += len(data)
        if size >= BLOCK:
            yield frame
            frame, size = [], 0
    if frame:
        yield frame


def _write_frame(file: BinaryIO, attempts: list[tuple[Attempt, bytes]]) -> PackFrame:
    packed = _codec().compress(b"".join(data for _, data in attempts), asbytes=True)
    file.write(packed)
    sizes = [(run, number, len(data)) for (run, number), data in attempts]
    return {"size": len(packed), "crc": zlib.crc32(packed), "attempts": sizes}


def _codec() -> Any:
    import pyarrow as pa

    return pa.Codec("zstd", compression_level=3)
