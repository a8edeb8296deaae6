"""A tunnel between the data interfaces of two hosts: VXLAN, Geneve, GRE or WireGuard.

The tool's server listens on the tunnel's address. `between` derives both ends from the experiment
and the hosts' addresses. WireGuard's keys are derived from the same data: the tunnel protects
nothing, it only shows the cost of encryption. An existing interface `nltun0` is an error.
"""

from __future__ import annotations

import base64
import hashlib
import ipaddress
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NotRequired, TypedDict

from netlimits.errors import SettingError
from netlimits.model import Command, Completed, Machine, decoding
from netlimits.settings._base import Setting, State, Traits
from netlimits.settings._schema import integer, options

INTERFACE = "nltun0"

NETWORK = "198.19.255.0/30"
"""The default network of the tunnel, from the range for benchmarks (RFC 2544)."""

KINDS = ("vxlan", "geneve", "gre", "wireguard")

HEADERS: Mapping[str, int] = {"vxlan": 30, "geneve": 30, "gre": 4, "wireguard": 40}
"""Bytes added to a packet besides the outer IP header; vxlan and geneve add an Ethernet header."""

_PORTS = {"vxlan": 4789, "geneve": 6081, "wireguard": 51820}
_MODULES = {"vxlan": "vxlan", "geneve": "geneve", "gre": "ip_gre", "wireguard": "wireguard"}
_UNKNOWN = "ADDRESS"
_ID = 4242  # VNI of vxlan and geneve

_REDIRECTS = "net.ipv4.conf.all.send_redirects"
"""A sysctl that the kernel permanently sets to 0 when a WireGuard interface goes up."""

_READ = r"""echo "mtu $(cat "/sys/class/net/$1/mtu")"
echo "redirects $(cat /proc/sys/net/ipv4/conf/all/send_redirects)"
for m in vxlan geneve ip_gre wireguard; do
    if [ -d "/sys/module/$m" ] || ! command -v modprobe >/dev/null ||
        modprobe -qn "$m" 2>/dev/null ||
        grep -qs "/$m\.ko" "/lib/modules/$(uname -r)/modules.builtin"; then
        echo "has $m"
    fi
done
command -v wg >/dev/null && echo "has wg"
ip -d -j addr show dev nltun0 2>/dev/null
:"""

_KEYS = r"""root=; [ "$(id -u)" = 0 ] || root="sudo -n --"
read -r own
read -r peer
peer=$(printf '%s\n' "$peer" | wg pubkey)
printf '%s\n' "$own" | $root wg set nltun0 private-key /dev/stdin listen-port "$1" \
    peer "$peer" endpoint "$2" allowed-ips "$3" || $root ip link del dev nltun0
"""
"""Set WireGuard's own key and the peer's (two lines of input); on failure remove the interface."""


_REMOVE = r"""root=; [ "$(id -u)" = 0 ] || root="sudo -n --"
[ ! -e /sys/class/net/nltun0 ] || $root ip link del dev nltun0"""


class _Info(TypedDict):
    info_kind: NotRequired[str]
    info_data: NotRequired[Any]


class _Inner(TypedDict):
    local: str
    prefixlen: int


class _Shown(TypedDict):
    mtu: int
    flags: list[str]
    linkinfo: NotRequired[_Info]
    addr_info: list[_Inner]


