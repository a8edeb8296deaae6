"""Find the JSON objects in a text: single ones, those in an array, or those in a log.

An invalid document is an error if it has several lines or reaches the end of the text, so that no
result is lost unnoticed. Other text that only resembles JSON is skipped.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

_OPENING = re.compile(r"\{(?=\s*[\"}])|\[(?=\s*[\[{])")
_DEEPEST = 5
"""Maximum depth at which results are nested in other objects and arrays."""
_TEXT_OF_JSON = 40
"""A string in a document is parsed as JSON if it is longer than this and begins with `{`."""
_TRIES = 4
"""Attempts to parse that fail may read this many times the text's length, plus `_FREE`."""
_FREE = 10**6
"""Characters that failed attempts may read in addition, however short the text is."""


class JsonDocument(NamedTuple):
    """A JSON object and its first line, from 1."""

    line: int
    value: Mapping[str, Any]


class BrokenJson(ValueError):
    """A document is incomplete or invalid, from `line` on."""

    def __init__(self, line: int, problem: str) -> None:
        super().__init__(problem)
        self.line = line


def find(text: str) -> list[JsonDocument]:
    """Return the outermost objects in a text in order, each of an array separately.

    Raises:
        BrokenJson: A document is incomplete, or too much of the text only resembles JSON.
    """
    decoder = json.JSONDecoder(parse_constant=lambda name: None)
    results: list[JsonDocument] = []
    at, line, counted, failed = 0, 1, 0, 0
    while opening := _OPENING.search(text, at):
        began = opening.start()
        line += text.count("\n", counted, began)
        counted = began
        try:
            value, at = decoder.raw_decode(text, began)
        except json.JSONDecodeError as error:
            last = line + text.count("\n", began, error.pos)
            to_the_end = error.msg.startswith("Unterminated") or not text[error.pos :].strip()
            if last > line or to_the_end:
                raise BrokenJson(last, f"is not a complete JSON document: {error.msg}") from None
            failed += error.pos - began + 1
            at = began + 1
        except (ValueError, RecursionError) as error:
            raise BrokenJson(line, f"is not valid JSON: {str(error)[:100]}") from None
        else:
            results += (JsonDocument(line, each) for each in _objects(value))
        if failed > _TRIES * len(text) + _FREE:
            raise BrokenJson(line, "resembles JSON in too many places; remove what is no result")
    return results


def texts(text: str) -> list[str]:
    """Return the strings of a JSON array, perhaps nested, that holds no objects; [] otherwise."""
    if not text.lstrip().startswith("["):
        return []
    try:
        return [*_texts(json.loads(text), _DEEPEST)]
    except (ValueError, RecursionError):
        return []


def _texts(value: Any, depth: int) -> Iterator[str]:
    """Yield the strings in nested arrays. Raises ValueError for an object, or too deep an array."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list) and depth:
        for each in value:
            yield from _texts(each, depth - 1)
    elif isinstance(value, dict | list):
        raise ValueError


def recognized(
    document: JsonDocument, recognizes: Callable[[Mapping[str, Any]], object]
) -> Iterator[JsonDocument]:
    """Yield the document if it is recognized, else each recognized object nested in it."""
    yield from (
        JsonDocument(document.line, value)
        for value in _inside(document.value, recognizes, _DEEPEST)
    )


def _inside(
    value: Any, recognizes: Callable[[Mapping[str, Any]], object], depth: int
) -> Iterator[Mapping[str, Any]]:
    if isinstance(value, dict) and recognizes(value):
        yield value
        return
    if isinstance(value, str) and len(value) > _TEXT_OF_JSON and value.lstrip()[:1] == "{":
        value = _parsed(value)
    if not depth or not isinstance(value, dict | list):
        return
    for each in value.values() if isinstance(value, dict) else value:
        yield from _inside(each, recognizes, depth - 1)


def _parsed(text: str) -> list[Mapping[str, Any]]:
    try:
        return [document.value for document in find(text)]
    except BrokenJson:
        return []


def _objects(value: Any, depth: int = 2) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        yield value
    elif isinstance(value, list) and depth:
        for each in value:
            yield from _objects(each, depth - 1)
