"""JSON from elsewhere, checked where it is read: what a value has to be.

It may come from a host, from somebody else's folder, or from a disk that failed. Nothing further
up is to meet a key that is missing or a text for a number. msgspec holds values to types: exact
ones, so that true is no number and 1.0 no count. A type that has no name in Python is a text with
a rule of ours (`InterfaceName`), which msgspec asks for.

Two things stay by hand. The standard library reads again what msgspec refuses to read: NaN,
Infinity, 1e999 and half a pair of surrogates. json.dumps writes them, so journals and notes hold
them. Where msgspec reads a text it reads what json reads; a test says so. And archives are read
whole before they are checked, not straight into types: that takes 0.4 times as long, but leaves out
what the types do not name and does not see bytes there that are no UTF-8. So 100,000 events of a
journal are read and checked 3.4 times as fast as by json and shapes of our own, the journal with
its checksums 2.5 times (`benchmarks/journal.py`). iperf3's own results stay with json, whose
complaint is the reason of a failed run.
"""

from __future__ import annotations

import ipaddress
import json
from collections.abc import Callable, Mapping
from threading import Lock
from typing import Annotated, Any, TypedDict, TypeVar, cast

import msgspec

Kind = TypeVar("Kind")

Name = Annotated[str, msgspec.Meta(pattern=r"\A[A-Za-z0-9_][A-Za-z0-9_.-]*\Z")]
"""What can name a role, which names files too."""

Scalars = dict[str, str | int | float | bool | None]


class InterfaceName(str):
    """What can name a network interface: as the kernel has it, and never an option."""


class LoginName(str):
    """What can be a name that ssh knows: not empty, no option, one word."""


class IpAddress(str):
    """An IP address."""


class FilePath(str):
    """What can name a file."""


class Place(TypedDict):
    """One setting on one interface of one role's host."""

    role: Name
    interface: InterfaceName
    setting: str


def has(value: Any, kind: Any) -> bool:
    """Whether a value, as JSON was read, is of a type. No number is too large for a float."""
    try:
        _converted(value, kind)
    except (msgspec.ValidationError, ValueError, RecursionError):
        return False
    return True


def typed(data: bytes | str, kind: type[Kind]) -> Kind:
    """The JSON in a text as a value of a type. Raises ValueError."""
    try:
        return cast(Kind, _converted(parsed(data), kind))
    except msgspec.ValidationError as error:
        raise ValueError(str(error)) from None
    except RecursionError:
        raise ValueError("is nested too deeply") from None


def parsed(data: bytes | str) -> Any:
    """The JSON in a text, as it is. Raises ValueError."""
    try:
        return _QUICK.decode(data)
    except (msgspec.DecodeError, ValueError, RecursionError):
        pass
    try:
        return json.loads(data)
    except RecursionError:
        raise ValueError("is nested too deeply") from None


_QUICK = msgspec.json.Decoder()

_MET: set[Any] = set()
_MEETING = Lock()
"""What msgspec has looked at. Two threads in which it looks at one type for the first time end the
process now and then, by a signal (msgspec 0.22): they do so one after the other."""


def _converted(value: Any, kind: Any) -> Any:
    """A value as one of a type. Raises ValueError, ValidationError, RecursionError."""
    if kind in _MET:
        return msgspec.convert(value, kind, dec_hook=_by_rule)
    with _MEETING:
        try:
            return msgspec.convert(value, kind, dec_hook=_by_rule)
        finally:
            _MET.add(kind)


def interface(value: str) -> bool:
    """Whether a text is an InterfaceName."""
    return (
        0 < len(value.encode("utf-8", "replace")) < 16
        and not value.startswith("-")
        and value not in (".", "..")
        and value.isprintable()
        and not set(value) & set(" /")
    )


def _login(value: str) -> bool:
    return bool(value) and value[0] != "-" and value.split() == [value]


def _address(value: str) -> bool:
    return bool(ipaddress.ip_address(value))


def _file_path(value: str) -> bool:
    return bool(value) and "\0" not in value


_RULES: Mapping[type[str], Callable[[str], bool]] = {
    InterfaceName: interface,
    LoginName: _login,
    IpAddress: _address,
    FilePath: _file_path,
}


def _by_rule(kind: type[Any], value: Any) -> Any:
    """The value as one of the texts above. Raises ValueError."""
    if not isinstance(value, str) or not _RULES[kind](value):
        raise ValueError(f"is no {kind.__name__.lower()}")
    return kind(value)
