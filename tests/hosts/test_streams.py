from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netlimits.hosts.streams import Exchange, Marked, Overdue, Talk

NONCE = "a" * 31 + "b"
MARK = NONCE.encode()


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


@given(pieces, st.lists(st.integers(0, 400)))
def test_marks_are_found_and_text_is_kept_wherever_the_stream_is_cut(printed_pieces, cuts):
    printed = b"".join(printed_pieces).replace(MARK, b"")
    data = b"hello" + MARK + b"12\n" + printed + MARK + b"0\n" + b"late " * 20
    if data.count(MARK) != 2 or not data.startswith(b"hello" + MARK + b"12\n"):
        return  # a's at the end of a piece joined the mark that follows
    marked = fed(data, cuts)
    assert marked.marks == ["12", "0"]
    assert marked.text == printed.decode("utf-8", "backslashreplace")
    assert marked.before == b"hello"
    assert not marked.truncated


@given(st.integers(0, 300), st.lists(st.integers(0, 400)))
def test_what_is_beyond_the_limit_is_dropped_and_said(limit, cuts):
    data = MARK + b"12\n" + b"0123456789" * 20 + MARK + b"0\n"
    marked = fed(data, cuts, limit)
    assert marked.text == ("0123456789" * 20)[:limit]
    assert marked.truncated == (limit < 200)
    assert marked.marks == ["12", "0"]


def test_bytes_that_are_no_text_are_shown():
    marked = fed(MARK + b"12\n\xff\xfe ok" + MARK + b"0\n", [])
    assert marked.text == "\\xff\\xfe ok"


def test_a_preamble_without_any_mark_is_told_on_one_line():
    assert fed(b"This account is\ncurrently not available.\n", [3]).preamble == (
        "This account is currently not available."
    )


def test_an_output_that_breaks_off_is_kept_to_its_end():
    assert fed(MARK + b"12\nso fa", [4]).text == "so fa"


class Canned:
    """A stream that gives one exchange after another, as `streams.Stream`."""

    def __init__(self, *outputs: bytes) -> None:
        self.outputs = list(outputs)

    def exchange(self, data: memoryview, wait: float) -> Exchange:
        output = self.outputs.pop(0) if self.outputs else b""
        return Exchange(len(data), output, output, exited=False, ended=False)

    def finish(self) -> None: ...

    def close(self) -> None: ...


def test_what_came_in_time_may_be_read_late():
    talk = Talk(Canned(MARK + b"12\nfour" + MARK + b"0\n"), NONCE)
    talk.allow(-1.0)  # whoever waits was busy with another host
    assert talk.reached(2, 1.0)
    assert talk.out.text == "four"


def test_what_did_not_come_in_time_is_overdue():
    talk = Talk(Canned(b"", MARK + b"12\nfour" + MARK + b"0\n"), NONCE)
    talk.allow(-1.0)
    with pytest.raises(Overdue):
        talk.reached(2, 1.0)


def test_output_that_never_ends_is_overdue_once_all_its_time_is_used_up():
    talk = Talk(Canned(MARK + b"12\n", *[b"on and on "] * 50), NONCE)
    talk.allow(-2.0, stretch=1.0)
    with pytest.raises(Overdue):
        talk.reached(2, 1.0)
