"""Options that say what the columns of a foreign table are: `--metric COLUMN=METRIC` and others."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from netlimits.cli.shared.options import options_of, separated
from netlimits.errors import InputError
from netlimits.metrics import Metric

if TYPE_CHECKING:
    import pandas as pd

_OTHERS = ("unit", "factor", "ignore", "csv")
READER = ("sep", "decimal", "thousands", "encoding", "skiprows", "comment", "header")
"""Arguments of `pandas.read_csv` that `--csv` takes."""


@dataclass(frozen=True)
class TableOptions:
    metric: tuple[str, ...] = ()
    unit: tuple[str, ...] = ()
    factor: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    csv: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.metrics or self.unit or self.factor or self.ignore or self.csv)

    @property
    def named(self) -> str:
        """The options that are given, for an error: `--csv, --ignore`."""
        given = {"metric": self.metrics, **{name: getattr(self, name) for name in _OTHERS}}
        return ", ".join(f"--{name}" for name, value in given.items() if value)

    @property
    def metrics(self) -> dict[str, str | Metric]:
        """Column -> metric, from the options `--metric COLUMN=METRIC`."""
        pairs = [text.rpartition("=") for text in self.metric if "=" in text]
        return {column.strip(): _metric(text.strip()) for column, _, text in pairs}

    def metrics_to_show(self, names: Sequence[str]) -> tuple[str, ...]:
        """Return `names` and each `--metric NAME`; if there are none, all of COLUMN=METRIC."""
        named = separated(None, None, tuple(text for text in self.metric if "=" not in text))
        mapped = (m if isinstance(m, str) else m.name for m in self.metrics.values())
        return (*names, *named) or tuple(mapped)

    def refuse_names(self) -> None:
        if names := [text for text in self.metric if "=" not in text]:
            raise InputError(f"--metric {names[0]}: write COLUMN=METRIC")

    def frame(self, path: Path, factors: Iterable[str]) -> tuple[pd.DataFrame, str]:
        """Return a table, and a note on the columns that are left out, or ""."""
        from netlimits.analysis import wording
        from netlimits.analysis.sources import foreign

        units = dict(_pair(text, "--unit") for text in self.unit)
        options = {name: _argument(name, value) for name, value in map(_option, self.csv)}
        given = (path, self.metrics, units)
        frame = foreign.with_roles(*given, None, self.ignore, options)
        named = [*dict.fromkeys((*self.factor, *factors))]
        if self.factor or not {*named} <= {*frame.columns}:
            guessed = () if self.factor else frame.attrs["columns"]["factors"]
            table = {*frame.columns, *frame.attrs[foreign.UNUSED]}
            extra = [name for name in named if name in table or name in self.factor]
            chosen = [*dict.fromkeys((*guessed, *extra))]
            frame = foreign.with_roles(*given, chosen, self.ignore, options)
        unused = frame.attrs[foreign.UNUSED]
        note = (
            f"{path}: left out, neither metric nor factor: {wording.listed(unused)}; name them "
            "with --metric 'COLUMN=METRIC', --factor or --ignore"
        )
        return frame, note if unused else ""


def _metric(text: str) -> str | Metric:
    """Parse METRIC, or NAME:UNIT:BETTER, which defines a metric."""
    name, *about = text.split(":")
    if not about:
        return name
    unit, better = (*about, "")[:2]
    if len(about) > 2 or better not in ("higher", "lower", ""):
        raise InputError(f"--metric {text}: write NAME:UNIT:higher or NAME:UNIT:lower")
    return Metric(name, unit=unit, better=better)  # type: ignore[arg-type]


def _pair(text: str, option: str) -> tuple[str, str]:
    name, sign, value = text.rpartition("=")
    if not (sign and name and value):
        raise InputError(f"{option} {text}: write COLUMN=VALUE")
    return name.strip(), value.strip()


def _option(text: str) -> tuple[str, str]:
    name, sign, value = text.partition("=")
    if not sign or name not in READER:
        raise InputError(f"--csv {text}: write OPTION=VALUE with one of {', '.join(READER)}")
    return name, value


def _argument(name: str, value: str) -> Any:
    if name not in ("skiprows", "header"):
        return value.replace("\\t", "\t")
    if not value.isdigit():
        raise InputError(f"--csv {name}={value}: write a number of lines")
    return int(value)


table_options: Callable[..., Any] = options_of(
    "reading",
    TableOptions,
    click.option(
        "--metric",
        multiple=True,
        metavar="COLUMN=METRIC",
        help="The column of a foreign table that holds a metric. NAME:UNIT:lower in place of "
        "METRIC defines a metric of your own. Without COLUMN= the same as --of. Repeatable.",
    ),
    click.option(
        "--unit",
        multiple=True,
        metavar="COLUMN=UNIT",
        help="The unit of a column, if neither its name nor its values have one. Repeatable.",
    ),
    click.option(
        "--factor",
        multiple=True,
        metavar="COLUMN",
        help="A column that is a factor; default: columns whose values repeat. Repeatable.",
    ),
    click.option(
        "--ignore", multiple=True, metavar="COLUMN", help="A column to leave out. Repeatable."
    ),
    click.option(
        "--csv",
        multiple=True,
        metavar="OPTION=VALUE",
        help=f"How to read a CSV file, as in pandas.read_csv: {', '.join(READER)}. Repeatable.",
    ),
)
"""Decorator that passes the options to the command as one argument, `reading`."""
