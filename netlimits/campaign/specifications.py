"""The specification of a run: its tool and settings, its ends and its data path."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from threading import Lock
from typing import Any

from netlimits.campaign import under_load
from netlimits.campaign.caps import Cap, caps, speed
from netlimits.evidence import drops, facts
from netlimits.experiment.plan import Plan
from netlimits.model import Around, Ends, Machine, Profiling, Run, Setup
from netlimits.settings import tunnel
from netlimits.tools import Transfer, tool

KEPT = 1000
"""Maximum number of cached specifications, to limit the memory."""

LOOPBACK = "lo"


@dataclass(frozen=True, slots=True)
class Specification:
    """All that a run's commands depend on: its resolved setup, its ends and its data path.

    `one_stack` is True if both ends share one network stack (`run --local`), so that its counters
    count every packet at both ends. `machines` has the machine of each role. `speeds` (bit/s) and
    `mtus` have the speed and MTU of each role's data link, if known. `caps` are limits on the rate
    by the run's own settings. `inner` has each role's address in the run's tunnel, and `tunnel` the
    tunnel's options. A `profiled` run records a profile. `drops` are the roles whose kernels report
    why they drop packets. `one_kernel` is True if both ends share a kernel.
    """

    setup: Setup
    ends: Ends
    one_stack: bool = False
    machines: Mapping[str, Machine] = field(default_factory=dict)
    speeds: Mapping[str, float] = field(default_factory=dict)
    mtus: Mapping[str, int] = field(default_factory=dict)
    caps: Mapping[str, Cap] = field(default_factory=dict)
    inner: Mapping[str, str] = field(default_factory=dict)
    tunnel: Mapping[str, Any] = field(default_factory=dict)
    profiled: bool = False
    drops: frozenset[str] = frozenset()
    one_kernel: bool = False

    @property
    def profiling(self) -> Profiling | None:
        """Return the options of the profile that this run records, or None."""
        return self.around.profile if self.profiled else None

    @property
    def tool(self) -> str:
        return self.setup.tool

    @property
    def options(self) -> Mapping[str, Any]:
        return self.setup.options

    @property
    def around(self) -> Around:
        return self.setup.around

    @property
    def connections(self) -> int:
        return self.around.streams * len(self.ends["remote"])

    @property
    def seconds(self) -> float:
        return tool(self.tool).seconds(self.options) + self.around.extra_seconds

    @property
    def asked_mbps(self) -> float | None:
        if pace := self.around.pace:
            return pace.rate / 1e6
        limit = tool(self.tool).limit(self.options)
        return limit[1] * self.connections / 1e6 if limit else None

    @property
    def ipv6(self) -> bool:
        return ":" in (self.address(self.ends["remote"][0]) or "")

    def address(self, role: str) -> str | None:
        """Return the address of a role's data: in the tunnel, or else of the data interface."""
        return self.inner.get(role) or self.machines[role].over(self.around.family).address

    @property
    def gained(self) -> int:
        """Bytes that the run's own tunnel adds to each packet."""
        if not self.tunnel:
            return 0
        outer = ":" in (self.machines[self.ends["remote"][0]].address or "")
        return tunnel.overhead(self.tunnel, outer)

    @property
    def receiver(self) -> str | None:
        """The receiving end, if its samples must count arriving data because the tool does not.

        In a search, samples always count it: iperf3 counts until its connection ends, which is 40
        ms too late. In a run of 2 s this is 2 % of the rate.
        """
        untold = tool(self.tool).needs_watch(self.options, self.connections)
        return self.transfer.receiver if untold or self.around.search else None

    @property
    def counting(self) -> tuple[str, ...]:
        """The ends whose samples count arriving data during the whole run."""
        own = (self.receiver,) if self.receiver else ()
        return (*own, *(("local", "remote") if self.around.bulk else ()))

    @property
    def transfer(self) -> Transfer:
        return tool(self.tool).transfer(self.options)

    def bulk_options(self) -> list[Mapping[str, Any]]:
        """Return the options of each bulk stream; the streams that the client sends come first."""
        if not (bulk := self.around.bulk):
            return []
        seconds = math.ceil(self.seconds)
        ways = under_load.directions(bulk)
        each = [tool(self.tool).bulk(self.options, way, seconds) for way in ways]
        classes = [{"dscp": dscp} for dscp in bulk.dscp] or [{}]
        return [
            {**options, **classes[number % len(classes)]}
            for options in each
            if options is not None
            for number in range(bulk.streams)
        ]

    @property
    def stream_tool(self) -> str:
        """The tool of the bulk streams."""
        return str(tool(self.tool).streams_of or self.tool)

    @property
    def other_server(self) -> str:
        """The tool of the second server that the bulk streams need, or "" if they need none."""
        return self.stream_tool if self.around.bulk and self.stream_tool != self.tool else ""

    def roles(self) -> Iterator[tuple[str, str]]:
        """Yield each role with its end, as (end, role)."""
        for end, roles in self.ends.items():
            yield from ((end, role) for role in roles)


def specified(
    setup: Setup,
    ends: Ends,
    machines: Mapping[str, Machine],
    known: Mapping[str, Mapping[str, Any]] | None = None,
    *,
    profiled: bool = False,
) -> Specification:
    """Return the specification of a configuration on machines; `known` has each role's facts."""
    stacks = {machines[role].address for roles in ends.values() for role in roles}
    speeds = {role: speed(of) for role, of in (known or {}).items()}
    mtus = {role: (facts.value(of, "link") or {}).get("mtu") for role, of in (known or {}).items()}
    for use in setup.settings:
        if use.name == "mtu":
            mtus |= dict.fromkeys(use.roles, use.options)
        if use.name == "link" and "speed" in use.options:
            set_here = {role: use.options["speed"] * 1e6 for role in use.roles if speeds.get(role)}
            speeds |= set_here
    tunnels = [use for use in setup.settings if use.name == tunnel.Tunnel.name]
    inner = {r: a for use in tunnels for r, a in tunnel.inner(use.options, use.roles).items()}
    return Specification(
        setup,
        ends,
        one_stack=len(stacks) == 1,
        machines=machines,
        speeds={role: bps for role, bps in speeds.items() if bps},
        mtus={role: int(mtu) for role, mtu in mtus.items() if isinstance(mtu, int)},
        caps=caps(setup.settings),
        inner={role: address.partition("/")[0] for role, address in inner.items()},
        tunnel=tunnels[-1].options if tunnels else {},
        profiled=profiled,
        one_kernel=facts.one_kernel(
            {role: (known or {}).get(role, {}) for roles in ends.values() for role in roles}
        ),
        drops=frozenset(role for role, of in (known or {}).items() if facts.value(of, drops.FACT)),
    )


class Specifications:
    """The specifications of a plan's runs, computed once for each configuration."""

    def __init__(
        self,
        plan: Plan,
        machines: Mapping[str, Machine],
        known: Mapping[str, Mapping[str, Any]],
    ) -> None:
        self._plan, self._machines, self._known = plan, machines, known
        self._lock = Lock()
        self._kept: dict[tuple[str, bool], Specification] = {}

    def for_run(self, run: Run) -> Specification:
        key = run.config, bool(run.profiled)
        with self._lock:
            if key not in self._kept:
                if len(self._kept) >= KEPT:
                    del self._kept[next(iter(self._kept))]
                self._kept[key] = specified(
                    self._plan.setup(run.values),
                    self._plan.experiment.ends_of(run.values),
                    self._machines,
                    self._known,
                    profiled=bool(run.profiled),
                )
            return self._kept[key]
