"""Compressed files, archives, and texts in other encodings or with stamps."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import tarfile
import zipfile
from pathlib import Path

import pyarrow as pa
import pytest

from netlimits.errors import DataError
from netlimits.importers import read
from netlimits.importers.base import Given

CAPTURE = Path(__file__).parents[1] / "captures" / "imports" / "iperf3-tcp.txt"
DATA = CAPTURE.read_bytes()
COMPRESSED = {
    "gzip": gzip.compress(DATA),
    "xz": lzma.compress(DATA),
    "bzip2": bz2.compress(DATA),
    "Zstandard": pa.compress(DATA, "zstd", asbytes=True),
}


def packed() -> bytes:
    into = io.BytesIO()
    with tarfile.open(fileobj=into, mode="w") as archive:
        archive.add(CAPTURE, "a.json")
    return into.getvalue()


def zipped() -> bytes:
    into = io.BytesIO()
    with zipfile.ZipFile(into, "w") as archive:
        archive.write(CAPTURE, "a.json")
    return into.getvalue()


@pytest.mark.parametrize("kind", COMPRESSED)
def test_a_compressed_file_is_read_as_what_is_in_it(kind: str):
    assert read("x", COMPRESSED[kind]) == read("x", DATA)
    with pytest.raises(DataError, match=f"x: is a damaged {kind} file"):
        read("x", COMPRESSED[kind][:-20])
    with pytest.raises(DataError, match=f"x: is compressed twice \\({kind} in gzip\\)"):
        read("x", gzip.compress(COMPRESSED[kind]))
    bombs = {"gzip": gzip.compress, "xz": lzma.compress, "bzip2": bz2.compress}
    compress = bombs.get(kind, lambda data: pa.compress(data, "zstd", asbytes=True))
    bomb = compress(b" " * (1 << 21))
    with pytest.raises(DataError, match="x: is larger than 1 MiB"):
        read("x", bomb, Given(limit=1 << 20))


@pytest.mark.parametrize(
    ("data", "kind"),
    [(packed(), "tar"), (gzip.compress(packed()), "tar in gzip"), (zipped(), "zip")],
)
def test_an_archive_is_refused(data: bytes, kind: str):
    with pytest.raises(DataError, match=rf"x: is an archive \({kind}\); unpack it"):
        read("x", data)


@pytest.mark.parametrize(
    "stamp",
    [
        "2026-01-02T03:04:05.123456Z ",
        "2026-01-02 03:04:05,123 ",
        "Fri Jan  2 03:04:05 2026 ",
        "Jan  2 03:04:05 vm1 iperf3[77]: ",
        "[03:04:05] ",
        "client_1  | ",
        "\x1b[32m",
        "> ",
    ],
)
def test_stamps_and_colours_before_every_line_do_not_matter(stamp: str):
    for name in ("iperf3-text-tcp.txt", "iperf3-tcp.txt"):
        data = CAPTURE.with_name(name).read_text()
        stamped = "".join(f"{stamp}{line}\n" for line in data.splitlines())
        assert read("x", stamped.encode()) == read("x", data.encode())


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-8-sig"])
def test_text_in_other_encodings(encoding: str):
    assert read("x", DATA.decode().encode(encoding)) == read("x", DATA)
