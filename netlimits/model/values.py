"""Values of factors, and what names a family of addresses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

Scalar = bool | int | float | str | None
Values = Mapping[str, Scalar]
"""Factor and derived values of one configuration, by name."""

Family = Literal["ipv4", "ipv6"]
