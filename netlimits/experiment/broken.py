"""What a condition with a mistake may remove, as far as the rest of it tells.

`sent == 64 and tso == 'on'` names nothing that is there, but whatever is meant by `sent`: only
configurations with `tso` on can go. So each part of an `and` that can be computed counts, and any
other may hold or not.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from netlimits.errors import InputError
from netlimits.experiment import expressions
from netlimits.model import Scalar


def may_remove(text: str, values: Mapping[str, Scalar]) -> bool:
    """Whether a condition may hold for a configuration once its mistake is mended."""
    return all(_may_hold(part, values) for part in _parts(text))


def _may_hold(part: str, values: Mapping[str, Scalar]) -> bool:
    try:
        condition = expressions.compile(part)
        return not condition.names <= values.keys() or condition.holds(values)
    except InputError:
        return True


def _parts(text: str) -> Iterator[str]:
    """The parts of an `and`; the text as a whole where other words or brackets may bind them."""
    bare = re.sub(r"'[^']*'|\"[^\"]*\"", lambda quoted: "'" * len(quoted[0]), text)
    if re.search(r"\b(?:or|if|else|not)\b|[()\[\]]", bare):
        yield text
        return
    begin = 0
    for word in re.finditer(r"\band\b", bare):
        yield text[begin : word.start()].strip()
        begin = word.end()
    yield text[begin:].strip()
