"""Suggest metrics for an unknown name, by the meaning of its words or else by its spelling."""

from __future__ import annotations

import re
from collections.abc import Mapping

from netlimits.errors import nearest
from netlimits.metrics.catalogue import METRICS, names

_MEANING: Mapping[str, str] = {
    **dict.fromkeys(("avg", "average", "averages"), "mean"),
    **dict.fromkeys(("median", "p50"), "p50"),
    **dict.fromkeys(("minimum", "least", "lowest", "best"), "min"),
    **dict.fromkeys(("maximum", "worst", "greatest"), "max"),
    **dict.fromkeys(("std", "stdev", "stddev", "deviation"), "stddev"),
    **dict.fromkeys(("delay", "rt", "response", "roundtrip"), "latency"),
    **dict.fromkeys(
        ("bandwidth", "goodput", "bitrate", "speed", "mbps", "gbps", "bps"), "throughput"
    ),
    **dict.fromkeys(("tps", "transactions", "trans"), "transaction"),
    **dict.fromkeys(("pps", "packets"), "packet"),
    **dict.fromkeys(("utilization", "util", "usage", "load"), "cpu"),
    **dict.fromkeys(("demand", "cost"), "sd"),
    **dict.fromkeys(
        (
            *("retransmit", "retransmits", "retransmission", "retransmissions"),
            *("retransmitted", "resent", "resends", "retr", "retries"),
        ),
        "retrans",
    ),
    **dict.fromkeys(("lost", "losses", "dropped", "drops", "drop"), "loss"),
    **dict.fromkeys(("sender", "client", "tx", "source"), "local"),
    **dict.fromkeys(("receiver", "server", "rx", "sink", "destination"), "remote"),
    **dict.fromkeys(("sent", "sending", "transmit"), "send"),
    **dict.fromkeys(("receive", "received", "receiving"), "recv"),
    **dict.fromkeys(("acks", "acknowledgement", "acknowledgements"), "ack"),
    **dict.fromkeys(("segs", "segment"), "segments"),
    **dict.fromkeys(("time", "duration", "seconds"), "elapsed"),
}
"""Synonym -> word in the names of metrics."""

_EMPTY_WORDS = frozenset(
    ("rate", "the", "of", "per", "in", "us", "pct", "percent", "number", "count")
)
MOST_HINTS = 8


def alternatives(name: str) -> list[str]:
    """Return names of metrics that an unknown name may mean, in the order of METRICS."""
    own_words = _words(name)
    scores: dict[str, float] = {}
    for metric in METRICS:
        words = _words(metric.name.replace("rx_", "in_").replace("tx_", "out_"))
        shared = len(own_words & words)
        if shared:
            scores[metric.name] = shared - 0.1 * len(words - own_words - {"local", "remote"})
    enough = max(scores.values(), default=0)
    for slack in (0.15, 0.0) if scores else ():
        best = [metric for metric, score in scores.items() if score >= enough - slack - 1e-9]
        if len(best) <= MOST_HINTS:
            return best
    if near := nearest(name.lower(), names()):
        return [near]
    return [metric for metric, score in scores.items() if score == enough][:MOST_HINTS]


def _words(name: str) -> frozenset[str]:
    """Return the words of a name, with synonyms replaced, and without words of little meaning."""
    words = re.findall(r"[a-z]+[0-9]*|[0-9]+", name.lower())
    meanings = frozenset(_MEANING.get(word, word) for word in words)
    return meanings - _EMPTY_WORDS or meanings