class Tunnel(Setting):
    """`tunnel: {kind: vxlan}`, with both roles."""

    name = "tunnel"
    traits = Traits(tried=True, changes_path=True)
    schema: Mapping[str, Any] = options(
        {
            "kind": {
                "enum": list(KINDS),
                "description": "The protocol; wireguard needs the program `wg` on both hosts.",
            },
            "port": integer(1024, 65535, "UDP port; default: the protocol's own."),
            "mtu": integer(
                1280, 65535, "MTU; default: that of the data interface, less the tunnel's headers."
            ),
            "network": {
                "type": "string",
                "pattern": r"^[0-9a-fA-F:.]{2,39}/[0-9]{1,3}$(?!\n)",
                "description": "Network whose first two addresses are the tunnel's ends.",
                "default": NETWORK,
            },
        },
        required=("kind",),
        title="A tunnel between two roles, through which the tool measures",
        description="It takes exactly two roles. Its keys are computed from the hosts' addresses, "
        "so it protects nothing.",
    )

    def between(
        self, options: Any, role: str, roles: Sequence[str], machines: Mapping[str, Machine]
    ) -> Mapping[str, Any]:
        """Return the options of one end, with the addresses of both ends."""
        if len(roles) != 2:
            raise self.error(f"a tunnel has two ends, not {len(roles)}; give it two roles")
        outer = {r: machines[r].address or _UNKNOWN for r in roles}
        if len({":" in address for address in outer.values() if address != _UNKNOWN}) > 1:
            raise self.error(
                "the hosts' addresses are of two families; give both of one in the hosts file"
            )
        inside = inner(options, roles)
        (peer,) = [other for other in roles if other != role]
        return {
            **options,
            "local": outer[role],
            "remote": outer[peer],
            "address": inside[role],
            "peer": inside[peer],
        }

    def read(self, interface: str, about: Any) -> Command:
        return Command(("sh", "-c", _READ, "sh", interface))

    def state(self, completed: Completed) -> State:
        """Return "mtu", "has", "tunnel", and "redirects" if the host shows it.

        "mtu" is the MTU of the data interface, and "has" lists the kernel modules and programs that
        the host has. "tunnel" is {} if there is no tunnel. "redirects" is the value of
        `_REDIRECTS`.
        """
        mtu = re.search(r"^mtu ([0-9]+)$", completed.stdout, re.MULTILINE)
        if not mtu:
            raise self.unreadable(completed)
        last = completed.stdout.rpartition("\n[")[2]
        tunnel: dict[str, Any] = {}
        if "\n[" in completed.stdout:
            try:
                tunnel = _parts(decoding.typed(f"[{last}", list[_Shown])[0])
            except (ValueError, LookupError, TypeError, AttributeError):
                raise self.error(
                    f"`ip -d -j addr show dev {INTERFACE}` cannot be parsed", completed
                ) from None
        has = re.findall(r"^has (\S+)$", completed.stdout, re.MULTILINE)
        redirects = re.findall("^redirects ([01])$", completed.stdout, re.MULTILINE)
        return {
            "mtu": int(mtu[1]),
            "has": has,
            "tunnel": tunnel,
            **({"redirects": redirects[0]} if redirects else {}),
        }

    def check_found(self, interface: str, state: State) -> None:
        if state["tunnel"]:
            raise self.error(
                f"there is an interface {INTERFACE} already; remove it (`ip link del {INTERFACE}`)"
            )

    def change(self, interface: str, state: State, wanted: Any) -> tuple[Command, ...]:
        kind = wanted["kind"]
        if state:
            lacks = [m for m in (_MODULES[kind],) if m not in state["has"]]
            if kind == "wireguard" and "wg" not in state["has"]:
                lacks.append("wg (Debian and Ubuntu: wireguard-tools)")
            if lacks:
                raise self.error(
                    f"the host has no {' and no '.join(lacks)}; install it, or leave the tunnel "
                    f"of kind {kind} out"
                )
        if "port" in wanted and kind not in _PORTS:
            raise self.error(f"{kind} has no port; leave it out")
        if state and state["tunnel"] and not self.unmet(state, wanted):
            return ()
        end = {**_placeholders(wanted), **wanted}
        remove = _remove() if state and state["tunnel"] else ()
        mtu = wanted.get("mtu") or (state["mtu"] - overhead(wanted) if state else 0)
        link = ("ip", "link", "set", "dev", INTERFACE, *(("mtu", str(mtu)) if mtu else ()), "up")
        nodad = ("nodad",) if ":" in end["address"] else ()
        address = ("ip", "addr", "add", end["address"], "dev", INTERFACE, *nodad)
        return (
            *remove,
            Command(_added(interface, end), sudo=True),
            *(_keys(end) if kind == "wireguard" else ()),
            Command(address, sudo=True),
            Command(link, sudo=True),
            *(_redirects(state) if kind == "wireguard" else ()),
        )

    def unmet(self, state: State, wanted: Any) -> tuple[str, ...]:
        tunnel = state["tunnel"]
        if not tunnel:
            return ("there is no tunnel",)
        kind = wanted["kind"]
        expected: dict[str, Any] = {
            "kind": "ip6gre" if kind == "gre" and ":" in wanted.get("local", "") else kind,
            "mtu": wanted.get("mtu", state["mtu"] - overhead(wanted)),
            **({"address": wanted["address"]} if "address" in wanted else {}),
        }
        if kind in ("vxlan", "geneve"):
            expected |= {"id": _ID, "port": wanted.get("port", _PORTS[kind])}
        if kind != "wireguard" and wanted.get("remote", _UNKNOWN) != _UNKNOWN:
            expected["remote"] = wanted["remote"]
        return tuple(
            f"its {name} is {tunnel.get(name, 'not shown')}, not {value}"
            for name, value in expected.items()
            if tunnel.get(name) != value
        )

    def undo(self, interface: str, original: State, state: State) -> tuple[Command, ...]:
        if state:
            return _remove() if self.differences(original, state) else ()
        # a guard may run the script twice, so the script first checks that the tunnel is there
        script = ("sh", "-c", _REMOVE, "remove tunnel")
        return (Command(script, by_hand=_remove()),)

    def differences(self, original: State, state: State) -> tuple[str, ...]:
        surplus = state["tunnel"] and not original["tunnel"]
        return (f"the tunnel {INTERFACE} is there",) if surplus else ()

    def faults(self, state: State) -> Iterator[str]:
        if state["tunnel"]:
            yield "a tunnel is not created again"


