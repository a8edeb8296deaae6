"""The published numbers: the reports' tables, traces and stated figures, as frames.

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
    """Return the folder of the published files: the package's, or a checkout's `data/`.

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
    """Return the Frictionless Data Package that describes the files (`datapackage.json`)."""
    loaded: dict[str, Any] = json.loads((folder() / "datapackage.json").read_text("utf-8"))
    return loaded


def resource(name: str) -> dict[str, Any]:
    """Return the description of a file: title, path, conditions, slips and schema.

    Args:
        name: Name of a table or trace.

    Raises:
        DataError: The name is unknown; the message has the nearest one.
    """
    resources: dict[str, dict[str, Any]] = {r["name"]: r for r in description()["resources"]}
    if name in resources:
        return resources[name]
    near = nearest(name, resources)
    hint = f"did you mean {near}?" if near else f"there are: {', '.join(resources)}"
    raise DataError(f"no published table or trace {name!r}; {hint}")


def path(name: str) -> Path:
    """Return the path of a table or trace."""
    return folder() / str(resource(name)["path"])


def tables() -> dict[str, str]:
    """Return name -> title of every table, in the order of the reports."""
    return {r["name"]: r["title"] for r in description()["resources"] if r["format"] == "csv"}


def traces() -> dict[str, str]:
    """Return name -> title of every packet trace (tcpdump's text, for `analysis.bursts.trace`)."""
    return {r["name"]: r["title"] for r in description()["resources"] if r["format"] == "txt"}


def printed(name: str) -> pd.DataFrame:
    """Return a table with every value as printed text, with trailing zeros; "" if missing.

    Args:
        name: Name of a table.

    Raises:
        DataError: The name is unknown or a trace.
    """
    if resource(name)["format"] != "csv":
        raise DataError(f"{name} is a trace, not a table; its file is published.path({name!r})")
    return pd.read_csv(path(name), dtype="str", keep_default_na=False, encoding="utf-8")


def table(name: str) -> pd.DataFrame:
    """Return a table as numbers, a row for each run, with the columns of `metrics.METRICS`.

    If the report prints what was sent and what arrived but no throughput, `throughput_mbps` is what
    arrived (netperf's THROUGHPUT). An empty field is missing; integers without a gap are int64.

    Args:
        name: Name of a table.

    Raises:
        DataError: The name is unknown or a trace.
    """
    printed(name)  # raises for a trace
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
    """Return the figures that the texts state, by `id`.

    Returns:
        Columns report, where, value, unit, kind (measured, computed, configured, standard),
        qualifier (exactly, about, more than, …), precision (decimals printed) and note.
    """
    return table("statements").set_index("id")
