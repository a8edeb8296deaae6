"""Pairs of files under captures/: a program's output, and the expected result of its parser.

NAME.txt (or another of SUFFIXES) is the exact output. NAME.json has the parser's other input under
`given` (options, wanted state, exit status, stderr) and its result under `expected`: figures with 14
digits, or the error. `captures/expect.py` writes NAME.json for review.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, is_dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from netlimits.analysis.packets.traces import CONTROL_PORT, trace
from netlimits.errors import DataError, SettingError, ToolFailure
from netlimits.evidence import cpu, sample
from netlimits.evidence.counted import EVIDENCE
from netlimits.evidence.counted._base import Evidence
from netlimits.importers import read as read_file
from netlimits.importers.base import Given
from netlimits.model import Command, Completed
from netlimits.settings import SETTINGS, Setting, State
from netlimits.tools import TOOLS
from netlimits.tools._base import Tool

CAPTURES = Path(__file__).parent / "captures"
SUFFIXES = (".txt", ".csv", ".pcap", ".pcapng")
AFTER = "--- after ---\n"
"""The separator of two readings in a capture."""

About = Mapping[str, Any]
Reader = Callable[[bytes, About], dict[str, Any]]


def completed(folder: str, name: str) -> Completed:
    """Return a capture as a completed command."""
    return _completed(output(folder, name), about(folder, name)["given"])


def state(setting: Setting, name: str) -> State:
    """Return a setting's state, parsed from a capture."""
    folder = f"settings/{setting.name}"
    return setting.state(_shown(setting, output(folder, name), about(folder, name)["given"]))


def text(folder: str, name: str) -> str:
    """Return a capture as text."""
    return output(folder, name).decode()


def output(folder: str, name: str) -> bytes:
    """Return the bytes of a capture."""
    return path(folder, name).read_bytes()


def path(folder: str, name: str) -> Path:
    """Return the path of a capture; if it does not exist, with the suffix of text."""
    paths = [CAPTURES / folder / f"{name}{suffix}" for suffix in SUFFIXES]
    return next((place for place in paths if place.exists()), paths[0])


def about(folder: str, name: str) -> dict[str, Any]:
    """Return the content of NAME.json."""
    contents: dict[str, Any] = json.loads((CAPTURES / folder / f"{name}.json").read_text())
    return contents


def names(folder: str) -> list[str]:
    """Return the names of all pairs in a folder, including incomplete ones."""
    files = (file for file in (CAPTURES / folder).iterdir() if file.is_file())
    return sorted({file.stem for file in files if file.name != "README.md"})


def measurements(tool: str) -> dict[str, dict[str, Any]]:
    """Return name -> options of a tool's captures that are valid measurements."""
    pairs = {name: about(tool, name) for name in names(tool)}
    return {n: p["given"]["options"] for n, p in pairs.items() if "figures" in p["expected"]}


def check(folder: str, name: str) -> None:
    """Assert that a capture gives exactly the expected result, with numbers of the same type."""
    result, expected = outcome(folder, name), about(folder, name)["expected"]
    assert result == expected
    assert json.dumps(result, sort_keys=True) == json.dumps(expected, sort_keys=True)


def outcome(folder: str, name: str) -> dict[str, Any]:
    """Return the result of the folder's parser for a capture."""
    return outcome_of(folder, output(folder, name), about(folder, name)["given"])


def outcome_of(folder: str, printed: bytes, given: About) -> dict[str, Any]:
    """Return the result of the folder's parser for an output."""
    value: dict[str, Any] = _plain(READERS[folder](printed, given))
    return value


def _completed(printed: bytes, given: About) -> Completed:
    return Completed(
        "sender",
        Command(("tool",), deadline=16),
        given.get("status", 0),
        printed.decode(),
        given.get("stderr", ""),
        1.0,
        given.get("timed_out", False),
        given.get("truncated", False),
    )


