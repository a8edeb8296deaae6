"""Shape a host's data link outside of the host: a rate, a delay, a loss, packets/s or an MTU.

The host's port is moved to a new bridge, and a forwarder carries frames between that bridge and the
switch. So a link without a shape costs nothing.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

import msgspec

from netlimits.errors import InputError, LabError
from netlimits.lab import forwarder
from netlimits.lab.layout import DATA_BRIDGE, Lab
from netlimits.lab.network import batch, listed, raised
from netlimits.lab.programs import output, running
from netlimits.model import decoding


class _Packets(msgspec.Struct):
    packets: int


class _Counters(msgspec.Struct):
    tx: _Packets
    rx: _Packets


class _Interface(msgspec.Struct):
    ifname: str
    stats64: _Counters | None = None  # only with `ip -s`


_RATE = (8_000, 100_000_000_000)
_DELAY = (0.0, 10.0)
_MTU = (68, 65521)
"""Smallest and largest MTU of a tap."""
_PACKETS = (10, 100_000_000)
_DEADLINE = 20.0


@dataclass(frozen=True, slots=True)
class Shape:
    """The properties of a link in each direction; 0 means no limit.

    `rate` is in bit/s of Ethernet frames, `delay` in seconds, `loss` from 0 to 1, `mtu` in bytes,
    and `packets` in frames/s.
    """

    rate: int = 0
    delay: float = 0.0
    loss: float = 0.0
    mtu: int = 0
    packets: int = 0

    def check(self) -> None:
        if self.rate and not _RATE[0] <= self.rate <= _RATE[1]:
            raise InputError(f"rate of {self.rate} bit/s: a link has 8kbit to 100gbit")
        if not _DELAY[0] <= self.delay <= _DELAY[1]:
            raise InputError(f"delay of {self.delay:g} s: a link has 0 to {_DELAY[1]:g} s")
        if not 0 <= self.loss < 1:
            raise InputError(f"loss of {self.loss:.6g}: a link loses 0% or more, but less than all")
        if self.mtu and not _MTU[0] <= self.mtu <= _MTU[1]:
            raise InputError(f"MTU {self.mtu}: a link has {_MTU[0]} to {_MTU[1]}")
        if self.packets and not _PACKETS[0] <= self.packets <= _PACKETS[1]:
            raise InputError(
                f"{self.packets} packets a second: a link has {_PACKETS[0]} to {_PACKETS[1]:,}"
            )


@dataclass(frozen=True, slots=True)
class Traffic:
    """Frames that entered and left a shaped link in one direction, as its taps counted."""

    sent: int
    carried: int


def chosen(lab: Lab, host: str) -> str:
    """Return the host whose link is to be shaped: `host`, or by default the first of two hosts.

    Raises InputError if the lab has no link to shape, or `host` is missing or unknown.
    """
    if lab.guest is None and lab.count == 2:
        raise InputError(
            f"lab {lab.name} has two namespaces, joined by a pair of interfaces without a link "
            "between them to shape: build it with --machines, or with --hosts 3"
        )
    if not host and lab.count > 2:
        raise InputError(f"lab {lab.name} has {lab.count} hosts: name one's link with --host")
    if host and host not in lab.hosts:
        raise InputError(f"lab {lab.name} has no host {host}: it has {', '.join(lab.hosts)}")
    return host or lab.hosts[0]


def apply(lab: Lab, host: str, shape: Shape) -> None:
    """Set the shape of the host's link, in place of an earlier one. Raises InputError, LabError."""
    shape.check()
    clear(lab, host)
    _record(lab, host).write_text(json.dumps(asdict(shape)) + "\n")
    try:
        batch(_insertion(lab, host), lab.switch)
        _start(lab, host, shape)
        batch([f"link set {lab.data_port(host)} master {_bridge(lab, host)}"], lab.switch)
    except BaseException:
        clear(lab, host)
        raise


