"""What an intervention changes in an experiment: keys of its file, and their values.

Each change is a function from a configuration to levels: the value that a key of the experiment
gets in the runs with the intervention; in all others it has its own, or is left out. It is a text
instead where no setting of ours can make the change: then that is what is left to do by hand.
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
"""Key of the file -> its value. `("settings", ROLE, …)` is an entry of its own for that role."""

TCP_IP = 40
"""Bytes of both headers, without options, over IPv4."""
TOLERANCE_PCT = 20
"""How far off a pace may be: it is to leave room on the path, not to be exact."""


@dataclass(frozen=True, slots=True)
class Configured:
    """One configuration as it ran: what it set up, and what was measured.

    `throughput` is the median in bit/s (None: not known), `sender` the end that sent, `sysctls` the
    hosts' by end, and `cpus` how many they have; `one_machine` says that both ends share them.
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
    one_machine: bool = False

    def group(self, end: str) -> str:
        """The role, as the file has it, at an end."""
        groups = list(self.experiment.groups or self.experiment.roles)
        return groups[0] if end == "local" else groups[-1]

    def use(self, name: str, end: str) -> SettingUse | None:
        """The last setting of that name on the roles at an end."""
        roles = set(self.experiment.ends[end])
        uses = reversed(self.setup.settings)
        return next((use for use in uses if use.name == name and roles & set(use.roles)), None)

    @property
    def receiver(self) -> str:
        """The end that received."""
        return "local" if self.sender == "remote" else "remote"


def streams(of: Configured, times: float) -> Levels | str:
    """The number of parallel streams times `times`: the tool's own, else clients of one server."""
    properties = tool(of.setup.tool).schema["properties"]
    if of.setup.around.pace:
        return "the pace is that of each connection, and their sum would be off it"
    told = of.setup.options.get("rate")
    levels: dict[KeyPath, Scalar] = {}
    if told and decimal_bits(told):  # each stream's own, and the sum is to stay what it was
        levels = {("measure", of.setup.tool, "rate"): round(decimal_bits(told) / times)}
    if "parallel" in properties:
        own = int(of.setup.options.get("parallel") or 1)
        return {("measure", of.setup.tool, "parallel"): round(own * times), **levels}
    if "interim_seconds" not in properties:
        return f"{of.setup.tool} cannot have parallel streams added up"
    return {("streams",): round(of.setup.around.streams * times), **levels}


