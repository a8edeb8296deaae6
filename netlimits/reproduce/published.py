"""Load the published numbers: the reports' tables, traces and stated figures.

    from netlimits import published
    published.table("udp-send-size")

Types are read from `datapackage.json`, which describes each file.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd

from netlimits.errors import DataError, nearest

DTYPES = {"integer": "Int64", "number": "float64", "string": "str"}


@cache
def folder() -> Path:
    """Find the folder of the published files.

    Returns:
        `data/` of the installed package or of a checkout.

    Raises:
        DataError: The files are not installed.
    """
    package = Path(__file__).parents[1]
    for place in (package / "data", package.parent / "data"):
        if (place / "datapackage.json").is_file():
            return place
    raise DataError(
        f"the published data are not installed: no {package / 'data'}; install netlimits again"
    )


@cache
def description() -> dict[str, Any]:
    """Read the Frictionless Data Package that describes the files (`datapackage.json`).

    Returns:
        The JSON document. Do not modify it: it is cached.
    """
    loaded: dict[str, Any] = json.loads((folder() / "datapackage.json").read_text("utf-8"))
    return loaded


def resource(name: str) -> dict[str, Any]:
    """Return the description of a file.

    Args:
        name: Name of a table or trace.

    Returns:
        The resource's keys, such as title, path, conditions, slips and schema.

    Raises:
        DataError: The name is unknown. The message suggests the nearest name.
    """
    resources: dict[str, dict[str, Any]] = {r["name"]: r for r in description()["resources"]}
    if name in resources:
        return resources[name]
    near = nearest(name, resources)
    hint = f"did you mean {near}?" if near else f"there are: {', '.join(resources)}"
    raise DataError(f"no published table or trace {name!r}; {hint}")


def path(name: str) -> Path:
    """Return the path of a table or trace.

    Args:
        name: Name of a table or trace.

    Returns:
        The path of a CSV or text file.

    Raises:
        DataError: The name is unknown. The message suggests the nearest name.
    """
    return folder() / str(resource(name)["path"])


def tables() -> dict[str, str]:
    """List the tables.

    Returns:
        Name -> title, in the order of the reports.
    """
    return {r["name"]: r["title"] for r in description()["resources"] if r["format"] == "csv"}


def traces() -> dict[str, str]:
    """List the packet traces, texts of tcpdump for `analysis.bursts.trace`.

    Returns:
        Name -> title, in the order of the reports.
    """
    return {r["name"]: r["title"] for r in description()["resources"] if r["format"] == "txt"}


def printed(name: str) -> pd.DataFrame:
    """Return a table with the text of every value as printed, including trailing zeros.

    Args:
        name: Name of a table.

    Returns:
        A row for each row of the table. Missing values are "".

    Raises:
        DataError: The name is unknown, or is the name of a trace.
    """
    if resource(name)["format"] != "csv":
        raise DataError(f"{name} is a trace, not a table; its file is published.path({name!r})")
    return pd.read_csv(path(name), dtype="str", keep_default_na=False, encoding="utf-8")


def table(name: str) -> pd.DataFrame:
    """Return a table as numbers.

    If the report prints send and receive rates but no throughput, `throughput_mbps` is the receive
    rate (netperf's THROUGHPUT).

    Args:
        name: Name of a table.

    Returns:
        A row for each run, with the columns of `metrics.METRICS`. Empty fields are missing values.
        Columns of integers have the type Int64 if a value is missing, else int64.

    Raises:
        DataError: The name is unknown, or is the name of a trace.
    """
    printed(name)  # raises DataError for a trace
    fields = resource(name)["schema"]["fields"]
    frame = pd.read_csv(
        path(name),
        dtype={field["name"]: DTYPES[field["type"]] for field in fields},
        keep_default_na=False,
        na_values=[""],
        encoding="utf-8",
    )
    for column in frame.columns[frame.dtypes == "Int64"]:
        if frame[column].notna().all():
            frame[column] = frame[column].astype("int64")
    if "remote_recv_throughput_mbps" in frame and "throughput_mbps" not in frame:
        place = list(frame.columns).index("local_send_throughput_mbps")
        frame.insert(place, "throughput_mbps", frame["remote_recv_throughput_mbps"])
    return frame


def statements() -> pd.DataFrame:
    """Return the figures that the reports' texts state, indexed by `id`.

    Returns:
        Columns report, where, value, unit, kind (measured, computed, configured, standard),
        qualifier (exactly, about, more than, …), precision (decimals printed) and note.
    """
    return table("statements").set_index("id")
