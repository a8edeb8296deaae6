"""What settings share of their rules for states that were written down (`Setting.faults`)."""

from __future__ import annotations

import re
from typing import Any

_WORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9:./_-]*|-?[0-9]+")
_TARGET = re.compile(
    r"(?:(?:unicast|unreachable|prohibit|blackhole|throw) )?(?:default|[0-9a-fA-F:.]+(?:/[0-9]+)?)"
)
_ELSEWHERE = {"dev", "oif", "nexthop", "encap", "nhid"}
"""Words that would lead a route over another interface, or somewhere that is not read."""


def is_number(value: Any, below: int = 2**32) -> bool:
    """Whether it is a whole number of at least 0, below a bound."""
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < below


def route_fault(words: str) -> str:
    """What is wrong with a route's own words; "" where nothing is."""
    plain = words.removeprefix("inet6 ")
    target = _TARGET.match(plain)
    rest = plain[target.end() :].split() if target else []
    strange = [w for w in rest if not _WORD.fullmatch(w) or w in _ELSEWHERE]
    if not target or strange or plain[target.end() :][:1].strip():
        return f"{words[:80]!r} is no route of the interface"
    return ""
