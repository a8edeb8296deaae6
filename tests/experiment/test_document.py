from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from netlimits import errors
from netlimits.errors import DocumentError
from netlimits.experiment import document

LAUGHS = "a: &a [1,1,1,1,1,1,1,1,1,1]\n" + "".join(
    f"{b}: &{b} [{','.join([f'*{a}'] * 10)}]\n" for a, b in zip("abcdefgh", "bcdefghi", strict=True)
)


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("on", "on"),
        ("off", "off"),
        ("yes", "yes"),
        ("010", 10),
        ("0o10", 8),
        ("0x1F", 31),
        ("10:30", "10:30"),
        ("1_000", "1_000"),
        ("2021-01-01", "2021-01-01"),
        ("1e3", 1000.0),
        ("true", True),
        ("~", None),
        ('"1"', "1"),
        ("! 1", "1"),
        ("!!str 1", "1"),
        ("128K,128K", "128K,128K"),
        ("=", "="),
    ],
)
def test_scalars_are_what_yaml_1_2_says(written: str, meant: Any):
    value = document.parse(f"key: {written}", "x.yaml").data["key"]
    assert value == meant
    assert type(value) is type(meant)


def test_every_key_and_item_knows_its_line():
    read = document.parse("a: 1\n\nb:\n  - x\n  - c: 2\n    d: 3\n", "x.yaml")
    assert read.data == {"a": 1, "b": ["x", {"c": 2, "d": 3}]}
    assert dict(read.lines) == {
        (): 1, ("a",): 1, ("b",): 3, ("b", 0): 4, ("b", 1): 5, ("b", 1, "c"): 5, ("b", 1, "d"): 6
    }  # fmt: skip
    assert read.line(("b", 1, "d", "no such")) == 6
    assert str(read.error("is wrong", "b", 1)) == "x.yaml:5: b.1: is wrong"


def test_an_alias_is_the_same_value_again():
    read = document.parse("a: &one [1, 2]\nb: *one\n", "x.yaml")
    assert read.data == {"a": [1, 2], "b": [1, 2]}


@pytest.mark.parametrize(
    ("text", "line", "key", "says"),
    [
        ("", 1, "", "is empty"),
        ("# only a comment\n", 1, "", "is empty"),
        ("a: 1\nb:\n\t- x", 3, "b", "there is a tab; use spaces"),
        ("a: 1\nb:\tx", 2, "b", "there is a tab; use spaces"),
        ("a: 1\nb: 2\na: 3", 3, "a", "line 1 has it too"),
        ("k:\n  a: 1\n  b: 2\n  a: 3", 4, "k.a", "line 2 has it too"),
        ("a: 1\n2: x", 2, "", 'the key 2 is not text; quote it: "2"'),
        ("a: 1\ntrue: x", 2, "", "is not text"),
        ("? [a]\n: b", 1, "", "not a list or a mapping"),
        ("a: 1\n---\nb: 2", 2, "", "a second document"),
        ("a: 1\nb: !!python/object:os.system x", 2, "b", "!!python/object:os.system"),
        ("a: !!set {x}", 1, "a", "!!set is not allowed"),
        ("a: !<x> 1", 1, "a", "the tag x is not allowed"),
        ("a: !!int x", 1, "a", "cannot be read as int"),
        ("a:\n  - &x [1, *x]", 2, "a.0.1", "stands inside itself"),
        ("a: *x", 1, "a", "used before any"),
        ("x: &x {a: 1}\ny:\n  <<: *x", 3, "y", "merge keys"),
        ("a: .inf", 1, "a", "not a finite number"),
        ("a: 1e999", 1, "a", "not a finite number"),
        ("a: .nan", 1, "a", "not a finite number"),
        ("a: " + "9" * 5000, 1, "a", "cannot be read as int"),
        ('a: "\\0"', 1, "a", "NUL"),
        ('a: "\\ud800"', 1, "a", "surrogate"),
        ('a: "\\UFFFFFFFF"', 1, "", "names no character"),
        ("a: 1\nb: \x07", 2, "", "control character (0x07)"),
        ("a: [1, 2", 1, "a", "not YAML"),
        ('a: 1\nb: "x\nc: 2\n\n', 2, "b", "not YAML: this line opens a quote"),
        ("a:\n  - b\n c: d", 3, "", "does not fit the ones above"),
        ("a: b: c", 1, "", "not YAML"),
        ("%YAML 3.0\n---\na: 1", 1, "", "not YAML"),
        ("[" * 5000, 1, "", "nested more than 40 deep"),
        (LAUGHS, 5, "e", "more than 100,000 values"),
    ],
)
def test_what_is_wrong_is_one_line_with_file_line_and_key(
    text: str, line: int, key: str, says: str
):
    with pytest.raises(DocumentError) as caught:
        document.parse(text, "x.yaml")
    assert caught.value.line == line
    assert caught.value.key.startswith(key)
    assert str(caught.value).startswith(f"x.yaml:{line}: ")
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


