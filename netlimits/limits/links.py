"""Facts about a campaign's data link, from the hosts and from the experiment's settings."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from netlimits.analysis.headers import layer
from netlimits.limits.changes import size_of
from netlimits.model import Setup
from netlimits.settings import setting
from netlimits.units import tc
from netlimits.units.sizes import decimal_bits

if TYPE_CHECKING:
    from netlimits.archive.reader import Campaign

VIRTUAL = ("veth", "virtio_net", "tun", "bridge", "xen_netfront", "hv_netvsc", "vif")
"""Drivers of virtual NICs, which report an arbitrary link speed."""

SHAPERS = {
    "tbf": ("rate",),
    "htb": ("ceil", "rate"),
    "netem": ("rate",),
    "cake": ("bandwidth",),
    "fq": ("maxrate",),
}
"""Kind of qdisc -> the options that set its rate. If several are given, the first one counts."""


class DataLinks:
    """Facts about the data link of each run of a campaign. Imported campaigns have none."""

    def __init__(self, campaign: Campaign, numbers: Iterable[int]) -> None:
        self._campaign = campaign
        self._runs = campaign.runs_of({*map(int, numbers)})
        self._facts: dict[str, Mapping[str, Any]] = {}
        self._mtus: dict[str, int | None] = {}
        self._paths: dict[str, tuple[Any, ...]] = {}
        self._machines = campaign.archive.machines

    def rate(self, run: int) -> float | None:
        """Return the link's rate in bit/s; None if it is unknown or the NIC is virtual."""
        sender = self._sender(run)
        if self._is_virtual(sender):
            return None
        for options in self._options("link", run):
            if "speed" in options:
                return float(options["speed"]) * 1e6
        speed = str(self.fact(sender, "link_settings").get("Speed", ""))
        number = re.fullmatch(r"([1-9][0-9]{0,8})Mb/s", speed)
        return float(number[1]) * 1e6 if number else None

    def ipv6(self, run: int) -> bool:
        """Return True if a run uses IPv6, by its `family` or, without one, the sender's address."""
        family = self._setup(run).around.family
        address = self._machines[self._sender(run)].address or ""
        return family == "ipv6" if family else ":" in address

    def tunnel(self, run: int) -> tuple[tuple[str, ...], bool, int]:
        """Return a run's tunnel headers, True if the outer IP is IPv6, and the bytes they add."""
        options = next(iter(self._options("tunnel", run)), None)
        if options is None:
            return (), False, 0
        outer = ":" in (self._machines[self._sender(run)].address or "")
        kind = str(options["kind"])
        return (kind,), outer, layer(kind).fixed("IPv6" if outer else "IPv4")

    def mtu(self, run: int) -> int | None:
        """Return the MTU that the experiment sets for a run, else the MTU of the sender's link."""
        of = self._runs[run]
        if of.config not in self._mtus:
            own = self.fact(self._sender(run), "link").get("mtu")
            sizes = (int(_scalar(options)) for options in self._options("mtu", run))
            self._mtus[of.config] = next(sizes, None) or own
        return self._mtus[of.config]

    def goal_mbps(self, run: int) -> float | None:
        """Return the target rate of all the tool's streams together in Mbit/s; None if not set."""
        rate = self._setup(run).options.get("rate")
        return decimal_bits(rate) * self._streams(run) / 1e6 or None if rate else None

    def send_bytes(self, run: int) -> int | None:
        """Return the send size that the experiment sets, in bytes; None if not a single size."""
        return size_of(self._setup(run), "send_size")

    def shapers(self, run: int) -> Mapping[str, float]:
        """Return end -> rate that the experiment sets for its qdisc, Mbit/s including headers."""
        rates: dict[str, float] = {}
        for end, roles in self._ends(run).items():
            for use in self._setup(run).settings:
                options = use.options if use.name == "qdisc" and {*roles} & {*use.roles} else {}
                for kind, rate in _shaped(options):
                    mbps = rate / 1e6 * (self._streams(run) if kind == "fq" else 1)
                    rates[end] = min(mbps, rates.get(end, mbps))
        return rates

    def pcie_mbps(self, run: int) -> Mapping[str, float]:
        """Return end -> capacity of its NIC's PCIe link in Mbit/s. Virtual NICs are left out."""
        rates: dict[str, float] = {}
        for end, roles in self._ends(run).items():
            rate = self.fact(roles[0], "pcie").get("current_mbps")
            if rate and not self._is_virtual(roles[0]):
                rates[end] = float(rate)
        return rates

    def queues(self, run: int) -> Mapping[str, int]:
        """Return end -> number of its NIC's receive queues; empty if the experiment changes it."""
        if any(True for _ in self._options("channels", run)):
            return {}
        counts = {}
        for end, roles in self._ends(run).items():
            text = str(self._value(roles[0], "channels") or "").partition("Current")[2]
            rings = re.findall(r"^(?:RX|Combined):\s+([0-9]{1,5})$", text, re.MULTILINE)
            if rings:
                counts[end] = sum(map(int, rings))
        return counts

    def path(self, run: int) -> tuple[Any, ...] | None:
        """Return a key for the run's path and number of streams; None in a mesh.

        Runs on the same path with the same number of streams have equal keys.
        """
        experiment, of = self._campaign.experiment, self._runs[run]
        if experiment.mesh:
            return None
        if of.config not in self._paths:
            setup = self._setup(run)
            uses = [use for use in setup.settings if setting(use.name).traits.changes_path]
            set_up = tuple((use.name, use.roles, str(use.options)) for use in uses)
            roles = tuple(experiment.side_of(of.values).roles)
            self._paths[of.config] = (roles, setup.around.family, self._streams(run), set_up)
        return self._paths[of.config]

    def fact(self, role: str, name: str) -> Mapping[str, Any]:
        """Return a fact of a role's host; empty if the fact is unknown or not a mapping."""
        value = self._value(role, name)
        return value if isinstance(value, dict) else {}

    def _value(self, role: str, name: str) -> Any:
        if role not in self._facts:
            self._facts[role] = self._campaign.archive.facts(role)
        return self._facts[role].get(name, {}).get("value")

    def _is_virtual(self, role: str) -> bool:
        return self.fact(role, "driver").get("driver") in VIRTUAL

    def _setup(self, run: int) -> Setup:
        return self._campaign.plan.setup(self._runs[run].values)

    def _streams(self, run: int) -> int:
        setup = self._setup(run)
        return setup.around.streams * int(setup.options.get("parallel", 1))

    def _options(self, setting: str, run: int) -> Iterator[Any]:
        yield from (use.options for use in self._setup(run).settings if use.name == setting)

    def _ends(self, run: int) -> Mapping[str, Sequence[str]]:
        return self._campaign.experiment.side_of(self._runs[run].values).ends

    def _sender(self, run: int) -> str:
        return next(iter(self._campaign.experiment.side_of(self._runs[run].values).roles))


def _shaped(options: Any) -> Iterator[tuple[str, float]]:
    """Yield kind and rate (bit/s) of each shaper: the qdisc itself and its children."""
    while isinstance(options, Mapping):
        kind = str(options.get("kind"))
        names = SHAPERS.get(kind, ())
        given = [options[n] for n in names if options.get(n, "unlimited") != "unlimited"]
        if given:
            yield kind, tc.rate(given[0])
        options = options.get("child")


def _scalar(options: Any) -> Any:
    return next(iter(options.values())) if isinstance(options, Mapping) else options
