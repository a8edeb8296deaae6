from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from netlimits.hosts.streams import Marked

NONCE = "a" * 31 + "b"


def fed(data: bytes, cuts: list[int], limit: int = 10**6) -> Marked:
    marked = Marked(NONCE, limit)
    at = 0
    for cut in sorted(c for c in cuts if c < len(data)):
        marked.feed(data[at:cut])
        at = cut
    marked.feed(data[at:])
    return marked


# Half a mark, many a's: what looks like a mark and is none.
pieces = st.lists(st.sampled_from([b"a", b"b", NONCE[:-1].encode(), b"\n", b"\xff", b"x y"]))


@given(pieces, pieces, st.lists(st.integers(0, 400)))
def test_marks_are_found_and_text_is_kept_wherever_the_stream_is_cut(
    first_pieces, second_pieces, cuts
):
    first = b"".join(first_pieces).replace(NONCE.encode(), b"")
    second = b"".join(second_pieces).replace(NONCE.encode(), b"")
    mark = NONCE.encode()
    data = (
        b"hello"
        + mark
        + b"begin\n"
        + first
        + mark
        + b"12\n"
        + second
        + mark
        + b"0\n"
        + b"late " * 20
    )
    if data.count(mark) != 3 or not data.startswith(b"hello" + mark + b"begin\n"):
        return  # a's at the end of a piece joined the mark that follows
    marked = fed(data, cuts)
    assert marked.marks[0] == "begin"
    assert marked.marks[-1] == "0"
    assert marked.text == (first + second).decode("utf-8", "backslashreplace")
    assert marked.before == b"hello"
    assert not marked.truncated


@given(st.integers(0, 300), st.lists(st.integers(0, 400)))
def test_what_is_beyond_the_limit_is_dropped_and_said(limit, cuts):
    mark = NONCE.encode()
    data = mark + b"begin\n" + b"0123456789" * 20 + mark + b"12\n" + mark + b"0\n"
    marked = fed(data, cuts, limit)
    assert marked.text == ("0123456789" * 20)[:limit]
    assert marked.truncated == (limit < 200)
    assert marked.marks == ["begin", "12", "0"]


def test_bytes_that_are_no_text_are_shown():
    marked = fed(NONCE.encode() + b"begin\n\xff\xfe ok" + NONCE.encode() + b"0\n", [])
    assert marked.text == "\\xff\\xfe ok"


def test_a_preamble_without_any_mark_is_told_on_one_line():
    assert fed(b"This account is\ncurrently not available.\n", [3]).preamble == (
        "This account is currently not available."
    )


def test_an_output_that_breaks_off_is_kept_to_its_end():
    assert fed(NONCE.encode() + b"begin\n" + NONCE.encode() + b"12\nso fa", [4]).text == "so fa"