def clear(lab: Lab, host: str) -> bool:
    """Remove the shape of the host's link, if any. Raises LabError."""
    record = _record(lab, host)
    if not record.exists():
        return False
    batch([f"link set {lab.data_port(host)} master {DATA_BRIDGE}"], lab.switch)
    deadline = time.monotonic() + _DEADLINE
    while pid := running(_pid_file(lab, host), lab.switch):
        if time.monotonic() > deadline:
            raise LabError(f"{host}: the link's process {pid} does not end")
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        time.sleep(0.01)
    for link in (*_taps(lab, host), _bridge(lab, host)):
        output("ip", "-n", lab.switch, "link", "delete", link, may_fail=True)
    links = {link.ifname for link in listed(list[_Interface], "-n", lab.switch, "link", "show")}
    left = links & {*_taps(lab, host), _bridge(lab, host)}
    if left:
        raise LabError(f"{host}: {', '.join(sorted(left))} of its link cannot be removed")
    _pid_file(lab, host).unlink(missing_ok=True)
    record.unlink()
    return True


def shape(lab: Lab, host: str) -> Shape | None:
    """Return the shape of the host's link, or None. Raises LabError for a damaged record."""
    record = _record(lab, host)
    try:
        return decoding.typed(record.read_bytes(), Shape)
    except FileNotFoundError:
        return None
    except ValueError as error:
        raise LabError(
            f"{record}: is damaged ({error}); remove it and shape the link again"
        ) from None


def works(lab: Lab, host: str) -> bool:
    """Return True if the forwarder of the host's link is running."""
    return running(_pid_file(lab, host), lab.switch) is not None


def traffic(lab: Lab, host: str) -> tuple[Traffic, Traffic]:
    """Return the traffic of a shaped link from the host, and to the host. Raises LabError."""
    shown = listed(list[_Interface], "-n", lab.switch, "-s", "link", "show")
    counters = {link.ifname: link.stats64 for link in shown}
    near, far = (counters.get(tap) for tap in _taps(lab, host))
    if near is None or far is None:
        raise LabError(
            f"{host}: the taps of its link have no counters in {lab.switch}; remove the shape with "
            f"`netlimits lab link {lab.name} --host {host} --off`, and shape the link again"
        )
    # the forwarder receives what the switch transmits on a tap
    return (
        Traffic(near.tx.packets, far.rx.packets),
        Traffic(far.tx.packets, near.rx.packets),
    )


def _insertion(lab: Lab, host: str) -> list[str]:
    near, far = _taps(lab, host)
    bridge = _bridge(lab, host)
    mtu = min(max(lab.mtu, 9000), _MTU[1])
    lines = [f"link add {bridge} mtu {mtu} type bridge"]
    for tap, master in ((near, bridge), (far, DATA_BRIDGE)):
        lines += [
            f"tuntap add dev {tap} mode tap",
            f"link set {tap} mtu {mtu} master {master}",
            *raised(tap),
        ]
    return [*lines, *raised(bridge)]


def _start(lab: Lab, host: str, shape: Shape) -> None:
    options = {
        "rate": shape.rate / 8,
        "delay": shape.delay,
        "loss": shape.loss,
        "mtu": shape.mtu,
        "packets": shape.packets,
        "pid-file": _pid_file(lab, host),
    }
    output(
        *("ip", "netns", "exec", lab.switch, "nice", "-n", "-10"),
        *(sys.executable, "-I", forwarder.__file__, *_taps(lab, host)),
        *(f"--{name}={value}" for name, value in options.items()),
        label=f"{host}: the link's process",
    )
    deadline = time.monotonic() + _DEADLINE
    while not works(lab, host):
        if time.monotonic() > deadline:
            raise LabError(f"{host}: the link's process did not come up")
        time.sleep(0.01)


def _taps(lab: Lab, host: str) -> tuple[str, str]:
    return f"near{lab.number(host)}", f"far{lab.number(host)}"


def _bridge(lab: Lab, host: str) -> str:
    return f"link{lab.number(host)}"


def _record(lab: Lab, host: str) -> Path:
    return lab.host_folder(host) / "link.json"


def _pid_file(lab: Lab, host: str) -> Path:
    return lab.host_folder(host) / "link.pid"
