"""Whatever bytes come: runs, or a DataError; never another exception, never an endless search."""

from __future__ import annotations

import json
import math
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netlimits.errors import DataError
from netlimits.importers import read
from netlimits.importers.base import LINE_LIMIT, Given

CAPTURES = Path(__file__).parents[1] / "captures" / "imports"
TEXTS = [
    path.read_text() for path in sorted(CAPTURES.glob("*.*")) if path.suffix in (".txt", ".csv")
]
LINES = sorted({line for text in TEXTS for line in text.split("\n")})
COLUMNS = Given(("THROUGHPUT", "NO_SUCH", "RESULT_BRAND", "ELAPSED_TIME"))


def checked(data: bytes, given_: Given | None = None) -> None:
    """Read, and hold every run to what a results folder can keep."""
    try:
        _, runs = read("x", data, given_)
    except DataError as error:
        refused = str(error)
        runs = []
    else:
        refused = "x:"
    assert refused.startswith("x:")
    assert "\n" not in refused
    for run in runs:
        assert (run.status == "ok") == (not run.reason)
        json.dumps([dict(run.values), dict(run.figures), run.interim], allow_nan=False).encode()
        for figure in run.figures.values():
            assert not isinstance(figure, int | float) or math.isfinite(figure)
            assert not isinstance(figure, str) or figure.isprintable()
        if run.status != "ok":
            assert not run.figures


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=300))
def test_any_bytes(data: bytes):
    checked(data)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.sampled_from(LINES), max_size=12), st.booleans())
def test_real_lines_in_any_order(lines: list[str], torn: bool):
    text = "\n".join(lines) + ("" if torn else "\n")
    checked(text.encode())
    checked(text.encode(), COLUMNS)


@pytest.mark.long
@settings(max_examples=200, deadline=None)
@given(st.sampled_from(TEXTS), st.data())
def test_real_files_cut_doubled_and_changed(text: str, data: st.DataObject):
    a, b = sorted(data.draw(st.tuples(*[st.integers(0, len(text))] * 2)))
    put = data.draw(
        st.text(max_size=8) | st.sampled_from(["nan", "inf", "-1", "0.00", ",,", '"', "9" * 400])
    )
    checked((text[:a] + put + text[b:]).encode("utf-8", "surrogatepass"))


ANYTHING: Any = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2)
    ),
    max_leaves=4,
)


@pytest.mark.long
@settings(max_examples=200, deadline=None)
@given(
    st.sampled_from([t for t in TEXTS if t.startswith("{") and t.count('"start"') < 40]), st.data()
)
def test_iperf3_documents_with_anything_in_them(text: str, data: st.DataObject):
    node = document = json.JSONDecoder().raw_decode(text)[0]
    while True:
        keys = list(node) if isinstance(node, dict) else list(range(len(node)))
        key = data.draw(st.sampled_from(keys))
        if isinstance(node[key], dict | list) and node[key] and data.draw(st.integers(0, 5)):
            node = node[key]
            continue
        if isinstance(node, dict) and data.draw(st.booleans()):
            del node[key]
        else:
            node[key] = data.draw(ANYTHING)
        break
    checked(json.dumps(document).encode())


@pytest.mark.parametrize(
    "line",
    [
        " " * (LINE_LIMIT - 1) + '"',
        "," * (LINE_LIMIT - 1),
        "Local " * 10_000,
        "Throughput," * 5_000,
        "X TEST from " * 5_000,
        "A TEST to b to " * 60,
        "a" * 60_000 + ": x",
        '"' * 60_000,
        "1 " * 30_000,
        "KEY" * 20_000 + "=1",
    ],
)
def test_no_line_takes_long(line: str):
    began = time.process_time()
    for before in ("", "Result Tag,Local Fill File,Remote Fill File\n", "Throughput\n"):
        for text in (line + "\n", "\n".join([line] * 4) + "\n"):
            checked((before + text).encode())
    checked((line + "\n").encode(), COLUMNS)
    assert time.process_time() - began < 300  # it were hours


def test_many_empty_fields_are_refused_rather_than_tried():
    header = ",".join(["Result Tag"] * 30)
    with pytest.raises(DataError, match="too many ways"):
        read("x", f"{header}\n{',' * 44}\n".encode())
