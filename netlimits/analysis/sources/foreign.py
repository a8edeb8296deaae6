"""Turn any table into a frame of runs: find metrics, their units, and factors."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from netlimits.analysis import frames, wording
from netlimits.analysis.sources import dialects
from netlimits.analysis.sources.joining import roles
from netlimits.errors import DataError, InputError, did_you_mean
from netlimits.metrics import IDENTITY, Metric, metric, own, unit_names
from netlimits.model import STATUSES

MACHINE_CPU = ("local_cpu_pct", "remote_cpu_pct")
"""Columns of a whole machine's CPU."""

REPEATED = 2
"""Minimum average number of occurrences of a column's values for the column to be a factor."""

UNUSED = "unused"
"""Key of a frame's `attrs`: the columns that are neither metric nor factor."""

_WITH_UNIT = re.compile(r"\s*([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)\s*([^\s\d].*?)\s*")


def read_csv(
    source: Path | str | pd.DataFrame,
    metrics: Mapping[str, str | Metric] | None = None,
    units: Mapping[str, str] | None = None,
    factors: Sequence[str] | None = None,
    ignore: Sequence[str] = (),
    **options: Any,
) -> pd.DataFrame:
    """Read any table with a row for each run into a frame that every analysis and chart takes.

        frame = nl.read_csv("runs.csv", metrics={"Mbit/s down": "throughput", "cpu": "local_cpu"})
        nl.summary(frame, of="throughput", rows="size")

    Separator, encoding, thousands and decimal commas are detected. Columns that are neither metric
    nor factor are left out, with one warning that names them.

    Args:
        source: A CSV or Parquet file, also compressed, or a frame.
        metrics: Column -> metric: a name that `netlimits describe metrics` prints, or your own
            `nl.Metric`. Columns with a metric's own column name, such as `throughput_mbps`, need no
            entry.
        units: Column -> its unit, such as "Gbit/s" or "ms". By default the unit in the column's
            name ("Gbit/s down", "rtt [ms]") or in its values ("9.41 Gbits/sec"), else the metric's.
        factors: The columns that were varied, by default all other columns whose values repeat.
        ignore: Columns to leave out without a warning.
        **options: Arguments of `pandas.read_csv`, such as `decimal=","` or `skiprows=3`.

    Returns:
        A row for each row of the table: factors under their names, metrics under their columns
        (`throughput_mbps`) in their units.

    Raises:
        InputError: A column, metric or unit does not exist, or a column is named twice.
        DataError: The file is not a table, or a metric is not a number; the message names the row.

    Example:
        >>> load = nl.Metric("page_load", unit="ms", better="lower")
        >>> frame = nl.read_csv("pages.csv", metrics={"plt": load}, factors=["browser"])
    """
    frame = with_roles(source, metrics or {}, units or {}, factors, ignore, options)
    if unused := frame.attrs[UNUSED]:
        what = "the frame" if isinstance(source, pd.DataFrame) else str(source)
        warnings.warn(
            f"{what}: left out, neither metric nor factor: {wording.listed(unused)}; name them in "
            "metrics, factors or ignore",
            stacklevel=2,
        )
    return frame


def with_roles(
    source: Path | str | pd.DataFrame,
    metrics: Mapping[str, str | Metric],
    units: Mapping[str, str],
    factors: Sequence[str] | None,
    ignore: Sequence[str],
    options: Mapping[str, Any],
) -> pd.DataFrame:
    """Return the frame of `read_csv`; `attrs["unused"]` has the columns that are left out."""
    if isinstance(source, pd.DataFrame):
        where, table = "", source.copy(deep=False)
        table.columns = pd.Index([str(name) for name in table.columns])
    else:
        where, table = f"{source}: ", dialects.read(source, options)
    _refuse_unknown(table, where, metrics=metrics, units=units, factors=factors, ignore=ignore)
    table = table.drop(columns=[*ignore])
    quantities = _quantities(table, metrics, factors, where)
    columns: dict[str, Any] = {}
    for name, quantity in quantities.items():
        if quantity.column in columns:
            raise InputError(f"{where}several columns are {quantity.name}; name one of them")
        columns[quantity.column] = _numbers(table[name], quantity, units.get(name), where)
    rest = [name for name in table.columns if name not in quantities]
    identity = _bookkeeping(table[[name for name in rest if name not in (factors or ())]])
    rest = [name for name in rest if name not in identity]
    chosen = [name for name in rest if _repeats(table[name])] if factors is None else [*factors]
    varied = {_unused_name(name, columns): table[name] for name in chosen}
    frame = pd.DataFrame({**{name: table[name] for name in identity}, **varied, **columns})
    frame.attrs["columns"] = roles(varied, [], columns)
    frame.attrs[UNUSED] = [name for name in rest if name not in chosen]
    return frame


