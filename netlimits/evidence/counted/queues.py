"""Packets that the qdiscs of an interface dropped, delayed and requeued.

The *drops* and *requeues* of a root qdisc include those of its children. *overlimits* do not, so
they are added up over all qdiscs. `mq` and `mqprio` are left out, because their *overlimits* are
the sums of their children.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NotRequired, TypedDict

from netlimits.errors import ToolFailure
from netlimits.evidence.counted._base import growth
from netlimits.model import Command, Completed, Scalar, decoding

_INGRESS = ("ingress", "clsact")
_SUMS_OF_CHILDREN = ("mq", "mqprio")
_RATE = {"tbf": ("rate",), "netem": ("rate", "rate"), "cake": ("bandwidth",), "fq": ("maxrate",)}
"""Kind of qdisc -> the keys that lead to its rate (bytes/s) in the options of `tc -j`."""
_MOST = 0.5
"""A qdisc's rate counts if the qdisc carried more than this share of the busiest qdisc's bytes."""


class _Qdisc(TypedDict):
    kind: str
    handle: str
    drops: NotRequired[int]
    overlimits: NotRequired[int]
    requeues: NotRequired[int]


_SCRIPT = """qdiscs=$(tc -s -j qdisc show dev "$1") || exit
printf '%s\\n' "$qdiscs"
case $qdiscs in
*'"kind":"htb"'*|*'"kind":"hfsc"'*|*'"kind":"drr"'*) exec tc -s class show dev "$1" ;;
esac"""

_PERL = r"""
my ($interface) = @_;
open my $file, "<", "/sys/class/net/$interface/ifindex";
my $index = $file && <$file>;
my $qdiscs = $index && Kept::answer($index, "qdisc show dev $interface", qw(tc -s -j -batch -));
(my $status, $qdiscs) = Kept::output(qw(tc -s -j qdisc show dev), $interface) unless $qdiscs;
return $status if $status;
$qdiscs =~ s/\n*\z/\n/;
print $qdiscs;
$qdiscs =~ /"kind":"(htb|hfsc|drr)"/ ? Kept::ran(qw(tc -s class show dev), $interface) : 0;
"""
"""Perl code with the same output, which keeps a `tc` running. `tc` remembers an interface's index,
so a new interface of the same name gets a new `tc`.
"""

Qdiscs = Sequence[Mapping[str, Any]]


class Queues:
    name = "queues"

    def read(self, interface: str) -> Command:
        return Command(("sh", "-c", _SCRIPT, "sh", interface), deadline=10, perl=_PERL)

    def figures(self, before: Completed, after: Completed) -> dict[str, Scalar]:
        """Return the figures of qdiscs and their classes; empty if `tc` printed no JSON."""
        first = qdiscs(before)
        if first is None:
            return {}
        second = qdiscs(after) or ()
        if [_identity(q) for q in first] != [_identity(q) for q in second]:
            was, now = (", ".join(map(_words, each)) or "nothing" for each in (first, second))
            raise ToolFailure(
                f"{before.host}: the qdiscs were replaced during the run: {was} became {now}",
                status="invalid",
            )
        pairs = list(zip(first, second, strict=True))
        for a, b in pairs:
            if _options(a) != _options(b):
                raise ToolFailure(
                    f"{before.host}: {_words(a)} was changed during the run: {_options(a)} became "
                    f"{_options(b)}",
                    status="invalid",
                )
        roots = [pair for pair in pairs if pair[0].get("root")]
        own = [pair for pair in pairs if pair[0]["kind"] not in _SUMS_OF_CHILDREN]
        counted = (("drops", roots), ("overlimits", own), ("requeues", roots))
        figures: dict[str, Scalar] = {
            f"qdisc_{counter}": _grown(before.host, counter, pairs)
            for counter, pairs in counted
            if all(counter in qdisc for pair in pairs for qdisc in pair)
        }
        figures |= _ingress(before, after)
        return figures | _rates(pairs) | _of_classes(before, after)


def qdiscs(completed: Completed) -> Qdiscs | None:
    """Return the egress qdiscs that `tc` printed; None if it printed no JSON."""
    every = _listed(completed)
    return None if every is None else [each for each in every if each["kind"] not in _INGRESS]


def _listed(completed: Completed) -> Qdiscs | None:
    try:
        listed = decoding.parsed(completed.stdout.partition("\nclass ")[0])
    except ValueError:
        return None
    if not decoding.has(listed, list[_Qdisc]):
        raise ToolFailure(f"{completed.host}: the output of `tc -j qdisc` is no list of qdiscs")
    qdiscs: Qdiscs = listed
    return qdiscs


def _ingress(before: Completed, after: Completed) -> dict[str, Scalar]:
    """Return `ingress_drops`: packets that filters and policers dropped on ingress.

    Return nothing if the interface has no ingress qdisc, or if it was replaced.
    """
    first, second = (
        [each for each in _listed(reading) or () if each["kind"] in _INGRESS and "drops" in each]
        for reading in (before, after)
    )
    if not first or [_identity(each) for each in first] != [_identity(each) for each in second]:
        return {}
    return {"ingress_drops": _grown(before.host, "drops", list(zip(first, second, strict=True)))}


def _grown(host: str, counter: str, pairs: Sequence[tuple[Any, Any]]) -> int:
    return sum(
        growth(f"{host}: {counter} of {_words(a)}", a[counter], b[counter], bits=32)
        for a, b in pairs
    )


def _rates(pairs: Sequence[tuple[Any, Any]]) -> dict[str, Scalar]:
    """Return the lowest total rate and the lowest rate per flow of the busiest qdiscs."""
    grown = [b.get("bytes", 0) - a.get("bytes", 0) for a, b in pairs]
    rates: dict[str, list[float]] = {}
    for (qdisc, _), bytes_ in zip(pairs, grown, strict=True):
        value = qdisc.get("options") or {}
        for key in _RATE.get(qdisc["kind"], ("none",)):
            value = value.get(key) if isinstance(value, Mapping) else None
        if isinstance(value, int | float) and 0 < value < 2**32 - 1 and bytes_ > _MOST * max(grown):
            name = "qdisc_flow_rate_mbps" if qdisc["kind"] == "fq" else "qdisc_rate_mbps"
            rates.setdefault(name, []).append(value * 8 / 1e6)
    return {name: min(every) for name, every in rates.items()}


def _of_classes(before: Completed, after: Completed) -> dict[str, Scalar]:
    """Return `class_drops`, `class_overlimits` and, for htb, `class_borrowed`, over all classes."""
    first, second = (_classes(reading.stdout) for reading in (before, after))
    figures: dict[str, Scalar] = {}
    for counter in ("drops", "overlimits", "borrowed"):
        pairs = [
            (first[name][counter], second[name][counter])
            for name in first.keys() & second.keys()
            if counter in first[name] and counter in second[name]
        ]
        if pairs:
            what = f"{before.host}: {counter} of classes"
            figures[f"class_{counter}"] = sum(growth(what, *pair, bits=32) for pair in pairs)
    return figures


def _classes(stdout: str) -> dict[str, dict[str, int]]:
    """Parse each class's counters from text: `tc` prints no JSON for classes (iproute2 6.1)."""
    _, *texts = re.split(r"^class ", stdout, flags=re.MULTILINE)
    counted = {}
    for text in texts:
        name = " ".join(text.split()[:2])
        counters = {"drops": r"\(dropped (\d{1,20}),", "overlimits": r"overlimits (\d{1,20}) ",
                    "borrowed": r"borrowed: (\d{1,20})"}  # fmt: skip
        matches = {counter: re.search(pattern, text) for counter, pattern in counters.items()}
        counted[name] = {counter: int(match[1]) for counter, match in matches.items() if match}
    return counted


def _identity(qdisc: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple(qdisc.get(key) for key in ("kind", "handle", "parent", "root"))


def _options(qdisc: Mapping[str, Any]) -> Any:
    """Return a qdisc's parameters; None for cake with autorate-ingress, which adapts its rate."""
    options = qdisc.get("options")
    return None if qdisc["kind"] == "cake" and "autorate" in str(options) else options


def _words(qdisc: Mapping[str, Any]) -> str:
    """Return a qdisc's kind, handle and place: `tbf 8001: root`."""
    place = "root" if qdisc.get("root") else f"parent {qdisc.get('parent')}"
    return f"{qdisc['kind']} {qdisc['handle']} {place}"
