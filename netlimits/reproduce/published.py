"""The published numbers: the reports' tables, traces and stated figures, as frames.

The files lie in `data/` of the repository and, in an installed package, in its own `data`
folder. `datapackage.json` there describes each one; types are read from it, so that a file
and its description cannot drift apart unseen. The frames go to the same functions as any
campaign's: nothing in `analysis` or `charts` knows where a frame came from.
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
    """The folder of the published files: the package's own, else a checkout's `data/`.

    Raises DataError where they are not installed.
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
    """The Frictionless Data Package that describes the files, as `datapackage.json` holds it."""
    loaded: dict[str, Any] = json.loads((folder() / "datapackage.json").read_text("utf-8"))
    return loaded


def resource(name: str) -> dict[str, Any]:
    """The description of one file: title, place, conditions, what is not stated, slips, schema.

    Raises DataError naming the nearest name.
    """
    resources: dict[str, dict[str, Any]] = {r["name"]: r for r in description()["resources"]}
    if name in resources:
        return resources[name]
    near = nearest(name, resources)
    hint = f"did you mean {near}?" if near else f"there are: {', '.join(resources)}"
    raise DataError(f"nothing published is called {name!r}; {hint}")


def path(name: str) -> Path:
    """The file of a table or trace."""
    return folder() / str(resource(name)["path"])


def tables() -> dict[str, str]:
    """Name -> title of every table, in the order of the reports."""
    return {r["name"]: r["title"] for r in description()["resources"] if r["format"] == "csv"}


def traces() -> dict[str, str]:
    """Name -> title of every packet trace (text of tcpdump, for `analysis.bursts.trace`)."""
    return {r["name"]: r["title"] for r in description()["resources"] if r["format"] == "txt"}


def printed(name: str) -> pd.DataFrame:
    """A table with every value as the text that was printed, trailing zeros kept, "" for none.

    Raises DataError for a trace, which is no table.
    """
    if resource(name)["format"] != "csv":
        raise DataError(f"{name} is a trace, not a table; its file is published.path({name!r})")
    return pd.read_csv(path(name), dtype="str", keep_default_na=False, encoding="utf-8")


def table(name: str) -> pd.DataFrame:
    """A table as numbers, one row a run, under the columns of `metrics.METRICS`.

    Where the report prints what was sent and what arrived but no throughput,
    `throughput_mbps` is what arrived (netperf's THROUGHPUT). An empty field is missing.
    Integers without a gap are int64. Raises DataError for an unknown name or a trace.
    """
    printed(name)  # refuses a trace
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
    """The figures that the texts state, by `id`.

    Columns: report, where, value, unit, kind (measured, computed, configured, standard),
    qualifier (exactly, about, more than, …), precision (decimals printed), note.
    """
    return table("statements").set_index("id")
