"""Changes that interventions make to an experiment: keys of its file, and their values.

A change that no setting can make is the reason, as text.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from netlimits.limits.buffers import receive_buffer, send_buffer
from netlimits.limits.configured import Configured, Levels
from netlimits.limits.figures import TCP_HEADERS, UDP_HEADERS
from netlimits.tools import tool
from netlimits.units import tc
from netlimits.units.sizes import decimal_bits

IPV4, IPV6, TCP, UDP = 20, 40, 20, 8
"""Bytes of headers, without options."""
LEAST_MSS = 132
"""Minimum MSS in bytes after a change: with timestamps, half of a smaller MSS leaves much less than
half for data. Linux accepts 88 or more."""
LEAST_DELAY_US = 100
"""Minimum delay in microseconds: a virtual machine's timers are not more precise."""
TOLERANCE_PCT = 20
"""Allowed deviation from a pace, in percent. It is wide because a run that misses the new pace
counts: it refutes that the pace was the limit."""


def streams(of: Configured, times: float) -> Levels | str:
    properties = tool(of.setup.tool).schema["properties"]
    if of.setup.around.pace:
        return "the pace is that of each connection, and their sum would be off it"
    if "parallel" in properties:
        wanted = round(int(of.setup.options.get("parallel") or 1) * times)
        most = properties["parallel"].get("maximum", wanted)
        if wanted > most:
            return f"{of.setup.tool} has {most} parallel streams at most"
        return {("measure", of.setup.tool, "parallel"): wanted}
    if "interim_seconds" not in properties:
        return f"{of.setup.tool} cannot have parallel streams added up"
    return {("streams",): round(of.setup.around.streams * times)}


def pace(of: Configured, times: float) -> Levels | str:
    """Multiply the experiment's pace, or set one from the measured throughput."""
    if of.setup.around.pace:
        return {
            ("pace", "rate"): of.setup.around.pace.rate * times,
            ("pace", "frame_rate"): of.setup.around.pace.frame_rate * times,
            ("pace", "tolerance_pct"): max(TOLERANCE_PCT, of.setup.around.pace.tolerance_pct),
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
    """Send at `times` the throughput measured, by the tool's own rate option, else by a pace."""
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
    return {**levels, ("pace", "tolerance_pct"): 100}  # `mediators` leaves a missed pace open


def seconds(of: Configured, times: float) -> Levels | str:
    length = of.setup.options.get("seconds")
    if not isinstance(length, int | float):
        return f"{of.setup.tool} has no `seconds` that could be changed"
    return {("measure", of.setup.tool, "seconds"): round(length * times)}


def send_size(of: Configured, times: float) -> Levels | str:
    size = of.size("send_size")
    if not size or int(size * times) < 1:
        return "the send size is not in the experiment"
    return {("measure", of.setup.tool, "send_size"): int(size * times)}


def packet_size(of: Configured, times: float) -> Levels | str:
    """Multiply what a packet carries: the datagram's size, or the MSS."""
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
    """Return the largest datagram that needs no fragments."""
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
    """Spread received packets over all CPUs of the receiver, not only those with interrupts."""
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
    """Make the round trip `times` as long, by netem at the sender."""
    if of.one_machine:
        return "both ends are one machine, whose clock ticks more slowly than such a round trip"
    if of.use("qdisc", of.sender):
        return "the sender has a qdisc already"
    if not of.rtt_us:
        return "the round trip is not known"
    entry = ("settings", of.group(of.sender), "qdisc")
    wanted = max(LEAST_DELAY_US, round(of.rtt_us * (times - 1)))
    return {(*entry, "kind"): "netem", (*entry, "delay"): f"{wanted}us"}


def sender_load(of: Configured, times: float) -> Levels | str:
    return _load(of, of.sender, times)


def receiver_load(of: Configured, times: float) -> Levels | str:
    return _load(of, of.receiver, times)


def _load(of: Configured, end: str, times: float) -> Levels | str:
    """Return twice the busy processes that each CPU of an end already has, and `times` more."""
    if of.one_machine:
        return "both ends are one machine, and share its CPUs"
    use = of.use("load", end)
    own = use.options.get("workers_per_cpu") if use else 0
    if not isinstance(own, int) or isinstance(own, bool):
        return f"the load of the {of.group(end)} is not so many processes for each CPU"
    entry = use.entry if use else of.group(end)
    return {("settings", entry, "load", "workers_per_cpu"): 2 * own + round(times)}


CHANGES: Mapping[str, Callable[[Configured, float], Levels | str]] = {
    "streams": streams,
    "pace": pace,
    "rate": rate,
    "arrived": arrived,
    "seconds": seconds,
    "send_size": send_size,
    "packet_size": packet_size,
    "datagram": datagram,
    "receive_buffer": receive_buffer,
    "send_buffer": send_buffer,
    "shaper": shaper,
    "sender_load": sender_load,
    "receiver_load": receiver_load,
    "rps": rps,
    "delay": delay,
}
"""Change by its name in `Intervention.what`."""
