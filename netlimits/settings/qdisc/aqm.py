"""fq_codel and cake: qdiscs that keep their queues short (tc-fq_codel(8), tc-cake(8))."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from netlimits.settings._schema import integer
from netlimits.settings.qdisc.shown import (
    ANY,
    COUNT,
    TIME,
    Options,
    Parameter,
    Shown,
    about,
    at,
    count,
    one_of,
    switch,
    time,
    word,
)
from netlimits.units import tc

_SWITCH = one_of("on", "off")


# -- fq_codel -------------------------------------------------------------------------------

_CODEL = 2.0
"""Allowed difference in µs: the kernel rounds times down to multiples of 1.024 µs."""

_FQ_CODEL: Mapping[str, Parameter] = {
    "limit": Parameter(COUNT, count, at("limit"), 10240),
    "flows": Parameter(about(COUNT, "Number of queues for flows."), count, at("flows"), 1024),
    "quantum": Parameter(
        about(COUNT, "Bytes that a flow may send in each turn; default: a frame."),
        count, at("quantum"), ANY,
    ),
    "target": Parameter(
        about(TIME, "Acceptable queueing delay (cake computes it from rtt)."),
        time, at("target"), 5000, _CODEL,
    ),
    "interval": Parameter(
        about(TIME, "How long the target may be exceeded."), time, at("interval"), 100_000, _CODEL
    ),
    "ce_threshold": Parameter(
        about(TIME, "Delay above which packets are marked (ECN) at once."),
        time, at("ce_threshold"), None, _CODEL,
    ),
    "memory_limit": Parameter(tc.SIZE, tc.size, at("memory_limit"), 32 * 2**20),
    "ecn": Parameter(about(_SWITCH, "Mark packets (ECN), do not drop them."), str, switch("ecn"), ""
    "on"),
    "drop_batch": Parameter(
        about(COUNT, "Maximum packets to drop at once when the queue is full."),
        count, at("drop_batch"), 64,
    ),
}  # fmt: skip


_TIMES = ("target", "interval", "ce_threshold")


def _fq_codel(values: Mapping[str, Any]) -> Iterator[str]:
    for name in ("limit", "flows", "quantum", "drop_batch"):
        if values[name] not in (ANY, None):
            yield from (name, str(values[name]))
    for name in _TIMES:
        if values[name] is not None:
            yield from (name, f"{values[name]}us")
    yield from ("memory_limit", f"{values['memory_limit']}b")
    yield "ecn" if values["ecn"] == "on" else "noecn"


def _codel_times(options: Options, nanoseconds: bool) -> dict[str, int]:
    """Return the times in µs to give to tc, so that tc shows the original times again.

    The kernel rounds them down to ticks of 1.024 µs, and tc rounds those down to whole µs.
    """
    return {
        name: math.ceil(math.ceil(options[name] * 1000 / 1024) * 1024 / 1000)
        for name in _TIMES
        if name in options
    }


FQ_CODEL = Shown(_FQ_CODEL, _fq_codel, tuple(_FQ_CODEL), exactly=_codel_times)

# -- cake -----------------------------------------------------------------------------------

RTTS: Mapping[str, int] = {
    "datacentre": 100,
    "lan": 1_000,
    "metro": 10_000,
    "regional": 30_000,
    "internet": 100_000,
    "oceanic": 300_000,
    "satellite": 1_000_000,
}

DIFFSERV = ("diffserv3", "diffserv4", "diffserv8", "besteffort", "precedence")
FLOWMODES = ("flowblind", "srchost", "dsthost", "hosts", "flows", "dual-srchost", "dual-dsthost",
             "triple-isolate")  # fmt: skip
ACK_FILTERS = {"off": "disabled", "on": "enabled", "aggressive": "aggressive"}
_UNLIMITED = 0


def _bandwidth(value: Any) -> int:
    return _UNLIMITED if value == "unlimited" else tc.rate(value)


def _bandwidth_shown(options: Options) -> Any:
    return (
        _UNLIMITED if options.get("bandwidth") == "unlimited" else at("bandwidth", scale=8)(options)
    )


def _rtt(value: Any) -> int:
    return RTTS[value] if value in RTTS else time(value)


def _overhead_shown(options: Options) -> Any:
    return None if options.get("raw") is True else at("overhead")(options)


def _ack_filter_shown(options: Options) -> Any:
    shown = options.get("ack-filter", "disabled")
    return next((ours for ours, tcs in ACK_FILTERS.items() if tcs == shown), str(shown))


def _fwmark_shown(options: Options) -> int:
    return int(str(options.get("fwmark", "0")), 0)


def _plain(name: str, what: str, left_out: str) -> Parameter:
    return Parameter(about(_SWITCH, what), str, switch(name), left_out)


_CAKE: Mapping[str, Parameter] = {
    "bandwidth": Parameter(
        {**tc.RATE, "description": "The rate to shape to, or unlimited.",
         "anyOf": [*tc.RATE["anyOf"], {"enum": ["unlimited"]}]},
        _bandwidth, _bandwidth_shown, _UNLIMITED,
    ),
    "rtt": Parameter(
        {**TIME, "description": f"Round-trip time of the path, or {', '.join(RTTS)}.",
         "anyOf": [*TIME["anyOf"], {"enum": list(RTTS)}]},
        _rtt, at("rtt"), 100_000, 1,
    ),
    "diffserv": Parameter(
        about(one_of(*DIFFSERV), "Priority classes (tins) by DSCP."), str, word("diffserv"), ""
        "diffserv3"
    ),
    "flowmode": Parameter(
        about(one_of(*FLOWMODES), "What fairness applies to: hosts, flows, or both."),
        str, word("flowmode"), "triple-isolate",
    ),
    "nat": _plain("nat", "Use the addresses behind a NAT to tell hosts apart.", "off"),
    "wash": _plain("wash", "Clear the DSCP.", "off"),
    "ingress": _plain("ingress", "Ingress mode: dropped packets count towards the rate.", "off"),
    "split_gso": _plain("split_gso", "Split merged segments.", "on"),
    "ack_filter": Parameter(
        about(one_of(*ACK_FILTERS), "Drop ACKs that later ACKs make redundant."),
        str, _ack_filter_shown, "off",
    ),
    "overhead": Parameter(
        integer(-64, 256, "Bytes to add to each IP packet; default: the kernel's frame (raw)."),
        count, _overhead_shown, None,
    ),
    "atm": Parameter(
        about(one_of("noatm", "atm", "ptm"), "Cell framing of the link."), str, word("atm"), "noatm"
    ),
    "mpu": Parameter(
        about({**COUNT, "maximum": 256}, "Minimum bytes to count for a packet."), count, at("mpu")
    ),
    "memlimit": Parameter(tc.SIZE, tc.size, at("memlimit"), ANY),
    "fwmark": Parameter(
        about({**COUNT, "maximum": 255}, "Mask of the firewall mark that selects the tin."),
        count, _fwmark_shown,
    ),
}  # fmt: skip


def _settle(values: dict[str, Any]) -> None:
    """Set `overhead` to 0 if `atm` or `mpu` is given without it.

    With either of them, tc leaves cake's raw mode, which counts the kernel's frame.
    """
    if "overhead" not in values and {"atm", "mpu"} & values.keys():
        values["overhead"] = 0


def _cake(values: Mapping[str, Any]) -> Iterator[str]:
    rate = values["bandwidth"]
    yield from ("bandwidth", f"{rate:.0f}bit") if rate else ("unlimited",)
    yield from ("rtt", f"{values['rtt']}us")
    yield from (values["diffserv"], values["flowmode"])
    for name in ("nat", "wash"):
        yield name if values[name] == "on" else f"no{name}"
    yield "ingress" if values["ingress"] == "on" else "egress"
    yield "split-gso" if values["split_gso"] == "on" else "no-split-gso"
    yield {"off": "no-ack-filter", "on": "ack-filter"}.get(
        values["ack_filter"], "ack-filter-aggressive"
    )
    if values["overhead"] is None:
        yield "raw"
        if values["atm"] != "noatm":
            yield values["atm"]
    else:
        yield from ("overhead", str(values["overhead"]), values["atm"])
    if values["mpu"]:
        yield from ("mpu", str(values["mpu"]))
    if values["memlimit"] not in (ANY, None):
        yield from ("memlimit", f"{values['memlimit']}b")
    if values["fwmark"]:
        yield from ("fwmark", hex(values["fwmark"]))


_CAKE_SHOWN = (
    *("bandwidth", "diffserv", "flowmode", "nat", "wash", "ingress", "ack-filter"),
    *("split_gso", "rtt", "raw", "atm", "overhead", "mpu", "memlimit", "fwmark"),
)


CAKE = Shown(_CAKE, _cake, _CAKE_SHOWN, _settle)
