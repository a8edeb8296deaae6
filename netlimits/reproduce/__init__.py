"""The reports again: each table and chart from the published data, each figure compared.

This only wires. A report's file names its items in their order; an item names its data and calls
the functions of `analysis` and `charts` that any campaign's frame goes to. Nothing is computed
here but what rounding allows (`rounding`) and whether a table's rows fit themselves (`rows`).

    from netlimits import reproduce
    reproduce.comparisons()               # what was printed, what came out, whether they agree
    list(reproduce.regenerate("again"))   # and every table and chart as files
"""

from netlimits.reproduce.comparison import ITEMS, REPORTS, compare, comparisons, frame
from netlimits.reproduce.items import Comparison, Item, Report
from netlimits.reproduce.output import (
    Regenerated,
    counted,
    regenerate,
    write_comparison,
    write_item,
)

__all__ = [
    "ITEMS",
    "REPORTS",
    "Comparison",
    "Item",
    "Regenerated",
    "Report",
    "compare",
    "comparisons",
    "counted",
    "frame",
    "regenerate",
    "write_comparison",
    "write_item",
]