def test_aliases_cannot_be_chained_deeper_than_a_document_may_be():
    levels = "".join(f"a{n}: &a{n} [[[[[*a{n - 1}]]]]]\n" for n in range(1, 20))
    with pytest.raises(DocumentError, match="nested more than 40 deep"):
        document.parse("a0: &a0 [1]\n" + levels, "x.yaml")


def test_files_that_cannot_be_read(tmp_path: Path):
    with pytest.raises(DocumentError, match="there is no such file"):
        document.load(tmp_path / "none.yaml")
    with pytest.raises(DocumentError, match="is a directory"):
        document.load(tmp_path)
    with pytest.raises(DocumentError, match="cannot be read"):
        document.load("nul\0.yaml")
    latin = tmp_path / "latin.yaml"
    latin.write_bytes(b"a: 1\nb: \xe9\n")
    with pytest.raises(DocumentError, match=r"latin.yaml:2: is not UTF-8"):
        document.load(latin)
    large = tmp_path / "large.yaml"
    large.write_bytes(b"#" * (document.BYTE_LIMIT + 1))
    with pytest.raises(DocumentError, match="larger than 1024 KiB"):
        document.load(large)


def test_a_pipe_is_read_to_its_end_and_not_waited_for(tmp_path: Path):
    pipe = tmp_path / "pipe.yaml"
    os.mkfifo(pipe)
    with pytest.raises(DocumentError, match="is empty"):
        document.load(pipe)  # nobody writes
    reader, writer = os.pipe()  # as in <(…)
    try:
        with os.fdopen(writer, "wb") as file:
            file.write(b"a: 1\nb: two\n")
        assert document.load(f"/dev/fd/{reader}").data == {"a": 1, "b": "two"}
    finally:
        os.close(reader)


def test_a_file_with_a_byte_order_mark_and_dos_lines(tmp_path: Path):
    path = tmp_path / "dos.yaml"
    path.write_bytes(b"\xef\xbb\xbfa: 1\r\nb: two\r\n")
    read = document.load(path)
    assert read.data == {"a": 1, "b": "two"}
    assert read.line(("b",)) == 2


def test_the_nearest_name_or_all_of_them():
    assert errors.did_you_mean("secnds", ["seconds", "test"]) == "; did you mean seconds?"
    assert errors.did_you_mean("zzz", ["seconds", "test"]) == "; known: seconds, test"
    assert errors.did_you_mean("zzz", []) == ""


@given(st.text())
@example("a: &a\n  b: *a")
@example("- ? a\n- ! b")
@example("&a a: &b *a")
@example('"\\xzz"')
@example("%TAG ! tag:x,2000:\n---\n!y z")
@example("&a : *a")
@example("!!str : 1")
def test_any_text_is_data_or_our_error(text: str):
    try:
        read = document.parse(text, "x.yaml")
    except DocumentError as error:
        assert "\n" not in str(error)  # noqa: PT017  either outcome is right
    else:
        assert read.data is not None


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text("ab 1:#-'\"\\\té", max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text("abc"), inner, max_size=4),
    max_leaves=20,
)


@given(st.dictionaries(st.text("abc", min_size=1), _VALUES, min_size=1))
@settings(max_examples=30)
def test_json_is_yaml(data: dict[str, Any]):
    import json

    read = document.parse(json.dumps(data, indent=1), "x.yaml")
    assert read.data == data
