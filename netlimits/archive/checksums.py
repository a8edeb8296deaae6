"""Checksums: of a text as it is written, and results.json, by which the tables hold or do not."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from hashlib import sha256
from typing import Any

from netlimits.archive import formats
from netlimits.archive.formats import json_of
from netlimits.model import decoding
from netlimits.model.folder import Folder


def made_of(folder: Folder) -> dict[str, Any] | None:
    """The content of results.json; None where the file is missing or damaged."""
    try:
        contents = json_of(folder, "results.json")
    except (OSError, ValueError):
        return None
    if not decoding.has(contents, formats.MadeOf):
        return None
    return contents if contents.pop("sha256") == digest(contents) else None


def digest(contents: Mapping[str, Any]) -> str:
    """The checksum of results.json's own content, which the file holds as `sha256`."""
    return sha256(json.dumps(contents, sort_keys=True).encode()).hexdigest()


class TextDigest(io.TextIOBase):
    """A text file that computes the SHA-256 of what is written to it, and stores nothing."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._digest = sha256()

    def write(self, text: str) -> int:
        """Add a text to the checksum."""
        self._parts.append(text)
        if len(self._parts) > 1000:
            self._flush()
        return len(text)

    def hexdigest(self) -> str:
        """The checksum of all that was written, as UTF-8."""
        self._flush()
        return self._digest.hexdigest()

    def _flush(self) -> None:
        self._digest.update("".join(self._parts).encode())
        self._parts.clear()
