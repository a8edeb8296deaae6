"""Read a CSV or Parquet file of runs that is not a campaign's folder."""

from __future__ import annotations

import codecs
import csv
import re
import stat
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

import pandas as pd

from netlimits.analysis.sources import spreadsheets
from netlimits.errors import DataError, one_line

FILE_LIMIT = 2 * 2**30
"""Maximum size of a file of runs in bytes."""

TEXT_LIMIT = 10_000
"""Maximum length in characters of a column's name, or of a text in a column."""

HOW = "say how to read the file, such as --csv 'sep=;' or --csv skiprows=3"

_RAGGED = re.compile(r"Expected (\d+) fields in line (\d+), saw (\d+)")
_UNCLOSED = re.compile(r"EOF inside string starting at row (\d+)")


def load(path: Path | str) -> pd.DataFrame:
    """Return the frame of a CSV or Parquet file; only an empty field is a missing value."""
    path = Path(path)
    try:
        check_file(path)
        if path.suffix.lower() in (".parquet", ".pq"):
            return _with_numbers(checked(pd.read_parquet(path), path), path)
        if path.suffix.lower() in (".csv", ".txt"):
            with path.open("rb") as file:
                frame = parsed(file, {"keep_default_na": False, "na_values": [""]})
            return _with_numbers(checked(spreadsheets.from_csv(frame), path), path)
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        # a corrupted Parquet file raises any of these
        raise DataError(f"{path}: not readable as a table: {problem(error)}") from error
    raise DataError(
        f"{path}: not a results folder, a .csv or a .parquet file; to read another table, say "
        "which column is a metric: --metric 'COLUMN=METRIC'"
    )


def problem(error: Exception) -> str:
    """Return an error's message, rephrased if it is pandas' about a damaged line."""
    message = one_line(error)
    if isinstance(error, UnicodeDecodeError):
        return "is not UTF-8 text; save it as UTF-8, or name its encoding: --csv encoding=cp1252"
    if match := _UNCLOSED.search(message):
        return f"line {int(match[1]) + 1} opens a quote that nothing closes; correct the line"
    if match := _RAGGED.search(message):
        return (
            f"line {match[2]} has {match[3]} fields and the lines above it {match[1]}; correct the "
            f"line, or {HOW}"
        )
    return message


def parsed(file: IO[bytes], options: Mapping[str, Any]) -> pd.DataFrame:
    """Return the table that `pandas.read_csv` reads with these options.

    Raises ValueError if a line has more fields than the header; pandas would shift them silently.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("error", pd.errors.ParserWarning)
        try:
            frame: pd.DataFrame = pd.read_csv(file, **{"index_col": False, **options})
        except pd.errors.ParserWarning:
            raise ValueError(_too_many_fields(file, options)) from None
    return frame


def _too_many_fields(file: IO[bytes], options: Mapping[str, Any]) -> str:
    """Return what is wrong with the first line that has more fields than the header."""
    separator = str(options.get("sep", ","))
    if len(separator) == 1 and not {"skiprows", "header", "comment"} & options.keys():
        file.seek(0)
        text = codecs.getreader(options.get("encoding", "utf-8"))(file, "replace")
        rows = csv.reader(text, delimiter=separator)
        width = len(next(rows, []))
        for row in rows:
            if len(row) > width:
                return (
                    f"line {rows.line_num} has {len(row)} fields and the header {width}; correct "
                    f"the line, or {HOW}"
                )
    return f"a line has more fields than the header; correct the line, or {HOW}"


def check_file(path: Path) -> None:
    """Raise OSError or ValueError for a path that cannot be a file of runs, without opening it."""
    about = path.stat()
    if not stat.S_ISREG(about.st_mode):
        raise ValueError("is not a regular file")
    if about.st_size == 0:
        raise ValueError("is empty")
    if about.st_size > FILE_LIMIT:
        raise ValueError(f"is larger than {FILE_LIMIT >> 30} GiB")


def checked(frame: pd.DataFrame, path: Path) -> pd.DataFrame:
    """Return the frame. Raises DataError for a text that is too long for a table."""
    for place, name in enumerate(frame.columns, 1):
        longest = max(len(str(name)), _longest(frame.iloc[:, place - 1]))
        if longest > TEXT_LIMIT:
            raise DataError(
                f"{path}: column {place} ({str(name)[:40]}): contains a text of {longest:,} "
                f"characters; shorten it to {TEXT_LIMIT:,}"
            )
    return frame


def _with_numbers(frame: pd.DataFrame, path: Path) -> pd.DataFrame:
    """Return the frame. Raises DataError if `run`, `block`, `attempt` or `duration_s` has texts."""
    for name in ("run", "block", "attempt", "duration_s"):
        if name in frame.columns and not pd.api.types.is_numeric_dtype(frame[name]):
            texts = frame[name].astype(str)
            strange = texts[pd.to_numeric(texts, errors="coerce").isna()]
            what = repr(strange.iloc[0][:40]) if len(strange) else "a number that is too large"
            raise DataError(f"{path}: column {name}: must contain numbers, not {what}")
    return frame


def _longest(column: pd.Series[Any]) -> int:
    """Return the length of the longest text in a column."""
    if not (pd.api.types.is_object_dtype(column) or pd.api.types.is_string_dtype(column)):
        return 0
    return max((len(text) for text in column.dropna().unique() if isinstance(text, str)), default=0)
