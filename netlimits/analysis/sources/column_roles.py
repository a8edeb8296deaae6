"""Which columns of a frame are factors, derived values or metrics: `attrs["columns"]`."""

from __future__ import annotations

from collections.abc import Iterable

Roles = dict[str, "ColumnNames"]


class ColumnNames(list[str]):
    """Columns in the `attrs` of a frame, which pandas copies deeply at each step: not these."""

    def __deepcopy__(self, memo: object) -> ColumnNames:
        return self


def roles(factors: Iterable[str], derived: Iterable[str], metrics: Iterable[str]) -> Roles:
    """The columns by what they are."""
    return {
        "factors": ColumnNames(factors),
        "derived": ColumnNames(derived),
        "metrics": ColumnNames(metrics),
    }
