"""nuttcp's text output: the brief line, interim results, `-v`, and both with `-fparse`.

Only `-v` shows which end was the client. A megabyte is 2²⁰ bytes and a Mbit/s is 10⁶.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from netlimits.errors import ToolFailure
from netlimits.importers.base import Given, ImportedRun, SourceText, failed, measured_rate
from netlimits.importers.rates import amount
from netlimits.importers.streams import FlowCounts, InterimResult, figures_of, lost_pct, rows
from netlimits.model import Scalar

_N = r"(\d{1,15}(?:\.\d{1,9})?)"
_LINE = re.compile(rf" *{_N} +([KMG]?)B */ +{_N} +sec *= +{_N} +([KMG]?)bps(?P<rest>.*)")
_PARSED = re.compile(rf" *(?:nuttcp[ -][tr]?:? *)?megabytes= *{_N} +real_sec(?:onds)?= *{_N}.*")
_VERBOSE = re.compile(r"nuttcp-([tr])(?:-[^:]{0,80})?: (.*)")
_PAIR = re.compile(r"(\w{1,40})= *(\S{1,200})")
_TX_RX = re.compile(r"(\d{1,4}) %TX +(\d{1,4}) %RX")
_RETRANS = re.compile(r"(?:host-)?(\d{1,12}) (?:host-)?retrans")
_RTT = re.compile(rf"{_N} msRTT")
_DROPS = re.compile(r"(-?\d{1,15}) +/ +(\d{1,15}) +(?:~?drop/pkt)")
_OLD = re.compile(rf"{_N} MB in {_N} real seconds = [\d.]+ KB/sec = {_N} Mbps")
_CALLS = re.compile(r"(\d{1,15}) I/O calls")
_CPU = re.compile(r".*= (\d{1,4})%.*|.*cpu=(\d{1,4})%.*")
_ERROR = re.compile(r"nuttcp(?:-[tr])?: (?:v[\d.]+: )?(Error: .*|Info: attempting to switch.*)")
_LETTERS = {"": 1.0, "K": 1e3, "M": 1e6, "G": 1e9}


@dataclass(slots=True)
class _Side:
    values: dict[str, str] = field(default_factory=dict)

    def number(self, *keys: str) -> float | None:
        for key in keys:
            text = self.values.get(key, "").rstrip("%")
            if re.fullmatch(r"\d{1,18}(\.\d{1,9})?", text):
                return float(text)
        return None


@dataclass(slots=True)
class _Run:
    line: int
    order: list[str] = field(default_factory=list)
    sides: dict[str, _Side] = field(default_factory=lambda: {"t": _Side(), "r": _Side()})
    interim: list[tuple[float, float, float]] = field(default_factory=list)
    brief: tuple[float, float, str] | None = None
    error: str = ""

    @property
    def ended(self) -> bool:
        return self.brief is not None or all(
            s.number("rate_Mbps") is not None for s in self.sides.values()
        )


def claims(source: SourceText) -> bool:
    return any(
        (
            (match := _LINE.fullmatch(line))
            and (
                "%TX" in match["rest"] or "retrans" in match["rest"] or "drop/pkt" in match["rest"]
            )
        )
        or _VERBOSE.fullmatch(line)
        or _ERROR.fullmatch(line)
        or (_PARSED.fullmatch(line) and "rate_Mbps=" in line)
        for _, line in source.stripped()
    )


def read(source: SourceText, given: Given) -> list[ImportedRun]:
    return [_finished(run) for run in _runs(source)]


def _runs(source: SourceText) -> list[_Run]:
    runs: list[_Run] = []
    for number, line in source.stripped():
        verbose, match = _VERBOSE.fullmatch(line), _LINE.fullmatch(line)
        parsed = _PARSED.fullmatch(line) if not verbose and "rate_Mbps=" in line else None
        error = _ERROR.fullmatch(line)
        if not (verbose or match or parsed or error):
            continue
        first = verbose and re.match(r"v[\d.]+: socket", verbose[2])
        run = runs[-1] if runs else None
        new_side = verbose and first and run is not None and verbose[1] in run.order
        if run is None or new_side or (run.ended and (first or not verbose)):
            run = _Run(number)
            runs.append(run)
        run.line = number
        if error and not verbose:
            run.error = run.error or error[1]
        elif verbose:
            _add_verbose(run, verbose[1], verbose[2])
        elif match:
            rate = float(match[4]) * _LETTERS[match[5]] / 1e6
            if "%TX" in match["rest"] or "%RX" in match["rest"]:
                run.brief = (float(match[3]), rate, match["rest"])
            else:
                run.interim.append((float(match[3]), rate, amount(match[1], match[2])))
        elif parsed:
            values = dict(_PAIR.findall(line))
            rate = _Side(values).number("rate_Mbps") or 0.0
            if "tx_cpu" in values:
                run.brief = (float(parsed[2]), rate, _as_brief(values))
            else:
                run.interim.append((float(parsed[2]), rate, amount(parsed[1], "M")))
    return runs


def _as_brief(values: Mapping[str, str]) -> str:
    """Convert pairs of `-fparse` to the text that follows the rate in a brief line."""
    text = f" {values.get('tx_cpu', '')} %TX {values.get('rx_cpu', '')} %RX"
    if "retrans" in values:
        text += f" {values['retrans']} retrans"
    if "drop" in values and "pkt" in values:
        text += f" {values['drop']} / {values['pkt']} drop/pkt"
    if "rtt_ms" in values:
        text += f" {values['rtt_ms']} msRTT"
    return text


def _add_verbose(run: _Run, letter: str, text: str) -> None:
    side = run.sides[letter]
    if letter not in run.order:
        run.order.append(letter)
    if error := re.fullmatch(r"(?:v[\d.]+: )?(Error: .*)", text):
        run.error = run.error or error[1]
    for key, value in _PAIR.findall(text):
        side.values.setdefault(key, value.rstrip(","))
    if match := re.search(r"port=\d+ (tcp|udp)", text):
        side.values.setdefault("mode", match[1])
    if match := _OLD.match(text):
        side.values.setdefault("megabytes", match[1])
        side.values.setdefault("real_seconds", match[2])
        side.values.setdefault("rate_Mbps", match[3])
    if match := _CALLS.match(text):
        side.values.setdefault("io_calls", match[1])
    if match := _RETRANS.search(text):
        side.values.setdefault("retrans", match[1])
    if "user" in text and "sys" in text and (match := _CPU.fullmatch(text)):
        side.values.setdefault("cpu", match[1] or match[2])
    if match := re.search(r"(-?\d{1,15}) */ *(\d{1,15}) drop/pkt", text):
        side.values.setdefault("drop", match[1])
        side.values.setdefault("pkt", match[2])
    if text.startswith("stats=cpu") and (match := re.search(r"cpu=(\d{1,4})%", text)):
        side.values["cpu"] = match[1]


def _finished(run: _Run) -> ImportedRun:
    values: dict[str, Scalar] = {"tool": "nuttcp"}
    try:
        if not run.ended:
            raise ToolFailure(run.error or "nuttcp printed no result: the run was interrupted")
        figures = _of_brief(run, values) if run.brief else _of_sides(run, values)
    except ToolFailure as error:
        return failed(run.line, error, values)
    return ImportedRun(run.line, "ok", "", values, figures, tuple(_interim(run)))


def _of_brief(run: _Run, values: dict[str, Scalar]) -> dict[str, Scalar]:
    assert run.brief is not None
    seconds, rate, rest = run.brief
    drops = _DROPS.search(rest)
    values["protocol"] = "udp" if drops else "tcp"
    figures: dict[str, Scalar] = {
        "throughput_mbps": measured_rate(rate, "nuttcp"),
        "elapsed_s": seconds,
    }
    if drops and (loss := lost_pct(float(drops[1]), float(drops[2]))) is not None:
        figures["loss_pct"] = loss
    if cpu := _TX_RX.search(rest):
        figures["nuttcp_sender_process_cpu_pct"] = float(cpu[1])
        figures["nuttcp_receiver_process_cpu_pct"] = float(cpu[2])
    if retransmits := _RETRANS.search(rest):
        figures["nuttcp_retrans"] = int(retransmits[1])
    if rtt := _RTT.search(rest):
        figures["nuttcp_connect_rtt_us"] = 1000 * float(rtt[1])
    return figures


def _of_sides(run: _Run, values: dict[str, Scalar]) -> dict[str, Scalar]:
    """Return the figures of both ends from `-v`, which prints the client's first."""
    sent, got = run.sides["t"], run.sides["r"]
    sender, receiver = ("local", "remote") if run.order[0] == "t" else ("remote", "local")
    values["direction"] = "send" if sender == "local" else "recv"
    udp = sent.values.get("mode") == "udp" or "drop" in got.values
    values["protocol"] = "udp" if udp else "tcp"
    for name, key in (("send_size", "buflen"), ("streams", "nstream")):
        if (number := sent.number(key)) is not None:
            values[name] = int(number)
    flow = FlowCounts(
        sender,
        receiver,
        sent=_times(sent.number("rate_Mbps"), sent.number("real_seconds")),
        sent_s=sent.number("real_seconds"),
        arrived=_times(got.number("rate_Mbps"), got.number("real_seconds")),
        arrived_s=got.number("real_seconds"),
        loss_pct=lost_pct(got.number("drop"), got.number("pkt")) if udp else None,
        datagrams=udp,
    )
    flow.refuse_nonsense()
    figures = figures_of([flow], "nuttcp")
    for end, side, calls in ((sender, sent, "send"), (receiver, got, "recv")):
        if (count := side.number("io_calls")) is not None:
            figures[f"{end}_{calls}_calls"] = int(count)
        if (cpu := side.number("cpu")) is not None:
            figures[f"nuttcp_{end}_process_cpu_pct"] = cpu
    if not udp and (mss := sent.number("mss")):
        figures["transport_mss_bytes"] = int(mss)
        values["mss"] = int(mss)
    return figures


def _times(rate: float | None, seconds: float | None) -> float | None:
    return None if rate is None or seconds is None else rate * 1e6 / 8 * seconds


def _interim(run: _Run) -> Iterator[Mapping[str, float]]:
    """Yield the receiver's interim results; each begins when the previous one ends."""
    ending, timeline = 0.0, []
    end = "local" if run.order[:1] == ["r"] else "remote"
    for place, (seconds, rate, count) in enumerate(run.interim):
        if rate > 0:  # exact; printed seconds have two decimals, whose errors would add up
            seconds = count * 8 / 1e6 / rate
        if seconds <= 0:
            continue
        ending += seconds
        timeline.append(
            InterimResult(place, end, "recv", ending, seconds, rate * 1e6 / 8 * seconds)
        )
    for row in rows([timeline], 0.0, one_way=True):
        yield row if run.order else {k: v for k, v in row.items() if not k.startswith("remote")}
