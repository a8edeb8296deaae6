"""Reproduce the reports: regenerate their tables and charts, and compare their figures with ours.

from netlimits import reproduce
reproduce.comparisons()               # printed and computed figures, and whether they agree
list(reproduce.regenerate("again"))   # every table and chart as files
"""

from netlimits.reproduce.comparison import ITEMS, REPORTS, compare, comparisons, frame
from netlimits.reproduce.items import Comparison, Item, Report
from netlimits.reproduce.output import (
    Regenerated,
    regenerate,
    tally,
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
    "frame",
    "regenerate",
    "tally",
    "write_comparison",
    "write_item",
]
