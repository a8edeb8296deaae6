"""netperf's output selectors and the columns that their values go to.

netperf knows about 175 selectors (`netperf -t omni -- -k '?'`), and the installed build's own
list is what an experiment is checked against. This module only names columns: the metrics of
netlimits.metrics where one exists, else the selector in lower case with its unit at the end.
CPU and service demand keep `netperf_` in front, since the columns without it are computed from
the hosts' /proc/stat alike for every tool.
"""

from __future__ import annotations

import re
from functools import lru_cache

from netlimits.errors import ToolFailure
from netlimits.model import Scalar

_COLUMNS = {
    "LOCAL_SEND_THROUGHPUT": "local_send_throughput_mbps",
    "LOCAL_RECV_THROUGHPUT": "local_recv_throughput_mbps",
    "REMOTE_SEND_THROUGHPUT": "remote_send_throughput_mbps",
    "REMOTE_RECV_THROUGHPUT": "remote_recv_throughput_mbps",
    "TRANSACTION_RATE": "transaction_rate_tps",
    "ELAPSED_TIME": "elapsed_s",
    "SOCKET_TYPE": "netperf_socket_type",
    "PROTOCOL": "netperf_protocol",
    "DIRECTION": "netperf_direction",
    "BURST_SIZE": "netperf_burst_size",
    "TRANSPORT_MSS": "transport_mss_bytes",
    "RT_LATENCY": "rt_latency_us",
    "MIN_LATENCY": "latency_min_us",
    "MAX_LATENCY": "latency_max_us",
    "MEAN_LATENCY": "latency_mean_us",
    "STDDEV_LATENCY": "latency_stddev_us",
    "P50_LATENCY": "latency_p50_us",
    "P90_LATENCY": "latency_p90_us",
    "P99_LATENCY": "latency_p99_us",
    "CONFIDENCE_LEVEL": "netperf_confidence_level_pct",
    "CONFIDENCE_INTERVAL": "netperf_confidence_interval_pct",
    "THROUGHPUT_CONFID": "netperf_throughput_confid_pct",
    "LOCAL_CPU_CONFID": "netperf_local_cpu_confid_pct",
    "REMOTE_CPU_CONFID": "netperf_remote_cpu_confid_pct",
}

_PATTERNS = (
    (r"(LOCAL|REMOTE)_CPU_UTIL", r"netperf_\1_cpu_pct"),
    (r"(LOCAL|REMOTE)_CPU_PEAK_UTIL", r"netperf_\1_cpu_peak_pct"),
    (r"(LOCAL|REMOTE)_CPU_PERCENT_(\w+)", r"netperf_\1_cpu_\2_pct"),
    (r"(LOCAL|REMOTE)_CPU_FREQUENCY", r"\1_cpu_frequency_mhz"),
    (r"(L|R)S(S|R)_SIZE(_REQ|_END)?", r"\g<0>_bytes"),
    (r"(LOCAL|REMOTE)_(SEND|RECV)_(SIZE|OFFSET|ALIGN)", r"\g<0>_bytes"),
    (r"(REQUEST|RESPONSE)_SIZE", r"\g<0>_bytes"),
)
"""Selector -> column, for the families; the result is lower-cased."""

_UNIT_OF_THROUGHPUT = {
    "10^6bits/s": "throughput_mbps",
    "Trans/s": "transaction_rate_tps",
}
_UNIT_OF_SERVICE_DEMAND = {"usec/KB": "us_per_kib", "usec/Tran": "us_per_tran"}

_TEXT = re.compile(
    r"SOCKET_TYPE|PROTOCOL|DIRECTION|.*_UNITS|.*_METHOD|.*_MODEL|.*_ADDR|.*_(SYS)?NAME|.*_RELEASE"
    r"|.*_VERSION|.*_MACHINE|.*_VENDOR|.*_DEVICE|.*_SUBVENDOR|.*_SUBDEVICE|.*_FIRMWARE|.*_BUS"
    r"|.*_SLOT|.*_SECURITY_.*|RESULT_BRAND|UUID|.*_CONG_CONTROL|.*_FILL_FILE|COMMAND_LINE"
    r"|.*_PORT|.*_FAMILY|.*_TOS"
)
"""Selectors whose values are words, or numbers that name something."""

ALWAYS_MEASURED = re.compile(r"(LOCAL|REMOTE)_(CPU_UTIL|CPU_PEAK_UTIL|SD)|THROUGHPUT|ELAPSED_TIME")
"""Selectors for which -1 means that the run is not what was asked for, not `does not apply`."""


@lru_cache(maxsize=1024)
def column(selector: str, throughput_units: str, sd_units: str) -> str:
    """The frame's column for a selector, given what THROUGHPUT_UNITS and SD_UNITS said.

    Raises ToolFailure for a unit that has no column, since a figure must not change its meaning.
    """
    if selector == "THROUGHPUT":
        return _unit(_UNIT_OF_THROUGHPUT, throughput_units, selector)
    if selector in ("LOCAL_SD", "REMOTE_SD"):
        end = selector.removesuffix("_SD").lower()
        return f"netperf_{end}_sd_{_unit(_UNIT_OF_SERVICE_DEMAND, sd_units, selector)}"
    if selector in _COLUMNS:
        return _COLUMNS[selector]
    for pattern, name in _PATTERNS:
        if re.fullmatch(pattern, selector):
            return re.sub(pattern, name, selector).lower()
    return selector.lower()


@lru_cache(maxsize=1024)
def is_text(selector: str) -> bool:
    """Whether a selector's values are words, or numbers that name something."""
    return _TEXT.fullmatch(selector) is not None


def value(selector: str, text: str) -> Scalar:
    """The value in netperf's text: a number, a word, or None where it does not apply (-1).

    Raises ToolFailure for a number that is none, or one that had to be measured and was not.
    """
    if is_text(selector):
        return None if text in ("Deprecated", "") else text
    try:
        number = int(text) if re.fullmatch(r"[+-]?\d+", text) else float(text)
    except ValueError:
        raise ToolFailure(f"{selector} is {text!r}, which is no number") from None
    if number != number or number in (float("inf"), float("-inf")):
        raise ToolFailure(f"{selector} is {text}: no data came back")
    if number == -1:
        if ALWAYS_MEASURED.fullmatch(selector):
            raise ToolFailure(f"netperf did not measure {selector} (it says -1)")
        return None
    return number


def _unit(table: dict[str, str], unit: str, selector: str) -> str:
    if unit not in table:
        raise ToolFailure(f"{selector} came in {unit!r}; known are {', '.join(table)}")
    return table[unit]
