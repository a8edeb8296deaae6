"""Read a table of any dialect: detect its separator, encoding, thousands and decimal comma."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import lzma
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import pandas as pd
import pyarrow as pa

from netlimits.analysis.sources import run_files
from netlimits.errors import DataError

SEPARATORS = ",;\t|"
SAMPLE = 2**16
"""Bytes of a file from which separator and encoding are detected."""

_DECOMPRESS: Mapping[bytes, Callable[[Any], Any]] = {
    b"\x1f\x8b": gzip.open,
    b"BZh": bz2.open,
    b"\xfd7zXZ\x00": lzma.open,
    b"\x28\xb5\x2f\xfd": lambda file: pa.CompressedInputStream(pa.PythonFile(file), "zstd"),
}
"""First bytes of a file -> function that opens and decompresses it."""
_GROUP = r"[. \u00a0\u202f'’]"
_COMMA = re.compile(rf"[-+]?(?:\d{{1,3}}(?:({_GROUP})\d{{3}})+|\d+)(,\d+)?")
"""A number with a decimal comma: 1.234,5."""
_POINT = re.compile(r"[-+]?(?:\d{1,3}(?:([, \u00a0\u202f'’])\d{3})+|\d+)(\.\d+)?")
"""A number with a decimal point and grouped thousands: 1,234.5."""


def read(path: Path | str, options: Mapping[str, Any] | None = None) -> pd.DataFrame:
    """Read a CSV or Parquet file, also compressed, into a frame."""
    path, given = Path(path), dict(options or {})
    if path.suffix.lower() in (".parquet", ".pq"):
        return run_files.load(path)
    try:
        run_files.check_file(path)
        given = _detected(path, given) | given
        frame = _parsed(path, given)
        notation = {} if {"decimal", "thousands"} & given.keys() else _notation(frame, path, given)
        if notation:
            frame = _parsed(path, {**given, **notation})
    except (OSError, ValueError, LookupError, TypeError, EOFError, lzma.LZMAError) as error:
        raise DataError(f"{path}: not readable as a table: {run_files.problem(error)}") from error
    frame.columns = pd.Index([str(name).strip() for name in frame.columns])
    return run_files.checked(frame, path)


def _parsed(path: Path, options: Mapping[str, Any]) -> pd.DataFrame:
    with _opened(path) as file:
        return run_files.parsed(file, options)


@contextmanager
def _opened(path: Path) -> Iterator[IO[bytes]]:
    """Open a file, decompressed if its first bytes are those of a compressed file."""
    with path.open("rb") as file:
        first = file.read(max(map(len, _DECOMPRESS)))
        file.seek(0)
        decompress = next((d for magic, d in _DECOMPRESS.items() if first.startswith(magic)), None)
        if decompress is None:
            yield file
            return
        with decompress(file) as stream:
            yield io.BytesIO(stream.read())


def _detected(path: Path, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the separator and the encoding as arguments of `pandas.read_csv`."""
    with _opened(path) as file:
        sample = file.read(SAMPLE)
    encoding = "utf-16" if sample[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    cut = sample.rpartition(b"\n")[0] or sample if len(sample) == SAMPLE else sample
    try:
        text = cut.decode(encoding)
    except UnicodeDecodeError:
        if encoding == "utf-16" or b"\0" in sample:
            raise
        encoding, text = "cp1252", cut.decode("cp1252", "replace")  # a spreadsheet of Windows
    if "\0" in text:
        raise ValueError("is not text")
    detected: dict[str, Any] = {"encoding": encoding, "skipinitialspace": True}
    text = _read_lines(text, given)
    header = next((line for line in text.splitlines() if line.strip()), "")
    if not any(separator in header for separator in SEPARATORS):
        return detected | ({"sep": r"\s+"} if len(header.split()) > 1 else {})
    try:
        return detected | {"sep": csv.Sniffer().sniff(text, SEPARATORS).delimiter}
    except csv.Error:
        return detected | {"sep": max(SEPARATORS, key=header.count)}


def _read_lines(text: str, given: Mapping[str, Any]) -> str:
    """Return the lines that pandas reads with the arguments `skiprows`, `header` and `comment`."""
    lines = text.splitlines(keepends=True)
    if isinstance(skipped := given.get("skiprows"), int):
        lines = lines[skipped:]
    if comment := given.get("comment"):
        lines = [line for line in lines if not line.startswith(comment)]
    if isinstance(header := given.get("header"), int):
        lines = [line for line in lines if line.strip()][header:]
    return "".join(lines)


def _notation(frame: pd.DataFrame, path: Path, given: Mapping[str, Any]) -> dict[str, str]:
    """Return `decimal` and `thousands` for `pandas.read_csv`.

    Return {} if no texts are numbers, or if columns have different notations. Raises ValueError if
    a comma may be either, as in 1,234.
    """
    comma = point = False
    groups: set[str] = set()
    unclear = ""
    for name, values in _texts(frame):
        if all(_COMMA.fullmatch(v) for v in values) and all(_POINT.fullmatch(v) for v in values):
            unclear = unclear or f"column {name}: {values[0]}"
            groups |= {m[1] for v in values if (m := _COMMA.fullmatch(v)) and m[1]}
        elif all(_COMMA.fullmatch(v) for v in values):
            comma = True
            groups |= {m[1] for v in values if (m := _COMMA.fullmatch(v)) and m[1]}
        elif all(_POINT.fullmatch(v) for v in values):
            point = True
            groups |= {m[1] for v in values if (m := _POINT.fullmatch(v)) and m[1]}
    if unclear and not (groups or comma or point):
        # 1,234 is ambiguous; spreadsheets with a decimal comma separate columns with semicolons
        if given.get("sep") not in (";", ","):
            raise ValueError(
                f"{unclear} has a comma that is decimal or groups thousands; say decimal=',' or "
                "thousands=','"
            )
        comma = given["sep"] == ";"
        groups |= set() if comma else {","}
    if (comma and point) or len(groups) > 1:
        return {}  # different notations; `foreign` reports a metric whose values stay texts
    notation = {"decimal": ","} if comma else {}
    return notation | ({"thousands": next(iter(groups))} if groups else {})


def _texts(frame: pd.DataFrame) -> Iterator[tuple[str, list[str]]]:
    """Yield name and values of each column of texts, which may be numbers in another notation."""
    for place, name in enumerate(frame.columns):
        column = frame.iloc[:, place]
        if pd.api.types.is_object_dtype(column) or pd.api.types.is_string_dtype(column):
            values = [str(value).strip() for value in column.dropna().unique()]
            if values and any(not value.isdigit() for value in values):
                yield str(name), values
