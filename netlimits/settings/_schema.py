"""JSON Schemas of options."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Schema = Mapping[str, Any]

DEFAULT_HOURS = 12

SWITCH: Schema = {"enum": ["on", "off"]}


def options(
    properties: Mapping[str, Schema], *, required: tuple[str, ...] = (), **more: Any
) -> dict[str, Any]:
    """Return the schema of an object that may have only the options in `properties`.

    The object must have all `required` options. If none is required, it must have at least one
    option.
    """
    least = {"required": [*required]} if required else {"minProperties": 1}
    return {
        "type": "object",
        **least,
        **more,
        "properties": properties,
        "additionalProperties": False,
    }


def integer(minimum: int, maximum: int, description: str = "", **more: Any) -> dict[str, Any]:
    about = {"description": description} if description else {}
    return {"type": "integer", "minimum": minimum, "maximum": maximum, **about, **more}


def switch(description: str) -> dict[str, Any]:
    return {**SWITCH, "description": description}


def if_fixed(description: str) -> dict[str, Any]:
    return {"enum": ["error", "accept"], "default": "error", "description": description}


def hours(description: str) -> dict[str, Any]:
    """Return the schema of the hours after which a process that we started ends by itself."""
    bounds = {"exclusiveMinimum": 0, "maximum": 168, "default": DEFAULT_HOURS}
    return {"type": "number", **bounds, "description": description}
