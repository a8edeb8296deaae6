"""flent's data files (`.flent.gz`): each series as interim results, and what its metadata states.

`MEAN_VALUE` is netperf's mean of received data. Series that flent computes from others are left
out of sums.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean, stdev
from typing import Any

from netlimits.importers.base import (
    ImportedRun,
    SourceText,
    clean,
    entries,
    is_number,
    iso_seconds,
    part,
    scalar,
    slug,
)
from netlimits.importers.documents import JsonDocument
from netlimits.model import Scalar

_COMPUTED = ("AverageRunner", "SumRunner", "DiffRunner")
_DERIVED = re.compile(r" (sum|avg|totals?|fairness)$")
_STREAM = re.compile(r"(TCP|UDP) (upload|download)(?:::\d+| (?!.*::).{1,80})?$")
_PING = re.compile(r"Ping \(ms\)")
_UNITS = {"Mbits/s": "mbps", "ms": "ms", "s": "s", "us": "us", "Kbits/s": "kbps", "%": "pct"}
_FACTS = {
    "FLENT_VERSION": "flent_version",
    "HOST": "flent_host",
    "LOCAL_HOST": "flent_local_host",
    "KERNEL_NAME": "flent_kernel_name",
    "KERNEL_RELEASE": "flent_kernel_release",
    "IP_VERSION": "flent_ip_version",
    "NOTE": "flent_note",
}
_PERCENTILES = (50, 90, 99)
MOST_SERIES = 2000


def recognizes(document: Mapping[str, Any]) -> bool:
    return (
        isinstance(document.get("results"), dict)
        and isinstance(document.get("x_values"), list)
        and isinstance(document.get("metadata"), dict)
    )


def read(source: SourceText, documents: Sequence[JsonDocument]) -> list[ImportedRun]:
    return [_run(source, *document) for document in documents]


def _run(source: SourceText, line: int, document: Mapping[str, Any]) -> ImportedRun:
    metadata, results = document["metadata"], document["results"]
    series = {
        clean(str(name)): values
        for name, values in results.items()
        if isinstance(values, list) and len(values) == len(document["x_values"])
    }
    if len(series) > MOST_SERIES:
        source.refuse(line, f"has {len(series):,} series, more than {MOST_SERIES:,}")
    about = part(metadata, "SERIES_META")
    about = {name: each for name, each in about.items() if isinstance(each, dict)}
    values = _factors(metadata, about)
    figures = _figures(document, series, about)
    started = iso_seconds(metadata.get("T0")) or iso_seconds(metadata.get("TIME"))
    if not any(isinstance(figure, int | float) for figure in figures.values()):
        reason = "flent measured nothing: no series has a value"
        return ImportedRun(line, "failed", reason, values, started=started)
    figures |= _facts(metadata)
    interim = tuple(_interim(document["x_values"], series, about, metadata, started or 0.0))
    return ImportedRun(line, "ok", "", values, figures, interim, started)


def _factors(
    metadata: Mapping[str, Any], about: Mapping[str, Mapping[str, Any]]
) -> dict[str, Scalar]:
    values: dict[str, Scalar] = {"tool": "flent"}
    for name, key in (("test", "NAME"), ("brand", "TITLE")):
        if isinstance(metadata.get(key), str) and metadata[key].strip():
            values[name] = clean(metadata[key])
    streams = [
        each for name, each in about.items() if _STREAM.fullmatch(name) and not _derived(name, each)
    ]
    if streams:
        values["streams"] = len(streams)
    for factor, key in (
        ("congestion_control", "CONG_CONTROL"),
        ("mss", "TCP_MSS"),
        ("send_size", "SEND_SIZE"),
    ):
        stated = {each[key] for each in streams if isinstance(each.get(key), str | int)}
        if len(stated) == 1:
            value = stated.pop()
            values[factor] = clean(value) if isinstance(value, str) else value
    for key, value in part(metadata, "TEST_PARAMETERS").items():
        name = slug(str(key))
        if name and name not in values and isinstance(value, str | int | float):
            values[f"flent_{name}"] = scalar(clean(str(value)))
    return values


def _facts(metadata: Mapping[str, Any]) -> Iterator[tuple[str, Scalar]]:
    for key, column in _FACTS.items():
        value = metadata.get(key)
        if isinstance(value, str | int) and not isinstance(value, bool) and str(value).strip():
            yield column, clean(str(value))
    for qdisc in entries(part(metadata, "EGRESS_INFO"), "qdiscs")[:1]:
        yield "flent_qdisc", clean(str(qdisc.get("name", "")))


def _figures(
    document: Mapping[str, Any],
    series: Mapping[str, Sequence[Any]],
    about: Mapping[str, Mapping[str, Any]],
) -> dict[str, Scalar]:
    figures: dict[str, Scalar] = {}
    ways: dict[str, list[float]] = {"upload": [], "download": []}
    sent: list[float] = []
    retransmits: dict[str, list[float]] = {"upload": [], "download": []}
    for name, values in series.items():
        known = [float(value) for value in values if is_number(value)]
        if not known:
            continue
        of = about.get(name, {})
        figures[_column(name, of)] = fmean(known)
        stream = _STREAM.fullmatch(name)
        if not stream or _derived(name, of) or stream[1] != "TCP":
            continue
        if is_number(mean := of.get("MEAN_VALUE")) and mean >= 0:
            ways[stream[2]].append(float(mean))
        else:
            (sent if stream[2] == "upload" else ways["download"]).append(fmean(known))
        count = str(of.get("TCP_RETRANSMIT", ""))
        if re.fullmatch(r"\d{1,15}", count):
            retransmits[stream[2]].append(float(count))
    up, down = (sum(ways[way]) for way in ("upload", "download"))
    if ways["upload"]:
        figures["remote_recv_throughput_mbps"] = up
    if ways["download"]:
        figures["local_recv_throughput_mbps"] = down
    if sent:
        figures["local_send_throughput_mbps"] = sum(sent)
    elif up or down:
        figures["throughput_mbps"] = up + down
    for way, end in (("upload", "local"), ("download", "remote")):
        if retransmits[way]:
            figures[f"{end}_transport_retrans"] = int(sum(retransmits[way]))
    return figures | dict(_latency(document, series))


def _latency(
    document: Mapping[str, Any], series: Mapping[str, Sequence[Any]]
) -> Iterator[tuple[str, Scalar]]:
    """Yield the latency of one ping series: the ICMP series if there is one, else the first."""
    names = [name for name in series if _PING.match(name) and not _DERIVED.search(name)]
    if not names:
        return
    name = next((each for each in names if "ICMP" in each), names[0])
    values = [each.get("val") for each in entries(part(document, "raw_values"), name)]
    times = sorted(float(v) for v in values if is_number(v) and v >= 0)
    times = times or sorted(float(v) for v in series[name] if is_number(v) and v >= 0)
    if not times:
        return
    yield "latency_mean_us", 1000 * fmean(times)
    yield "latency_min_us", 1000 * times[0]
    yield "latency_max_us", 1000 * times[-1]
    for number in _PERCENTILES:
        yield f"latency_p{number}_us", 1000 * times[min(len(times) - 1, len(times) * number // 100)]
    if len(times) > 1:
        yield "latency_stddev_us", 1000 * stdev(times)


def _interim(
    times: Sequence[Any],
    series: Mapping[str, Sequence[Any]],
    about: Mapping[str, Mapping[str, Any]],
    metadata: Mapping[str, Any],
    started: float,
) -> Iterator[Mapping[str, float]]:
    """Yield a row for each time, with every series and the sums of uploads and downloads."""
    step = metadata.get("STEP_SIZE")
    step = float(step) if is_number(step) and step > 0 else 1.0
    columns = {name: _column(name, about.get(name, {})) for name in series}
    ways = {
        way: [
            n
            for n in series
            if (m := _STREAM.fullmatch(n)) and m[2] == way and not _derived(n, about.get(n, {}))
        ]
        for way in ("upload", "download")
    }
    for place, time in enumerate(times):
        if not is_number(time):
            continue
        row = {"ending_s": started + float(time), "interval_s": step}
        row |= {
            columns[name]: float(values[place])
            for name, values in series.items()
            if is_number(values[place])
        }
        for way, column in (("upload", "local_send"), ("download", "local_recv")):
            rates = [series[name][place] for name in ways[way]]
            if rates and all(map(is_number, rates)):
                row[f"{column}_throughput_mbps"] = float(sum(rates))
                if way == "download" and not ways["upload"]:
                    row["throughput_mbps"] = float(sum(rates))
        if len(row) > 2:
            yield row


def _derived(name: str, about: Mapping[str, Any]) -> bool:
    return about.get("RUNNER") in _COMPUTED or _DERIVED.search(name) is not None


def _column(name: str, about: Mapping[str, Any]) -> str:
    """Return the column of a series: its name in lower case, and its unit."""
    unit = _UNITS.get(str(about.get("UNITS", "")), "")
    column = f"flent_{slug(name)}"
    return f"{column}_{unit}" if unit and unit not in column.split("_") else column
