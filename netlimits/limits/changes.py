"""Changes that interventions make to an experiment: keys of its file, and their values.

Each function of CHANGES returns the changed keys, or says in words why it cannot make the change.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from netlimits.experiment.document import KeyPath
from netlimits.limits.figures import TCP_HEADERS, UDP_HEADERS
from netlimits.model import Experiment, Scalar, SettingUse, Setup
from netlimits.tools import tool
from netlimits.units import tc
from netlimits.units.sizes import decimal_bits

Levels = Mapping[KeyPath, Scalar]
"""Key of the experiment file -> new value. `("settings", ROLE, …)` adds an entry for that role."""


def size_of(setup: Setup, option: str) -> int | None:
    """Return the bytes that an option of the tool sets; None if it is unset or not one size."""
    size = setup.options.get(option)
    if not isinstance(size, int | str) or not size or "," in str(size):
        return None
    return tool(setup.tool).bytes_of(size)


@dataclass(frozen=True, slots=True)
class Configured:
    """A configuration as it ran.

    `throughput` is the throughput of the median run, in bit/s. The keys of the mappings are the
    ends, "local" and "remote".
    """

    experiment: Experiment
    setup: Setup
    throughput: float | None
    sender: str = "local"
    udp: bool = False
    mtu: int | None = None
    packet_bytes: float | None = None
    sysctls: Mapping[str, Mapping[str, Any]] | None = None
    cpus: Mapping[str, int] = field(default_factory=dict)
    queues: Mapping[str, int] = field(default_factory=dict)
    one_machine: bool = False
    ipv6: bool = False
    rtt_us: float | None = None

    def group(self, end: str) -> str:
        """Return the name of the group of roles at an end, else the name of the role there."""
        groups = list(self.experiment.groups or self.experiment.roles)
        return groups[0] if end == "local" else groups[-1]

    def use(self, name: str, end: str) -> SettingUse | None:
        """Return the last use of a setting at an end, which is the one that counts."""
        roles = set(self.experiment.ends[end])
        uses = reversed(self.setup.settings)
        return next((use for use in uses if use.name == name and roles & set(use.roles)), None)

    @property
    def receiver(self) -> str:
        return "local" if self.sender == "remote" else "remote"

    def sysctl(self, end: str, name: str) -> tuple[KeyPath, Any]:
        """Return the key that sets a sysctl at an end, and the sysctl's present value or None."""
        use = self.use("sysctl", end)
        if use and name in use.options:
            return ("settings", use.entry, "sysctl", name), use.options[name]
        now = (self.sysctls or {}).get(end, {}).get(name)
        return ("settings", self.group(end), "sysctl", name), now


IPV4, IPV6, TCP, UDP = 20, 40, 20, 8
"""Bytes of headers, without options."""
LEAST_MSS = 132
"""Minimum MSS in bytes after a change. TCP's timestamps take 12 bytes of it, so halving an MSS near
this minimum more than halves the data. Linux accepts 88 or more."""
LEAST_DELAY_US = 100
"""Minimum added delay in microseconds: a virtual machine's timers are not more precise."""
TOLERANCE_PCT = 20
"""Allowed deviation from a pace, in percent. It is wide because a run that misses the new pace is
evidence too: the pace was not the limit."""

BUFFER = 212_992
"""Linux's default for the maximum size of a socket buffer, in bytes (net.core.rmem_max and
wmem_max)."""


def streams(of: Configured, times: float) -> Levels | str:
    properties = tool(of.setup.tool).schema["properties"]
    if of.setup.around.pace:
        return "the pace is that of one connection, and the sum of several would miss it"
    if "parallel" in properties:
        wanted = round(int(of.setup.options.get("parallel") or 1) * times)
        most = properties["parallel"].get("maximum", wanted)
        if wanted > most:
            return f"{of.setup.tool} has {most} parallel streams at most"
        return {("measure", of.setup.tool, "parallel"): wanted}
    if "interim_seconds" not in properties:
        return f"{of.setup.tool} prints no interim results to add parallel streams up"
    return {("streams",): round(of.setup.around.streams * times)}


