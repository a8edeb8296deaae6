"""iperf3's `--json-stream` (3.17 and later): one event a line, put together to what `-J` prints.

    {"event":"start","data":{…}}     {"event":"interval","data":{…}}     {"event":"end","data":{…}}

In between stand `error`, whose data is a text, and `server_output_json` or `_text`, which are of
the other end. With `--json-stream-full-output` the whole document follows its own events: that is
the same run.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

EVENTS = ("start", "interval", "end", "error", "server_output_json", "server_output_text")


class Strange(Exception):
    """A line that is no event of iperf3's; carries its number and what is wrong."""

    def __init__(self, line: int, problem: str) -> None:
        self.line = line
        super().__init__(problem)


def documents(lines: Iterable[tuple[int, dict[str, Any]]]) -> Iterator[tuple[int, dict[str, Any]]]:
    """(line, document) of every run: events put together, and documents as they are.

    Raises Strange for an event that is none of iperf3's, or has no data of its kind.
    """
    run: dict[str, Any] | None = None
    began, streamed = 0, ""
    for line, document in lines:
        if "event" not in document:
            if run is not None:
                yield began, run
            if not streamed or _cookie(document) != streamed:
                yield line, document
            run, streamed = None, ""
            continue
        event, data = document["event"], document.get("data")
        _check(line, event, data)
        if event == "start" and run is not None:
            yield began, run
            run = None
        if run is None:
            began, run = line, {"start": {}, "intervals": []}
        if event == "interval":
            run["intervals"].append(data)
        else:
            run[event] = data
        if event == "end":
            yield began, run
            streamed = _cookie(run)
            run = None
    if run is not None:
        yield began, run


def _check(line: int, event: Any, data: Any) -> None:
    if not isinstance(event, str) or event not in EVENTS:
        raise Strange(line, "is JSON, but no event of iperf3 --json-stream")
    kind: type = str if event in ("error", "server_output_text") else dict
    if not isinstance(data, kind):
        raise Strange(line, f"has no data of the event {event}")


def _cookie(document: Mapping[str, Any]) -> str:
    """The cookie that identifies a run; "" where there is none."""
    start = document.get("start")
    cookie = start.get("cookie") if isinstance(start, dict) else None
    return cookie if isinstance(cookie, str) else ""