def _shown(setting: Setting, printed: bytes, given: About) -> Completed:
    """Return an output as the result of the command that reads a setting's state."""
    command = setting.read("data0", given.get("wanted", {}))
    return replace(_completed(printed, given), command=command)


def _tool(tool: Tool, printed: bytes, given: About) -> dict[str, Any]:
    try:
        measurement = tool.read(_completed(printed, given), given["options"])
    except ToolFailure as failure:
        return {"status": failure.status, "reason": str(failure)}
    interim = {"interim": measurement.interim} if measurement.interim else {}
    return {"figures": measurement.figures, **interim, "work": measurement.work}


def _setting(setting: Setting, printed: bytes, given: About) -> dict[str, Any]:
    try:
        return {"state": setting.state(_shown(setting, printed, given))}
    except SettingError as error:
        return {"error": str(error)}


def _evidence(evidence: Evidence, printed: bytes, given: About) -> dict[str, Any]:
    before, after = (_completed(reading, given) for reading in printed.split(AFTER.encode()))
    try:
        return {"figures": evidence.figures(before, after)}
    except ToolFailure as failure:
        return {"status": failure.status, "reason": str(failure)}


def _cpu(printed: bytes, given: About) -> dict[str, Any]:
    readings = (_completed(reading, given) for reading in printed.split(AFTER.encode()))
    before, after = (cpu.times(reading) for reading in readings)
    return {"use": cpu.use(before, after)}


def _sample(printed: bytes, given: About) -> dict[str, Any]:
    command = sample.command("netperf", ["192.0.2.2"], given["port"], seconds=2, deadline=17)
    return {"figures": sample.figures([replace(_completed(printed, {}), command=command)])}


def _import(printed: bytes, given: About) -> dict[str, Any]:
    columns = Given(tuple(given.get("columns", ())), given.get("selectors", {}))
    try:
        format_, runs = read_file("capture", printed, columns)
    except DataError as error:
        return {"error": str(error)}
    return {"format": format_, "runs": runs}


def _trace(printed: bytes, given: About) -> dict[str, Any]:
    """Return the connections of a trace, and a line for each packet.

    A line has the seconds, the connection, ">" in the direction of its first packet or "<", flags,
    sequence numbers and bytes, ack, kind.
    """
    port, mss = given.get("control_port", CONTROL_PORT), given.get("mss")
    first: dict[int, tuple[str, str]] = {}
    lines = []
    for p in trace(printed, control_port=port, mss=mss).itertuples():
        ends = (f"{p.source} {p.source_port}", f"{p.destination} {p.destination_port}")
        way = "><"[first.setdefault(p.connection, ends) != ends]
        numbers = f"{p.seq_start}:{p.seq_end}({p.length_bytes}) ack {p.ack}".replace("<NA>", "-")
        lines.append(f"{p.time_s:.9f} {p.connection} {way} {p.flags} {numbers} {p.kind}")
    connections = {str(n): " > ".join(ends) for n, ends in first.items()}
    return {"connections": connections, "packets": lines}


READERS: Mapping[str, Reader] = {
    **{tool.name: partial(_tool, tool) for tool in TOOLS},
    **{f"evidence/{evidence.name}": partial(_evidence, evidence) for evidence in EVIDENCE},
    "evidence/cpu": _cpu,
    "evidence/sample": _sample,
    **{f"settings/{setting.name}": partial(_setting, setting) for setting in SETTINGS},
    "imports": _import,
    "traces": _trace,
}
"""Folder of captures -> its parser."""


def _plain(value: Any) -> Any:
    """Convert a value to JSON types; empty fields of dataclasses are left out."""
    if isinstance(value, float):
        return float(f"{value:.14g}")
    if is_dataclass(value) and not isinstance(value, type):
        return {key: _plain(part) for key, part in asdict(value).items() if part not in ((), {})}
    if isinstance(value, Mapping):
        return {key: _plain(part) for key, part in value.items()}
    return [_plain(part) for part in value] if isinstance(value, (list, tuple)) else value