def pace(of: Configured, times: float) -> Levels | str:
    """Multiply the experiment's pace, or set one from the measured throughput."""
    if own := of.setup.around.pace:
        return {
            ("pace", "rate"): own.rate * times,
            ("pace", "frame_rate"): own.frame_rate * times,
            ("pace", "tolerance_pct"): max(TOLERANCE_PCT, own.tolerance_pct),
        }
    if of.setup.options.get("rate"):
        return rate(of, times)
    if of.sender != "local" or of.use("qdisc", "local"):
        return "the sender cannot be paced beside the qdisc that it has"
    if of.throughput is None:
        return "what arrived is not known"
    rate_bps, size = of.throughput * times, of.packet_bytes or 1448.0
    headers = UDP_HEADERS if of.udp else TCP_HEADERS
    return {
        ("pace", "rate"): round(rate_bps),
        ("pace", "frame_rate"): round(rate_bps * (size + headers) / size),
        ("pace", "tolerance_pct"): TOLERANCE_PCT,
    }


def rate(of: Configured, times: float) -> Levels | str:
    rate_option = of.setup.options.get("rate")
    if not rate_option or not decimal_bits(rate_option):
        return f"{of.setup.tool} has no `rate` that could be changed"
    return {("measure", of.setup.tool, "rate"): round(decimal_bits(rate_option) * times)}


def arrived(of: Configured, times: float) -> Levels | str:
    """Send at `times` × the measured throughput, with the tool's rate option, else with a pace."""
    if of.throughput is None:
        return "what arrived is not known"
    if of.setup.options.get("rate"):
        streams = int(of.setup.options.get("parallel") or 1) * of.setup.around.streams
        return {("measure", of.setup.tool, "rate"): round(of.throughput * times / streams)}
    if of.setup.around.pace:
        times *= of.throughput / of.setup.around.pace.rate
    levels = pace(of, times)
    if isinstance(levels, str):
        return levels
    # a run that misses the pace stays valid: `mediators` then leaves the proof open
    return {**levels, ("pace", "tolerance_pct"): 100}


def seconds(of: Configured, times: float) -> Levels | str:
    length = of.setup.options.get("seconds")
    if not isinstance(length, int | float):
        return f"{of.setup.tool} has no `seconds` that could be changed"
    return {("measure", of.setup.tool, "seconds"): round(length * times)}


def send_size(of: Configured, times: float) -> Levels | str:
    size = size_of(of.setup, "send_size")
    if not size or int(size * times) < 1:
        return "the send size is not in the experiment"
    return {("measure", of.setup.tool, "send_size"): int(size * times)}


def packet_size(of: Configured, times: float) -> Levels | str:
    """Multiply the data in each packet: the datagram's size, or the MSS."""
    if of.udp:
        return send_size(of, times)
    if "mss" not in tool(of.setup.tool).schema["properties"]:
        return f"{of.setup.tool} has no option for the MSS"
    headers = (IPV6 if of.ipv6 else IPV4) + TCP
    mss = of.setup.options.get("mss") or (of.mtu and of.mtu - headers)
    if not mss:
        return "the MTU is not known"
    if int(mss) * times < LEAST_MSS:
        return f"an MSS of {int(int(mss) * times)} bytes is hardly more than TCP's options"
    return {("measure", of.setup.tool, "mss"): int(int(mss) * times)}


def datagram(of: Configured, times: float) -> Levels | str:
    """Set the send size to the largest datagram that needs no fragments."""
    if not of.mtu:
        return "the MTU is not known"
    headers = (IPV6 if of.ipv6 else IPV4) + UDP
    return {("measure", of.setup.tool, "send_size"): of.mtu - headers}


def shaper(of: Configured, times: float) -> Levels | str:
    use = of.use("qdisc", of.sender)
    rates = {
        name: use.options[name]
        for name in ("rate", "ceil", "maxrate", "bandwidth")
        if use and use.options.get(name, "unlimited") != "unlimited"
    }
    if not use or not rates:
        return "the experiment gives the sender's qdisc no rate"
    return {
        ("settings", use.entry, "qdisc", name): int(tc.rate(value) * times)
        for name, value in rates.items()
    }


def rps(of: Configured, times: float) -> Levels | str:
    """Spread received packets over all CPUs of the receiver.

    If the experiment sets `rss` there, spread them over all queues of the NIC instead.
    """
    if (use := of.use("rss", of.receiver)) and of.queues.get(of.receiver, 0) > 1:
        if "equal" not in use.options:
            return "the experiment gives the queues weights: make them equal"
        return {("settings", use.entry, "rss", "equal"): of.queues[of.receiver]}
    if of.use("ntuple", of.receiver):
        return "the experiment chooses the flows' queues: name others"
    if of.use("rps", of.receiver):
        return "the receiver's packets are steered already"
    count = of.cpus.get(of.receiver)
    if count is None:
        return "how many CPUs the receiver has is not known"
    if count < 2:
        return "the receiver has one CPU"
    return {("settings", of.group(of.receiver), "rps", "cpus"): f"0-{count - 1}"}


