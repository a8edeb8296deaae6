"""Packs: what is read of one is what was packed, or it is told that the pack is damaged."""

from __future__ import annotations

import io
import struct
import zlib
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netlimits.archive import packs
from netlimits.archive.packs import Contents, DamagedPack, Pack
from netlimits.model.folder import Folder

PACK = Pack(1, 1, 9)
SAMPLE = {(n, 1): b"run %d\n" % n * (1 + 40 * n) for n in range(1, 9)} | {(9, 2): b"", (9, 3): b""}


def packed(attempts: dict[tuple[int, int], bytes]) -> bytes:
    sink = io.BytesIO()
    packs.write(sink, attempts.items())
    return sink.getvalue()


def contents(folder: Path, data: bytes) -> Contents:
    (folder / "raw").mkdir(exist_ok=True)
    (folder / PACK.name).write_bytes(data)
    return Contents(Folder(folder), PACK)


@pytest.fixture(autouse=True)
def small_frames(monkeypatch):
    monkeypatch.setattr(packs, "BLOCK", 3000)
    monkeypatch.setattr(packs, "ATTEMPT_LIMIT", 100_000)


def test_each_attempt_is_read_without_the_others(tmp_path):
    read = contents(tmp_path, packed(SAMPLE))
    frames = {place for place, _ in read.places.values()}
    assert 2 < len(frames) < len(SAMPLE), "several to a frame"
    for attempt in [*SAMPLE, *reversed(SAMPLE)]:
        assert read.read(attempt) == SAMPLE[attempt]
    assert read.places.keys() == SAMPLE.keys()


def test_attempts_of_nothing_are_packed(tmp_path):
    assert contents(tmp_path, packed({(1, 1): b""})).read((1, 1)) == b""
    assert contents(tmp_path, packed({})).places == {}


def test_any_reader_of_zstandard_prints_what_was_packed():
    stream = pa.CompressedInputStream(pa.BufferReader(packed(SAMPLE)), "zstd")
    text = b"".join(SAMPLE.values())
    assert stream.read(len(text)) == text


def test_no_frame_is_larger_than_it_may_be(tmp_path, monkeypatch):
    monkeypatch.setattr(packs, "BLOCK", 10**9)
    large = {(n, 1): bytes([n]) * 60_000 for n in range(1, 5)}
    read = contents(tmp_path, packed(large))
    assert {packs._size(frame) for _, frame in read.places.values()} == {60_000}
    assert all(read.read(attempt) == data for attempt, data in large.items())


@pytest.mark.long
@settings(max_examples=300, deadline=None, derandomize=True)
@given(place=st.integers(0), bit=st.integers(0, 7), cut=st.none() | st.integers(0))
def test_a_pack_that_was_changed_anywhere_never_tells_another_text(
    tmp_path_factory, place, bit, cut
):
    data = bytearray(packed(SAMPLE))
    data[place % len(data)] ^= 1 << bit
    folder = tmp_path_factory.getbasetemp() / "changed"
    folder.mkdir(exist_ok=True)
    try:
        read = contents(folder, bytes(data[: cut % len(data)] if cut is not None else data))
    except DamagedPack:
        return
    for attempt in read.places:
        try:
            assert read.read(attempt) == SAMPLE[attempt]
        except DamagedPack:
            continue


def forged(frames: bytes, index: bytes) -> bytes:
    """A pack by somebody who can sum as netlimits does."""
    head = struct.pack("<II", 0x184D2A50, len(index) + 8)
    return frames + head + index + struct.pack("<II", zlib.crc32(index), len(index))


BOMB = pa.Codec("zstd").compress(bytes(50 * 2**20), asbytes=True)
ABOUT = b'{"size": %d, "crc": %d, "attempts": [%s]}'


@pytest.mark.parametrize(
    ("attempts", "why"),
    [
        (b"[1, 1, %d]" % (50 * 2**20), "a frame is larger than the limit"),
        (b"[1, 1, 99000], [2, 1, 99000]", "a frame is larger than the limit"),
        (b"[1, 1, 99000]", "a frame cannot be decompressed"),
    ],
)
def test_a_bomb_takes_no_more_room_than_a_frame_may(tmp_path, attempts, why):
    index = b'{"frames": [%s]}' % (ABOUT % (len(BOMB), zlib.crc32(BOMB), attempts))
    with pytest.raises(DamagedPack, match=why):
        contents(tmp_path, forged(BOMB, index)).read((1, 1))


@pytest.mark.parametrize(
    "index",
    [
        b'{"frames": [{"size": 9, "crc": 1, "attempts": []}]}',
        b'{"frames": [{"size": -1, "crc": 1, "attempts": []}]}',
        b'{"frames": [{"size": 4, "crc": 1, "attempts": [[0, 1, 1]]}]}',
        b'{"frames": [{"size": 4, "crc": 1, "attempts": [[1, 1, -1]]}]}',
        b'{"frames": {}}', b"[]", b"", b"x", b"[" * 10_000,
    ],
)  # fmt: skip
def test_an_index_that_is_none_is_refused(tmp_path, index):
    with pytest.raises(DamagedPack):
        contents(tmp_path, forged(b"1234", index))


@pytest.mark.parametrize("size", [0, 1, 7, 8, 15, 16, 40])
def test_what_is_no_pack_is_told(tmp_path, size):
    for byte in (b"\0", b"\xff", b"("):
        with pytest.raises(DamagedPack):
            contents(tmp_path, byte * size)


def test_a_pack_is_opened_through_no_link(tmp_path):
    contents(tmp_path, packed(SAMPLE))
    (tmp_path / "elsewhere").write_bytes(packed(SAMPLE))
    (tmp_path / PACK.name).unlink()
    (tmp_path / PACK.name).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="is a link"):
        Contents(Folder(tmp_path), PACK)


def test_names_that_are_packs():
    names = ["000002.runs-5-8.zst", "000001.runs-1-4.zst", "000001-1.jsonl", "x.zst",
             ".17.000003.runs-9-9.zst", "000001.runs-0-4.zst"]  # fmt: skip
    assert packs.packs(names) == [Pack(1, 1, 4), Pack(2, 5, 8)]
    assert [pack.name for pack in packs.packs(names)] == [f"raw/{names[1]}", f"raw/{names[0]}"]
    assert packs.left_over(names) == ["raw/.17.000003.runs-9-9.zst"]
