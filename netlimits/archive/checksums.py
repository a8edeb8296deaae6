"""results.json: of what the tables were made, so that they are read only while that holds."""

from __future__ import annotations

import json
from collections.abc import Mapping
from hashlib import sha256
from typing import Any

from netlimits.archive import formats
from netlimits.archive.files import Folder
from netlimits.archive.formats import json_of
from netlimits.model import decoding


def made_of(folder: Folder) -> dict[str, Any] | None:
    """What results.json says; None where there is none or it is damaged, and says nothing."""
    try:
        said = json_of(folder, "results.json")
    except (OSError, ValueError):
        return None
    if not decoding.has(said, formats.MADE):
        return None
    return said if said.pop("sha256") == digest(said) else None


def digest(said: Mapping[str, Any]) -> str:
    """The checksum that results.json has of itself."""
    return sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()
