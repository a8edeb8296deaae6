"""JSON is read as the standard library reads it, and held to exact types."""

from __future__ import annotations

import json
import math
import random
import subprocess
import sys

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from waiting import LONG

from netlimits.archive import formats
from netlimits.model import decoding

SEEDS = (
    '{"a": 1, "b": [1.5, -2e-7, true, null, "x\\u00e9\\n"], "c": {"d": "\u00e9", "a": 1}}'.encode(),
    b'{"n":17,"crc":"5f0c3a9e","event":"end","at":1795258333.53,"x":1e30,"y":-0.0,"z":12345678901234567890}',
)
PIECES = (
    [b"", b"\xff", b"\xed\xa0\x80", b"\\ud800", b"\\ud83d\\ude00", b"1e999", b"NaN", b"-Infinity",
     b"-0", b"00", b".5", b"5.", b"\0", b"\x7f", b"\\", b'"', b"\xc2", "\u2028".encode(), b",", b"}", b"[",
     b"\x0b", b"9" * 25, b"9" * 5000, b"0.1234567890123456789012345", b"4.9e-324", b"1e-400",
     b"1.7976931348623159e308", b"\xef\xbb\xbf", b'"a":1,', b"[" * 3000]
)  # fmt: skip


def read(reader, data):
    """What comes out: the value as it is written, or that there is none."""
    try:
        return repr(reader(data))
    except (ValueError, RecursionError):
        return "none"


def test_json_is_read_as_the_standard_library_reads_it():
    chance = random.Random(2021)  # the same texts each time
    for _ in range(6000):
        text = chance.choice(SEEDS)
        for _ in range(chance.randint(1, 3)):
            a = chance.randint(0, len(text))
            piece = chance.choice([*PIECES, chance.randbytes(chance.randint(0, 4))])
            text = text[:a] + piece + text[a + chance.randint(0, 4) :]
        assert read(decoding.parsed, text) == read(json.loads, text), text


@pytest.mark.long
@settings(max_examples=200, deadline=None, derandomize=True)
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
        max_leaves=20,
    )
)
@example([math.inf, -0.0, 2**1100, "\ud800", {"\udc80": math.nan}])
def test_what_json_writes_is_read(value):
    for text in (json.dumps(value), json.dumps(value, ensure_ascii=False)):
        assert repr(decoding.parsed(text)) == repr(value)
        line = text.encode("utf-8", "backslashreplace")  # as the journal has it
        assert repr(decoding.parsed(line)) == read(json.loads, line)


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (True, int), (1.0, int), ("1", int), (True, float), (10**400, float), (None, str),
        (0, formats.Count), (2**53, formats.Count), (math.nan, formats.Instant), (9e9, formats.Instant),
        ("a\n", decoding.Name), ("", decoding.Name), (".a", decoding.Name), ("\ud800", decoding.Name),
        ("-o", decoding.InterfaceName), ("a/b", decoding.InterfaceName), (5, decoding.InterfaceName),
        ("..", decoding.InterfaceName), ("-x", decoding.LoginName), ("a b", decoding.LoginName),
        ("", decoding.LoginName), ("x", decoding.IpAddress), (1, decoding.IpAddress),
        ("a\0", decoding.FilePath), ({"": 1}, formats.Values), ({"a": []}, formats.Figures),
        ({"a": "0" * 63}, formats.Digests), ([], formats.FoundEvent),
    ],
    ids=repr,
)  # fmt: skip
def test_what_is_of_no_such_type_is_refused(value, kind):
    assert not decoding.has(value, kind)
    with pytest.raises(ValueError, match=r"."):
        decoding.typed(json.dumps(value), kind)


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (1, float), (math.nan, float), (10**300, formats.Number), (10**30, int),
        ("\udcff/x", decoding.FilePath), ({"a": 10**400, "b": True}, formats.Values),
        ({"a": math.inf, "b": None, "c": "x", "d": False}, formats.Figures),
        ("fe80::1%data0", decoding.IpAddress), ("eth0.5@x", decoding.InterfaceName),
        ({"role": "a", "interface": "b", "setting": "mtu", "state": {}, "more": [1]}, formats.FoundEvent),
    ],
    ids=repr,
)  # fmt: skip
def test_what_is_of_such_a_type_is_taken(value, kind):
    assert decoding.has(value, kind)


def test_an_event_keeps_what_no_type_names_and_what_is_no_number():
    line = (
        b'{"event": "end", "at": 1.5, "run": 1, "attempt": 1, "status": "ok", "duration_s": NaN,'
        b' "block": 1, "config": "c", "values": {}, "reason": "\\udc80", "figures": {"a": Infinity, "b": 1}, "more": {"x": [1e999]}}'
    )
    entry = formats.event(line)
    assert repr(entry) == repr(json.loads(line))
    assert formats.event(line.replace(b'"b"', b'"\\udc80"')) is None
    assert formats.event(line.replace(b'"end"', b'"later"').replace(b'"run": 1', b'"run": {}'))
    assert formats.event(line.replace(b'"figures"', b'"rows": 5, "figures"'))
    assert formats.event(line.replace(b'"attempt": 1', b'"attempt": true')) is None
    assert formats.event(b"[" * 5000) is formats.event(b'["event"]') is formats.event(b"{}") is None


AT_ONCE = """
import sys, threading
import msgspec
from netlimits.model import decoding
sys.setswitchinterval(1e-6)
for _ in range(1500):
    class Inner(msgspec.Struct):
        family: str = ""
        local: str | None = None
    class Outer(msgspec.Struct):
        name: str
        of: list[Inner] = []
    together = threading.Barrier(3)
    read = []
    def work():
        together.wait()
        read.append(decoding.typed('[{"name": "a", "of": [{"family": "x"}]}]', list[Outer]))
    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [r[0].of[0].family for r in read] == ["x"] * 3
"""


@pytest.mark.long
def test_threads_that_read_a_type_for_the_first_time_do_not_end_the_process():
    """msgspec looks at a type when it first meets it; two threads at once ended by SIGSEGV."""
    ran = subprocess.run([sys.executable, "-c", AT_ONCE], capture_output=True, timeout=LONG)
    assert ran.returncode == 0, ran.stderr
