"""Apache Otava: a CSV file with a row for each campaign, and a configuration file for Otava.

A column belongs to a metric and a configuration: it holds the mean of the ok runs in each campaign.
Only metrics of the default table have columns. Otava finds change points in each column. It cannot
read missing values. So a configuration has no columns if any campaign has no ok run of it.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from netlimits.errors import DataError

if TYPE_CHECKING:
    from netlimits.export.base import ExportedRun, Runs

CAMPAIGN = "campaign"
_Key = tuple[tuple[str, str], ...]


def otava(runs: Runs) -> Iterator[str]:
    """Yield the line of column names, then a line for each campaign in order of time.

    Raises DataError if a start time is unknown, or if no configuration is in all campaigns.
    """
    campaigns = _campaigns(runs)
    columns = _columns(runs, campaigns)
    yield _line(["time", CAMPAIGN, *columns])
    for name, (began, of_campaign) in campaigns.items():
        figures = [_mean(of_campaign[key], column) for key, column in columns.values()]
        time = datetime.fromtimestamp(began, UTC).strftime("%Y-%m-%d %H:%M:%S +0000")
        yield _line([time, name, *map(repr, figures)])


def otava_config(runs: Runs, file: str) -> Iterator[str]:
    """Yield the lines of Otava's configuration file, with a test for each configuration.

    `file` is the path of the CSV file.
    """
    metrics = {metric.column: metric for metric in runs.metrics}
    tests: dict[_Key, dict[str, str]] = {}
    for name, (key, column) in _columns(runs, _campaigns(runs)).items():
        tests.setdefault(key, {})[column] = name
    yield "tests:\n"
    for key, columns in tests.items():
        yield f"  {json.dumps(_words(key) or runs.name)}:\n"
        yield f"    type: csv\n    file: {json.dumps(file)}\n    time_column: time\n"
        yield f"    attributes: [{CAMPAIGN}]\n    metrics:\n"
        for column, name in columns.items():
            metric = metrics[column]
            direction = 1 if metric.better == "higher" else -1
            yield f"      {metric.name}: {{column: {json.dumps(name)}, direction: {direction}}}\n"


def _campaigns(runs: Runs) -> dict[str, tuple[float, dict[_Key, list[ExportedRun]]]]:
    """Return campaign -> (start time of its first run, its ok runs by configuration).

    Campaigns are in order of time. Raises DataError if the start time of a run is unknown.
    """
    campaigns: dict[str, tuple[float, dict[_Key, list[ExportedRun]]]] = {}
    for run in runs.runs():
        name = run.labels.get(CAMPAIGN, runs.name)
        if run.started is None:
            raise DataError(f"{name}: the time of its runs is unknown, and Otava needs it")
        began, configurations = campaigns.get(name, (run.started, {}))
        key = tuple((n, v) for n, v in run.labels.items() if n != CAMPAIGN)
        if run.ok:
            configurations.setdefault(key, []).append(run)
        campaigns[name] = min(began, run.started), configurations
    return dict(sorted(campaigns.items(), key=lambda item: item[1][0]))


def _columns(
    runs: Runs, campaigns: Mapping[str, tuple[float, dict[_Key, list[ExportedRun]]]]
) -> dict[str, tuple[_Key, str]]:
    """Return column of the CSV file -> (configuration, column of the metric).

    Only configurations and metrics that all campaigns have are included. Raises DataError if there
    are none.
    """
    every = [configurations for _, configurations in campaigns.values()]
    shared = [key for key in every[0] if all(key in other for other in every)] if every else []
    columns = {}
    for key in shared:
        for metric in runs.headlines:
            if all(metric.column in run.figures for other in every for run in other[key]):
                columns[" ".join(filter(None, (metric.column, _words(key))))] = key, metric.column
    if not columns:
        raise DataError("no configuration with a metric is in all campaigns")
    return columns


def _words(key: _Key) -> str:
    return " ".join(f"{name}={value}" for name, value in key)


def _mean(runs: list[ExportedRun], column: str) -> float:
    figures = [run.figures[column] for run in runs]
    return sum(figures) / len(figures)


def _line(cells: list[str]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerow(cells)
    return text.getvalue()
