"""JSON Schemas and checks of the options that several tools share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from netlimits.errors import InputError
from netlimits.tools._base import SECONDS, Features
from netlimits.tools._commands import CPUS
from netlimits.units.cpus import members
from netlimits.units.sizes import SIZE, binary_bytes

Option = Mapping[str, Any]

ONE_OFF = "One test between the first role (client) and the last (one-off server)."

PROTOCOL: Option = {
    "enum": ["tcp", "udp"],
    "default": "tcp",
    "description": "Transport protocol; udp is the option -u.",
}

SEND_SIZE: Option = {
    **SIZE,
    "description": "Bytes per send (-l); K M G are 1024^n. For UDP the size of datagrams; those "
    "above MTU - 28 are fragmented.",
}

WINDOW: Option = {
    **SIZE,
    "description": "Socket buffers of both ends in bytes (-w); K M G are 1024^n.",
}

LARGEST_DATAGRAM = 65507
"""Maximum bytes of user data in a UDP datagram over IPv4."""


def schema(name: str, description: str, *required: str, **properties: Option) -> dict[str, Any]:
    """Return the schema of `measure: NAME:` with the options `properties` and CPUS."""
    return {
        "type": "object",
        "title": name,
        "description": description,
        "additionalProperties": False,
        **({"required": [*required]} if required else {}),
        "properties": {**properties, **CPUS},
    }


def integer(least: int, most: int, description: str, **more: Any) -> Option:
    return {
        "type": "integer",
        "minimum": least,
        "maximum": most,
        **more,
        "description": description,
    }


def length(description: str) -> Option:
    limits = {"exclusiveMinimum": 0, "maximum": 86400, "default": SECONDS}
    return {"type": "number", **limits, "description": description}


def whole_seconds(description: str) -> Option:
    return integer(1, 86400, description, default=SECONDS)


def mss(most: int) -> Option:
    return integer(88, most, "TCP maximum segment size to set (-M), timestamps included.")


def parallel(description: str) -> Option:
    return integer(1, 128, description, default=1)


def switch(description: str) -> Option:
    return {"type": "boolean", "default": False, "description": description}


def interim(most: int, description: str) -> Option:
    return {"type": "number", "minimum": 0.1, "maximum": most, "description": description}


def congestion_control(description: str) -> Option:
    pattern = "^[A-Za-z0-9_][A-Za-z0-9_-]{0,14}$(?!\\n)"
    return {"type": "string", "pattern": pattern, "description": description}


def dscp(description: str) -> Option:
    return integer(0, 63, description)


def wrong(tool: str, option: str, problem: str) -> InputError:
    return InputError(f"measure.{tool}.{option}: {problem}")


def check_cpus(tool: str, options: Mapping[str, Any]) -> None:
    """Raise InputError for a descending range of CPUs."""
    for option in CPUS:
        try:
            members(options.get(option, 0))
        except ValueError as error:
            raise wrong(tool, option, str(error)) from None


def check_transport(
    tool: str, options: Mapping[str, Any], tcp: Sequence[str], udp: Sequence[str] = ()
) -> None:
    """Check the options that depend on the protocol.

    Raises:
        InputError: UDP has no rate or too large a datagram, or an option is not for the protocol.
    """
    datagrams = options.get("protocol", "tcp") == "udp"
    if datagrams and "rate" not in options:
        raise wrong(tool, "rate", f"UDP needs one ({tool}'s own is 1 Mbit/s); 0 is unlimited")
    for option in tcp if datagrams else udp:
        if options.get(option):
            only = "TCP" if datagrams else "UDP"
            raise wrong(tool, option, f"it is for {only} only; leave it out")
    if datagrams:
        check_datagram(tool, options, "send_size")


def check_feature(tool: str, option: str, feature: str, features: Features) -> None:
    if feature not in features.names:
        problem = (
            f"{tool} {features.version} on this host was built without it ({feature}); leave it "
            "out or install a build that has it"
        )
        raise wrong(tool, option, problem)


def check_datagram(tool: str, options: Mapping[str, Any], option: str) -> None:
    if binary_bytes(options.get(option, 1)) > LARGEST_DATAGRAM:
        raise wrong(tool, option, f"a UDP datagram holds {LARGEST_DATAGRAM} bytes at most")