def delay(of: Configured, times: float) -> Levels | str:
    """Multiply the round trip by `times`, with netem at the sender."""
    if of.one_machine:
        return "both ends are one machine, whose clock ticks more slowly than such a round trip"
    if of.use("qdisc", of.sender):
        return "the sender has a qdisc already"
    if not of.rtt_us:
        return "the round trip is not known"
    entry = ("settings", of.group(of.sender), "qdisc")
    wanted = max(LEAST_DELAY_US, round(of.rtt_us * (times - 1)))
    return {(*entry, "kind"): "netem", (*entry, "delay"): f"{wanted}us"}


def _load(of: Configured, end: str, times: float) -> Levels | str:
    if of.one_machine:
        return "both ends are one machine, and share its CPUs"
    use = of.use("load", end)
    own = use.options.get("workers_per_cpu") if use else 0
    if not isinstance(own, int) or isinstance(own, bool):
        return f"the load of the {of.group(end)} is not given as `workers_per_cpu`"
    entry = use.entry if use else of.group(end)
    # the experiment's `own` workers leave 1/(1 + own) of a CPU to the tool; `times` 1 halves that
    return {("settings", entry, "load", "workers_per_cpu"): 2 * own + round(times)}


def _buffer(of: Configured, end: str, memory: str, times: float) -> Levels | str:
    """Enlarge a socket buffer by the tool's option if it is set, else by the host's sysctls."""
    levels: dict[KeyPath, Scalar] = {}
    for option in (f"{end}_buffer", "window"):
        size = size_of(of.setup, option)
        if size:
            wanted = int(size * times)
            levels[("measure", of.setup.tool, option)] = wanted
            both = option == "window"  # `window` sets both buffers of both ends
            for each in ("local", "remote") if both else (end,):
                for name in ("rmem", "wmem") if both else (memory,):
                    room = _room(of, each, name, wanted)
                    if isinstance(room, str):
                        return room
                    levels |= room
            return levels
        if option in of.setup.options:
            return f"{option} is {of.setup.options[option]}, not one size"
    if of.udp and of.one_machine:
        return "net.core's sysctls are those of the machine that both ends share"
    names = (
        (f"net.core.{memory}_max", f"net.core.{memory}_default")
        if of.udp
        else (f"net.ipv4.tcp_{memory}",)
    )
    for name in names:
        key, value = of.sysctl(end, name)
        if isinstance(value, Mapping) or value is None:
            return f"{name} of the {of.group(end)} is not known"
        least, *more = [int(part) for part in str(value).split()]
        sizes = [least, *(int(part * times) for part in more)] if more else [int(least * times)]
        levels[key] = " ".join(map(str, sizes)) if more else sizes[0]
    return levels


def _room(of: Configured, end: str, memory: str, wanted: int) -> Levels | str:
    """Raise the sysctl that limits a buffer if its value is below `wanted` bytes."""
    name = f"net.core.{memory}_max"
    key, value = of.sysctl(end, name)
    known = value is not None and str(value).isdigit()
    if wanted <= (int(str(value)) if known else BUFFER):
        return {}
    return {key: wanted} if known else f"{name} of the {of.group(end)} is not known"


CHANGES: Mapping[str, Callable[[Configured, float], Levels | str]] = {
    "streams": streams,
    "pace": pace,
    "rate": rate,
    "arrived": arrived,
    "seconds": seconds,
    "send_size": send_size,
    "packet_size": packet_size,
    "datagram": datagram,
    "receive_buffer": lambda of, times: _buffer(of, of.receiver, "rmem", times),
    "send_buffer": lambda of, times: _buffer(of, of.sender, "wmem", times),
    "shaper": shaper,
    "sender_load": lambda of, times: _load(of, of.sender, times),
    "receiver_load": lambda of, times: _load(of, of.receiver, times),
    "rps": rps,
    "delay": delay,
}
"""`Intervention.what` -> the function that makes the change."""
