"""results.json: checksums of what the tables were made of; while they match, the tables hold."""

from __future__ import annotations

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
