"""Changes that other users make during a run: to the data interface, CPUs, routes and rules.

The state before the client runs is compared with the state after it. In between, a Perl process
(`watch.pl`) holds sockets open, and the kernel queues notifications on them (rtnetlink, uevents).
The notifications also show changes that were undone before the end. On a host without Perl, only
the two states are compared.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources

from netlimits.evidence.watch import rtnetlink
from netlimits.evidence.watch.rtnetlink import Message
from netlimits.model import Command, Completed

__all__ = ["changes", "command"]

BEGIN, END = "begin", "end"

_SCRIPT = r"""
act=$1 interface=$2
shift 2
cd "/sys/class/net/$interface" 2>/dev/null || { echo absent; exit 0; }
for file in ifindex mtu flags tx_queue_len carrier_down_count speed duplex \
  gro_flush_timeout napi_defer_hard_irqs threaded; do
  { read -r value <"$file"; } 2>/dev/null && echo "$file $value"
done
echo "features $(ethtool -k "$interface" | sed -n 's/: on.*//p' | tr -d '\t' | tr '\n' ' ')"
for peer; do
  echo "path $peer $(ip -o route get fibmatch "$peer" 2>/dev/null)"
done
"""
"""Print the state for a host without Perl, as `watch.pl` does."""

_LASTING = {
    "speed": "link speed",
    "duplex": "duplex mode",
    "mtu": "MTU",
    "tx_queue_len": "transmit queue length",
    "rings": "rings",
    "channels": "channels",
    "pause": "pause frames",
    "gro_flush_timeout": "gro_flush_timeout",
    "napi_defer_hard_irqs": "napi_defer_hard_irqs",
    "threaded": "threaded NAPI",
}
"""Key of the state -> its name in sentences, for keys that have a single value."""

_LOST = (
    "so many routes, rules or properties of the interface changed that the kernel dropped notices: "
    "a change that was undone before the end may be missed; stop what changes them"
)

_NUMBERS = ("ifindex", "flags", "carrier_down_count")

_PASSING = re.compile(r" (expires \d+sec|cache|users \d+|used \d+|age \d+sec)\b")
"""Parts of the output of `ip route` that change even if the route does not."""


@dataclass(frozen=True, slots=True)
class _Reading:
    """A reading: the state, and the notifications since the first reading.

    Two readings belong together if they have the same `watch`. `lost` is true if the kernel dropped
    notifications.
    """

    watch: str
    absent: bool
    state: Mapping[str, str]
    link: Message | None
    routes: Mapping[str, Message]
    notices: tuple[Message, ...]
    cpus: tuple[tuple[str, str], ...]
    lost: bool


def command(act: str, interface: str, peers: Iterable[str]) -> Command:
    """Return the command for the reading before a run (BEGIN) or after it (END)."""
    argv = ("sh", "-c", _SCRIPT, "sh", act, interface, *peers)
    return Command(argv, deadline=10, perl=_perl())


@cache
def _perl() -> str:
    text = resources.files(__package__).joinpath("watch.pl").read_text(encoding="utf-8")
    lines = (line.strip() for line in text.splitlines())
    return "\n".join(line for line in lines if line and not line.startswith("#"))


def changes(
    before: Completed, after: Completed, interface: str, addresses: Collection[str] = ()
) -> tuple[str, ...]:
    """Describe what other users changed between two readings."""
    first, last = _reading(before), _reading(after)
    if first.absent:
        return ()
    if last.absent:
        names = [n.name for n in last.notices if n.name and n.name != interface]
        if last.watch == first.watch and names:
            return (f"{interface} was renamed to {names[-1]}",)
        return (f"{interface} is gone: it was removed or renamed",)
    if first.state.get("ifindex") != last.state.get("ifindex"):
        return (f"{interface} was removed and made again",)
    watched = bool(first.watch) and first.watch == last.watch
    notices = last.notices if watched else ()
    cpus = last.cpus if watched else ()
    queues = dict.fromkeys(notice.queue for notice in notices if notice.queue)
    gone = {n.address for n in notices if n.address and n.deleted}
    return (
        *_of_link(first, last, [n for n in notices if n.link], interface),
        *_of_state(first.state, last.state, interface),
        *_of_features(first, last, notices, interface),
        *([f"{interface}: {', '.join([*queues][:6])}"] if queues else ()),
        *(f"{interface}: its address {each} was removed" for each in addresses if each in gone),
        *_of_routes(first, last, notices),
        *dict.fromkeys(n.rule for n in notices if n.selects(interface, addresses, first.routes)),
        *([_LOST] if watched and last.lost else ()),
        *dict.fromkeys(f"CPU {number} went {how}" for how, number in cpus),
    )


def _reading(completed: Completed) -> _Reading:
    """Parse the output of `command`; unknown lines are ignored."""
    state: dict[str, str] = {}
    watch, absent, lost = "", False, False
    link, routes = None, {}
    notices, cpus = [], []
    lines = [line.partition(" ")[::2] for line in completed.stdout.splitlines()]
    order: rtnetlink.Order = "big" if ("order", "0001") in lines else "little"
    for name, text in lines:
        if name == "watch":
            watch = text
        elif name == "absent":
            absent = True
        elif name == "lost":
            lost = True
        elif name == "cpu" and (match := re.fullmatch(r"(offline|online) ([0-9]{1,6})", text)):
            cpus.append((match[1], match[2]))
        elif name == "link":
            link = rtnetlink.parsed(text, order)
        elif name == "route":
            peer, _, rest = text.partition(" ")
            if message := rtnetlink.parsed(rest, order):
                routes[peer] = message
        elif name == "path":
            peer, _, rest = text.partition(" ")
            state[f"path {peer}"] = " ".join(_PASSING.sub("", rest).split())
        elif name == "notice" and (message := rtnetlink.parsed(text, order)):
            notices.append(message)
        elif name in _NUMBERS and re.fullmatch("0x[0-9a-f]{1,8}|[0-9]{1,18}", text, re.ASCII):
            state[name] = str(int(text, 16 if "x" in text else 10))
        elif name == "features" or name in _LASTING:
            state[name] = text.strip()
    if link:
        state["ifindex"] = str(link.index)
    return _Reading(watch, absent, state, link, routes, tuple(notices), tuple(cpus), lost)


def _of_link(
    first: _Reading, last: _Reading, notices: Sequence[Message], interface: str
) -> Iterator[str]:
    if first.link and last.link:
        history = [message.properties() for message in (first.link, *notices, last.link)]
        for what, was in history[0].items():
            values = [was]
            for properties in history[1:]:
                if what in properties and properties[what] != values[-1]:
                    values.append(properties[what])
            if what == "carrier losses":
                lost = int(values[-1]) - int(was)
                if lost > 0:
                    yield f"{interface} lost its carrier {lost} time{'s' if lost > 1 else ''}"
            elif len(values) > 1:
                yield _changed(interface, what, values)
        if any(message.deleted for message in notices):
            yield f"{interface} was removed"
        if any(message.failed_over for message in notices):
            yield f"{interface} failed over to another of its links"
        return
    flags = [int(reading.state.get("flags", 1)) & 1 for reading in (first, last)]
    if flags[0] != flags[1]:
        yield _changed(interface, "state", ["up" if up else "down" for up in flags])
    lost = int(last.state.get("carrier_down_count", 0)) - int(
        first.state.get("carrier_down_count", 0)
    )
    if lost > 0:
        yield f"{interface} lost its carrier {lost} time{'s' if lost > 1 else ''}"


def _changed(interface: str, what: str, values: Sequence[str]) -> str:
    back = " and back" if len(values) > 2 and values[-1] == values[0] else ""
    shown = values[:-1] if back else values
    return f"{interface}: its {what} was changed from {' to '.join(shown[:5])}{back}"


def _of_state(first: Mapping[str, str], last: Mapping[str, str], interface: str) -> Iterator[str]:
    for key, words in _LASTING.items():
        if key in first and key in last and first[key] != last[key]:
            yield _changed(interface, words, [first[key], last[key]])
    for key, was in first.items():
        if key.startswith("path ") and last.get(key, was) != was:
            yield f"the route to {key.split()[1]} was {was or 'none'} and is {last[key] or 'none'}"


def _of_features(
    first: _Reading, last: _Reading, notices: Iterable[Message], interface: str
) -> Iterator[str]:
    if "features" in first.state and "features" in last.state:
        was, now = (set(reading.state["features"].split()) for reading in (first, last))
        if was != now:
            for verb, names in (("on", now - was), ("off", was - now)):
                if names:
                    yield f"{interface}: switched {verb}: {', '.join(sorted(names))}"
            return
    if any(message.features for message in notices):
        yield f"{interface}: its offloads were changed and changed back"


def _of_routes(first: _Reading, last: _Reading, notices: Sequence[Message]) -> Iterator[str]:
    for peer, route in first.routes.items():
        now = last.routes.get(peer)
        if now is None or now.path != route.path:
            yield f"the route to {peer} was {route.shown} and is {now.shown if now else 'none'}"
        elif (other := next((n for n in notices if n.moves(peer, route)), None)) is not None:
            verb = "removed" if other.deleted else f"changed to {other.shown}"
            yield f"the route to {peer} was {verb} and is {route.shown} again"
