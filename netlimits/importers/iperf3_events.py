"""Join the events that iperf3 `--json-stream` (3.17) prints, one per line, into a `-J` document."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from netlimits.importers.base import SourceText, part
from netlimits.importers.documents import JsonDocument

EVENTS = ("start", "interval", "end", "error", "server_output_json", "server_output_text")


def joined(
    source: SourceText, documents: Iterable[JsonDocument]
) -> list[tuple[int, dict[str, Any]]]:
    """Return each run's line and document, with the events of a stream joined into one document.

    With `--json-stream-full-output` the same run's document follows the events, and is left out.
    """
    runs: list[tuple[int, dict[str, Any]]] = []
    run: dict[str, Any] | None = None
    streamed = ""
    for line, document in documents:
        if "event" not in document:
            if not streamed or _cookie(document) != streamed:
                runs.append((line, dict(document)))
            run, streamed = None, ""
            continue
        event, data = document["event"], document.get("data")
        if not isinstance(event, str) or event not in EVENTS:
            source.refuse(line, "is JSON, but not an event of iperf3 --json-stream")
        if not isinstance(data, str if event in ("error", "server_output_text") else dict):
            source.refuse(line, f"the event {event} has no data")
        if event == "start" or run is None:
            run = {"start": {}, "intervals": []}
            runs.append((line, run))
        if event == "interval":
            run["intervals"].append(data)
        else:
            run[event] = data
        if event == "end":
            streamed = _cookie(run)
            run = None
    return runs


def _cookie(document: Mapping[str, Any]) -> str:
    cookie = part(document, "start").get("cookie")
    return cookie if isinstance(cookie, str) else ""