def pace(of: Configured, times: float) -> Levels | str:
    """`times` as much as the experiment's pace; without one, as the measured throughput."""
    if of.setup.around.pace:
        return {
            ("pace", "rate"): of.setup.around.pace.rate * times,
            ("pace", "frame_rate"): of.setup.around.pace.frame_rate * times,
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
    """The tool's own rate option (bit/s) times `times`."""
    rate_option = of.setup.options.get("rate")
    if not rate_option or not decimal_bits(rate_option):
        return f"{of.setup.tool} is asked for no rate that could be changed"
    return {("measure", of.setup.tool, "rate"): round(decimal_bits(rate_option) * times)}


def send_size(of: Configured, times: float) -> Levels | str:
    """The send size (bytes) times `times`."""
    size = _bytes(of, of.setup.options.get("send_size"))
    if not size or int(size * times) < 1:
        return "the send size is not in the experiment"
    return {("measure", of.setup.tool, "send_size"): int(size * times)}


def packet_size(of: Configured, times: float) -> Levels | str:
    """What a packet carries times `times`: the datagram's size, or the MSS."""
    if of.udp:
        return send_size(of, times)
    if "mss" not in tool(of.setup.tool).schema["properties"]:
        return f"{of.setup.tool} has no option for the MSS"
    mss = of.setup.options.get("mss") or (of.mtu and of.mtu - TCP_IP)
    if not mss:
        return "the MTU is not known"
    return {("measure", of.setup.tool, "mss"): int(int(mss) * times)}


def datagram(of: Configured, times: float) -> Levels | str:
    """The largest datagram that needs no fragments, over IPv4."""
    if not of.mtu:
        return "the MTU is not known"
    return {("measure", of.setup.tool, "send_size"): of.mtu - 28}


def receive_buffer(of: Configured, times: float) -> Levels | str:
    """The receiver's socket buffer times `times`."""
    return _buffer(of, of.receiver, "rmem", times)


def send_buffer(of: Configured, times: float) -> Levels | str:
    """The sender's socket buffer times `times`."""
    return _buffer(of, of.sender, "wmem", times)


def _buffer(of: Configured, end: str, memory: str, times: float) -> Levels | str:
    """An end's socket buffer times `times`: by the tool's own option, else by the end's sysctl."""
    for option in (f"{end}_buffer", "window"):
        size = _bytes(of, of.setup.options.get(option))
        if size:
            return {("measure", of.setup.tool, option): int(size * times)}
        if option in of.setup.options:
            return f"{option} is {of.setup.options[option]}, not one size"
    use = of.use("sysctl", end)
    written = dict(use.options) if use else {}
    sysctls = (of.sysctls or {}).get(end, {})
    names = (
        (f"net.core.{memory}_max", f"net.core.{memory}_default")
        if of.udp
        else (f"net.ipv4.tcp_{memory}",)
    )
    levels: dict[KeyPath, Scalar] = {}
    for name in names:
        value = written.get(name, sysctls.get(name))
        if isinstance(value, Mapping) or value is None:
            return f"{name} of the {of.group(end)} is not known"
        least, *more = [int(part) for part in str(value).split()]
        sizes = [least, *(int(part * times) for part in more)] if more else [int(least * times)]
        text: Scalar = " ".join(map(str, sizes)) if more else sizes[0]
        inside = use and name in written
        key: KeyPath = ("settings", use.entry if use and inside else of.group(end), "sysctl", name)
        levels[key] = text
    return levels


def shaper(of: Configured, times: float) -> Levels | str:
    """The rates of the sender's own qdisc times `times`."""
    use = of.use("qdisc", of.sender)
    rates = {
        name: use.options[name]
        for name in ("rate", "ceil", "maxrate")
        if use and name in use.options
    }
    if not use or not rates:
        return "the sender's qdisc is not in the experiment"
    return {
        ("settings", use.entry, "qdisc", name): int(tc.rate(value) * times)
        for name, value in rates.items()
    }


def rps(of: Configured, times: float) -> Levels | str:
    """Received packets taken up by all CPUs of the receiver, instead of the interrupts' alone."""
    if of.use("rps", of.receiver):
        return "the receiver's packets are steered already"
    count = of.cpus.get(of.receiver)
    if count is None:
        return "how many CPUs the receiver has is not known"
    if count < 2:
        return "the receiver has one CPU"
    return {("settings", of.group(of.receiver), "rps", "cpus"): f"0-{count - 1}"}


def sender_load(of: Configured, times: float) -> Levels | str:
    """More busy processes for each CPU of the sender."""
    return _load(of, of.sender, times)


def receiver_load(of: Configured, times: float) -> Levels | str:
    """More busy processes for each CPU of the receiver."""
    return _load(of, of.receiver, times)


def _load(of: Configured, end: str, times: float) -> Levels | str:
    """`times` busy processes for each CPU of an end, and twice those that it has."""
    if of.one_machine:
        return "both ends are one machine, and share its CPUs"
    use = of.use("load", end)
    own = use.options.get("workers_per_cpu") if use else 0
    if not isinstance(own, int) or isinstance(own, bool):
        return f"the load of the {of.group(end)} is not so many processes for each CPU"
    entry = use.entry if use else of.group(end)
    return {("settings", entry, "load", "workers_per_cpu"): 2 * own + round(times)}


def _bytes(of: Configured, size: Any) -> int | None:
    """A size in bytes, as the tool reads it; None for none, or two."""
    if not isinstance(size, int | str) or not size or "," in str(size):
        return None
    return tool(of.setup.tool).bytes_of(size)


CHANGES: Mapping[str, Callable[[Configured, float], Levels | str]] = {
    "streams": streams,
    "pace": pace,
    "rate": rate,
    "send_size": send_size,
    "packet_size": packet_size,
    "datagram": datagram,
    "receive_buffer": receive_buffer,
    "send_buffer": send_buffer,
    "shaper": shaper,
    "sender_load": sender_load,
    "receiver_load": receiver_load,
    "rps": rps,
}
"""What `Intervention.what` names."""