def _refuse_unknown(table: pd.DataFrame, where: str, **arguments: Iterable[str] | None) -> None:
    """Raise InputError for a name that is not a column, or that occurs in two arguments.

    Raises DataError if the table has two columns of one name.
    """
    if len(set(table.columns)) < len(table.columns):
        twice = table.columns[table.columns.duplicated()][0]
        raise DataError(f"{where}two columns are called {twice}; rename one")
    seen: dict[str, str] = {}
    for argument, names in arguments.items():
        for name in names or ():
            if name not in table.columns:
                hint = did_you_mean(name, table.columns)
                raise InputError(f"{where}there is no column {name!r} ({argument}){hint}")
            if argument != "units" and seen.setdefault(name, argument) != argument:
                raise InputError(f"{where}{name} is named in {seen[name]} and in {argument}")


def _quantities(
    table: pd.DataFrame,
    metrics: Mapping[str, str | Metric],
    factors: Sequence[str] | None,
    where: str,
) -> dict[str, Metric]:
    """Return column -> metric for columns in `metrics` and columns that have a metric's name."""
    quantities: dict[str, Metric] = {}
    for name, given in metrics.items():
        quantities[name] = own.declare(given) if isinstance(given, Metric) else metric(given)
    taken = {quantity.column for quantity in quantities.values()}
    for name in frames.measured(table):
        column = metric(name).column
        if column in table.columns and column not in (*(factors or ()), *quantities, *taken):
            quantities[column] = metric(name)
    if not quantities:
        columns = wording.listed([*table.columns])
        raise DataError(
            f"{where}no column is a metric; columns: {columns}; say which one is: "
            "metrics={'COLUMN': 'METRIC'}, --metric 'COLUMN=METRIC'"
        )
    return quantities


def _numbers(values: pd.Series[Any], quantity: Metric, unit: str | None, where: str) -> Any:
    """Return a metric's values in its unit. Raises DataError for a text that is no number."""
    what = f"{where}column {values.name}"
    numbers = pd.to_numeric(values, errors="coerce").astype(float)
    if pd.api.types.is_bool_dtype(values):
        raise DataError(f"{what}: {quantity.name} must be a number, not true or false")
    strange = values[numbers.isna() & values.notna()]
    if len(strange):
        parts = [_WITH_UNIT.fullmatch(str(value)) for value in values]
        for row, (value, match) in enumerate(zip(values, parts, strict=True)):
            if pd.isna(value) or not np.isnan(numbers.iloc[row]):
                continue
            if match is None or unit_names.known(match[2]) is None:
                raise DataError(
                    f"{what}, row {row + 1}: {quantity.name} must be a number, not "
                    f"{str(value)[:40]!r}"
                )
            numbers.iloc[row] = float(match[1]) * unit_names.factor(match[2], quantity.unit)
        if len(strange) < values.notna().sum():
            raise DataError(f"{what}: only some values have a unit; give them all one")
        _refuse_impossible(numbers, quantity, what)
        return numbers
    if numbers.isna().all():
        raise DataError(f"{what}: holds no number for {quantity.name}")
    named = unit_names.in_name(str(values.name), quantity.unit) if unit is None else unit
    numbers = numbers * (unit_names.factor(named, quantity.unit) if named else 1.0)
    _refuse_impossible(numbers, quantity, what)
    return numbers


def _refuse_impossible(numbers: pd.Series[Any], quantity: Metric, what: str) -> None:
    """Raise DataError for a rate or a CPU below 0, and for a machine's CPU above 100 %."""
    cpu = quantity.column.endswith("_cpu_pct")
    bounds = (
        ("throughput" in quantity.name, numbers < 0, "a rate cannot be below 0"),
        (cpu, numbers < 0, "CPU cannot be below 0 %"),
        (quantity.column in MACHINE_CPU, numbers > 100, "CPU of a machine cannot exceed 100 %"),
    )
    for applies, wrong, problem in bounds:
        if applies and wrong.any():
            row = int(wrong.to_numpy().argmax())
            raise DataError(f"{what}, row {row + 1}: {numbers.iloc[row]:g}: {problem}")


def _bookkeeping(table: pd.DataFrame) -> list[str]:
    """Return the bookkeeping columns, such as `run`, that have values as a campaign writes them."""
    fits: dict[str, Callable[[pd.Series[Any]], bool]] = {
        "run": lambda values: _positive_integers(values) and values.is_unique,
        "block": _positive_integers,
        "status": lambda values: set(values) <= {*STATUSES},
        "duration_s": lambda values: pd.api.types.is_numeric_dtype(values),
        "started": _times,
        "reason": lambda values: "status" in table.columns,
    }
    return [name for name, fits_in in fits.items() if name in table and fits_in(table[name])]


def _times(values: pd.Series[Any]) -> bool:
    return not pd.Series(pd.to_datetime(values, errors="coerce", utc=True)).isna().any()


def _positive_integers(values: pd.Series[Any]) -> bool:
    return bool(pd.api.types.is_integer_dtype(values) and (values > 0).all())


def _repeats(values: pd.Series[Any]) -> bool:
    """Return True if the values repeat often enough for the column to be a factor."""
    if pd.api.types.is_datetime64_any_dtype(values) or values.isna().all():
        return False
    return bool(values.nunique(dropna=False) * REPEATED <= len(values))


def _unused_name(name: str, columns: Mapping[str, Any]) -> str:
    """Return a factor's name; append `_` if a bookkeeping column or a metric has this name."""
    return f"{name}_" if name in IDENTITY or name in columns else name
