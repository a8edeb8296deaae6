"""Figures from samples, except connections: threads, quotas, CPU clock rates and NIC queues."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from netlimits.model import Completed, Scalar

_LOOK = re.compile(r"^look ([0-9]{9,12}\.[0-9]{9})$", re.MULTILINE)
_THREAD = re.compile(r"^thread ([0-9]{1,9}) ([0-9]{1,18}) ([0-9]{1,18})$", re.MULTILINE)
_THROTTLED = re.compile(r"^throttled ([0-9]{1,15}) ([0-9]{1,18})$", re.MULTILINE)
_BQL = re.compile(r"^bql ([0-9]{1,15}) ([0-9]{1,15})$", re.MULTILINE)
_MHZ = re.compile(r"^mhz ([0-9 ]{1,20000})$", re.MULTILINE)
_ALL = re.compile(r"^others ([0-9]{1,12}\.[0-9]{2}) of ([0-9]{1,9}\.[0-9]{3})$", re.MULTILINE)
_BUSIEST = re.compile(r"^other [0-9.]{1,15} [0-9]{1,10} (.{1,64})$", re.MULTILINE)
_SPEED = re.compile(r"^speed ([0-9]{1,9})$", re.MULTILINE)


def figures(samples: Sequence[Completed]) -> dict[str, float]:
    """Return the combined figures of an end's hosts. Figures that any host lacks are left out."""
    hosts = [_host(sample.stdout) for sample in samples]
    if not hosts:
        return {}
    first, *others = hosts
    names = [name for name in first if all(name in host for host in others)]
    return {name: _combined(name, [host[name] for host in hosts]) for name in names}


def _combined(name: str, values: Sequence[float]) -> float:
    if name in ("thread_cpu_pct", "cpu_wait_pct", "throttled_pct"):
        return max(values)
    return _mean(values) if name == "cpu_mhz" else sum(values)


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _host(text: str) -> dict[str, float]:
    pieces = _LOOK.split(text)
    seen = [(float(at), snapshot) for at, snapshot in zip(pieces[1::2], pieces[2::2], strict=True)]
    values = {**_threads(seen), **_throttled(seen)}
    if clocks := [float(mhz) for line in _MHZ.findall(text) for mhz in line.split()]:
        values["cpu_mhz"] = _mean(clocks)
    if speeds := _SPEED.findall(text):
        values["link_speed_mbps"] = float(speeds[-1])
    if queues := _BQL.findall(text):
        values["bql_queued_bytes"] = _mean([float(queued) for queued, _ in queues])
        values["bql_limit_bytes"] = _mean([float(limit) for _, limit in queues])
    return values


def _threads(seen: Sequence[tuple[float, str]]) -> Mapping[str, float]:
    first: dict[str, tuple[float, int, int]] = {}
    last: dict[str, tuple[float, int, int]] = {}
    for at, snapshot in seen:
        for thread, ran, waited in _THREAD.findall(snapshot):
            reading = at, int(ran), int(waited)
            first.setdefault(thread, reading)
            last[thread] = reading
    pairs = [(first[thread], last[thread]) for thread in last]
    pairs = [(a, b) for a, b in pairs if b[0] > a[0] and b[1] >= a[1] and b[2] >= a[2]]
    if not pairs:
        return {}
    ran, waited = (
        [(b[column] - a[column]) / 1e7 / (b[0] - a[0]) for a, b in pairs] for column in (1, 2)
    )
    if not any(ran):  # idle threads only wait for the program that works
        return {}
    return {
        "process_cpu_pct": sum(ran),
        "thread_cpu_pct": max(ran),
        "cpu_wait_pct": min(100.0, max(waited)),
    }


def _throttled(seen: Sequence[tuple[float, str]]) -> Mapping[str, float]:
    """Return how often and how long quotas throttled the tool, until the last sample.

    A sample has these counters only if they changed.
    """
    readings = [
        (at, int(times), int(us))
        for at, snapshot in seen
        for times, us in _THROTTLED.findall(snapshot)
    ]
    if not readings or seen[-1][0] <= readings[0][0]:
        return {}
    (since, times, us), (_, more_times, more_us) = readings[0], readings[-1]
    seconds = seen[-1][0] - since
    return {
        "throttled_times": float(max(0, more_times - times)),
        "throttled_pct": min(100.0, max(0, more_us - us) / 1e4 / seconds),
    }


def other_programs(samples: Sequence[Completed]) -> dict[str, Scalar]:
    """Return `other_cpu_pct` and `other_cpu_of` of the host where other programs used most CPU."""
    counted = []
    for sample in samples:
        total = _ALL.search(sample.stdout)
        if not total or not float(total[2]):
            return {}
        busiest = _BUSIEST.search(sample.stdout)
        percent = 100 * float(total[1]) / float(total[2])
        counted.append((percent, busiest[1] if busiest else ""))
    if not counted:
        return {}
    percent, name = max(counted)
    return {"other_cpu_pct": percent, **({"other_cpu_of": name} if name else {})}
