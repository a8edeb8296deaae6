"""Tables as spreadsheets and scripts write them: separators, thousands, decimal commas, encodings."""

from __future__ import annotations

import gzip
from pathlib import Path

import pyarrow as pa
import pytest

from netlimits.analysis.sources import dialects, run_files
from netlimits.errors import DataError

EXPECTED = [1234.5, 987.25]


@pytest.mark.parametrize(
    "text",
    [
        "size,rate\n1,1234.5\n2,987.25\n",
        'size,rate\n1,"1,234.5"\n2,987.25\n',
        "size;rate\n1;1234,5\n2;987,25\n",
        "size;rate\n1;1.234,5\n2;987,25\n",
        "size\trate\n1\t1'234.5\n2\t987.25\n",
        "size;rate\n1;1 234,5\n2;987,25\n",
        "size|rate\n1|1234.5\n2|987.25\n",
        "size  rate\n1     1234.5\n2     987.25\n",
        "size, rate\r\n1, 1234.5\r\n2, 987.25\r\n",
    ],
)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_numbers_are_read_whatever_the_notation(text: str, encoding: str, tmp_path: Path):
    path = tmp_path / "x.csv"
    path.write_bytes(text.encode(encoding))
    frame = dialects.read(path)
    assert list(frame.columns) == ["size", "rate"]
    assert frame["size"].tolist() == [1, 2]
    assert frame["rate"].tolist() == EXPECTED


def test_compressed_files_and_those_of_windows_are_read(tmp_path: Path):
    zstd = pa.Codec("zstd").compress(b"size,rate\n1,2\n", asbytes=True)
    compressed = {"x.gz": gzip.compress(b"size,rate\n1,2\n"), "x.csv.zst": zstd, "x.csv": zstd}
    for name, data in compressed.items():
        (tmp_path / name).write_bytes(data)
        assert dialects.read(tmp_path / name)["rate"].tolist() == [2]
    (tmp_path / "y.csv").write_bytes("größe;µs\n1;2,5\n".encode("cp1252"))
    assert dialects.read(tmp_path / "y.csv")["µs"].tolist() == [2.5]


def test_a_comma_with_two_meanings_is_refused_unless_options_say_which(tmp_path: Path):
    path = tmp_path / "x.tsv"
    path.write_text("size\trate\n1\t1,234\n2\t2,345\n")
    with pytest.raises(DataError, match="column rate: 1,234 has a comma that is decimal or groups"):
        dialects.read(path)
    assert dialects.read(path, {"decimal": ","})["rate"].tolist() == [1.234, 2.345]
    assert dialects.read(path, {"thousands": ","})["rate"].tolist() == [1234, 2345]


def test_texts_stay_texts(tmp_path: Path):
    path = tmp_path / "x.csv"
    path.write_text("version;rate\n3.14;1,5\n6.8;2,5\n")
    frame = dialects.read(path)
    assert frame["version"].astype(str).tolist() == ["3.14", "6.8"]
    assert frame["rate"].tolist() == [1.5, 2.5]


@pytest.mark.parametrize("data", [b"", b"\0\1\2", b"a,b\n1,2,3,4\n1\n"])
def test_what_is_no_table_is_an_error_that_names_the_file(data: bytes, tmp_path: Path):
    path = tmp_path / "x.csv"
    path.write_bytes(data)
    with pytest.raises(DataError, match=r"x\.csv: not readable as a table"):
        dialects.read(path)


@pytest.mark.parametrize("path", ["x.csv", "x.txt"])
@pytest.mark.parametrize("reader", [dialects.read, run_files.load])
def test_a_line_with_too_many_fields_is_named(reader, path: str, tmp_path: Path):
    (tmp_path / path).write_text("size,rate\n1,2\n3,4,5,6\n")
    with pytest.raises(DataError) as error:
        reader(tmp_path / path)
    assert str(error.value).endswith(
        f"{path}: not readable as a table: line 3 has 4 fields and the lines above it 2; correct "
        "the line, or say how to read the file, such as --csv 'sep=;' or --csv skiprows=3"
    )
    (tmp_path / path).write_text("size,rate\n1,2,3,4\n1,2,3,4\n")
    with pytest.raises(DataError, match="line 2 has 4 fields and the header 2; correct the line"):
        reader(tmp_path / path)
    (tmp_path / path).write_text('size,rate\n1,"2\n3,4\n')
    with pytest.raises(DataError, match="line 2 opens a quote that nothing closes"):
        reader(tmp_path / path)


@pytest.mark.parametrize("options", [{"skiprows": 2}, {"comment": "#"}, {"header": 2}])
def test_lines_that_an_option_skips_do_not_decide_on_the_separator(
    options: dict[str, object], tmp_path: Path
):
    path = tmp_path / "x.csv"
    path.write_text("# made by hand\n# on two hosts\nsize,rate\n1,2\n3,4\n")
    assert dialects.read(path, options)["rate"].tolist() == [2, 4]