def inner(options: Mapping[str, Any], roles: Sequence[str]) -> dict[str, str]:
    """Return role -> its address in the tunnel, with the length of the prefix."""
    try:
        network = ipaddress.ip_network(options.get("network", NETWORK), strict=False)
        hosts = [network[1], network[2]]
    except (ValueError, IndexError):
        raise SettingError(
            f"{options['network']} is no network with two addresses; give one such as {NETWORK}",
            setting=Tunnel.name,
        ) from None
    return {
        role: f"{address}/{network.prefixlen}" for role, address in zip(roles, hosts, strict=False)
    }


def overhead(options: Mapping[str, Any], ipv6: bool | None = None) -> int:
    """Return the bytes that a packet gains. If `ipv6` is None, the address `local` decides."""
    outer = ":" in options.get("local", "") if ipv6 is None else ipv6
    return (40 if outer else 20) + HEADERS[options["kind"]]


def _added(interface: str, end: Mapping[str, Any]) -> tuple[str, ...]:
    kind, port = end["kind"], str(end.get("port", _PORTS.get(end["kind"], "")))
    add = ("ip", "link", "add", INTERFACE, "type")
    ends = ("local", end["local"], "remote", end["remote"])
    if kind == "vxlan":
        return (*add, kind, "id", str(_ID), *ends, "dstport", port, "dev", interface)
    if kind == "geneve":
        return (*add, kind, "id", str(_ID), "remote", end["remote"], "dstport", port)
    if kind == "gre":
        family, hops = ("ip6gre", "hoplimit") if ":" in end["local"] else ("gre", "ttl")
        return (*add, family, *ends, hops, "64")
    return (*add, kind)


def _keys(end: Mapping[str, Any]) -> tuple[Command, ...]:
    port = str(end.get("port", _PORTS["wireguard"]))
    remote = f"[{end['remote']}]" if ":" in end["remote"] else end["remote"]
    endpoint, allowed = f"{remote}:{port}", ipaddress.ip_interface(end["peer"]).ip
    script = ("sh", "-c", _KEYS, "set keys", port, endpoint, str(allowed))
    keys = "".join(f"{_key(end, address)}\n" for address in ("local", "remote"))
    # "…" stands for the peer's public key, which only the host computes
    by_hand = Command(("wg", "set", INTERFACE, "…"), sudo=True)
    return (Command(script, stdin=keys, by_hand=(by_hand,)),)


def _redirects(state: State) -> tuple[Command, ...]:
    """Return the command that sets `_REDIRECTS` to 1 again, if it was 1."""
    if state.get("redirects") != "1":
        return ()
    return (Command(("sysctl", "-w", f"{_REDIRECTS}=1"), sudo=True),)


def _key(end: Mapping[str, Any], which: str) -> str:
    """Return the private key of an end, which both ends can compute."""
    both = " ".join(sorted((end["local"], end["remote"])))
    return base64.b64encode(hashlib.sha256(f"{both} {end[which]}".encode()).digest()).decode()


def _placeholders(wanted: Mapping[str, Any]) -> dict[str, str]:
    """Return the addresses of an end for `netlimits plan` without hosts: outer ones are unknown."""
    addresses = inner(wanted, ("address", "peer"))
    return {"local": _UNKNOWN, "remote": _UNKNOWN, **addresses}


def _remove() -> tuple[Command, ...]:
    return (Command(("ip", "link", "del", "dev", INTERFACE), sudo=True),)


def _parts(shown: _Shown) -> dict[str, Any]:
    info = shown.get("linkinfo", {})
    data: Mapping[str, Any] = info.get("info_data") or {}
    parts: dict[str, Any] = {"kind": info.get("info_kind", ""), "mtu": shown["mtu"]}
    for name, keys in (
        ("id", ("id",)),
        ("port", ("port",)),
        ("remote", ("remote", "remote6")),
    ):
        value = next((data[key] for key in keys if key in data), None)
        if value is not None:
            parts[name] = int(value) if name != "remote" else str(value)
    own = [a for a in shown["addr_info"] if not a["local"].startswith("fe80:")]
    if own and "UP" in shown["flags"]:
        parts["address"] = f"{own[0]['local']}/{own[0]['prefixlen']}"
    return parts
