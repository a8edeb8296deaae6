"""The XML of ntttcp, Windows' (`-xml`) and Linux' (`-x`): one end's results in each file.

The receiver's file (`ntttcpr`) has what arrived, the sender's (`ntttcps`) what was sent. CPU is
that of the whole machine, under the tool's name. A megabyte is 2²⁰ bytes; `mbps` is 10⁶ bit/s.
"""

from __future__ import annotations

import re
from xml.parsers import expat

from netlimits.errors import ToolFailure
from netlimits.importers.base import Given, ImportedRun, SourceText, clean
from netlimits.model import Scalar

_ROOT = re.compile(r"\s*(?:<\?xml[^>]{0,200}\?>\s*)?<ntttcp([sr])\b")
_DEEPEST = 6
_NUMBER = re.compile(r"-?\d{1,20}(\.\d{1,12})?")
_COUNTED = {
    "packets_retransmitted": "{end}_transport_retrans",
    "packets_sent": "ntttcp_{end}_packets_sent",
    "packets_received": "ntttcp_{end}_packets_received",
    "errors": "ntttcp_{end}_errors",
    "tcp_average_rtt": "{end}_rtt_us",
}
_CPU = {"cpu": "ntttcp_{end}_cpu_pct", "cpu_busy_all": "ntttcp_{end}_cpu_pct"}

Values = dict[tuple[str, str], str]
"""(Path of names, the attribute `metric`) -> text."""


def claims(source: SourceText) -> bool:
    """Return True if the first element is ntttcp's."""
    return _ROOT.match(source.text) is not None


def read(source: SourceText, given: Given) -> list[ImportedRun]:
    """Return the run.

    Raises:
        DataError: The file is not complete XML, or declares entities.
    """
    values, last = _values(source)
    root = _ROOT.match(source.text)
    assert root is not None
    end = "local" if root[1] == "s" else "remote"
    factors = _factors(values, end)
    try:
        figures = _figures(values, end)
    except ToolFailure as error:
        status = "invalid" if error.status == "invalid" else "failed"
        return [ImportedRun(last, status, clean(str(error)), factors)]  # type: ignore[arg-type]
    return [ImportedRun(last, "ok", "", factors, figures)]


def _values(source: SourceText) -> tuple[Values, int]:
    """Return the texts of the elements without children, and the number of the last line."""
    values: Values = {}
    path: list[str] = []
    text: list[str] = []
    metric = [""]
    parser = expat.ParserCreate()

    def begin(name: str, attributes: dict[str, str]) -> None:
        if len(path) >= _DEEPEST:
            source.refuse(parser.CurrentLineNumber, "is not ntttcp's XML: too deep")
        path.append(name)
        metric.append(attributes.get("metric", ""))
        text.clear()

    def end(name: str) -> None:
        values.setdefault(("/".join(path[1:]), metric.pop()), "".join(text).strip()[:300])
        path.pop()
        text.clear()

    def refuse(*_: object) -> None:
        source.refuse(parser.CurrentLineNumber, "declares entities, as ntttcp does not")

    parser.StartElementHandler, parser.EndElementHandler = begin, end
    parser.CharacterDataHandler = text.append
    parser.EntityDeclHandler = parser.StartDoctypeDeclHandler = refuse
    try:
        parser.Parse(re.sub(r"^\s*<\?xml[^>]{0,200}\?>", "", source.text).lstrip().encode(), True)
    except expat.ExpatError as error:
        source.refuse(error.lineno, f"is not complete XML: {expat.ErrorString(error.code)}")
    return values, parser.CurrentLineNumber


def _number(values: Values, name: str, *metrics: str) -> float | None:
    for metric in metrics or ("",):
        for (path, unit), text in values.items():
            if path == name and (not metric or unit.lower() == metric) and _NUMBER.fullmatch(text):
                return float(text)
    return None


def _factors(values: Values, end: str) -> dict[str, Scalar]:
    factors: dict[str, Scalar] = {
        "tool": "ntttcp",
        "reported_by": "client" if end == "local" else "server",
        "direction": "send",
    }
    udp = values.get(("parameters/udp", ""), values.get(("parameters/protocol", ""), "False"))
    factors["protocol"] = "udp" if udp.lower() in ("true", "udp") else "tcp"
    threads = _number(values, "parameters/max_active_threads")
    if threads:
        factors["streams"] = int(threads)
    size = _number(values, "bufferLen")
    if size:
        factors["send_size"] = int(size)
    return factors


def _figures(values: Values, end: str) -> dict[str, Scalar]:
    rate = _number(values, "throughput", "mbps")
    seconds = _number(values, "realtime", "s")
    if rate is None:
        raise ToolFailure("ntttcp wrote no throughput: the run was interrupted")
    if rate <= 0:
        raise ToolFailure("throughput is 0: no data arrived; is the data path open?")
    receiver = end == "remote"
    figures: dict[str, Scalar] = {f"{end}_{'recv' if receiver else 'send'}_throughput_mbps": rate}
    if receiver:
        figures["throughput_mbps"] = rate
    if seconds:
        figures["elapsed_s"] = seconds
    for name, column in _COUNTED.items():
        if (count := _number(values, name)) is not None and count >= 0:
            figures[column.format(end=end)] = int(count)
    for name, column in _CPU.items():
        if (busy := _number(values, name, "%")) is not None:
            if not 0 <= busy <= 100.5:
                raise ToolFailure(f"cpu is {busy:g} %, out of range", status="invalid")
            figures[column.format(end=end)] = busy
    return figures
